# amaranth: UnusedElaboratable=no
"""Broadcasts of packets of several flits or words: wormhole, cut-through and circuit switched."""

import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Signal
from amaranth.lib import data
from claims import Claims, needs_yosys
from driving import transport
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import wormhole
from multicube.hdl.boxes.wormhole import CutThroughSwitch, WormholeSwitch
from multicube.hdl.families.multistage.multistage_parameters import MultistageParameters
from multicube.hdl.links.packet import Packet
from multicube.hdl.switch.broadcast import ReplicatingQueue
from multicube.sim import SimulationError, Trace, TracePacket, simulate
from proof_table import proves
from refusals import refusals
from worms import Load, destinations

LONGEST = 4

SEED = 5
NETWORKS: dict[str, dict[str, Any]] = {
    "wormhole": {"switch": "wormhole", "depth": LONGEST},
    "wormhole, xor": {"switch": "wormhole", "depth": 7, "routing": "xor", "refill": "yes"},
    "wormhole, radix 3": {
        **{"switch": "wormhole", "ports": 9, "radix": 3, "routing": "difference"},
        **{"depth": 5, "wiring": "omega"},
    },
    "cut-through": {"switch": "cut-through", "depth": LONGEST},
    "cut-through, deep": {"switch": "cut-through", "depth": 9, "routing": "difference"},
    "cut-through, radix 4": {
        **{"switch": "cut-through", "ports": 16, "radix": 4, "depth": 5, "routing": "xor"}
    },
    "crosspoint": {"switch": "cut-through", "queues": "crosspoint", "depth": LONGEST},
    "crosspoint, radix 3": {
        **{"switch": "cut-through", "queues": "crosspoint", "ports": 9, "radix": 3}
    },
    "store-and-forward": {"switch": "store-and-forward"},
    "store-and-forward, crosspoint": {
        **{"switch": "store-and-forward", "queues": "crosspoint", "depth": LONGEST}
    },
    "circuit": {"switch": "circuit"},
    "circuit, xor": {"switch": "circuit", "policy": "drop", "routing": "xor"},
    "circuit, radix 3": {
        **{"switch": "circuit", "ports": 9, "radix": 3, "routing": "difference"},
        **{"policy": "modified-hold", "hold_limit": 3},
    },
    "circuit, extra stage": {"switch": "circuit", "extra_stage": 1, "faults": "box:1:2"},
}
QUICK = {"wormhole", "cut-through", "crosspoint", "store-and-forward", "circuit"}


def network_of(name: str, **others: Any) -> MultistageNetwork:
    given = {
        "ports": 4 if name in QUICK else 8,
        "payload": 24,
        "length": f"1:{LONGEST}",
        "broadcast": 1,
    }
    return MultistageNetwork(**given | NETWORKS[name] | others)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [n if n in QUICK else long(n) for n in NETWORKS])
def test_each_destination_gets_each_packet_once_and_in_order(name: str) -> None:
    """Whole, with no flits of others in between, through outputs that wait at random."""
    network = network_of(name)
    load = Load(network, 40, seed=SEED)
    waits = random.Random(SEED)
    quiet = (60 if name in QUICK else 150) * (4 if "circuit" in name else 1)
    trace = transport(
        network,
        cycles=40 + quiet,
        offer=load.offer,
        ready=lambda port, cycle: cycle > 40 or waits.random() < 0.6,
    )
    assert load.check(trace) == 0
    assert len(load.sent) > 20


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [n if n in ("wormhole", "circuit") else long(n) for n in NETWORKS])
def test_an_unhindered_broadcast_takes_no_longer_than_a_packet(name: str) -> None:
    """n + c - 1 cycles, n + c with circuits, and n c if boxes store, for all destinations, from
    each source."""
    network = network_of(name)
    stages = network.stages
    length = 3
    stored = (stages - 1) * (length - 1) if "store" in name else 0
    period = stages + length + stored + 3
    full = (1 << network.tags.code.width) - 1
    masks = [full, 1, full - 1]

    def flit(turn: int, index: int) -> int:
        tag = network.tags.tag(turn % network.ports, 3)
        fields = {"tag": tag, "mask": masks[turn % 3], "payload": turn << 4 | index}
        return network.packet.const({**fields, "last": index == length - 1}).as_value().value

    rest: list[int] = []

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        if port != turn % network.ports:
            return None
        if index == 0:
            rest.extend(flit(turn, each) for each in range(length))
        return rest.pop(0) if rest else None

    turns = network.ports * 3
    trace = transport(network, cycles=turns * period, offer=offer)
    delay = stages - 1 + stored + ("circuit" in name)
    for turn in range(turns):
        source = turn % network.ports
        to = destinations(network, source, 3, masks[turn % 3])
        for at in range(period):
            shown = trace[turn * period + at].moved()
            index = at - delay - 1
            expected = [(d, flit(turn, index)) for d in to] if 0 <= index < length else []
            assert sorted(shown) == expected, (turn, at)


def test_copies_pass_the_buffers_of_outputs() -> None:
    """With a mask too: a worm whose output never takes a flit fills the queue and the buffer."""
    packet = Packet(tag=1, payload=8, flits=True, broadcast=True)
    dut = WormholeSwitch(packet, radix=2, depth=3, output_depth=2)
    word = packet.const({"tag": 0, "mask": 0, "last": 0}).as_value().value

    def offer(port: int, cycle: int) -> int | None:
        return None if port else word

    trace = transport(dut, cycles=20, offer=offer, ready=lambda port, cycle: False)
    assert sum(cycle.accepted[0] for cycle in trace) == 3 + 2


# Deadlock.


def broadcasts(length: int) -> Trace:
    rng = random.Random(SEED)
    print("seed", SEED)
    packets = (
        TracePacket(cycle, source, 0, length, rng.choice((3, 5, 6, 7)))
        for cycle in range(0, 200, 10)
        for source in range(8)
    )
    return Trace("broadcasts", tuple(packets))


@pytest.mark.long
def test_copies_deadlock_without_room_for_a_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a depth of one flit less than a packet has; this is why it is refused."""
    for depth, free in ((LONGEST, True), (LONGEST - 1, False)):
        monkeypatch.setattr(MultistageParameters, "_check_broadcast", lambda self: None)
        network = network_of("wormhole", ports=8, depth=depth)
        if free:
            result = simulate(network, traffic=broadcasts(LONGEST), engine="compiled", bins=64)
            assert result.delivered > 500
        else:
            with pytest.raises(SimulationError, match=r"stuck|never taken"):
                simulate(network, traffic=broadcasts(LONGEST), engine="compiled", bins=64)


def worms_flow(switch: type, depth: int, flits: int, **others: Any) -> Any:
    """Claims that whatever other outputs do, each output gets the packets that it has begun.

    Between the header and the tail an output shows a flit, or the input that this packet comes
    from is ready for its next flit. If no output shows anything and none is in a packet, all
    inputs are ready. So no packet in this switch waits for anything but the switches behind it.
    """
    claims = Claims()
    m = claims.m
    layout = data.StructLayout({"source": 1, "header": 1})
    packet = Packet(1, layout, flits=True, broadcast=True)
    m.submodules.switch = dut = switch(packet, radix=2, depth=depth, **others)
    inside = []
    for i, port in enumerate(dut.i):
        valid, last = claims.free(1, f"valid_{i}"), claims.free(1, f"last_{i}")
        index = Signal(4, name=f"index_{i}")
        m.d.comb += [
            port.valid.eq(valid),
            port.payload.tag.eq(claims.free(1, f"tag_{i}")),
            port.payload.mask.eq(claims.free(1, f"mask_{i}")),
            port.payload.last.eq(last),
            port.payload.payload.eq(Cat(Const(i, 1), index == 0)),
        ]
        claims.assume(last == (index == flits - 1))
        waiting = claims.past(valid & ~port.ready)
        held = claims.past(Cat(port.payload.tag, port.payload.mask))
        claims.assume(~waiting | (valid & (Cat(port.payload.tag, port.payload.mask) == held)))
        with m.If(valid & port.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(last):
                m.d.sync += index.eq(0)
    for j, port in enumerate(dut.o):
        m.d.comb += port.ready.eq(claims.free(1, f"ready_{j}"))
        begun, source = Signal(name=f"begun_{j}"), Signal(name=f"source_{j}")
        with m.If(port.valid & port.ready):
            m.d.sync += [begun.eq(~port.payload.last), source.eq(port.payload.payload.source)]
        inside.append(begun)
        for i in range(2):
            claims.claim(~begun | (source != i) | port.valid | dut.i[i].ready)
    shown = Cat(port.valid for port in dut.o).any() | Cat(inside).any()
    for port in dut.i:
        claims.claim(shown | port.ready)
    return claims


FLOWS = [
    (WormholeSwitch, 2, 2, {}),
    long(CutThroughSwitch, 2, 2, {"length": 2}),
    long(CutThroughSwitch, 2, 2, {"length": 2, "queues": "crosspoint"}),
]


@pytest.mark.long
@needs_yosys
@proves(
    WormholeSwitch,
    CutThroughSwitch,
    ReplicatingQueue,
    says="A copy of a broadcast that has begun to leave waits only for the switches behind this "
    "one. Therefore no network of these switches deadlocks.",
    sizes="2 x 2 switches of depth 2, packets of 2 flits; cut-through with input and crosspoint "
    "queues",
)
@pytest.mark.parametrize(("switch", "depth", "flits", "others"), FLOWS)
def test_a_begun_copy_waits_for_no_other_copy(
    tmp_path: Path, switch: type, depth: int, flits: int, others: dict[str, Any]
) -> None:
    """By induction from the last stage back, no network of these switches deadlocks."""
    assert worms_flow(switch, depth, flits, **others).hold(tmp_path)


@needs_yosys
@proves(
    WormholeSwitch,
    CutThroughSwitch,
    says="A copy of a broadcast that has begun to leave waits only for the switches behind this "
    "one.",
    sizes="2 x 2 switches; wormhole of depth 3 and 4 with packets of 3 flits; cut-through of "
    "depth 3 with packets of 2",
    cycles=6,
)
@pytest.mark.parametrize(
    ("switch", "depth", "flits", "others"),
    [
        (WormholeSwitch, 3, 3, {}),
        (WormholeSwitch, 4, 3, {"routing": "xor"}),
        (CutThroughSwitch, 3, 2, {"length": 2}),
    ],
)
@pytest.mark.long
def test_copies_in_deeper_queues_wait_for_no_other_copy(
    tmp_path: Path, switch: type, depth: int, flits: int, others: dict[str, Any]
) -> None:
    claims = worms_flow(switch, depth, flits, **others)
    assert claims.hold(tmp_path, 2 * flits + 2)


@pytest.mark.long
@needs_yosys
@pytest.mark.parametrize(("depth", "length"), [(1, 2), long(2, 3)])
def test_proof_finds_copies_that_wait_for_each_other(
    tmp_path: Path, depth: int, length: int
) -> None:
    assert not worms_flow(WormholeSwitch, depth, length).hold(tmp_path, 2 * length + 2)


class Hasty(ReplicatingQueue):
    """Copies only for the output with the lowest number."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.o[1].valid.eq(0)
        return m


def test_the_model_finds_a_missing_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wormhole, "ReplicatingQueue", Hasty)
    with pytest.raises(AssertionError):
        test_each_destination_gets_each_packet_once_and_in_order("wormhole")


test_replicating_queue_rejects = refusals(
    lambda given: ReplicatingQueue(Packet(1, 1, flits=True), **given),
    ({"readers": 1, "depth": 2}, "Radix must be at least 2, not 1"),
    ({"readers": 2, "depth": 0}, "Depth must be at least 1, not 0"),
)
