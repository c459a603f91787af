# amaranth: UnusedElaboratable=no
"""The bench: random numbers, sources, sinks and meters, and that broken boxes are found out."""

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from driving import exercise
from long_runs import long
from multicube.hdl import MultistageNetwork, OutputQueuedSwitch
from multicube.hdl.bench import BernoulliSource, PacketBench, ReplaySource, Sink, SourcePlan
from multicube.hdl.bench.instruments import LinkMeter, Timer, WindowAges
from multicube.hdl.bench.sources import BIAS_BITS, LOAD_BITS
from multicube.hdl.bench.stamp import Stamp
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.tags import TagScheme
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.xoroshiro import Xoroshiro128
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.run.probe import crossings

MASK = (1 << 64) - 1


# Random numbers


def xoroshiro128plus(s0: int, s1: int) -> Iterator[int]:
    """Blackman and Vigna's xoroshiro128plus.c of 2018 (constants 24, 16, 37)."""

    def rotl(x: int, k: int) -> int:
        return (x << k | x >> 64 - k) & MASK

    while True:
        yield (s0 + s1) & MASK
        s1 ^= s0
        s0, s1 = rotl(s0, 24) ^ s1 ^ (s1 << 16) & MASK, rotl(s1, 37)


def generated(seed: int, count: int) -> list[int]:
    component = Xoroshiro128()
    values: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(component.seed, seed)
        assert not ctx.get(component.valid)
        await ctx.tick()
        for _ in range(count):
            assert ctx.get(component.valid)
            values.append(ctx.get(component.value))
            await ctx.tick()

    exercise(component, testbench)
    return values


@pytest.mark.parametrize("seed", [(1, 0), (0, 1), (MASK, MASK), (0x0123456789ABCDEF, 0xFEDCBA98)])
def test_xoroshiro128_is_the_published_generator(seed: tuple[int, int]) -> None:
    values = generated(seed[0] | seed[1] << 64, 200)
    assert values == list(itertools.islice(xoroshiro128plus(*seed), 200))


def test_xoroshiro128_looks_random() -> None:
    """Each bit is 1 half of the time, and tells nothing of itself one or two draws later."""
    seed = random.Random(11).getrandbits(128)
    print(f"seed {seed:#x}")
    values = generated(seed, 2000)
    bound = 5 * math.sqrt(len(values)) / 2
    for bit in range(64):
        column = [value >> bit & 1 for value in values]
        assert abs(sum(column) - len(values) / 2) < bound, bit
        for lag in (1, 2):
            equal = sum(a == b for a, b in zip(column, column[lag:]))
            assert abs(equal - (len(values) - lag) / 2) < bound, (bit, lag)


# Sources


class Sent:
    """A packet that a source sent, taken apart, and the cycles in which it was shown and taken."""

    def __init__(self, scheme: TagScheme, word: int, shown: int, taken: int) -> None:
        width = scheme.code.width
        fields = {"tag": width, "source": width, "sequence": 4, "birth": 20, "offered": 20}
        self.shown, self.taken = shown, taken
        for name, bits in fields.items():
            setattr(self, name, word & (1 << bits) - 1)
            word >>= bits
        assert word == 0
        self.source = scheme.code.decode(self.source)
        self.destination = scheme.destination(self.tag, self.source)


def packets_of(
    source: BernoulliSource | ReplaySource,
    straps: dict[str, int],
    *,
    cycles: int,
    ready: Callable[[int], bool] = lambda cycle: True,
    open_: Callable[[int], bool] = lambda cycle: True,
    counters: tuple[str, ...] = ("injected", "entered"),
) -> tuple[list[Sent], dict[str, int]]:
    """Run a source whose straps are set, and check that it follows the stream rule."""
    packets: list[Sent] = []
    ends: dict[str, int] = {}

    async def testbench(ctx: Any) -> None:
        for name, value in straps.items():
            ctx.set(getattr(source, name), value)
        stimulus = Cat(source.now, source.open, source.measure, source.o.ready)
        response = Cat(source.o.valid, source.o.payload)
        waiting: int | None = None
        since = 0
        for cycle in range(cycles):
            flag = ready(cycle)
            word = cycle | open_(cycle) << 32 | (cycle >= 100) << 33 | flag << 34
            ctx.set(stimulus, word)
            seen = ctx.get(response)
            if waiting is not None:
                assert seen == waiting, f"the source let go of a packet in cycle {cycle}"
            elif seen & 1:
                assert open_(cycle)
                since = cycle
            waiting = None
            if seen & 1:
                if flag:
                    packets.append(Sent(source.tags, seen >> 1, since, cycle))
                else:
                    waiting = seen
            await ctx.tick()
        ends.update({name: ctx.get(getattr(source, name)) for name in counters})

    exercise(source, testbench)
    numbers: Counter[int] = Counter()
    for packet in packets:
        assert packet.offered == packet.shown
        assert packet.sequence == numbers[packet.destination] % 16
        numbers[packet.destination] += 1
    assert ends["injected"] == len(packets)
    assert ends["entered"] == sum(packet.taken >= 100 for packet in packets)
    return packets, ends


def scheme_of(ports: int, radix: int, routing: str = "destination") -> TagScheme:
    return multistage_plan("cube", ports, radix).tags(routing)


def stamped(scheme: TagScheme) -> Packet:
    return Packet(scheme.code.width, Stamp(scheme.code.width))


def bernoulli(scheme: TagScheme, depth: int) -> BernoulliSource:
    return BernoulliSource(stamped(scheme), scheme, depth=depth)


SEED = 0x9E3779B97F4A7C15F39CC0605CEDC834
COUNTERS = ("injected", "entered", "generated", "rejected")


def within(count: int, trials: int, probability: float) -> bool:
    """Whether a binomial count lies within five standard deviations of its mean."""
    deviation = math.sqrt(trials * probability * (1 - probability))
    return abs(count - trials * probability) <= 5 * deviation


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "routing", "load", "bias"),
    [
        (8, 2, "destination", 0.1, 0.0),
        (8, 2, "xor", 0.6, 0.25),
        long(16, 4, "xor", 1.0, 0.0),
        (9, 3, "destination", 1.0, 0.0),
        long(27, 3, "destination", 0.6, 0.5),
        (8, 2, "destination", 0.7, 1.0),
    ],
)
def test_bernoulli_source_has_the_given_rate_and_destinations(
    ports: int, radix: int, routing: str, load: float, bias: float
) -> None:
    """All within five standard deviations; a load or a bias of 1 exactly."""
    print(f"seed {SEED:#x}")
    scheme = scheme_of(ports, radix, routing)
    cycles, favourite, address = 2500, ports - 2, ports - 1
    packets, ends = packets_of(
        bernoulli(scheme, 4),
        {
            "address": scheme.code.encode(address),
            "favourite": scheme.code.encode(favourite),
            "seed": SEED,
            "load": round(load * (1 << LOAD_BITS)),
            "bias": round(bias * (1 << BIAS_BITS)),
        },
        cycles=cycles,
        counters=COUNTERS,
    )
    assert ends["rejected"] == 0
    assert within(ends["generated"], cycles - 1, load)
    assert ends["generated"] - len(packets) in (0, 1)
    counts = Counter(packet.destination for packet in packets)
    for destination in range(ports):
        probability = (1 - bias) / ports + bias * (destination == favourite)
        assert within(counts[destination], len(packets), probability), destination
    assert {packet.source for packet in packets} == {address}
    # Nothing waits, so a packet is born as it is shown; the first in cycle 2 at the earliest.
    assert all(packet.birth == packet.shown for packet in packets)
    assert packets[0].shown == 2 or load < 1
    # Neighbouring intervals tell nothing of each other: successes follow each other as by chance.
    births = {packet.birth for packet in packets}
    assert within(sum(birth + 1 in births for birth in births), len(births) - 1, load)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "size"),
    [
        *((16, 4, 1), long(16, 4, 2), long(16, 4, 8), (9, 3, 3)),
        *(long(36, 6, 2), long(36, 6, 12), long(8, 2, 8)),
    ],
)
def test_bernoulli_source_draws_from_a_block(ports: int, radix: int, size: int) -> None:
    """Three of four packets are for the favourite's block, any terminal in it as likely."""
    print(f"seed {SEED:#x}")
    scheme = scheme_of(ports, radix)
    favourite = ports // 2 + 1
    packets, _ = packets_of(
        bernoulli(scheme, 4),
        {
            "favourite": scheme.code.encode(favourite),
            "scope": scheme.code.block_mask(size),
            "seed": SEED,
            "load": 1 << LOAD_BITS,
            "bias": round(0.75 * (1 << BIAS_BITS)),
        },
        cycles=2500,
    )
    counts = Counter(packet.destination for packet in packets)
    for destination in range(ports):
        near = destination // size == favourite // size
        probability = 0.25 / ports + 0.75 * near / size
        assert within(counts[destination], len(packets), probability), destination


def test_bernoulli_source_counts_what_its_queue_cannot_hold() -> None:
    """Blocked for 60 cycles at load 1: 3 wait, the others are rejected; births stay true."""
    scheme = scheme_of(8, 2)
    packets, ends = packets_of(
        bernoulli(scheme, 3),
        {"seed": SEED, "load": 1 << LOAD_BITS, "bias": 0},
        cycles=64,
        ready=lambda cycle: cycle >= 60,
        counters=COUNTERS,
    )
    assert [packet.birth for packet in packets[:3]] == [2, 3, 4]
    assert [packet.shown for packet in packets[:4]] == [2, 61, 62, 63]
    assert ends["generated"] == 63
    waiting = 2  # of three places, one is filled a cycle after it is freed
    assert ends["generated"] == len(packets) + ends["rejected"] + waiting


def test_bernoulli_source_under_random_waits() -> None:
    scheme = scheme_of(8, 2, "xor")
    generator = random.Random(5)
    print("seed 5")
    packets, ends = packets_of(
        bernoulli(scheme, 8),
        {"address": 3, "seed": SEED, "load": 3 << LOAD_BITS - 2, "bias": 0},
        cycles=1000,
        ready=lambda cycle: generator.random() < 0.5 or cycle >= 900,
        open_=lambda cycle: cycle < 850,
        counters=COUNTERS,
    )
    assert packets[-1].shown <= 850
    births = [packet.birth for packet in packets]
    assert births == sorted(set(births))
    assert all(packet.birth <= packet.shown <= packet.taken for packet in packets)
    assert ends["rejected"] > 0


@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_replay_source_sends_each_packet_in_its_cycle(routing: str) -> None:
    scheme = scheme_of(8, 2, routing)
    rows = [(2, 5), (3, 0), (7, 5), (7, 6), (7, 5), (40, 1), (41, 7)]
    trace = tuple(cycle | scheme.code.encode(to) << 32 for cycle, to in rows)
    source = ReplaySource(stamped(scheme), scheme, depth=16, trace=trace)
    packets, _ = packets_of(source, {"address": 4, "count": len(rows)}, cycles=120)
    assert [(packet.birth, packet.destination) for packet in packets] == rows
    assert [packet.shown for packet in packets] == [2, 3, 7, 8, 9, 40, 41]


def test_replay_source_keeps_the_births_of_packets_that_come_late() -> None:
    """Time 0 and 1 are past before the first packet can be shown; waits delay the others."""
    scheme = scheme_of(9, 3)
    generator = random.Random(6)
    print("seed 6")
    rows = [(0, 8), (1, 3)] + [(2 * number, number % 9) for number in range(1, 40)]
    trace = tuple(cycle | scheme.code.encode(to) << 32 for cycle, to in rows)
    source = ReplaySource(stamped(scheme), scheme, depth=len(rows), trace=trace)
    packets, _ = packets_of(
        source,
        {"address": 0, "count": len(rows)},
        cycles=200,
        ready=lambda cycle: generator.random() < 0.5,
        open_=lambda cycle: cycle >= 20,
    )
    assert [(packet.birth, packet.destination) for packet in packets] == rows
    assert packets[0].shown == 20


def test_replay_source_sends_no_more_than_its_count() -> None:
    scheme = scheme_of(8, 2)
    source = ReplaySource(stamped(scheme), scheme, depth=4, trace=(2, 3, 4, 5))
    packets, _ = packets_of(source, {"address": 0, "count": 2}, cycles=30)
    assert [packet.birth for packet in packets] == [2, 3]


# Sink


class SinkModel:
    """What a sink shall count, told by somebody who knows every packet by its full number."""

    def __init__(self, bins: int) -> None:
        self.counts: Counter[str] = Counter()
        self.histograms = {"total": [0] * bins, "network": [0] * bins}
        self.latencies: dict[str, list[int]] = {"total": [], "network": []}
        self.seen: dict[int, set[int]] = defaultdict(set)

    def take(
        self,
        source: int,
        number: int,
        stray: bool,
        total: int,
        network: int,
        *,
        measure: bool,
        timed: bool,
    ) -> None:
        self.counts["delivered"] += 1
        if stray:
            self.counts["misrouted"] += 1
        elif number in self.seen[source]:
            self.counts["duplicated"] += 1
        else:
            if number < max(self.seen[source], default=-1):
                self.counts["reordered"] += 1
            self.seen[source].add(number)
        self.counts["measured"] += measure
        self.counts["latency_sum"] += total
        if timed:
            self.counts["timed"] += 1
            for name, latency in (("total", total), ("network", network)):
                histogram = self.histograms[name]
                histogram[min(latency, len(histogram) - 1)] += 1
                self.latencies[name].append(latency)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("ports", "radix", "routing"), [(8, 2, "destination"), (8, 2, "xor"), (9, 3, "destination")]
)
@pytest.mark.parametrize("bins", [2, 16, 50])
def test_sink_judges_bad_streams(ports: int, radix: int, routing: str, bins: int) -> None:
    """Flows with holes, repeats, late and stray packets, against a model that knows all."""
    print(f"seed {bins}")
    generator = random.Random(bins)
    scheme = scheme_of(ports, radix, routing)
    code, width = scheme.code, scheme.code.width
    address = ports - 2
    sink = Sink(stamped(scheme), scheme, bins=bins)
    model = SinkModel(bins)
    start = (1 << 20) - 300  # the stamps' clock runs over during the test
    following: Counter[int] = Counter()
    begin, end = 200, 700
    results: dict[str, Any] = {}

    async def testbench(ctx: Any) -> None:
        ctx.set(sink.address, code.encode(address))
        stimulus = Cat(sink.now, sink.measure, sink.i.valid, sink.i.payload)
        for cycle in range(900):
            now, measure = start + cycle, begin <= cycle < end
            word = now | measure << 32
            ctx.set(sink.least, max(0, cycle - end) if cycle > begin else (1 << 20) - 1)
            ctx.set(sink.most, max(0, cycle - begin - 1))
            if generator.random() < 0.8 and cycle < 890:
                source = generator.choice([0, 1, address, ports - 1])
                luck = generator.random()
                stray = luck < 0.08
                number = following[source]
                if luck < 0.25:  # up to seven back: twice, or late
                    number = max(0, number - generator.randrange(1, 8))
                elif luck < 0.35:  # a hole
                    number += generator.randrange(1, 7)
                if stray:
                    to = (address + generator.randrange(1, ports)) % ports
                else:
                    to = address
                    following[source] = max(following[source], number + 1)
                network = generator.randrange(1, 40)
                total = network + generator.randrange(30)
                # What is generated in a cycle of the window was born in the cycle after it.
                timed = begin < cycle - total <= end
                model.take(source, number, stray, total, network, measure=measure, timed=timed)
                fields = [
                    (scheme.tag(source, to), width),
                    (code.encode(source), width),
                    (number % 16, 4),
                    ((now - total) % (1 << 20), 20),
                    ((now - network) % (1 << 20), 20),
                ]
                payload = at = 0
                for value, bits in fields:
                    payload |= value << at
                    at += bits
                word |= 1 << 33 | payload << 34
            ctx.set(stimulus, word)
            assert ctx.get(sink.i.ready)
            await ctx.tick()
        for name in sink.signature.members:
            if sink.signature.members[name].is_port:
                results[name] = ctx.get(Value.cast(getattr(sink, name)))
        for name in ("total", "network"):
            memory = getattr(sink, f"{name}_histogram").data
            results[name] = [ctx.get(memory[row]) for row in range(bins)]

    exercise(sink, testbench)
    for name in ("delivered", "misrouted", "duplicated", "reordered", "measured", "timed"):
        assert results[name] == model.counts[name] > 20, name
    assert results["latency_sum"] == model.counts["latency_sum"]
    assert model.counts["timed"] != model.counts["measured"]
    for name in ("total", "network"):
        assert results[name] == model.histograms[name]
        assert results[f"{name}_sum"] == sum(model.latencies[name])
        assert results[f"{name}_max"] == max(model.latencies[name])


@pytest.mark.parametrize(("bins", "error"), [(1, ValueError), (0, ValueError), (2.0, TypeError)])
def test_sink_rejects_bins(bins: Any, error: type[Exception]) -> None:
    scheme = scheme_of(8, 2)
    words = "must be from 2 to 1048576" if error is ValueError else "must be an integer"
    with pytest.raises(error, match=f"^Bins {words}, not {bins}$"):
        Sink(stamped(scheme), scheme, bins=bins)


@pytest.mark.parametrize("kind", [BernoulliSource, ReplaySource])
def test_source_rejects_depth(kind: type) -> None:
    scheme = scheme_of(8, 2)
    with pytest.raises(ValueError, match=r"^Depth must be at least 1, not 0$"):
        kind(stamped(scheme), scheme, depth=0)


# Instruments


@pytest.mark.parametrize("time", [4, 20])
def test_window_ages(time: int) -> None:
    """Of every packet, in every cycle, the bounds say whether it was born in the window."""
    ages = WindowAges(time)
    begin, end = 10, 23
    wrong = []

    async def testbench(ctx: Any) -> None:
        for cycle in range(40):
            # A second span in which `measure` is 1 does not count.
            ctx.set(ages.measure, begin <= cycle < end or cycle > 35)
            least, most = ctx.get(ages.least), ctx.get(ages.most)
            if cycle < 35:
                wrong.extend(
                    (cycle, birth)
                    for birth in range(max(0, cycle - (1 << time) + 1), cycle + 1)
                    if (least <= cycle - birth <= most) != (begin < birth <= end)
                )
            await ctx.tick()
        assert ctx.get(ages.most) == min((1 << time) - 1, 40 - begin - 1)

    exercise(ages, testbench)
    assert not wrong


def test_timer_numbers_the_cycles() -> None:
    timer = Timer()
    seen = []

    async def testbench(ctx: Any) -> None:
        for _ in range(20):
            seen.append(ctx.get(timer.now))
            await ctx.tick()

    exercise(timer, testbench)
    assert seen == list(range(20))


def test_link_meter_counts_what_crosses() -> None:
    meter = LinkMeter(3)
    generator = random.Random(1)
    print("seed 1")
    expected = [0] * 3

    async def testbench(ctx: Any) -> None:
        for _ in range(300):
            valid, ready = generator.getrandbits(3), generator.getrandbits(3)
            measure = generator.random() < 0.7
            ctx.set(
                Cat(*meter.valid, *meter.ready, meter.measure), valid | ready << 3 | measure << 6
            )
            for link in range(3):
                expected[link] += measure and (valid & ready) >> link & 1
            await ctx.tick()
        assert [ctx.get(meter.crossed[link]) for link in range(3)] == expected

    exercise(meter, testbench)
    assert min(expected) > 20


# The whole bench


class BrokenSwitch(OutputQueuedSwitch):
    """An output-queued switch with one defect at its upper output."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.whole = self.inner = whole = OutputQueuedSwitch(
            self.packet, radix=self.radix, depth=self.depth, routing=self.routing
        )
        for port, inner in zip(self.i, whole.i):
            wiring.connect(m, wiring.flipped(port), inner)
        for port, inner in itertools.islice(zip(self.o, whole.o), 1, None):
            wiring.connect(m, wiring.flipped(port), inner)
        # Every 16th packet of the upper output meets the defect.
        count = Signal(4)
        unlucky = count == 15
        with m.If(whole.o[0].valid & whole.o[0].ready):
            m.d.sync += count.eq(count + 1)
        self.spoil(m, whole.o[0], self.o[0], unlucky)
        return m

    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        raise NotImplementedError


class DroppingSwitch(BrokenSwitch):
    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        m.d.comb += [
            sink.payload.eq(source.payload),
            sink.valid.eq(source.valid & ~unlucky),
            source.ready.eq(sink.ready | unlucky),
        ]


class DuplicatingSwitch(BrokenSwitch):
    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        again = Signal()
        m.d.comb += [
            sink.payload.eq(source.payload),
            sink.valid.eq(source.valid),
            source.ready.eq(sink.ready & (~unlucky | again)),
        ]
        with m.If(source.valid & sink.ready):
            m.d.sync += again.eq(unlucky & ~again)


class MisroutingSwitch(BrokenSwitch):
    """Crosses its outputs for a moment."""

    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        m.d.comb += [
            sink.payload.eq(Mux(unlucky, self.inner.o[1].payload, source.payload)),
            sink.valid.eq(Mux(unlucky, self.inner.o[1].valid, source.valid)),
            source.ready.eq(Mux(unlucky, self.o[1].ready, sink.ready)),
        ]
        with m.If(unlucky):
            m.d.comb += [
                self.o[1].payload.eq(source.payload),
                self.o[1].valid.eq(source.valid),
                self.inner.o[1].ready.eq(sink.ready),
            ]


class CorruptingSwitch(BrokenSwitch):
    """Inverts the digit of the tag that the next stage reads, as a bad wire would."""

    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        tag = source.payload.tag
        m.d.comb += [
            sink.payload.eq(source.payload),
            sink.payload.tag.eq(Mux(unlucky, tag ^ (1 << len(tag) - 1), tag)),
            sink.valid.eq(source.valid),
            source.ready.eq(sink.ready),
        ]


class ReorderingSwitch(BrokenSwitch):
    """Keeps a packet aside until another of its flow has passed."""

    def spoil(self, m: Module, source: Any, sink: Any, unlucky: Value) -> None:
        kept = Signal.like(source.payload)
        full, passed = Signal(), Signal()
        with m.If(full & passed):
            m.d.comb += [sink.payload.eq(kept), sink.valid.eq(1)]
            with m.If(sink.ready):
                m.d.sync += [full.eq(0), passed.eq(0)]
        with m.Elif(unlucky & ~full):
            m.d.comb += source.ready.eq(1)
            with m.If(source.valid):
                m.d.sync += [kept.eq(source.payload), full.eq(1)]
        with m.Else():
            m.d.comb += [
                sink.payload.eq(source.payload),
                sink.valid.eq(source.valid),
                source.ready.eq(sink.ready),
            ]
            same = (kept.tag == source.payload.tag) & (
                kept.payload.source == source.payload.payload.source
            )
            with m.If(full & sink.valid & sink.ready & same):
                m.d.sync += passed.eq(1)


def books(broken: type | None, routing: str = "destination") -> dict[str, int]:
    """The counters of an 8-port cube after a run and a drain, one box replaced."""
    print(f"seed {SEED:#x}")
    network = MultistageNetwork(8, depth=2, routing=routing)
    bench = PacketBench(
        network,
        SourcePlan(
            BernoulliSource,
            {"depth": 16},
            [
                {
                    "favourite": 5 - terminal % 2,
                    "seed": SEED + terminal,
                    "load": round(0.4 * (1 << LOAD_BITS)),
                    "bias": round(0.5 * (1 << BIAS_BITS)),
                    "scope": 0,
                    "quota": 0,
                }
                for terminal in range(8)
            ],
        ),
        bins=64,
    )
    if broken is not None:
        box = bench.cells["box_1_2"]
        parameters = {**box.type.parameters}
        bench.cells["box_1_2"] = Cell("box_1_2", CellType(broken, **parameters))
    with AmaranthEngine(bench) as engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(400)
        engine.set("send", 0)
        engine.step(100)
        crossed = sum(crossings(engine, bench).values())
        counts = {
            name: sum(engine.read(bench.sinks, name))
            for name in ("delivered", "misrouted", "duplicated", "reordered", "measured")
        }
        counts["injected"] = sum(engine.read(bench.sources, "injected"))
        histogram = [
            sum(rows)
            for rows in zip(*(engine.memory(sink, "total_histogram") for sink in bench.sinks))
        ]
        assert sum(histogram) == counts["measured"]
    return counts | {"crossed": crossed}


@pytest.mark.long
@pytest.mark.parametrize("routing", ["destination", long("xor")])
def test_books_of_a_whole_network_balance(routing: str) -> None:
    counts = books(None, routing)
    assert counts["injected"] == counts["delivered"] == counts["measured"] > 700
    assert counts["misrouted"] == counts["duplicated"] == counts["reordered"] == 0
    assert counts["crossed"] == 3 * counts["injected"]


@pytest.mark.long
def test_books_show_a_box_that_drops() -> None:
    counts = books(DroppingSwitch)
    assert counts["delivered"] < counts["injected"]
    assert counts["misrouted"] == counts["duplicated"] == counts["reordered"] == 0


@pytest.mark.long
def test_books_show_a_box_that_duplicates() -> None:
    counts = books(DuplicatingSwitch)
    assert counts["duplicated"] == counts["delivered"] - counts["injected"] > 0
    assert counts["misrouted"] == counts["reordered"] == 0


@pytest.mark.long
@pytest.mark.parametrize("routing", [long("destination"), "xor"])
def test_books_show_a_box_that_misroutes(routing: str) -> None:
    counts = books(MisroutingSwitch, routing)
    assert counts["misrouted"] > 0
    assert counts["delivered"] == counts["injected"]


@pytest.mark.long
def test_books_show_a_box_that_corrupts_tags() -> None:
    """The packet agrees with its tag wherever it arrives, but not with the flow it falls into."""
    counts = books(CorruptingSwitch)
    assert counts["duplicated"] + counts["reordered"] > 0
    assert counts["delivered"] == counts["injected"]


@pytest.mark.long
def test_books_show_a_box_that_reorders() -> None:
    counts = books(ReorderingSwitch)
    assert counts["reordered"] > 0
    assert counts["misrouted"] == counts["duplicated"] == 0
