# amaranth: UnusedElaboratable=no
"""Multicasts and reductions in routers, against what each terminal must get."""

import random
from functools import reduce
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from amaranth.sim._async import SimulatorContext
from group_traffic import FOLDS, Members, Traffic
from multicube.hdl import PacketNetwork, build
from multicube.hdl.graphs.routing.group_deadlock import group_deadlock
from multicube.hdl.graphs.routing.group_tree import Kind, group_tree
from multicube.hdl.operations.folds import Fold
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals

M, R, A = Kind.MULTICAST, Kind.REDUCE, Kind.ALL_REDUCE
EVERY = (Kind.SINGLE, Kind.SINGLE, M, R, A)


def deadlock(network: PacketNetwork, groups: Members, kinds: tuple[Kind, ...]) -> Any:
    assert network.relation is not None
    trees = [group_tree(network.relation, *group) for group in groups.values()]
    passes = network.parameters.switch != "wormhole"
    return group_deadlock(network.relation, trees, kinds, passes=passes)


WHOLE = "switch=cut-through depth=4"
CASES: list[Any] = [
    pytest.param("mesh k=3", {0: (4, range(9))}, (Kind.SINGLE, M), id="mesh, copies at once"),
    pytest.param("mesh k=3", {1: (1, [0, 3, 8])}, (Kind.SINGLE, R, A), id="mesh, reductions"),
    pytest.param(
        f"mesh k=3 {WHOLE}", {0: (0, range(9)), 1: (8, [0, 4, 8])}, (Kind.SINGLE, M), id="passes"
    ),
    pytest.param(f"torus k=3 {WHOLE}", {1: (4, range(9))}, EVERY, id="torus, all kinds in passes"),
    pytest.param(
        "mesh k=3 switch=store-and-forward depth=5", {0: (2, range(9))}, EVERY, id="stored whole"
    ),
    pytest.param(f"graph {WHOLE}", {0: (2, range(10))}, (Kind.SINGLE, M), id="any graph"),
    pytest.param("fat-tree k=2 n=2", {1: (1, range(4))}, (Kind.SINGLE, R), id="choice of channels"),
]


@pytest.mark.parametrize(("words", "groups", "kinds"), CASES)
def test_each_member_gets_each_packet_once(
    words: str, groups: Members, kinds: tuple[Kind, ...]
) -> None:
    name, *rest = words.split()
    given = {
        key: int(value) if value.isdigit() else value
        for key, _, value in (word.partition("=") for word in rest)
    }
    network = build(name, group_entries=2, length="1:4", **given)
    assert deadlock(network, groups, kinds) is None
    traffic = Traffic(network, groups)
    traffic.fill(seed=1, operations=120, kinds=kinds)
    assert traffic.run(20_000, waits=True, stride=64).packets == traffic.expected


def words(count: int, *, of: int = 1) -> list[int]:
    return [(of * 1000 + 7 * at) % 2**16 for at in range(count)]


@pytest.mark.parametrize(
    ("k", "root", "length"),
    [(3, 0, 5), (3, 4, 1), pytest.param(8, 0, 16, marks=pytest.mark.long)],
)
def test_cycles_of_each_kind(k: int, root: int, length: int) -> None:
    """A link and a router take a cycle, and what merges values another one."""
    network = build("mesh", k=k, group_entries=1, length=length, payload=16)
    groups = {0: (root, range(k * k))}
    assert network.relation is not None
    tree = group_tree(network.relation, root, range(k * k))
    up, down = tree.height + tree.height + 1, tree.depth
    for kind, cycles in (M, down + length), (R, up + length), (A, up + down + length):
        traffic = Traffic(network, groups)
        if kind == M:
            traffic.multicast(0, words(length))
        else:
            own = {member: words(length, of=member) for member in range(k * k)}
            traffic.reduce(0, own, around=kind == A)
        arrived = traffic.run(100)
        assert arrived.packets == traffic.expected
        assert max(end for end in arrived.ended if end is not None) == cycles


def test_engines_agree() -> None:
    network = build("mesh", k=2, group_entries=2, length=3, switch="cut-through", depth=4)
    traffic = Traffic(network, {0: (1, [0, 1, 2]), 1: (3, range(4))})
    traffic.fill(2, 12, EVERY)
    compiled, reference = (
        traffic.run(400, engine=engine) for engine in (CompiledEngine, AmaranthEngine)
    )
    assert compiled == reference
    assert compiled.packets == traffic.expected


@pytest.mark.parametrize("fold", FOLDS)
def test_values_merge_as_the_operation_says(fold: str) -> None:
    """Any three of some values, and any two of them, as an engine that knows no network adds."""
    draw = random.Random(4)
    operation = Fold(fold, 16)
    values, taken = [Signal(16) for _ in range(3)], Signal(3)
    m, result = Module(), Signal(16)
    m.d.comb += result.eq(operation.build_some(values, taken))

    async def bench(ctx: SimulatorContext) -> None:
        for number in range(60):
            some = [draw.randrange(2**16) for _ in values]
            chosen = number % 7 + 1
            for value, own in zip(values, some):
                ctx.set(value, own)
            ctx.set(taken, chosen)
            own = [one for at, one in enumerate(some) if chosen >> at & 1]
            assert ctx.get(result) == reduce(FOLDS[fold], own)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.long
def test_groups_of_rows_merge_at_the_same_time() -> None:
    """They share no link, so that all take as long as one alone."""
    network = build("mesh", k=3, group_entries=4, length=4)
    rows = {row: (3 * row, range(3 * row, 3 * row + 3)) for row in range(3)}
    traffic = Traffic(network, rows)
    assert deadlock(network, rows, (Kind.SINGLE, R, A)) is None
    for row, (_, members) in rows.items():
        traffic.reduce(row, {one: words(4, of=one) for one in members}, around=True)
    arrived = traffic.run(100)
    assert arrived.packets == traffic.expected
    assert {arrived.ended[3 * row + 2] for row in range(3)} == {2 + 3 + 2 + 4}


def crossing(switch: str) -> tuple[PacketNetwork, Members]:
    """Two multicasts between opposite corners of a mesh, to all."""
    depth = 16 if switch == "cut-through" else 2
    network = build("mesh", k=3, group_entries=2, length=16, switch=switch, depth=depth)
    return network, {0: (0, range(9)), 1: (8, range(9))}


def test_copies_at_once_lock_up_and_those_in_passes_do_not() -> None:
    """The routing is free for packets to one terminal."""
    network, groups = crossing("wormhole")
    assert network.relation is not None and network.relation.deadlock() is None
    cycle = deadlock(network, groups, (Kind.SINGLE, M))
    assert {wait.tree for wait in cycle} == {0, 1}
    traffic = Traffic(network, groups)
    for group in groups:
        for number in range(4):
            traffic.multicast(group, words(16, of=10 * group + number))
    stuck = traffic.run(3000, stride=50)
    assert stuck.packets != traffic.expected
    network, groups = crossing("cut-through")
    assert deadlock(network, groups, (Kind.SINGLE, M)) is None
    free = Traffic(network, groups)
    free.scripts, free.expected = traffic.scripts, traffic.expected
    assert free.run(3000, stride=50).packets == free.expected
