"""Where a network's cells, links and terminals stand in a picture: plain data, without colours.

A network states a `Layout` (`fabric.layout`): the places of its nodes, and of what else has a place
of its own. The cells and links of its fabric make a `Diagram` of it, in which every cell belongs to
one node, and every link between two nodes is a line. Drawings and pages show diagrams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from .pins import Pin

__all__ = ["Caption", "Diagram", "End", "Line", "Node", "Point", "Port", "Side", "Terminal"]

Point = tuple[float, float]
"""Across and up."""


Side = Literal["left", "right", "below", "above"]
"""Where a label is."""


class Port(NamedTuple):
    """Where the lines of an interface of a cell meet its node."""

    pin: Pin
    x: float
    y: float


@dataclass(frozen=True)
class Node:
    """A rectangle that stands for one or more cells.

    Attributes
    ----------
    name : str
        What it is called in the names of links, such as "node 5" or "stage 2, box 3".
    cells : tuple[str, ...]
        The cells of the fabric that it stands for, the most important first.
    x, y : float
        The centre.
    width, height : float
    kind : str
        The field's word: "box", "router", "memory", "bus", ...
    label : str
        What a drawing writes into it, if there is room.
    ports : tuple[Port, ...]
        Empty if lines may meet it anywhere.
    copy : int
        The number of its copy of a network, if several are between the same terminals.
    """

    name: str
    cells: tuple[str, ...]
    x: float
    y: float
    width: float = 0.6
    height: float = 0.4
    kind: str = "router"
    label: str = ""
    ports: tuple[Port, ...] = ()
    copy: int = 0


@dataclass(frozen=True)
class Terminal:
    """A terminal, or the sending or the receiving half of one.

    Attributes
    ----------
    number : int
    x, y : float
        The end of its line.
    pins : tuple[Pin, ...]
        Its ports on the boundary of the network's fabric: `i` to send, `o` to receive; in a network
        with memory, `i` for both.
    label : str
        What a drawing writes beside it; empty if the label of its node says it.
    side : str
        Where that is, as seen from `x` and `y`.
    kind : str
        The field's word: "terminal", or "processor" in a network with memory.
    """

    number: int
    x: float
    y: float
    pins: tuple[Pin, ...]
    label: str = ""
    side: Side = "below"
    kind: str = "terminal"

    def has(self, way: str, number: int) -> bool:
        """Whether this is the port `i` or `o` of a terminal."""
        return Pin(None, (way, number)) in self.pins


@dataclass(frozen=True)
class End:
    """An end of a line: a node or a terminal, by its index in the diagram."""

    what: Literal["node", "terminal"]
    index: int


@dataclass(frozen=True)
class Line:
    """The wires between two ends, in one direction.

    Two lines in opposite directions have the same points in opposite orders, if the network does
    not state other ones.

    Attributes
    ----------
    link : str
        The name of the link, as in results (`fabric.wires`); empty if results have none: wires that
        are no link, and those from a terminal into the network.
    drivers : tuple[Pin, ...]
        The outputs that drive it: one for each virtual channel.
    receivers : tuple[Pin, ...]
        The inputs that these drive, in the same order.
    source, target : End
    points : tuple[Point, ...]
    cut : int
        So many points come before a gap: the line leads out at one edge of the drawing, and in at
        the other. 0 if it is whole.
    label : str
        What a drawing writes at both sides of the gap, or beside the beginning of the line.
    kind : "link" or "control"
        "control" if it is no link with a handshake.
    """

    link: str
    drivers: tuple[Pin, ...]
    receivers: tuple[Pin, ...]
    source: End
    target: End
    points: tuple[Point, ...]
    cut: int = 0
    label: str = ""
    kind: Literal["link", "control"] = "link"

    @property
    def joins_nodes(self) -> bool:
        """Whether it is a link between two nodes, and not to a terminal."""
        return self.kind == "link" and self.source.what == self.target.what == "node"


class Caption(NamedTuple):
    """A text, such as that above a stage. Its lower middle is at `x` and `y`."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Diagram:
    """Nodes, lines and terminals, ready to be drawn.

    Lengths are in one unit, which each network chooses: `unit` says how many of them are an inch in
    a drawing that is large enough to read.

    Attributes
    ----------
    title : str
    nodes : tuple[Node, ...]
        They don't overlap.
    lines : tuple[Line, ...]
    terminals : tuple[Terminal, ...]
    captions : tuple[Caption, ...]
    unit : float
    """

    title: str
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    terminals: tuple[Terminal, ...]
    captions: tuple[Caption, ...] = ()
    unit: float = 1.0

    def __repr__(self) -> str:
        return (
            f"<Diagram of {self.title}: {len(self.nodes)} nodes, {len(self.lines)} lines, "
            f"{len(self.terminals)} terminals>"
        )

    @property
    def links(self) -> int:
        """How many links there are between nodes; two in opposite directions count as one."""
        between = [line for line in self.lines if line.joins_nodes]
        shapes = {line.points for line in between}
        ways = {line.link or line.points: line.points[::-1] in shapes for line in between}
        paired = sum(ways.values())
        return len(ways) - paired + (paired + 1) // 2

    def trail(self, source: int, outputs: Sequence[Pin], destination: int) -> list[int]:
        """The lines of a path, by index: from the sending terminal of a number to the receiving
        one, through these outputs of cells.

        If no terminal receives, the path ends with the last output. Lines between outputs that do
        not follow each other, as at an interface that the path does not name, are added.
        """
        owner: dict[str | None, int] = {}
        for i, node in enumerate(self.nodes):
            owner |= dict.fromkeys(node.cells, i)
        driven: dict[Pin, list[int]] = {}
        leaving: dict[End, list[int]] = {}
        for i, line in enumerate(self.lines):
            for pin in line.drivers:
                driven.setdefault(pin, []).append(i)
            if line.kind == "link":
                leaving.setdefault(line.source, []).append(i)
        first, last = (
            [End("terminal", i) for i, each in enumerate(self.terminals) if each.has(way, number)]
            for way, number in (("i", source), ("o", destination))
        )
        found: list[int] = []
        at = first[0]
        for pin, after in zip_longest(outputs, outputs[1:]):
            # Of several lines with one driver, the one to the next output's node.
            if not (steps := driven.get(pin)):
                inside = End("node", owner.get(pin.cell, -1))
                found += self._between(at, inside, leaving)
                at = inside
                continue
            goal = End("node", owner.get(after.cell, -1)) if after else None
            step = next((i for i in steps if self.lines[i].target == goal), steps[0])
            if step not in found:
                found += [*self._between(at, self.lines[step].source, leaving), step]
                at = self.lines[step].target
        return found + (self._between(at, last[0], leaving) if last else [])

    def _between(self, start: End, goal: End, leaving: Mapping[End, Sequence[int]]) -> list[int]:
        """The fewest lines from one end to another; none if there is no way."""
        came: dict[End, int | None] = {start: None}
        waiting = [start]
        for end in waiting:
            if end == goal:
                break
            for line in leaving.get(end, ()):
                if (target := self.lines[line].target) not in came:
                    came[target] = line
                    waiting.append(target)
        found = []
        while (last := came.get(goal)) is not None:
            found.append(last)
            goal = self.lines[last].source
        return found[::-1]

    def to_json(self) -> dict[str, Any]:
        """All fields as plain lists, dictionaries, numbers and strings. A `Pin` is a list of its
        cell, which may be None, and of its path; an `End` and a `Port` are lists too."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, End):
        return [value.what, value.index]
    if isinstance(value, Node | Line | Terminal):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
