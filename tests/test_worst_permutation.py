"""The permutation that loads a link most, against all permutations, and break-even points."""

from itertools import permutations

import numpy as np
import pytest
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim.measure.break_even import break_even
from multicube.sim.measure.worst_permutation import link_uses, most_loaded_link, worst_permutation


@pytest.mark.parametrize("words", ["hypercube n=3 routing=ecube", "psnn n=3", "ring k=6 n=1"])
def test_no_permutation_loads_a_link_more(words: str) -> None:
    uses = link_uses(build(words).relation)
    found = worst_permutation(uses)
    ports = len(found)
    assert sorted(found) == list(range(ports))
    # All permutations of six or eight terminals, one after another.
    rows = np.arange(ports)
    every = np.array(list(permutations(range(ports))))
    most = max(int(use[rows, every].sum(axis=1).max()) for use in uses)
    assert most_loaded_link(uses, found) == most


def test_hypercube() -> None:
    """E-cube, n even: as many as sqrt(N) / 2 paths of a permutation share a link."""
    uses = link_uses(build("hypercube n=6 routing=ecube").relation)
    assert len(uses) == 6 * 64
    assert uses.sum() == 64 * 32 * 6
    assert most_loaded_link(uses, worst_permutation(uses)) >= 4


def test_a_choice_of_paths_is_refused() -> None:
    with pytest.raises(InvalidValue, match="Packets must have no choice of paths"):
        link_uses(build("hypercube n=3 routing=adaptive").relation)


@pytest.mark.parametrize(
    ("ratios", "size"),
    [
        ([4, 2, 1 / 2, 1 / 4], 32),
        ([4, 1, 1 / 2, 1 / 4], 16),
        ([1 / 2, 2, 1 / 2, 1 / 4], 32),
        ([2, 1 / 4, 1 / 8, 1 / 8], 8 * 2 ** (1 / 3)),
        ([1 / 2, 1 / 2, 1 / 2, 1 / 2], 8),
        ([1 / 2, 1 / 2, 1 / 2, 1], None),
    ],
)
def test_break_even(ratios: list[float], size: float | None) -> None:
    """The ratio stays below 1 from there on, not only once."""
    assert break_even([8, 16, 64, 128], ratios) == (size if size is None else pytest.approx(size))
