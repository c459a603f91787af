"""The routing of a relation, with tags that hold the destination whatever the source is."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..graph import Channel, Graph, Turn
from ..tags import TagScheme, address_tags
from .relation import Relation

__all__ = ["Addressed"]


@dataclass(frozen=True)
class Addressed(Relation):
    """Leads packets as another relation does, whose tags are relative to the source.

    Routers that look up their tables need this, and those that compare what packets are for.

    Attributes
    ----------
    own : Relation
        The other one. Its headers carry the terminal only.

    Examples
    --------
    >>> from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
    >>> cube = RoutedHypercube(3)
    >>> cube.tags.tag(5, 6), Addressed(cube).tags.tag(5, 6)
    (3, 6)
    >>> Addressed(cube).path(5, 6) == cube.path(5, 6)
    True
    """

    own: Relation

    @property
    def graph(self) -> Graph:
        return self.own.graph

    @property
    def tags(self) -> TagScheme:
        return address_tags(self.own.tags.code)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterable[Channel]:
        return self.own.route(node, came, destination)

    def is_escape(self, channel: Channel) -> bool:
        return self.own.is_escape(channel)

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """As that of the other one."""
        return self.own.ordered

    @property
    def looks_back(self) -> bool:  # type: ignore[override]
        """As that of the other one."""
        return self.own.looks_back

    @property
    def diameter(self) -> int:
        return self.own.diameter

    def turns(self) -> Mapping[int, Collection[Turn]]:
        return self.own.turns()

    def deadlock(self) -> Sequence[Channel] | None:
        return self.own.deadlock()
