"""Drawings of graphs: nodes, the links between them, and where the terminals are."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ...hdl.core.checks import check_limit
from ...hdl.topology.graph import Graph, Link

__all__ = ["draw_graph", "graph_figure", "layout"]

_MOST_NODES = 1000
"""Most nodes in a drawing: with more, its links can't be told apart."""

_MOST_EXACT = 150
"""Most nodes of which the lengths of all paths are laid out; more would take minutes."""

_INCHES = 0.75
"""Distance between neighbours on paper, as long as the picture is not too large."""

_STUB = 1.3
"""How far left of the nodes links come in that lead around."""

_LARGEST = 40.0
"""Largest width or height of a picture in inches."""

_NODE = {"boxstyle": "round,pad=0.35", "edgecolor": "black", "linewidth": 0.8}
_UNNAMED = " " * 6
"""The text of a node without its name."""

_WITH_TERMINALS, _SWITCH_ONLY = "#cfe2f3", "white"
_TERMINALS = "#1f5fa8"

Points = np.ndarray
"""Rows of two coordinates."""


def layout(graph: Graph) -> Points:
    """The place of each node: its own `position`, or one where linked nodes are close.

    Equal graphs have equal layouts. Distances between close neighbours are about 1.
    """
    given = [graph.position(node) for node in range(graph.nodes)]
    if None not in given:
        places = np.array(given, dtype=float)
    else:
        plain: nx.Graph = nx.Graph()
        plain.add_nodes_from(range(graph.nodes))
        plain.add_edges_from((link.node, link.peer) for link, _ in graph.edges)
        start = nx.circular_layout(plain)
        if not nx.is_connected(plain):
            found = start
        elif graph.nodes <= _MOST_EXACT:
            found = nx.kamada_kawai_layout(plain, pos=start)
        else:
            found = nx.spring_layout(plain, pos=start, seed=1)
        places = np.array([found[node] for node in range(graph.nodes)])
    places = places - places.min(axis=0)
    return places / _pitch(places)


def _pitch(places: Points) -> float:
    """The median distance of a node to the nearest other one."""
    if len(places) == 1:
        return 1.0
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(away, np.inf)
    return float(np.median(away.min(axis=1))) or 1.0


def draw_graph(
    graph: Graph, axes: Axes, marks: Mapping[Link, str] | None = None, *, names: bool = True
) -> None:
    """Draw a graph: two links in opposite directions as one line, others with an arrow.

    Nodes with terminals are filled; the numbers of their terminals are below them, unless each
    node has one of its own number. If links differ in their virtual channels, lines show how many
    there are, unless it is one. A link that leads around (`Graph.around`) goes out at the right
    edge and comes in at the left one, at the same height, with its name at both.

    Parameters
    ----------
    graph : Graph
    axes : Axes
    marks : Mapping[Link, str], optional
        Colours of highlighted links, drawn with an arrow.
    names : bool
        Whether nodes, and links that lead around, have their names.

    Raises
    ------
    ValueError
        If there are more than 1,000 nodes.
    """
    check_limit("Nodes of a drawing", graph.nodes, _MOST_NODES)
    _draw(graph, axes, marks or {}, layout(graph), names)


def _draw(graph: Graph, axes: Axes, marks: Mapping[Link, str], places: Points, names: bool) -> None:
    counts = {link.channels for link in graph.links()}
    whole, around = _parts(graph)
    plain, parallel = [], dict.fromkeys(((one.node, one.peer) for one, _ in whole), 0)
    for link, back in whole:
        line = _line(places, link, parallel[link.node, link.peer])
        parallel[link.node, link.peer] += 1
        plain.append(line)
        if back is None:
            _arrow(axes, line, "black")
        for each, way in ((link, line), (back, line[::-1])):
            if each is not None and each in marks:
                axes.plot(*way.T, color=marks[each], linewidth=2.2, zorder=2)
                _arrow(axes, way, marks[each])
        ways = [each.channels for each in (link, back) if each is not None]
        if len(counts) > 1 and max(ways) > 1:
            x, y = line[len(line) // 3]
            text = axes.text(x, y, "/".join(map(str, dict.fromkeys(ways))), fontsize=6)
            text.set(ha="center", va="center", color="0.35", zorder=2.5)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.3})
    for cut in _cut_links(around, places):
        plain += cut.halves
        for link in cut.links:
            colour = marks.get(link, "" if len(cut.links) > 1 else "black")
            forward = places[link.node][0] > places[link.peer][0]
            for half in cut.halves if colour else ():
                if link in marks:
                    axes.plot(*half.T, color=colour, linewidth=2.2, zorder=2)
                _arrow(axes, half if forward else half[::-1], colour)
        if names:
            (left, height), (right, _) = cut.halves[1][0], cut.halves[0][-1]
            for x, side in ((left - 0.1, "right"), (right + 0.1, "left")):
                axes.text(x, height, cut.name, ha=side, va="center", fontsize=7)
    axes.add_collection(LineCollection(plain, colors="black", linewidths=0.8, zorder=1))
    own = list(graph.homes) == list(graph.exit_homes) == list(range(graph.nodes))
    for node, (x, y) in enumerate(places):
        terminals = graph.terminals[node] or graph.exit_terminals[node]
        face = _WITH_TERMINALS if terminals else _SWITCH_ONLY
        name = graph.name(node) if names else _UNNAMED
        text = axes.text(x, y, name, ha="center", va="center", fontsize=8, zorder=4)
        text.set(bbox={**_NODE, "facecolor": face}, parse_math=False)
        if terminals and not own:
            axes.annotate(
                numbers(terminals),
                (x, y),
                (0, -9),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=6,
                color=_TERMINALS,
                zorder=3.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2},
            )
    axes.set_title(_caption(graph, counts, own), fontsize=8, pad=16)
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.autoscale_view()
    axes.set_axis_off()


class _Cut(NamedTuple):
    """A link that leads around: its name, its directions, and its halves from left to right: from
    the last column to the right edge, and from the left edge to the first column.
    """

    name: str
    links: Sequence[Link]
    halves: tuple[Points, Points]


def _parts(graph: Graph) -> tuple[list[tuple[Link, Link | None]], dict[str, list[Link]]]:
    """The edges that are drawn whole, and by name the links that lead around."""
    whole: list[tuple[Link, Link | None]] = []
    around = defaultdict(list)
    for edge in graph.edges:
        links = [link for link in edge if link is not None]
        if not any(map(graph.around, links)):
            whole.append(edge)
            continue
        for link in links:
            if name := graph.around(link):
                around[name].append(link)
            else:
                whole.append((link, None))
    return whole, around


def _outside(places: Points) -> tuple[float, float]:
    """Where links that lead around come in at the left, and go out at the right."""
    columns = np.unique(places[:, 0])
    return float(columns[0]) - _STUB, float(columns[-1] + np.diff(columns).min())


def _cut_links(around: Mapping[str, list[Link]], places: Points) -> Iterator[_Cut]:
    """The links that lead around. Both ends are at the height of the node at the left, where the
    first by name is on top."""
    if not around:
        return
    left, right = _outside(places)
    at = defaultdict(list)
    for name, links in around.items():
        ends = links[0].node, links[0].peer
        first, last = sorted(ends, key=lambda node: float(places[node][0]))
        at[first].append((name, last))
    t = np.linspace(0, 1, 25)[:, None]
    for first, named in at.items():
        for rank, (name, last) in enumerate(sorted(named)):
            height = places[first][1] + ((len(named) - 1) / 2 - rank) * 0.8 / len(named)
            start, end = np.array([left, height]), np.array([right, height])
            out = places[last] + t * (end - places[last])
            yield _Cut(name, around[name], (out, start + t * (places[first] - start)))


def graph_figure(
    graph: Graph, marks: Mapping[Link, str] | None = None, *, names: bool = True
) -> Figure:
    """A figure of the right size that holds one drawing; see `draw_graph`."""
    check_limit("Nodes of a drawing", graph.nodes, _MOST_NODES)
    places = layout(graph)
    width, height = places.max(axis=0) - places.min(axis=0)
    if any(map(graph.around, graph.links())):
        left, right = _outside(places)
        width = right - left + 1.5
    inches = min(_INCHES, _LARGEST / max(width, height, 1.0))
    figure = Figure(
        figsize=(max(inches * width, 3.0) + 1.2, max(inches * height, 1.0) + 1.2), layout="tight"
    )
    _draw(graph, figure.subplots(), marks or {}, places, names)
    return figure


def _line(places: Points, link: Link, index: int) -> Points:
    """The points of a line: straight, unless it would cover a node or another line."""
    start, end = places[link.node], places[link.peer]
    t = np.linspace(0, 1, 25)[:, None]
    if link.node == link.peer:
        turn = 2 * np.pi * t
        size = 0.25 * (1 + 0.3 * index)
        return start + size * np.hstack([np.sin(turn), 1 - np.cos(turn)])
    way = end - start
    length = float(np.hypot(*way))
    side = np.array([-way[1], way[0]]) / (length or 1.0)
    span = float(np.ptp(places, axis=0).max())
    bend = 0.12 * index
    if _is_covered(places, link):
        bend += 0.14 + 0.3 * length / span
    return start + t * way + 4 * t * (1 - t) * bend * side


def _is_covered(places: Points, link: Link) -> bool:
    """Whether a straight line would lead through a third node."""
    start, way = places[link.node], places[link.peer] - places[link.node]
    square = float(way @ way) or 1.0
    along = (places - start) @ way / square
    away = np.linalg.norm(places - start - along[:, None] * way, axis=1)
    near = (away < 0.15) & (along > 0) & (along < 1)
    near[[link.node, link.peer]] = False
    return bool(near.any())


def _arrow(axes: Axes, line: Points, colour: str) -> None:
    """An arrow behind the middle of a line, where no node and few other arrows hide it."""
    middle = len(line) * 13 // 20
    axes.annotate(
        "",
        line[middle + 1],
        line[middle],
        arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0},
        zorder=3,
    )


def numbers(values: Sequence[int]) -> str:
    """Numbers in short: 4-7 if they follow each other."""
    if len(values) > 2 and all(after == before + 1 for before, after in pairwise(values)):
        return f"{values[0]}-{values[-1]}"
    return ", ".join(map(str, values)) if len(values) <= 4 else f"{len(values)} terminals"


def _caption(graph: Graph, counts: set[int], own: bool) -> str:
    """One line that says what is shown."""
    words = [f"{graph.nodes} nodes", f"{len(graph.edges)} links"]
    if not own:
        words.append(f"{len(graph.homes)} terminals (numbers in blue)")
    if len(counts) > 1:
        words.append("virtual channels (if several) on the links")
    elif max(counts, default=1) > 1:
        words.append(f"{max(counts)} virtual channels per link")
    return ", ".join(words)
