"""The routing ring of the Lambda network (Siegel et al., VIII-D, Fig. 14)."""

from dataclasses import dataclass
from functools import cache, cached_property

from ...graphs.routing.sum_of_products import Product, minimal_sum

__all__ = ["RoutingRing", "routing_ring"]


@dataclass(frozen=True)
class RoutingRing:
    """The shortest ways round a ring of stages, past all those where a packet must change loops.

    A packet is at one stage of the ring, and its destination at another, *difference* steps ahead.
    Bit k of the *resultant* tells whether it must change loops at the stage k steps ahead: it is
    the loop resultant of the paper, turned so that the packet's own stage comes first. Bit 0, of
    its own stage, does not matter, since there it can change loops at once; nor does the one of its
    destination's stage.

    Attributes
    ----------
    stages : int
        m, at least 2.

    Examples
    --------
    In a ring of eight, the destination is one stage ahead, but the packet must change loops one
    stage behind it, and so goes back first:

    >>> ring = RoutingRing(8)
    >>> ring.distance(1, 0b10000000), ring.shortest(1, 0b10000000), ring.backward(1, 0b10000000)
    (3, (False, True), True)
    >>> len(ring.logic), max(product.literals for product in ring.logic)
    (11, 4)
    """

    stages: int

    def turned(self, resultant: int, steps: int) -> int:
        """A resultant as it is so many stages ahead; or behind, if they are negative."""
        steps %= self.stages
        return (resultant >> steps | resultant << self.stages - steps) & (1 << self.stages) - 1

    def step(self, difference: int, resultant: int, *, backward: bool) -> tuple[int, int]:
        """Difference and resultant after one step. The packet changes loops, if it must, before it,
        and again where it comes."""
        steps = -1 if backward else 1
        return (difference - steps) % self.stages, self.turned(resultant & ~1, steps) & ~1

    def distance(self, difference: int, resultant: int) -> int:
        """Steps on the shortest way."""
        return self._distances[self._needed(difference, resultant)]

    @property
    def diameter(self) -> int:
        """Steps on the longest of the shortest ways."""
        return max(self._distances.values())

    def shortest(self, difference: int, resultant: int) -> tuple[bool, bool]:
        """Whether a shortest way begins forward, and whether one begins backward."""
        left = self.distance(difference, resultant)
        forward, backward = (
            self.distance(*self.step(difference, resultant, backward=way)) < left
            for way in (False, True)
        )
        return forward, backward

    def backward(self, difference: int, resultant: int) -> bool:
        """The direction that packets take, which is a shortest one: the value of `logic`."""
        return self.rows[self.row(difference, resultant)]

    def row(self, difference: int, resultant: int) -> int:
        """The number of a row of the table."""
        return difference << self.stages | resultant

    @cached_property
    def rows(self) -> tuple[bool, ...]:
        """The routing table: for each difference and resultant, whether a packet goes backward.

        It has m 2^m rows: twice the number of nodes.
        """
        return tuple(
            any(product.holds(self.inputs(difference, resultant)) for product in self.logic)
            for difference in range(self.stages)
            for resultant in range(1 << self.stages)
        )

    @property
    def difference_bits(self) -> int:
        """Bits of a difference."""
        return (self.stages - 1).bit_length()

    def inputs(self, difference: int, resultant: int) -> int:
        """The inputs of `logic`: the difference, and above it the resultant without bit 0."""
        return difference | resultant >> 1 << self.difference_bits

    @cached_property
    def logic(self) -> tuple[Product, ...]:
        """The minimal sum of products that is 1 if a packet goes backward.

        Where both directions are equally short, it may have any value.
        """
        values = {}
        for difference in range(self.stages):
            for resultant in range(0, 1 << self.stages, 2):
                forward, backward = self.shortest(difference, resultant)
                if forward != backward:
                    values[self.inputs(difference, resultant)] = backward
        return minimal_sum(self.difference_bits + self.stages - 1, values)

    def _needed(self, difference: int, resultant: int) -> tuple[int, int]:
        """What matters of them."""
        return difference, resultant & ~(1 | 1 << difference)

    @cached_property
    def _distances(self) -> dict[tuple[int, int], int]:
        """By breadth-first search from the destination, where any stages may have been passed."""
        found = {(0, 0): 0}
        waiting = [(0, 0)]
        for state in waiting:
            difference, resultant = state
            for steps in (1, -1):
                # One step back from here, where the loop was changed or not.
                after = (difference + steps) % self.stages
                for changed in (0, 1):
                    before = self._needed(after, self.turned(resultant | changed, -steps))
                    if before not in found:
                        found[before] = found[state] + 1
                        waiting.append(before)
        return found


@cache
def routing_ring(stages: int) -> RoutingRing:
    """The routing ring of so many stages, with what has been computed of it."""
    return RoutingRing(stages)
