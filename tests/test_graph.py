"""Graphs and routing relations as data: what is checked, and what follows from them."""

from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import pytest
from multicube.hdl.graphs.conversion import from_networkx, to_networkx
from multicube.hdl.graphs.graph import Channel, Link, Turn
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.hdl.graphs.routing.relation import RoutedGraph
from multicube.hdl.graphs.routing.survey import survey
from refusals import refusals


class Ring(RoutedGraph):
    """One-way ring of k nodes; with `dateline`, channel 1 is for what still has to go around."""

    def __init__(self, k: int, dateline: bool = True) -> None:
        self.k, self.dateline = k, dateline

    @property
    def nodes(self) -> int:
        return self.k

    def links(self) -> list[Link]:
        count = 1 + self.dateline
        return [Link(node, 0, (node + 1) % self.k, 0, count) for node in range(self.k)]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node != destination:
            yield Channel(node, 0, int(self.dateline and destination < node))


def test_what_follows_from_a_ring() -> None:
    ring = Ring(5)
    survey(ring)
    assert [channel.node for channel in ring.path(3, 1)] == [3, 4, 0, 1]
    assert ring.path(3, 1)[-1] == ring.exits[1] == Channel(1, -1)
    assert deadlock_cycle(ring) is None
    cycle = deadlock_cycle(Ring(5, dateline=False))
    assert cycle is not None
    assert {channel.node for channel in cycle} == set(range(5))
    turns = ring.turns()
    # From the last node nothing goes on by channel 0, and nothing changes from channel 0 to 1.
    assert Turn((0, 0), (0, 1)) not in set().union(*turns.values())
    assert Turn(None, (0, 0)) not in turns[4]
    assert Turn(None, None) in turns[0]


test_graph_rejects = refusals(
    ListedGraph,
    (0, [], None, "Nodes must be from 1 to 65536, not 0"),
    (2, [Link(0, 0, 2, 0)], None, "Link from node 0 to node 2 must join nodes from 0 to 1, ..."),
    (2, [Link(0, 0, 1, 0), Link(0, 0, 0, 0)], None, "Output 0 of node 0 must have one link, ..."),
    (2, [Link(0, 0, 1, 0), Link(0, 1, 1, 0)], None, "Input 0 of node 1 must have one link, ..."),
    (2, 2 * [Link(0, 0, 1, 0)], None, "Output 0 of node 0 must have one link, not two: 0 to 1..."),
    (2, [Link(0, -1, 1, 0)], None, "Port of the link from node 0 to node 1 must be ..."),
    (2, [Link(0, 0, 1, 0, 0)], None, "Channels of the link from node 0 to node 1 must..."),
    (2, [Link(0, 0, 1, 0, 1, 0)], None, "Latency of the link from node 0 to node 1 must ..."),
    (2, [], [0], "Terminals must be at least 2, not 1"),
    (2, [], [0, 1, 2], "Terminal 2 must be at a node from 0 to 1, not 2"),
    (2, [], [False, True], TypeError, "Node of terminal 0 must be an integer, not False"),
    (2, 3, None, TypeError, "Links must be a sequence of links, not 3"),
    (2, [], {0: 1, 1: 0}, TypeError, "Homes must be a sequence of nodes, not {0: 1, 1: 0}"),
    (2, [(0, 0, 1, 0)], None, TypeError, "Link must be a Link, not (0, 0, 1, 0)"),
    (2, [Link(0.0, 0, 1, 0)], None, TypeError, "Node of a link must be an integer, not 0.0"),
    (2, [], None, (), None, "latecny", "Metric must be one of hops, latency, not 'latecny'..."),
)


def test_unreachable_pairs_are_named() -> None:
    class Broken(Ring):
        def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
            if (node, destination) != (2, 0):
                yield from super().route(node, came, destination)

    with pytest.raises(ValueError, match=r"^There is no way from .* to terminal 0$"):
        survey(Broken(4))

    class Wrong(Ring):
        def route(self, node: int, came: Channel | None, destination: int) -> list[Channel]:
            return [Channel(node, 1)] if node != destination else []

    with pytest.raises(ValueError, match=r"^Packet can't leave node \d by Channel"):
        survey(Wrong(4))


def offering(offer: Callable[[int, int], Any]) -> Ring:
    """A ring whose headers may take what a function of node and destination says."""

    class Offering(Ring):
        def route(self, node: int, came: Channel | None, destination: int) -> Any:
            return offer(node, destination) if node != destination else ()

    return Offering(4)


test_relation_rejects = refusals(
    lambda offer: survey(offering(offer)),
    (lambda *_: None, TypeError, "Route must be an iterable of channels, not None"),
    (lambda node, _: Channel(node, 0), TypeError, "Channel of a route must be a Channel, not 3"),
    (lambda node, _: [(node, 0)], TypeError, "Channel of a route must be a Channel, not (3, 0)"),
    (lambda node, _: [Channel(node, 0, -1)], "Packet can't leave node 3 by Channel..."),
    (
        lambda node, _: [Channel(node, 0, 0), Channel(node, 0, 1)],
        "Ordered must be False in a routing that offers several channels, as at node 3: [...",
    ),
)


def test_a_channel_that_is_offered_twice_is_one() -> None:
    twice = offering(lambda node, to: 2 * [Channel(node, 0, int(to < node))])
    assert twice.choices(0, None, 1) == [Channel(0, 0, 0)]


def test_networkx_converts_both_ways() -> None:
    ring = Ring(4)
    there = to_networkx(ring)
    assert (len(there), there.number_of_edges()) == (4, 4)
    back = from_networkx(there)
    assert list(back.links()) == ring.links()
    assert list(back.homes) == list(ring.homes)

    petersen = from_networkx(nx.petersen_graph())
    assert petersen.nodes == len(petersen.homes) == 10
    assert len(petersen.links()) == 30
    assert nx.is_isomorphic(nx.Graph(to_networkx(petersen)), nx.petersen_graph())

    named = nx.Graph()
    named.add_node("switch", terminals=0)
    for leaf in ("a", "b"):
        named.add_node(leaf, terminals=2)
        named.add_edge("switch", leaf, latency=3, channels=2)
    star = from_networkx(named)
    assert list(star.homes) == [1, 1, 2, 2]
    assert star.name(0) == "switch"
    assert {(link.channels, link.latency) for link in star.links()} == {(2, 3)}
    assert star.exits == [Channel(1, -1), Channel(1, -2), Channel(2, -1), Channel(2, -2)]


def test_networkx_rejects() -> None:
    with pytest.raises(TypeError, match=r"^Graph must be a graph of networkx, not 3$"):
        from_networkx(3)
    bad = nx.Graph()
    bad.add_edge("a", "b", latency="slow")
    with pytest.raises(TypeError, match=r"^Latency of the edge from a to b must be an integer"):
        from_networkx(bad)
