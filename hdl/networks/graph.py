# amaranth: UnusedElaboratable=no
"""Networks of any graph with a routing relation, given as an object."""

from dataclasses import dataclass

from ..core.parameters import word
from ..routing.relation import Relation
from .routed import RoutedNetwork, RouterParameters

__all__ = ["GraphNetwork", "GraphParameters"]


@dataclass(frozen=True, eq=False)
class GraphParameters(RouterParameters):
    """The parameters of `GraphNetwork`."""

    graph: Relation = word(None, "a routing relation, with its graph", (), objects=(Relation,))


class GraphNetwork(RoutedNetwork):
    """A network of any graph and routing relation. Routers look up their tables.

    Its arguments are those of `GraphParameters`; see `RoutedNetwork`.
    """

    parameters_type = GraphParameters
    family = "graph"

    def _relation(self) -> Relation:
        return self.parameters.graph
