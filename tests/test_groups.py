# amaranth: UnusedElaboratable=no
"""Multicasts and reductions in routers, against what each terminal must get."""

import json
import random
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from click.testing import CliRunner
from command_line import command_refusals
from driving import evaluate
from group_traffic import FOLDS, Members, Traffic
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.hdl.bench.group_bench import GroupTask
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.graphs.routing.group_deadlock import _Search, group_deadlock
from multicube.hdl.graphs.routing.group_tree import Kind, group_tree
from multicube.hdl.operations.folds import Fold
from multicube.sim.command.deadlock_command import deadlock as command
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.rerouting import write_tables
from refusals import refusals
from scripted_terminals import scripted

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
    pytest.param(
        "mesh k=3",
        {1: (1, [0, 3, 8])},
        (Kind.SINGLE, R, A),
        id="mesh, reductions",
        marks=pytest.mark.long,
    ),
    pytest.param(
        f"mesh k=3 {WHOLE}",
        {0: (0, range(9)), 1: (8, [0, 4, 8])},
        (Kind.SINGLE, M),
        id="passes",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "torus k=3 latency=2 switch=cut-through depth=6",
        {1: (4, range(9))},
        EVERY,
        id="torus, all kinds in passes",
    ),
    pytest.param(
        "mesh k=3 switch=store-and-forward depth=5",
        {0: (2, range(9))},
        EVERY,
        id="stored whole",
        marks=pytest.mark.long,
    ),
    pytest.param(
        f"graph {WHOLE}",
        {0: (2, range(10))},
        (Kind.SINGLE, M),
        id="any graph",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "clos n=2 m=2 r=2", {0: (1, range(4))}, (Kind.SINGLE, A), id="values turn in the middle"
    ),
    pytest.param(
        "benes ports=8 switch=cut-through depth=4",
        {0: (5, range(8))},
        EVERY,
        id="values turn in the middle, in passes",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "fat-tree k=2 n=2",
        {1: (1, range(4))},
        (Kind.SINGLE, R),
        id="choice of channels",
        marks=pytest.mark.long,
    ),
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


def square(**given: Any) -> PacketNetwork:
    """A mesh; the same one wherever it will do, since it is compiled only once."""
    return build("mesh", **{"k": 2, "group_entries": 2, "length": "1:5", "patience": 20} | given)


def words(count: int, *, of: int = 1) -> list[int]:
    return [(of * 1000 + 7 * at) % 2**16 for at in range(count)]


@pytest.mark.parametrize(
    ("k", "root", "length"),
    [
        (2, 0, 5),
        (2, 1, 1),
        pytest.param(3, 4, 1, marks=pytest.mark.long),
        pytest.param(8, 0, 16, marks=pytest.mark.long),
    ],
)
def test_cycles_of_each_kind(k: int, root: int, length: int) -> None:
    """A link and a router take a cycle, and what merges values another one."""
    network = square() if length == 5 else square(k=k, group_entries=1, length=length)
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
    m.d.comb += result.eq(operation.build_some(m, values, taken))

    async def bench(ctx: Any) -> None:
        for number in range(60):
            some = [draw.randrange(2**16) for _ in values]
            chosen = number % 7 + 1
            for value, own in zip(values, some):
                ctx.set(value, own)
            ctx.set(taken, chosen)
            own = [one for at, one in enumerate(some) if chosen >> at & 1]
            assert ctx.get(result) == reduce(FOLDS[fold], own)

    evaluate(m, bench)


@pytest.mark.parametrize("fold", FOLDS)
def test_each_more_value_costs_the_same(fold: str) -> None:
    """What merges some values is not repeated for each bit of what they are merged with."""

    def cells(count: int) -> int:
        values, taken, result = [Signal(4) for _ in range(count)], Signal(count), Signal(4)
        m = Module()
        m.d.comb += result.eq(Fold(fold, 4).build_some(m, values, taken))
        return rtlil.convert(m, ports=[*values, taken, result]).count("\n  cell ")

    assert cells(5) - cells(3) == 2 * (cells(3) - cells(2)) > 0


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


def crossing(switch: str, k: int) -> tuple[PacketNetwork, Members]:
    """Two multicasts between opposite corners of a mesh, to all."""
    depth = 16 if switch == "cut-through" else 2
    network = build("mesh", k=k, group_entries=2, length=16, switch=switch, depth=depth)
    every = range(network.ports)
    return network, {0: (0, every), 1: (every[-1], every)}


Step = tuple[Channel, Channel, int | None]
"""What waits, for what, and the label of this dependency."""


def closes(steps: list[Step], start: Channel, at: Channel) -> bool:
    """Whether steps lead from one channel to another, each label once at most."""
    return any(
        other == start
        or closes([step for step in steps if label is None or step[2] != label], start, other)
        for one, other, label in steps
        if one == at
    )


def waits(steps: list[Step], label: int | None) -> dict[Channel, set[Channel]]:
    own = [(one, other) for one, other, its in steps if its == label]
    return {one: {other for each, other in own if each == one} for one, _ in own}


def test_search_of_cycles_against_all_paths() -> None:
    """Of random dependencies, in cycles in which each label has one at most."""
    random.seed(1)
    found = 0
    for _ in range(300):
        nodes = [Channel(node, 0) for node in range(6)]
        pairs = [(one, other) for one in nodes for other in nodes if one != other]
        steps: list[Step] = [
            (*pair, None) for pair in random.sample(pairs, 3) if pair == (*sorted(pair),)
        ]
        for label in range(4):
            steps += [(*pair, label) for pair in random.sample(pairs, random.randint(1, 3))]
        shown = _Search(
            waits(steps, None), [(tree, waits(steps, tree)) for tree in range(4)]
        ).cycle()
        assert (shown is not None) == any(closes(steps, node, node) for node in nodes)
        labels = [wait.tree for wait in shown or () if wait.tree is not None]
        assert len(labels) == len(set(labels))
        found += shown is not None
    assert 50 < found < 250


@pytest.mark.parametrize("k", [2, long(3)])
def test_copies_at_once_lock_up_and_those_in_passes_do_not(k: int) -> None:
    """The routing is free for packets to one terminal."""
    network, groups = crossing("wormhole", k)
    assert network.relation is not None
    assert network.relation.deadlock() is None
    cycle = deadlock(network, groups, (Kind.SINGLE, M))
    assert {wait.tree for wait in cycle} == {0, 1}
    traffic = Traffic(network, groups)
    for group in groups:
        for number in range(4):
            traffic.multicast(group, words(16, of=10 * group + number))
    stuck = traffic.run(3000, stride=50)
    assert stuck.packets != traffic.expected
    network, groups = crossing("cut-through", k)
    assert deadlock(network, groups, (Kind.SINGLE, M)) is None
    free = Traffic(network, groups)
    free.scripts, free.expected = traffic.scripts, traffic.expected
    assert free.run(3000, stride=50).packets == free.expected


def test_a_group_without_a_way_hides_no_cycle_of_another(tmp_path: Path) -> None:
    """An all-reduce has no way from and to terminal 4, which enters and leaves at two nodes."""
    file, links = tmp_path / "square.json", ["ab", "bc", "cd", "da"]
    places = {"a": ([0, 4], [0]), "b": ([1], [1]), "c": ([2], [2, 4]), "d": ([3], [3])}
    nodes = [{"id": name, "terminals": own, "exits": out} for name, (own, out) in places.items()]
    file.write_text(json.dumps({"nodes": nodes, "links": [*map(list, links)]}), "utf-8")
    network = f"graph file={file} routing=up-down group_entries=4 switch=cut-through"
    for groups in ("--group 2:0", "--group 2:0 --group 4:0,1"):
        said = CliRunner().invoke(command, [*network.split(), *groups.split()])
        assert (said.exit_code, "it can deadlock" in said.output) == (1, True)
    words = [*network.split(), "--group", "4:0,1", "--kind", "all-reduce"]
    with pytest.raises(ValueError, match=r"^Group must have a node for an all-reduce at which "):
        CliRunner().invoke(command, words, catch_exceptions=False)


def test_what_routers_do_not_merge_is_not_examined() -> None:
    """An all-reduce beside a multicast can lock up, but there is none with reduction=none."""
    words = ["mesh", "k=3", "n=1", "--group", "0:all"]
    assert CliRunner().invoke(command, words).exit_code == 1
    said = CliRunner().invoke(command, [*words, "reduction=none", "--json", "--kind", "multicast"])
    record = json.loads(said.output)
    assert (record["groups"], record["kinds"]) == ([[0, [0, 1, 2]]], ["multicast"])
    assert record["free"]
    assert CliRunner().invoke(command, [*words, "reduction=none"]).exit_code == 0
    refusal = r"^Reduction must not be none for packets that are to be merged$"
    words += ["reduction=none", "--kind", "reduce"]
    with pytest.raises(ValueError, match=refusal):
        CliRunner().invoke(command, words, catch_exceptions=False)


def test_missing_child_is_named_and_nothing_is_lost() -> None:
    network = square()
    groups = {1: (0, range(4))}
    traffic = Traffic(network, groups)
    traffic.reduce(1, {one: words(3, of=one) for one in range(4)}, around=False)
    count = len(traffic.scripts[3])
    fabric = scripted(network, traffic.scripts, 8, waits=False, limits=list("abcd"))
    with CompiledEngine(fabric) as engine:
        write_tables(engine, network.group_tables(groups))
        for name in "abc":
            engine.set(name, count)
        engine.step(19)
        assert not [*map(str, network.missing(engine.signal))]
        engine.step(30)
        assert [*map(str, network.missing(engine.signal))] == [
            "group 1: node 0 waits for node 1",
            "group 1: node 1 waits for node 3",
        ]
        engine.set("d", count)
        engine.step(30)
        assert not network.missing(engine.signal)
        assert engine.read(["terminal_0"], "taken") == [3]
        flits = engine.memory("terminal_0", "record")[:3]
    assert Counter(traffic.packets_of(flits)) == traffic.expected[0]


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        (Kind.MULTICAST, {3: [1]}, r"^Words must be those of the root 0, not of \[3\]$"),
        (Kind.MULTICAST, {}, r"^Words must be those of the root 0, not of \[\]$"),
        (Kind.REDUCE, {1: [1]}, r"^Words must be those of the members \[1, 2\], not of \[1\]$"),
    ],
)
def test_only_those_send_whose_packets_have_a_way(
    kind: Kind, words: dict[int, list[int]], said: str
) -> None:
    """A multicast of another terminal met empty rows and waited, until patience was at its end."""
    with pytest.raises(ValueError, match=said):
        GroupTask(kind, 0, [1, 2], words, 8)


def test_values_of_two_groups_are_not_mixed() -> None:
    """At node 0 a value of group 0 from node 1 waits, and one of group 1 from node 2: for others
    of their own groups."""
    network = square()
    traffic = Traffic(network, {0: (0, [1, 2]), 1: (0, [0, 2])})
    traffic.reduce(1, {one: words(3, of=one) for one in (0, 2)}, around=False)
    traffic.reduce(0, {one: words(3, of=one) for one in (1, 2)}, around=False)
    scripts = [own + [0] * (6 - len(own)) for own in traffic.scripts]
    fabric = scripted(network, scripts, 8, waits=False, limits=list("abcd"))
    with CompiledEngine(fabric) as engine:
        write_tables(engine, network.group_tables(traffic.groups))
        engine.set("b", 3)
        engine.set("c", 6)
        engine.step(15)
        assert engine.read(["terminal_0"], "taken") == [0]
        engine.set("a", 3)
        engine.step(30)
        flits = engine.memory("terminal_0", "record")[: engine.read(["terminal_0"], "taken")[0]]
    assert Counter(traffic.packets_of(flits)) == traffic.expected[0]


def test_packets_of_a_terminal_and_what_is_merged_beside_it_leave_in_turn() -> None:
    """Terminal 0 is no member of the group whose values meet at its node."""
    traffic = Traffic(square(), {0: (0, [1, 2])})
    for number in range(8):
        traffic.single(0, 3 if number % 2 else 0, words(5, of=number))
        traffic.reduce(0, {one: words(3, of=one + number) for one in (1, 2)}, around=False)
    assert traffic.run(600, waits=True, stride=20).packets == traffic.expected


def test_tables_are_written_while_running() -> None:
    """A group moves to other terminals once no packet of it is in the network."""
    network = square()
    traffic = Traffic(network, {1: (1, [0, 2])})
    traffic.multicast(1, [1, 2])
    traffic.multicast(1, [3, 4])
    scripts = [own or [0] * 4 for own in traffic.scripts]
    fabric = scripted(network, scripts, 8, waits=False, limits=list("abcd"))
    with CompiledEngine(fabric) as engine:
        cells = [f"terminal_{terminal}" for terminal in range(4)]
        engine.set("b", 2)
        engine.step(20)
        assert engine.read(cells, "taken") == [2, 2, 2, 2], "as built: from terminal 1 to all"
        write_tables(engine, network.group_tables(traffic.groups))
        engine.set("b", 4)
        engine.step(20)
        assert engine.read(cells, "taken") == [4, 2, 4, 2]


def mesh(**given: Any) -> PacketNetwork:
    return build("mesh", k=3, **{"group_entries": 2} | given)


test_network_of_groups_refuses = refusals(
    lambda given: mesh(**given),
    ({"decision": 2}, "Decision must be 1 with group_entries=2, not 2"),
    ({"refill": "yes"}, "Refill must be no with group_entries=2, not yes"),
    ({"pipeline": 1}, "Pipeline must be 0 with group_entries=2, not 1"),
    (
        {"switch": "packet"},
        "Switch must be wormhole or cut-through or store-and-forward with group_entries=2, "
        "not packet",
    ),
    ({"recovery": "discard"}, "Recovery must be none with group_entries=2, not discard"),
    ({"reduction": "xor"}, "Parameter reduction must be one of ..., not 'xor'..."),
    ({"group_entries": 17}, "Group entries must be at most 16, as many as there are tags, not 17"),
)
test_group_tables_refuse = refusals(
    lambda given, groups: mesh(**given).group_tables(groups),
    ({}, {2: (0, [1])}, "Group must be from 0 to 1, not 2"),
    ({}, {0: (9, [1])}, "Root of a group must be from 0 to 8, not 9"),
    (
        {"group_entries": 0},
        {0: (0, [1])},
        "Network must have group_entries=1 or more, which 'mesh' has not",
    ),
)


test_deadlock_command_refuses = command_refusals(
    "deadlock mesh k=3",
    ("--group 0:9", "Members of a group must be from 0 to 8, in order, not 9"),
    ("--group 9:1", "Root of a group must be from 0 to 8, not 9"),
    ("--group 3", "Group must be ROOT:MEMBERS as 0:all or 5:0-7,12, not '3'"),
    ("--kind reduce", "Kind needs a group: --group ROOT:MEMBERS"),
)

test_deadlock_command_refuses_beside_a_cycle = command_refusals(
    "deadlock torus k=4 n=1 channels=1 allow_deadlock=1",
    ("--group 0:9", "Members of a group must be from 0 to 3, in order, not 9"),
    ("--kind reduce", "Kind needs a group: --group ROOT:MEMBERS"),
)
