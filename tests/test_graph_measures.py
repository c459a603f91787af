"""Measures of graphs, against known values and against networkx."""

from itertools import product

import networkx as nx
import pytest
from command_line import Call
from multicube.hdl import build
from multicube.hdl.families.clos.benes_graph import Benes
from multicube.hdl.graphs.conversion import from_networkx, to_networkx
from multicube.hdl.graphs.graph import Graph, Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.sim.measure.graph_measures import (
    GraphMeasures,
    communication_measures,
    graph_measures,
)


def measured(words: str) -> GraphMeasures:
    relation = build(words).relation
    assert relation is not None
    return graph_measures(relation.graph)


def test_petersen() -> None:
    # Each node has 3 nodes at distance 1 and 6 at distance 2: 15 links over 10 pairs.
    assert graph_measures(from_networkx(nx.petersen_graph())) == GraphMeasures(
        nodes=10,
        terminals=10,
        sinks=10,
        links=15,
        one_way_links=0,
        bus_links=0,
        channels=30,
        least_degree=3,
        mean_degree=3.0,
        most_degree=3,
        diameter=2,
        mean_distance=1.5,
    )


@pytest.mark.parametrize("n", range(1, 7))
def test_hypercube(n: int) -> None:
    found = measured(f"hypercube n={n}")
    assert (found.nodes, found.links, found.channels) == (2**n, n * 2 ** (n - 1), n * 2**n)
    assert (found.least_degree, found.diameter, found.mean_distance) == (n, n, n / 2)


@pytest.mark.parametrize("k", [4, 6, 8])
def test_even_torus(k: int) -> None:
    """The mean distance in a ring of even size is k / 4."""
    found = measured(f"torus k={k} n=2")
    assert (found.links, found.channels) == (2 * k * k, 2 * 4 * k * k)
    assert (found.diameter, found.mean_distance) == (k, k / 2)


def test_mesh_degrees() -> None:
    found = measured("mesh k=4 n=2")
    assert (found.least_degree, found.mean_degree, found.most_degree) == (2, 3.0, 4)
    # In a row of k, the mean is (k^2 - 1) / (3 k).
    assert (found.diameter, found.mean_distance) == (6, 2.5)


@pytest.mark.parametrize(
    "words",
    ["fat-tree k=2 n=3", "dragonfly h=1", "hyperx k=3 n=2", "kautz d=2 n=3", "de-bruijn d=3 n=2"],
)
def test_as_networkx(words: str) -> None:
    relation = build(words).relation
    assert relation is not None
    graph: Graph = relation.graph
    away = dict(nx.all_pairs_shortest_path_length(to_networkx(graph)))
    distances = [away[s][d] for s, d in product(graph.homes, repeat=2)]
    found = graph_measures(graph)
    assert found.diameter == max(distances)
    assert found.mean_distance == sum(distances) / len(distances)


def test_one_way_links() -> None:
    one_way = from_networkx(nx.cycle_graph(5, create_using=nx.DiGraph))
    found = graph_measures(one_way)
    assert (found.links, found.one_way_links, found.diameter) == (5, 5, 4)
    assert found.mean_distance == 2.0


@pytest.mark.parametrize(
    "words",
    ["spanning-bus-hypercube k=3", "spanning-bus-hypercube cluster=crossbar", "lens", "ring k=4"],
)
def test_ways_to_buses_are_told(words: str, call: Call) -> None:
    """Without them, there are as many links as `compare --per wire` counts."""
    found = measured(words)
    directions = 2 * found.links - found.one_way_links
    assert directions - found.bus_links == build(words).link_counts.total
    status, out, _ = call("measure", *words.split(), "--limit", "0.1")
    assert status == 0
    assert (f"{found.bus_links} of them between a node and a bus" in out) == bool(found.bus_links)


def test_edges_pair_parallel_links() -> None:
    there = [Link(0, port, 1, port) for port in range(3)]
    back = [Link(1, port, 0, port) for port in range(2)]
    loop = Link(1, 2, 1, 3)
    graph = ListedGraph(2, [*there, *back, loop])
    assert graph.edges == [(there[0], back[0]), (there[1], back[1]), (there[2], None), (loop, None)]


def test_terminals_without_a_way() -> None:
    with pytest.raises(ValueError, match=r"^Terminals at node 1 must have a way to node 0$"):
        graph_measures(ListedGraph(2, [Link(0, 0, 1, 0)]))


def test_fan_out_needs_terminals_at_one_node(call: Call) -> None:
    """Nodes of a Benes network that have received a message can't send it on."""
    with pytest.raises(ValueError, match=r"^Packets of each terminal must enter and leave"):
        communication_measures(Benes(4))
    status, out, err = call("measure", "benes", "--limit", "0.1")
    assert (status, err) == (0, "")
    assert out.endswith(
        "  bisection e       4\n"
        "Packets of each terminal must enter and leave at one node to look for F\n"
    )


def test_sinks_that_are_no_sources(call: Call) -> None:
    """As networkx has the distances; terminals can't be halved."""
    network = build("delta", inputs=2, outputs=3, stages=3)
    assert network.described is not None
    graph = network.described.graph
    away = dict(nx.all_pairs_shortest_path_length(to_networkx(graph)))
    distances = [away[s][d] for s, d in product(graph.homes, graph.exit_homes)]
    found = graph_measures(graph)
    assert (found.terminals, found.sinks, len(distances)) == (8, 27, 8 * 27)
    assert found.mean_distance == sum(distances) / len(distances) == found.diameter
    status, out, err = call("measure", "delta", "inputs=2", "outputs=3", "stages=3")
    assert (status, err) == (0, "")
    assert "  terminals         8 send, 27 receive\n" in out
    assert out.endswith("Sources must be as many as sinks to look for F and e, not 8 and 27\n")


def test_command(call: Call) -> None:
    outcome = call("measure", "kautz", "d=2", "n=3")
    assert (outcome.status, outcome.err) == (0, "")
    assert all(len(line) <= 80 for line in outcome.out.splitlines())
    assert "diameter          3\n" in outcome.out
    record = call("measure", "torus", "k=4", "--json").record
    assert (record["network"], record["diameter"], record["mean_distance"]) == ("torus", 4, 2.0)


@pytest.mark.parametrize(
    ("ports", "links", "diameter", "width"), [(2, 0, 0, None), (8, 16, 2, 4), (16, 48, 3, 8)]
)
def test_boxes_are_nodes(
    call: Call, ports: int, links: int, diameter: int, width: int | None
) -> None:
    found = call("measure", "omega", f"ports={ports}", "--json").record
    assert found["terminals"] == ports
    assert (found["links"], found["one_way_links"]) == (links, links)
    assert (found["diameter"], found["mean_distance"]) == (diameter, diameter)
    assert (found["bisection"]["exact"] if width else found.get("bisection")) == width


@pytest.mark.parametrize(
    "words",
    [
        *("hypercube n=1", "ring k=2 n=1", "torus k=2 n=1", "mesh k=2 n=1", "star nodes=2"),
        *("complete nodes=2", "tree nodes=2"),
    ],
)
def test_two_nodes(words: str, call: Call) -> None:
    """One link in both directions is cut, or in some tori two."""
    graph = build(words).relation.graph
    found = call("measure", *words.split(), "--limit", "0.1", "--json").record
    assert (found["nodes"], found["diameter"], found["fan_out"]["exact"]) == (2, 1, 1)
    assert found["bisection"]["exact"] == len(list(graph.links())) / 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "benes --alpha 0.3",
            "benes takes no --alpha: Packets of each terminal must enter and leave",
        ),
        ("crossbar --alpha 0.3", "crossbar takes no --alpha: Terminals must be at two nodes"),
        ("crossbar --limit 1", "crossbar takes no --limit: Terminals must be at two nodes"),
        ("crossbar --seed 3", "crossbar takes no --seed: Terminals must be at two nodes"),
    ],
)
def test_options_of_a_search_that_is_not_made_are_refused(
    words: str, says: str, call: Call
) -> None:
    status, out, err = call("measure", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"multicube: This {says}")


def test_seeds_are_checked(call: Call) -> None:
    call("measure", "ring", "k=3", "--seed", "-1").refuses("Seed must be at least 0, not -1")
    outcome = call("steps", "ring", "k=3", "broadcast", "--seed", "-1")
    assert (outcome.status, outcome.err) == (2, "multicube: Seed must be at least 0, not -1\n")
    assert call("measure", "ring", "k=3", "--seed", str(10**30), "--limit", "0.1").status == 0
