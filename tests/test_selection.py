# amaranth: UnusedElaboratable=no
"""Which of several outputs a packet is sent to: the selection functions, in gates."""

import itertools
import random
from collections import Counter
from operator import call
from typing import Any

import networkx as nx
import pytest
from driving import exercise
from long_runs import long
from multicube.hdl import GraphNetwork, build
from multicube.hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from multicube.hdl.families.hierarchical.hierarchical_graph import Hierarchical
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.conversion import from_networkx, to_networkx
from multicube.hdl.graphs.graph import Graph, Link, Turn
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.algorithms import relation_for
from multicube.hdl.networks.route_tables import weight_bits, weights_of
from multicube.hdl.switch.selection import SELECTIONS, Selector
from multicube.hdl.switch.shape import InputChannel, RouterShape
from multicube.sim import simulate as run
from refusals import refusals

SEED = 21
CHOSEN = [name for name in SELECTIONS if name != "first-free"]


def shape(channels: int, escapes: int) -> RouterShape:
    """Three links in both directions and a terminal; packets turn from any input to any output."""
    ends = [(port, number) for port in range(3) for number in range(channels)]
    turns = {Turn(i, o) for i in (None, *ends) for o in (None, *ends)}
    return RouterShape.of(
        [InputChannel(end, end[1] < escapes) for end in ends],
        [(end, end[1] < escapes, 1) for end in ends],
        entries=1,
        exits=1,
        turns=turns,
        choice=True,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("selection", "channels", "cycles"),
    [
        ("least-count", 1, 60),
        ("shortest-queue", 2, 40),
        *(long(name, channels, 400) for name in CHOSEN for channels in (1, 2)),
    ],
)
def test_selector(selection: str, channels: int, cycles: int) -> None:
    """Against a model, with random offers, arrivals, departures and held outputs; what is taken of
    equal outputs occurs as often as their weights say."""
    print("seed", SEED)
    draw = random.Random(SEED)
    router = shape(channels, 1)
    bits = 2
    selector = Selector(router, selection=selection, weights=bits)
    inputs, links = range(len(router.inputs)), range(3)
    outputs = [j for j, one in enumerate(router.outputs) if not one.is_terminal]
    link_of = {j: router.outputs[j].end[0] for j in outputs}
    adaptive = {j for j in outputs if not router.outputs[j].escape}
    counts = [0, 0, 0]
    inside: list[tuple[int, int]] = []
    seen: Counter[tuple[tuple[tuple[int, int], ...], int]] = Counter()

    def sent_to(exits: int) -> int:
        own = [j for j in outputs if exits >> j & 1]
        return link_of[([j for j in own if j in adaptive] or own)[0]]

    async def testbench(ctx: Any) -> None:
        ctx.set(selector.seed, 0x1234567)
        await ctx.tick()
        await ctx.tick()
        for _ in range(cycles):
            held = draw.getrandbits(len(outputs)) & draw.getrandbits(len(outputs))
            ctx.set(selector.held, held)
            busy = [any(held >> j & 1 for j in outputs if link_of[j] == link) for link in links]
            least = [count + (selection == "shortest-queue") * b for count, b in zip(counts, busy)]
            after = counts.copy()
            for i in inputs:
                offer = {j: draw.randrange(1, 4) for j in outputs if draw.random() < 0.6}
                if not offer:
                    offer = {len(outputs): 1}
                ctx.set(selector.offered[i], sum(w << j * bits for j, w in offer.items()))
                accepted = draw.random() < 0.5
                ctx.set(selector.accepted[i], accepted)
                exits = ctx.get(selector.exits[i])
                if len(outputs) in offer:
                    assert exits == 1 << len(outputs)
                    continue
                choices = {j: w for j, w in offer.items() if j in adaptive} or offer
                if selection != "random":
                    best = min(least[link_of[j]] for j in choices)
                    choices = {j: w for j, w in choices.items() if least[link_of[j]] == best}
                (taken,) = (j for j in choices if exits >> j & 1)
                kept = [j for j in offer if j not in adaptive] if taken in adaptive else []
                assert exits == sum(1 << j for j in {taken, *kept})
                seen[tuple(sorted(choices.items())), taken] += 1
                if accepted:
                    after[link_of[taken]] += 1
                    inside.append((i, exits))
            for i in inputs:
                left = next((one for one in inside if one[0] == i and draw.random() < 0.5), None)
                ctx.set(selector.left[i], left[1] if left else 0)
                if left:
                    inside.remove(left)
                    if selection == "shortest-queue":
                        after[sent_to(left[1])] -= 1
            counts[:] = after
            await ctx.tick()

    exercise(selector, testbench)
    chi = degrees = 0.0
    for choices in {choices for choices, _ in seen}:
        total = sum(seen[choices, j] for j, _ in choices)
        for j, weight in choices:
            expected = total * weight / sum(w for _, w in choices)
            chi += (seen[choices, j] - expected) ** 2 / expected
        degrees += len(choices) - 1
    assert chi < degrees + 4 * (2 * degrees) ** 0.5


@pytest.mark.parametrize(
    "graph",
    [
        CubeConnectedCycles(3),
        Torus(4, 2),
        Hierarchical([RoutedHypercube(2), RoutedHypercube(2)], replication=2),
        from_networkx(nx.petersen_graph()),
        from_networkx(nx.gnp_random_graph(9, 0.5, seed=3)),
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_path_counts_and_weights(graph: Graph) -> None:
    """Against networkx. A walk that takes each channel by its weight takes each shortest path with
    the same probability."""
    plain = nx.DiGraph(to_networkx(graph))
    parallel = Counter((link.node, link.peer) for link in graph.links())
    relation = relation_for(graph, "minimal", channels=1)
    bits = 1
    for start, end in itertools.product(range(graph.nodes), repeat=2):
        paths = list(nx.all_shortest_paths(plain, start, end))
        ways = 0
        for path in paths:
            product = 1
            for step in itertools.pairwise(path):
                product *= parallel[step]
            ways += product
        assert graph.path_counts[end][start] == ways
        if start == end:
            continue
        shares = {start: 1.0}
        for node in sorted(range(graph.nodes), key=lambda node: -graph.distances[end][node]):
            if shares.get(node) and node != end:
                weights = weights_of(relation, relation.choices(node, None, end), end)
                bits = max(bits, max(weights.values()).bit_length())
                for channel, weight in weights.items():
                    link = relation.graph.link_of(channel)
                    chance = weight / sum(weights.values())
                    assert chance == pytest.approx(
                        graph.path_counts[end][link.peer] / graph.path_counts[end][node]
                    )
                    shares[link.peer] = shares.get(link.peer, 0) + shares[node] * chance
        assert shares[end] == pytest.approx(1)
    assert weight_bits(relation) == bits


@pytest.mark.parametrize("name", ["data-manipulator", "dynamic-redundancy"])
def test_weights_count_ways_to_where_packets_leave(name: str) -> None:
    """Against networkx, in graphs that packets leave at other nodes than those they enter at."""
    relation = build(name, routing="adaptive", selection="random").relation
    graph = relation.graph
    plain = nx.DiGraph(to_networkx(graph))
    for destination, end in enumerate(graph.exit_homes):
        for _, _, nexts in relation.steps(destination):
            for channel in itertools.filterfalse(relation.is_escape, nexts):
                peer = graph.link_of(channel).peer
                ways = len(list(nx.all_shortest_paths(plain, peer, end)))
                assert relation.weight(channel, destination) == ways


# Four shortest paths from 0 to 6, three of them over node 1.
FORK = [(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (2, 7), (3, 6), (4, 6), (5, 6), (7, 6)]


def fork() -> Graph:
    pairs = FORK + [(b, a) for a, b in FORK]
    outputs, inputs = Counter(), Counter()
    links = []
    for a, b in pairs:
        links.append(Link(a, outputs[a], b, inputs[b]))
        outputs[a] += 1
        inputs[b] += 1
    return ListedGraph(8, links)


def crossings(network: Any, destinations: str, packets_per_cycle: float, cycles: int) -> Counter:
    """How many flits crossed each link, by its two nodes."""
    result = run(network, traffic=destinations, load=packets_per_cycle, cycles=cycles, seed=SEED)
    found: Counter[tuple[int, int]] = Counter()
    for name, rate in result.links.items():
        words = name.replace(",", " ").split()
        if "terminal" not in words:
            found[int(words[1]), int(words[4])] += round(rate * cycles)
    return found


def assert_shares(found: dict[Any, int], shares: dict[Any, float]) -> None:
    """By a chi-squared test: off by more than 4 sigma once in 10,000."""
    total = sum(found.values())
    assert total > 500
    chi = sum((found[k] - total * p) ** 2 / (total * p) for k, p in shares.items())
    degrees = len(shares) - 1
    assert chi < degrees + 4 * (2 * degrees) ** 0.5


@pytest.mark.long
def test_each_shortest_path_is_equally_likely() -> None:
    """From 0 to 6 there are four, each with a link that no other has: so node 0 sends three
    quarters to node 1."""
    network = GraphNetwork(
        graph=fork(), routing="minimal", selection="random", allow_deadlock=1, depth=8
    )
    used = crossings(network, "6" + 7 * ",x", 0.1, 10000)
    last = {pair: used[pair] for pair in ((3, 6), (4, 6), (5, 6), (7, 6))}
    assert_shares(last, dict.fromkeys(last, 1 / 4))
    assert abs(used[0, 1] - last[3, 6] - last[4, 6] - last[5, 6]) <= 4  # at the window's ends


@pytest.mark.long
def test_hypercube_paths_are_equally_likely() -> None:
    """By gates instead of tables: of the six paths from 0 to 7, each has its own middle link.
    Packets are so rare that they hardly ever need an escape channel."""
    network = build("hypercube n=3 routing=adaptive selection=random depth=8")
    used = crossings(network, "7" + 7 * ",x", 0.005, 60000)
    middle = {(a, b): n for (a, b), n in used.items() if a.bit_count() == 1 < b.bit_count()}
    assert len(middle) == 6
    assert_shares(middle, dict.fromkeys(middle, 1 / 6))


@pytest.mark.long
def test_parallel_links_share_packets() -> None:
    network = build(
        "hierarchical level1=hypercube:n=1 level2=hypercube:n=1 replication=3 selection=random"
    )
    result = run(network, traffic="2,x,x,x", load=0.05, cycles=20000, seed=SEED)
    found = {
        name: round(rate * 20000)
        for name, rate in result.links.items()
        if "level 2" in name and rate
    }
    assert len(found) == 3
    assert_shares(found, dict.fromkeys(found, 1 / 3))


@pytest.mark.long
def test_least_count_keeps_links_equal() -> None:
    """All packets of node 0 for node 7 may take any of its three links, and each is taken by every
    third packet."""
    network = GraphNetwork(
        graph=RoutedHypercube(3),
        routing="minimal",
        selection="least-count",
        switch="store-and-forward",
        length=4,
        depth=64,
        allow_deadlock=1,
    )
    used = crossings(network, "7" + 7 * ",x", 0.02, 8000)
    first = [used[0, peer] for peer in (1, 2, 4)]
    assert max(first) - min(first) <= 8


@pytest.mark.long
def test_shortest_queue_avoids_a_busy_link() -> None:
    """Node 1 sends two thirds of its packets to node 3, and one third to node 7, by way of 3 or 5.
    Most of these take the idle link to 5, and no third of them that to 3."""
    network = GraphNetwork(
        graph=RoutedHypercube(3),
        routing="minimal",
        selection="shortest-queue",
        switch="store-and-forward",
        length=4,
        depth=64,
        allow_deadlock=1,
    )
    matrix = [[0] * 8 for _ in range(8)]
    matrix[1][3], matrix[1][7] = 2, 1
    result = run(network, traffic=matrix, load=0.24 / 8, cycles=20000, seed=SEED)
    rates = {
        tuple(int(word) for word in name.replace(",", " ").split() if word.isdecimal()): rate
        for name, rate in result.links.items()
        if "terminal" not in name
    }
    (busy,) = (rate for pair, rate in rates.items() if pair[:2] == (1, 3))
    (idle,) = (rate for pair, rate in rates.items() if pair[:2] == (1, 5))
    assert busy + idle == pytest.approx(0.96, abs=0.03)
    assert busy < 0.64 + 0.32 / 3


@pytest.mark.parametrize(
    ("words", "selection"),
    [
        ("hypercube n=2 routing=adaptive", "shortest-queue"),
        *(
            long(words, selection)
            for words in (
                "bh-br dimension=4 cluster=2 routing=adaptive",
                "hypercube n=3 routing=adaptive",
                "hypercube n=3 routing=pcube",
                "cube-connected-cycles routing=adaptive",
                "fat-tree k=2 n=3",
            )
            for selection in CHOSEN
        ),
    ],
)
def test_no_deadlock_at_full_load(words: str, selection: str) -> None:
    """Escape channels stay permitted, so all packets arrive."""
    network = build(f"{words} selection={selection} length=6 depth=2")
    result = run(network, load=1 / 6, cycles=1500, seed=SEED)
    assert result.delivered == result.injected
    assert result.throughput > 0


@pytest.mark.long
def test_stored_packets_with_deep_queues() -> None:
    """Any shortest path, one channel: it could lock up, and is refused; but not in a run whose
    queues never fill."""
    words = "bh-br dimension=5 cluster=2 routing=minimal channels=1 switch=store-and-forward"
    with pytest.raises(ValueError, match="can deadlock"):
        build(words)
    network = build(f"{words} allow_deadlock=1 depth=64 selection=least-count length=1:4")
    result = run(network, load=0.03, cycles=2000, seed=SEED)
    assert result.delivered == result.injected


test_needs_a_choice = refusals(
    call,
    (
        lambda: build("hypercube n=3 selection=random"),
        "...Selection must be first-free if packets have no choice...",
    ),
    (
        lambda: build("hypercube n=3 selection=longest-queue"),
        "...selection must be one of first-free, random...",
    ),
)
