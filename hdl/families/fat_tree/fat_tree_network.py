# amaranth: UnusedElaboratable=no
"""Fat trees of wormhole routers, which find the way by digits of the destination."""

from ...networks.any_routing import AnyRoutingNetwork
from ...networks.family import Family, Group
from .fat_tree_graph import FatTree
from .fat_tree_router import FatTreeLogic

__all__ = ["FAMILIES", "FatTreeNetwork"]


class FatTreeNetwork(AnyRoutingNetwork):
    """A k-ary n-tree: up by any link, and then down (`FatTree`).

    Its own routing is in gates; with another one routers look up their tables.

    Examples
    --------
    >>> from multicube.hdl import FatTreeNetwork
    >>> FatTreeNetwork(k=4, n=3).ports
    64
    """

    description = FatTree
    family = "fat-tree"

    def _logic(self) -> FatTreeLogic | None:
        return FatTreeLogic(self.routing) if isinstance(self.routing, FatTree) else None


FAMILIES = (
    Family(
        "fat-tree",
        "a k-ary n-tree: up by any link, and then down",
        FatTreeNetwork,
        Group.LARGE,
        example={"k": 2, "n": 3},
        papers=("petrini",),
    ),
)
