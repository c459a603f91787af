# amaranth: UnusedElaboratable=no
"""Delta networks and SW-banyans: boxes of other numbers of inputs and outputs, from sources to
sinks of other numbers."""

import itertools
import pickle
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from command_line import Call, command_refusals
from long_runs import long
from multicube.hdl import AxiStreamNetwork, Network, build
from multicube.hdl.graphs.plans.multistage import MultistagePlan
from multicube.hdl.graphs.plans.named_plans import PLANS, delta_plan
from multicube.sim import Trace, TracePacket, pattern, predict, simulate
from multicube.sim.theory.unbuffered_bandwidth import sinks_per_source, unbuffered_throughput
from refusals import refusals

Sides = tuple[tuple[int, ...], tuple[int, ...]]

SHAPES: list[Sides] = [
    ((4, 4), (3, 3)),  # the example of Patel's paper
    ((2, 2, 2), (3, 3, 3)),
    ((4, 2), (2, 3)),
    ((3, 2, 4), (2, 4, 3)),
    ((4, 2), (2, 4)),
]
SWITCHES = ["unbuffered", "single-buffered", "input-queued", "output-queued", "wormhole"]


def digits_of(number: int, radices: tuple[int, ...]) -> list[int]:
    """The most significant first."""
    digits = []
    for radix in reversed(radices):
        number, digit = divmod(number, radix)
        digits.append(digit)
    return digits[::-1]


# The wiring.


@pytest.mark.parametrize("sides", SHAPES)
@pytest.mark.parametrize("wiring", PLANS)
def test_every_path_is_unique(wiring: str, sides: Sides) -> None:
    """All paths from each source, counted by the sink that they lead to: one path each."""
    inputs, outputs = sides
    plan = delta_plan(wiring, inputs, outputs)
    assert (plan.sources, plan.sinks) == (prod(inputs), prod(outputs))
    stages = range(len(inputs))
    columns = [prod(inputs[s + 1 :]) * prod(outputs[:s]) for s in stages]
    assert list(plan.columns) == columns
    for source in range(plan.sources):
        lines = Counter([source])
        for s in stages:
            boxes = Counter()
            for line, count in lines.items():
                boxes[plan.port(s, plan.relabel(s, line))[0]] += count
            lines = Counter()
            for box, count in boxes.items():
                for output in range(outputs[s]):
                    lines[plan.line(s, box, output)] += count
        sinks = Counter()
        for line, count in lines.items():
            sinks[plan.relabel(len(inputs), line)] += count
        assert sinks == Counter(range(plan.sinks)), source


@pytest.mark.parametrize("sides", SHAPES)
@pytest.mark.parametrize("wiring", PLANS)
def test_each_line_has_one_box_at_each_end(wiring: str, sides: Sides) -> None:
    inputs, outputs = sides
    plan = delta_plan(wiring, inputs, outputs)
    before = set(range(plan.sources))
    for s in range(len(inputs)):
        entries = {plan.port(s, plan.relabel(s, line)) for line in before}
        assert entries == set(itertools.product(range(plan.columns[s]), range(inputs[s])))
        exits = itertools.product(range(plan.columns[s]), range(outputs[s]))
        before = {plan.line(s, *each) for each in exits}
        assert before == set(range(plan.columns[s] * outputs[s]))
    assert {plan.relabel(len(inputs), line) for line in before} == set(range(plan.sinks))


@pytest.mark.parametrize("sides", SHAPES)
@pytest.mark.parametrize("wiring", PLANS)
def test_tags_lead_to_all_destinations(wiring: str, sides: Sides) -> None:
    """Whatever the source, and the path of the plan is the one that the tag sets."""
    plan = delta_plan(wiring, *sides)
    tags = plan.tags()
    for source, destination in itertools.product(range(plan.sources), range(plan.sinks)):
        tag = tags.tag(source, destination)
        assert tag == tags.tag(0, destination)
        assert tags.destination(tag, source) == destination
        outputs = tags.tag_code.unpack(tag)[::-1]
        hops = plan.route(source, outputs)
        assert hops == plan.path(source, destination)
        last = len(outputs) - 1
        line = plan.line(last, hops[-1].box, hops[-1].output)
        assert plan.relabel(last + 1, line) == destination


@pytest.mark.parametrize("sides", SHAPES)
def test_omega_is_patels_construction(sides: Sides) -> None:
    """A shuffle of all lines in front of each stage, and digits of the destination, top first."""
    inputs, outputs = sides
    plan = delta_plan("omega", inputs, outputs)
    for source, destination in itertools.product(range(plan.sources), range(plan.sinks)):
        line, lines = source, plan.sources
        for hop, a, b, digit in zip(
            plan.path(source, destination), inputs, outputs, digits_of(destination, outputs)
        ):
            # The lines in `a` heaps of equal size, one line of each heap in turn.
            heap, place = divmod(line, lines // a)
            box, entry = divmod(place * a + heap, a)
            assert hop[1:] == (box, entry, digit)
            line, lines = box * b + digit, lines // a * b
        assert line == destination


def levels(plan: MultistagePlan) -> list[dict[int, set[int]]]:
    """For each level, the nodes above that each node has an arc to; nodes are lines."""
    found = []
    for s, (outputs, lines) in enumerate(
        zip(plan.outputs, [plan.sources, *(code.count for code in plan.leaving)])
    ):
        arcs = {}
        for line in range(lines):
            box, _ = plan.port(s, plan.relabel(s, line))
            arcs[line] = {plan.line(s, box, output) for output in range(outputs)}
        found.append(arcs)
    return found


def components(arcs: list[dict[int, set[int]]], nodes: set[int]) -> list[set[int]]:
    """The parts of the nodes at the bottom of some levels that are joined by arcs."""
    parts: list[tuple[set[int], set[int]]] = []
    for node in nodes:
        reached = {node}
        for level in arcs:
            reached = set().union(*(level[each] for each in reached))
        joined = [part for part in parts if part[1] & reached]
        parts = [part for part in parts if not part[1] & reached]
        own = ({node}.union(*(one for one, _ in joined)), reached.union(*(b for _, b in joined)))
        parts.append(own)
    return [nodes for nodes, _ in parts]


@pytest.mark.parametrize(("fanout", "spread", "count"), [(2, 3, 3), (3, 2, 3), (2, 2, 3)])
def test_sw_banyan_is_recursive(fanout: int, spread: int, count: int) -> None:
    """Without the level at the bases, S networks of L - 1 levels remain; each takes one arc of
    every base, and F bases meet at each of its nodes."""
    plan = build("sw-banyan", fanout=fanout, spread=spread, levels=count).plan
    assert (plan.sources, plan.sinks) == (fanout**count, spread**count)
    first, *rest = levels(plan)
    parts = components(rest, set(range(plan.leaving[0].count)))
    assert len(parts) == spread
    for part in parts:
        assert len(part) == fanout ** (count - 1)
        assert all(len(above & part) == 1 for above in first.values())
        met = Counter(node for above in first.values() for node in above & part)
        assert set(met.values()) == {fanout}


# Hardware.


def every_pair(network: Network) -> Trace:
    """One packet from each source to each sink, each alone in the network."""
    pairs = itertools.product(range(network.sources), range(network.sinks))
    period = network.stages + 3
    return Trace("all", tuple(TracePacket(period * at, *pair) for at, pair in enumerate(pairs)))


@pytest.mark.parametrize(
    "words",
    [
        "delta switch=unbuffered",
        long("delta switch=output-queued inputs=2x4 outputs=5x2 wiring=baseline"),
        *(long(f"delta switch={switch}") for switch in [*SWITCHES, "cut-through"]),
        *(long(f"delta inputs=3x2x4 outputs=2x4x3 wiring={wiring}") for wiring in PLANS),
        *(long(f"sw-banyan levels=3 switch={switch}") for switch in SWITCHES),
        long("sw-banyan fanout=8 spread=2 switch=cut-through queues=crosspoint"),
    ],
)
def test_packets_reach_all_sinks(words: str) -> None:
    """The sinks compare the tags with their own addresses; no packet is lost."""
    network = build(words)
    result = simulate(network, traffic=every_pair(network))
    assert result.terminals["injected"] == [network.sinks] * network.sources
    assert result.terminals["delivered"] == [network.sources] * network.sinks
    assert (result.dropped, result.misrouted, result.lost) == (0, 0, 0)
    assert result.latency.mean == result.latency.max == network.stages


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "load"),
    [
        ("delta switch=input-queued", 1),
        *(
            long(f"{words} switch={switch} {length}", load)
            for words in ("delta", "delta inputs=2x4 outputs=5x2", "sw-banyan levels=3")
            for switch, length in (
                *((switch, "") for switch in SWITCHES[1:4]),
                ("wormhole", "length=3"),
                ("cut-through", "length=1:4"),
                ("cut-through", "length=2 queues=crosspoint"),
            )
            for load in (0.1, 1)
        ),
    ],
)
def test_rates_are_per_source_and_per_sink(words: str, load: float) -> None:
    """Throughput is per source, like the load; both sides of the network count the same packets."""
    network = build(words)
    result = simulate(network, load=load, cycles=2000, warmup=200, source_depth=8)
    delivered = sum(result.terminals["delivered"])
    assert result.throughput * network.sources * 2000 == pytest.approx(delivered)
    assert result.sink_throughput * network.sinks * 2000 == pytest.approx(delivered)
    assert len(result.terminals["delivered"]) == network.sinks
    assert result.throughput_ci99 is not None
    if load == 1 and network.sinks < network.sources:
        # As many as sinks can take, at most; four of five, at least.
        assert 0.4 < result.sink_throughput * result.packet_length <= 1
        assert result.saturated


def test_hot_spots_and_single_packets() -> None:
    network = build("delta switch=input-queued")
    hot = simulate(network, traffic="hotspot:1:8", load=0.05, cycles=500, source_depth=8)
    assert hot.terminals["delivered"][:8] == [0] * 8
    once = simulate(network, traffic="all-to-one:3")
    assert once.terminals["delivered"] == [0, 0, 0, 16, 0, 0, 0, 0, 0]
    assert once.offered_load == 1
    assert once.cycles == 16 + network.stages  # one after the other at the sink
    wide = build("sw-banyan fanout=2 spread=3 switch=input-queued")
    last = simulate(wide, traffic="all-to-one:8")
    assert last.terminals["delivered"] == [0] * 8 + [4]  # of four sources


def test_axi_streams_and_copies() -> None:
    network = build("delta switch=input-queued")
    names = {name for (name,) in AxiStreamNetwork(network).fabric.boundary}
    assert {name for name in names if name.endswith("tvalid")} == {
        *(f"s_axis_{source}_tvalid" for source in range(16)),
        *(f"m_axis_{sink}_tvalid" for sink in range(9)),
    }
    again = pickle.loads(pickle.dumps(network))
    assert again.parameters == network.parameters
    other = build("delta").altered(switch="wormhole", depth=4, length=2)
    assert (other.sources, other.sinks, other.family) == (16, 9, "delta")
    assert other.altered(inputs="2x4").sources == 8
    square = build("delta inputs=2 outputs=2 stages=3")
    assert square.ports == 8
    assert square.boxes == build("omega ports=8 switch=unbuffered").boxes


# Theory.


def patel(load: Fraction, sides: Sides) -> Fraction:
    """The chance that no input of a box sends to an output of it, stage by stage."""
    for a, b in zip(*sides):
        load = 1 - prod([1 - load / b] * a)
    return load


def test_patels_recurrence() -> None:
    assert patel(Fraction(1), ((4,), (3,))) == Fraction(65, 81)
    for sides in SHAPES:
        boxes = tuple(zip(*sides))
        for load in (Fraction(1), Fraction(1, 3)):
            expected = patel(load, sides)
            assert unbuffered_throughput(float(load), boxes, len(boxes)) == pytest.approx(
                float(expected)
            )
        assert sinks_per_source(boxes) == pytest.approx(prod(sides[1]) / prod(sides[0]))
    prediction = predict(build("delta"), 1, uniform=True)
    expected = patel(Fraction(1), SHAPES[0]) * 9 / 16
    assert prediction["throughput"] == pytest.approx(float(expected))
    assert predict(build("delta switch=output-queued"), 0.2, uniform=True)["latency_mean"] is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("sides", "load"),
    [
        (((4, 4), (3, 3)), 1.0),
        (((2, 2, 2), (3, 3, 3)), 1.0),
        *(
            long(sides, load)
            for load in (1.0, 0.5)
            for sides in (
                ((4, 4, 4), (2, 2, 2)),
                ((2, 2, 2, 2), (3, 3, 3, 3)),
                ((8, 8), (4, 4)),
                ((3, 2, 4), (2, 4, 3)),
                ((2, 8), (8, 2)),
            )
        ),
    ],
)
def test_unbuffered_boxes_follow_patels_recurrence(sides: Sides, load: float) -> None:
    """Within the 99 % interval of the run: inputs of a box are independent, since no two paths from
    different sources meet before it."""
    inputs, outputs = ("x".join(map(str, side)) for side in sides)
    network = build(f"delta inputs={inputs} outputs={outputs}")
    cycles = 200_000 // network.sources
    result = simulate(network, load=load, cycles=cycles, warmup=20, seed=3)
    expected = float(patel(Fraction(load), sides))
    half = result.throughput_ci99 * network.sources / network.sinks
    print(f"measured {result.sink_throughput:.5f} +- {half:.5f}, predicted {expected:.5f}, seed 3")
    assert abs(result.sink_throughput - expected) <= half < 0.02 * expected


# Refusals.


test_delta_rejects = refusals(
    build,
    ("delta inputs=1", "Inputs must be from 2 to 64, not 1"),
    ("delta inputs=4y2", "Inputs must be a number of at least 2, or several such as 4x2..."),
    ("delta inputs=4x4x4 outputs=2x2", "Outputs must be one number, or 3 for 3 stages..."),
    ("delta outputs=2x2 stages=3", "Outputs must be one number, or 3 for 3 stages, not 2x2"),
    ("sw-banyan fanout=2x2x2 levels=2", "Fanout must be one number, or 2 for 2 levels..."),
    ("delta inputs=64 stages=3", "Lines between stages must be at most 65536, not 262144..."),
    ("delta inputs=2x64x64 outputs=64x64x2", "Lines between stages must be at most 65536..."),
    ("delta switch=circuit", "Parameter switch must be one of unbuffered..."),
    ("delta routing=xor", "Parameter of delta must be one of..."),
    ("delta switch=input-queued length=2", "Length must be 1 with switch=input-queued..."),
)


@pytest.mark.parametrize("traffic", [[8, 0, 5, 5], *[long([[0] * 8 + [1], *np.eye(9)[[0, 5, 5]]])]])
def test_lists_and_matrices_name_sinks(traffic: list) -> None:
    """There may be more of them than of sources."""
    run = simulate("sw-banyan", traffic=traffic, load=0.3, cycles=100, warmup=0)
    delivered = run.terminals["delivered"]
    assert [sink for sink, count in enumerate(delivered) if count] == [0, 5, 8]


def test_patterns_of_other_numbers_of_sinks() -> None:
    network = build("sw-banyan")
    for traffic in ("8,0,x,5", [8, 0, None, 5], lambda source, _: [8, 0, -1, 5][source]):
        assert pattern(traffic, 4, 9).destinations(network.code) == [8, 0, None, 5]
    weights = np.arange(36).reshape(4, 9)
    tables = pattern(weights, 4, 9).where.tables(network.code)
    assert pattern(pattern(weights, 4, 9).name, 4, 9).where.tables(network.code) == tables
    assert len(tables) == 4
    pattern(weights, 4, 9).check(network)
    with pytest.raises(ValueError, match=r"^Traffic from 4 sources to 4 sinks must be uniform, a"):
        simulate("cube", ports=4, traffic=pattern([8, 0, 5, 5], 4, 9))


test_command_refuses = command_refusals(
    "",
    (
        "sim delta --traffic shift:1",
        "Traffic from 16 sources to 9 sinks must be uniform, a matrix of all sinks, or to sinks "
        "from 0 to 8, not shift:1",
    ),
    ("sim delta --traffic hotspot:0.5:9", "Terminal T of hotspot must be from 0 to 8, not 9"),
    ("sim sw-banyan --traffic all-to-one:9", "Terminal T of all-to-one must be from 0 to 8, not 9"),
    ("sim sw-banyan --traffic 0,8,9,1", "Destination of terminal 2 must be from 0 to 8, not 9"),
    ("sim sw-banyan --traffic 0,8,1", "Traffic must have 4 destinations, not 3"),
    (
        "sim sw-banyan --traffic matrix:1,0,0,0/0,1,0,0/0,0,1,0/0,0,0,1",
        "Row 0 of a traffic matrix must have 9 weights, not 4",
    ),
    ("sim sw-banyan --traffic neighbor", "Traffic from 4 sources to 9 sinks must be uniform"),
    ("sim delta --traffic locality:0.5:4", "Traffic from 16 sources to 9 sinks must be"),
    ("sim delta --fault link:0:1", "multistage network of square boxes"),
    ("permute delta shift:1", "as many inputs as outputs, not 4 and 3"),
    ("export delta --partitions -o x.v", "Partitions need boxes with as many inputs"),
    ("draw delta --path 3:9 -o x.svg", "Address must be from 0 to 8, not 9"),
    part=True,
)


def test_command_says_what_rates_are_per(call: Call) -> None:
    outcome = call("sim", "delta", "--load", "1", "--cycles", "200", "--seed", "1")
    assert outcome.status == 0
    assert "packets per source per cycle (offered 1.0000, predicted 0.4006);" in outcome.out
    assert "packets per sink per cycle;\nleast served: source" in outcome.out
