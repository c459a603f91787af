"""Networks as graphs: nodes, the links between their ports, and the terminals at the nodes.

This is plain data, without hardware. `graphs.routing.relation` says where packets may go, and
`families.graph_network` makes hardware of both.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product, zip_longest
from typing import NamedTuple

from ..fabric.parameters import check_described

__all__ = ["METRICS", "MOST_NODES", "MOST_TERMINALS", "Channel", "End", "Graph", "Link", "Turn"]

MOST_NODES = 2**16
"""Most nodes of a graph, and most terminals."""

METRICS = ("hops", "latency")

MOST_TERMINALS = 64
"""Most terminals at a node: as many as a crossbar has."""


LINK_BOUNDS = {
    "port": (0, MOST_NODES),
    "peer_port": (0, MOST_NODES),
    "channels": (1, 64),
    "latency": (1, 2**10),
    "interval": (1, 64),
}

End = tuple[int, int]
"""A link's port at a node, and the number of a channel of the link."""


class Link(NamedTuple):
    """A link in one direction: from output `port` of `node` to input `peer_port` of `peer`.

    Outputs and inputs of a node are numbered separately, from 0. A link in both directions is two
    of these.

    Attributes
    ----------
    node, port, peer, peer_port : int
        The nodes at its ends, by number, each with its output or input.
    channels : int
        Virtual channels that share its wires, from 1 to 64.
    latency : int
        Cycles from the output of one router to the head of the next one's queue, from 1 to 1,024.
    interval : int
        Cycles that it needs for a flit, from 1 to 64; more than 1 with packet switching only.
    """

    node: int
    port: int
    peer: int
    peer_port: int
    channels: int = 1
    latency: int = 1
    interval: int = 1

    @staticmethod
    def bounds(name: str) -> tuple[int, int]:
        """The least and the greatest value of an attribute."""
        return LINK_BOUNDS[name]

    def each_channel(self) -> list["Channel"]:
        """Its virtual channels, by number."""
        return [Channel(self.node, self.port, number) for number in range(self.channels)]


class Channel(NamedTuple):
    """A virtual channel of the link that leaves `node` by output `port`.

    Terminals have a channel too, from their node: `Graph.exits`.

    Attributes
    ----------
    node, port : int
        The node that it leaves, and the output.
    number : int
        Its number among the channels of the link, from 0.
    """

    node: int
    port: int
    number: int = 0


class Turn(NamedTuple):
    """A way through a node: from an input to an output.

    Attributes
    ----------
    input, output : End or None
        The port and channel; None for the node's terminals.
    """

    input: End | None
    output: End | None


class Graph(ABC):
    """Nodes, the links between them, and the nodes of the terminals.

    A subclass defines `nodes` and `links`; by default each node has one terminal, of its own
    number. Nothing may change after construction.

    Attributes
    ----------
    nodes : int
        Number of nodes; they are numbered from 0.
    homes : Sequence[int]
        For each terminal, its node. A node may have any number of terminals, also none.
    exit_homes : Sequence[int]
        For each terminal, the node where packets for it leave, if that is not the node where its
        own packets enter: in a multistage network these are boxes of the last and the first stage.
    metric : str
        What makes a path short, one of `METRICS`: few links, or a small sum of their latencies.
    same_router : bool
        Whether all nodes get the same router, with as many ports as the largest needs; those of
        other nodes lead nowhere then. Otherwise routers have only what is linked.
    """

    metric: str = "hops"
    same_router: bool = False

    def __post_init__(self) -> None:
        check_described(self)

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Number of nodes."""

    @abstractmethod
    def links(self) -> Iterable[Link]:
        """All links, each direction separately, in any order."""

    @property
    def homes(self) -> Sequence[int]:
        """For each terminal, its node."""
        return range(self.nodes)

    @property
    def exit_homes(self) -> Sequence[int]:
        """For each terminal, the node where packets for it leave: by default its home."""
        return self.homes

    def name(self, node: int) -> str:
        """A name of a node, for people."""
        return str(node)

    def position(self, node: int) -> tuple[float, float] | None:
        """Where a drawing shows a node: across and up; None if it may choose.

        Close neighbours are about 1 apart. Either all nodes have a position, or none.
        """
        return None

    def way(self, link: Link) -> Sequence[tuple[float, float]]:
        """Points between the positions of its ends that a drawing of a link leads through; none if
        it may choose. Links in opposite directions have the same in opposite orders."""
        return ()

    def direction(self, link: Link) -> str:
        """The direction of a link, for people, such as "+x"; empty if it has none."""
        return ""

    def is_attachment(self, link: Link) -> bool:
        """Whether a link only joins a node and a bus, which is one link for all its nodes."""
        return False

    def around(self, link: Link) -> str:
        """What a drawing writes at both ends of a link that it cuts: it leads out at the right edge
        and in at the left one, or back. Empty for a link that is drawn whole.

        Only nodes with a position have such links. Those in opposite directions have one name.
        """
        return ""

    def routed(self) -> "Graph":
        """The graph with a routing of its own (a `RoutedGraph`), if it has one at its sizes only;
        else itself."""
        return self

    @property
    def bisection(self) -> int | None:
        """Links between two halves of the nodes, both directions counted, if that is known."""
        return None

    def length(self, link: Link) -> int:
        """The length of a link, by the `metric` of this graph."""
        return link.latency if self.metric == "latency" else 1

    @property
    def latency(self) -> int:
        """The longest latency of a link, in cycles."""
        return max((link.latency for link in self.links()), default=1)

    @property
    def longest_interval(self) -> int:
        """The longest interval of a link, in cycles."""
        return max((link.interval for link in self.links()), default=1)

    @cached_property
    def by_output(self) -> dict[tuple[int, int], Link]:
        """The links by the node and the output that they leave."""
        return {(link.node, link.port): link for link in self.links()}

    @cached_property
    def edges(self) -> list[tuple[Link, Link | None]]:
        """The links, each with one in the opposite direction, or None if it is one-way.

        Links between the same two nodes are paired in the order of their ports.
        """
        ways: dict[tuple[int, int], list[Link]] = {}
        for link in sorted(self.links()):
            ways.setdefault((link.node, link.peer), []).append(link)
        found: list[tuple[Link, Link | None]] = []
        for (node, peer), links in ways.items():
            if node == peer:
                found += [(link, None) for link in links]
            elif node < peer or (peer, node) not in ways:
                for one, other in zip_longest(links, ways.get((peer, node), ())):
                    found.append((one, other) if one else (other, None))
        return found

    @cached_property
    def entries(self) -> list[Channel]:
        """For each terminal, its input at its node.

        Its port is negative: -1 for the first terminal of a node, -2 for the second, and so on.
        """
        return self._terminal_channels(self.homes)

    @cached_property
    def exits(self) -> list[Channel]:
        """For each terminal, the channel to it from its node.

        Its port is negative: -1 for the first terminal of a node, -2 for the second, and so on.
        """
        return self._terminal_channels(self.exit_homes)

    def _terminal_channels(self, homes: Sequence[int]) -> list[Channel]:
        count = [0] * self.nodes
        found = []
        for home in homes:
            count[home] += 1
            found.append(Channel(home, -count[home]))
        return found

    @cached_property
    def terminals(self) -> list[list[int]]:
        """For each node, the terminals whose packets enter there."""
        return self._terminals_of(self.homes)

    @cached_property
    def exit_terminals(self) -> list[list[int]]:
        """For each node, the terminals for which packets leave there."""
        return self._terminals_of(self.exit_homes)

    def _terminals_of(self, homes: Sequence[int]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(self.nodes)]
        for terminal, home in enumerate(homes):
            found[home].append(terminal)
        return found

    def all_turns(self) -> dict[int, set[Turn]]:
        """All ways through each node: from its links and terminals, to its links and terminals."""
        entries: list[list[End | None]] = [[None] if own else [] for own in self.terminals]
        exits: list[list[End | None]] = [[None] if own else [] for own in self.exit_terminals]
        for link in self.links():
            for number in range(link.channels):
                entries[link.peer].append((link.peer_port, number))
                exits[link.node].append((link.port, number))
        return {
            node: {Turn(*ends) for ends in product(entries[node], exits[node])}
            for node in range(self.nodes)
        }

    @cached_property
    def distances(self) -> list[list[int]]:
        """For each node, the fewest links to it from each other one.

        It is the number of nodes if there is no way.
        """
        back: list[list[int]] = [[] for _ in range(self.nodes)]
        for link in self.links():
            back[link.peer].append(link.node)
        found = []
        for end in range(self.nodes):
            away = {end: 0}
            waiting = [end]
            for node in waiting:
                for before in back[node]:
                    if before not in away:
                        away[before] = away[node] + 1
                        waiting.append(before)
            found.append([away.get(node, self.nodes) for node in range(self.nodes)])
        return found

    @cached_property
    def path_counts(self) -> list[list[int]]:
        """For each node, the number of shortest paths to it from each other one."""
        onward: list[list[int]] = [[] for _ in range(self.nodes)]
        for link in self.links():
            onward[link.node].append(link.peer)
        found = []
        for end, away in enumerate(self.distances):
            paths = [0] * self.nodes
            paths[end] = 1
            for node in sorted(range(self.nodes), key=away.__getitem__):
                if 0 < away[node] < self.nodes:
                    paths[node] = sum(paths[to] for to in onward[node] if away[to] < away[node])
            found.append(paths)
        return found

    def link_of(self, channel: Channel) -> Link:
        """The link of a channel that does not lead to a terminal."""
        return self.by_output[channel.node, channel.port]

    def leaving(self, node: int) -> list[Channel]:
        """The channels of all links that leave a node, lowest port first."""
        return self._leaving[node]

    @cached_property
    def _leaving(self) -> list[list[Channel]]:
        found: list[list[Channel]] = [[] for _ in range(self.nodes)]
        for link in sorted(self.by_output.values()):
            found[link.node] += link.each_channel()
        return found
