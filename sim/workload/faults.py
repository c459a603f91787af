# amaranth: UnusedElaboratable=no
"""Injects faults into networks: dead cells and links, lost packets, wrong bits.

A fault is hardware too: a small component in a link, or in place of a box. Faulty networks
therefore run on every engine, and can be exported like any other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import Generic, TypeVar

from amaranth.lib import stream, wiring

from ...hdl.fabric.cell import Cell, CellType, Leaf
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.pins import Path, Pin
from ...hdl.graphs.plans.extra_stage import Fault, Kind
from ...hdl.graphs.plans.multistage import MultistagePlan
from ...hdl.links.circuit_link import CircuitLink
from ...hdl.links.rejecting_link import RejectingLink
from ...hdl.links.verdict_link import VerdictLink
from ...hdl.primitives.random_bits import scattered_seed
from .fault_cells import RATE_BITS, LinkFault, LinkGate, StuckBox
from .injection import Effect, Injection, place_text

__all__ = ["cut", "gated", "inject", "places"]

_Fabric = TypeVar("_Fabric", bound=Fabric)


def places(plan: MultistagePlan) -> Iterator[Fault]:
    """All links of a network with this plan, named from both ends; for `spare` of `inject`."""
    for stage in range(len(plan.stages)):
        for line in range(plan.ports):
            yield Fault("entry", stage, line)
            yield Fault("link", stage, line)


def inject(
    fabric: _Fabric,
    plan: MultistagePlan | None,
    injections: Iterable[Injection],
    *,
    spare: Iterable[Fault | Pin] = (),
    seed: int = 1,
) -> _Fabric:
    """A copy of a fabric, of the same class, with faults in it.

    Parameters
    ----------
    fabric : Fabric
        With a plan, that of a network whose box x of stage s is the cell `box_{s}_{x}`.
    plan : MultistagePlan or None
        Plan of the network; None if it has none. Then all places are pins.
    injections : Iterable[Injection]
        Those of state are not for a fabric, but for an engine (`run.state_faults`).
    spare : Iterable[Fault or Pin]
        Links that get the component for a fault even without one in `injections`. Fabrics with the
        same spare links differ only in straps, and can therefore run in parallel, as long as there
        is at most one injection per link.
    seed : int
        Seed of the injections with a rate.

    Raises
    ------
    ValueError
        If the network has no such place, or it can't be broken in this way.
    """
    faulty = _Faulty(fabric, plan, seed)
    broken: dict[Fault | Pin, list[dict[str, int]]] = {place: [] for place in spare}
    for injection in injections:
        if isinstance(injection.place, Pin):
            links: Iterable[Fault | Pin] = faulty.links(injection)
        else:
            box = faulty.known(injection.place)
            if injection.effect == "straight":
                faulty.replace_box(box)
                continue
            links = _links(faulty.plan, box, injection.effect)
        for place in links:
            broken.setdefault(place, []).append(_straps(injection))
    for place, faults in sorted(broken.items(), key=lambda item: str(item[0])):
        for straps in faults or [{}]:
            faulty.break_link(place, straps)
    return faulty.fabric


def cut(fabric: _Fabric, outputs: Iterable[Pin]) -> _Fabric:
    """A copy of a fabric, of the same class, in which nothing passes some links: they are dead.

    Parameters
    ----------
    fabric : Fabric
        Of any network.
    outputs : Iterable[Pin]
        The links, by the output that drives each: such as those of `PacketNetwork.path`. Each
        channel of a link has an output of its own.

    Raises
    ------
    ValueError
        If an output does not drive a link with a handshake, from one cell to another.
    """
    faulty = _Broken(fabric)
    for output in outputs:
        if output.cell is not None:
            fabric.check_cell(output.cell)
        receiver = faulty.fabric.drivers.get(_joined(output, ("ready",)))
        if not fabric.sends_stream(output) or receiver is None:
            raise InvalidValue(f"Output to cut must drive a link with a handshake, not {output}")
        name = faulty.unused("fault")
        type_ = faulty.insert(name, output, _link_of(receiver))
        faulty.fabric.cells[name] = Cell(name, type_, {**_SOUND, "seed": 1, "dead": 1})
    return faulty.fabric


def gated(fabric: _Fabric, outputs: Iterable[Pin]) -> tuple[_Fabric, dict[Pin, str]]:
    """A copy of a fabric, of the same class, with links that can be dead, and are not.

    A link is dead while the strap `dead` of its gate is 1. A live page sets it while the network
    runs. Links of a kind that `LinkGate` does not know get no gate.

    Parameters
    ----------
    fabric, outputs
        As for `cut`.

    Returns
    -------
    tuple[Fabric, dict[Pin, str]]
        The fabric, and the name of the gate in each of the links.
    """
    faulty = _Broken(fabric, LinkGate)
    gates: dict[Pin, str] = {}
    for output in outputs:
        receiver = faulty.fabric.drivers[_joined(output, ("ready",))]
        if not faulty.has_type(output):
            continue
        gates[output] = name = faulty.unused("gate")
        faulty.fabric.cells[name] = Cell(
            name, faulty.insert(name, output, _link_of(receiver)), {"dead": 0}
        )
    return faulty.fabric, gates


def _links(plan: MultistagePlan, place: Fault, effect: Effect) -> list[Fault]:
    """The links that an effect at a place concerns."""
    if place.kind != "box":
        return [place]
    lines = [plan.line(place.stage, place.index, port) for port in range(plan.radices[place.stage])]
    kinds: tuple[Kind, ...] = ("entry", "link") if effect == "dead" else ("link",)
    return [Fault(kind, place.stage, line) for kind in kinds for line in lines]


def _straps(injection: Injection) -> dict[str, int]:
    effect, mask = injection.effect, 1 << injection.bit
    return {
        "dead": int(effect == "dead"),
        "lossy": int(effect == "lossy"),
        "severed": int(effect == "severed"),
        "babbling": int(effect == "babbling"),
        "flip": mask if effect == "flip" else 0,
        "zero": mask if effect == "stuck0" else 0,
        "one": mask if effect == "stuck1" else 0,
        "rate": round(injection.rate * 2**RATE_BITS),
        "start": injection.start,
        "length": injection.length,
        "period": injection.period,
        "begins": round(injection.begins * 2**RATE_BITS),
        "ends": round(injection.ends * 2**RATE_BITS),
    }


_LINKS: dict[str, type[wiring.Signature]] = {
    "request": CircuitLink,
    "close": RejectingLink,
    "accepted": VerdictLink,
}
"""The kinds of links that are more than streams, by a member that no other has."""

_SOUND = dict.fromkeys(_straps(Injection(Pin("", ()))), 0)
"""Straps of a link without a fault."""


class _Broken(Generic[_Fabric]):
    """A copy of a fabric in which components for faults can be inserted into links."""

    def __init__(
        self, fabric: _Fabric, component: type[LinkFault] | type[LinkGate] = LinkFault
    ) -> None:
        self.component = component
        self.fabric = fabric.copy()
        self.types: dict[tuple, CellType] = {}
        self._numbers = count()

    def unused(self, word: str) -> str:
        """A name that begins with a word, and that no cell has."""
        names = (f"{word}_{number}" for number in self._numbers)
        return next(name for name in names if name not in self.fabric.cells)

    @cached_property
    def places(self) -> dict[tuple[Pin, Pin], int]:
        """Where each link is among all."""
        return {link: place for place, link in enumerate(self.fabric.links)}

    @cached_property
    def receivers(self) -> dict[Pin, set[Pin]]:
        """The pins that each pin drives."""
        receivers: dict[Pin, set[Pin]] = {}
        for receiver, driver in self.fabric.drivers.items():
            receivers.setdefault(driver, set()).add(receiver)
        return receivers

    def insert(self, name: str, driver: Pin, receiver: Pin) -> CellType:
        """Insert a cell of this name into a link; return the type of the cell.

        Raises
        ------
        ValueError
            If there is no component for such a link.
        """
        if not self.has_type(driver):
            raise InvalidValue(
                "Fault must be at a stream, a circuit, or a link with rejections or verdicts, "
                f"not at {driver}, whose link has other members"
            )
        leaves = self.fabric.resolve(driver)
        near, far = Pin(name, ("i",)), Pin(name, ("o",))
        for suffix, (_, forward) in leaves.items():
            if forward:
                # Only the receiver sees the far side of the fault.
                self._drive(_joined(near, suffix), _joined(driver, suffix))
                self._drive(_joined(receiver, suffix), _joined(far, suffix))
            else:
                # The sender, and any meter of its handshake, sees the near side.
                for watcher in list(self.receivers[_joined(receiver, suffix)]):
                    self._drive(watcher, _joined(near, suffix))
                self._drive(_joined(far, suffix), _joined(receiver, suffix))
        links = self.fabric.links
        place = self.places.pop((driver, receiver), len(links))
        links[place : place + 1] = [(driver, near)]
        links.append((far, receiver))
        self.places |= {(driver, near): place, (far, receiver): len(links) - 1}
        return self._type(leaves, self._rejects_none(receiver))

    def _rejects_none(self, receiver: Pin) -> bool:
        """Whether all packets that come to a pin have met the last switch."""
        if receiver.cell is None:
            return True
        type_ = self.fabric.cells[receiver.cell].type
        if type_.component is self.component:
            return bool(type_.parameters["last"])
        return getattr(type_.component, "rejects_none", False)

    def has_type(self, output: Pin) -> bool:
        """Whether there is a component for faults in the link of an output."""
        leaves = self.fabric.resolve(output)
        known = self._type(leaves).leaves
        return set(leaves) == {path[1:] for path in known if path[0] == "i"}

    def _type(self, leaves: Mapping[Path, tuple[Leaf, bool]], last: bool = False) -> CellType:
        """The component for a link with these leaves, perhaps behind the last switch."""
        packet, reply = leaves["payload",][0].shape, None
        link = next((kind for name, kind in _LINKS.items() if (name,) in leaves), stream.Signature)
        if ("reply", "payload") in leaves:
            reply = leaves["reply", "payload"][0].shape
        key = (packet, link, reply, last)
        if key not in self.types:
            self.types[key] = CellType(
                self.component, packet=packet, link=link, reply=reply, last=last
            )
        return self.types[key]

    def _drive(self, receiver: Pin, driver: Pin) -> None:
        before = self.fabric.drivers.get(receiver)
        if before is not None:
            self.receivers[before].discard(receiver)
        self.fabric.drivers[receiver] = driver
        self.receivers.setdefault(driver, set()).add(receiver)


class _Faulty(_Broken[_Fabric]):
    """A copy of a network's fabric, in which links can be broken and boxes replaced."""

    def __init__(self, fabric: _Fabric, plan: MultistagePlan | None, seed: int) -> None:
        super().__init__(fabric)
        self._plan = plan
        self.seed = seed

    @property
    def plan(self) -> MultistagePlan:
        if self._plan is None:
            raise InvalidValue(
                "Places with a stage are only in an unreplicated multistage network of square "
                "boxes; here a fault is at cell:NAME or link:NAME.OUTPUT, such as link:router_0.o.1"
            )
        return self._plan

    def known(self, place: object) -> Fault:
        """A place with a stage, if the plan has it."""
        if not isinstance(place, Fault):
            raise InvalidValue(f"Fault {place} is in an engine's state, not in a fabric")
        place.check(self.plan)
        return place

    def _box(self, place: Fault, box: int) -> Cell:
        cell = self.fabric.cells.get(f"box_{place.stage}_{box}")
        ports = range(self.plan.radices[place.stage])
        links = {(end, port, "valid") for end in "io" for port in ports}
        if cell is None or links != {
            path for path in cell.type.leaves if path[-1] == "valid" and len(path) == 3
        }:
            raise InvalidValue(f"Fault {place} is not at a box with one link per port")
        return cell

    def replace_box(self, place: Fault) -> None:
        cell = self._box(place, place.index)
        self.fabric.cells[cell.name] = replace(cell, type=CellType(StuckBox, box=cell.type))

    def links(self, injection: Injection) -> Iterator[Pin]:
        """The outputs that drive the links that an injection at a pin concerns."""
        place = injection.place
        assert isinstance(place, Pin)
        if place.cell not in self.fabric.cells:
            raise InvalidValue(f"There is no cell {place.cell!r} for fault {place_text(place)}")
        if place.path:
            yield place
            return
        found = False
        for path in self.fabric.cells[place.cell].type.leaves:
            pin = Pin(place.cell, path[:-1])
            if path[-1] != "valid":
                continue
            if self.fabric.sends_stream(pin):
                # An output that nothing reads is no link.
                if _joined(pin, ("ready",)) in self.fabric.drivers:
                    found = True
                    yield pin
            elif injection.effect == "dead":
                driver = self.fabric.drivers.get(_joined(pin, ("valid",)))
                if driver is not None and self.fabric.sends_stream(_link_of(driver)):
                    found = True
                    yield _link_of(driver)
        if not found:
            raise InvalidValue(f"Fault {place_text(place)} must be at a cell that has links")

    def break_link(self, place: Fault | Pin, straps: dict[str, int]) -> None:
        """Insert the component for a fault into a link, or set its straps if it is a spare one."""
        if isinstance(place, Pin):
            at: tuple[int | str, ...] = (str(place.cell), *place.path)
        else:
            at = (place.stage, place.index)
        words = at if isinstance(place, Pin) else (place.kind, *at)
        for number in count():
            name = "_".join(map(str, ("fault", *words, number)))
            cell = self.fabric.cells.get(name)
            if cell is None or _SOUND.items() <= cell.straps.items():
                break
        type_ = self._insert(place, name) if cell is None else cell.type
        width = type_.leaves["flip",].width
        if any(straps.get(mask, 0) >> width for mask in ("flip", "zero", "one")):
            raise InvalidValue(f"Bit of fault {place_text(place)} must be from 0 to {width - 1}")
        if straps.get("severed") and type_.parameters["link"] is CircuitLink:
            raise InvalidValue(f"Fault {place_text(place)} is at a circuit, which can't be severed")
        seed = scattered_seed(self.seed, *at, number)
        self.fabric.cells[name] = Cell(name, type_, {**_SOUND, "seed": seed, **straps})

    def _insert(self, place: Fault | Pin, name: str) -> CellType:
        """Insert a cell of this name into a link; return the type of the cell."""
        if isinstance(place, Pin):
            ready = _joined(place, ("ready",))
            if not self.fabric.sends_stream(place) or ready not in self.fabric.drivers:
                raise InvalidValue(
                    f"Fault {place_text(place)} must be at an output that drives a link with a "
                    "handshake"
                )
            return self.insert(name, place, _link_of(self.fabric.drivers[ready]))
        number, port = self.plan.port(place.stage, place.index)
        box = self._box(place, number).name
        if place.kind == "link":
            driver = Pin(box, ("o", port))
            receiver = _link_of(self.fabric.drivers[_joined(driver, ("ready",))])
        else:
            receiver = Pin(box, ("i", port))
            driver = _link_of(self.fabric.drivers[_joined(receiver, ("valid",))])
        return self.insert(name, driver, receiver)


def _joined(link: Pin, suffix: tuple) -> Pin:
    return Pin(link.cell, link.path + suffix)


def _link_of(leaf: Pin) -> Pin:
    return Pin(leaf.cell, leaf.path[:-1])
