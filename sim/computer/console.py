"""What the cores print, read from their consoles as the run goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ...hdl.computer.address_map import CONSOLE_ROWS
from ...hdl.computer.computer_node import console_layout

__all__ = ["Console", "ConsoleLine", "NodeReader"]


class NodeReader(Protocol):
    """What reads the nodes of a computer: an engine, or the serial line of a board."""

    name: str
    cycle: int

    def read(self, cells: Sequence[str], port: str) -> list[int]: ...

    def memory(self, cell: str, name: str) -> list[int]: ...


class ConsoleLine(NamedTuple):
    """A line that a core has printed.

    Attributes
    ----------
    core : int
        The number of the core.
    cycle : int
        The cycle of its first character.
    text : str
        The line, without its end.
    """

    core: int
    cycle: int
    text: str


@dataclass
class Console:
    """Collects what is printed.

    If it is not read at least every `CONSOLE_ROWS` cycles, what was printed before the last
    `CONSOLE_ROWS` words of a core may be lost.
    """

    nodes: Sequence[str]
    _seen: list[int] = field(default_factory=list)
    _open: dict[int, tuple[int, str]] = field(default_factory=dict)
    _lines: list[ConsoleLine] = field(default_factory=list)

    def read(self, engine: NodeReader) -> None:
        """Read what was printed since the last time."""
        printed = engine.read(self.nodes, "printed")
        for core, (before, now) in enumerate(zip(self._seen or [0] * len(printed), printed)):
            if before < now:
                rows = engine.memory(self.nodes[core], "console")
                for at in range(max(before, now - CONSOLE_ROWS), now):
                    self._take(core, rows[at % CONSOLE_ROWS])
        self._seen = printed

    def _take(self, core: int, row: int) -> None:
        value, number, cycle = (
            row >> layout.offset & (1 << layout.width) - 1 for _, layout in console_layout()
        )
        text = str(value - (value >> 31 << 32)) if number else chr(value & 0xFF)
        begun, line = self._open.pop(core, (cycle, ""))
        if text == "\n":
            self._lines.append(ConsoleLine(core, begun, line))
        else:
            self._open[core] = begun, line + text

    def lines(self) -> list[ConsoleLine]:
        """All lines, in the order in which they were begun; the last of a core may have no end."""
        left = [ConsoleLine(core, begun, text) for core, (begun, text) in self._open.items()]
        found = sorted([*self._lines, *left], key=lambda line: (line.cycle, line.core))
        return [line._replace(text=_decoded(line.text)) for line in found]


def _decoded(text: str) -> str:
    """What was printed byte by byte, in UTF-8."""
    return text.encode("latin-1").decode(errors="replace")
