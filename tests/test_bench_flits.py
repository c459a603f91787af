# amaranth: UnusedElaboratable=no
"""The bench's sources where packets have several flits, or go to many."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Cat
from driving import exercise
from long_runs import long
from multicube.hdl.bench import BernoulliSource, ReplaySource
from multicube.hdl.bench.sender import Sender
from multicube.hdl.bench.sources import BIAS_BITS, LOAD_BITS
from multicube.hdl.bench.stamp import Stamp
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.tags import TagScheme
from multicube.hdl.links.packet import Packet
from multicube.sim import Trace, TracePacket

SEED = 0x9E3779B97F4A7C15F39CC0605CEDC834
TIME = 20


@dataclass(frozen=True)
class Format:
    """How packets of the bench lie in a word: tag, mask, stamp, last."""

    scheme: TagScheme
    broadcast: bool = False
    longest: int = 0
    sequence: int = 4

    @property
    def fields(self) -> dict[str, int]:
        width = self.scheme.code.width
        return {
            "tag": width,
            **({"mask": width} if self.broadcast else {}),
            **{"source": width, "sequence": self.sequence, "birth": TIME, "offered": TIME},
            **({"length": self.longest.bit_length(), "last": 1} if self.longest else {}),
        }

    @property
    def packet(self) -> Packet:
        stamp = Stamp(
            self.scheme.code.width, sequence=self.sequence, length=self.longest.bit_length()
        )
        return Packet(
            self.scheme.code.width, stamp, broadcast=self.broadcast, flits=self.longest > 0
        )

    def word(self, **values: int) -> int:
        assert values.keys() == self.fields.keys()
        word = at = 0
        for name, width in self.fields.items():
            assert 0 <= values[name] < 1 << width
            word |= values[name] << at
            at += width
        return word

    def values(self, word: int) -> dict[str, int]:
        values = {}
        for name, width in self.fields.items():
            values[name] = word & (1 << width) - 1
            word >>= width
        assert word == 0
        return values


def scheme_of(wiring: str, ports: int, radix: int, routing: str) -> TagScheme:
    return multistage_plan(wiring, ports, radix).tags(routing)


FORMATS = {
    "flits": Format(scheme_of("cube", 8, 2, "destination"), longest=5),
    "flits, xor": Format(scheme_of("indirect-cube", 16, 4, "xor"), longest=6, sequence=12),
    "flits, radix 3": Format(scheme_of("omega", 9, 3, "destination"), longest=3),
    "broadcast": Format(scheme_of("indirect-cube", 8, 2, "destination"), True, sequence=24),
    "broadcast, xor": Format(scheme_of("indirect-cube", 16, 4, "xor"), True, sequence=24),
    "both": Format(scheme_of("cube", 8, 2, "xor"), True, longest=4, sequence=24),
}


class Shown(NamedTuple):
    """What a source showed in a cycle, and whether it was taken."""

    cycle: int
    values: dict[str, int]
    taken: bool


class Order(NamedTuple):
    """A packet to be sent, with addresses as people write them."""

    birth: int
    destination: int
    mask: int = 0
    length: int = 1


def drive(
    source: Sender | BernoulliSource | ReplaySource,
    form: Format,
    straps: dict[str, int],
    *,
    cycles: int,
    chance: tuple[float, float],
    orders: Sequence[Order] = (),
) -> tuple[list[Shown], dict[str, int], Counter[str]]:
    """Run a source with a receiver that is ready, and a bench that is open, by chance.

    Returns what was shown, the counters at the end, and what they must be.
    """
    generator = random.Random(repr(chance))
    print("seed", repr(chance))
    trace: list[Shown] = []
    ends: dict[str, int] = {}
    expected: Counter[str] = Counter()
    queue = list(orders)

    async def testbench(ctx: Any) -> None:
        for name, value in straps.items():
            ctx.set(getattr(source, name), value)
        stimulus = Cat(source.now, source.open, source.measure, source.o.ready)
        response = Cat(source.o.valid, source.o.payload)
        waits, inside = False, False
        for cycle in range(cycles):
            ready, open_ = (generator.random() < odds for odds in chance)
            if cycle > cycles - 60:
                ready, open_ = True, cycle < cycles - 20
            measure = cycle >= cycles // 2
            ctx.set(stimulus, cycle | open_ << 32 | measure << 33 | ready << 34)
            if orders:
                ctx.set(source.i.valid, bool(queue))
            if queue:
                code = form.scheme.code
                order = {"birth": queue[0].birth, "destination": code.encode(queue[0].destination)}
                order |= {"mask": queue[0].mask} if form.broadcast else {}
                order |= {"length": queue[0].length} if form.longest else {}
                ctx.set(source.i.payload, order)
            if queue and ctx.get(source.i.ready):
                queue.pop(0)
            assert ctx.get(source.pending) == waits
            assert ctx.get(source.injected) == expected["injected"]
            word = ctx.get(response)
            if word & 1:
                values = form.values(word >> 1)
                if waits:
                    assert values == trace[-1].values, "the source let go of a flit"
                assert open_ or waits or inside, "a packet began while the bench was closed"
                trace.append(Shown(cycle, values, ready))
                if ready and not inside:
                    expected["injected"] += 1
                    expected["entered"] += measure
                    expected["copies"] += 1 << values.get("mask", 0).bit_count()
                if ready:
                    inside = not values.get("last", 1)
            else:
                assert not inside or not orders, "the flits of a packet don't follow each other"
            waits = bool(word & 1) and not ready
            await ctx.tick()
        names = ["injected", "entered", *(["copies"] if form.broadcast else [])]
        ends.update({name: ctx.get(getattr(source, name)) for name in names})
        assert not inside

    exercise(source, testbench)
    assert not queue
    assert ends == {name: expected[name] for name in ends}
    return trace, ends, expected


def packets_in(trace: Sequence[Shown], form: Format, address: int) -> list[Order]:
    """The packets of a trace, each checked flit by flit."""
    scheme = form.scheme
    found: list[Order] = []
    numbers: Counter[int] = Counter()
    shown: int | None = None
    flits: list[dict[str, int]] = []
    for cycle, values, taken in trace:
        shown = cycle if shown is None else shown
        if not taken:
            continue
        flits.append(values)
        if not values.get("last", 1):
            continue
        header = flits[0]
        mask = header.get("mask", 0)
        if form.broadcast:
            outputs = scheme.destinations(header["tag"], mask, address)
            assert scheme.broadcast(address, outputs)[1] == mask
            first = outputs[0]
            varying = outputs[0] ^ outputs[-1]
        else:
            first, varying = scheme.destination(header["tag"], address), 0
        flow = -1 if form.broadcast else first
        stamp = {
            "source": scheme.code.encode(address),
            "sequence": numbers[flow] % (1 << form.sequence),
            "birth": header["birth"],
            "offered": shown,
        }
        numbers[flow] += 1
        length = header.get("length", 1)
        assert len(flits) == length
        for index, flit in enumerate(flits):
            tag = index % (1 << scheme.code.width) if index else header["tag"]
            rest = {"mask": mask} if form.broadcast else {}
            rest |= {"length": length, "last": int(index == length - 1)} if form.longest else {}
            assert flit == {"tag": tag, **rest, **stamp}
        found.append(Order(header["birth"], first, varying, length))
        flits, shown = [], None
    assert not flits
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("chance", [(1.0, 1.0), (0.6, 1.0), (0.5, 0.4)])
@pytest.mark.parametrize("name", FORMATS)
def test_sender_makes_packets_of_orders(name: str, chance: tuple[float, float]) -> None:
    form = FORMATS[name]
    ports = form.scheme.code.count
    generator = random.Random(name)
    orders = [
        Order(
            birth,
            generator.randrange(ports),
            generator.randrange(ports) * form.broadcast,
            generator.randint(1, max(form.longest, 1)),
        )
        for birth in range(40)
    ]
    address = ports - 2
    trace, _, expected = drive(
        Sender(form.packet, form.scheme),
        form,
        {"address": form.scheme.code.encode(address)},
        cycles=int(60 + 50 * max(form.longest, 1) / chance[0] / chance[1]),
        chance=chance,
        orders=orders,
    )
    # Of a broadcast the destination counts only where its mask does not.
    lowest = [order._replace(destination=order.destination & ~order.mask) for order in orders]
    assert packets_in(trace, form, address) == lowest
    assert expected["injected"] == len(orders)
    if chance == (1.0, 1.0):  # one flit a cycle
        assert [flit.cycle for flit in trace] == list(range(sum(row.length for row in orders)))


@pytest.mark.parametrize("name", ["flits, xor", "broadcast, xor", "both"])
def test_replay_source_sends_lengths_and_masks_of_a_trace(name: str) -> None:
    form = FORMATS[name]
    code = form.scheme.code
    generator = random.Random(name)
    rows = [
        Order(
            2 + 3 * number,
            generator.randrange(code.count),
            generator.randrange(code.count) * form.broadcast,
            generator.randint(1, max(form.longest, 1)),
        )
        for number in range(30)
    ]

    class Network(NamedTuple):
        """As much of a network as a trace wants to know."""

        sources: int
        sinks: int
        lengths: tuple[int, int]
        packet: Packet
        tags: TagScheme

        def check_class(self, source: int, destination: int) -> None:
            """All packets are of one class."""

    network = Network(code.count, code.count, (1, max(form.longest, 1)), form.packet, form.scheme)
    packets = [TracePacket(row.birth - 2, 1, row.destination, row.length, row.mask) for row in rows]
    plan = Trace("mine", tuple(packets)).sources(network)
    assert plan.straps == [{"count": 30 * (source == 1)} for source in range(code.count)]
    source = ReplaySource(form.packet, form.scheme, **plan.parameters, **plan.contents[1])
    straps = {"address": code.encode(1), **plan.straps[1]}
    trace, _, _ = drive(source, form, straps, cycles=400, chance=(0.8, 1.0))
    lowest = [row._replace(destination=row.destination & ~row.mask) for row in rows]
    assert packets_in(trace, form, 1) == lowest
    assert trace[0].cycle == 2


def within(count: int, trials: int, probability: float) -> bool:
    """Whether a binomial count lies within five standard deviations of its mean."""
    deviation = math.sqrt(trials * probability * (1 - probability))
    return abs(count - trials * probability) <= 5 * deviation


@pytest.mark.long
@pytest.mark.parametrize(("low", "high"), [(1, 4), long(3, 5), long(2, 2)])
def test_lengths_are_uniform(low: int, high: int) -> None:
    """And tell nothing of the destination; all within five standard deviations."""
    print(f"seed {SEED:#x}")
    form = Format(scheme_of("cube", 8, 2, "destination"), longest=high)
    source = BernoulliSource(form.packet, form.scheme, depth=8, lengths=(low, high))
    straps = {"seed": SEED, "load": 1 << LOAD_BITS, "bias": 0}
    trace, _, _ = drive(source, form, straps, cycles=4000, chance=(1.0, 1.0))
    packets = packets_in(trace, form, 0)
    assert len(packets) > 700
    counts = Counter((row.destination, row.length) for row in packets)
    for destination in range(8):
        for length in range(low, high + 1):
            count = counts.pop((destination, length))
            assert within(count, len(packets), 1 / (8 * (high - low + 1)))
    assert not counts


@pytest.mark.long
@pytest.mark.parametrize("spread", [0.3, *map(long, (0.0, 1.0))])
def test_masks_are_uniform(spread: float) -> None:
    print(f"seed {SEED:#x}")
    form = FORMATS["broadcast"]
    source = BernoulliSource(form.packet, form.scheme, depth=4)
    straps = {"seed": SEED, "load": 1 << LOAD_BITS, "bias": 0}
    straps["spread"] = round(spread * (1 << BIAS_BITS))
    trace, ends, _ = drive(source, form, straps, cycles=2000, chance=(1.0, 1.0))
    packets = packets_in(trace, form, 0)
    masks = Counter(row.mask for row in packets)
    for mask in range(8):
        probability = spread / 8 + (1 - spread) * (mask == 0)
        assert within(masks[mask], len(packets), probability)
    assert ends["copies"] == sum(count << mask.bit_count() for mask, count in masks.items())
