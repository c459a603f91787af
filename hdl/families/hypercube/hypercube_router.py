"""The gates of the routing algorithms of hypercubes."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from ...graphs.graph import End
from ...primitives.round_robin import lowest
from ...switch.route import RouteLogic
from .hypercube_graph import RoutedHypercube

__all__ = ["HypercubeLogic"]


@dataclass(frozen=True)
class HypercubeLogic(RouteLogic):
    """`RoutedHypercube.route` in gates (`RouteLogic`). The position of a node is its number.

    With "ecube" the tag is the relative address, source ^ destination, and nodes need no position:
    dimensions are crossed in order, so the input of a header says which bits of the tag are done.
    With the other algorithms the dimensions left are the difference of the tag, which is the
    destination, from the node's position.

    Attributes
    ----------
    plan : RoutedHypercube
    """

    plan: RoutedHypercube

    @property
    def address(self) -> int:
        return 0 if self.plan.routing == "ecube" else self.plan.n

    @property
    def quick(self) -> bool:
        return self.plan.routing == "ecube"

    def position(self, node: int) -> int:
        return node

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        n, routing = self.plan.n, self.plan.routing
        left = tag
        if routing != "ecube":
            left = Signal(n, name=f"left_{name}")
            m.d.comb += left.eq(tag ^ here)
        # What has been crossed, because of the order.
        done = came[0] + 1 if came is not None and self.plan.in_order(came[1]) else 0
        left = left[done:]
        arrived: dict[End, Value] = {(-1, 0): ~left.any()}
        if routing == "pcube":
            down = left & here
            first = Mux(down.any(), down, left)
        else:
            first = lowest(left)
        escapes = {(i, 0): bit for i, bit in zip(range(done, n), first)}
        if routing != "adaptive":
            return arrived | escapes
        return arrived | escapes | {(i, 1): bit for i, bit in zip(range(done, n), left)}
