# amaranth: UnusedElaboratable=no
"""Networks of a user's own graph: from a file, from networkx, or described in Python."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..fabric.checks import shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.parameter_fields import Parameter, fixed, word
from ..graphs.conversion import from_networkx, is_networkx
from ..graphs.graph import Graph
from ..graphs.routing.relation import Relation
from ..networks.any_routing import AnyRoutingNetwork, AnyRoutingParameters
from ..networks.family import Family, Group

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["FAMILIES", "GraphNetwork", "GraphParameters"]

_FILE = Parameter(
    "its graph: JSON, GraphML, GML, GEXF, DOT, edges, anynet; petersen: ten nodes of 3 links",
    choices=("petersen", "given"),
    meanings={"petersen": "the Petersen graph", "given": "`graph`, in Python"},
    form="FILE",
)


@dataclass(frozen=True, eq=False)
class GraphParameters(AnyRoutingParameters):
    """The parameters of `GraphNetwork`.

    `graph` is a graph of networkx, a `Graph`, or a `Relation`, which has a routing of its own;
    `file` is then "given". `read` is a file and its graph as it was read once. A file or a graph of
    networkx that changes does not change the network, nor its copies in other processes.
    """

    graph: "Relation | Graph | nx.Graph | None" = word(
        None, "a graph as an object", (), objects=(object,), listed=False
    )
    file: str = field(default="petersen", metadata={"about": _FILE})
    read: tuple[str, Graph | Relation] | None = fixed(None, "a file, and what is in it")

    def __post_init__(self) -> None:
        if is_networkx(self.graph):
            self._resolve(graph=from_networkx(self.graph))
        if self.graph is not None:
            if not isinstance(self.graph, Relation | Graph):
                raise InvalidType(
                    f"Graph must be a graph or a routing relation, not {shown(self.graph)}"
                )
            self._resolve(file="given")
        elif isinstance(self.file, os.PathLike):
            self._resolve(file=os.fspath(self.file))
        super().__post_init__()
        if self.file in _FILE.choices:
            self._resolve(read=None)
        elif self.read is None or self.read[0] != self.file:
            from ..graphs.graph_file import read_graph

            self._resolve(read=(self.file, read_graph(self.file)))


class GraphNetwork(AnyRoutingNetwork):
    """A network of any graph, whose routers look up their tables.

    The graph is an object, or in a file (`graphs.graph_file`).

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl import GraphNetwork
    >>> GraphNetwork(networkx.cycle_graph(5)).ports
    5
    """

    parameters_type = GraphParameters
    family = "graph"

    def _relation(self) -> Relation:
        try:
            return super()._relation()
        except InvalidValue as error:
            if self.parameters.read is None:
                raise
            raise InvalidValue(f"File {self.parameters.file}: {error}") from None

    def _described(self) -> Graph | Relation:
        given = self.parameters
        if given.graph is not None:
            return given.graph
        if given.file == "given":
            raise InvalidValue("File must be named unless a graph is given in Python")
        if given.file == "petersen":
            from networkx import petersen_graph

            return from_networkx(petersen_graph())
        return given.read[1]


FAMILIES = (
    Family(
        "graph",
        "wormhole routers in a graph of one's own, from a file",
        GraphNetwork,
        Group.GRAPHS,
        papers=("schroeder", "skeie"),
    ),
)
