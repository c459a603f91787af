# amaranth: UnusedElaboratable=no
"""BIRRD: its words against a model made from the published wiring, and its hardware against it."""

import random
from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import Any

import pytest
from driving import exercise
from multicube.hdl import BirrdNetwork, BirrdPlan
from multicube.hdl.operations.folds import Fold
from refusals import refusals

PASS, RIGHT, LEFT, SWAP = range(4)
Sums = tuple[frozenset[int], ...]


def reverse_bits(number: int, count: int) -> int:
    """The lowest bits the other way round, bit by bit."""
    found = number >> count << count
    for bit in range(count):
        found |= (number >> bit & 1) << (count - 1 - bit)
    return found


def model(word: Sequence[Sequence[int]], values: Sequence[Any], merge: Callable) -> list[Any]:
    """Tong et al.: stages of pairs, and the bit reversals between them."""
    n = len(values).bit_length() - 1
    for stage, states in enumerate(word):
        after: list[Any] = [None] * len(values)
        for box, state in enumerate(states):
            a, b = values[2 * box], values[2 * box + 1]
            pair = {PASS: (a, b), SWAP: (b, a)}.get(state)
            if pair is None:
                pair = (merge(a, b), b) if state == LEFT else (a, merge(a, b))
            for port in range(2):
                line = 2 * box + port
                if stage < len(word) - 1:
                    line = reverse_bits(line, min(n, 2 + stage, 2 * n - stage))
                after[line] = pair[port]
        values = after
    return list(values)


def sums(destinations: Sequence[int | None]) -> dict[int, list[int]]:
    """The inputs of each output that is a destination."""
    found: dict[int, list[int]] = {}
    for source, to in enumerate(destinations):
        if to is not None:
            found.setdefault(to, []).append(source)
    return found


def check(destinations: Sequence[int | None]) -> None:
    """Each sum has each of its inputs once: sorted tuples, joined."""
    ports = len(destinations)
    word = BirrdPlan(ports).compiled(destinations)
    assert [len(states) for states in word] == [ports // 2] * BirrdPlan(ports).stages
    shown = model(word, [(line,) for line in range(ports)], lambda a, b: tuple(sorted(a + b)))
    for to, sources in sums(destinations).items():
        assert shown[to] == tuple(sources)


@pytest.mark.parametrize("ports", [4, 8, 32])
def test_the_plan_is_the_published_one(ports: int) -> None:
    draw, plan = random.Random(ports), BirrdPlan(ports)
    assert plan.stages == {4: 3, 8: 6, 32: 10}[ports]
    for _ in range(10):
        word = [[draw.randrange(4) for _ in range(ports // 2)] for _ in range(plan.stages)]
        values = [draw.randrange(100) for _ in range(ports)]
        assert plan.performed(values, word) == model(word, values, lambda a, b: a + b)


def test_four_lines_can_do_all() -> None:
    for destinations in product([None, *range(4)], repeat=4):
        check(destinations)


def test_eight_lines_pass_permutations() -> None:
    draw = random.Random(8)
    for _ in range(60):
        check(draw.sample(range(8), 8))


@pytest.mark.long
def test_eight_lines_pass_every_permutation() -> None:
    for destinations in permutations(range(8)):
        check(destinations)


@pytest.mark.parametrize("ports", [8, 16, 32])
def test_sums_of_neighbours_in_any_order(ports: int) -> None:
    """Dot products of a row of processing elements, each to any output."""
    draw = random.Random(ports)
    for size in (2, 4, ports // 2, ports):
        outputs = draw.sample(range(ports), ports // size)
        check([outputs[line // size] for line in range(ports)])


@pytest.mark.long
def test_what_is_refused_is_impossible() -> None:
    """Of five values, in all 8^5 ways through the middle: links that two sums, or two parts of one
    that go on apart, would share."""
    wanted = {0: 0, 1: 4, 4: 4, 5: 1, 7: 5}
    given = [wanted.get(source) for source in range(8)]
    with pytest.raises(ValueError, match=r"^Destinations must be such that paths are apart"):
        BirrdPlan(8).compiled(given)

    def ways(source: int) -> list[tuple[tuple[int, int], ...]]:
        found = []
        for turns in product(range(2), repeat=6):
            line, links = source, []
            for stage, turn in enumerate(turns):
                line = line & ~1 | turn
                links.append((stage, line))
                if stage < 5:
                    line = reverse_bits(line, min(3, 2 + stage, 6 - stage))
            if line == wanted[source]:
                found.append(tuple(links))
        assert len(found) == 8
        return found

    def apart(one: Sequence[tuple], other: Sequence[tuple], together: bool) -> bool:
        shared = set(one) & set(other)
        if not together:
            return not shared
        first = min((stage for stage, _ in shared), default=6)
        return one[first:] == other[first:]

    chosen: list[list[Any]] = [[]]
    for source, to in wanted.items():
        before = [wanted[each] for each in wanted if each < source]
        chosen = [
            [*paths, way]
            for paths in chosen
            for way in ways(source)
            if all(apart(path, way, its == to) for path, its in zip(paths, before))
        ]
    assert not chosen


@pytest.mark.parametrize(("ports", "fold"), [(8, "add"), (4, "max")])
def test_hardware(ports: int, fold: str) -> None:
    """Rows and words that change in every cycle, with gaps; each row as many cycles later as there
    are stages."""
    network, draw = BirrdNetwork(ports, shape=8, fold=fold), random.Random(ports)
    stages, merge = network.plan.stages, Fold(fold, 8).perform
    given: list[list[int] | None] = []
    shown: list[list[int] | None] = []

    async def bench(ctx: Any) -> None:
        for _ in range(30 + stages):
            word = [[draw.randrange(4) for _ in range(ports // 2)] for _ in range(stages)]
            values = [draw.randrange(256) for _ in range(ports)]
            offered = draw.random() < 0.7
            ctx.set(network.i_valid, offered)
            for line, value in enumerate(values):
                ctx.set(network.i[line], value)
            for stage, box in product(range(stages), range(ports // 2)):
                ctx.set(network.word[stage][box].as_value(), word[stage][box])
            valid = ctx.get(network.o_valid)
            row = [ctx.get(network.o[line]) for line in range(ports)]
            shown.append(row if valid else None)
            given.append(model(word, values, merge) if offered else None)
            await ctx.tick()

    exercise(network, bench)
    assert shown == [None] * stages + given[:-stages]
    assert sum(row is not None for row in shown) > 15


test_plan_refuses = refusals(
    BirrdPlan,
    (2, "Ports must be from 4 to 256, not 2"),
    (12, "Ports must be a power of two, not 12"),
    (512, "Ports must be from 4 to 256, not 512"),
    ("8", TypeError, "Ports must be an integer, not '8'"),
)
test_compiler_refuses = refusals(
    BirrdPlan(4).compiled,
    ([0, 1], "Destinations must be 4, not 2"),
    ([0, 1, 2, 4], "Destination must be from 0 to 3, not 4"),
    (3, TypeError, "Destinations must be ..., not 3"),
    ([0, 1, 2, "a"], TypeError, "Destination must be an integer, not 'a'"),
)
