"""Steps of a shared memory: hash functions, placement, and cycles worked out by hand."""

import random
from collections import Counter
from statistics import fmean

import numpy as np
import pytest
from multicube.hdl import CombiningNetwork
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.operations.memory import find_operation
from multicube.sim.papers import Options, find_item
from multicube.sim.papers.siegel.shared_memory_step import PATTERNS, placed, run_steps
from multicube.sim.workload.hashing import PRIME, PolynomialHash, random_hash


def test_hash_is_the_polynomial() -> None:
    rng = random.Random(1)
    for _ in range(100):
        coefficients = tuple(rng.randrange(PRIME) for _ in range(rng.randrange(1, 8)))
        modules, address = rng.randrange(1, 100), rng.randrange(PRIME)
        value = sum(c * address**power for power, c in enumerate(coefficients)) % PRIME % modules
        assert PolynomialHash(coefficients, modules)(address) == value


def test_modules_of_two_addresses_are_independent() -> None:
    """Over all functions with two coefficients; sampled, with seed 1."""
    generator = np.random.default_rng(1)
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(8000):
        function = random_hash(4, 1, generator)
        pairs[function(0), function(4)] += 1
    # 16 pairs, 500 each: chi-squared with 15 degrees of freedom is above 37.7 in 0.1 % of cases.
    assert len(pairs) == 16
    assert sum((count - 500) ** 2 / 500 for count in pairs.values()) < 37.7


@pytest.mark.parametrize(("modules", "degree"), [(0, 1), (4, -1)])
def test_hash_rejects(modules: int, degree: int) -> None:
    with pytest.raises(InvalidValue, match=r"^(Modules|Degree) must be "):
        random_hash(modules, degree, np.random.default_rng(1))


def test_placement() -> None:
    by_two = PolynomialHash((0, 1), 2)
    found = placed([4, 4, 6, 1, 4], by_two)
    # 4 and 6 are in module 0, rows 0 and 1, and 1 is in module 1.
    assert found.words == [0, 0, 2, 1, 0]
    assert (found.fullest, found.fullest_different) == (4, 2)
    generator = np.random.default_rng(2)
    for pattern, (addresses, _) in PATTERNS.items():
        asked = addresses(64, generator)
        function = random_hash(64, 6, generator)
        words = placed(asked, function).words
        assert len(asked) == 64
        assert len(set(zip(asked, words))) == len(set(asked)) == len(set(words)), pattern
        assert [word % 64 for word in words] == [function(address) for address in asked]


def test_patterns() -> None:
    generator = np.random.default_rng(3)
    drawn = {pattern: addresses(1024, generator) for pattern, (addresses, _) in PATTERNS.items()}
    assert drawn["different"] == [1024 * processor for processor in range(1024)]
    assert drawn["one"] == [0] * 1024
    assert set(drawn["random"]) <= set(range(1024))
    assert 600 < len(set(drawn["random"])) < 700  # 1024 (1 - 1/e) = 647
    assert 90 < drawn["hot spot"].count(0) < 170  # 1024 / 8 = 128


@pytest.mark.long
def test_steps_take_the_cycles_of_one_request_after_the_other() -> None:
    """2 n + 1 cycles for one word with combining, and 2 n + N without or for words of a module."""
    ports, load = 8, (find_operation("load"),)
    same, module, away = [0] * ports, [ports * row for row in range(ports)], list(range(ports))
    for combine, expected in (("all", [7, 14, 7]), ("none", [14, 14, 7])):
        network = CombiningNetwork(ports, combine=combine, operations=load)
        run = run_steps(network, [same, module, away])
        assert run.cycles == expected
        assert run.combined == (7 / 24 if combine == "all" else 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_growth(seed: int) -> None:
    """Order log N with hashing and combining; order N for one address without."""
    item = find_item("siegel-shared-memory")
    table = item.to_json(item.run(Options(quick=True, seed=seed)))["rows"]
    assert len(table) == 2 * len(PATTERNS) * 3
    for row in table:
        n = row["ports"].bit_length() - 1
        assert row["measured"] >= 2 * n + 1
        if row["pattern"] == "one":
            exact = 2 * n + (1 if row["combine"] == "all" else row["ports"])
            assert row["measured"] == row["most"] == exact
        elif row["combine"] == "all" or row["pattern"] in ("different", "random"):
            assert row["measured"] < 4 * n
        # The fullest module answers one request in a cycle.
        assert row["measured"] >= 2 * n + row["fullest"]
    hot = {(r["combine"], r["ports"]): r["measured"] for r in table if r["pattern"] == "hot spot"}
    assert hot["all", 64] < hot["none", 64]
    assert fmean(row["combined"] for row in table if row["combine"] == "none") == 0
