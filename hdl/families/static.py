# amaranth: UnusedElaboratable=no
"""The static networks of Ginosar and Egozi (1989), and the fat tree of Stanfill's survey (1987).

Rings, tori and hypermeshes are in `networks.torus`, and the hypercube is in `networks.hypercube`.
"""

from ..graphs.graph import Graph
from ..graphs.routing.relation import Relation
from ..networks.any_routing import AnyRoutingNetwork
from ..networks.family import Family
from .chordal_ring_graph import ChordalRing
from .chordal_ring_routing import RoutedChordalRing
from .complete_graph import Complete
from .leiserson_fat_tree_graph import LeisersonFatTree
from .perfect_shuffle_graph import ShuffleExchange, ShuffleNearestNeighbor
from .star_graph import Star
from .tree_graph import Tree

__all__ = [
    "FAMILIES",
    "ChordalRingNetwork",
    "CompleteNetwork",
    "LeisersonFatTreeNetwork",
    "ShuffleExchangeNetwork",
    "ShuffleNearestNeighborNetwork",
    "StarNetwork",
    "TreeNetwork",
]


class CompleteNetwork(AnyRoutingNetwork):
    """A completely connected network (`Complete`)."""

    description = Complete
    family = "complete"


class StarNetwork(AnyRoutingNetwork):
    """A star (`Star`)."""

    description = Star
    family = "star"


class TreeNetwork(AnyRoutingNetwork):
    """A tree of processors (`Tree`)."""

    description = Tree
    family = "tree"


class ChordalRingNetwork(AnyRoutingNetwork):
    """A chordal ring (`ChordalRing`).

    With two chords at a node it has a routing of its own (`RoutedChordalRing`).
    """

    description = ChordalRing
    family = "chordal-ring"

    def _described(self) -> Graph | Relation:
        ring = super()._described()
        if isinstance(ring, ChordalRing) and ring.chords == 2:
            return RoutedChordalRing(ring.nodes, ring.chords, ring.chord)
        return ring


class ShuffleNearestNeighborNetwork(AnyRoutingNetwork):
    """A perfect shuffle with nearest neighbours (`ShuffleNearestNeighbor`)."""

    description = ShuffleNearestNeighbor
    family = "psnn"


class ShuffleExchangeNetwork(AnyRoutingNetwork):
    """A perfect shuffle with exchange links (`ShuffleExchange`)."""

    description = ShuffleExchange
    family = "pse"


class LeisersonFatTreeNetwork(AnyRoutingNetwork):
    """A tree of switches with parallel links (`LeisersonFatTree`)."""

    description = LeisersonFatTree
    family = "leiserson-fat-tree"


FAMILIES = (
    Family(
        "complete",
        "a link between any two nodes",
        CompleteNetwork,
        example={"nodes": 4},
        aliases=("completely-connected", "ccn"),
    ),
    Family(
        "star", "a node in the centre that all others are linked to", StarNetwork, {}, {"nodes": 5}
    ),
    Family("tree", "nodes in a tree, each with a terminal", TreeNetwork, {}, {"nodes": 7}),
    Family(
        "chordal-ring",
        "a two-way ring with one chord at each node, or with chords=2",
        ChordalRingNetwork,
        example={"nodes": 8},
    ),
    Family(
        "psnn",
        "perfect shuffle nearest neighbor: two-way shuffle links, and a two-way ring",
        ShuffleNearestNeighborNetwork,
        example={"n": 3},
        aliases=("shuffle-nearest-neighbor",),
    ),
    Family(
        "pse",
        "perfect shuffle exchange: two-way shuffle links, and those of the last bit",
        ShuffleExchangeNetwork,
        example={"n": 3},
        aliases=("shuffle-exchange",),
    ),
    Family(
        "leiserson-fat-tree",
        "a tree of switches, with more parallel links at higher levels",
        LeisersonFatTreeNetwork,
        example={"levels": 3},
    ),
)
