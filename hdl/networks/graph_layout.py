"""The layout of graphs: nodes where their description says, or where linked ones are close."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

from ..fabric.diagram import Diagram, Node, Point, Side, Terminal
from ..fabric.fabric import Fabric
from ..fabric.layout import Layout, Route, connected
from ..fabric.pins import Pin
from ..fabric.wires import Wire
from ..graphs.graph import Graph, Link

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse

__all__ = [
    "cells_layout",
    "fabric_layout",
    "graph_diagram",
    "graph_layout",
    "groups_layout",
    "spread",
]

_MOST_EXACT = 150
"""Most nodes of which the lengths of all paths are laid out, and all bends tried: more would take
minutes."""

_STEPS = 100
"""Steps in which nodes move to their places."""

_FREE = 0.12
"""Room between nodes."""

_LETTER = 0.085
"""Width of a letter in units."""

_HEIGHT = 0.34

_WIDEST = 0.8

_STUB = 1.3
"""How far left of the nodes links come in that lead around."""

_TIGHT = 0.3
"""Distance between terminals beside their node."""

_LEAD = 0.5
"""Length of the lines of terminals beside their nodes."""

_NEAR = 0.03
"""How close to a node a line must not come."""

_BEND = 0.14, 0.3, 0.12
"""How far a line bends around a node: at least, by the share of its length in the whole, and more
for each parallel one."""

_UNIT = 1.25
"""Neighbours per inch."""

_TIMES = (1.0, 1.6, 2.4, 3.6, 5.0)
"""Larger bends that are tried."""

_TOPS = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Where along the line the largest bend is."""

Outputs = Callable[[Link], Sequence[Pin]]
"""The pins that drive the channels of a link."""


def graph_layout(graph: Graph, outputs: Outputs, cell: Callable[[int], str]) -> Layout:
    """The layout of a graph.

    Parameters
    ----------
    graph : Graph
    outputs : Callable[[Link], Sequence[Pin]]
        The pins that drive the channels of a link.
    cell : Callable[[int], str]
        The cell of a node.
    """
    given = [graph.position(node) for node in range(graph.nodes)]
    places = [each for each in given if each is not None]
    if not places:
        places = spread(graph.nodes, ((link.node, link.peer) for link, _ in graph.edges))
    one_way = list(graph.homes) != list(graph.exit_homes)
    height = _HEIGHT
    if one_way:
        height = max(height, _TIGHT * max(map(len, (*graph.terminals, *graph.exit_terminals))))
        stretch = _room(places, height)
        places = [(x, y * stretch) for x, y in places]
    nodes = [
        Node(
            f"node {graph.name(node)}",
            (cell(node),),
            *places[node],
            _width(graph.name(node)),
            height,
            label=graph.name(node),
        )
        for node in range(graph.nodes)
    ]
    routes = {
        pin: route
        for link, route in (*_bent(graph, nodes), *_cut(graph, places))
        for pin in outputs(link)
    }
    terminals = _beside(graph, nodes) if one_way else []
    own = list(graph.homes) == list(range(graph.nodes))
    labels = dict.fromkeys(range(graph.nodes), "") if own else None
    return Layout(nodes, terminals, routes, unit=_UNIT, labels=labels)


def _beside(graph: Graph, nodes: Sequence[Node]) -> list[Terminal]:
    """The terminals of a graph that packets pass one way: at the left and at the right."""
    found = []
    sides: tuple[tuple[str, list[list[int]], Side, int], ...] = (
        ("i", graph.terminals, "left", -1),
        ("o", graph.exit_terminals, "right", 1),
    )
    for way, homes, side, ahead in sides:
        for node, own in zip(nodes, homes):
            for rank, number in enumerate(own):
                x = node.x + ahead * (node.width / 2 + _LEAD)
                y = node.y + ((len(own) - 1) / 2 - rank) * _TIGHT
                pins = (Pin(None, (way, number)),)
                found.append(Terminal(number, x, y, pins, str(number), side))
    return found


def graph_diagram(graph: Graph) -> Diagram:
    """The diagram of a graph, whose node v is a cell `router_{v}`.

    Its pins are those of ports: `o` and `i` with the number of the port, or of the terminal for the
    negative ports of terminals.
    """

    def outputs(link: Link) -> list[Pin]:
        return [Pin(f"router_{link.node}", ("o", link.port, c)) for c in range(link.channels)]

    links, wires = [], {}
    for link in graph.links():
        for channel, driver in enumerate(outputs(link)):
            links.append((driver, Pin(f"router_{link.peer}", ("i", link.peer_port, channel))))
            wires[driver] = Wire(str(driver.path[:2]) + str(driver.cell), channel)
    for terminal, (entry, exit_) in enumerate(zip(graph.entries, graph.exits)):
        links.append((Pin(None, ("i", terminal)), Pin(f"router_{entry.node}", ("i", entry.port))))
        links.append((Pin(f"router_{exit_.node}", ("o", exit_.port)), Pin(None, ("o", terminal))))
    layout = graph_layout(graph, outputs, lambda node: f"router_{node}")
    return connected(type(graph).__name__, layout, links, wires)


def cells_layout(
    names: Sequence[str], cells: Sequence[str], places: Sequence[Point], *, own: bool
) -> Layout:
    """The layout of cells that have a number each, at the given places.

    Parameters
    ----------
    names : Sequence[str]
        Their labels: numbers.
    cells : Sequence[str]
    places : Sequence[tuple[float, float]]
    own : bool
        Whether each has one terminal, of its own number.
    """
    nodes = [
        Node(f"node {name}", (cell,), *place, _width(name), _HEIGHT, label=name)
        for name, cell, place in zip(names, cells, places)
    ]
    labels = dict.fromkeys(range(len(nodes)), "") if own else None
    return Layout(nodes, unit=_UNIT, labels=labels)


def fabric_layout(fabric: Fabric) -> Layout:
    """The layout of any fabric: its cells, so that linked ones are close."""
    cells = [(cell.name,) for cell in fabric.cells.values() if not cell.type.auxiliary]
    return groups_layout(fabric, cells, fabric.links)


def groups_layout(
    fabric: Fabric, groups: Sequence[tuple[str, ...]], links: Iterable[tuple[Pin, Pin]]
) -> Layout:
    """The layout of groups of cells, which have the name of their first, so that linked ones are
    close."""
    number = {cell: index for index, group in enumerate(groups) for cell in group}
    pairs = [
        (number[a.cell], number[b.cell]) for a, b in links if a.cell in number and b.cell in number
    ]
    nodes = []
    for group, place in zip(groups, spread(len(groups), pairs)):
        first = fabric.cells[group[0]]
        title = first.title
        nodes.append(Node(title, group, *place, _width(title), _HEIGHT, first.type.name, title))
    return Layout(nodes, unit=_UNIT)


def _width(label: str) -> float:
    return min(max(0.4, _LETTER * (len(label) + 2)), _WIDEST)


def spread(nodes: int, links: Iterable[tuple[int, int]]) -> list[Point]:
    """Places at which linked nodes are close, and close neighbours are about 1 apart.

    Equal graphs have equal places.
    """
    import networkx as nx
    import numpy as np

    plain: nx.Graph = nx.Graph()
    plain.add_nodes_from(range(nodes))
    plain.add_edges_from(links)
    start = nx.circular_layout(plain)
    if not nx.is_connected(plain):
        laid = start
    elif nodes <= _MOST_EXACT:
        laid = nx.kamada_kawai_layout(plain, pos=start)
    else:
        laid = dict(enumerate(_settled(nx.adjacency_matrix(plain).astype(bool))))
    found = np.array([laid[node] for node in range(nodes)])
    found = _apart((found - found.min(axis=0)) / _pitch(found))
    return [(round(float(x), 6), round(float(y), 6)) for x, y in found]


def _settled(linked: "scipy.sparse.csr_array") -> "np.ndarray":
    """Places by Fruchterman and Reingold's forces: as `spring_layout` of networkx, which takes half
    a minute for 1,024 nodes."""
    import numpy as np

    nodes = linked.shape[0]
    rows, columns = linked.nonzero()
    places = np.random.default_rng(1).random((nodes, 2))
    near = 1 / nodes
    for step in np.linspace(0.1, 0.002, _STEPS):
        across, up = (places[:, None, i] - places[None, :, i] for i in range(2))
        push = near / np.maximum(across**2 + up**2, 1e-6)
        moves = np.column_stack([(push * across).sum(axis=1), (push * up).sum(axis=1)])
        ways = places[columns] - places[rows]
        pulls = ways * (np.hypot(*ways.T) / near**0.5)[:, None]
        for i in range(2):
            moves[:, i] += np.bincount(rows, pulls[:, i], nodes)
        places += step * moves / np.maximum(np.hypot(*moves.T), 0.01)[:, None]
    return places


def _apart(places: "np.ndarray") -> "np.ndarray":
    """The places, with nodes that would overlap pushed from each other."""
    import numpy as np
    from scipy.spatial import cKDTree

    sizes = np.array([_WIDEST, _HEIGHT]) + _FREE
    places = places / sizes
    for _ in range(_STEPS):
        pairs = cKDTree(places).query_pairs(1, p=np.inf, output_type="ndarray")
        if not len(pairs):
            break
        ways = places[pairs[:, 1]] - places[pairs[:, 0]]
        # Along the direction in which they are further apart already.
        axis = np.abs(ways).argmax(axis=1)
        own = ways[np.arange(len(pairs)), axis]
        push = 0.52 * (1 - np.abs(own)) * np.where(own < 0, -1, 1)
        for sign, ends in ((-1, pairs[:, 0]), (1, pairs[:, 1])):
            np.add.at(places, (ends, axis), sign * push)
    return places * sizes


def _pitch(places: "np.ndarray") -> float:
    """How far nodes are from the nearest other one, if they are among the closer ones."""
    import numpy as np

    if len(places) == 1:
        return 1.0
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(away, np.inf)
    return float(np.quantile(away.min(axis=1), 0.4)) or 1.0


def _bent(graph: Graph, nodes: Sequence[Node]) -> Iterable[tuple[Link, Route]]:
    """The links that a straight line would lead through a third node, and those with a way of
    their own."""
    import numpy as np

    # Seen so that the widest node is a square.
    sizes = np.array([(each.width, each.height) for each in nodes])
    scale = sizes.max(axis=0) / _HEIGHT
    places = np.array([(each.x, each.y) for each in nodes]) / scale
    reach = (sizes / 2 + _NEAR) / scale
    boxes = np.stack([places - reach, places + reach])
    span = float(np.ptp(places, axis=0).max())
    tops = _TOPS if len(nodes) <= _MOST_EXACT else _TOPS[:1]
    ranks: dict[tuple[int, int], int] = {}
    for edge in graph.edges:
        links = [link for link in edge if link is not None]
        link = links[0]
        if link.node == link.peer or any(map(graph.around, links)):
            continue
        ends = [link.node, link.peer]
        rank = ranks[link.node, link.peer] = ranks.get((link.node, link.peer), -1) + 1
        points = tuple(graph.way(link))
        if not points:
            arcs = _arcs(places[ends], tops, span, rank)
            line = _clearest(chain([places[ends]], arcs), boxes, ends)
            points = tuple((round(float(x), 6), round(float(y), 6)) for x, y in line[1:-1] * scale)
        if points:
            route = Route(points)
            yield link, route
            yield from ((back, route.back) for back in links[1:])


def _clearest(lines: Iterable["np.ndarray"], boxes: "np.ndarray", ends: list[int]) -> "np.ndarray":
    """The first of some lines that meets no node but its ends, or the one that does least."""
    found = []
    for line in lines:
        found.append((_covered(line, boxes, ends), line))
        if not found[-1][0]:
            break
    return min(found, key=lambda each: each[0])[1]


def _covered(line: "np.ndarray", boxes: "np.ndarray", ends: list[int]) -> float:
    """How much of a line through these points is in nodes that are not its ends."""
    import numpy as np

    low, high = boxes
    near = ((low < line.max(axis=0)) & (high > line.min(axis=0))).all(axis=1)
    near[ends] = False
    if not near.any():
        return 0.0
    start, way = line[:-1, None], np.diff(line, axis=0)[:, None]
    way = np.where(way == 0, 1e-9, way)
    edges = (boxes[:, None, near] - start) / way
    enters, leaves = edges.min(axis=0).max(axis=-1), edges.max(axis=0).min(axis=-1)
    shares = np.maximum(np.minimum(leaves, 1) - np.maximum(enters, 0), 0)
    return float((shares * np.hypot(*np.moveaxis(way, -1, 0))).sum())


def _arcs(
    ends: "np.ndarray", tops: Sequence[float], span: float, rank: int
) -> Iterator["np.ndarray"]:
    """Points of arcs between two nodes: by where they bend, the flattest first."""
    import numpy as np

    start, end = ends
    way = end - start
    side = np.array([-way[1], way[0]]) / (float(np.hypot(*way)) or 1.0)
    least, share, more = _BEND
    bend = least + share * float(np.hypot(*way)) / span
    t = np.linspace(0, 1, 17)[:, None]
    for along, times, sign in product(tops, _TIMES, (1, -1)):
        control = start + along * way + 2 * sign * (bend * times + more * rank) * side
        yield (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def _room(places: Sequence[Point], height: float) -> float:
    """How much further apart along y nodes must be so that none covers another."""
    import numpy as np
    from scipy.spatial import cKDTree

    across, up = np.array(places).T
    pairs = cKDTree(across[:, None]).query_pairs(_WIDEST, output_type="ndarray")
    gaps = np.abs(up[pairs[:, 0]] - up[pairs[:, 1]])
    return max(1.0, (height + _TIGHT) / float(gaps.min(initial=np.inf, where=gaps > 1e-6)))


def _cut(graph: Graph, places: Sequence[Point]) -> Iterable[tuple[Link, Route]]:
    """The links that lead around. Both ends are at the height of the node at the left, where the
    first by name is on top."""
    around: dict[str, list[Link]] = {}
    for link in graph.links():
        if name := graph.around(link):
            around.setdefault(name, []).append(link)
    if not around:
        return
    columns = sorted({x for x, _ in places})
    left = columns[0] - _STUB
    right = columns[-1] + min(b - a for a, b in pairwise(columns))
    at: dict[int, list[str]] = {}
    for name, links in sorted(around.items()):
        ends = links[0].node, links[0].peer
        at.setdefault(min(ends, key=lambda node: places[node][0]), []).append(name)
    for first, names in at.items():
        for rank, name in enumerate(names):
            height = places[first][1] + ((len(names) - 1) / 2 - rank) * 0.8 / len(names)
            for link in around[name]:
                points = (right, height), (left, height)
                if link.node == first:
                    points = points[::-1]
                yield link, Route(points, 1, name)
