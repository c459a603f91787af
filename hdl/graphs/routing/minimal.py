"""All shortest paths in any graph, without regard to deadlock."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from math import lcm

from ...fabric.errors import InvalidValue
from ..graph import Channel, End, Graph, Link, Turn
from .relation import Relation

__all__ = ["Minimal"]


class Minimal(Relation):
    """Packets may take any shortest path, over any channel of its links.

    Nothing keeps worms from waiting for each other in a cycle: see `Adaptive` for that. It is for
    trees and other graphs in which they can't; or for stored and forwarded packets, if the queues
    never become full.

    Parameters
    ----------
    graph : Graph

    Raises
    ------
    ValueError
        If there is no way between two terminals.
    """

    ordered = False
    looks_back = False

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        for node in sorted(set(graph.homes)):
            for terminal, home in enumerate(graph.exit_homes):
                if graph.distances[home][node] == graph.nodes:
                    raise InvalidValue(
                        f"There is no way from node {graph.name(node)} to terminal {terminal}"
                    )
        self._lanes = lcm(*(link.channels for link in graph.links()))

    @property
    def graph(self) -> Graph:
        return self._graph

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        away = self._graph.distances[self._graph.exit_homes[destination]]
        for channel in self._graph.leaving(node):
            if away[self._graph.link_of(channel).peer] < away[node]:
                yield channel

    def weight(self, channel: Channel, destination: int) -> int:
        """As in `Relation`: the number of shortest paths that begin with its link, shared out among
        the channels of the link."""
        link = self._graph.link_of(channel)
        paths = self._graph.path_counts[self._graph.exit_homes[destination]][link.peer]
        return paths * self._lanes // link.channels

    # What other relations find by following every header follows from distances here.

    def steps(
        self, header: int, starts: Iterable[int] | None = None
    ) -> Iterator[tuple[int, Channel | None, list[Channel]]]:
        if starts is not None:
            yield from super().steps(header, starts)
            return
        end = 1 << header
        nexts: list[list[Channel]] = [[] for _ in range(self._graph.nodes)]
        for link, ends in self._shorter.items():
            if ends & end:
                nexts[link.node] += self._channels[link]
        for node, own in enumerate(self._graph.terminals):
            if own:
                yield node, None, nexts[node]
        for link, ends in self._carried.items():
            if ends & end:
                for channel in self._channels[link]:
                    yield link.peer, channel, nexts[link.peer]

    @cached_property
    def _channels(self) -> dict[Link, list[Channel]]:
        """The channels of each link, links by node and port."""
        return {link: link.each_channel() for link in sorted(self._graph.links())}

    @property
    def diameter(self) -> int:
        graph = self._graph
        return max(graph.distances[end][node] for end in graph.exit_homes for node in graph.homes)

    def turns(self) -> Mapping[int, Collection[Turn]]:
        return self._turns

    def carries(self, channel: Channel) -> bool:
        return bool(self._carried[self._graph.link_of(channel)])

    @cached_property
    def _shorter(self) -> dict[Link, int]:
        """For each link, the terminals to which it is on a shortest path, one bit each."""
        graph = self._graph
        ends = [(1 << end, graph.distances[home]) for end, home in enumerate(graph.exit_homes)]
        return {
            link: sum(bit for bit, away in ends if away[link.peer] < away[link.node])
            for link in self._channels
        }

    @cached_property
    def _carried(self) -> dict[Link, int]:
        """For each link, the terminals whose packets take it, one bit each."""
        graph, shorter = self._graph, self._shorter
        leaving: list[list[Link]] = [[] for _ in range(graph.nodes)]
        for link in shorter:
            leaving[link.node].append(link)
        # Packets for all terminals start where terminals are.
        at = [(1 << self.ports) - 1 if own else 0 for own in graph.terminals]
        waiting = [node for node, terminals in enumerate(at) if terminals]
        while waiting:
            node = waiting.pop()
            for link in leaving[node]:
                come = at[node] & shorter[link]
                if come & ~at[link.peer]:
                    at[link.peer] |= come
                    waiting.append(link.peer)
        return {link: at[link.node] & ends for link, ends in shorter.items()}

    @cached_property
    def _turns(self) -> dict[int, set[Turn]]:
        graph = self._graph
        everyone = (1 << self.ports) - 1
        inputs: list[list[tuple[End | None, int]]] = [
            [(None, everyone)] if own else [] for own in graph.terminals
        ]
        outputs: list[list[tuple[End | None, int]]] = [
            [(None, sum(1 << end for end in own))] for own in graph.exit_terminals
        ]
        for link, ends in self._carried.items():
            for number in range(link.channels):
                inputs[link.peer].append(((link.peer_port, number), ends))
                outputs[link.node].append(((link.port, number), self._shorter[link]))
        return {
            node: {Turn(i, o) for i, come in inputs[node] for o, go in outputs[node] if come & go}
            for node in range(graph.nodes)
        }
