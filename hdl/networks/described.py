# amaranth: UnusedElaboratable=no
"""Networks that are only described: routers look up their tables, and the routing can be chosen."""

from dataclasses import dataclass

from ..core.parameters import word
from ..routing.algorithms import ALGORITHMS, relation_for
from ..routing.relation import Relation
from ..topology.dragonfly import Dragonfly
from ..topology.express_mesh import ExpressMesh
from ..topology.fat_tree import FatTree
from ..topology.hyperx import HyperX
from ..topology.shift_graphs import DeBruijn, Kautz
from .family import Family
from .routed import RoutedNetwork, RouterParameters

__all__ = [
    "FAMILIES",
    "DeBruijnNetwork",
    "DescribedNetwork",
    "DescribedParameters",
    "DragonflyNetwork",
    "ExpressMeshNetwork",
    "FatTreeNetwork",
    "HyperXNetwork",
    "KautzNetwork",
]

_ROUTINGS = {"own": "the network's own"} | {name: about for name, (_, about) in ALGORITHMS.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribedParameters(RouterParameters):
    """The parameters of `DescribedNetwork`."""

    routing: str = word("own", "the network's own way for packets, or one for any graph", _ROUTINGS)


class DescribedNetwork(RoutedNetwork):
    """A network with the routing of its description, or with one that any graph can have.

    Its arguments are those of its `description` and of `DescribedParameters`; see `RoutedNetwork`.
    """

    parameters_type = DescribedParameters

    def _relation(self) -> Relation:
        described = super()._relation()
        routing = self.parameters.routing
        return described if routing == "own" else relation_for(described.graph, routing)


class FatTreeNetwork(DescribedNetwork):
    """A k-ary n-tree (`FatTree`)."""

    description = FatTree
    family = "fat-tree"


class HyperXNetwork(DescribedNetwork):
    """A HyperX or flattened butterfly (`HyperX`)."""

    description = HyperX
    family = "hyperx"


class DragonflyNetwork(DescribedNetwork):
    """A dragonfly (`Dragonfly`)."""

    description = Dragonfly
    family = "dragonfly"


class KautzNetwork(DescribedNetwork):
    """A Kautz graph (`Kautz`)."""

    description = Kautz
    family = "kautz"


class DeBruijnNetwork(DescribedNetwork):
    """A de Bruijn graph (`DeBruijn`)."""

    description = DeBruijn
    family = "de-bruijn"


class ExpressMeshNetwork(DescribedNetwork):
    """A mesh with express links (`ExpressMesh`)."""

    description = ExpressMesh
    family = "express-mesh"


FAMILIES = (
    Family(
        "fat-tree",
        "a k-ary n-tree: up by any link, and then down",
        FatTreeNetwork,
        example={"k": 2, "n": 3},
    ),
    Family(
        "hyperx",
        "nodes that are all linked in each of n dimensions; dimensions in order",
        HyperXNetwork,
        example={"k": 2, "n": 2},
        aliases=("flattened-butterfly",),
    ),
    Family(
        "dragonfly",
        "groups of a nodes, and a link between any two groups",
        DragonflyNetwork,
        example={"h": 1},
    ),
    Family("kautz", "a Kautz graph of degree d and diameter n; shortest paths", KautzNetwork),
    Family("de-bruijn", "a de Bruijn graph of d^n nodes; shortest paths", DeBruijnNetwork),
    Family(
        "express-mesh",
        "a mesh with express links over several nodes; dimensions in order",
        ExpressMeshNetwork,
        example={"k": 4, "interval": 3},
    ),
)
