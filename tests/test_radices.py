# amaranth: UnusedElaboratable=no
"""Boxes of any radix (Siegel et al., III-E): broadcasts, partitions and the extra stage in base b
and in mixed radices, against enumerations that know nothing but digits."""

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from deliveries import deliveries
from long_runs import long
from multicube.hdl import MultistageNetwork, build
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.graphs.partitions import Partition, Subnetwork, check_mask, effective_tag
from multicube.hdl.graphs.plans.extra_stage import Fault, extra_stage_plan
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.graphs.tags import TagScheme
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.sim import simulate
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.theory.prediction import predict
from multicube.sim.theory.unbuffered_bandwidth import dilated_throughput, unbuffered_throughput
from scripted_terminals import payload_of, records_of, scripted, word_of
from subsets import legal_sets, tilings

SAME_DIGITS = ["cube", "omega", "indirect-cube", "flip"]
every_routing = pytest.mark.parametrize("routing", ["destination", "difference"])


def split(number: int, radices: Sequence[int]) -> list[int]:
    """The digits of a number, the least significant first."""
    digits = []
    for radix in radices:
        digits.append(number % radix)
        number //= radix
    return digits


def tag_of(plan: Any, routing: str, source: int, destination: int) -> list[int]:
    """The digit that each box on a path must read."""
    return [
        hop.output if routing == "destination" else (hop.output - hop.input) % radix
        for hop, radix in zip(plan.path(source, destination), plan.radices)
    ]


def packed(digits: Sequence[int], radices: Sequence[int]) -> int:
    """A tag: the first stage's digit on top, each as wide as it needs to be."""
    tag = 0
    for digit, radix in zip(digits, radices):
        tag = tag << (radix - 1).bit_length() | digit
    return tag


# Tags


@every_routing
@pytest.mark.parametrize(
    ("ports", "radix"),
    [(3, 3), (5, 5), (6, 6), (7, 7), (9, 3), (12, "2x3x2"), long(343, 7), long(125, 5)],
)
@pytest.mark.parametrize("name", SAME_DIGITS)
def test_tags(name: str, ports: int, radix: int | str, routing: str) -> None:
    """For all pairs; the destination is found from the tag, and the source if it is a difference,
    whose negative leads back."""
    plan = multistage_plan(name, ports, radix)
    tags = plan.tags(routing)
    for source, destination in itertools.product(range(ports), repeat=2):
        digits = tag_of(plan, routing, source, destination)
        tag = packed(digits, plan.radices)
        assert tags.tag(source, destination) == tag
        assert tags.destination(tag, source) == destination
        assert tags.source(tag, destination) == (source if routing == "difference" else None)
        if routing == "difference":
            back = packed([-d % b for d, b in zip(digits, plan.radices)], plan.radices)
            assert tags.destination(back, destination) == source


# Broadcasts


def copies(plan: Any, routing: str, source: int, tag: int, mask: int) -> list[int]:
    """The destinations whose tag equals one where the mask is 0."""
    return [
        destination
        for destination in range(plan.ports)
        if (packed(tag_of(plan, routing, source, destination), plan.radices) ^ tag) & ~mask == 0
    ]


@every_routing
@pytest.mark.parametrize(("ports", "radix"), [(5, 5), long(9, 3), (6, "3x2")])
def test_masks_reach_all_that_they_should(ports: int, radix: int | str, routing: str) -> None:
    """All tags and masks from all sources; a set of outputs has a mask or is refused."""
    plan = multistage_plan("cube", ports, radix)
    tags = plan.tags(routing)
    for source in range(ports):
        sets = {}
        for destination, mask in itertools.product(range(ports), range(1 << tags.code.width)):
            tag = tags.tag(source, destination)
            reached = copies(plan, routing, source, tag, mask)
            assert tags.destinations(tag, mask, source) == reached
            sets[tuple(reached)] = (tag & ~mask, mask)
        assert tuple(range(ports)) in sets
        for size in range(1, ports + 1):
            for outputs in itertools.combinations(range(ports), size):
                if outputs in sets:
                    tag, mask = tags.broadcast(source, outputs)
                    assert copies(plan, routing, source, tag, mask) == list(outputs)
                else:
                    with pytest.raises(ValueError, match=r"^Outputs of a broadcast must be all"):
                        tags.broadcast(source, outputs)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "switch", "routing"),
    [
        (6, "2x3", "input-queued", "difference"),
        long(9, 3, "output-queued", "destination"),
        long(9, 3, "output-queued", "difference"),
        long(25, 5, "input-queued", "difference"),
    ],
)
def test_all_broadcasts_of_a_network(
    ports: int, radix: int | str, switch: str, routing: str
) -> None:
    """Every source sends every tag with every mask, all at once: one copy for each destination."""
    network = MultistageNetwork(
        ports, radix=radix, switch=switch, routing=routing, broadcast=1, depth=2
    )
    generator = random.Random(ports)
    print(f"seed {ports}")
    expected: list[Counter[int]] = [Counter() for _ in range(ports)]
    scripts = []
    for source in range(ports):
        pairs = list(itertools.product(range(ports), range(1 << network.tags.code.width)))
        generator.shuffle(pairs)
        script = []
        for number, (destination, mask) in enumerate(pairs):
            tag = network.tags.tag(source, destination)
            word = word_of(network.packet, tag, mask, number % 2**11 << 5 | source)
            script.append(word)
            for reached in copies(network.plan, routing, source, tag, mask):
                expected[reached][word] += 1
        scripts.append(script)
    most = max(counter.total() for counter in expected)
    engine = CompiledEngine(scripted(network, scripts, most + 8, waits=True))
    engine.set("limit", len(scripts[0]))
    engine.step(4 * most)
    assert [Counter(words) for words in records_of(engine, ports)] == expected


@pytest.mark.long
def test_random_broadcasts_are_counted() -> None:
    """By sources and sinks, whose numbers of copies agree."""
    network = MultistageNetwork(9, radix=3, broadcast=1, routing="difference")
    result = simulate(network, load=0.05, cycles=500)
    assert result.delivered > 150


# Partitions

RADICES = [(9, 3), (5, 5), (6, 6), (6, "2x3"), long(12, "3x4")]


@pytest.mark.parametrize(("ports", "radix"), RADICES)
def test_subnetworks_are_the_legal_sets(ports: int, radix: int | str) -> None:
    code = multistage_plan("cube", ports, radix).code
    sets = legal_sets(code.radices)
    for size in range(1, ports + 1):
        for members in itertools.combinations(range(ports), size):
            if members in sets:
                subnetwork = Subnetwork.of(code, members[::-1])
                assert subnetwork.members == list(members)
                assert [t for t in range(-1, ports + 1) if t in subnetwork] == list(members)
            else:
                with pytest.raises(ValueError, match=r"^Members of a subnetwork must be all"):
                    Subnetwork.of(code, members)


def fits(tags: TagScheme, mask: int) -> bool:
    try:
        check_mask(tags, mask)
    except ValueError:
        return False
    return True


@every_routing
@pytest.mark.parametrize(("ports", "radix"), [(9, 3), (6, "2x3"), (6, 6)])
@pytest.mark.parametrize("name", ["cube", *map(long, SAME_DIGITS[1:])])
def test_all_partitions(name: str, ports: int, radix: int | str, routing: str) -> None:
    """Effective tags lead to the members, and parts share no link. With difference tags, masks fix
    whole digits, or the lowest bits of one."""
    plan = multistage_plan(name, ports, radix)
    tags = plan.tags(routing)
    code = plan.code
    partitions = [
        Partition.of_members(code, groups) for groups in tilings(ports, legal_sets(code.radices))
    ]
    tag_codes = [tags.tag(0, destination) for destination in range(ports)]
    for partition in partitions:
        used = []
        for part in partition.subnetworks:
            pairs = itertools.product(part.members, repeat=2)
            used.append({(h.stage, h.box, h.output) for pair in pairs for h in plan.path(*pair)})
            if not fits(tags, part.mask):
                assert routing == "difference"
                assert radix == 6
                continue
            for source in part.members:
                reached = {
                    tags.destination(effective_tag(tags, part.mask, source, tag), source)
                    for tag in tag_codes
                }
                assert reached == set(part.members)
                for member in part.members:
                    tag = tags.tag(source, member)
                    assert effective_tag(tags, part.mask, source, tag) == tag
        assert sum(map(len, used)) == len(set().union(*used))


def test_masks_of_base_six() -> None:
    """By hand: what is fixed is nothing, the digit, its lowest bit, or all but that. With
    differences, only multiples of two may be added when the lowest bit is fixed."""
    tags = multistage_plan("cube", 6, 6)
    assert [m for m in range(8) if fits(tags.tags(), m)] == [0b000, 0b001, 0b110, 0b111]
    assert [m for m in range(8) if fits(tags.tags("difference"), m)] == [0b000, 0b110, 0b111]
    binary = multistage_plan("cube", 4, 4).tags("difference")
    assert [m for m in range(4) if fits(binary, m)] == [0b00, 0b10, 0b11]
    message = r"^Mask of a partition can't be 011 in digit 0 of radix 6 with routing=destination$"
    with pytest.raises(ValueError, match=message):
        effective_tag(tags.tags(), 0b011, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("routing", ["difference", long("destination")])
def test_partitioned_hardware(routing: str) -> None:
    """All partitions of nine terminals, one after the other: every tag with random masks never
    leads out, and reaches those members that it should."""
    network = MultistageNetwork(9, radix=3, routing=routing, broadcast=1, switch="input-queued")
    tags, code = network.tags, network.tags.code
    partitions = [
        Partition.of_members(code, groups) for groups in tilings(9, legal_sets(code.radices))
    ]
    generator = random.Random(9)
    print("seed 9")
    expected: list[Counter[int]] = [Counter() for _ in range(9)]
    scripts = []
    for source in range(9):
        script = []
        for phase, partition in enumerate(partitions):
            part = partition.of(source)
            allowed = tags.in_stage_order(part.mask)
            for to in range(9):
                tag, mask = tags.tag(source, to), generator.randrange(16)
                payload = phase << 8 | to << 4 | source
                script.append(word_of(network.packet, tag, mask, payload))
                sent = effective_tag(tags, part.mask, source, tag)
                reached = copies(network.plan, routing, source, sent, mask & allowed)
                assert set(part.members).issuperset(reached)
                for destination in reached:
                    expected[destination][payload] += 1
        scripts.append(script)
    fabric = scripted(PartitionedNetwork(network), scripts, 2000, waits=True)
    engine = CompiledEngine(fabric)
    for phase, partition in enumerate(partitions, start=1):
        for part in partition.subnetworks:
            engine.set("mask", part.mask)
            engine.set("mask_member", code.encode(part.members[-1]))
            engine.set("mask_write", 1)
            engine.step(1)
        engine.set("mask_write", 0)
        engine.set("limit", 9 * phase)
        engine.step(300)
    given = [
        Counter(payload_of(network.packet, word) for word in words)
        for words in records_of(engine, 9)
    ]
    assert given == expected


# The Extra Stage Cube


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "ports", "radix", "routing"),
    [
        ("cube", 9, 3, "destination"),
        ("omega", 8, 2, "xor"),
        ("flip", 6, "2x3", "difference"),
        *(
            long(*size, routing)
            for routing in ("destination", "difference", "xor")
            for size in [
                *[("cube", 9, 3), ("omega", 9, 3), ("indirect-cube", 9, 3), ("flip", 9, 3)],
                *[("flip", 12, "2x2x3"), ("omega", 16, 4), ("cube", 24, "2x4x3"), ("cube", 5, 5)],
            ]
        ),
    ],
)
def test_every_single_fault_leaves_every_pair_connected(
    name: str, ports: int, radix: int | str, routing: str
) -> None:
    """All boxes and links, all pairs. A model of the boxes: each takes the top digit of the tag and
    rotates it, also where bypassed; lines are those of the plan without the extra stage."""
    plan, base = extra_stage_plan(ports, radix, name), multistage_plan(name, ports, radix)
    if routing == "xor" and any(b & b - 1 for b in base.radices):
        pytest.skip("no XOR tags")
    n = len(base.stages)
    places = list(plan.faults())
    assert len(set(places)) == sum(ports // b + 2 * ports for b in plan.radices)
    widths = [(b - 1).bit_length() for b in plan.radices]
    width = sum(widths)
    # The extra stage pairs inputs that end at the same box of the last stage.
    together = [base.path(line, 0)[-1] for line in range(ports)]
    for fault in [None, *places]:
        configuration = plan.configure([] if fault is None else [fault])
        for source, destination in itertools.product(range(ports), repeat=2):
            tag = sent = plan.tag(source, destination, configuration, routing)
            line, used, hops = source, set(), []
            for stage in range(n + 1):
                digit = tag >> width - widths[stage]
                tag = (tag << widths[stage] | digit) & (1 << width) - 1
                line = plan.relabel(stage, line)
                bypassed = (stage == 0 and configuration.bypass_extra) or (
                    stage == n and configuration.bypass_last
                )
                if bypassed:
                    continue
                box, port = plan.port(stage, line)
                if stage == 0:
                    assert port == together[line].input
                output = {
                    "destination": digit,
                    "difference": (digit + port) % plan.radices[stage],
                    "xor": digit ^ port,
                }[routing]
                used |= {("box", stage, box), ("entry", stage, line)}
                line = plan.line(stage, box, output)
                used.add(("link", stage, line))
                hops.append((stage, box, port, output))
            line = plan.relabel(n + 1, line)
            assert (line, tag) == (destination, sent), (fault, source)
            assert fault is None or (fault.kind, fault.stage, fault.index) not in used
            assert hops == plan.path(source, destination, configuration, routing)


def test_b_paths_share_nothing_between_the_outer_stages() -> None:
    plan = extra_stage_plan(9, 3)
    for pair in itertools.product(range(9), repeat=2):
        crossed = [plan.crossed(path) for path in plan.paths(*pair)]
        assert len(crossed) == 3
        for one, other in itertools.combinations(crossed, 2):
            assert {place.stage for place in one & other} == {0, plan.last}


@pytest.mark.long
@pytest.mark.parametrize(
    ("parameters", "step"),
    [
        ({"ports": 6, "radix": "2x3", "routing": "difference", "wiring": "flip"}, 3),
        long({"ports": 9, "radix": 3}, 1),
        long({"ports": 9, "radix": 3, "routing": "difference", "wiring": "flip"}, 1),
        long({"ports": 16, "radix": 4, "routing": "xor", "wiring": "omega", "parity": "packet"}, 1),
        long({"ports": 9, "radix": 3, "switch": "circuit", "wiring": "indirect-cube"}, 1),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else " ".join(map(str, value.values())),
)
def test_hardware_tolerates_single_faults(parameters: dict[str, Any], step: int) -> None:
    """Each box and each link is dead in turn; all pairs get through."""
    network = MultistageNetwork(**parameters, extra_stage=1)
    faults = list(network.plan.faults())[::step]
    cycles = 900 if network.transparent else 250
    results = deliveries(network, [(str(fault), [fault]) for fault in faults], cycles)
    pairs = network.ports**2
    assert results == [(pairs, pairs)] * len(faults)


@pytest.mark.long
def test_hardware_that_is_told_wrong_loses_packets() -> None:
    network = MultistageNetwork(9, radix=3, extra_stage=1)
    cases = [(f"link:1:{told}", [Fault("link", 1, dead)]) for told in (2, 3) for dead in (2, 3)]
    results = deliveries(network, cases, 250)
    assert [delivered == 81 for _, delivered in results] == [True, False, False, True]


# Mixed radices


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "radix"),
    [
        ("butterfly", "4x2x3"),
        *(long(name, radix) for name in PLANS for radix in ("2x3", "4x2x2", "2x4x3x2")),
    ],
)
def test_networks_of_mixed_radices(name: str, radix: str) -> None:
    """Each packet takes as many cycles as there are stages if it is alone, and all arrive."""
    network = build(name, radix=radix)
    assert network.ports == math.prod(map(int, radix.split("x")))
    result = simulate(network, load=0.2, cycles=400)
    assert result.lost == result.misrouted == result.reordered == 0
    assert result.latency.histogram[: network.stages] == [0] * network.stages
    assert result.delivered > 0.15 * 400 * network.ports


def test_equal_radices_are_one() -> None:
    network = MultistageNetwork(64, radix="4x4x4")
    assert network.parameters == MultistageNetwork(64, radix=4).parameters
    assert MultistageNetwork(radix="4+").parameters == MultistageNetwork(16, radix=4).parameters
    assert MultistageNetwork(128, radix="4+").parameters["radix"] == "4x4x4x2"
    assert MultistageNetwork(radix=3).ports == 9


def test_box_modules_are_one_per_radix() -> None:
    network = MultistageNetwork(radix="3x2x3", depth=1)
    assert len({cell.type for cell in network.fabric.cells.values()}) == 2


@pytest.mark.long
def test_verilog_has_one_module_per_radix() -> None:
    network = MultistageNetwork(radix="3x2x3", depth=1)
    text = verilog_text(network.fabric)
    assert len(re.findall(r"^module \w*output_queued_switch\w* \(", text, re.M)) == 2


@pytest.mark.long
@pytest.mark.parametrize("parameters", [{}, pytest.param({"dilation": 2}, marks=pytest.mark.long)])
def test_formulas_of_mixed_radices(parameters: dict[str, int]) -> None:
    """Unbuffered, at full load: recurrence (1) stage by stage, against the hardware."""
    network = MultistageNetwork(radix="8x4x2", switch="unbuffered", **parameters)
    predicted = predict(network, 1.0, uniform=True)["throughput"]
    if not parameters:
        p = 1.0
        for k in (8, 4, 2):
            p = 1 - (1 - p / k) ** k
        assert predicted == pytest.approx(p)
        assert unbuffered_throughput(1, [8, 4, 2], 3) == pytest.approx(p)
    else:
        assert predicted == dilated_throughput(1, [8, 4, 2], 3, 2)
    other = predict(network.altered(radix="2x4x8"), 1.0, uniform=True)["throughput"]
    assert predicted is not None
    assert abs(predicted - other) > 0.003
    result = simulate(network, load=1.0, cycles=3000)
    assert result.throughput == pytest.approx(predicted, rel=0.01)
