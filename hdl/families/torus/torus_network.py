# amaranth: UnusedElaboratable=no
"""Tori, meshes and rings of wormhole routers."""

from dataclasses import dataclass
from typing import Any

from ...fabric.parameter_fields import integer
from ...networks.family import Family, Group
from ...networks.routed import RoutedNetwork
from .torus_graph import Torus
from .torus_router import TorusLogic

__all__ = ["FAMILIES", "RingNetwork", "RingParameters", "TorusNetwork"]


class TorusNetwork(RoutedNetwork):
    """A torus, mesh or ring of k^n nodes: a terminal and a wormhole router each.

    Dimensions are crossed in order, the highest first, each in the shorter direction (`Torus`). A
    packet over h links passes h + 1 routers. An unblocked packet of c flits takes h D_t + c cycles,
    from the cycle in which its header is offered to the cycle in which its tail is taken: equation
    (3) of Ould-Khaoua and Sotudeh. Under uniform traffic, in which a packet may be for its own
    terminal, the mean h is n k / 4 in a torus with even k, n (k - 1/k) / 4 with odd k,
    n (k - 1/k) / 3 in a mesh, and n (k - 1) / 2 in a unidirectional ring.

    With two channels per link packets can't deadlock, provided that the terminals accept what
    arrives (`graphs.routing.deadlock`); a mesh needs only one. At the edge of a mesh a node's link
    leads back to the node itself, and is not used.

    A queue of depth 1 has half the throughput.

    Examples
    --------
    >>> from multicube.hdl import TorusNetwork
    >>> network = TorusNetwork(8, 2)
    >>> network.ports, network.relation.diameter
    (64, 8)
    """

    description = Torus
    routing: Torus

    def _set_up(self) -> None:
        super()._set_up()
        plan = self.routing
        self.family = "mesh" if not plan.wrap else "torus" if plan.directions == 2 else "ring"
        self.isolates = set(plan.sizes) == {2}  # It is then a hypercube.

    def _logic(self) -> TorusLogic:
        return TorusLogic(self.routing)

    @property
    def sphere(self) -> int:
        """Eight nodes of a row, as in the paper's figures; the row if its size is no multiple of
        8."""
        size = self.routing.sizes[0]
        return 8 if size % 8 == 0 else size


_TorusParameters: Any = TorusNetwork.parameters_type


@dataclass(frozen=True, eq=False)
class RingParameters(_TorusParameters):
    """The parameters of `RingNetwork`."""

    directions: int = integer(1, "directions of the links: 1 or 2", least=1, most=2, plain=1)


class RingNetwork(TorusNetwork):
    """A torus whose links lead in one direction, unless `directions` is 2; with n = 1, a ring."""

    parameters_type = RingParameters

    def _set_up(self) -> None:
        super()._set_up()
        self.family = "ring"


FAMILIES = (
    Family(
        "torus",
        "wormhole routers in n rings each, with links in both directions; dimensions in order",
        TorusNetwork,
        Group.TORI,
        example={"k": 3},
        aliases=("hypertorus", "nearest-neighbor"),
    ),
    Family(
        "mesh",
        "a torus without wrap-around links",
        TorusNetwork,
        Group.TORI,
        {"wrap": False},
        {"k": 3},
    ),
    Family(
        "ring",
        "a torus of one-way rings (n=1: a single ring); directions=2: two-way",
        RingNetwork,
        Group.TORI,
        example={"k": 3},
    ),
)
