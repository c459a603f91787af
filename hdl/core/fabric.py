# amaranth: UnusedElaboratable=no
"""A network as data: cells, and the wires between them.

A `Fabric` says which instances of which components exist (`Cell`) and which pin drives which. The
Amaranth component of a network, its Verilog, its compiled simulation, its graph measures and its
drawing are all made from this one description, and none of them knows what network it is.

*Position is data, not structure*: a cell's address never changes its logic. It comes in on a
*strap*, an input held at a constant, so that all cells of one `CellType` share one module.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

from amaranth.hdl import Module, Shape, ShapeCastable, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .errors import InvalidType, InvalidValue

__all__ = [
    "Cell",
    "CellType",
    "Fabric",
    "FabricComponent",
    "Leaf",
    "Meter",
    "Path",
    "Pin",
    "Scope",
    "member",
]

Path = tuple[str | int, ...]


class Pin(NamedTuple):
    """One end of a wire: a member of a cell's signature, or of the fabric's own (`cell` is None).

    `path` leads to an interface such as `("o", 1)` or to one leaf of it, `("o", 1, "valid")`.
    """

    cell: str | None
    path: Path

    def __str__(self) -> str:
        return ".".join(str(part) for part in ((self.cell or "(boundary)"), *self.path))


class Meter(NamedTuple):
    """What is to be counted at an output of a component, which lists such in its `meters`.

    `kind` is "pulses" if each bit of the output is an event, "number" if the output is their
    number in this cycle, and "level" if it is how much is stored. `statistic` is what it is called
    in results; "dropped" and "corrupted" stand in the books too.
    """

    statistic: str
    port: str
    kind: Literal["pulses", "number", "level"]


class Leaf(NamedTuple):
    """A port without inner structure: its direction seen from the component, and its shape."""

    flow: wiring.Flow
    shape: ShapeLike

    @property
    def width(self) -> int:
        return Shape.cast(self.shape).width


def _leaves(signature: wiring.Signature) -> Iterator[tuple[Path, Leaf]]:
    """All leaves of a signature. (Its own `flatten` needs an object with a signal for each.)"""
    for name, member in signature.members.items():
        if member.is_port:
            inner: list[tuple[Path, Leaf]] = [((), Leaf(member.flow, member.shape))]
        else:
            inner = list(_leaves(member.signature))
        for index in product(*map(range, member.dimensions)):
            for path, leaf in inner:
                yield (name, *index, *path), leaf


class _Ports:
    """The leaves of a signature, and which of them lie below each interface."""

    def __init__(self, signature: wiring.Signature) -> None:
        self.leaves: dict[Path, Leaf] = dict(_leaves(signature))
        self.below: dict[Path, dict[Path, Leaf]] = {}
        for path, leaf in self.leaves.items():
            for depth in range(len(path) + 1):
                self.below.setdefault(path[:depth], {})[path[depth:]] = leaf


def _same_shape(a: ShapeLike, b: ShapeLike) -> bool:
    """Whether two shapes are one; two layouts of equal width are not."""
    if a is b or a == b:
        return True
    if isinstance(a, ShapeCastable) or isinstance(b, ShapeCastable):
        return False
    return Shape.cast(a) == Shape.cast(b)


def member(component: Any, path: Path) -> Any:
    """The port or interface that a path leads to in a component."""
    for part in path:
        component = component[part] if isinstance(part, int) else getattr(component, part)
    return component


class CellType:
    """What all cells of one module have in common: a component class and its parameters.

    Two types with the same class and parameters are equal. `parameters` must be hashable.

    Parameters
    ----------
    component : type[wiring.Component]
        Class of the component.
    **parameters
        Its constructor's arguments.
    """

    def __init__(self, component: type[wiring.Component], **parameters: Any) -> None:
        self.component = component
        self.parameters = parameters
        self._key = (component, tuple(sorted(parameters.items())))
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CellType) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.component.__name__}({words})"

    @property
    def name(self) -> str:
        """The class's name in the style of a Verilog module: `OutputQueued` is `output_queued`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.component.__name__).lower()

    @cached_property
    def _ports(self) -> _Ports:
        return _Ports(self._example.signature)

    @cached_property
    def _example(self) -> wiring.Component:
        return self.build()

    @property
    def meters(self) -> tuple[Meter, ...]:
        """What is to be counted in each cell."""
        return getattr(self._example, "meters", ())

    @property
    def leaves(self) -> dict[Path, Leaf]:
        """All ports of the component, as paths in its signature."""
        return self._ports.leaves

    def build(self, contents: Mapping[str, tuple[int, ...]] | None = None) -> wiring.Component:
        """A new component of this type, its memories initialised with `contents`."""
        return self.component(**self.parameters, **(contents or {}))


@dataclass(frozen=True)
class Cell:
    """An instance of a cell type.

    Parameters
    ----------
    name : str
        Unique in its fabric, and legal in Verilog.
    type : CellType
        What it is an instance of.
    straps : Mapping[str, int]
        Inputs that are held at a constant for this cell.
    contents : Mapping[str, tuple[int, ...]]
        Initial rows of this cell's memories. The name is the constructor's argument as well as the
        name of the component's `Memory` submodule; rows that are not given are zero.
    """

    name: str
    type: CellType
    straps: Mapping[str, int] = field(default_factory=dict)
    contents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Fabric:
    """Cells, and for every pin that needs a driver, the pin that drives it.

    Parameters
    ----------
    boundary : Mapping[str, wiring.Member]
        The fabric's own ports, as the members of a signature.

    Attributes
    ----------
    cells : dict[str, Cell]
        By name, in the order in which they were placed.
    drivers : dict[Pin, Pin]
        For each receiving leaf (an input of a cell or an output of the boundary) the leaf that
        drives it (an output of a cell or an input of the boundary). One leaf may drive many.
    links : list[tuple[Pin, Pin]]
        What `link` was asked to connect, in order: the fabric at the level of interfaces.
    """

    def __init__(self, boundary: Mapping[str, wiring.Member]) -> None:
        self.signature = wiring.Signature(dict(boundary))
        self._ports = _Ports(self.signature)
        self.boundary = self._ports.leaves
        self.cells: dict[str, Cell] = {}
        self.drivers: dict[Pin, Pin] = {}
        self.links: list[tuple[Pin, Pin]] = []
        # Pairs of interfaces are alike in all cells of a type, and are compared once.
        self._pairs: dict[tuple, list[tuple[bool, Path, Path]]] = {}

    @classmethod
    def alone(cls, type_: CellType, without: Collection[str] = ()) -> "Fabric":
        """A single cell, whose ports are those of the boundary: nothing is strapped.

        Outputs `without` which the cell shall be are left open.
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
            If the name is taken, or a strap is not an input of the cell, or is out of its range.
        """
        if cell.name in self.cells:
            raise InvalidValue(f"Cell name {cell.name!r} is already taken by another cell")
        for name, value in cell.straps.items():
            leaf = cell.type.leaves.get((name,))
            if leaf is None or leaf.flow != In:
                raise InvalidValue(f"Strap {name!r} of cell {cell.name!r} is not an input of it")
            if value not in range(1 << leaf.width):
                raise InvalidValue(
                    f"Strap {name!r} of cell {cell.name!r} must fit {leaf.width} bits, not {value}"
                )
        self.cells[cell.name] = cell
        return cell

    def link(self, a: Pin, b: Pin) -> None:
        """Connect two ports or interfaces: each leaf of one with the same leaf of the other.

        Either end may be the driver of a leaf; the signatures say which.

        Raises
        ------
        TypeError
            If the two ends do not have the same leaves, or a leaf has two shapes.
        ValueError
            If a leaf has two drivers, or none, or a cell does not exist.
        """
        kind = self._ports_of(a), a.cell is None, a.path, self._ports_of(b), b.cell is None, b.path
        pairs = self._pairs.get(kind)
        if pairs is None:
            pairs = self._pairs[kind] = list(self._paired(a, b))
        for drives_a, path_a, path_b in pairs:
            driver, receiver = Pin(a.cell, path_a), Pin(b.cell, path_b)
            if not drives_a:
                driver, receiver = receiver, driver
            if receiver in self.drivers:
                raise InvalidValue(
                    f"Pin {receiver} can't be driven by {driver}: "
                    f"it is already driven by {self.drivers[receiver]}"
                )
            self.drivers[receiver] = driver
        self.links.append((a, b))

    def _paired(self, a: Pin, b: Pin) -> Iterator[tuple[bool, Path, Path]]:
        """The leaves of two interfaces that belong together, and whether that of a drives."""
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

    def check(self) -> None:
        """Raise ValueError if some input of a cell, or output of the boundary, has no driver."""
        for receiver in self.receivers():
            if receiver not in self.drivers:
                raise InvalidValue(f"Pin {receiver} is not driven")

    def receivers(self) -> Iterator[Pin]:
        """All leaves that need a driver (strapped inputs don't)."""
        inputs: dict[CellType, list[Path]] = {}
        for cell in self.cells.values():
            if cell.type not in inputs:
                leaves = cell.type.leaves.items()
                inputs[cell.type] = [path for path, leaf in leaves if leaf.flow == In]
            for path in inputs[cell.type]:
                if path[0] not in cell.straps:
                    yield Pin(cell.name, path)
        for path, leaf in self.boundary.items():
            if leaf.flow == Out:
                yield Pin(None, path)

    def types(self) -> dict[CellType, list[Cell]]:
        """The cells of each type, types in the order of their first cell."""
        types: dict[CellType, list[Cell]] = {}
        for cell in self.cells.values():
            types.setdefault(cell.type, []).append(cell)
        return types

    def metered(self) -> dict[str, list[tuple[Pin, Meter]]]:
        """The outputs of cells at which something is to be counted, by statistic."""
        found: dict[str, list[tuple[Pin, Meter]]] = {}
        for cell in self.cells.values():
            for meter in cell.type.meters:
                pins = found.setdefault(meter.statistic, [])
                pins.append((Pin(cell.name, (meter.port,)), meter))
        return found

    def scope(self, name: str) -> "Scope":
        """A view of this fabric in which the names of new cells begin with `name` and `_`."""
        return Scope(self, name)

    def unread(self, type_: CellType) -> set[str]:
        """Outputs of a type of cells that nothing reads in any of them: only a bench is told."""
        cells = {cell.name for cell in self.types()[type_]}
        used = {pin.path for pin in self.drivers.values() if pin.cell in cells}
        needed = {path[0] for path, leaf in type_.leaves.items() if leaf.flow == In or path in used}
        return {str(path[0]) for path in type_.leaves if path[0] not in needed}

    def exposing(self, pins: Mapping[str, Pin]) -> "Fabric":
        """The same fabric with further outputs at its boundary, by name, each driven by a pin."""
        members = dict(self.signature.members)
        for name, pin in pins.items():
            members[name] = Out(self.resolve(pin)[()][0].shape)
        other = Fabric(members)
        other.cells = dict(self.cells)
        other.drivers = dict(self.drivers)
        other.links = list(self.links)
        for name, pin in pins.items():
            other.link(pin, Pin(None, (name,)))
        return other

    def resolve(self, pin: Pin) -> dict[Path, tuple[Leaf, bool]]:
        """The leaves below a pin, by the rest of their path, and whether each drives.

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

    def _ports_of(self, pin: Pin) -> _Ports:
        if pin.cell is None:
            return self._ports
        if pin.cell not in self.cells:
            raise InvalidValue(f"Pin {pin} names a cell that does not exist")
        return self.cells[pin.cell].type._ports


class Scope:
    """A part of a fabric, whose cells have names of their own: so a network can be placed twice.

    `place` and `link` are those of the fabric; `pin` gives the fabric's pin for one of the scope,
    which a network's `place` has returned.

    Parameters
    ----------
    fabric : Fabric
    name : str
        What the names of the cells begin with.
    """

    def __init__(self, fabric: Fabric, name: str) -> None:
        self.fabric = fabric
        self.name = name

    def pin(self, pin: Pin) -> Pin:
        """The fabric's pin; those of the boundary stay."""
        return pin if pin.cell is None else Pin(f"{self.name}_{pin.cell}", pin.path)

    def place(self, cell: Cell) -> Cell:
        """As in `Fabric`; returns the cell as it is named here."""
        self.fabric.place(replace(cell, name=f"{self.name}_{cell.name}"))
        return cell

    def link(self, a: Pin, b: Pin) -> None:
        """As in `Fabric`."""
        self.fabric.link(self.pin(a), self.pin(b))


class FabricComponent(wiring.Component):
    """An Amaranth component made from a fabric: every cell a named submodule.

    Elaboration makes each cell anew, which suits Amaranth's simulator and small designs; use
    `multicube.hdl.export.verilog` to export large ones.

    Its fabric, if it is given as a function, and its ports are made when they are first looked at:
    who simulates a network of thousands of terminals on a bench needs neither.

    Parameters
    ----------
    fabric : Fabric or Callable[[], Fabric]

    Attributes
    ----------
    fabric : Fabric
    instances : dict[str | None, wiring.Component]
        Once elaborated: the component of each cell by its name, and this component under None.

    Members
    -------
    Those of the fabric's boundary.
    """

    # A network is useful as data, without ever being elaborated.
    _MustUse__silence = True

    def __init__(self, fabric: Fabric | Callable[[], Fabric]) -> None:
        self._given = fabric
        self.instances: dict[str | None, wiring.Component] = {}
        self._has_ports = False

    def __getattr__(self, name: str) -> Any:
        # Comes here for a name that is not known: that of a port, if they have not been made yet.
        if self.__dict__.get("_has_ports", True):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._has_ports = True
        super().__init__(self.fabric.signature)
        return getattr(self, name)

    @cached_property
    def fabric(self) -> Fabric:
        return self._given if isinstance(self._given, Fabric) else self._given()

    def elaborate(self, platform: object) -> Module:
        self.fabric.check()
        m = Module()
        self.instances = {None: self}
        for cell in self.fabric.cells.values():
            component = self.instances[cell.name] = cell.type.build(cell.contents)
            m.submodules[cell.name] = component
            for name, value in cell.straps.items():
                m.d.comb += getattr(component, name).eq(value)
        for receiver, driver in self.fabric.drivers.items():
            source = member(self.instances[driver.cell], driver.path)
            m.d.comb += member(self.instances[receiver.cell], receiver.path).eq(source)
        return m
