# amaranth: UnusedElaboratable=no
"""Networks that need no more than their description: routers look up their tables."""

from ..networks.any_routing import AnyRoutingNetwork
from ..networks.family import Family
from .cube_connected_cycles_graph import CubeConnectedCycles
from .de_bruijn_kautz_graph import DeBruijn, Kautz
from .dragonfly_graph import Dragonfly
from .express_mesh_graph import ExpressMesh
from .fat_tree_graph import FatTree
from .hyperx_graph import HyperX

__all__ = [
    "FAMILIES",
    "CubeConnectedCyclesNetwork",
    "DeBruijnNetwork",
    "DragonflyNetwork",
    "ExpressMeshNetwork",
    "FatTreeNetwork",
    "HyperXNetwork",
    "KautzNetwork",
]


class FatTreeNetwork(AnyRoutingNetwork):
    """A k-ary n-tree (`FatTree`)."""

    description = FatTree
    family = "fat-tree"


class HyperXNetwork(AnyRoutingNetwork):
    """A HyperX or flattened butterfly (`HyperX`)."""

    description = HyperX
    family = "hyperx"


class DragonflyNetwork(AnyRoutingNetwork):
    """A dragonfly (`Dragonfly`)."""

    description = Dragonfly
    family = "dragonfly"


class KautzNetwork(AnyRoutingNetwork):
    """A Kautz graph (`Kautz`)."""

    description = Kautz
    family = "kautz"


class DeBruijnNetwork(AnyRoutingNetwork):
    """A de Bruijn graph (`DeBruijn`)."""

    description = DeBruijn
    family = "de-bruijn"


class ExpressMeshNetwork(AnyRoutingNetwork):
    """A mesh with express links (`ExpressMesh`)."""

    description = ExpressMesh
    family = "express-mesh"


class CubeConnectedCyclesNetwork(AnyRoutingNetwork):
    """Cube-connected cycles (`CubeConnectedCycles`)."""

    description = CubeConnectedCycles
    family = "cube-connected-cycles"


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
    Family(
        "cube-connected-cycles",
        "a hypercube with a ring of n nodes at each corner; shortest paths in layers",
        CubeConnectedCyclesNetwork,
        example={"dimension": 2},
        aliases=("ccc",),
    ),
)
