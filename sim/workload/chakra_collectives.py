"""Collective operations as messages: each by one algorithm, on the ranks of a group in a ring."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["COLLECTIVES", "Transfer"]


@dataclass(frozen=True)
class Transfer:
    """A message of a collective operation.

    Attributes
    ----------
    source, destination : int
        Ranks.
    size : int
        Bytes.
    after : tuple[int, ...]
        Places of the transfers that it waits for. If there are none, its rank must have begun.
    """

    source: int
    destination: int
    size: int
    after: tuple[int, ...] = ()


def _ring(ranks: Sequence[int], size: int, steps: int) -> list[Transfer]:
    """In each step all ranks send to the next one; in the next step, what they received."""
    count = len(ranks)
    found = []
    for step in range(steps):
        for place, rank in enumerate(ranks):
            before = (step - 1) * count
            after = (before + (place - 1) % count, before + place) if step else ()
            found.append(Transfer(rank, ranks[(place + 1) % count], size, after))
    return found


def _all_reduce(ranks: Sequence[int], size: int) -> list[Transfer]:
    return _ring(ranks, -(-size // len(ranks)), 2 * (len(ranks) - 1))


def _reduce_scatter(ranks: Sequence[int], size: int) -> list[Transfer]:
    return _ring(ranks, -(-size // len(ranks)), len(ranks) - 1)


def _all_gather(ranks: Sequence[int], size: int) -> list[Transfer]:
    return _ring(ranks, size, len(ranks) - 1)


def _barrier(ranks: Sequence[int], size: int) -> list[Transfer]:
    return _ring(ranks, 0, 2 * (len(ranks) - 1))


def _all_to_all(ranks: Sequence[int], size: int) -> list[Transfer]:
    """Each sends to the next one, the one after it, and so on, without waiting."""
    count = len(ranks)
    return [
        Transfer(rank, ranks[(place + step) % count], -(-size // count))
        for step in range(1, count)
        for place, rank in enumerate(ranks)
    ]


COLLECTIVES: dict[int, tuple[str, Callable[[Sequence[int], int], list[Transfer]] | None]] = {
    0: ("ALL_REDUCE", _all_reduce),
    1: ("REDUCE", None),
    2: ("ALL_GATHER", _all_gather),
    3: ("GATHER", None),
    4: ("SCATTER", None),
    5: ("BROADCAST", None),
    6: ("ALL_TO_ALL", _all_to_all),
    7: ("REDUCE_SCATTER", _reduce_scatter),
    8: ("REDUCE_SCATTER_BLOCK", _reduce_scatter),
    9: ("BARRIER", _barrier),
}
"""By the number in Chakra's schema: the name, and the algorithm. None has one that needs a root,
which the schema does not name."""
