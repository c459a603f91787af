# amaranth: UnusedElaboratable=no
"""Networks of wormhole, cut-through and rejecting switches: latency, progress, and section VI-D."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal, Value
from driving import transport
from long_runs import long
from multicube.hdl.bench import Sink
from multicube.hdl.bench import sink as sink_module
from multicube.hdl.bench.instruments import record_latency
from multicube.hdl.families.multistage.multistage_network import MultistageNetwork
from multicube.sim import Result, Trace, TracePacket, simulate
from multicube.sim.theory.buffered_delay import (
    buffered_delay,
    first_stage_waiting,
    later_stage_waiting,
)
from scipy import stats

SEED = 7
KINDS: dict[str, dict[str, Any]] = {
    "wormhole": {"switch": "wormhole", "depth": 2},
    "cut-through": {"switch": "cut-through", "depth": 5},
    "crosspoint": {"switch": "cut-through", "depth": 5, "queues": "crosspoint"},
    "rejecting": {"switch": "wormhole", "policy": "drop", "resubmit": 4},
}


def drops(dut: MultistageNetwork) -> Callable[[], Value]:
    """All boxes' `dropped`, in the order of their names in the network."""
    return lambda: Cat(
        dut.instances[f"box_{s}_{x}"].dropped
        for s in range(dut.stages)
        for x in range(dut.ports // dut.radix)
    )


def worm(dut: MultistageNetwork, source: int, destination: int, number: int, length: int) -> list:
    """The flits of a packet: source, number and index are its payload."""
    width = dut.tags.code.width
    flits = []
    for index in range(length):
        tag = dut.tags.tag(source, destination) if index == 0 else index % 2
        name = index << 12 | number % 256 << 4 | source
        flits.append(tag | name << width | (index == length - 1) << width + 16)
    return flits


def shifted(dut: MultistageNetwork, terminal: int, shift: int) -> int:
    """The sum of two addresses without carry: for one shift a permutation without conflict."""
    code = dut.plan.code
    digits = zip(code.split(terminal), code.split(shift))
    return code.join([(a + b) % dut.radix for a, b in digits])


def arrivals(dut: MultistageNetwork, trace: list) -> dict[tuple[int, int, int], int]:
    """(source, destination, number) of each packet, and the cycle in which its tail was taken.

    Each must come whole, without flits of others between its own.
    """
    width = dut.tags.code.width
    found: dict[tuple[int, int, int], int] = {}
    before: dict[int, tuple[int, int, int]] = {}
    for cycle_number, cycle in enumerate(trace):
        for output, flit in cycle.moved():
            name = flit >> width
            source, number, index = name & 15, name >> 4 & 255, name >> 12 & 15
            assert before.get(output, (source, number, -1)) == (source, number, index - 1)
            before[output] = (source, number, index)
            if name >> 16:
                del before[output]
                assert (source, output, number) not in found
                found[source, output, number] = cycle_number
    assert not before
    return found


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("kind", "ports", "radix", "length", "routing"),
    [
        *((kind, 2, 2, 5, "xor") for kind in KINDS),
        *(
            (kind, *case) if kind in quick else long(kind, *case)
            for case, quick in (
                ((8, 2, 1, "destination"), {"crosspoint"}),
                ((8, 2, 4, "xor"), {"rejecting"}),
                ((9, 3, 2, "destination"), {"cut-through"}),
            )
            for kind in KINDS
        ),
        long("wormhole", 16, 4, 3, "destination"),
    ],
)
def test_unhindered_packets_take_stages_and_flits_less_one(
    kind: str, ports: int, radix: int, length: int, routing: Any
) -> None:
    """n + c - 1 cycles, one more for a `RetryInterface`; every pair, in permutations without
    conflict. Nothing is dropped."""
    dut = MultistageNetwork(ports, radix=radix, routing=routing, length=length, **KINDS[kind])
    period = dut.stages + length + 1

    def offer(port: int, cycle: int) -> int | None:
        shift, index = divmod(cycle, period)
        if index >= length:
            return None
        return worm(dut, port, shifted(dut, port, shift), shift, length)[index]

    trace = transport(dut, cycles=ports * period, offer=offer)
    delay = dut.stages + length - 1 + (kind == "rejecting")
    assert arrivals(dut, trace) == {
        (source, shifted(dut, source, shift), shift): shift * period + delay
        for source in range(ports)
        for shift in range(ports)
    }


class Load:
    """Random packets of 1 to 5 flits, as fast as the network takes them, up to some cycle."""

    def __init__(self, dut: MultistageNetwork, cycles: int) -> None:
        print("seed", SEED)
        self.dut, self.cycles = dut, cycles
        self.random = random.Random(SEED)
        self.rest: list[list[int]] = [[] for _ in range(dut.ports)]
        self.numbers = [0] * dut.ports
        self.sent: set[tuple[int, int, int]] = set()

    def offer(self, port: int, cycle: int) -> int | None:
        if cycle < self.cycles and not self.rest[port]:
            destination, number = self.random.randrange(self.dut.ports), self.numbers[port]
            length = self.random.randint(1, 5)
            self.rest[port] = worm(self.dut, port, destination, number, length)
            self.sent.add((port, destination, number))
            self.numbers[port] += 1
        return self.rest[port].pop(0) if self.rest[port] else None


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "ports", "radix"),
    [
        *(long("wormhole", 8, 2), long("wormhole", 9, 3)),
        *(long("cut-through", 8, 2), ("cut-through", 9, 3)),
        *(long("crosspoint", 8, 2), long("crosspoint", 9, 3)),
    ],
)
def test_no_network_deadlocks(kind: str, ports: int, radix: int) -> None:
    """Under full load with outputs that wait at random, all packets arrive, each flow in order."""
    dut = MultistageNetwork(ports, radix=radix, length="1:5", **KINDS[kind])
    load = Load(dut, 150)
    trace = transport(
        dut,
        cycles=450,
        offer=load.offer,
        ready=lambda port, cycle: cycle >= 150 or load.random.random() < 0.7,
    )
    delivered = arrivals(dut, trace)
    assert delivered.keys() == load.sent
    assert len(load.sent) > 15 * ports
    flows: dict[tuple[int, int], int] = {}
    for (source, destination, number), _ in sorted(delivered.items(), key=lambda item: item[1]):
        assert number > flows.get((source, destination), -1)
        flows[source, destination] = number


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wormhole", "cut-through", long("crosspoint")])
def test_blocked_packets_lie_in_one_switch_if_they_cut_through(kind: str) -> None:
    """When nothing moves any more, a link that has passed a header has passed its tail too.

    A worm, in contrast, lies in several switches.
    """
    dut = MultistageNetwork(8, length=5, **KINDS[kind])

    def inner() -> Value:
        ports = [
            dut.instances[f"box_{s}_{x}"].o[j] for s in (0, 1) for x in range(4) for j in range(2)
        ]
        return Cat(Cat(port.valid & port.ready, port.payload.last) for port in ports)

    load = Load(dut, 150)
    trace = transport(
        dut,
        cycles=200,
        offer=load.offer,
        ready=lambda port, cycle: cycle < 80 and load.random.random() < 0.7,
        watch=inner,
    )
    assert not any(cycle.watched & sum(1 << 2 * k for k in range(16)) for cycle in trace[150:])
    open_links = 0
    for link in range(16):
        moved = [cycle.watched >> 2 * link & 3 for cycle in trace]
        crossed = [flit for flit in moved if flit & 1]
        assert crossed
        open_links += not crossed[-1] >> 1
    assert (open_links == 0) == (kind != "wormhole")


@pytest.mark.long
@pytest.mark.parametrize("resubmit", [0, long(2)])
def test_rejecting_network_drops_at_the_box_where_two_paths_meet(resubmit: int) -> None:
    """Any two inputs want the same output at once: one is rejected there and then, and no other.

    If it is sent again it arrives too. It need not be the second attempt that does.
    """
    dut = MultistageNetwork(8, switch="wormhole", policy="drop", length=3, resubmit=resubmit)
    pairs = [(a, b, (3 * a + b) % 8) for a in range(8) for b in range(a)]
    period = 30

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        if turn >= len(pairs) or index >= 3 or port not in pairs[turn][:2]:
            return None
        return worm(dut, port, pairs[turn][2], turn, 3)[index]

    trace = transport(dut, cycles=(len(pairs) + 1) * period, offer=offer, watch=drops(dut))
    delivered = arrivals(dut, trace)
    for turn, (a, b, to) in enumerate(pairs):
        hops = zip(dut.plan.path(a, to), dut.plan.path(b, to))
        meeting = next(hop for hop, other in hops if hop[:2] == other[:2])
        box = trace[turn * period + 1 + meeting.stage].watched
        lost = box >> 2 * (4 * meeting.stage + meeting.box)
        assert lost in (1, 2)
        came = {source for source in (a, b) if (source, to, turn) in delivered}
        assert len(came) == 1 + bool(resubmit)
        rest = trace[turn * period : (turn + 1) * period]
        assert resubmit or sum(cycle.watched.bit_count() for cycle in rest) == 1
    assert len(delivered) == len(pairs) * (1 + bool(resubmit))


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "resubmit"), [(8, 2, 0), long(8, 2, 4), (4, 4, 8), long(9, 3, 1)]
)
def test_rejecting_network_under_load_loses_only_what_it_drops(
    ports: int, radix: int, resubmit: int
) -> None:
    """Full load, mixed lengths, outputs that wait; afterwards every path is free again."""
    dut = MultistageNetwork(
        ports, radix=radix, switch="wormhole", policy="drop", length="1:5", resubmit=resubmit
    )
    busy, quiet = 100, 400
    load = Load(dut, busy)

    def offer(port: int, cycle: int) -> int | None:
        turn, phase = divmod(cycle - quiet, 8)
        if turn >= 0 and phase == 0:
            return worm(dut, port, shifted(dut, port, turn), 200 + turn, 1)[0]
        return load.offer(port, cycle)

    trace = transport(
        dut,
        cycles=quiet + 8 * ports,
        offer=offer,
        ready=lambda port, cycle: cycle >= busy or load.random.random() < 0.8,
        watch=drops(dut),
    )
    dropped = sum(cycle.watched.bit_count() for cycle in trace)
    assert not any(cycle.watched for cycle in trace[quiet:])
    delivered = arrivals(dut, trace).keys()
    came = {name for name in delivered if name[2] < 200}
    assert len(delivered - came) == ports * ports
    assert dropped > 5 * ports
    if resubmit:
        assert came == load.sent
    else:
        assert came < load.sent
        assert len(load.sent) == len(came) + dropped


def waiting(length: int, intensity: float, **switch: Any) -> tuple[float, float]:
    """Mean waiting time in a network of 16 ports in flits' cycles, and half its 99 % interval."""
    print("seed", SEED)
    network = MultistageNetwork(16, length=length, **switch)
    result = simulate(network, load=intensity / length, cycles=40_000, seed=SEED, bins=4096)
    latency = result.network_latency
    assert latency.mean is not None
    assert latency.ci99 is not None
    return latency.mean - (network.stages + length - 1), latency.ci99


@pytest.mark.long
@pytest.mark.parametrize("intensity", [0.3, long(0.6)])
def test_waiting_is_proportional_to_the_length_of_packets(intensity: float) -> None:
    """Section VI-D: at one traffic intensity c p, the time in the queues grows linearly with c.

    With the queues that its analysis assumes. The sources send a flit per cycle, so each stage is a
    later one. The formula for these as it is printed gives much more than there is for c > 1.
    """
    switch = {"switch": "cut-through", "queues": "crosspoint", "depth": 256}
    alone, _ = waiting(1, intensity, **switch)
    assert alone == pytest.approx(buffered_delay(intensity, 2, 4) - 4, rel=0.05)
    for length in (2, 8):
        mean, error = waiting(length, intensity, **switch)
        assert abs(mean / (length * alone) - 1.05) < 0.05 + error / (length * alone), length
        load = intensity / length
        assert mean == pytest.approx(4 * later_stage_waiting(load, 2, length), rel=0.1)
        printed = (1 + 4 / (5 * 2) * intensity) * first_stage_waiting(load, 2, length)
        assert mean + error < 0.8 * 4 * printed


@pytest.mark.long
def test_short_packets_raise_what_a_network_of_small_queues_can_carry() -> None:
    """Flits that the network carries at full load, by the length of the packets they are in."""
    carried = []
    for length in (1, 4, 16):
        network = MultistageNetwork(64, switch="wormhole", depth=4, length=length)
        result = simulate(
            network, load=1 / length if length > 1 else 1, cycles=6000, warmup=2000, source_depth=8
        )
        assert result.throughput_ci99 is not None
        assert length * result.throughput_ci99 < 0.02
        carried.append(length * result.throughput)
    assert carried == [pytest.approx(value, abs=0.02) for value in (0.557, 0.438, 0.342)]


def last_of_messages(parts: int) -> Callable[..., None]:
    """How sinks record the last packet of each message only: one in `parts` of each flow."""

    def record(m: Module, sink: Sink, kind: str, latency: Signal, measured: Signal) -> None:
        ends = Signal(name=f"{kind}_ends")
        m.d.sync += ends.eq(sink.i.payload.payload.sequence % parts == parts - 1)
        record_latency(m, sink, kind, latency, measured & ends)

    return record


def message_delay(
    monkeypatch: pytest.MonkeyPatch, parts: int, overhead: int, intensity: float, seed: int
) -> float:
    """Mean time from the birth of messages of 16 words until the last word has arrived."""
    rng = np.random.default_rng(seed)
    length = 16 // parts + overhead
    births = zip(*np.nonzero(rng.random((3000, 16)) < intensity / 16))
    packets: list[TracePacket] = []
    for cycle, source in births:
        packets += [TracePacket(int(cycle), int(source), int(rng.integers(16)), length)] * parts
    network = MultistageNetwork(
        16, length=length, switch="cut-through", queues="crosspoint", depth=256
    )
    monkeypatch.setattr(sink_module, "record_latency", last_of_messages(parts))
    result: Result = simulate(network, traffic=Trace("messages", tuple(packets)), bins=4096)
    assert result.latency.mean is not None
    return result.latency.mean


@pytest.mark.long
@pytest.mark.parametrize(("overhead", "least", "most"), [(0, 1.03, 1.2), (1, 1.25, 1.8)])
def test_splitting_does_not_hasten_a_whole_message(
    monkeypatch: pytest.MonkeyPatch, overhead: int, least: float, most: float
) -> None:
    """Where the claim of section VI-D ends: a message counts as arrived with its last word.

    Split in four, its parts wait for those of others in turn, while the amount of work is the same
    (or more, with a word of routing information in each). The same messages both ways; a 99 %
    interval of the ratio from eight of each.
    """
    seeds = range(SEED, SEED + 8)
    ratios = [
        message_delay(monkeypatch, 4, overhead, 0.4, seed)
        / message_delay(monkeypatch, 1, overhead, 0.4, seed)
        for seed in seeds
    ]
    mean, error = np.mean(ratios), stats.sem(ratios) * stats.t.ppf(0.995, len(ratios) - 1)
    print(f"seeds {seeds}, ratio {mean:.3f} +- {error:.3f}")
    assert least < mean - error
    assert mean + error < most
