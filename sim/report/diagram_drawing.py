"""A diagram on matplotlib axes: lines, nodes and terminals, and labels as far as there is room."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from ...hdl.fabric.diagram import Diagram, End, Line, Node, Point
from ...hdl.fabric.pins import Pin

if TYPE_CHECKING:
    from .diagram_figure import Marks

__all__ = ["BOX", "HEAT", "DiagramDrawing", "hottest", "numbers"]

BOX = "0.94"
"""Colour of boxes."""

HEAT = "viridis_r"
"""A map from light to dark, so that it is read without colours, and by the colour-blind."""

_FACES = {"box": BOX, "router": "white", "node": "white"}
"""Colours of nodes of a kind."""

_MEMORY, _INTERFACE, _WITH_TERMINALS = "#d9ead3", "#fff2cc", "#cfe2f3"

_TERMINALS = "#1f5fa8"

_COPIES = ("black", "C0", "C1", "C2")
"""Colours of the lines of several copies."""

_BENT = "0.5"
"""Colour of lines that are not straight: they cross many others."""

_SMALLEST = 3.0
"""Height in points of the smallest letters that are drawn."""

_LARGEST = 8.0
"""Height in points of the largest letters."""

_LETTER = 0.58
"""Mean width of a letter, as a share of its height."""

_PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
"""What keeps lines away from a label."""


class DiagramDrawing:
    """Draws one diagram. Parameters are those of `draw_diagram`."""

    def __init__(
        self,
        diagram: Diagram,
        axes: Axes,
        marks: "Marks",
        names: bool,
        heat: Mapping[str, float] | None,
        scale: float,
    ) -> None:
        self.diagram, self.axes, self.marks = diagram, axes, marks
        self.names, self.heat = names, heat
        self.unit = 72 * scale
        """Points per unit."""
        self.thin = min(max(0.02 * self.unit, 0.15), 0.8)
        self.shapes = {_shape(line): line for line in diagram.lines}
        self.ahead = all(
            line.points[0][0] < line.points[-1][0] for line in diagram.lines if line.joins_nodes
        )
        """Whether all lines lead to the right, so that they need no arrows."""

    def draw(self) -> None:
        self._draw_lines()
        self._draw_nodes()
        self._draw_terminals()
        if self.names:
            for text, x, y in self.diagram.captions:
                self._text(x, y, text, 8, ha="center", va="bottom", bbox=_PLATE)
            self._label_lines()
        self.axes.autoscale_view()
        self.axes.set_aspect("equal")
        self.axes.set_axis_off()

    def _text(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        """A text of this size in points, at most `_LARGEST`; none if it is too small to read."""
        if text and size >= _SMALLEST:
            style = {"va": "center", "parse_math": False, **style}
            self.axes.text(x, y, text, fontsize=min(size, _LARGEST), **style)

    # Lines.

    def _draw_lines(self) -> None:
        strokes: dict[tuple, list[np.ndarray]] = defaultdict(list)
        heads: dict[tuple, list[np.ndarray]] = defaultdict(list)
        seen = set()
        for line in self.diagram.lines:
            style = colour, _, order, _ = self._style(line)
            opposite = _reversed(line) in self.shapes
            if order < 2 and self.heat is None:
                if _shape(line) in seen:
                    continue
                seen |= {_shape(line), _reversed(line)}
            own = _strokes(line)
            if self.heat is not None and opposite:
                own = [_beside(stroke, 1.5 / self.unit) for stroke in own]
            strokes[style] += own
            plain = self.ahead or opposite
            if self._shows_direction(line) and (order == 2 or not plain):
                size = (11 if order == 2 else 8) * self.thin / 0.8 / self.unit
                heads[colour, order] += [head for each in own for head in _heads(each, size)]
        for (colour, width, order, dashes), own in strokes.items():
            lines = LineCollection(own, colors=[colour], linewidths=width, linestyles=dashes)
            lines.set(zorder=order, capstyle="round")
            self.axes.add_collection(lines)
        for (colour, order), own in heads.items():
            arrows = PolyCollection(own, facecolors=[colour], linewidths=0, zorder=order + 0.5)
            self.axes.add_collection(arrows)

    def _style(self, line: Line) -> tuple[Any, float, int, str]:
        """Colour, width, order and dashes of a line."""
        for pin in (*line.drivers, *line.receivers):
            if pin in self.marks.lines:
                return self.marks.lines[pin], max(2.75 * self.thin, 1.0), 2, "solid"
        if line.kind == "control":
            return "0.6", self.thin, 0, "dashed"
        if self.heat is None:
            nodes = [self.diagram.nodes[end.index] for end in _node_ends(line)]
            copy = max((node.copy for node in nodes), default=0)
            plain = _BENT if len(line.points) > 2 and not copy else _COPIES[copy % len(_COPIES)]
            return plain, self.thin, 1, "solid"
        if line.link not in self.heat:
            return "0.8", self.thin, 0, "solid"
        share = self.heat[line.link] / hottest(self.heat)
        width = round((1 + 2 * share) * self.thin, 2)
        return matplotlib.colormaps[HEAT](share), width, 1, "solid"

    def _shows_direction(self, line: Line) -> bool:
        """Whether nothing else does: it is between nodes without ports."""
        nodes = [self.diagram.nodes[end.index] for end in _node_ends(line)]
        return line.joins_nodes and not any(node.ports for node in nodes)

    def _label_lines(self) -> None:
        size = min(0.32 * self.unit, 6.5)
        for line in self.diagram.lines:
            if line.cut:
                points = line.points
                for outer, inner in zip(
                    points[line.cut - 1 : line.cut + 1], (line.cut - 2, line.cut + 1)
                ):
                    right = outer[0] > points[inner][0]
                    x = outer[0] + (0.1 if right else -0.1)
                    self._text(x, outer[1], line.label, 7, ha="left" if right else "right")
            elif line.label:
                # The label is on the side that the line turns away from.
                (x, y), (ahead, after) = line.points[:2]
                side = "top" if after > y + 0.5 else "bottom"
                place = x + (0.08 if ahead > x else -0.08), y + (-0.08 if side == "top" else 0.08)
                style: dict[str, Any] = {"ha": "left" if ahead > x else "right", "va": side}
                style |= {"color": "0.35", "zorder": 2.8, "bbox": _PLATE}
                self._text(*place, line.label, size, **style)
        self._label_channels(size)

    def _label_channels(self, size: float) -> None:
        """How many virtual channels links have, if they differ."""
        lines = [line for line in self.diagram.lines if self._shows_direction(line)]
        if len({len(line.drivers) for line in lines}) < 2:
            return
        seen = set()
        for line in lines:
            if _shape(line) in seen:
                continue
            back = self.shapes.get(_reversed(line))
            seen |= {_shape(line), _reversed(line)}
            ways = [len(each.drivers) for each in (line, back) if each is not None]
            if max(ways) > 1:
                (x0, y0), (x1, y1) = line.points[:2] if len(line.points) == 2 else line.points[8:10]
                text = "/".join(map(str, dict.fromkeys(ways)))
                place = (2 * x0 + x1) / 3, (2 * y0 + y1) / 3
                self._text(*place, text, size, ha="center", color="0.35", zorder=2.8, bbox=_PLATE)

    # Nodes.

    def _draw_nodes(self) -> None:
        homes = {
            end.index
            for line in self.diagram.lines
            if "terminal" in (line.source.what, line.target.what)
            for end in _node_ends(line)
        }
        styles: dict[tuple, list[list[Point]]] = defaultdict(list)
        for index, node in enumerate(self.diagram.nodes):
            outline = self._marked(self.marks.outlines, node)
            plain = "black" if node.kind == "box" else "0.25"
            width = self.thin if outline is None else max(2.2 * self.thin, 0.8)
            styles[self._face(node, index in homes), outline or plain, width].append(_corners(node))
        for (face, edge, width), own in styles.items():
            boxes = PolyCollection(own, facecolors=[face], edgecolors=[edge], linewidths=width)
            boxes.set(zorder=4, joinstyle="round")
            self.axes.add_collection(boxes)
        places = {port.pin: (port.x, port.y) for node in self.diagram.nodes for port in node.ports}
        inside: dict[str, list[list[Point]]] = defaultdict(list)
        for (entry, exit_), colour in self.marks.connections.items():
            ends = [_place(places, pin) for pin in (entry, exit_)]
            if None not in ends:
                inside[colour].append([end for end in ends if end])
        for colour, own in inside.items():
            width = max(2.75 * self.thin, 1.0)
            self.axes.add_collection(
                LineCollection(own, colors=[colour], linewidths=width, zorder=4.5)
            )
        for node in self.diagram.nodes if self.names else ():
            text, size = self._marked(self.marks.texts, node), 10.0
            if text is None:
                text, size = self._fitted(node)
            self._text(node.x, node.y, text, size, ha="center", zorder=5)

    def _fitted(self, node: Node) -> tuple[str, float]:
        """The label of a node in as many lines as make its letters largest, and their size in
        points."""
        found = [(0.0, 0, 0, node.label)]
        for most in range(len(node.label), 0, -1):
            wrapped = wrap(node.label, most, break_long_words=False, break_on_hyphens=False)
            lines = wrapped or [node.label]  # of spaces alone
            longest = max(map(len, lines))
            height = min(0.55, 0.72 / len(lines)) * node.height
            width = 0.9 * node.width / _LETTER / longest
            size = min(height * self.unit, width * self.unit, _LARGEST)
            found.append((size, -len(lines), -longest, "\n".join(lines)))
            if len(lines) == len(node.label.split()):
                break
        size, *_, text = max(found)
        return text, size

    def _face(self, node: Node, has_terminals: bool) -> str:
        if node.kind in _FACES:
            return _WITH_TERMINALS if has_terminals and node.kind != "box" else _FACES[node.kind]
        return _MEMORY if "memory" in node.kind else _INTERFACE

    def _marked(self, marks: Mapping[str, str], node: Node) -> str | None:
        return next((marks[cell] for cell in node.cells if cell in marks), None) if marks else None

    # Terminals.

    def _draw_terminals(self) -> None:
        at_nodes: dict[tuple[int, float], list[int]] = defaultdict(list)
        dots = []
        homes = {}
        for line in self.diagram.lines:
            for one, other in ((line.source, line.target), (line.target, line.source)):
                if one.what == "terminal":
                    homes[one.index] = other.index
        room = self._room()
        for index, each in enumerate(self.diagram.terminals):
            if each.side in ("below", "above"):
                dots.append((each.x, each.y))
                if each.label:
                    at_nodes[homes.get(index, -1), each.y].append(index)
            elif self.names:
                left = each.side == "left"
                x = each.x + (-0.15 if left else 0.15)
                self._text(x, each.y, each.label, room, ha="right" if left else "left")
        if dots:
            size = min(0.09 * self.unit, 4.0)
            self.axes.plot(*zip(*dots), "o", color=_TERMINALS, markersize=size, zorder=3.5, mew=0)
        for (_, y), own in at_nodes.items() if self.names else ():
            terminals = [self.diagram.terminals[index] for index in own]
            x = sum(each.x for each in terminals) / len(own)
            text = numbers([each.number for each in terminals])
            style: dict[str, Any] = {"color": _TERMINALS, "zorder": 3.6, "bbox": _PLATE}
            self._text(
                x, y - 0.06, text, min(0.16 * self.unit, 6.5), ha="center", va="top", **style
            )

    def _room(self) -> float:
        """Height in points for the label of a terminal."""
        sides = defaultdict(list)
        for each in self.diagram.terminals:
            sides[each.side].append(each.y)
        gaps = [abs(b - a) for ys in sides.values() for a, b in pairwise(sorted(ys))]
        return 0.75 * min(gaps, default=1.0) * self.unit


def hottest(heat: Mapping[str, float]) -> float:
    """The upper end of the colour map."""
    return max(heat.values(), default=0.0) or 1.0


def numbers(values: Sequence[int]) -> str:
    """Numbers in short: 4-7 if they follow each other."""
    if len(values) > 2 and all(after == before + 1 for before, after in pairwise(values)):
        return f"{values[0]}-{values[-1]}"
    return ", ".join(map(str, values)) if len(values) <= 4 else f"{len(values)} terminals"


def _node_ends(line: Line) -> Iterator[End]:
    return (end for end in (line.source, line.target) if end.what == "node")


def _shape(line: Line) -> tuple:
    """What is the same for lines that cover each other."""
    return line.points, line.cut, line.kind


def _reversed(line: Line) -> tuple:
    cut = len(line.points) - line.cut if line.cut else 0
    return line.points[::-1], cut, line.kind


def _strokes(line: Line) -> list[np.ndarray]:
    """The parts of a line that are drawn: two, if it is cut."""
    parts = [line.points[: line.cut], line.points[line.cut :]]
    return [np.array(part) for part in parts if part]


def _beside(stroke: np.ndarray, away: float) -> np.ndarray:
    """A line at the right of another one, as seen in its direction."""
    ways = np.diff(stroke, axis=0)
    ways /= np.maximum(np.hypot(*ways.T), 1e-9)[:, None]
    sides = np.column_stack([ways[:, 1], -ways[:, 0]])
    corners = np.vstack([sides[:1], (sides[1:] + sides[:-1]) / 2, sides[-1:]])
    return stroke + away * corners / np.maximum((corners**2).sum(axis=1), 0.25)[:, None]


def _heads(stroke: np.ndarray, size: float) -> Iterable[np.ndarray]:
    """An arrow behind the middle of a line, where no node and few other arrows hide it."""
    ways = np.diff(stroke, axis=0)
    lengths = np.hypot(*ways.T)
    if lengths.sum() < 2 * size:
        return
    along = 0.6 * lengths.sum()
    part = int(np.searchsorted(np.cumsum(lengths), along))
    way = ways[part] / lengths[part]
    tip = stroke[part] + (along - lengths[:part].sum()) * way
    side = np.array([-way[1], way[0]])
    yield np.array(
        [tip, tip - size * way + 0.35 * size * side, tip - size * way - 0.35 * size * side]
    )


def _corners(node: Node) -> list[Point]:
    left, right = node.x - node.width / 2, node.x + node.width / 2
    bottom, top = node.y - node.height / 2, node.y + node.height / 2
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


def _place(places: Mapping[Pin, Point], pin: Pin) -> Point | None:
    """The place of a port, of which the pin may be a part."""
    for length in range(len(pin.path), 0, -1):
        if (found := places.get(Pin(pin.cell, pin.path[:length]))) is not None:
            return found
    return None
