"""Classes of messages: the routing of one class, on virtual channels of each class's own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from ..altered_graph import ChanneledGraph
from ..graph import Channel, End, Graph, Turn
from ..tags import TagScheme
from .relation import Relation

__all__ = ["Classed", "ClassedGraph", "class_of"]


def class_of(end: End, classes: int) -> int:
    """The class of messages that uses a port and channel of a node.

    >>> class_of((0, 5), 2), class_of((-3, 0), 2)
    (1, 0)
    """
    port, number = end
    return (number if port >= 0 else -1 - port) % classes


class ClassedGraph(ChanneledGraph):
    """A graph with so many times the channels of each link, and endpoints of each terminal.

    Channel c of a link becomes channels c * classes + k, for each class k; and terminal t becomes
    the endpoints t * classes + k.

    Parameters
    ----------
    graph : Graph
    classes : int
    """

    def __init__(self, graph: Graph, classes: int) -> None:
        super().__init__(graph, 1)
        self._links = [link._replace(channels=link.channels * classes) for link in graph.links()]
        self._own_homes, self._own_exits = (
            [home for home in homes for _ in range(classes)]
            for homes in (graph.homes, graph.exit_homes)
        )

    @property
    def homes(self) -> Sequence[int]:
        return self._own_homes

    @property
    def exit_homes(self) -> Sequence[int]:
        return self._own_exits


class Classed(Relation):
    """The routing of one class of messages, for several that share no channel.

    Each terminal has an endpoint of each class, which sends to endpoints of its class only: the
    class is the lowest digit of an endpoint's number. A packet is in the class of its destination,
    and only takes channels of this class. So no class ever waits for another one, unless terminals
    make it so (`graphs.routing.replying`).

    Parameters
    ----------
    base : Relation
    classes : int

    Examples
    --------
    >>> from multicube.hdl.families.torus.torus_graph import Torus
    >>> two = Classed(Torus(k=4, n=1), 2)
    >>> [(channel.node, channel.number) for channel in two.path(1, 5)]
    [(0, 1), (1, 1), (2, 0)]
    """

    def __init__(self, base: Relation, classes: int) -> None:
        self.base, self.classes = base, classes
        self._graph = ClassedGraph(base.graph, classes)
        self.ordered, self.looks_back = base.ordered, base.looks_back
        self.deadlock_free, self.equal_choices = base.deadlock_free, base.equal_choices
        self.layers = base.layers

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def choice(self) -> bool:
        return self.base.choice

    def route(self, node: int, came: Channel | None, destination: int) -> Iterable[Channel]:
        terminal, own = divmod(destination, self.classes)
        before = None if came is None else self._inner(came)
        return [self._outer(each, own) for each in self.base.route(node, before, terminal)]

    def is_escape(self, channel: Channel) -> bool:
        return self.base.is_escape(self._inner(channel))

    def weight(self, channel: Channel, destination: int) -> int:
        return self.base.weight(self._inner(channel), destination // self.classes)

    def carries(self, channel: Channel) -> bool:
        return self.base.carries(self._inner(channel))

    @cached_property
    def tags(self) -> TagScheme:
        """The tag of the base, and below it the class."""
        return self.base.tags.with_classes(self.classes)

    def turns(self) -> Mapping[int, Sequence[Turn]]:
        """As in `Relation`; a terminal stands for all its endpoints."""
        return {node: self._all(own) for node, own in self.base.turns().items()}

    def _all(self, turns: Iterable[Turn]) -> list[Turn]:
        def outer(end: End | None, own: int) -> End | None:
            return None if end is None else (end[0], end[1] * self.classes + own)

        return [
            Turn(*(outer(end, own) for end in turn))
            for turn in turns
            for own in range(self.classes)
        ]

    @property
    def diameter(self) -> int:
        return self.base.diameter

    def deadlock(self) -> Sequence[Channel] | None:
        """A cycle of one class, which is the same in all."""
        cycle = self.base.deadlock()
        return None if cycle is None else [self._outer(each, 0) for each in cycle]

    def _inner(self, channel: Channel) -> Channel:
        return channel._replace(number=channel.number // self.classes)

    def _outer(self, channel: Channel, own: int) -> Channel:
        return channel._replace(number=channel.number * self.classes + own)
