"""Layouts are legal, as checked point by point, and as small as theory says."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import log2

import pytest
from long_runs import long
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.single_stage.single_stage_graph import Lambda, ManYo
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.graph import Graph
from multicube.hdl.graphs.plans.multistage_graph import MultistageGraph
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.sim.layout import Connection, Layout, Side, Square, Wire, columns, left_edge, lines
from multicube.sim.layout.placements import (
    folded,
    rows_and_columns,
    short_wires,
    stages,
    wrapped_stages,
)
from multicube.sim.papers.siegel.wire_layouts import ENTRIES, crossings

Pairs = Iterable[tuple[int, int]]


def faults(layout: Layout) -> list[str]:
    """What is wrong with a layout: every grid point of each wire is looked at."""
    found = []
    owner: dict[tuple[int, int], int] = {}
    for node, (x, y, side) in enumerate(layout.nodes):
        for point in ((x + i, y + j) for i in range(side) for j in range(side)):
            if point in owner:
                found.append(f"nodes {owner[point]} and {node} overlap at {point}")
            owner[point] = node
    used: tuple[dict[tuple[int, int], int], ...] = ({}, {})
    for number, wire in enumerate(layout.wires):
        if owner.get(wire.points[0]) != wire.node or owner.get(wire.points[-1]) != wire.peer:
            found.append(f"wire {number} does not end at its nodes")
        mine: tuple[set[tuple[int, int]], ...] = (set(), set())
        for (a, b), (x, y) in pairwise(wire.points):
            if (a != x) == (b != y):
                found.append(f"wire {number} has a part that is not along one grid line")
            layer = int(a == x)
            for i in range(min(a, x), max(a, x) + 1):
                for j in range(min(b, y), max(b, y) + 1):
                    if (i, j) in owner and (i, j) not in (wire.points[0], wire.points[-1]):
                        found.append(f"wire {number} passes over node {owner[i, j]}")
                    mine[layer].add((i, j))
        for layer, points in enumerate(mine):
            for point in points:
                if point in used[layer]:
                    found.append(f"wires {used[layer][point]} and {number} share {point}")
                used[layer][point] = number
    return found


def pairs(layout: Layout) -> Counter[tuple[int, int]]:
    return Counter((wire.node, wire.peer) for wire in layout.wires)


def in_grid(graph: Graph, across: int) -> Layout:
    return rows_and_columns(graph, lambda node: (node % across, node // across))


def in_stages(graph: ManYo | Lambda) -> Layout:
    return wrapped_stages(graph, graph.stage)


def graph_pairs(graph: Graph) -> Counter[tuple[int, int]]:
    return Counter((link.node, link.peer) for link in graph.links())


# --- The checker ------------------------------------------------------------------------------


def test_checker_finds_faults() -> None:
    nodes = (Square(0, 0, 2), Square(5, 0, 2), Square(0, 5, 2))
    good = Wire(0, 1, ((1, 0), (5, 0)))
    assert not faults(Layout(nodes, (good,)))
    crossing = Wire(2, 2, ((1, 5), (3, 5), (3, -1), (-1, -1), (-1, 5), (0, 5)))
    assert not faults(Layout(nodes, (good, crossing)))
    bends_on_it = Wire(0, 2, ((1, 1), (2, 1), (2, 0), (3, 0), (3, 6), (1, 6)))
    assert any("share" in fault for fault in faults(Layout(nodes, (good, bends_on_it))))
    for wire, fault in (
        (Wire(0, 1, ((1, 1), (4, 1))), "does not end at its nodes"),
        (Wire(0, 2, ((1, 0), (5, 0))), "does not end at its nodes"),
        (Wire(0, 1, ((0, 0), (5, 0))), "passes over node 0"),
        (Wire(0, 1, ((1, 0), (5, 1))), "not along one grid line"),
    ):
        assert any(fault in each for each in faults(Layout(nodes, (wire,))))
    assert "overlap" in faults(Layout((Square(0, 0, 2), Square(1, 1, 1)), ()))[0]


# --- Tracks -----------------------------------------------------------------------------------


def test_left_edge_needs_no_more_tracks_than_intervals_overlap() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        ends = [sorted(rng.choices(range(30), k=2)) for _ in range(rng.randrange(1, 25))]
        tracks = left_edge([(a, b) for a, b in ends])
        by_track = defaultdict(list)
        for (a, b), track in zip(ends, tracks):
            by_track[track] += range(a, b + 1)
        assert all(len(points) == len(set(points)) for points in by_track.values()), seed
        density = max(sum(a <= point <= b for a, b in ends) for point in range(30))
        assert len(by_track) == density, seed


# --- Legal layouts ----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [stages, short_wires])
@pytest.mark.parametrize(
    ("wiring", "ports", "radix"),
    [
        ("cube", 2, 2),
        ("cube", 32, 2),
        ("cube", 64, 4),
        ("omega", 27, 3),
        *((wiring, 16, 2) for wiring in PLANS),
        long("cube", 256, 2),
    ],
)
def test_multistage(layout: Callable[..., Layout], wiring: str, ports: int, radix: int) -> None:
    plan = multistage_plan(wiring, ports, radix)
    found = layout(plan)
    assert not faults(found)
    graph = MultistageGraph(plan)
    # The nodes of the layout: the inputs, the boxes, the outputs.
    wanted = Counter({(a + ports, b + ports): k for (a, b), k in graph_pairs(graph).items()})
    wanted.update((line, ports + home) for line, home in enumerate(graph.homes))
    first = ports + graph.nodes
    wanted.update((ports + home, first + line) for line, home in enumerate(graph.exit_homes))
    assert pairs(found) == wanted


@pytest.mark.parametrize(
    ("make", "graph"),
    [
        (in_stages, ManYo(3)),
        (in_stages, ManYo(5)),
        (in_stages, Lambda(3)),
        (in_stages, Lambda(4)),
        (lambda graph: wrapped_stages(graph, lambda node: node % 3), CubeConnectedCycles(3)),
        (lambda graph: wrapped_stages(graph, lambda node: node % 5), CubeConnectedCycles(5)),
        (lambda graph: in_grid(graph, 8), RoutedHypercube(5)),
        (lambda graph: in_grid(graph, 8), RoutedHypercube(6)),
        (lambda graph: in_grid(graph, 6), Torus("6x5")),
        (lambda graph: in_grid(graph, 2), Torus("2x3")),
    ],
    ids=lambda value: str(value) if isinstance(value, Graph) else "",
)
def test_graphs(make: Callable[[Graph], Layout], graph: Graph) -> None:
    layout = make(graph)
    assert not faults(layout)
    assert pairs(layout) == graph_pairs(graph)


def test_any_columns() -> None:
    """Columns of any nodes, with wires between any of their sides."""
    for seed in range(30):
        rng = random.Random(seed)
        count = rng.randrange(2, 12)
        nodes = rng.sample(range(count), count)
        cuts = sorted(rng.sample(range(1, count), rng.randrange(count)))
        order = [nodes[a:b] for a, b in pairwise([0, *cuts, count])]
        sides = list(Side)
        connections = [
            Connection(rng.choice(nodes), rng.choice(sides), rng.choice(nodes), rng.choice(sides))
            for _ in range(rng.randrange(1, 30))
        ]
        layout = columns(order, connections)
        assert not faults(layout), seed
        assert [(wire.node, wire.peer) for wire in layout.wires] == [
            (connection.node, connection.peer) for connection in connections
        ]


def test_any_lines() -> None:
    """Links between any nodes of a row or column."""
    for seed in range(30):
        rng = random.Random(seed)
        across, up = rng.randrange(2, 5), rng.randrange(2, 5)
        places = [(column, row) for row in range(up) for column in range(across)]
        rng.shuffle(places)
        able = [
            (a, b)
            for a, one in enumerate(places)
            for b, other in enumerate(places)
            if (one[0] == other[0]) != (one[1] == other[1])
        ]
        links = rng.choices(able, k=rng.randrange(1, 40))
        layout = lines(places, links)
        assert not faults(layout), seed
        assert [(wire.node, wire.peer) for wire in layout.wires] == links


def test_columns_reject() -> None:
    for order in ([[0, 2]], [[0, 1], [1]], [[0], []]):
        with pytest.raises(InvalidValue, match=r"^Columns must have the nodes from 0 to "):
            columns(order, [])
    far = Connection(0, Side.LEFT, 2, Side.LEFT)
    with pytest.raises(InvalidValue, match=r"^Connection 0 must join nodes from 0 to 1, not 2$"):
        columns([[0, 1]], [far])


def test_lines_reject() -> None:
    with pytest.raises(InvalidValue, match=r"^Places of the nodes must differ$"):
        lines([(0, 1), (0, 1)], [])
    for link in ((0, 1), (0, 0)):
        with pytest.raises(InvalidValue, match=r"^Link from 0 to . must be along a row or column"):
            lines([(0, 0), (1, 1)], [link])


def test_stages_reject() -> None:
    with pytest.raises(InvalidValue, match=r"^Link from node 0 to 2 must lead to the same or a "):
        in_stages(ManYo(2))
    ring = CubeConnectedCycles(4)
    with pytest.raises(InvalidValue, match=r"not from stage 0 to 2 of 4$"):
        wrapped_stages(ring, lambda node: (0, 2, 1, 3)[node % 4])


# --- Their size -------------------------------------------------------------------------------


def cut_width(edges: Pairs, count: int) -> int:
    return max(sum(min(e) <= cut < max(e) for e in edges) for cut in range(count - 1))


def test_hypercube_has_the_tracks_of_its_widest_cut() -> None:
    """floor(2 N / 3) links cross the widest cut of N corners in a row (Harper, 1964)."""
    for n in (3, 4, 6):
        graph = RoutedHypercube(n)
        side = 2 * n
        layout = in_grid(graph, 2**n)
        edges = [(a, b) for a, b in graph_pairs(graph) if a < b]
        assert cut_width(edges, 2**n) == 2 * 2**n // 3
        assert layout.width == side * 2**n
        assert layout.height == side + 2 * (2 * 2**n // 3)


def test_folded_ring_has_short_wires() -> None:
    for size in range(2, 12):
        at = folded(size)
        assert sorted(at) == list(range(size))
        assert all(abs(at[k] - at[(k + 1) % size]) <= 2 for k in range(size))


def test_longest_wire_of_a_plain_layout_is_of_order_n() -> None:
    for n in range(3, 9):
        assert stages(multistage_plan("cube", 2**n)).longest.length == 3 * 2**n // 2


@pytest.mark.parametrize("n", [6, 8, long(10), long(12)])
def test_short_wires(n: int) -> None:
    """Bounds of the description: N / n places for the path and N / 2n for each box, of two rows."""
    ports = 2**n
    plan = multistage_plan("cube", ports)
    layout, plain = short_wires(plan), stages(plan)
    assert layout.area < min(plain.area, 2.6 * ports**2)
    assert layout.longest.length < 4 * ports / n < plain.longest.length / 2
    rise = max(abs(wire.points[0][1] - wire.points[-1][1]) for wire in layout.wires)
    assert rise < 2 * (1.5 * ports / n) + 8


@pytest.mark.long
def test_claimed_orders_hold() -> None:
    """From one size to the next, area and longest wire grow no faster than the paper says."""
    orders: dict[str, Callable[[float], float]] = {
        "1": lambda n: 1,
        "N": lambda n: n,
        "N / log N": lambda n: n / log2(n),
        "N^2": lambda n: n * n,
        "(N / log N)^2": lambda n: (n / log2(n)) ** 2,
    }
    for network in ENTRIES:
        small, large = network.sizes[1], network.sizes[2]
        a, b = network.layout(small), network.layout(large)
        at = [network.terminals(small), network.terminals(large)]
        for one, other, order in (
            (a.area, b.area, network.area),
            (a.longest.length, b.longest.length, network.longest),
        ):
            ratio = orders[order](at[1]) / orders[order](at[0])
            assert other / one < 1.12 * ratio, (network.name, order)


# --- Crossings --------------------------------------------------------------------------------


def brute_force(before: Sequence[int], after: Sequence[int]) -> int:
    count = range(len(before))
    return sum((before[a] - before[b]) * (after[a] - after[b]) < 0 for a in count for b in range(a))


def test_crossings() -> None:
    for seed in range(50):
        rng = random.Random(seed)
        size = rng.randrange(1, 20)
        before, after = (rng.sample(range(size), size) for _ in range(2))
        assert crossings(before, after) == brute_force(before, after), seed
