"""The permutation that needs most communication steps in a graph, of those that a search tries."""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.permutations import (
    bit_reversal,
    complement,
    cyclic_shift,
    perfect_shuffle,
    random_permutation,
    transpose,
)
from ...hdl.graphs.schedules.communication_steps import Transfer
from ...hdl.graphs.schedules.permutation_steps import StepBound, StepRouter
from .assignment import best_permutation

__all__ = ["RoutedPermutation", "candidates", "hardest_permutation", "route"]

_TRIES = 16
"""Tries of a schedule that counts."""


@dataclass(frozen=True)
class RoutedPermutation:
    """A permutation, and the shortest schedule found for it.

    Attributes
    ----------
    name : str
    destinations : list[int]
    schedule : list[list[Transfer]]
    bound : StepBound
        No schedule is shorter.
    """

    name: str
    destinations: list[int]
    schedule: list[list[Transfer]]
    bound: StepBound

    @property
    def steps(self) -> int:
        return len(self.schedule)


def route(
    router: StepRouter, name: str, destinations: list[int], *, seed: int = 1
) -> RoutedPermutation:
    """A permutation with the best schedule of a number of tries."""
    schedule = router.schedule(destinations, tries=_TRIES, seed=seed)
    return RoutedPermutation(name, destinations, schedule, router.bound(destinations))


def candidates(
    router: StepRouter, side: Collection[int], *, seed: int = 1
) -> Iterator[tuple[str, list[int]]]:
    """Permutations that are likely to be hard, by name.

    These are those of `graphs.permutations` that fit the number of nodes, random ones, and

    - farthest: no other has a greater sum of distances (an assignment problem);
    - halves: all nodes of `side` trade places with all others, as the paper argues (section 5.3),
      so that the sum of distances is greatest. If the others are more, some of them stay on their
      side.
    """
    nodes = router.nodes
    for name, function in (
        ("complement", complement),
        ("bit-reversal", bit_reversal),
        ("transpose", transpose),
        ("shuffle", perfect_shuffle),
        ("shift-half", lambda ports: cyclic_shift(ports, ports // 2)),
    ):
        try:
            yield name, [int(to) for to in function(nodes)]
        except InvalidValue:
            continue
    for number in range(3):
        yield f"random-{seed + number}", random_permutation(nodes, seed + number)
    distances = np.array(router.distances).T
    yield "farthest", best_permutation(distances)
    inside = np.zeros(nodes, bool)
    inside[list(side)] = True
    crossing = inside[:, None] != inside[None, :]
    yield "halves", best_permutation(distances + nodes * crossing)


def hardest_permutation(
    router: StepRouter, side: Collection[int], *, changes: int = 100, seed: int = 1
) -> RoutedPermutation:
    """The permutation whose best schedule is the longest of all that are tried.

    First all `candidates`; then so many times, two destinations of the hardest one are exchanged,
    which is kept if its schedule does not become shorter. As schedules are found by heuristics, it
    is not proved that it is the hardest, nor that it needs so many steps; `bound` says how many it
    needs at least.

    Parameters
    ----------
    router : StepRouter
    side : Collection[int]
        One half of the nodes, by a small cut.
    changes : int
    seed : int
    """
    routed = [route(router, *each, seed=seed) for each in candidates(router, side, seed=seed)]
    best = max(routed, key=lambda one: (one.steps, one.bound.steps))
    random_ = random.Random(seed)
    current, name = best.destinations, f"{best.name}, changed"
    for _ in range(changes):
        one, other = random_.sample(range(router.nodes), 2)
        changed = list(current)
        changed[one], changed[other] = changed[other], changed[one]
        # A quick look first: most changes make it shorter.
        if len(router.schedule(changed, tries=2, seed=seed)) < best.steps:
            continue
        found = route(router, name, changed, seed=seed)
        if found.steps >= best.steps:
            current = changed
        if found.steps > best.steps:
            best = found
    return best
