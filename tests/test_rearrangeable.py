# amaranth: UnusedElaboratable=no
"""Clos and Benes networks: descriptions, settings for any permutation, and boxes that are set."""

import itertools
import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from operator import call
from typing import Any

import networkx as nx
import pytest
from amaranth.hdl import Value
from click.testing import CliRunner
from driving import evaluate
from long_runs import long
from multicube.hdl import GraphNetwork, build, write_verilog
from multicube.hdl.fabric.fabric_component import member
from multicube.hdl.families.clos.benes_graph import Benes
from multicube.hdl.families.clos.clos_graph import Clos
from multicube.hdl.families.clos.five_stage_clos_graph import FiveStageClos
from multicube.hdl.families.clos.rearrangeable_graph import RearrangeableGraph
from multicube.hdl.families.multistage.box_controlled import BoxControlledNetwork
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.permutations import Permutation
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.graphs.schedules.colouring import edge_colouring
from multicube.hdl.graphs.schedules.looping import (
    BoxSettings,
    benes_loops,
    benes_settings,
    clos_settings,
)
from multicube.sim import Trace, TracePacket, simulate
from multicube.sim.command.permute import permute
from multicube.sim.measure.graph_measures import graph_measures
from refusals import refusals

GRAPHS: list[RearrangeableGraph] = [
    *(Clos(n, m, r) for n, m, r in ((2, 2, 2), (2, 3, 4), (4, 7, 3), (3, 2, 2), (2, 1, 2))),
    *(Clos(n, m, r, "fixed") for n, m, r in ((2, 2, 4), (3, 5, 2))),
    *(FiveStageClos(*sizes) for sizes in ((2, 2, 2), (2, 3, 3), (3, 3, 2, "fixed"))),
    *(Benes(ports) for ports in (2, 4, 16)),
    Benes(8, "fixed"),
]
every = pytest.mark.parametrize("graph", GRAPHS, ids=str)


@every
def test_what_a_graph_says_is_what_all_headers_do(graph: RearrangeableGraph) -> None:
    found = survey(graph)
    assert graph.diameter == found.diameter
    assert {node: set(turns) for node, turns in graph.turns().items()} == found.turns
    for link in graph.links():
        used = any(turn.output == (link.port, 0) for turn in found.turns[link.node])
        assert graph.carries(Channel(link.node, link.port, 0)) == used


@every
def test_description(graph: RearrangeableGraph) -> None:
    """Free of deadlock, as they say of any size; all links are used; all paths pass all stages."""
    check_graph(graph)
    found = survey(graph)
    assert graph.deadlock_free
    assert found.cycle is None
    turns = [(node, turn) for node, own in found.turns.items() for turn in own]
    used = {(node, turn.output[0]) for node, turn in turns if turn.output}
    if not isinstance(graph, Clos) or graph.spread == "any":
        assert used == {(link.node, link.port) for link in graph.links()}
    plain = nx.DiGraph(to_networkx(graph))
    stages = [[graph.place_of(node)[0] for node in edge] for edge in plain.edges]
    assert all(after == before + 1 for before, after in stages)
    assert found.diameter == len(graph.columns) - 1
    assert {node for column in graph.columns for node in column} == {*range(graph.nodes)}
    for source, destination in itertools.product(range(graph.ports), repeat=2):
        path = graph.path(source, destination)
        assert path[0].node in graph.columns[0]
        assert path[-1].node in graph.columns[-1]


def ways(graph: RearrangeableGraph) -> set[int]:
    """How many paths join an input with an output."""
    plain = to_networkx(graph)
    counts = set()
    for start, end in itertools.product(set(graph.homes), set(graph.exit_homes)):
        paths = Counter({start: 1})
        for _ in graph.columns[1:]:
            after: Counter[int] = Counter()
            for node, count in paths.items():
                for _, peer in plain.out_edges(node):
                    after[peer] += count
            paths = after
        counts.add(paths[end])
    return counts


def test_number_of_ways() -> None:
    """m ways through a Clos network, N / 2 through a Benes network; links as textbooks say."""
    for n, m, r in ((2, 3, 4), (4, 7, 3)):
        graph = Clos(n, m, r)
        assert ways(graph) == {m}
        assert Counter(map(len, graph.columns)) == Counter([r, m, r])
        assert len(list(graph.links())) == 2 * r * m
    for ports in (4, 8, 16):
        assert ways(Benes(ports)) == {ports // 2}
        assert len(Benes(ports).columns) == 2 * math.log2(ports) - 1


def test_measures_go_from_entry_to_exit() -> None:
    assert (
        graph_measures(Clos(2, 2, 4)).diameter,
        graph_measures(Clos(2, 2, 4)).mean_distance,
    ) == (2, 2.0)
    assert graph_measures(Benes(16)).mean_distance == 6.0


# Settings.


def performed(graph: RearrangeableGraph, settings: BoxSettings) -> list[int]:
    """Where the boxes lead each input, link by link."""
    after = {(link.node, link.port): (link.peer, link.peer_port) for link in graph.links()}
    ends = {(exit_.node, -1 - exit_.port): t for t, exit_ in enumerate(graph.exits)}
    found = []
    for entry in graph.entries:
        node, port = entry.node, -1 - entry.port
        while True:
            stage, box = graph.place_of(node)
            output = settings[stage][box].index(port)
            if stage == len(graph.columns) - 1:
                found.append(ends[node, output])
                break
            node, port = after[node, output]
    return found


def shapes(settings: BoxSettings) -> list[Counter]:
    return [Counter(map(len, column)) for column in settings]


@pytest.mark.parametrize(
    ("ports", "sample"), [(2, None), (4, None), (8, 500), long(8, None), (64, 20), long(1024, 20)]
)
def test_benes_passes_every_permutation(ports: int, sample: int | None) -> None:
    graph = Benes(ports)
    for destinations in permutations(ports, sample):
        settings = benes_settings(destinations)
        assert shapes(settings) == [{2: ports // 2}] * len(graph.columns)
        assert all(sorted(box) == [0, 1] for column in settings for box in column)
        assert performed(graph, settings) == destinations


@pytest.mark.parametrize(
    ("n", "m", "r", "sample"),
    [(2, 2, 2, None), (2, 3, 3, None), (4, 4, 2, 200), (3, 5, 4, 100), (8, 8, 8, 20)],
)
def test_clos_passes_every_permutation(n: int, m: int, r: int, sample: int | None) -> None:
    graph = Clos(n, m, r)
    for destinations in permutations(n * r, sample):
        settings = clos_settings(destinations, n, m)
        assert shapes(settings) == [{m: r}, {r: m}, {n: r}]
        for column in settings:
            for box in column:
                shown = [one for one in box if one is not None]
                assert len(set(shown)) == len(shown)
        assert performed(graph, settings) == destinations


@pytest.mark.parametrize(("n", "m", "r"), [(2, 2, 2), (2, 3, 3), (3, 4, 2)])
def test_five_stages_pass_every_permutation(n: int, m: int, r: int) -> None:
    """m ways to a middle network, and m through it; its crosspoints are those of the formula."""
    graph = FiveStageClos(n, m, r)
    assert ways(graph) == {m * m}
    for destinations in permutations(graph.ports, 40):
        settings = graph.settings(destinations)
        assert [len(column) for column in settings] == [n * r, m * r, m * m, m * r, n * r]
        assert performed(graph, settings) == destinations


def test_stanfills_five_layers() -> None:
    """146,300 switches for 1,000 inputs: crosspoints, of the strictly nonblocking network."""
    graph = FiveStageClos(10, 19, 10)
    plain = to_networkx(graph)
    inputs, outputs = dict(plain.in_degree()), dict(plain.out_degree())
    entering, leaving = Counter(graph.homes), Counter(graph.exit_homes)
    assert len(graph.homes) == 1000
    assert (
        sum((inputs[node] + entering[node]) * (outputs[node] + leaving[node]) for node in plain)
        == 146300
    )


def permutations(ports: int, sample: int | None) -> Any:
    if sample is None:
        return map(list, itertools.permutations(range(ports)))
    print(f"seed {ports}")
    chance = random.Random(ports)
    return (chance.sample(range(ports), ports) for _ in range(sample))


def test_terminals_that_send_nothing() -> None:
    assert performed(Benes(4), benes_settings([None, 3, None, 0])) == [1, 3, 2, 0]
    assert performed(Clos(2, 2, 2), clos_settings([2, None, None, 1], 2, 2)) == [2, 0, 3, 1]


@pytest.mark.parametrize("seed", range(20))
def test_edge_colouring(seed: int) -> None:
    """Of random bipartite multigraphs; by networkx, that edges of one colour never meet."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    degree, nodes = chance.randint(1, 9), chance.randint(1, 9)
    edges = [(x, y) for _ in range(degree) for x, y in zip(range(nodes), sample(chance, nodes))]
    edges = chance.sample(edges, chance.randint(0, len(edges)))
    colours = edge_colouring([x for x, _ in edges], [y for _, y in edges], degree)
    assert set(colours) <= set(range(degree))
    for colour in range(degree):
        own = [((0, x), (1, y)) for (x, y), c in zip(edges, colours) if c == colour]
        graph = nx.MultiGraph(own)
        assert nx.is_matching(nx.Graph(graph), set(own))
        assert graph.number_of_edges() == len(set(own))


def sample(chance: random.Random, count: int) -> list[int]:
    return chance.sample(range(count), count)


# Hardware that is set.


def shown(network: BoxControlledNetwork, every: Sequence[Permutation]) -> list[list[int]]:
    """For each permutation, the output at which each input is shown."""
    found = []

    async def testbench(ctx: Any) -> None:
        for line, port in enumerate(network.i):
            ctx.set(port, line)
        for destinations in every:
            for path, value in network.controls(destinations).items():
                ctx.set(Value.cast(member(network, path)), value)
            await ctx.delay(1e-9)
            lines = [ctx.get(port) for port in network.o]
            found.append([lines.index(line) for line in range(network.ports)])

    evaluate(network, testbench)
    return found


@pytest.mark.parametrize(
    ("graph", "sample"),
    [
        (Benes(4), None),
        (Benes(16), 4),
        long(Benes(16), 100),
        (Clos(2, 2, 2), None),
        (Clos(3, 4, 3), 4),
        long(Clos(4, 7, 4), 30),
    ],
    ids=str,
)
def test_boxes_show_the_permutation(graph: RearrangeableGraph, sample: int | None) -> None:
    network = BoxControlledNetwork(graph, shape=(graph.ports - 1).bit_length())
    wanted = list(permutations(graph.ports, sample))
    assert shown(network, wanted) == wanted


@pytest.mark.long
def test_verilog_of_boxes(tmp_path: Any) -> None:
    network = BoxControlledNetwork(Clos(2, 3, 2), shape=8)
    write_verilog(network.fabric, tmp_path / "clos.v")
    text = (tmp_path / "clos.v").read_text()
    assert len(re.findall(r"^module ", text, re.MULTILINE)) == 4
    assert "select_0__1__2" in text


test_refuses = refusals(
    call,
    (
        lambda: Clos(3, 2, 2).settings([0, 1, 2, 3, 4, 5]),
        "Middle boxes must be at least 3 to pass ... not 2",
    ),
    (lambda: benes_settings([0, 1, 2]), "Terminals of a Benes network must be a power of two..."),
    (lambda: Benes(4).settings([0, 1, 1, 2]), "Destination 1 must be given only once"),
    (lambda: Benes(4).settings([1, 0]), "Permutation must have 4 destinations, not 2"),
    (lambda: build("benes ports=12"), "Ports must be a power of two, not 12"),
    (
        lambda: BoxControlledNetwork(4, shape=1),
        TypeError,
        "Graph must be a Clos or Benes network, not 4",
    ),
)


# Packets that route themselves.


@pytest.mark.parametrize(
    ("words", "stages"),
    [("clos n=2 r=2", 3), ("benes ports=8", 5), long("benes ports=8 decision=2", 5)],
)
def test_latency_of_a_packet(words: str, stages: int) -> None:
    """A cycle for each stage, and for each flit after the first."""
    network = build(words, length=3)
    result = simulate(network, traffic=Trace("one", (TracePacket(0, 1, 2, 3),)), cycles=50)
    decision = network.parameters["decision"]
    assert result.latency.max == (stages - 1) * decision + 3
    assert network.stages == stages


def test_any_way_is_better_than_one() -> None:
    """The destinations of an input box's terminals agree modulo m, so a fixed middle is shared.

    Packets that take any do not block each other in the first stage: its arbiters do not all grant
    the same header.
    """
    traffic = "0,2,4,6,1,3,5,7"
    loads = {
        spread: simulate(
            "clos n=2 r=4", spread=spread, traffic=traffic, load=1.0, cycles=400, warmup=50
        ).throughput
        for spread in ("any", "fixed")
    }
    assert loads["fixed"] == pytest.approx(1 / 2, abs=0.01)
    assert loads["any"] > 0.7


def test_intermediate_terminals_are_refused() -> None:
    message = "^Packets can't go by way of terminal 0: they leave at node 0 of stage 2"
    with pytest.raises(ValueError, match=message):
        GraphNetwork(graph=Clos(2, 2, 2), routing="valiant")


@pytest.mark.parametrize("routing", ["shortest", "layered", "adaptive"])
def test_other_routings(routing: str) -> None:
    network = GraphNetwork(graph=Benes(8), routing=routing)
    assert network.stages == 5
    assert {len(network.path(0, to)) for to in range(8)} == {5}


# The command.


def called(words: str) -> str:
    result = CliRunner().invoke(permute, words.split(), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_permute() -> None:
    record = json.loads(called("benes ports=8 bit-reversal --json"))
    assert (record["passable"], record["conflicts"]) == (True, [])
    assert record["destinations"] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert performed(Benes(8), record["settings"]) == record["destinations"]
    again = json.loads(called("benes ports=8 bit-reversal --passes --json"))
    one = {name: record[name] for name in ("destinations", "settings")}
    assert again == record | {"passes": [one], "direct_passes": [one]}
    text = called("clos n=2 m=3 r=3 1,2,3,4,5,0")
    assert "1,2,3,4,5,0 passes, as every permutation, with these settings:\n" in text
    # The middle stage has three boxes of three, of which two are needed.
    assert re.search(r"│ 1 +│ 0 1 x +│ 2 0 1 +│ exchange │\n", text)
    with pytest.raises(ValueError, match=r"^Middle boxes must be at least 4 "):
        called("clos m=3 identity")


@pytest.mark.parametrize("ports", [2, 4, 16])
def test_loops_of_boxes(ports: int) -> None:
    """Each box is set once; the boxes of a loop are joined by packets, and the loop is closed."""
    graph, draw = Benes(ports), random.Random(ports)
    for _ in range(20):
        destinations = draw.sample(range(ports), ports)
        loops = benes_loops(destinations)
        boxes = [graph.columns[stage][box] for loop in loops for stage, box in loop]
        assert sorted(boxes) == [*range(graph.nodes)]
        settings = graph.settings(destinations)
        passages = [graph.passages(x, to, settings) for x, to in enumerate(destinations)]
        through = [{passage.node for passage in own} for own in passages]
        stages = [{stage for stage, _ in loop} for loop in loops]
        assert stages == sorted(stages, key=min)
        for loop in loops:
            nodes = [graph.columns[stage][box] for stage, box in loop]
            for one, other in zip(nodes, [*nodes[1:], nodes[0]]):
                assert any({one, other} <= own for own in through)


@every
def test_passages_are_those_of_boxes_that_are_set(graph: RearrangeableGraph) -> None:
    """Each packet comes to its destination; no two take the same input or output of a box."""
    if isinstance(graph, Clos) and graph.middles < graph.n:
        return
    destinations = random.Random(1).sample(range(graph.ports), graph.ports)
    settings = graph.settings(destinations)
    taken: Counter[tuple[int, str, int]] = Counter()
    for x, to in enumerate(destinations):
        own = graph.passages(x, to, settings)
        assert (own[0].node, own[0].input) == (graph.homes[x], -1 - graph.entries[x].port)
        assert (own[-1].node, own[-1].output) == (graph.exit_homes[to], -1 - graph.exits[to].port)
        for node, entry, exit_ in own:
            taken.update([(node, "in", entry), (node, "out", exit_)])
        pairs = itertools.pairwise(own)
        links = [(before.node, before.output, after.node, after.input) for before, after in pairs]
        assert {*links} <= {link[:4] for link in graph.links()}
    assert set(taken.values()) == {1}


def test_passages_refuse_boxes_that_are_not_set() -> None:
    with pytest.raises(ValueError, match="Box 0 of stage 1 must be set: it leads several ways"):
        Benes(8).passages(0, 0, [[(0, 1)] * 4])
    with pytest.raises(ValueError, match="Box 0 of stage 0 must show its input 1"):
        Benes(8).passages(1, 0, [[(0, 0)] * 4])
