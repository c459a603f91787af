"""The sets of terminals that can be a subnetwork, and the ways to divide all terminals so."""

import itertools
import math
from collections.abc import Iterator, Sequence

BLOCKS = {
    2: [{0}, {1}, {0, 1}],
    3: [{0}, {1}, {2}, {0, 1, 2}],
    4: [*({j} for j in range(4)), {0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2, 3}],
    5: [*({j} for j in range(5)), set(range(5))],
    6: [*({j} for j in range(6)), {0, 1}, {2, 3}, {4, 5}, {0, 2, 4}, {1, 3, 5}, set(range(6))],
}
"""For each radix the sets of digits that a mask can leave: they agree in bits, and divide all
digits evenly."""


def legal_sets(radices: Sequence[int]) -> set[tuple[int, ...]]:
    weights = [math.prod(radices[:j]) for j in range(len(radices))]
    return {
        tuple(
            sorted(
                sum(d * weight for d, weight in zip(digits, weights))
                for digits in itertools.product(*blocks)
            )
        )
        for blocks in itertools.product(*(BLOCKS[radix] for radix in radices))
    }


def tilings(ports: int, sets: set[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to divide all terminals into these sets."""

    def cover(free: frozenset[int]) -> Iterator[list[tuple[int, ...]]]:
        if not free:
            yield []
            return
        for members in sets:
            if members[0] == min(free) and free.issuperset(members):
                for others in cover(free - set(members)):
                    yield [members, *others]

    return cover(frozenset(range(ports)))
