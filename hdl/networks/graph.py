# amaranth: UnusedElaboratable=no
"""Networks of a user's own graph: from a file, from networkx, or described in Python."""

from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from ..core.errors import InvalidValue
from ..core.parameters import Parameter, integer, word
from ..routing.algorithms import ALGORITHMS, relation_for
from ..routing.relation import Relation
from ..topology.conversion import from_networkx
from ..topology.graph import Graph, check_graph
from ..topology.graph_file import read_graph
from .family import Family
from .network import Readings, Window
from .routed import RoutedNetwork, RouterParameters

__all__ = ["FAMILIES", "GraphNetwork", "GraphParameters"]

_FILE = Parameter(
    "its graph (JSON, GraphML, or as BookSim2's anynet); petersen: ten nodes of three links",
    choices=("petersen", "given"),
    meanings={"petersen": "the Petersen graph", "given": "`graph`, in Python"},
    form="FILE",
)
_ROUTINGS = {name: about for name, (_, about) in ALGORITHMS.items()}


@dataclass(frozen=True, eq=False)
class GraphParameters(RouterParameters):
    """The parameters of `GraphNetwork`.

    `graph` is a graph of networkx, a `Graph`, or a `Relation`, which is its own routing; `file` is
    then "given". A `Relation` has `routing` "own".
    """

    graph: Relation | Graph | nx.Graph | None = word(
        None,
        "a graph as an object",
        (),
        objects=(Relation, Graph, nx.Graph, type(None)),
        listed=False,
    )
    file: str = field(default="petersen", metadata={"about": _FILE})
    routing: str = word(
        "up-down", "how packets go", {**_ROUTINGS, "own": "that of a `graph` with its own"}
    )
    channels: int | str = integer(
        "auto",
        "virtual channels of each link; auto: those of the graph, at least as many as needed",
        least=1,
        most=64,
        choices=("auto",),
    )

    def __post_init__(self) -> None:
        if self.graph is not None:
            own = isinstance(self.graph, Relation)
            self._resolve(file="given", routing="own" if own else self.routing)
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
        if isinstance(given.graph, Relation):
            if given.channels != "auto":
                raise InvalidValue(
                    f"Channels must be auto for a graph with its own routing, not {given.channels}"
                )
            check_graph(given.graph.graph)
            return given.graph
        if given.routing == "own":
            raise InvalidValue("Routing must not be own unless a graph with a routing is given")
        channels = None if given.channels == "auto" else given.channels
        relation = relation_for(self._graph(), given.routing, channels=channels)
        found = {link.channels for link in relation.graph.links()}
        if len(found) == 1:
            given._resolve(channels=found.pop())
        return relation

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """As in `Network`: the number of virtual layers, if the network has found it."""
        return {} if self.parameters.routing == "own" else {"layers": self.relation.layers}

    def _graph(self) -> Graph:
        given = self.parameters
        if isinstance(given.graph, nx.Graph):
            return from_networkx(given.graph)
        if given.graph is not None:
            return given.graph
        if given.file == "given":
            raise InvalidValue("File must be named unless a graph is given in Python")
        if given.file == "petersen":
            return from_networkx(nx.petersen_graph())
        return read_graph(given.file)


FAMILIES = (Family("graph", "wormhole routers in a graph of one's own, from a file", GraphNetwork),)
