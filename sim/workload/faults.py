# amaranth: UnusedElaboratable=no
"""Injects faults into networks: dead boxes and links, lost packets, wrong bits.

A fault is hardware too: a small component in a link, or in place of a box. Faulty networks
therefore run on every engine, and can be exported like any other.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Generic, Literal, TypeVar, cast, get_args

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...hdl.boxes.circuit import CircuitLink
from ...hdl.core.checks import check_field, check_kind
from ...hdl.core.errors import InvalidValue
from ...hdl.core.fabric import Cell, CellType, Fabric, Leaf, Path, Pin
from ...hdl.networks.multistage.extra_stage_cells import link_leaves, link_signature
from ...hdl.primitives.arrival_queue import ArrivalQueue
from ...hdl.primitives.packet import Packet, forwarded
from ...hdl.primitives.random_bits import RandomBits, scattered_seed
from ...hdl.topology.extra_stage import Fault, Kind
from ...hdl.topology.multistage import MultistagePlan

__all__ = [
    "EFFECTS",
    "Injection",
    "LinkFault",
    "StuckBox",
    "cut",
    "inject",
    "parse_fault",
    "places",
]

_Fabric = TypeVar("_Fabric", bound=Fabric)

Effect = Literal["dead", "lossy", "flip", "straight"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

FORMS = (
    "PLACE, PLACE:dead, PLACE:lossy, PLACE:flip=BIT, PLACE:straight, "
    "optionally followed by :rate=PROBABILITY and :from=CYCLE"
)
"""The forms that `parse_fault` accepts, for messages."""

RATE_BITS = 16


@dataclass(frozen=True)
class Injection:
    """A fault to inject, and its effect.

    Attributes
    ----------
    place : Fault
        A box means all links that enter or leave it; for "flip" and "lossy", only those that leave
        it.
    effect : "dead", "lossy", "flip" or "straight"
        With "dead" nothing passes, and the sender waits for ever. With "lossy" packets are accepted
        and lost. With "flip" a bit of each packet is inverted. With "straight" a box ignores tags
        and connects every input to the output of the same number.
    bit : int
        The bit that is inverted. The tag has the lowest bits.
    rate : float
        Probability that "lossy" or "flip" affects a packet, in steps of 2^-16.
    start : int
        First cycle of the fault; 0 for "straight".

    Raises
    ------
    TypeError, ValueError
        If an attribute is not as above.
    """

    place: Fault
    effect: Effect = "dead"
    bit: int = 0
    rate: float = 1
    start: int = 0

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise InvalidValue(f"Effect must be one of {', '.join(EFFECTS)}, not {self.effect!r}")
        check_field(self, "bit", "Bit", 0)
        check_field(self, "start", "First cycle", 0, 2**31)
        if not 0 <= self.rate <= 1:
            raise InvalidValue(f"Rate must be from 0 to 1, not {self.rate}")
        if self.effect == "straight" and self.place.kind != "box":
            raise InvalidValue(f"Only a box can be stuck at straight, not {self.place}")
        if self.effect == "straight" and self.start:
            raise InvalidValue(f"First cycle of effect straight must be 0, not {self.start}")
        if self.rate != 1 and self.effect not in ("lossy", "flip"):
            raise InvalidValue(f"Rate of effect {self.effect} must be 1, not {self.rate}")


_FORM = re.compile(
    r"(?P<place>\w+:\d+:\d+)"
    r"(:(?P<effect>dead|lossy|straight|(?P<flip>flip)=(?P<bit>\d+)))?"
    r"(:rate=(?P<rate>\d*\.?\d+))?"
    r"(:from=(?P<start>\d+))?"
)


def parse_fault(text: str) -> Injection:
    """Parse an injection such as `link:1:3` or `box:0:2:flip=7:rate=0.01`.

    Raises
    ------
    ValueError
        If the text has none of the `FORMS`.
    """
    check_kind("Fault", text, str, "a text")
    form = _FORM.fullmatch(text)
    if form is None:
        raise InvalidValue(f"Fault must be one of {FORMS}, not {text!r}")
    return Injection(
        Fault.parse(form["place"]),
        cast(Effect, form["flip"] or form["effect"] or "dead"),
        bit=int(form["bit"] or 0),
        rate=float(form["rate"] or 1),
        start=int(form["start"] or 0),
    )


class LinkFault(wiring.Component):
    """A link with an optional fault. The stream passes combinationally.

    Parameters
    ----------
    packet : Packet
    link : type[wiring.Signature]
        Kind of link: `stream.Signature` or `CircuitLink`.
    reply : ShapeLike, optional
        As in `CircuitLink`.

    Members
    -------
    i : In(link(packet))
    o : Out(link(packet))
    dead : In(1)
        Nothing passes, in either direction.
    lossy : In(1)
        Words are accepted and not passed on.
    flip : In(width)
        Bits that are inverted.
    rate : In(17)
        Probability that `lossy` and `flip` affect a word, times 2^16.
    start : In(32)
        First cycle of the fault.
    seed : In(32)
        As in `RandomBits`.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        self.link = link_signature(link, packet, reply)
        super().__init__(
            {
                "i": In(self.link),
                "o": Out(self.link),
                "dead": In(1),
                "lossy": In(1),
                "flip": In(packet.size),
                "rate": In(RATE_BITS + 1),
                "start": In(32),
                "seed": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elapsed = Signal(32)
        active = Signal()
        m.d.comb += active.eq(elapsed == self.start)
        with m.If(~active):
            m.d.sync += elapsed.eq(elapsed + 1)

        # Whether the next word is affected is decided before it arrives, so it does not change
        # while the word waits.
        m.submodules.random = random = RandomBits(RATE_BITS)
        m.d.comb += random.seed.eq(self.seed)
        struck, hit = Signal(), Signal()
        busy = self.i.request if "request" in self.link.members else self.i.valid
        m.d.comb += hit.eq(active & (self.rate[-1] | struck))
        with m.If(~busy | self.i.valid & self.i.ready):
            m.d.sync += struck.eq(random.value < self.rate[:-1])

        works = ~(active & self.dead)
        lost = hit & self.lossy
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self.link, self.i), link_leaves(self.link, self.o)
        ):
            receiver, driver = (inner, outer) if flow == Out else (outer, inner)
            match path:
                case ("payload",):
                    driven = outer.as_value() ^ Mux(hit, self.flip, 0)
                case ("valid",):
                    driven = outer & works & ~lost
                case ("ready",):
                    driven = (inner | lost) & works
                case (*_, "payload"):
                    driven = driver
                case _:
                    driven = driver & works
            m.d.comb += receiver.eq(driven)
        return m


class StuckBox(wiring.Component):
    """Replaces a packet switch; connects every input to the output of the same number.

    The tag is rotated as in the switch, but ignored. A packet that is not blocked takes one cycle.

    Parameters
    ----------
    box : CellType
        Type of the switch, which has as many streams `o` as `i`.

    Members
    -------
    Those of the switch. Outputs outside `i` and `o` stay 0.

    Raises
    ------
    ValueError
        If the switch is not of this kind.
    """

    def __init__(self, box: CellType) -> None:
        members = box.build().signature.members
        links = [members[name] for name in ("i", "o")]
        if links[0].dimensions != links[1].dimensions or any(
            not isinstance(link.signature, stream.Signature | wiring.FlippedSignature)
            or set(link.signature.members) != {"payload", "valid", "ready"}
            for link in links
        ):
            raise InvalidValue(f"Box {box.name} can't be stuck at straight")
        self.packet = links[1].signature.members["payload"].shape
        self.digit_bits = (links[0].dimensions[0] - 1).bit_length()
        super().__init__(dict(members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for port, (entry, exit_) in enumerate(zip(self.i, self.o)):
            m.submodules[f"queue_{port}"] = queue = ArrivalQueue(self.packet, depth=2)
            wiring.connect(m, wiring.flipped(entry), queue.i[0])
            m.d.comb += [
                exit_.payload.eq(forwarded(queue.o.payload, self.digit_bits)),
                exit_.valid.eq(queue.o.valid),
                queue.o.ready.eq(exit_.ready),
            ]
        return m


def places(plan: MultistagePlan) -> Iterator[Fault]:
    """All links of a network with this plan, named from both ends; for `spare` of `inject`."""
    for stage in range(len(plan.stages)):
        for line in range(plan.ports):
            yield Fault("entry", stage, line)
            yield Fault("link", stage, line)


def inject(
    fabric: _Fabric,
    plan: MultistagePlan,
    injections: Iterable[Injection],
    *,
    spare: Iterable[Fault] = (),
    seed: int = 1,
) -> _Fabric:
    """A copy of a fabric, of the same class, with faults in it.

    Parameters
    ----------
    fabric : Fabric
        Of a network whose box x of stage s is the cell `box_{s}_{x}`.
    plan : MultistagePlan
        Plan of the network.
    injections : Iterable[Injection]
    spare : Iterable[Fault]
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
    broken: dict[Fault, list[dict[str, int]]] = {place: [] for place in spare}
    for injection in injections:
        injection.place.check(plan)
        if injection.effect == "straight":
            faulty.replace_box(injection.place)
        else:
            for place in _links(plan, injection):
                broken.setdefault(place, []).append(_straps(injection))
    for place, faults in sorted(broken.items()):
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
    for number, output in enumerate(outputs):
        if output.cell is not None:
            fabric.check_cell(output.cell)
        receiver = faulty.fabric.drivers.get(_joined(output, ("ready",)))
        if not fabric.sends_stream(output) or receiver is None:
            raise InvalidValue(f"Output to cut must drive a link with a handshake, not {output}")
        name = f"fault_{number}"
        type_ = faulty.insert(name, output, _link_of(receiver))
        faulty.fabric.cells[name] = Cell(name, type_, {**_SOUND, "seed": 1, "dead": 1})
    return faulty.fabric


def _links(plan: MultistagePlan, injection: Injection) -> list[Fault]:
    """The links that an injection affects."""
    place = injection.place
    if place.kind != "box":
        return [place]
    lines = [plan.line(place.stage, place.index, port) for port in range(plan.radices[place.stage])]
    kinds: tuple[Kind, ...] = ("entry", "link") if injection.effect == "dead" else ("link",)
    return [Fault(kind, place.stage, line) for kind in kinds for line in lines]


_SOUND = {"dead": 0, "lossy": 0, "flip": 0, "rate": 0, "start": 0}
"""Straps of a link without a fault."""


def _straps(injection: Injection) -> dict[str, int]:
    return {
        "dead": int(injection.effect == "dead"),
        "lossy": int(injection.effect == "lossy"),
        "flip": int(injection.effect == "flip") << injection.bit,
        "rate": round(injection.rate * 2**RATE_BITS),
        "start": injection.start,
    }


class _Broken(Generic[_Fabric]):
    """A copy of a fabric in which components for faults can be inserted into links."""

    def __init__(self, fabric: _Fabric) -> None:
        self.fabric = copy(fabric)
        self.fabric.cells = dict(fabric.cells)
        self.fabric.drivers = dict(fabric.drivers)
        self.fabric.links = list(fabric.links)
        self.types: dict[tuple, CellType] = {}

    @cached_property
    def receivers(self) -> dict[Pin, set[Pin]]:
        """The pins that each pin drives."""
        receivers: dict[Pin, set[Pin]] = {}
        for receiver, driver in self.fabric.drivers.items():
            receivers.setdefault(driver, set()).add(receiver)
        return receivers

    def insert(self, name: str, driver: Pin, receiver: Pin) -> CellType:
        """Insert a cell of this name into a link; return the type of the cell."""
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
        if (driver, receiver) in self.fabric.links:
            self.fabric.links.remove((driver, receiver))
        self.fabric.links += [(driver, near), (far, receiver)]
        return self._type(leaves)

    def _type(self, leaves: Mapping[Path, tuple[Leaf, bool]]) -> CellType:
        """The component for a link with these leaves."""
        packet = leaves["payload",][0].shape
        link, reply = stream.Signature, None
        if ("request",) in leaves:
            link = CircuitLink
            if ("reply", "payload") in leaves:
                reply = leaves["reply", "payload"][0].shape
        key = (packet, link, reply)
        if key not in self.types:
            self.types[key] = CellType(LinkFault, packet=packet, link=link, reply=reply)
        return self.types[key]

    def _drive(self, receiver: Pin, driver: Pin) -> None:
        before = self.fabric.drivers.get(receiver)
        if before is not None:
            self.receivers[before].discard(receiver)
        self.fabric.drivers[receiver] = driver
        self.receivers.setdefault(driver, set()).add(receiver)


class _Faulty(_Broken[_Fabric]):
    """A copy of a multistage network's fabric, in which links can be cut and boxes replaced."""

    def __init__(self, fabric: _Fabric, plan: MultistagePlan, seed: int) -> None:
        super().__init__(fabric)
        self.plan = plan
        self.seed = seed

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

    def break_link(self, place: Fault, straps: dict[str, int]) -> None:
        """Insert the component for a fault into a link, or set its straps if it is a spare one."""
        for number in count():
            name = f"fault_{place.kind}_{place.stage}_{place.index}_{number}"
            cell = self.fabric.cells.get(name)
            if cell is None or _SOUND.items() <= cell.straps.items():
                break
        type_ = self._insert(place, name) if cell is None else cell.type
        width = type_.leaves["flip",].width
        if straps.get("flip", 0) >> width:
            raise InvalidValue(f"Bit of fault {place} must be from 0 to {width - 1}")
        seed = scattered_seed(self.seed, place.stage, place.index, number)
        self.fabric.cells[name] = Cell(name, type_, {**_SOUND, "seed": seed, **straps})

    def _insert(self, place: Fault, name: str) -> CellType:
        """Insert a cell of this name into a link; return the type of the cell."""
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
