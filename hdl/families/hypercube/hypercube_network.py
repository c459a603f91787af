# amaranth: UnusedElaboratable=no
"""Hypercubes of wormhole routers."""

from ...networks.family import Family, Group
from ...networks.routed import RoutedNetwork
from .hypercube_graph import RoutedHypercube
from .hypercube_router import HypercubeLogic

__all__ = ["FAMILIES", "HypercubeNetwork"]


class HypercubeNetwork(RoutedNetwork):
    """A hypercube of 2^n nodes, with a terminal and a wormhole router each.

    A packet for a terminal whose address differs from the source in h bits crosses h links and
    passes h + 1 routers. An unblocked packet of c flits takes h + c cycles, from the cycle in which
    its header is offered to the cycle in which its tail is taken. Under uniform traffic, in which a
    packet may be for its own terminal, h is n / 2 on average.

    No routing algorithm here can deadlock, provided that the terminals accept what arrives
    (`hypercube_routing`).

    Only "ecube" keeps the order of packets. A queue of depth 1 has half the throughput.

    Examples
    --------
    >>> from multicube.hdl import HypercubeNetwork
    >>> HypercubeNetwork(4).link_counts
    LinkCounts(total=64, bisection=16)
    """

    description = RoutedHypercube
    routing: RoutedHypercube
    family = "hypercube"
    isolates = True  # Shortest paths visit only members of subnetworks that contain both ends.

    def _logic(self) -> HypercubeLogic:
        return HypercubeLogic(self.routing)


FAMILIES = (
    Family(
        "hypercube",
        "wormhole routers in n dimensions; routing=ecube (dimensions in order), pcube or adaptive",
        HypercubeNetwork,
        Group.HYPERCUBES,
        example={"n": 3},
    ),
)
