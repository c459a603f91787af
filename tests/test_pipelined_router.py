# amaranth: UnusedElaboratable=no
"""Routers in stages: nothing is lost, full throughput, cycles of each hop, and who is served."""

import itertools
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.sim import Simulator
from claims import Claims, any_bits, needs_yosys
from conveyance import WITNESS, convey, witness
from long_runs import long
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.primitives.places import Places
from multicube.hdl.routers.pipelined_router import PipelinedRouter
from multicube.hdl.switch.output_owners import OutputOwners
from multicube.hdl.switch.route_stage import RouteStage
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from multicube.hdl.switch.split_queue import SplitQueue
from multicube.hdl.switch.traversal import Traversal
from multicube.sim.run.simulation import simulate
from multicube.sim.workload.trace import Trace, TracePacket
from proof_table import proves
from test_worm_model import PERIOD, Case, in_hardware
from worm_model import Flit

__all__ = ["any_bits"]

FLITS = Packet(2, WITNESS, flits=True)

# As in test_router_proofs.py: a link of two channels in and out, with a dateline, and a terminal.
SHAPE = RouterShape(
    (InputChannel((0, 0), credits=True), InputChannel((0, 1), credits=True), InputChannel((-1, 0))),
    (
        OutputChannel((0, 0), (0, 2)),
        OutputChannel((0, 1), (0, 1, 2)),
        OutputChannel((-1, 0), (0, 1, 2)),
    ),
)

NETWORKS = [
    long("torus", {"k": 4, "n": 2}, 1),
    ("torus", {"k": 4, "n": 2}, 2),
    long("torus", {"k": 3, "n": 2, "channels": 4}, 2),
    long("graph", {}, 1),
    long("graph", {}, 2),
    long("hypercube", {"n": 3, "routing": "adaptive"}, 2),
    long("hypercube", {"n": 3, "routing": "ecube"}, 1),
]


@pytest.mark.parametrize(("name", "parameters", "pipeline"), NETWORKS)
def test_packets_arrive_whole_and_in_order(
    name: str, parameters: dict[str, Any], pipeline: int
) -> None:
    """More is offered than passes; all that was injected arrives when sources stop."""
    network = build(name, **parameters, pipeline=pipeline, length="1:5")
    found = simulate(network, load=1, cycles=500, seed=7)
    assert found.lost == found.misrouted == found.duplicated == 0
    assert found.delivered == found.injected > 100
    assert found.reordered == 0 or not network.ordered


@pytest.mark.long
@pytest.mark.parametrize("engine", [long("amaranth"), "compiled"])
@pytest.mark.parametrize("pipeline", [long(1), 2])
def test_a_router_takes_its_stages(pipeline: int, engine: str) -> None:
    """Of packets alone, each header takes `pipeline` + 2 cycles in a router, one less if the packet
    before it there came and left as it does."""
    length = 3
    network = build("torus", k=4, n=2, pipeline=pipeline, length=length)
    pairs = list(itertools.product(range(network.ports), repeat=2))
    if engine == "amaranth":
        pairs = pairs[:40]
    packets = tuple(TracePacket(60 * n, a, b, length) for n, (a, b) in enumerate(pairs))
    result = simulate(network, traffic=Trace("pairs", packets), bins=96, engine=engine)
    assert network.relation is not None
    owner: dict[Channel, Any] = {}
    expected: Counter[int] = Counter()
    for source, destination in pairs:
        came: Any = source
        cycles = length - 1
        for channel in network.relation.path(source, destination):
            cycles += pipeline + 2 - (owner.get(channel) == came)
            owner[channel] = came
            came = channel
        expected[cycles] += 1
    found = {at: count for at, count in enumerate(result.network_latency.histogram) if count}
    assert found == expected
    assert max(expected) <= network.zero_load_cycles + length


@pytest.mark.long
@pytest.mark.parametrize("engine", [long("amaranth"), "compiled"])
@pytest.mark.parametrize(("pipeline", "length"), [long(1, 1), long(1, 3), (2, 1), long(2, 3)])
def test_a_stream_fills_a_link(pipeline: int, length: int, engine: str) -> None:
    """Each node sends to the next one, a flit in every cycle; depth 4 suffices for that."""
    network = build("torus", k=4, n=1, pipeline=pipeline, length=length)
    traffic = Trace(
        "neighbours",
        tuple(TracePacket(0, node, (node + 1) % 4, length) for _ in range(60) for node in range(4)),
    )
    result = simulate(network, traffic=traffic, engine=engine)
    assert result.delivered == 240
    # The last packet of a source is offered after the others, and does not wait.
    assert result.latency.max is not None
    assert result.latency.max <= 60 * length + 2 * (pipeline + 2)


@pytest.mark.long
def test_engines_agree() -> None:
    results = [
        simulate("torus k=3 n=1 length=1:4 pipeline=2", load=0.6, cycles=24, seed=3, engine=engine)
        for engine in ("amaranth", "compiled")
    ]
    assert results[0].latency.histogram == results[1].latency.histogram
    assert results[0].delivered == results[1].delivered > 0


@pytest.mark.parametrize("pipeline", [long(1), 2])
def test_terminals_that_wait_lose_nothing(pipeline: int) -> None:
    """Terminals take a flit in some cycles only: packets leave whole, each source's in order."""
    seed = 5
    draw = random.Random(seed)
    network = build("torus", k=4, n=1, pipeline=pipeline, payload=24)
    offers: list[list[tuple[int, Flit]]] = [[] for _ in range(4)]
    for source, number in itertools.product(range(4), range(6)):
        length, destination = draw.randint(1, 3), draw.randrange(4)
        offers[source] += [
            (draw.randrange(9), Flit(source, destination, number, index, index == length - 1))
            for index in range(length)
        ]
    ready = [[draw.random() < 0.4 for _ in range(PERIOD)] for _ in range(4)]
    moved = in_hardware(Case(network, offers, ready))  # type: ignore[arg-type]
    assert network.relation is not None
    for exit_ in network.relation.graph.exits:
        left = [one.flit for one in moved if one.channel == exit_]
        for at, flit in enumerate(left):
            before = left[at - 1] if at else None
            follows = flit.index > 0
            assert follows == (before is not None and not before.last), seed
            assert not follows or flit[:4] == (*left[at - 1][:3], left[at - 1].index + 1), seed
        for source in range(4):
            here = [flit for _, flit in offers[source] if flit.destination == exit_.node]
            assert [flit for flit in left if flit.source == source] == here, seed


# Who is served.


@pytest.mark.parametrize("arbiter", ["round-robin", "least-recent"])
def test_inputs_are_served_in_turn(arbiter: str) -> None:
    """Of inputs that always want an output, each one is served once in as many packets."""
    seed = 11
    draw = random.Random(seed)
    inputs = 9
    shape = RouterShape(
        tuple(InputChannel((port, 0)) for port in range(inputs)),
        (OutputChannel((-1, 0), tuple(range(inputs))),),
    )
    dut = OutputOwners(shape, arbiter)
    served: list[int] = []

    async def bench(ctx: Any) -> None:
        for port in dut.want:
            ctx.set(port, 1)
        while len(served) < 8 * inputs:
            last, passed = draw.randrange(2), draw.randrange(2)
            ctx.set(dut.last, -last)
            ctx.set(dut.passed, passed)
            if last and passed and ctx.get(dut.offered):
                served.append([ctx.get(port) for port in dut.serves].index(1))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run_until(1e-3)
    assert len(served) == 8 * inputs, seed
    for at in range(len(served) - inputs + 1):
        assert len({*served[at : at + inputs]}) == inputs, (seed, served)


# Proofs.


def pipelined_router(drain: int, *, pipeline: int, kind: type = PipelinedRouter) -> Claims:
    """A router with the queues behind its link, which are never too full for what comes."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = kind(FLITS, SHAPE, depth=1, pipeline=pipeline)
    # What comes over the link has credits.
    entries: list[stream.Interface] = [*dut.i]
    for i, port in enumerate(dut.i[:2]):
        entries[i] = stream.Signature(FLITS).create(path=(f"entry_{i}",))
        sent = entries[i].valid & entries[i].ready
        places = Places(m, f"free_{i}", dut.places, dut.freed[i], sent)
        m.d.comb += [
            entries[i].ready.eq(places.free()),
            port.valid.eq(sent),
            port.payload.eq(entries[i].payload),
        ]
        claims.claim(~port.valid | port.ready)
    goals = []
    for i in range(len(dut.i)):
        tag = claims.free(2, f"tag_{i}")
        turns = [i in output.inputs for output in SHAPE.outputs]
        claims.assume(Cat(tag == j for j, turn in enumerate(turns) if turn).any())
        m.d.comb += [
            entries[i].payload.tag.eq(tag),
            dut.exits[i].eq(Cat(dut.tag[i] == j for j in range(len(turns)))),
        ]
        goals.append(tag)
    exits: list[stream.Interface] = []
    for j, port in enumerate(dut.o[:2]):
        m.submodules[f"behind_{j}"] = queue = ArrivalQueue(FLITS, depth=dut.places)
        m.d.comb += [
            queue.i[0].valid.eq(port.valid),
            queue.i[0].payload.eq(port.payload),
            dut.credit[j].eq(queue.o.valid & queue.o.ready),
        ]
        claims.claim(~port.valid | queue.i[0].ready)
        exits.append(queue.o)
    claims.claim(~(dut.o[0].valid & dut.o[1].valid))
    convey(
        claims,
        entries,
        [*exits, dut.o[2]],
        goals=goals,
        capacity=4 + 3 * dut.places,
        drain=drain,
        longest=2,
    )
    return claims


@needs_yosys
@proves(
    PipelinedRouter,
    OutputOwners,
    Traversal,
    says="The router is lossless and in order, keeps the stream rule and keeps packets whole. "
    "Packets leave in the virtual channel that their route names. No more are sent than there is "
    "room for in the queues behind the links. In time: a flit is inside for at most 40 cycles.",
    sizes="one link of 2 channels and one terminal, each in and out, with the queues behind the "
    "link; depth 1, `pipeline` 1, packets of 1 or 2 flits",
)
@pytest.mark.long
def test_pipelined_router_is_lossless(tmp_path: Path) -> None:
    assert pipelined_router(40, pipeline=1).hold(tmp_path)


def queue_and_stage(depth: int, *, credits: bool) -> Claims:
    """A queue with the stage behind it; its sender counts credits, or looks at `ready`."""
    claims = Claims()
    m = claims.m
    m.submodules.queue = queue = SplitQueue(FLITS, depth=depth, credits=credits)
    m.submodules.stage = stage = RouteStage(FLITS, [OutputChannel((0, 0), (0,))] * 2)
    entry, head = (stream.Signature(FLITS).create(path=(name,)) for name in ("entry", "head"))
    sent = entry.valid & entry.ready
    places = Places(m, "free", depth, queue.leaves, sent)
    wiring.connect(m, queue.front, stage.i)
    m.d.comb += [
        entry.payload.tag.eq(claims.free(2, "tag")),
        entry.ready.eq(places.free() if credits else queue.i.ready),
        queue.i.valid.eq(sent if credits else entry.valid),
        queue.i.payload.eq(entry.payload),
        stage.route.eq(queue.front.payload.tag),
        head.valid.eq(stage.o.valid),
        head.payload.tag.eq(stage.o.payload.tag),
        head.payload.payload.eq(queue.payload),
        head.payload.last.eq(stage.o.payload.last),
        stage.o.ready.eq(head.ready),
        queue.leaves.eq(head.valid & head.ready),
    ]
    # A header has its own exits, and the flits behind it have the same.
    header = witness(head.payload).header
    before = Signal(2)
    with m.If(head.valid):
        m.d.sync += before.eq(stage.o.payload.exits)
    claims.claim(
        Mux(
            head.valid,
            stage.o.payload.exits == Mux(header, stage.o.payload.tag, before),
            stage.o.payload.exits == 0,
        )
    )
    convey(claims, [entry], [head], capacity=depth, drain=depth + 1, longest=2)
    return claims


@pytest.mark.long
@needs_yosys
@proves(
    RouteStage,
    SplitQueue,
    says="Queue and stage are lossless and in order, keep the stream rule and keep packets whole. "
    "Each flit has the exits of its packet's header. In time: a flit is inside for at most depth "
    "+ 1 cycles.",
    sizes="the queue with the stage behind it; 2 exits, depth 2 and 3, with and without credits, "
    "packets of 1 or 2 flits",
)
@pytest.mark.parametrize(
    ("depth", "credits"), [(2, True), long(2, False), long(3, True), long(3, False)]
)
def test_queue_and_stage_are_lossless(tmp_path: Path, depth: int, credits: bool) -> None:
    assert queue_and_stage(depth, credits=credits).hold(tmp_path)


# What it can't do.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"decision": 2}, "Decision must be 1 with pipeline=1, not 2"),
        ({"refill": "yes"}, "Refill must be no with pipeline=1, not yes"),
        ({"latency": 2}, "Latency must be 1 with pipeline=1, not 2"),
        (
            {"switching": "store-and-forward"},
            "Switch must be wormhole or cut-through with pipeline=1, not store-and-forward",
        ),
        ({"recovery": "discard"}, "Recovery must be none with pipeline=1, not discard"),
        ({"channels": 4}, "Pipeline must be 0 or 2 if packets have a choice of channels, not 1"),
    ],
)
def test_networks_reject_what_needs_another_router(words: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(message)):
        build("torus", pipeline=1, **words)


def test_packet_switching_rejects_a_pipeline() -> None:
    message = "Pipeline must be 0 with switch=packet, not 1"
    with pytest.raises(InvalidValue, match=message):
        build("mesh", switching="packet", pipeline=1)


def test_router_rejects_what_it_has_not() -> None:
    shape = RouterShape(SHAPE.inputs, SHAPE.outputs, choice=True)
    for given, others, message in (
        (SHAPE, {"pipeline": 0}, "Pipeline must be from 1 to 2, not 0"),
        (shape, {"pipeline": 1}, "Pipeline must be 2 if headers have a choice of outputs, not 1"),
        (
            SHAPE,
            {"pipeline": 1, "switching": "cut-through", "longest": 3},
            "Depth must be at least the length of 3 flits with cut-through switching, not 2",
        ),
    ):
        with pytest.raises(InvalidValue, match=message):
            PipelinedRouter(FLITS, given, depth=2, **others)
