# amaranth: UnusedElaboratable=no
"""Networks of any graph with a routing relation, given as an object."""

from dataclasses import dataclass

from ..core.checks import check_kind
from ..core.parameters import word
from ..routing.relation import Relation
from ..topology.graph import check_graph
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
        relation = self.parameters.graph
        check_kind("Graph", relation, Relation, "a routing relation")
        check_graph(relation.graph)
        return relation
