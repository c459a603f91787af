"""Permutations in several passes: each passes, together they are it, and they are few."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from long_runs import long
from multicube.hdl.graphs.permutations import (
    Permutation,
    bit_reversal,
    complement,
    cyclic_shift,
    delta_shift,
    identity,
    lambda_map,
    perfect_shuffle,
    segment_bit_reversal,
    segment_shuffle,
)
from multicube.hdl.graphs.plans.multistage import MultistagePlan, Stage
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.graphs.schedules import decomposition as module
from multicube.hdl.graphs.schedules.decomposition import decompose, direct_passes
from multicube.hdl.graphs.schedules.passes import passable

SIZES = [
    *((4, 2), (16, 2), (32, 2), (64, 2)),
    *((16, 4), (64, 4), (64, 8), (9, 3), (27, 3), (81, 3)),
]

every_plan = pytest.mark.parametrize("name", PLANS)


def conflicts(plan: MultistagePlan, destinations: Permutation) -> int:
    """Links that more than one packet wants, counted on the paths."""
    used = Counter(
        (hop.stage, hop.box, hop.output)
        for source, destination in enumerate(destinations)
        if destination is not None
        for hop in plan.path(source, destination)
    )
    return sum(count > 1 for count in used.values())


def check(plan: MultistagePlan, destinations: Permutation) -> int:
    """Follow every packet through the passes; their number."""
    passes = decompose(plan, destinations)
    assert not any(conflicts(plan, one) for one in passes)
    for source, destination in enumerate(destinations):
        at: int | None = source
        for one in passes:
            at = None if at is None else one[at]
        assert at == destination
    active = sum(to is not None for to in destinations)
    assert all(sum(to is not None for to in one) == active for one in passes)
    return len(passes)


@pytest.mark.long
@pytest.mark.parametrize("name", [n if n in ("cube", "flip") else long(n) for n in PLANS])
def test_every_permutation_of_eight_needs_two_passes_at_most(name: str) -> None:
    """Without the library: 4,096 pass at once, and all others are products of two of these."""
    plan = multistage_plan(name, 8)
    rows = np.array([p for p in itertools.permutations(range(8)) if passable(plan, p)])
    weights = 8 ** np.arange(8)
    reached = np.zeros(8**8, bool)
    for first in rows:
        reached[rows[:, first] @ weights] = True
    assert (len(rows), reached.sum()) == (4096, 40320)


@pytest.mark.long
@pytest.mark.parametrize("name", [long(n) if n == "cube" else n for n in PLANS])
def test_passes_of_every_permutation_of_eight(name: str) -> None:
    """The library finds these passes: for all permutations on the cube, else for a tenth."""
    plan = multistage_plan(name, 8)
    needed = Counter(
        len(decompose(plan, destinations))
        for destinations in itertools.islice(
            itertools.permutations(range(8)), 0, None, 1 if name == "cube" else 10
        )
    )
    assert set(needed) == {1, 2}
    if name == "cube":
        assert needed == {1: 4096, 2: 36224}


@every_plan
def test_passes_are_passable_and_make_the_permutation(name: str) -> None:
    generator = random.Random(9)
    print("seed 9")
    plan = multistage_plan(name, 8)
    assert {check(plan, generator.sample(range(8), 8)) for _ in range(100)} == {1, 2}


@pytest.mark.one_in(4)
@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_any_permutation_in_three_passes(
    name: str, ports: int, radix: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the looping algorithm, which needs neither search nor luck."""
    monkeypatch.setattr(module, "SEARCHED", 0)
    generator = random.Random(ports)
    print(f"seed {ports}")
    plan = multistage_plan(name, ports, radix)
    # Baseline twice is a Benes network; so is a butterfly of two stages, which is wired alike.
    alike = name == "baseline" or (name == "butterfly" and len(plan.stages) == 2)
    for _ in range(4):
        destinations = generator.sample(range(ports), ports)
        if not passable(plan, destinations) and ports > 4:
            assert check(plan, destinations) == (2 if alike else 3)


@every_plan
def test_middle_pass_is_always_the_same(name: str) -> None:
    generator = random.Random(5)
    print("seed 5")
    plan = multistage_plan(name, 64)
    passes = [decompose(plan, generator.sample(range(64), 64)) for _ in range(5)]
    between = {tuple(map(tuple, found[1:-1])) for found in passes}
    assert len(between) == 1


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("name", "ports"), [*((name, 16) for name in PLANS), ("cube", 32)])
def test_search_finds_two_passes(name: str, ports: int) -> None:
    generator = random.Random(ports)
    print(f"seed {ports}")
    plan = multistage_plan(name, ports)
    assert {check(plan, generator.sample(range(ports), ports)) for _ in range(10)} == {2}


def test_search_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIALS", 10)
    plan = multistage_plan("cube", 16)
    destinations = [1, 0, 3, 2, *range(4, 14), 15, 14]
    destinations[3], destinations[9], destinations[12] = 12, 2, 9
    assert not passable(plan, destinations)
    assert check(plan, destinations) == 3


@pytest.mark.one_in(4)
@every_plan
@pytest.mark.parametrize(("ports", "radix"), [(16, 2), (128, 2), (64, 4), (64, 8), (16, 16)])
def test_linear_permutations_in_two_passes(name: str, ports: int, radix: int) -> None:
    """Every bit of the output an exclusive or of input bits, any bits complemented."""
    generator = random.Random(ports)
    print(f"seed {ports}")
    plan = multistage_plan(name, ports, radix)
    bits = ports.bit_length() - 1
    tried = 0
    while tried < 10:
        columns = [generator.randrange(ports) for _ in range(bits)]
        offset = generator.randrange(ports)
        destinations = [offset] * ports
        for x, bit in itertools.product(range(ports), range(bits)):
            if x >> bit & 1:
                destinations[x] ^= columns[bit]
        if len(set(destinations)) == ports:
            assert check(plan, destinations) <= 2
            tried += 1


@pytest.mark.parametrize("ports", [2, 4, 8, 16, 64])
def test_passes_of_the_papers_permutations(ports: int) -> None:
    """Section V, on the Generalized Cube."""
    plan = multistage_plan("cube", ports)
    n = ports.bit_length() - 1
    once = [identity(ports), complement(ports)]
    once += [cyclic_shift(ports, k) for k in (1, -1, ports // 2, ports // 3)]
    once += [lambda_map(ports, j, k) for j in (1, 3, ports - 1) for k in (0, 1, 5)]
    once += [delta_shift(ports, j, k) for j in range(n + 1) for k in (1, -1, 3)]
    for destinations in once:
        assert check(plan, destinations) == 1
        assert direct_passes(plan, destinations) == [destinations]
    for j in range(1, n + 1):
        # Segments of two are left as they are.
        expected = 1 if j == 1 else 2
        for destinations in (segment_shuffle(ports, j), segment_bit_reversal(ports, j)):
            assert check(plan, destinations) == expected
    assert segment_shuffle(ports, n) == perfect_shuffle(ports)
    assert segment_bit_reversal(ports, n) == bit_reversal(ports)


@pytest.mark.parametrize("ports", [4, 8, 16, 64, 256])
def test_direct_passes_of_shuffles(ports: int) -> None:
    """The paper's method: of each segment, first the half 0x..x and then the half 1x..x."""
    plan = multistage_plan("cube", ports)
    for j in range(2, ports.bit_length()):
        shuffle = segment_shuffle(ports, j)
        top = [x >> j - 1 & 1 for x in range(ports)]
        assert direct_passes(plan, shuffle) == [
            [to if bit == half else None for to, bit in zip(shuffle, top)] for half in (0, 1)
        ]


@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_direct_passes_are_passable_and_complete(name: str, ports: int, radix: int) -> None:
    generator = random.Random(ports)
    print(f"seed {ports}")
    plan = multistage_plan(name, ports, radix)
    destinations: list[int | None] = generator.sample(range(ports), ports)
    destinations[ports // 2] = None
    passes = direct_passes(plan, destinations)
    assert not any(conflicts(plan, one) for one in passes)
    for source, destination in enumerate(destinations):
        sent = [one[source] for one in passes if one[source] is not None]
        assert sent == ([] if destination is None else [destination])
    # A packet goes in the first pass that has room for it.
    for earlier, later in itertools.combinations(passes, 2):
        for source, destination in enumerate(later):
            if destination is not None:
                assert conflicts(
                    plan, [*earlier[:source], destination, *[None] * (ports - source - 1)]
                )


@every_plan
def test_silent_inputs_stay_silent(name: str) -> None:
    generator = random.Random(3)
    print("seed 3")
    for ports in (8, 64):
        plan = multistage_plan(name, ports)
        assert decompose(plan, [None] * ports) == [[None] * ports]
        assert direct_passes(plan, [None] * ports) == []
        for silent in (1, 3, ports // 2):
            destinations: list[int | None] = generator.sample(range(ports), ports)
            for x in generator.sample(range(ports), silent):
                destinations[x] = None
            assert check(plan, destinations) <= 3


def test_decompose_refuses_other_plans() -> None:
    # Digits in an order that no network of the catalogue has.
    stages = tuple(Stage((0, 1, 2), digit) for digit in (1, 0, 2))
    order = MultistagePlan("own", (3, 3, 3), stages, (2, 1, 0))
    destinations = [1, 0, *range(3, 27), 2]
    message = "No general method to pass a permutation is known for own"
    with pytest.raises(ValueError, match=f"^{message}$"):
        decompose(order, destinations)


@pytest.mark.long
@every_plan
def test_large_permutation(name: str) -> None:
    generator = random.Random(4096)
    print("seed 4096")
    assert check(multistage_plan(name, 4096), generator.sample(range(4096), 4096)) in (2, 3)
