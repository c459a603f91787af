# amaranth: UnusedElaboratable=no
"""Permutations that pass at once: against links counted here, in boxes, and in networks."""

import itertools
import random
import re
from collections import Counter

import numpy as np
import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Signal
from driving import evaluate
from long_runs import long
from multicube.hdl import build
from multicube.hdl.boxes import BoxState, InterchangeBox
from multicube.hdl.graphs.permutations import (
    bit_reversal,
    cyclic_shift,
    identity,
    lambda_map,
    perfect_shuffle,
)
from multicube.hdl.graphs.plans.extra_stage import extra_stage_plan
from multicube.hdl.graphs.plans.multistage import MultistagePlan
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.graphs.schedules.decomposition import decompose, direct_passes
from multicube.hdl.graphs.schedules.passes import (
    Conflict,
    Settings,
    conflicts,
    connections,
    links,
    passable,
    settings,
    state_name,
)
from multicube.sim.run.run_passes import run_passes

SIZES = [*((2, 2), (4, 2), (8, 2), (16, 2), (64, 2)), *((16, 4), (64, 4), (64, 8), (9, 3), (27, 3))]

every_plan = pytest.mark.parametrize("name", PLANS)
every_run = pytest.mark.parametrize(
    ("ports", "routing"),
    [
        (8, "destination"),
        (16, "xor"),
        *(
            long(*case)
            for case in ((8, "xor"), (16, "destination"), (64, "xor"), (64, "destination"))
        ),
    ],
)


def all_permutations(ports: int) -> np.ndarray:
    """N! rows."""
    return np.array(list(itertools.permutations(range(ports))))


def passed(name: str, permutations: np.ndarray) -> np.ndarray:
    """Which of the rows pass: in every stage no two of the lines that packets are on are one."""
    ports = permutations.shape[1]
    plan = multistage_plan(name, ports)
    lines = np.zeros((len(plan.stages), ports, ports), int)
    for source, destination in itertools.product(range(ports), repeat=2):
        for hop in plan.path(source, destination):
            lines[hop.stage, source, destination] = plan.line(hop.stage, hop.box, hop.output)
    used = np.bitwise_or.reduce(1 << lines[:, np.arange(ports), permutations], axis=2)
    return (used == (1 << ports) - 1).all(axis=0)


def random_settings(plan: MultistagePlan, generator: random.Random) -> Settings:
    ports = range(plan.radix)
    return [
        [tuple(generator.sample(ports, plan.radix)) for _ in range(plan.boxes)] for _ in plan.stages
    ]


@every_plan
@pytest.mark.parametrize("ports", [2, 4, long(8)])
def test_number_of_passable_permutations(name: str, ports: int) -> None:
    """N^(N/2) of N! (section V), by trying them all, in two ways."""
    plan = multistage_plan(name, ports)
    rows = all_permutations(ports)
    expected_rows = passed(name, rows)
    assert expected_rows.sum() == ports ** (ports // 2)
    assert expected_rows.tolist() == [passable(plan, row) for row in rows.tolist()]


def test_an_extra_stage_that_is_not_in_use() -> None:
    """Paths leave it out, so as many permutations pass as without it."""
    plan = extra_stage_plan(4)
    assert sum(passable(plan, row) for row in all_permutations(4).tolist()) == 16
    assert sum(not conflicts(plan, row) for row in all_permutations(4).tolist()) == 16


@pytest.mark.long
def test_different_settings_make_different_permutations() -> None:
    # All 2^12 of them for N = 8, and they make all that pass.
    plan = multistage_plan("cube", 8)
    made = set()
    for states in itertools.product(((0, 1), (1, 0)), repeat=12):
        made.add(tuple(connections(plan, [list(states[s : s + 4]) for s in (0, 4, 8)])))
    rows = all_permutations(8)
    assert made == set(map(tuple, rows[passed("cube", rows)].tolist()))


@pytest.mark.one_in(4)
@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_settings_undo_connections(name: str, ports: int, radix: int) -> None:
    plan = multistage_plan(name, ports, radix)
    generator = random.Random(ports)
    print(f"seed {ports}")
    for _ in range(5):
        chosen = random_settings(plan, generator)
        made = connections(plan, chosen)
        assert sorted(made) == list(range(ports))
        assert passable(plan, made)
        assert settings(plan, made) == chosen


@pytest.mark.one_in(4)
@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_settings_of_some_inputs_only(name: str, ports: int, radix: int) -> None:
    plan = multistage_plan(name, ports, radix)
    generator = random.Random(ports)
    print(f"seed {ports}")
    for silent in (1, ports // 2, ports):
        made = connections(plan, random_settings(plan, generator))
        partial: list[int | None] = list(made)
        for x in generator.sample(range(ports), silent):
            partial[x] = None
        assert passable(plan, partial)
        set_ = connections(plan, settings(plan, partial))
        assert [to for to, wanted in zip(set_, partial) if wanted is not None] == [
            to for to in partial if to is not None
        ]


@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_conflicts_are_the_links_of_several_paths(name: str, ports: int, radix: int) -> None:
    plan = multistage_plan(name, ports, radix)
    generator = random.Random(ports)
    print(f"seed {ports}")
    found = 0
    for silent in (0, 0, 0, ports // 2):
        destinations: list[int | None] = generator.sample(range(ports), ports)
        destinations[:silent] = [None] * silent
        # Every pair of sources whose paths meet is found, and no other.
        paths = [
            set() if to is None else {(h.stage, h.box, h.output) for h in plan.path(x, to)}
            for x, to in enumerate(destinations)
        ]
        users = Counter(link for path in paths for link in path)
        expected = [
            Conflict(*link, tuple(x for x, path in enumerate(paths) if link in path))
            for link in sorted(users)
            if users[link] > 1
        ]
        assert conflicts(plan, destinations) == expected
        assert passable(plan, destinations) == (not expected)
        found += len(expected)
    assert found or ports == radix


@pytest.mark.one_in(4)
@every_plan
@pytest.mark.parametrize(("ports", "radix"), SIZES)
def test_links_are_those_of_the_paths(name: str, ports: int, radix: int) -> None:
    plan = multistage_plan(name, ports, radix)
    for source, destination in itertools.product(range(ports), repeat=2):
        for hop, (before, after) in zip(plan.path(source, destination), links(plan)):
            assert before[source] + after[destination] == hop.box * radix + hop.output


@pytest.mark.parametrize("n", [1, 3, 6])
def test_settings_of_figure_6(n: int) -> None:
    """Input j to output j - 1: bit i changes where all lower bits, which lines keep, are 0."""
    for stage, column in enumerate(
        settings(multistage_plan("cube", 1 << n), cyclic_shift(1 << n, -1))
    ):
        for x, box in enumerate(column):
            borrow = x % (1 << n - 1 - stage) == 0
            assert state_name(box) == ("exchange" if borrow else "straight")


def test_state_name() -> None:
    assert state_name((0, 1)) == "straight"
    assert state_name((1, 0)) == "exchange"
    assert state_name((0, 1, 2)) == "straight"
    assert state_name((2, 0, 1)) == "2 0 1"


@pytest.mark.parametrize(
    ("destinations", "message"),
    [
        ([0, 1, 2], "Permutation must have 4 destinations, not 3"),
        ([0, 1, 2, 4], "Destination must be from 0 to 3, not 4"),
        ([0, -1, 2, 3], "Destination must be from 0 to 3, not -1"),
        ([0, 1, 1, None], "Destination 1 must be given only once"),
    ],
)
def test_permutation_rejects(destinations: list[int | None], message: str) -> None:
    plan = multistage_plan("cube", 4)
    for function in (conflicts, passable, settings, decompose, direct_passes):
        with pytest.raises(ValueError, match=f"^{message}$"):
            function(plan, destinations)
    with pytest.raises(ValueError, match=f"^{message}$"):
        run_passes(build("cube", ports=4), [destinations])


def test_settings_names_the_conflict() -> None:
    message = "Permutation does not pass: inputs 0 and 4 need output 0 of box 0 in stage 0"
    with pytest.raises(ValueError, match=f"^{message}$"):
        settings(multistage_plan("cube", 8), bit_reversal(8))


def test_connections_rejects_settings() -> None:
    plan = multistage_plan("cube", 4)
    message = re.escape("Settings must be for stages of 2, 2 boxes, not [2]")
    with pytest.raises(ValueError, match=f"^{message}$"):
        connections(plan, [[(0, 1), (0, 1)]])
    message = re.escape("Setting of a box must be a permutation of its 2 ports, not (0, 0)")
    with pytest.raises(ValueError, match=f"^{message}$"):
        connections(plan, [[(0, 1), (0, 1)], [(0, 1), (0, 0)]])


class Cube(Elaboratable):
    """A Generalized Cube of 2 x 2 interchange boxes and nothing else: all combinational.

    Stage i, from n - 1 down to 0, pairs the lines whose labels differ in bit i (section III-A).
    """

    def __init__(self, n: int) -> None:
        self.module = Module()
        ports = 1 << n
        self.i = lines = [Signal(n + 1, name=f"i{x}") for x in range(ports)]
        self.states = []
        for stage, bit in enumerate(reversed(range(n))):
            after = list(lines)
            column = []
            for upper in (x for x in range(ports) if not x >> bit & 1):
                pair = upper, upper | 1 << bit
                box = InterchangeBox(2, n + 1)
                self.module.submodules[f"box_{stage}_{upper}"] = box
                for port, x in enumerate(pair):
                    self.module.d.comb += box.i[port].eq(lines[x])
                    after[x] = box.o[port]
                column.append(box.state)
            self.states.append(column)
            lines = after
        self.o = lines

    def elaborate(self, platform: object) -> Module:
        return self.module


@pytest.mark.one_in(4)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_settings_drive_interchange_boxes(n: int) -> None:
    """Boxes set as the library says carry every input to where it shall go."""
    ports = 1 << n
    generator = random.Random(n)
    print(f"seed {n}")
    plan = multistage_plan("cube", ports)
    wanted = [identity(ports), *(lambda_map(ports, j, k) for j in (1, 3) for k in (1, ports - 1))]
    wanted += [connections(plan, random_settings(plan, generator)) for _ in range(50)]
    for blocked in (bit_reversal(ports), perfect_shuffle(ports)):
        assert not passable(plan, blocked)
        wanted += decompose(plan, blocked)
    cube = Cube(n)
    shown = []

    async def testbench(ctx: object) -> None:
        ctx.set(Cat(*cube.i), sum(x + 1 << x * (n + 1) for x in range(ports)))
        for destinations in wanted:
            for states, column in zip(cube.states, settings(plan, destinations)):
                for state, box in zip(states, column):
                    ctx.set(state, BoxState[state_name(box).upper()])
            await ctx.delay(1e-9)
            shown.append([ctx.get(line) for line in cube.o])

    evaluate(cube, testbench)
    for destinations, outputs in zip(wanted, shown, strict=True):
        assert [outputs[to] for to in destinations] == [x + 1 for x in range(ports)]


@pytest.mark.long
@every_run
def test_bit_reversal_in_two_passes(ports: int, routing: str) -> None:
    """No packet waits in either pass, and some do in a single one."""
    network = build("cube", ports=ports, routing=routing)
    passes = decompose(network.plan, bit_reversal(ports))
    assert len(passes) == 2
    assert [passes[1][via] for via in passes[0]] == bit_reversal(ports)
    first, second, single = run_passes(network, [*passes, bit_reversal(ports)], bins=32)
    for result in (first, second):
        assert result.latency.histogram == [0] * network.stages + [ports]
    # 2^(n//2) packets want the same link after half of the stages.
    assert single.latency.max > network.stages
    assert single.delivered == ports


@pytest.mark.one_in(2)
@every_run
def test_perfect_shuffle_in_two_passes(ports: int, routing: str) -> None:
    """As the paper does it: first the terminals 0x..x send, then the terminals 1x..x."""
    network = build("cube", ports=ports, routing=routing)
    shuffle = perfect_shuffle(ports)
    passes = direct_passes(network.plan, shuffle)
    half = ports // 2
    assert passes == [[*shuffle[:half], *[None] * half], [*[None] * half, *shuffle[half:]]]
    first, second, single = run_passes(network, [*passes, shuffle], bins=32)
    for result in (first, second):
        assert result.latency.histogram == [0] * network.stages + [half]
    # Pairs of packets want the same links.
    assert single.latency.max == network.stages + 1
    assert single.delivered == ports


@pytest.mark.long
def test_run_passes_of_an_empty_pass() -> None:
    with pytest.raises(ValueError, match=r"^Trace pass 2 holds no packets$"):
        run_passes(build("cube", ports=2), [[0, 1], [None, None]])


@pytest.mark.parametrize("switch", ["circuit", "wormhole"])
def test_passes_take_the_cycles_of_a_packet_alone(switch: str) -> None:
    """One more than there are boxes: for setting up, or in the retry interface."""
    network = build("cube", ports=4, switch=switch, policy="drop")
    (result,) = run_passes(network, [[1, None, 3, None]], bins=32)
    assert result.latency.max == network.zero_load_cycles == network.stages + 1
