# amaranth: UnusedElaboratable=no
"""Networks of a user's own graph: from a file, from networkx, or described in Python."""

from dataclasses import dataclass, field

import networkx as nx

from ..core.errors import InvalidValue
from ..core.parameters import Parameter, word
from ..routing.algorithms import ALGORITHMS, relation_for
from ..routing.relation import Relation
from ..topology.conversion import from_networkx
from ..topology.graph import Graph
from ..topology.graph_file import read_graph
from .family import Family
from .routed import RoutedNetwork, RouterParameters

__all__ = ["FAMILIES", "GraphNetwork", "GraphParameters"]

_FILE = Parameter(
    "its graph (JSON, GraphML, or as BookSim2's anynet); petersen: ten nodes of three links",
    choices=("petersen", "given"),
    meanings={"petersen": "the Petersen graph", "given": "`graph`, in Python"},
    form="FILE",
)
_ROUTINGS = {
    "auto": "own, if the graph has one; else up-down",
    "own": "that of a `graph` in Python that has one",
} | {name: about for name, (_, about) in ALGORITHMS.items()}


@dataclass(frozen=True, eq=False)
class GraphParameters(RouterParameters):
    """The parameters of `GraphNetwork`.

    `graph` is a graph of networkx, a `Graph`, or a `Relation`, which has a routing of its own;
    `file` is then "given".
    """

    graph: Relation | Graph | nx.Graph | None = word(
        None,
        "a graph as an object",
        (),
        objects=(Relation, Graph, nx.Graph, type(None)),
        listed=False,
    )
    file: str = field(default="petersen", metadata={"about": _FILE})
    routing: str = word("auto", "how packets go; auto: own, else up-down", _ROUTINGS)

    def __post_init__(self) -> None:
        if self.graph is not None:
            self._resolve(file="given")
        if self.routing == "auto":
            self._resolve(routing="own" if isinstance(self.graph, Relation) else "up-down")
        super().__post_init__()


class GraphNetwork(RoutedNetwork):
    """A network of any graph. Routers look up their tables.

    Its arguments are those of `GraphParameters`; see `RoutedNetwork`. The graph is an object, or
    in a file (`topology.graph_file`).
    """

    parameters_type = GraphParameters
    family = "graph"

    def _relation(self) -> Relation:
        given = self.parameters
        if given.routing != "own":
            return relation_for(self._graph(), given.routing)
        if not isinstance(given.graph, Relation):
            raise InvalidValue("Routing must not be own unless a graph with a routing is given")
        return given.graph

    def _graph(self) -> Graph:
        given = self.parameters
        if isinstance(given.graph, nx.Graph):
            return from_networkx(given.graph)
        if isinstance(given.graph, Relation):
            return given.graph.graph
        if given.graph is not None:
            return given.graph
        if given.file == "given":
            raise InvalidValue("File must be named unless a graph is given in Python")
        if given.file == "petersen":
            return from_networkx(nx.petersen_graph())
        return read_graph(given.file)


FAMILIES = (Family("graph", "wormhole routers in a graph of one's own, from a file", GraphNetwork),)
