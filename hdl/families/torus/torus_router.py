"""The gates of dimension-order routing in a torus or mesh."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Value

from ...graphs.graph import End
from ...switch.route import RouteLogic
from .torus_graph import Torus

__all__ = ["TorusLogic"]


@dataclass(frozen=True)
class TorusLogic(RouteLogic):
    """`Torus.route` in gates (`RouteLogic`). The position of a node is the code of its address.

    A header that came over a link has the digits of all higher dimensions correct, and goes on in
    the same direction, if at all in this dimension.

    Attributes
    ----------
    plan : Torus
    """

    plan: Torus

    @property
    def address(self) -> int:
        return self.plan.code.width

    def position(self, node: int) -> int:
        return self.plan.code.encode(node)

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        plan, bits = self.plan, self.plan.code.digit_bits
        first = len(plan.sizes) - 1 if came is None else plan.sides[came[0]][0]
        wanted: dict[End, Value] = {}
        # All digits of higher dimensions are correct.
        right: Value = Const(1)
        for dimension in reversed(range(first + 1)):
            there, at = tag.word_select(dimension, bits), here.word_select(dimension, bits)
            goes = right & (at != there)
            if came is None or dimension < first:
                ways, around = self._begins(dimension, at, there)
            else:
                ways, around = self._goes_on(came, at, there)
            for direction, takes in ways.items():
                port = plan.sides.index((dimension, direction))
                for number in range(int(plan.channels)):
                    lane: Value = Const(1)
                    if plan.lanes(True) != plan.lanes(False):
                        lane = around if number in plan.lanes(True) else ~around
                    wanted[port, number] = goes & takes & lane
            right &= at == there
        return {**wanted, (-1, 0): right}

    def _begins(self, dimension: int, here: Value, there: Value) -> tuple[dict[int, Value], Value]:
        """The direction in which a header begins a dimension, and whether it goes around."""
        around = self._around(dimension, here, there)
        if self.plan.ways(dimension) == 1:
            return {0: Const(1)}, around
        up = (there > here) ^ around
        return {0: up, 1: ~up}, around

    def _goes_on(self, came: End, here: Value, there: Value) -> tuple[dict[int, Value], Value]:
        """The direction in which a header goes on in its dimension, and whether it goes around."""
        dimension, way = self.plan.sides[came[0]]
        upward = there > here
        around = upward if way else ~upward
        # What does not go around from the start never does, nor what is behind that link.
        if came[1] in self.plan.lanes(False):
            around = Const(0)
        return {way: Const(1)} if self.plan.reach(dimension) > 1 else {}, around

    def _around(self, dimension: int, here: Value, there: Value) -> Value:
        """Whether the path from one position to another uses the wrap-around link."""
        plan, size, upward = self.plan, self.plan.sizes[dimension], there > here
        if not plan.wrap:
            return Const(0)
        if plan.ways(dimension) == 1:
            return ~upward
        apart = Mux(upward, there - here, here - there)
        if size % 2:
            return apart > size // 2
        return (apart > size // 2) | (apart == size // 2) & (upward == here[0])
