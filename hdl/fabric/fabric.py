# amaranth: UnusedElaboratable=no
"""A network as data: cells, and the wires between them.

A `Fabric` says which instances of which components exist (`Cell`) and which pin drives which. The
Amaranth component of a network, its Verilog, its compiled simulation, its graph measures and its
drawing are all derived from this one description, and none of them depends on the kind of network.

*Position is data, not structure*: a cell's address never changes its logic. The address is given on
a *strap*, an input held constant, so that all cells of one `CellType` share one module.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Self

import numpy as np
from amaranth.hdl import Shape, ShapeCastable, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .cell import SYNC, Cell, CellType, Leaf, Meter, Ports
from .checks import check_kind
from .digest import Digest
from .errors import InvalidType, InvalidValue
from .pins import Path, Pin, Pins
from .wire_arrays import Drivers, Links

__all__ = ["Fabric", "Scope"]


def _same_shape(a: ShapeLike, b: ShapeLike) -> bool:
    """Whether two shapes are the same; different layouts of equal width are not."""
    if a is b or a == b:
        return True
    if isinstance(a, ShapeCastable) or isinstance(b, ShapeCastable):
        return False
    return Shape.cast(a) == Shape.cast(b)


class Fabric:
    """Cells, and the driver of every pin that needs one.

    Parameters
    ----------
    boundary : Mapping[str, wiring.Member]
        The fabric's own ports, as the members of a signature.

    Attributes
    ----------
    cells : dict[str, Cell]
        By name, in the order of placement.
    drivers : MutableMapping[Pin, Pin]
        For each receiving leaf (an input of a cell or an output of the boundary), the leaf that
        drives it (an output of a cell or an input of the boundary). One leaf may drive several.
    links : MutableSequence[tuple[Pin, Pin]]
        The pairs that `link` connected, in order: the fabric at the level of interfaces.
    """

    def __init__(self, boundary: Mapping[str, wiring.Member]) -> None:
        self.signature = wiring.Signature(dict(boundary))
        self._ports = Ports(self.signature)
        self.boundary = self._ports.leaves
        self.cells: dict[str, Cell] = {}
        self.drivers = Drivers()
        self.drivers.reserve(None, None, self._ports.of(Out))
        self.links = Links(self.drivers)
        # A pair of interfaces is the same for all cells of a type, so it is compared only once.
        self._pairs: dict[tuple, tuple[int, int, list[tuple[bool, int, int]]]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.cells)} cells, {len(self.links)} links>"

    @classmethod
    def alone(cls, type_: CellType, without: Collection[str] = ()) -> "Fabric":
        """A fabric of a single cell, whose ports become the boundary. Nothing is strapped.

        Outputs named in `without` are left unconnected.
        """
        members = type_.build().signature.members.items()
        fabric = cls({name: port for name, port in members if name not in without})
        fabric.place(Cell("alone", type_))
        for name in fabric.signature.members:
            fabric.link(Pin(None, (name,)), Pin("alone", (name,)))
        return fabric

    def place(self, cell: Cell) -> Cell:
        """Add a cell.

        Raises
        ------
        ValueError
            If the name is taken, a strap is not an input of the cell or is out of range, or a clock
            domain is not one of the cell's.
        """
        if cell.name in self.cells:
            raise InvalidValue(f"Cell name {cell.name!r} is already taken by another cell")
        cell.check()
        self.cells[cell.name] = cell
        self.drivers.reserve(cell.name, cell.type, cell.type.inputs)
        return cell

    def place_all(self, cells: Sequence[Cell]) -> None:
        """Add cells, as `place` would one by one. This takes less time if few types alternate.

        Raises
        ------
        ValueError
            As `place`. The cells before may have been added.
        """
        names = [cell.name for cell in cells]
        known = (self.cells.keys(), self.drivers.cells.numbers.keys())
        if len(set(names)) < len(names) or not all(each.isdisjoint(names) for each in known):
            for cell in cells:
                self.place(cell)
            return
        for cell in cells:
            if cell.straps or cell.clocks:
                cell.check()
        self.cells.update(zip(names, cells))
        begin = 0
        for type_, some in groupby(cells, attrgetter("type")):
            end = begin + len(list(some))
            self.drivers.reserve_all(names[begin:end], type_, type_.inputs)
            begin = end

    def link(self, a: Pin, b: Pin) -> None:
        """Connect two ports or interfaces, each leaf of one with the same leaf of the other.

        Either end may drive a leaf; the signatures say which.

        Raises
        ------
        TypeError
            If the two ends do not have the same leaves, or the two shapes of a leaf differ.
        ValueError
            If a leaf has two drivers or none, or a cell does not exist.
        """
        drivers = self.drivers
        path_a, path_b, leaves = self._leaves(a, b)
        known = drivers.cells.numbers
        one = known[a.cell] if a.cell in known else drivers.number(a.cell)
        two = known[b.cell] if b.cell in known else drivers.number(b.cell)
        for drives_a, leaf_a, leaf_b in leaves:
            ends = (two, leaf_b, one, leaf_a) if drives_a else (one, leaf_a, two, leaf_b)
            if not drivers.connect(*ends):
                receiver, driver = drivers.pin(*ends[:2]), drivers.pin(*ends[2:])
                raise InvalidValue(
                    f"Pin {receiver} can't be driven by {driver}: "
                    f"it is already driven by {drivers[receiver]}"
                )
        self.links.add(one, path_a, two, path_b)

    def link_all(self, a: Pins, b: Pins) -> None:
        """Link each of many pins with one of as many others, as `link` would one by one.

        This takes less time if there are many pairs of a few kinds.

        Raises
        ------
        TypeError, ValueError
            As `link`. The pins before may have been linked.
        """
        if not self._linked_at_once(a, b):
            for one, other in zip(a.each(), b.each()):
                self.link(one, other)

    def _linked_at_once(self, pins_a: Pins, pins_b: Pins) -> bool:
        """Link all that `link` would link one by one, or nothing if one of them can't be linked."""
        drivers = self.drivers
        a, b = map(drivers.numbered, (pins_a, pins_b))
        if not len(a) or min(a.cell.min(), b.cell.min()) < 0:
            return False
        kinds = drivers.kinds(a.cell), a.path, drivers.kinds(b.cell), b.path
        if not (kinds[0].all() and kinds[2].all()):
            return False
        codes = np.ravel_multi_index(kinds, [int(each.max()) + 1 for each in kinds])
        _, firsts, which = np.unique(codes, return_index=True, return_inverse=True)
        # By leaf of each kind of pair: the inputs, and the cells and outputs that drive them.
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for kind, first in enumerate(firsts):
            some = which == kind
            for drives, leaf_a, leaf_b in self._leaves(a.pin(first), b.pin(first))[2]:
                ends = (b.cell[some], a.cell[some])
                receivers, senders = ends if drives else reversed(ends)
                leaf, output = (leaf_b, leaf_a) if drives else (leaf_a, leaf_b)
                slots = drivers.slots(receivers, leaf)
                found.append((slots, senders, np.full(len(slots), output)))
        if not drivers.connect_all(*(np.concatenate(each) for each in zip(*found))):
            return False
        self.links.add_all(np.stack([a.cell, a.path, b.cell, b.path], axis=1))
        return True

    def _leaves(self, a: Pin, b: Pin) -> tuple[int, int, list[tuple[bool, int, int]]]:
        """The numbers of the paths of two pins that can be linked, and of those of their leaves."""
        kind = self._ports_of(a), a.path, self._ports_of(b), b.path
        if kind not in self._pairs:
            path = self.drivers.paths.number
            leaves = [(drives, path(one), path(two)) for drives, one, two in self._paired(a, b)]
            self._pairs[kind] = path(a.path), path(b.path), leaves
        return self._pairs[kind]

    def _paired(self, a: Pin, b: Pin) -> Iterator[tuple[bool, Path, Path]]:
        """The matching leaves of two interfaces, and whether the leaf of `a` is the driver."""
        ends_a, ends_b = self.resolve(a), self.resolve(b)
        if ends_a.keys() != ends_b.keys():
            raise InvalidType(f"Pins {a} and {b} can't be linked: their members differ")
        for suffix, (leaf_a, drives_a) in ends_a.items():
            leaf_b, drives_b = ends_b[suffix]
            pin_a, pin_b = Pin(a.cell, a.path + suffix), Pin(b.cell, b.path + suffix)
            if not _same_shape(leaf_a.shape, leaf_b.shape):
                raise InvalidType(
                    f"Pins {pin_a} and {pin_b} can't be linked: "
                    f"their shapes are {leaf_a.shape!r} and {leaf_b.shape!r}"
                )
            if drives_a == drives_b:
                what = "outputs" if drives_a else "inputs"
                raise InvalidValue(f"Pins {pin_a} and {pin_b} can't be linked: both are {what}")
            yield drives_a, pin_a.path, pin_b.path

    def sends_stream(self, pin: Pin) -> bool:
        """Whether a pin is the sending end of a link with a handshake."""
        leaves = {suffix: drives for suffix, (_, drives) in self.resolve(pin).items()}
        return leaves.get(("valid",)) is True and leaves.get(("ready",)) is False

    def check_cell(self, name: str) -> None:
        """Raise ValueError if there is no cell of this name."""
        if name not in self.cells:
            raise InvalidValue(f"There is no cell {name!r}")

    def check_pin(self, pin: Pin) -> None:
        """Raise ValueError if there is no such pin, of a cell or of the boundary."""
        check_kind("Pin", pin, Pin, "a Pin")
        if pin.cell is not None:
            self.check_cell(pin.cell)
        leaves = self.boundary if pin.cell is None else self.cells[pin.cell].type.leaves
        if pin.path not in leaves:
            raise InvalidValue(f"There is no pin {pin}")

    def check(self) -> None:
        """Raise ValueError if an input of a cell or an output of the boundary has no driver, or
        TypeError if a component can't be elaborated."""
        for type_ in self.types():
            if not hasattr(type_.component, "elaborate"):
                raise InvalidType(f"Component {type_.component.__name__} must have an elaborate()")
        if not self._all_driven():
            for receiver in self.receivers():
                if receiver not in self.drivers:
                    raise InvalidValue(f"Pin {receiver} is not driven")

    def _all_driven(self) -> bool:
        """Whether all inputs of the cells are driven or strapped, and all outputs are driven."""
        for type_, cells in self.types().items():
            numbers = self.numbers(cells)
            straps = set(map(tuple, map(attrgetter("straps"), cells)))
            for path in type_.inputs:
                if any(path[0] not in names for names in straps):
                    open_ = np.flatnonzero(self.drivers.of(numbers, path)[0] < 0)
                    if any(path[0] not in cells[at].straps for at in open_.tolist()):
                        return False
        return all(Pin(None, path) in self.drivers for path in self._ports.of(Out))

    def numbers(self, cells: Sequence[Cell]) -> np.ndarray:
        """The numbers of cells among `drivers.cells`."""
        number = self.drivers.cells.numbers.__getitem__
        names = map(attrgetter("name"), cells)
        return np.fromiter(map(number, names), np.int64, len(cells))

    def receivers(self) -> Iterator[Pin]:
        """All leaves that need a driver; strapped inputs do not."""
        for cell in self.cells.values():
            for path in cell.type.inputs:
                if path[0] not in cell.straps:
                    yield Pin(cell.name, path)
        for path in self._ports.of(Out):
            yield Pin(None, path)

    @property
    def clocks(self) -> list[str]:
        """All clocks: the usual one, if it is used, and the others in the order of the cells."""
        found: dict[str, None] = {}
        for type_, cells in self.types().items():
            if type_.domains == (SYNC,):
                cells = [cell for cell in cells if cell.clocks]
            for cell in cells:
                found |= dict.fromkeys(cell.clocks.get(name, name) for name in type_.domains)
        return sorted(found or [SYNC], key=lambda name: name != SYNC)

    def check_one_clock(self, what: str) -> None:
        """Raise ValueError if there are several clocks; `what` needs a fabric with one."""
        if (count := len(self.clocks)) > 1:
            raise InvalidValue(f"{what} needs a fabric with one clock, not {count} clocks")

    def types(self) -> dict[CellType, list[Cell]]:
        """The cells of each type, with the types in the order of their first cell."""
        types: dict[CellType, list[Cell]] = {}
        for type_, cells in self._runs():
            types.setdefault(type_, []).extend(cells)
        return types

    def _runs(self) -> Iterator[tuple[CellType, Iterator[Cell]]]:
        """Adjacent cells of equal types: a cell that is like the one before takes little time."""
        return groupby(self.cells.values(), attrgetter("type"))

    def metered(self) -> dict[str, list[tuple[Pin, Meter]]]:
        """The outputs of cells to be counted, by statistic.

        Raises
        ------
        TypeError, ValueError
            If a meter is wrong, or a statistic is of levels in some cells and of events in others.
        """
        found: dict[str, list[tuple[Pin, Meter]]] = {}
        for type_, cells in self._runs():
            type_.check_meters()
            for cell in cells if type_.meters else ():
                for meter in type_.meters:
                    pins = found.setdefault(meter.statistic, [])
                    pins.append((Pin(cell.name, (meter.port,)), meter))
        for statistic, pins in found.items():
            if len({meter.kind == "level" for _, meter in pins}) > 1:
                raise InvalidValue(f"Meters of {statistic} must be all of kind level, or none")
        return found

    @property
    def digest(self) -> str:
        """All that this fabric is: its ports, cells with types, straps and contents, and wires."""
        about = Digest([*self.boundary.items()])
        for type_, cells in self.types().items():
            about.add(type_.digest, [(cell.name, cell.title) for cell in cells])
            for cell in cells:
                about.add(cell.straps, cell.contents, cell.clocks)
        # Names and numbers only, so that these texts say all: faster than pin by pin.
        about.add(repr([*self.drivers.items()]), repr([*self.links]))
        return str(about)

    def scope(self, name: str) -> "Scope":
        """A view of this fabric that prefixes the names of new cells with `name` and `_`."""
        return Scope(self, name)

    def unread(self, type_: CellType) -> set[str]:
        """Outputs of a cell type that nothing in the fabric reads; only a test bench might."""
        cells = {cell.name for cell in self.types()[type_]}
        used = {pin.path for pin in self.drivers.values() if pin.cell in cells}
        needed = {path[0] for path, leaf in type_.leaves.items() if leaf.flow == In or path in used}
        return {str(path[0]) for path in type_.leaves if path[0] not in needed}

    def copy(self) -> Self:
        """A copy of the same class, whose cells and wires can be changed."""
        other = copy(self)
        other._be_like(self)
        return other

    def _be_like(self, given: "Fabric") -> None:
        """Take copies of the cells and wires of another fabric."""
        self.cells = dict(given.cells)
        self.drivers = given.drivers.copy()
        self.links = given.links.copy(self.drivers)

    def exposing(self, pins: Mapping[str, Pin]) -> "Fabric":
        """A copy of this fabric with further boundary outputs, by name, each driven by a pin."""
        members = dict(self.signature.members)
        for name, pin in pins.items():
            members[name] = Out(self.resolve(pin)[()][0].shape)
        other = Fabric(members)
        other._be_like(self)
        for name, pin in pins.items():
            other.link(pin, Pin(None, (name,)))
        return other

    def resolve(self, pin: Pin) -> dict[Path, tuple[Leaf, bool]]:
        """The leaves below a pin, by the rest of their path, and whether each is a driver.

        Raises
        ------
        ValueError
            If the pin or its cell does not exist.
        """
        ports, drives = self._ports_of(pin), In if pin.cell is None else Out
        if pin.path not in ports.below:
            raise InvalidValue(f"Pin {pin} does not exist")
        below = ports.below[pin.path]
        return {suffix: (leaf, leaf.flow == drives) for suffix, leaf in below.items()}

    def _ports_of(self, pin: Pin) -> Ports:
        if pin.cell is None:
            return self._ports
        try:
            return self.cells[pin.cell].type.ports
        except KeyError:
            raise InvalidValue(f"Pin {pin} names a cell that does not exist") from None


class Scope:
    """A part of a fabric with its own cell names, so that a network can be placed twice.

    `place`, `place_all`, `link` and `link_all` are those of the fabric; `pin` translates a pin of
    the scope, as returned by a network's `place`, to the fabric's pin.

    Parameters
    ----------
    fabric : Fabric
        The whole fabric.
    name : str
        Prefix of the names of the cells.
    """

    def __init__(self, fabric: Fabric, name: str) -> None:
        self.fabric = fabric
        self.name = name

    def pin(self, pin: Pin) -> Pin:
        """The fabric's pin for a pin of this scope; pins of the boundary are unchanged."""
        return Pin(self._name(pin.cell), pin.path)

    def place(self, cell: Cell) -> Cell:
        """As in `Fabric`; returns the cell with its name in this scope."""
        self.fabric.place(self._own(cell))
        return cell

    def place_all(self, cells: Sequence[Cell]) -> None:
        """As in `Fabric`."""
        self.fabric.place_all([*map(self._own, cells)])

    def _own(self, cell: Cell) -> Cell:
        title = f"{self.name.replace('_', ' ')}, {cell.title}"
        return replace(cell, name=f"{self.name}_{cell.name}", title=title)

    def link(self, a: Pin, b: Pin) -> None:
        """As in `Fabric`."""
        self.fabric.link(self.pin(a), self.pin(b))

    def link_all(self, a: Pins, b: Pins) -> None:
        """As in `Fabric`."""
        own = ([self._name(cell) for cell in pins.cells] for pins in (a, b))
        self.fabric.link_all(*(replace(pins, cells=cells) for pins, cells in zip((a, b), own)))

    def _name(self, cell: str | None) -> str | None:
        return None if cell is None else f"{self.name}_{cell}"
