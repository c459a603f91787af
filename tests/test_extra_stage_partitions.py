# amaranth: UnusedElaboratable=no
"""Partitions of an Extra Stage Cube that avoids a fault: which are kept, in the plan and as RTL."""

import itertools
from dataclasses import replace
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from command_line import Call
from disturbance import BEHAVIOURS, Disturbed
from driving import evaluate
from long_runs import long
from multicube.hdl import PartitionedNetwork, build
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.isolation import shared_channel
from multicube.hdl.graphs.mask_rule import MaskRule
from multicube.hdl.graphs.partitions import Partition, Subnetwork
from multicube.hdl.graphs.plans.extra_stage import ExtraStagePlan, Fault, extra_stage_plan
from multicube.hdl.graphs.tags import Routing
from multicube.hdl.terminals.mask_guard import MaskGuard
from subsets import legal_sets, tilings

EVEN_ODD = Partition.of_members(8, [[0, 2, 4, 6], [1, 3, 5, 7]])


Used = dict[tuple[int, ...], set[Fault]]
"""The lines that packets use, by source and destination."""


@cache
def partitions(ports: int, radix: int | str = 2) -> list[Partition]:
    """All partitions into subnetworks."""
    code = extra_stage_plan(ports, radix).code
    groups = tilings(ports, legal_sets(code.radices))
    return [Partition.of_members(code, each) for each in groups]


def lines_used(plan: ExtraStagePlan, faults: set[Fault], routing: Routing = "destination") -> Used:
    """The lines that packets of each pair use: those of the primary path, or of the secondary one
    if there is a fault on it; of the only path, if all faults are in the extra or last stage."""
    configuration = plan.configure(faults)
    used = {}
    for pair in itertools.product(range(plan.ports), repeat=2):
        places = plan.crossed(plan.path(*pair, configuration, routing))
        if not (configuration.bypass_extra or configuration.bypass_last):
            paths = {path[0].output: plan.crossed(path) for path in plan.paths(*pair)}
            entry = plan.paths(*pair)[0][0].input
            places = paths[entry]
            if places & faults:
                places = paths[entry ^ 1 if routing == "xor" else (entry + 1) % plan.radices[0]]
        assert not places & faults
        used[pair] = {place for place in places if place.kind != "box"}
    return used


def lines_of(part: Subnetwork, used: Used) -> set[Fault]:
    return set().union(*(used[pair] for pair in itertools.product(part.members, repeat=2)))


def isolated(ports: int, used: Used) -> list[bool]:
    """For each partition, whether no line is used by two of its subnetworks."""
    numbers = {line: number for number, line in enumerate(set().union(*used.values()))}

    def bits(part: Subnetwork) -> int:
        return sum(1 << numbers[line] for line in lines_of(part, used))

    parts = {part for each in partitions(ports) for part in each.subnetworks}
    lines = {part: bits(part) for part in parts}
    used_by = ([lines[part] for part in each.subnetworks] for each in partitions(ports))
    return [sum(each) == reduce(or_, each) for each in used_by]


def together(*pairs: tuple[int, int]) -> int:
    """The number of partitions of eight terminals that separate none of these pairs."""
    return sum(
        all(partition.of(a) == partition.of(b) for a, b in pairs) for partition in partitions(8)
    )


def accepted(rule: MaskRule | None, partition: Partition) -> bool:
    if rule is None or all(map(rule.keeps, partition.subnetworks)):
        return True
    message = (
        r"^Subnetwork of terminals [\d, ]+ can't be kept apart: .*, unless its mask [01]+ has "
    )
    with pytest.raises(ValueError, match=message + r"the ones of [01]+$"):
        rule.check(partition)
    return False


@pytest.mark.parametrize("wiring", ["cube", long("omega"), long("indirect-cube"), long("flip")])
def test_refusals_are_exact(wiring: str) -> None:
    """All 154 partitions of eight terminals, with each single fault, and so with each bypass: those
    are accepted whose subnetworks share no line, and no others."""
    plan = extra_stage_plan(8, wiring=wiring)
    counts = set()
    for fault in plan.faults():
        rule = plan.mask_rule(plan.configure([fault]))
        kept = isolated(8, lines_used(plan, {fault}))
        assert [accepted(rule, partition) for partition in partitions(8)] == kept
        counts.add((fault.stage in (0, plan.last), fault.kind, sum(kept)))
    # The two addresses of the line and of the one beside it stay together; at a box there are two
    # such pairs.
    one, two = together((4, 5)), together((4, 5), (6, 7))
    assert (one, two) == (43, 22)
    ends = {(True, kind, 154) for kind in ("box", "entry", "link")}
    assert counts == ends | {(False, "entry", one), (False, "link", one), (False, "box", two)}


@pytest.mark.long
def test_refusals_are_exact_for_sets_of_faults() -> None:
    """All pairs of faults that are tolerated."""
    plan = extra_stage_plan(8)
    tolerated = 0
    for pair in itertools.combinations(plan.faults(), 2):
        try:
            configuration = plan.configure(pair)
        except ValueError:
            continue
        tolerated += 1
        rule = plan.mask_rule(configuration)
        kept = isolated(8, lines_used(plan, set(pair)))
        assert [accepted(rule, partition) for partition in partitions(8)] == kept
    assert tolerated > 190 * 2


@pytest.mark.parametrize(
    ("ports", "radix", "routing"),
    [
        long(9, 3, "destination"),
        long(9, 3, "difference"),
        long(8, 2, "xor"),
        long(16, 4, "xor"),
        long(16, 4, "destination"),
        long(12, "2x6", "destination"),
    ],
)
def test_refusals_are_exact_in_base_b(ports: int, radix: int | str, routing: Routing) -> None:
    """By pairs of subnetworks: two that are kept share no line, and one that is not kept shares one
    with a terminal outside, which every partition has."""
    plan = extra_stage_plan(ports, radix)
    members = legal_sets(plan.code.radices)
    parts = [Subnetwork.of(plan.code, each) for each in members]
    for fault in plan.faults():
        if fault.stage in (0, plan.last):
            continue
        rule = plan.mask_rule(plan.configure([fault]), routing)
        assert rule is not None
        used = lines_used(plan, {fault}, routing)
        lines = {part: lines_of(part, used) for part in parts}
        alone = [part for part in parts if part.size == 1]
        for part in parts:
            shares = any(lines[part] & lines[a] for a in alone if not a.overlaps(part))
            if rule.keeps(part):
                kept = (other for other in parts if rule.keeps(other) and not part.overlaps(other))
                assert not any(lines[part] & lines[other] for other in kept)
            else:
                assert shares


def test_rule_says_what_paths_say() -> None:
    """The general check of channels finds the lines that some subnetworks would share."""
    network = build("cube", extra_stage=1, faults="box:1:3")
    channel, (one, other) = shared_channel(network)
    assert (str(channel), str(one), str(other)) == ("box_0_1.o.0", "0, 2", "1, 3")
    assert not all(map(network.mask_rule.keeps, (one, other)))
    assert build("cube", extra_stage=1).mask_rule is None
    assert build("cube", extra_stage=1, faults="box:3:1").mask_rule is None


# The hardware.


@pytest.mark.parametrize("fault", ["link:2:5", long("box:1:2"), long("entry:1:0")])
def test_guard_refuses_what_is_not_kept(fault: str) -> None:
    """All masks and members."""
    rule = build("cube", extra_stage=1, faults=fault).mask_rule
    dut = MaskGuard(3, rule)

    async def testbench(ctx: Any) -> None:
        for mask, member, write in itertools.product(range(8), range(8), (0, 1)):
            ctx.set(dut.mask, mask)
            ctx.set(dut.mask_member, member)
            ctx.set(dut.mask_write, write)
            await ctx.delay(1e-9)
            kept = rule.keeps(Subnetwork(3, mask, member & ~mask))
            found = ctx.get(dut.write), ctx.get(dut.refused)
            assert found == (write & kept, write & (not kept))

    evaluate(dut, testbench)


@pytest.mark.parametrize(("label", "care", "free"), [(0b001, 0b011, 0b101), (0b010, 0b110, 0b011)])
def test_guard_of_any_rule(label: int, care: int, free: int) -> None:
    """Also bits that do not matter, and several that must be free."""
    rule = MaskRule(label, care, free)
    dut = MaskGuard(3, rule)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.mask_write, 1)
        for mask, member in itertools.product(range(8), repeat=2):
            ctx.set(dut.mask, mask)
            ctx.set(dut.mask_member, member)
            members = [member ^ bits for bits in range(8) if bits & ~mask == 0]
            applies = any((each ^ label) & care == 0 for each in members)
            assert ctx.get(dut.write) == (not applies or free & ~mask == 0)

    evaluate(dut, testbench)


class Absent(MaskGuard):
    """Lets everything pass."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.write.eq(self.mask_write)
        return m


def unguarded(network: PartitionedNetwork) -> FabricComponent:
    fabric = network.fabric
    cell = fabric.cells["mask_guard"]
    fabric.cells["mask_guard"] = replace(cell, type=CellType(Absent, **cell.type.parameters))
    return FabricComponent(fabric)


FAULTY = {"ports": 8, "extra_stage": 1, "faults": "link:2:5", "payload": 4}


@pytest.mark.long
def test_odd_terminals_can_not_stop_even_ones() -> None:
    """Without the guard they did: the secondary path of odd packets is on lines of even ones."""
    network = Disturbed(unguarded(PartitionedNetwork(build("cube", **FAULTY))), range(0, 8, 2), 1)
    for part in EVEN_ODD.subnetworks:
        network.write(part)
    seen = dict(zip(BEHAVIOURS, network.seen(300)))
    assert seen["idle"] != seen["stalled"]

    network = Disturbed(PartitionedNetwork(build("cube", **FAULTY)), range(0, 8, 2), 1)
    for part, refused in zip(EVEN_ODD.subnetworks, (0, 1)):
        network.engine.set("mask", part.mask)
        network.engine.set("mask_member", part.value)
        network.engine.set("mask_write", 1)
        assert network.get(("mask_refused",)) == refused
        network.engine.step(1)
        network.engine.set("mask_write", 0)
        assert network.get(("mask_refused",)) == 0
    masks = [network.engine.get(Pin(f"partition_{n}", ("in_force",))) for n in range(8)]
    assert masks == [0b110, 0b111] * 4


CASES = [
    ("link:2:5", {}, [[0, 1, 4, 5], [2, 3, 6, 7]]),
    ("link:2:5", {"broadcast": 1, "routing": "xor"}, [[4, 5], [0, 1], [2, 6], [3, 7]]),
    long("link:2:5", {"switch": "input-queued"}, [[4, 5], [0, 2], [1, 3], [6, 7]]),
    long("box:1:2", {"broadcast": 1}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    long("entry:1:6", {"wiring": "omega"}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    long("link:2:5", {"switch": "circuit", "parity": "byte"}, [[0, 1, 4, 5], [2, 3, 6, 7]]),
    long("box:3:1", {}, [[0, 2, 4, 6], [1, 3, 5, 7]]),
    long("box:0:1", {"broadcast": 1}, [[0, 2, 4, 6], [1, 3, 5, 7]]),
]


@pytest.mark.long
@pytest.mark.parametrize(("fault", "parameters", "groups"), CASES)
def test_subnetworks_that_are_kept_do_not_disturb_each_other(
    fault: str, parameters: dict[str, Any], groups: list[list[int]]
) -> None:
    """Each sees the same in every cycle, whatever the others do."""
    wiring = parameters.get("wiring", "cube")
    given = {name: value for name, value in parameters.items() if name != "wiring"}
    network = build(wiring, **{**FAULTY, **given, "faults": fault})
    partition = Partition.of_members(8, groups)
    for part in partition.subnetworks:
        disturbed = Disturbed(PartitionedNetwork(network), part.members, 2)
        for each in range(8):
            if each == partition.of(each).members[0]:
                disturbed.write(partition.of(each))
        idle, *others = disturbed.seen(150)
        assert delivered_to(part, idle) > 50
        for seen in others:
            assert seen == idle


def delivered_to(part: Subnetwork, seen: list[dict[tuple, int]]) -> int:
    return sum(each["o", member, "valid"] for each in seen for member in part.members)


@pytest.mark.long
def test_command_exports_partitions_around_a_fault(call: Call) -> None:
    """PASM has both; without a fault there is nothing to refuse."""
    for faults, refuses in (("link:2:5", True), ("link:4:5", False)):
        outcome = call("export", "pasm", f"faults={faults}", "--partitions", "-o", "pasm.v")
        assert (outcome.status, outcome.err) == (0, "")
        assert ("mask_refused" in Path("pasm.v").read_text()) == refuses
