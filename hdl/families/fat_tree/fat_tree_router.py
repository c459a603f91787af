"""The gates of routing in a fat tree."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ...graphs.graph import End
from ...switch.route import RouteLogic
from .fat_tree_graph import FatTree

__all__ = ["FatTreeLogic"]


@dataclass(frozen=True)
class FatTreeLogic(RouteLogic):
    """`FatTree.route` in gates (`RouteLogic`).

    The position of a switch is the code of its number in its level, and above it a bit for each
    digit of the number that tells whether packets go up where it differs from the destination's:
    those from the digit of its level on.

    Attributes
    ----------
    plan : FatTree
    """

    plan: FatTree

    @property
    def address(self) -> int:
        return (self.plan.n - 1) * (self.plan.tags.code.digit_bits + 1)

    def position(self, node: int) -> int:
        plan = self.plan
        level, number = divmod(node, plan.width)
        digits = plan.tags.code.split(number)[:-1]
        below = (1 << level) - 1
        bits = plan.tags.code.digit_bits
        code = sum(digit << bits * place for place, digit in enumerate(digits))
        return code | (((1 << plan.n - 1) - 1) & ~below) << bits * (plan.n - 1)

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """As in `RouteLogic`."""
        plan, bits = self.plan, self.plan.tags.code.digit_bits
        counts = here[bits * (plan.n - 1) :]
        goes_up: Value = Const(0)
        for place in range(plan.n - 1):
            differs = here.word_select(place, bits) != tag.word_select(place + 1, bits)
            goes_up |= counts[place] & differs
        # The first digit that counts is that of the level.
        wanted: Value = Const(0, bits)
        for level, first in enumerate(Cat(counts, 1) & ~Cat(0, counts)):
            wanted |= tag.word_select(level, bits) & first.replicate(bits)
        up, digit = Signal(name=f"up_{name}"), Signal(bits, name=f"digit_{name}")
        m.d.comb += [up.eq(goes_up), digit.eq(wanted)]
        found: dict[End, Value] = {}
        for port in range(plan.k):
            named = digit == port
            found[port, 0] = found[-1 - port, 0] = ~up & named
            found[plan.k + port, 0] = up if plan.ascent == "any" else up & named
        return found
