"""The logic and state that all cells of a type share, as the graph of words that is compiled."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from ....hdl.fabric.pins import Path
from .ir import Node, Words
from .word_graph import Graph

__all__ = ["Event", "Memory", "Module", "Register", "Write"]


@dataclass
class Register:
    """A word of state, updated at the clock edge. `next` is set once all state is known.

    `next` is that without a reset; `resets` says whether a reset sets it to `init` instead.
    """

    width: int
    init: int
    resets: bool = False
    next: Node = field(init=False)

    def holds(self, index: int) -> bool:
        """Whether it keeps its value for ever, if this is its index."""
        return self.next.op == "register" and self.next.attr == index


@dataclass
class Write:
    """A write port: enable, address, data, and a mask for each word (None: all bits)."""

    address: Node
    enable: Node
    data: Words
    mask: Words | None

    @property
    def nodes(self) -> Words:
        """All that it depends on."""
        return (self.address, self.enable, *self.data, *(self.mask or ()))


@dataclass
class Memory:
    """Rows of words. If the memory is kept in registers, `registers[row]` are those of a row."""

    name: str
    width: int
    init: tuple[int, ...]
    writes: list[Write] = field(default_factory=list)
    registers: list[list[int]] | None = None

    @property
    def rows(self) -> int:
        return len(self.init)


@dataclass
class Event:
    """An assertion: the run stops in a cycle in which `hit` is 1."""

    hit: Node
    message: str
    place: str


@dataclass(eq=False)
class Module:
    """The logic and state that all cells of a type share.

    Attributes
    ----------
    graph : Graph
    inputs, outputs : dict
        Width of each input port; words of each output port.
    widths : dict[Path, list[int]]
        Widths of the words of each output port.
    depends : dict[Path, frozenset[Path]]
        The inputs that an output depends on within a cycle.
    signals : Callable[[str], tuple[Words, int]]
        Words and width of a named signal of the module, in the same graph. Raises KeyError.
    signal_names : list[str]
    """

    name: str
    graph: "Graph"
    inputs: dict[Path, int]
    outputs: dict[Path, Words]
    widths: dict[Path, list[int]]
    depends: dict[Path, frozenset[Path]]
    registers: list[Register]
    memories: list[Memory]
    events: list[Event]
    signals: "Callable[[str], tuple[Words, int]]"
    signal_names: list[str]

    @cached_property
    def twins(self) -> dict[Path, Path]:
        """For each output of several bits the first one that always has the same value."""
        first: dict[tuple[Words, frozenset[Path]], Path] = {}
        return {
            path: first.setdefault((words, self.depends[path]), path)
            for path, words in self.outputs.items()
            if self.widths[path] != [1]
        }
