"""Routing by way of an intermediate terminal (Valiant, 1982), in any graph."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from ...fabric.errors import InvalidValue
from ..altered_graph import ChanneledGraph
from ..graph import Channel, Graph, Turn
from .layered import Layered
from .relation import Detour, Relation
from .trees import TreeRelation

__all__ = ["TwoPhases", "Ugal", "Valiant"]


class TwoPhases(Relation):
    """Packets go to an intermediate terminal's node in a first phase, and on in a second.

    A header has the number via * ports + destination. The channels of the two phases must differ,
    so that a header's last channel tells its phase. Where a packet enters the node of its
    intermediate terminal, it goes on as if it entered the network there; so one whose intermediate
    terminal is at the node of its source goes directly. If neither phase can deadlock, nor can they
    together: nothing in the second phase waits for the first.

    Parameters
    ----------
    first, second : Relation
        Without a choice, and over the same graph.
    """

    ordered = False
    choice = False
    phases: tuple[Relation, Relation]

    def __init__(self, first: Relation, second: Relation) -> None:
        graph = first.graph
        for terminal, (home, last) in enumerate(zip(graph.homes, graph.exit_homes)):
            if home != last:
                raise InvalidValue(
                    f"Packets can't go by way of terminal {terminal}: they leave at node "
                    f"{graph.name(last)} and enter at node {graph.name(home)}"
                )
        self.phases = (first, second)
        self._first_channels = {
            channel
            for link in first.graph.links()
            for channel in link.each_channel()
            if first.carries(channel)
        }

    @property
    def graph(self) -> Graph:
        return self.phases[1].graph

    def headers(self, destination: int) -> Sequence[int]:
        return range(destination, self.ports * self.ports, self.ports)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterable[Channel]:
        first, second = self.phases
        via, terminal = divmod(destination, self.ports)
        if came is None or came in self._first_channels:
            if channels := list(first.route(node, came, via)):
                return channels
            came = None
        return second.route(node, came, terminal)

    def path(self, source: int, destination: int) -> list[Channel]:
        """As in `Relation`, for a packet that goes directly."""
        return self.phases[1].path(source, destination)

    @cached_property
    def _turns(self) -> dict[int, set[Turn]]:
        first, second = (phase.turns() for phase in self.phases)
        found = {}
        for node in range(self.graph.nodes):
            ends = [turn.input for turn in first[node] if turn.output is None]
            starts = [turn.output for turn in second[node] if turn.input is None]
            found[node] = {turn for turn in first[node] if turn.output is not None}
            found[node] |= set(second[node])
            found[node] |= {Turn(end, start) for end in ends for start in starts}
        return found

    def turns(self) -> Mapping[int, set[Turn]]:
        return self._turns

    def carries(self, channel: Channel) -> bool:
        return any(phase.carries(channel) for phase in self.phases)

    @cached_property
    def diameter(self) -> int:
        """Links on the longest path that a packet takes."""
        first, second = (phase.lengths for phase in self.phases)
        terminals = range(self.ports)
        return max(max(row[via] for row in first) + max(second[via]) for via in terminals)

    def deadlock(self) -> Sequence[Channel] | None:
        first, second = self.phases
        return first.deadlock() or second.deadlock()


class _InLayers(TreeRelation):
    """A layered routing, moved to higher layers of more."""

    def __init__(self, base: Layered, graph: Graph, layers: int, lowest: int) -> None:
        super().__init__(graph, base.trees, layers)
        self._base, self._lowest = base, lowest

    deadlock_free = True

    def first_layer(self, node: int, destination: int) -> int:
        return self._lowest + self._base.first_layer(node, destination)


class Valiant(TwoPhases):
    """Shortest paths to a random intermediate terminal, and from there to the destination.

    So any traffic loads the links as two times uniform traffic does (Valiant and Brebner, 1981).
    Each phase has layers of its own, as `Layered` finds them.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    layers : int
        Of both phases together.
    """

    deadlock_free = True
    detour: ClassVar[Detour] = "random"

    def __init__(self, graph: Graph) -> None:
        base = Layered(graph)
        self.layers = 2 * base.layers
        wide = ChanneledGraph(graph, self.layers)
        super().__init__(
            *(_InLayers(base, wide, self.layers, lowest) for lowest in (0, base.layers))
        )


class Ugal(Valiant):
    """Directly, or as `Valiant`: whichever the source expects to take less time (UGAL: Singh,
    2005).

    The estimate is the product of the number of links and the number of flits in the queues behind
    the first of them. A packet that goes directly is in the layers of the second phase.
    """

    detour = "least-delay"
