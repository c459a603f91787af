"""Networks as graphs: nodes, the links between their ports, and the terminals at the nodes.

This is plain data, without hardware. `graphs.routing.relation` says where packets may go, and
`families.graph_network` makes hardware of both.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product, zip_longest
from typing import NamedTuple

from ..fabric.checks import check_integer, check_kind, check_limit, check_several, check_word, shown
from ..fabric.errors import InvalidValue
from ..fabric.parameters import check_described

__all__ = [
    "METRICS",
    "MOST_NODES",
    "MOST_TERMINALS",
    "Channel",
    "ChanneledGraph",
    "End",
    "Graph",
    "Link",
    "ListedGraph",
    "MeasuredGraph",
    "Turn",
    "check_graph",
    "check_name",
]

MOST_NODES = 2**16
"""Most nodes of a graph, and most terminals."""

METRICS = ("hops", "latency")

MOST_TERMINALS = 64
"""Most terminals at a node: as many as a crossbar has."""

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}\ud800-\udfff\ufffe\uffff]"
)
"""What can't stand in a drawing, a page or a line of a message."""

_BOUNDS = {
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
        return _BOUNDS[name]


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
            found[link.node] += [Channel(link.node, link.port, c) for c in range(link.channels)]
        return found


class ListedGraph(Graph):
    """A graph given as a list of links.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    links : Iterable[Link]
        Each in one direction.
    homes : Sequence[int] or None
        For each terminal, its node; by default each node has one.
    names : Sequence[str]
        Names of the nodes; by default their numbers.
    exit_homes : Sequence[int] or None
        For each terminal, the node where packets for it leave; by default its node.
    metric : str
        As in `Graph`.

    Raises
    ------
    ValueError
        As `check_graph`.

    Examples
    --------
    Two nodes with a link in each direction:

    >>> pair = ListedGraph(2, [Link(0, 0, 1, 0), Link(1, 0, 0, 0)])
    >>> pair.leaving(0), pair.exits[1]
    ([Channel(node=0, port=0, number=0)], Channel(node=1, port=-1, number=0))
    """

    def __init__(
        self,
        nodes: int,
        links: Iterable[Link],
        homes: Sequence[int] | None = None,
        names: Sequence[str] = (),
        exit_homes: Sequence[int] | None = None,
        metric: str = "hops",
    ) -> None:
        self.metric = metric
        self._nodes = check_integer("Nodes", nodes, 1, MOST_NODES)
        self._links = tuple(check_several("Links", links, "links"))
        self._homes: Sequence[int] = range(self._nodes)
        if homes is not None:
            self._homes = tuple(check_several("Homes", homes, "nodes"))
        self._exit_homes = self._homes
        if exit_homes is not None:
            self._exit_homes = tuple(check_several("Homes", exit_homes, "nodes"))
        self._names = tuple(check_several("Names", names, "texts"))
        if self._names and len(self._names) != nodes:
            raise InvalidValue(f"Names must be of {nodes} nodes, not of {len(self._names)}")
        for name in self._names:
            check_name(name)
        check_graph(self)

    @property
    def nodes(self) -> int:
        return self._nodes

    def links(self) -> Sequence[Link]:
        return self._links

    @property
    def homes(self) -> Sequence[int]:
        return self._homes

    @property
    def exit_homes(self) -> Sequence[int]:
        return self._exit_homes

    def name(self, node: int) -> str:
        return self._names[node] if self._names else str(node)


class RelinkedGraph(Graph):
    """The nodes and terminals of a graph, with other links.

    Parameters
    ----------
    graph : Graph
    links : Iterable[Link]
    """

    def __init__(self, graph: Graph, links: Iterable[Link]) -> None:
        self._given = graph
        self._links = list(links)
        self.metric = graph.metric

    @property
    def nodes(self) -> int:
        return self._given.nodes

    def links(self) -> Sequence[Link]:
        return self._links

    @property
    def homes(self) -> Sequence[int]:
        return self._given.homes

    @property
    def exit_homes(self) -> Sequence[int]:
        return self._given.exit_homes

    def name(self, node: int) -> str:
        return self._given.name(node)

    def position(self, node: int) -> tuple[float, float] | None:
        return self._given.position(node)

    def way(self, link: Link) -> Sequence[tuple[float, float]]:
        return self._given.way(link)

    def direction(self, link: Link) -> str:
        return self._given.direction(link)

    def is_attachment(self, link: Link) -> bool:
        return self._given.is_attachment(link)


class ChanneledGraph(RelinkedGraph):
    """A graph with other numbers of channels: at least and at most so many on each link.

    Parameters
    ----------
    graph : Graph
        The graph whose links they are.
    least : int
        Fewest channels of a link.
    most : int or None
        Most channels; by default those of the link that has most, or `least` if that is more.
    """

    def __init__(self, graph: Graph, least: int, most: int | None = None) -> None:
        most = max(least, *(link.channels for link in graph.links()), 1) if most is None else most
        super().__init__(
            graph,
            (
                link._replace(channels=min(max(link.channels, least), most))
                for link in graph.links()
            ),
        )
        self.same_router = graph.same_router

    def around(self, link: Link) -> str:
        return self._given.around(link)

    @property
    def bisection(self) -> int | None:
        return self._given.bisection


class MeasuredGraph(ChanneledGraph):
    """A graph in which another `metric` makes a path short."""

    def __init__(self, graph: Graph, metric: str) -> None:
        super().__init__(graph, 1)
        check_word("Weight", metric, METRICS)
        self.metric = metric


def check_name(name: str) -> str:
    """Check the name of a node, and return it.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    str
        It, unchanged.

    Raises
    ------
    TypeError, ValueError
        If it is no text, or holds what can't be shown, such as control characters.

    Examples
    --------
    >>> from multicube.hdl.graphs.graph import check_name
    >>> check_name("hub 3")
    'hub 3'
    """
    check_kind("Name of a node", name, str, "a text")
    if _UNPRINTABLE.search(name):
        raise InvalidValue(f"Name of a node must be printable, not {shown(name)}")
    return name


def check_graph(graph: Graph, most_terminals: int = MOST_TERMINALS) -> None:
    """Check that links and terminals are of existing nodes, that no port is used twice, and that
    nothing is more than hardware could be made of.

    Parameters
    ----------
    graph : Graph
        The graph.
    most_terminals : int
        Most terminals of a node.

    Raises
    ------
    TypeError, ValueError
        If not. The message names the entry.
    """
    check_word("Metric", graph.metric, METRICS)
    nodes = range(check_integer("Nodes", graph.nodes, 1, MOST_NODES))
    used: dict[tuple[str, int, int], Link] = {}
    for link in check_several("Links", graph.links(), "links"):
        check_kind("Link", link, Link, "a Link")
        for node in (link.node, link.peer):
            if type(node) is not int:
                check_integer("Node of a link", node, 0)
            if node not in nodes:
                raise InvalidValue(
                    f"Link from node {link.node} to node {link.peer} must join nodes "
                    f"from 0 to {nodes[-1]}, not {node}"
                )
        for name, (least, most) in _BOUNDS.items():
            value = getattr(link, name)
            if type(value) is not int or not least <= value <= most:
                words = name.capitalize().replace("_", " ")
                about = f"{words} of the link from node {link.node} to node {link.peer}"
                check_integer(about, value, least, most)
        for side, node, port in (
            ("Output", link.node, link.port),
            ("Input", link.peer, link.peer_port),
        ):
            other = used.get((side, node, port))
            if other is not None:
                raise InvalidValue(
                    f"{side} {port} of node {node} must have one link, not two: "
                    f"{other.node} to {other.peer} and {link.node} to {link.peer}"
                )
            used[side, node, port] = link
    homes, exit_homes = (
        check_several("Homes", each, "nodes") for each in (graph.homes, graph.exit_homes)
    )
    if len(homes) < 2:
        raise InvalidValue(f"Terminals must be at least 2, not {len(homes)}")
    check_limit("Terminals", len(homes), MOST_NODES)
    if len(exit_homes) != len(homes):
        raise InvalidValue(
            f"Terminals must have {len(homes)} nodes to leave at, not {len(exit_homes)}"
        )
    for each in (homes, exit_homes):
        for terminal, home in enumerate(each):
            if type(home) is not int:
                check_integer(f"Node of terminal {terminal}", home, 0)
            if home not in nodes:
                raise InvalidValue(
                    f"Terminal {terminal} must be at a node from 0 to {nodes[-1]}, not {home}"
                )
        for node, count in Counter(each).items():
            check_limit(f"Terminals of node {graph.name(node)}", count, most_terminals)
