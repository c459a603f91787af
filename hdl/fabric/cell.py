# amaranth: UnusedElaboratable=no
"""The cells of a network: instances of component classes, and the ports that they have."""

import atexit
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

from amaranth.hdl import Elaboratable, Shape, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .checks import check_kind, check_word, shown
from .digest import Digest
from .errors import InvalidType, InvalidValue
from .pins import Path

__all__ = ["SYNC", "Cell", "CellType", "Leaf", "Meter"]

if sys.version_info >= (3, 13):
    # Components of which only the ports were read live until the program ends. Amaranth can't read
    # then that this file allows it, and would warn of each that it was never used.
    atexit.register(setattr, Elaboratable, "_MustUse__silence", True)


SYNC = "sync"
"""The clock of a fabric's cells, unless they name others; so Amaranth calls it, too."""


_MOST_INPUT_BITS = 2**16 - 4
"""Netlists of Amaranth number the input bits of a module, clock and reset included, in 16 bits."""


MeterKind = Literal["pulses", "number", "level"]


class Meter(NamedTuple):
    """An output of a component that is to be counted; a component lists these in its `meters`.

    Attributes
    ----------
    statistic : str
        The name used in results; "dropped" and "corrupted" also enter the packet accounting.
    port : str
        The name of the output.
    kind : "pulses", "number" or "level"
        Whether each bit of the output is an event, the output is the number of events in this
        cycle, or it is the number of items stored.
    """

    statistic: str
    port: str
    kind: MeterKind


class Leaf(NamedTuple):
    """A port without inner structure.

    Attributes
    ----------
    flow : Flow
        Its direction as seen by the component.
    shape : ShapeLike
        What it carries.
    """

    flow: wiring.Flow
    shape: ShapeLike

    @property
    def width(self) -> int:
        return Shape.cast(self.shape).width


def _leaves(signature: wiring.Signature) -> Iterator[tuple[Path, Leaf]]:
    """All leaves of a signature. (`Signature.flatten` needs an object with a signal for each.)"""
    for name, member in signature.members.items():
        if member.is_port:
            inner: list[tuple[Path, Leaf]] = [((), Leaf(member.flow, member.shape))]
        else:
            inner = list(_leaves(member.signature))
        for index in product(*map(range, member.dimensions)):
            for path, leaf in inner:
                yield (name, *index, *path), leaf


class Ports:
    """The leaves of a signature, and the leaves below each interface."""

    def __init__(self, signature: wiring.Signature) -> None:
        self.leaves: dict[Path, Leaf] = dict(_leaves(signature))
        self.below: dict[Path, dict[Path, Leaf]] = {}
        for path, leaf in self.leaves.items():
            for depth in range(len(path) + 1):
                self.below.setdefault(path[:depth], {})[path[depth:]] = leaf

    def of(self, flow: wiring.Flow) -> tuple[Path, ...]:
        """The leaves of one direction, as seen by the component."""
        return tuple(path for path, leaf in self.leaves.items() if leaf.flow == flow)


class CellType:
    """What all cells of one module share: a component class and its parameters.

    Two types with the same class and parameters are equal. `parameters` must be hashable.

    Parameters
    ----------
    component : type[wiring.Component]
        Class of the component.
    **parameters
        Arguments of its constructor.

    Raises
    ------
    TypeError
        If it is no class of components, or a parameter isn't hashable.
    """

    def __init__(self, component: type[wiring.Component], **parameters: Any) -> None:
        if not (isinstance(component, type) and issubclass(component, wiring.Component)):
            raise InvalidType(f"Component must be a class of components, not {shown(component)}")
        self.component = component
        self.parameters = parameters
        self._key = (component, tuple(sorted(parameters.items())))
        try:
            self._hash = hash(self._key)
        except TypeError:
            raise InvalidType(f"Parameters of {self} must be hashable") from None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CellType) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        words = ", ".join(
            f"{name}={value.__name__ if isinstance(value, type) else repr(value)}"
            for name, value in self.parameters.items()
        )
        return f"{self.component.__name__}({words})"

    @property
    def name(self) -> str:
        """The class name in the style of a Verilog module: `OutputQueued` is `output_queued`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.component.__name__).lower()

    @cached_property
    def ports(self) -> Ports:
        ports = Ports(self._example.signature)
        bits = sum(leaf.width for leaf in ports.leaves.values() if leaf.flow == wiring.In)
        if bits > _MOST_INPUT_BITS:
            raise InvalidValue(
                f"Inputs of a component must have at most {_MOST_INPUT_BITS} bits together, "
                f"not {bits} as those of {self.name}"
            )
        return ports

    @cached_property
    def _example(self) -> wiring.Component:
        return self.build()

    @cached_property
    def digest(self) -> str:
        """What all cells of this type are: class and parameters, and of a user's own class the
        netlist, since its code may change."""
        about = Digest(self.component, self.parameters)
        if about.foreign:
            from amaranth.back import rtlil

            about.add(rtlil.convert(self.build(), emit_src=False))
        return str(about)

    @property
    def auxiliary(self) -> bool:
        """Whether cells of this type only serve others, such as a router's table."""
        return getattr(self.component, "auxiliary", False)

    @property
    def domains(self) -> tuple[str, ...]:
        """The clock domains of the component: what its class says, or the usual one alone."""
        return getattr(self.component, "domains", (SYNC,))

    @property
    def meters(self) -> tuple[Meter, ...]:
        """The outputs to be counted in each cell."""
        return getattr(self._example, "meters", ())

    def check_meters(self) -> None:
        """Raise TypeError or ValueError if a meter is none, not of an output, or a second one of
        an output or of a statistic."""
        for meter in self.meters:
            check_kind(f"Meter of {self.name}", meter, Meter, "a Meter")
            check_word(f"Kind of a meter of {self.name}", meter.kind, get_args(MeterKind))
            leaf = self.leaves.get((meter.port,))
            if leaf is None or leaf.flow == In:
                raise InvalidValue(f"Meter of {self.name} must count an output, not {meter.port!r}")
        for one, other in combinations(self.meters, 2):
            if one.statistic == other.statistic or one.port == other.port:
                raise InvalidValue(
                    f"Meters of {self.name} must be of different outputs and statistics, "
                    f"not {tuple(one)} and {tuple(other)}"
                )

    @property
    def leaves(self) -> dict[Path, Leaf]:
        """All ports of the component, by their path in its signature."""
        return self.ports.leaves

    @cached_property
    def inputs(self) -> tuple[Path, ...]:
        """The paths of all inputs."""
        return self.ports.of(In)

    @cached_property
    def _allowed(self) -> dict[str, range]:
        """The values that a strap may have, by the name of the input."""
        leaves = {path: self.leaves[path] for path in self.inputs if len(path) == 1}
        return {str(name): range(1 << leaf.width) for (name,), leaf in leaves.items()}

    def build(self, contents: Mapping[str, tuple[int, ...]] | None = None) -> wiring.Component:
        """A new component of this type, with its memories initialised from `contents`."""
        return self.component(**self.parameters, **(contents or {}))


_NOTHING: Mapping[str, Any] = {}
"""Straps and contents of all cells that have none."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An instance of a cell type.

    Parameters
    ----------
    name : str
        Unique in its fabric, and a legal Verilog identifier.
    type : CellType
        The type that it is an instance of.
    straps : Mapping[str, int]
        Inputs that are held constant for this cell.
    contents : Mapping[str, tuple[int, ...]]
        Initial rows of this cell's memories. Each name is both an argument of the constructor and
        the name of the component's `Memory` submodule; rows that are not given are zero.
    title : str
        What the cell is called in the names of links (`fabric.wires`), such as "node 5"; it need
        not be unique. By default the words of its name.
    clocks : Mapping[str, str]
        Which of the fabric's clocks each clock domain of the component is. A domain that is not
        named here is the fabric's clock of that name.
    """

    name: str
    type: CellType
    straps: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    contents: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: _NOTHING)
    title: str = ""
    clocks: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.name.replace("_", " "))

    def check(self) -> None:
        """Raise ValueError if straps or clocks do not fit its type."""
        allowed = self.type._allowed
        for name, value in self.straps.items():
            if name not in allowed:
                raise InvalidValue(f"Strap {name!r} of cell {self.name!r} is not an input of it")
            check_kind(f"Strap {name!r} of cell {self.name!r}", value, Integral, "an integer")
            if value not in allowed[name]:
                width = self.type.leaves[name,].width
                raise InvalidValue(
                    f"Strap {name!r} of cell {self.name!r} must fit {width} bits, not {value}"
                )
        for name in self.clocks:
            if name not in self.type.domains:
                raise InvalidValue(f"Clock domain {name!r} of cell {self.name!r} is not one of it")
