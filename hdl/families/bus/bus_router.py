"""The gates of the routing of a bus."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Const, Module, Value

from ...graphs.graph import End
from ...switch.route import RouteLogic
from .bus_graph import Bus

__all__ = ["BusLogic"]


@dataclass(frozen=True)
class BusLogic(RouteLogic):
    """`Bus.route` in gates (`RouteLogic`): each receiver compares the tag with its number.

    Attributes
    ----------
    plan : Bus
    """

    plan: Bus

    address = 0

    def position(self, node: int) -> int:
        """Not needed: the input determines the node."""
        return 0

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        if came is None:
            return {(0, 0): Const(1)}
        return {(-1 - t, 0): tag == t for t in range(self.plan.ports)}
