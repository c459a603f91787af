"""Collectives of terminals, as programs and on hardware, against a plain computation."""

import json
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from command_line import command_refusals, exit_status
from long_runs import long
from multicube.hdl import FAMILIES, MulticubeError, build
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.hdl.graphs.schedules import collectives
from multicube.hdl.graphs.schedules.collective_program import CollectiveProgram
from multicube.hdl.graphs.schedules.collectives import ALGORITHMS, KINDS, collective_program
from multicube.hdl.graphs.schedules.copy_schedule import copy_schedule
from multicube.hdl.networks.family import Family
from multicube.sim import CollectiveRun, SimulationError, run_collective
from multicube.sim.measure.collective_bound import collective_bound, header_cycles, middle
from multicube.sim.run import collective_run
from multicube.sim.run.counter_barrier import meet
from refusals import refusals

MODULUS = 1 << 16


def expected(
    kind: str, own: Sequence[Sequence[int]], root: int, words: int
) -> list[list[int] | None]:
    """What each member has at the end, by what MPI says of the operation. Sums are modulo 2^16."""
    count = len(own)
    members = range(count)
    total = [sum(column) % MODULUS for column in zip(*own)] if kind.endswith("reduce") else []
    if kind == "broadcast":
        return [list(own[root]) for _ in members]
    if kind == "reduce":
        return [total if member == root else None for member in members]
    if kind == "allreduce":
        return [total for _ in members]
    if kind == "gather":
        everything = [word for each in own for word in each]
        return [everything if member == root else None for member in members]
    if kind == "scatter":
        return [list(own[root][member * words :][:words]) for member in members]
    if kind == "alltoall":
        return [
            [word for other in members for word in own[other][member * words :][:words]]
            for member in members
        ]
    everyone = 0
    for (bit,) in own:
        everyone |= bit
    return [[everyone] for _ in members]


def perform(
    program: CollectiveProgram, own: Sequence[Sequence[int]], chance: random.Random
) -> list[list[int] | None]:
    """Do the transfers one by one, in any order that their dependencies allow.

    Words are read when a transfer begins, and written when it ends, any time later.
    """
    memory = {
        member: [[0] * program.banks for _ in range(program.rows)] for member in program.members
    }
    for member, rows, words in zip(program.members, program.inputs, own):
        for row, word in zip(rows, words):
            memory[member][row] = [word] * program.banks
    after = program.dependencies()
    begun: dict[int, list[int]] = {}
    ended: set[int] = set()
    merge = int.__or__ if program.kind == "barrier" else lambda x, y: (x + y) % MODULUS

    def known(number: int, other: int) -> bool:
        """Whether a terminal has seen another transfer: it arrived there, or left from there."""
        here = program.transfers[number].source
        there = program.transfers[other]
        return other in (ended if there.destination == here else begun)

    while len(ended) < len(program.transfers):
        able = [
            number
            for number, others in enumerate(after)
            if number not in begun and all(known(number, other) for other in others)
        ]
        moving = [number for number in begun if number not in ended]
        number = chance.choice(able + moving)
        source, to, first, place, words, bank, banks, folds, _ = program.transfers[number]
        if number in begun:
            for at, word in enumerate(begun[number]):
                row = memory[to][place + at]
                for each in range(program.banks):
                    if banks >> each & 1:
                        row[each] = merge(row[each], word) if folds else word
            ended.add(number)
        else:
            begun[number] = [memory[source][first + at][bank] for at in range(words)]
    return [
        [memory[member][row][-1] for row in rows] if rows else None
        for member, rows in zip(program.members, program.outputs)
    ]


CASES = [(kind, algorithm) for kind, several in ALGORITHMS.items() for algorithm in several]


@pytest.mark.parametrize(("kind", "algorithm"), CASES, ids=map("-".join, CASES))
def test_programs_do_what_they_should_in_any_order(kind: str, algorithm: str) -> None:
    """For 2 to 9 members, in orders of arrival that no network may ever show."""
    chance = random.Random(kind + algorithm)
    for count in range(2, 10):
        words = 1 if kind == "barrier" else chance.choice((1, 3, 8, 11))
        members = chance.sample(range(100), count)
        root = chance.randrange(count)
        chains = [(rank, rank + 1) for rank in range(count - 1)]
        program = collective_program(
            kind,
            algorithm,
            members,
            members[root],
            words,
            pairs=lambda folding, chains=chains: (
                [p[::-1] for p in chains[::-1]] if folding else chains
            ),
        )
        own = [[chance.randrange(MODULUS) for _ in rows] for rows in program.inputs]
        if kind == "barrier":
            own = [[1 << member] for member in range(count)]
        wanted = expected(kind, own, root, words)
        for each in (program, program.cut(2)):
            assert perform(each, own, chance) == wanted


def run(network: str, kind: str, flits: int = 1, **how: object) -> CollectiveRun:
    return run_collective(build(network), kind, flits=flits, **how)  # type: ignore[arg-type]


MESH = "mesh k=3 n=2 length=4"


@pytest.mark.parametrize(
    "kind", [long(kind) if kind in ("broadcast", "gather", "scatter") else kind for kind in KINDS]
)
def test_hardware_moves_the_words(kind: str) -> None:
    """Of five members, by all algorithms: a wrong word would be an error."""
    flits = 1 if kind == "barrier" else 6
    root = {} if kind == "alltoall" else {"root": 1}
    found = run(MESH, kind, flits, group=(7, 1, 4, 0, 8), **root)
    assert found.correct
    assert found.tried.keys() == set(ALGORITHMS[kind])
    assert found.cycles == min(found.tried.values()) >= found.bound


@pytest.mark.long
@pytest.mark.parametrize("kind", ["allreduce", *map(long, ("broadcast", "reduce", "barrier"))])
def test_routers_copy_and_merge_the_words(kind: str) -> None:
    """Of a group, in two packets; beside the terminals' algorithms if none is chosen."""
    flits = 1 if kind == "barrier" else 6
    how = {"group": (7, 1, 4, 0, 8), "root": 1}
    found = run(f"{MESH} group_entries=1", kind, flits, algorithm="network", **how)
    assert found.correct
    assert found.cycles >= found.bound
    if kind == "barrier":
        tried = run(f"{MESH} group_entries=1", kind, flits, **how).tried
        assert tried["network"] == found.cycles
        assert tried.keys() == {*ALGORITHMS[kind], "network"}


@pytest.mark.long
def test_routers_get_a_group_if_they_are_asked_for_it() -> None:
    """And the parameters of the result say so."""
    asked = run("mesh k=2 n=1", "reduce", algorithm="network", operation="max").parameters
    assert (asked["group_entries"], asked["reduction"]) == (1, "max")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "most"), [("broadcast", 40), ("reduce", 50), ("allreduce", 85), ("barrier", 40)]
)
def test_routers_of_the_mesh_meet_their_targets(kind: str, most: int) -> None:
    """From a corner, as the other measurements; a barrier and allreduce meet in the middle."""
    flits = 1 if kind == "barrier" else 16
    mesh = "mesh k=8 n=2 length=16 payload=32 group_entries=1"
    assert run(mesh, kind, flits, algorithm="network").cycles <= most


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "group", "root"),
    [
        ("mesh k=5 n=1", None, 2),  # Of a row the middle one,
        long("mesh k=3 n=2", None, 4),
        ("mesh k=3 n=2", (8, 0, 1), 1),  # of a group the one that no other member is far from,
        ("torus k=3 n=2", (5, 2, 8), 5),  # and where all are alike, the first.
        ("cube ports=8", (6, 3), 6),
    ],
)
def test_values_meet_in_the_middle(words: str, group: tuple[int, ...] | None, root: int) -> None:
    assert run(words, "allreduce", group=group, algorithm="doubling").root == root


@pytest.mark.long
def test_engines_agree() -> None:
    how = {"algorithm": "doubling", "operation": "max", "flits": 2}
    compiled, amaranth = (
        run_collective(build("mesh k=2 n=1 length=2"), "allreduce", engine=engine, **how)
        for engine in ("compiled", "amaranth")
    )
    assert compiled.to_json() | {"engine": "amaranth"} == amaranth.to_json()


def test_a_group_in_any_order_on_single_words() -> None:
    """Packets of one word, so a vector is as many packets; terminal 0 takes no part."""
    found = run("cube ports=4", "gather", 5, group=(2, 1, 3), root=3)
    assert found.correct
    assert found.group == (2, 1, 3)
    # Ten words come to the root, the first after two boxes.
    assert found.cycles == found.bound == 2 + 10


HYPERCUBE, RING = "hypercube n=3 length=16", "torus k=8 n=1 length=16"


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "kind", "algorithm", "cycles"),
    [
        # A message to a neighbour takes its flits and two cycles, and log P = 3 of them follow.
        long(HYPERCUBE, "broadcast", "tree", lambda flits: 3 * (flits + 2)),
        long(HYPERCUBE, "reduce", "tree", lambda flits: 3 * (flits + 2)),
        (HYPERCUBE, "allreduce", "doubling", lambda flits: 3 * (flits + 2)),
        # Halves, quarters and eighths, there and back.
        (HYPERCUBE, "allreduce", "halving", lambda flits: 2 * (flits * 7 // 8 + 3 * 2)),
        long(HYPERCUBE, "reduce", "halving", lambda flits: 2 * (flits * 7 // 8 + 3 * 2)),
        # 2 (P - 1) steps of a chunk.
        long(RING, "allreduce", "ring", lambda flits: 14 * (flits // 8 + 2)),
        # The root's link is never idle: P - 1 vectors, the first from a neighbour.
        long(RING, "gather", "direct", lambda flits: 7 * flits + 2),
    ],
    ids=lambda each: "" if callable(each) else each.split()[0],
)
def test_alone_on_their_links_algorithms_take_what_the_formula_says(
    network: str, kind: str, algorithm: str, cycles: Callable[[int], int]
) -> None:
    """On networks where no two messages of a step meet, and each goes to a neighbour."""
    for flits in (8, 16):
        assert run(network, kind, flits, algorithm=algorithm).cycles == cycles(flits)


@pytest.mark.long
@pytest.mark.parametrize(
    "network",
    [
        MESH,
        long("torus k=4 n=1 latency=3 length=4"),
        long("omega ports=8"),
        long("fat-tree k=2 n=2 length=4"),
        long("dcsh k=3 n=2 length=4"),
    ],
    ids=lambda words: words.split()[0],
)
def test_a_message_to_one_other_takes_as_long_as_the_bound(network: str) -> None:
    """Except where no graph tells the distance: there the bound is lower."""
    ports = build(network).ports
    for other in random.Random(network).sample(range(1, ports), 2):
        found = run(network, "broadcast", 3, group=(0, other), algorithm="direct")
        assert found.cycles >= found.bound
        assert found.cycles == found.bound or network.startswith("dcsh")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("folding", [False, True], ids=["broadcast", "reduce"])
@pytest.mark.parametrize("root", [0, 5])
@pytest.mark.parametrize(
    "network",
    [MESH, long("torus k=4 n=2 length=4"), long("fat-tree k=2 n=3 length=4")],
    ids=lambda words: words.split()[0],
)
def test_scheduled_copies_do_not_meet_and_end_when_they_should(
    network: str, root: int, folding: bool
) -> None:
    """Cycle by cycle each link has one flit, and the hardware takes what the schedule says.

    In a reduction messages leave as soon as they can, not when they should, and may then meet.
    """
    flits, built = 4, build(network)

    def path(one: int, other: int) -> list[object]:
        ends = [(rank + root) % built.ports for rank in (one, other)]
        return list(built.path(*ends[::-1])[::-1] if folding else built.path(*ends))

    copies = copy_schedule(path, built.ports, flits)
    used = set()
    has = {0: 0}
    for copy in copies:
        assert copy.start >= has[copy.sender]
        assert copy.receiver not in has
        way = path(copy.sender, copy.receiver)
        has[copy.receiver] = copy.end
        assert copy.end == copy.start + len(way) + flits
        for at, link in enumerate(way):
            for flit in range(flits):
                assert (link, copy.start + at + flit) not in used
                used.add((link, copy.start + at + flit))
    assert has.keys() == set(range(built.ports))
    kind = "reduce" if folding else "broadcast"
    found = run_collective(built, kind, root=root, flits=flits, algorithm="schedule")
    assert abs(found.cycles - max(has.values())) <= folding


def test_links_are_counted() -> None:
    """One message of 3 flits over two links, and one over one."""
    found = run(MESH, "broadcast", 3, group=(0, 1, 2), algorithm="direct")
    assert found.flit_hops == 3 * 2 + 3
    assert found.messages == 2


@pytest.mark.parametrize(
    ("words", "hops"),
    [
        # From one corner of a square: 1, 1 and 2 links, whatever their latency.
        ("torus k=2 latency=3", 4),
        # And as many acknowledgements.
        ("torus k=2 recovery=discard", 2 * 4),
        # A channel is one link, from its owner to the multiplexers of all that hear it.
        ("dcsh k=2 n=2", 4),
        # A link between two stages, and neither gates nor bypasses.
        ("stage-sequenced ports=4", 3),
        ("cube ports=4 extra_stage=1", 2 * 3),
        ("cube ports=4 switch=wormhole latency=2", 3),
        ("cube ports=4 switch=unbuffered resubmit=1", 3),
        ("cube ports=4 replication=2", 3),
    ],
)
def test_links_between_switches_are_counted_once(words: str, hops: int) -> None:
    """A flit to each of the three others."""
    assert run(words, "broadcast", 1, algorithm="direct").flit_hops == hops


def barrier(ports: int, combine: str = "all") -> CollectiveRun:
    return run(f"combining ports={ports} combine={combine}", "barrier")


def test_a_member_waits_for_the_last_one() -> None:
    """The first of three loads the counter until it is 3; the last one goes on at once."""
    first, last = meet(3), meet(3)
    for program in (first, last):
        assert next(program).operation == "fetch-and-add"
    for seen in (0, 1, 2):
        assert first.send(seen).operation == "load"
    for program, seen in ((first, 3), (last, 2)):
        with pytest.raises(StopIteration):
            program.send(seen)


@pytest.mark.long
def test_a_counter_in_memory_is_a_barrier() -> None:
    """All add to it, and then all load it: two requests of 2 n + 2 cycles, if they combine."""
    found = barrier(4)
    assert found.correct
    assert found.algorithm == "network"
    assert found.cycles == 2 * found.bound == 2 * (2 * 2 + 2)
    # Four requests are two between the stages, and once more for all but the last one to come.
    assert found.flit_hops == 2 * 2 * 2
    alone = run("combining ports=4 combine=none", "barrier", group=(2, 1))
    assert alone.correct
    assert alone.messages == 3


def test_routers_of_a_graph_do_not_tell_how_far_requests_went(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They count what they combine, not where: no number, on the screen too."""
    given = ["collective", "barrier", "combining-graph", "network=torus:k=3,n=1"]
    assert exit_status(*given, "--json") == 0
    assert json.loads(capsys.readouterr().out)["flit_hops"] is None
    assert exit_status(*given) == 0
    assert "uncounted flits over links" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(("ports", "most", "without"), [(64, 42, 201), (256, 54, 781)])
def test_a_barrier_by_combining_is_as_fast_as_promised(ports: int, most: int, without: int) -> None:
    found = barrier(ports)
    assert found.cycles <= most
    assert most < barrier(ports, "none").cycles <= without


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_family_performs_collectives_or_refuses(family: Family) -> None:
    network = family.build(**family.example)
    if network.has_memory:
        assert run_collective(network, "barrier").correct
        return
    loses = network.drops and not network.resubmits
    if loses or network.sources != network.sinks:
        with pytest.raises(MulticubeError, match=r"^(There|Network) must "):
            run_collective(network, "barrier")
        return
    for kind in KINDS:
        root = None if kind == "alltoall" else 1
        found = run_collective(network, kind, root=root, flits=1 if kind == "barrier" else 3)
        assert found.correct
        assert min(found.tried.values()) >= found.bound


@pytest.mark.long
def test_all_reduces_that_block_each_other_are_told() -> None:
    """On a bus: copies hold what the next values wait for. In passes they hold no channel."""
    words = "spanning-bus-hypercube k=2 n=2 depth=1 group_entries=1"
    group = {0: (0, range(4))}
    assert build(words).group_cycle(group, [Kind.ALL_REDUCE])
    with pytest.raises(SimulationError, match=r"by the network: .* multicube deadlock --group"):
        run(words, "allreduce", 7, root=0, algorithm="network")
    assert run(f"{words} switch=cut-through", "allreduce", 7, root=0, algorithm="network").correct


def test_the_command_prints_a_line_or_json(capsys: pytest.CaptureFixture) -> None:
    assert exit_status("collective", "barrier", "mesh", "k=2", "--group", "all") == 0
    assert "barrier, 4 members, root 0, by " in capsys.readouterr().out
    words = ["collective", "reduce", *MESH.split(), "--group", "2,0-1", "--flits", "2"]
    assert exit_status(*words, "--algorithm", "ring") == 0
    assert "reduce of 2 flits, 3 members, root 2, by ring: " in capsys.readouterr().out
    assert exit_status(*words, "--root", "1", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["group"] == [2, 0, 1]
    assert record["root"] == 1
    assert record["correct"] is True
    assert record["tried"][record["algorithm"]] == record["cycles"] >= record["bound"]


test_the_command_refuses_in_a_line = command_refusals(
    "collective reduce mesh k=2",
    ("--group 0,x", "Members of a group must be terminals such as 0,3,8-15, or all, not '0,x'"),
    ("--group 3-1", "Members of a group must be from 0 to 3, in order, not 3-1"),
    ("--group 0-99999999", "Members of a group must be from 0 to 3, in order, not 0-99999999"),
    ("--flits 0", "Flits must be at least 1, not 0"),
)


test_the_command_refuses_what_a_kind_does_not_take = command_refusals(
    "collective",
    ("alltoall mesh k=2 --root 1", "Kind alltoall takes no --root: all members are alike"),
    ("gather mesh k=2 --operation add", "Kind gather takes no --operation: it combines nothing"),
    ("barrier mesh k=2 --flits 1", "Kind barrier takes no --flits: it carries no data"),
)


@pytest.mark.long
def test_what_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three messages, a ring has more; and if all have more, it is said."""
    monkeypatch.setattr(collectives, "_MOST_TRANSFERS", 3)
    assert run("mesh k=2", "broadcast", flits=8).tried.keys() == {"direct", "tree", "schedule"}
    with pytest.raises(MulticubeError, match=r"^Messages of barrier by \w+ must be at most 3$"):
        run("mesh k=2", "barrier")


@pytest.mark.long
def test_all_algorithms_are_tried_on_networks_that_are_not_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collective_run, "_MOST_TRIED", 3)
    assert run("mesh k=2 group_entries=1 reduction=none", "broadcast").algorithm == "network"
    with pytest.raises(
        MulticubeError, match=r"^Algorithm must be named with more than 3 terminals"
    ):
        run("mesh k=2", "broadcast")


def test_a_schedule_is_of_few_members() -> None:
    message = "^Members of a schedule must be at most 1024, not 4096$"
    with pytest.raises(MulticubeError, match=message):
        run("hypercube n=12", "reduce", algorithm="schedule")


test_refusals = refusals(
    lambda network, kind, how: run_collective(build(network), kind, **how),
    ("mesh k=2", "alltoall", {"root": 0}, "Kind alltoall takes no root: all members are alike"),
    ("mesh k=2", "broadcast", {"root": 4}, "Root must be a member of the group, not 4"),
    (
        "mesh k=2",
        "broadcast",
        {"group": (1, 2), "root": 0},
        "Root must be a member of the group, not 0",
    ),
    (
        "mesh k=2",
        "reduce",
        {"group": (0, 3, 3)},
        "Group must have each member once, not 3 several times",
    ),
    ("mesh k=2", "reduce", {"group": (0, 4)}, "Member of a group must be from 0 to 3, not 4"),
    ("mesh k=2", "reduce", {"group": (1,)}, "Group must have at least 2 members, not 1"),
    ("mesh k=2", "reduce", {"group": 3}, TypeError, "Group must be a sequence of terminals, not 3"),
    ("mesh k=2", "gather", {"flits": 0}, "Flits must be at least 1, not 0"),
    (
        "mesh k=2",
        "barrier",
        {"flits": 2},
        "Flits of a barrier must be 1, as it carries no data, not 2",
    ),
    (
        "mesh k=2",
        "gather",
        {"algorithm": "halving"},
        "Algorithm of gather must be one of direct, tree, ring, auto, not 'halving'",
    ),
    ("mesh k=2", "reduce", {"operation": "xor"}, "Operation must be one of ..., not 'xor'..."),
    (
        "mesh k=2",
        "broadcast",
        {"operation": "max"},
        "Operation is for reduce and allreduce; for broadcast it can't be max",
    ),
    ("mesh k=2", "sum", {}, "Kind must be one of broadcast, ..., barrier, not 'sum'"),
    (
        "omega ports=4",
        "reduce",
        {"algorithm": "network"},
        "Network must have group_entries=1 or more, for the algorithm network",
    ),
    (
        "data-manipulator",
        "barrier",
        {"algorithm": "network"},
        "Group must have a node for an all-reduce at which values of all members meet, ...",
    ),
    (
        "mesh k=2 group_entries=1 reduction=max",
        "reduce",
        {"algorithm": "network"},
        "Reduction must be add for the kind reduce by the network, not max",
    ),
    (
        "mesh k=2 group_entries=1 reduction=max",
        "barrier",
        {"algorithm": "network"},
        "Reduction must be add or or for the kind barrier by the network, not max",
    ),
    (
        "mesh k=2 group_entries=1 reduction=none",
        "allreduce",
        {"algorithm": "network", "operation": "or"},
        "Reduction must be or for the kind allreduce by the network, not none",
    ),
    (
        "combining ports=4",
        "gather",
        {},
        "Kind must be barrier, for a network with memory, not gather",
    ),
    (
        "combining ports=8 width=2",
        "barrier",
        {},
        "Members of a barrier by words of 2 bits must be at most 3, not 8",
    ),
    (
        "cube ports=4 switch=unbuffered",
        "gather",
        {},
        "Network must not be one that loses packets, ...",
    ),
)


@pytest.mark.long
def test_65536_terminals_reduce() -> None:
    """Up to 16 links away, two cycles for each, and another one until the word is stored."""
    network = build("hypercube", n=16, group_entries=1, length=1)
    run = run_collective(network, "reduce", algorithm="network")
    assert (run.correct, run.cycles) == (True, 2 * 16 + 3)


@pytest.mark.parametrize("words", ["mesh k=5 n=2", "hypercube n=4", "fat-tree k=2 n=4", "ring k=9"])
def test_a_few_members_stand_for_a_large_group(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound and the middle by distances to 16 members, beside those by all distances."""
    network = build(words)
    members = range(network.ports)
    exact, best = collective_bound(network, "barrier", members, 0, 1), middle(network, members)
    monkeypatch.setattr("multicube.sim.measure.collective_bound._MOST_PAIRS", 0)
    assert collective_bound(network, "barrier", members, 0, 1) == exact
    apart = header_cycles(network, members, members)
    both = np.maximum(apart, apart.T).max(1)
    assert both[middle(network, members)] == both[best]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["allreduce", "barrier"])
def test_65536_terminals_of_a_fat_tree_meet(kind: str) -> None:
    """Six links to the root, two cycles for each; six more to all; and three cycles at the ends."""
    run = run_collective(build("fat-tree", k=16, n=4), kind, algorithm="network")
    assert (run.correct, run.cycles) == (True, 2 * 6 + 6 + 3)


@pytest.mark.long
def test_a_barrier_of_many_adds_random_words(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build("hypercube", n=3)
    few = run_collective(network, "barrier", algorithm="network")
    monkeypatch.setattr("multicube.sim.run.collective_run._MOST_BITS", 7)
    many = run_collective(network, "barrier", algorithm="network")
    assert (few.operation, many.operation) == ("or", "add")
    assert (few.correct, few.cycles) == (many.correct, many.cycles)
    with pytest.raises(ValueError, match=r"^Reduction must be add for the kind barrier .*not or$"):
        run_collective(
            network.altered(group_entries=1, reduction="or"), "barrier", algorithm="network"
        )
