# amaranth: UnusedElaboratable=no
"""Operations, and what becomes of two, for all values of narrow words."""

import itertools
from collections.abc import Callable
from operator import call
from typing import Any

import pytest
from driving import evaluate
from multicube.hdl.operations.combining_rules import POLICIES, Policy, Rules
from multicube.hdl.operations.memory import OPERATIONS, Operation, find_operation
from multicube.hdl.operations.operation_unit import Combiner, OperationUnit
from refusals import refusals

XOR = Operation("fetch-and-xor", lambda x, e: x ^ e)
EXTENDED = (*OPERATIONS, XOR)
NAMES = [operation.name for operation in OPERATIONS]


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >= 1 << (width - 1) else value


# What each operation is, once more, without the library.
MEANINGS: dict[str, Callable[[int, int, int], int]] = {
    "load": lambda x, e, w: x,
    "store": lambda x, e, w: e,
    "fetch-and-store": lambda x, e, w: e,
    "fetch-and-add": lambda x, e, w: (x + e) % (1 << w),
    "fetch-and-min": lambda x, e, w: x if signed(x, w) < signed(e, w) else e,
    "fetch-and-max": lambda x, e, w: x if signed(x, w) > signed(e, w) else e,
    "fetch-and-or": lambda x, e, w: x | e,
    "fetch-and-and": lambda x, e, w: x & e,
    "fetch-and-store-if-zero": lambda x, e, w: e if x == 0 else x,
    "fetch-and-store-if-nonnegative": lambda x, e, w: e if signed(x, w) >= 0 else x,
    "fetch-and-xor": lambda x, e, w: x ^ e,
}


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_operations_do_what_they_are_called(width: int) -> None:
    for operation in EXTENDED:
        for x, e in itertools.product(range(1 << width), repeat=2):
            expected = MEANINGS[operation.name](x, e, width)
            assert operation.perform(x, e, width) == expected, operation


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_combined_request_does_what_two_do(policy: str, width: int) -> None:
    """For every pair, every word and all operands: new value, first reply and second reply."""
    rules = Rules(EXTENDED, policy)
    values = range(1 << width)
    for first, second, combined in rules.pairs():
        for x, e1, e2 in itertools.product(values, repeat=3):
            middle = MEANINGS[first.name](x, e1, width)
            operand = rules.operand(first, e1, second, e2, width)
            case = (first, second, x, e1, e2)
            after = MEANINGS[second.name](middle, e2, width)
            assert combined.perform(x, operand, width) == after, case
            if first.replies:
                assert combined.replies, case
            if second.replies:
                # The combined reply may be no value only if the second's doesn't depend on it.
                replies = [x] if combined.replies else values
                for y in replies:
                    assert first.perform(y, e1, width) == middle, case


def names(policy: str) -> set[tuple[str, str]]:
    return {(first.name, second.name) for first, second, _ in Rules(OPERATIONS, policy).pairs()}


def test_policies_allow_what_they_say() -> None:
    like = {(name, name) for name in NAMES}
    assert names("none") == set()
    assert names("rp3") == like | {("load", "fetch-and-add"), ("fetch-and-add", "load")}
    simple = {"load", "store", "fetch-and-store", "fetch-and-add"}
    minmax = {(f"fetch-and-{name}", f"fetch-and-{name}") for name in ("min", "max")}
    assert names("ultracomputer") == (like - minmax) | set(itertools.product(simple, repeat=2))
    free = {"load", "store", "fetch-and-store"}
    everything = set(itertools.product(NAMES, repeat=2))
    assert names("all") == {pair for pair in everything if pair[0] == pair[1] or free & set(pair)}


def test_the_paper_s_rules_for_loads_and_stores() -> None:
    rules = Rules(OPERATIONS, "all")
    load, store = find_operation("load"), find_operation("store")
    assert rules.combined(load, load) == load
    assert rules.combined(store, load) == store
    assert store.perform(0, 7, 8) == 7
    assert rules.combined(store, store) == store
    # The load came first, so it needs the old value.
    assert rules.combined(load, store) == find_operation("fetch-and-store")
    assert Rules((load, store), "all").combined(load, store) is None


def test_own_policy() -> None:
    only_xor = Policy("xor", lambda first, second: first == second == XOR)
    assert list(Rules(EXTENDED, only_xor).pairs()) == [(XOR, XOR, XOR)]


def test_second_reply_needs_the_old_value() -> None:
    """An operation without a value in its reply becomes the one with it, if the second needs it."""
    fetch = find_operation("fetch-and-add")
    add = Operation("add", fetch.function, fetching="fetch-and-add")
    assert Rules((fetch, add)).combined(add, add) == add
    assert Rules((fetch, add)).combined(add, fetch) == fetch
    assert Rules((add,)).combined(add, add) == add


def test_units_agree_with_python() -> None:
    width = 3
    rules = Rules(EXTENDED, "all")
    unit, combiner = OperationUnit(EXTENDED, width), Combiner(rules, width)

    async def perform(ctx: Any) -> None:
        for (code, operation), x, e in itertools.product(enumerate(EXTENDED), range(8), range(8)):
            ctx.set(unit.operation, code)
            ctx.set(unit.x, x)
            ctx.set(unit.operand, e)
            assert ctx.get(unit.result) == operation.perform(x, e, width), (operation, x, e)

    async def combine(ctx: Any) -> None:
        for (a, first), (b, second) in itertools.product(enumerate(EXTENDED), repeat=2):
            ctx.set(combiner.first, a)
            ctx.set(combiner.second, b)
            result = rules.combined(first, second)
            assert ctx.get(combiner.possible) == (result is not None)
            if result is None:
                continue
            assert EXTENDED[ctx.get(combiner.operation)] == result
            for e1, e2 in itertools.product(range(8), repeat=2):
                ctx.set(combiner.first_operand, e1)
                ctx.set(combiner.second_operand, e2)
                expected = rules.operand(first, e1, second, e2, width)
                assert ctx.get(combiner.operand) == expected, (first, second, e1, e2)

    for design, testbench in ((unit, perform), (combiner, combine)):
        evaluate(design, testbench)


test_refuses = refusals(
    call,
    (lambda: Rules(["add"]), TypeError, "Operations must be a tuple of operations, not ['add']"),
    (lambda: Rules(()), "At least one operation is needed"),
    (lambda: Rules((XOR, XOR)), "Operations must have distinct names, not 'fetch-and-xor' twice"),
    (
        lambda: Rules(OPERATIONS, "some"),
        "Policy must be one of none, rp3, ultracomputer, all, not 'some'",
    ),
    (lambda: find_operation("add"), "Operation must be one of load, ..., not 'add'"),
)
