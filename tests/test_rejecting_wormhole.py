# amaranth: UnusedElaboratable=no
"""Wormhole switches that reject: the switch, the interfaces, and networks of both."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import call
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib import stream
from driving import exercise
from long_runs import long
from multicube.hdl.boxes.rejecting_wormhole import RejectingWormholeSwitch
from multicube.hdl.links.packet import Packet
from multicube.hdl.links.rejecting_link import RejectingLink
from multicube.hdl.primitives.random_bits import scattered_seed
from multicube.hdl.terminals.retry import RetryInterface, RetryReceiver
from refusals import refusals


@dataclass
class Path:
    """A packet on its way into a switch, and how many of its flits have gone."""

    output: int
    length: int
    gone: int = 0


class SwitchModel:
    """One register an output; a path is the input it comes from."""

    def __init__(self, radix: int) -> None:
        self.radix = radix
        self.path: list[int | None] = [None] * radix
        self.shown: list[tuple[int, bool] | None] = [None] * radix
        self.first = [0] * radix

    def cycle(
        self, offered: list[tuple[int, int, bool] | None], ready: list[bool], reject: list[bool]
    ) -> tuple[list[bool], list[bool], set[int]]:
        """From (output of a header, payload, close) at each input: ready, reject and dropped."""
        radix = self.radix
        moves = [shown is None or flag for shown, flag in zip(self.shown, ready)]
        busy = [i in self.path for i in range(radix)]
        winner: dict[int, int] = {}
        for j in range(radix):
            if self.path[j] is None and moves[j]:
                for i in [*range(self.first[j], radix), *range(self.first[j])]:
                    flit = offered[i]
                    if flit is not None and not busy[i] and flit[0] == j:
                        winner[j] = i
                        self.first[j] = (i + 1) % radix
                        break
        dropped = {
            i
            for i, flit in enumerate(offered)
            if flit is not None and not busy[i] and i not in winner.values()
        }
        rejected = [
            i in dropped or any(p == i and reject[j] for j, p in enumerate(self.path))
            for i in range(radix)
        ]
        taken = [False] * radix
        for j in range(radix):
            source = self.path[j] if self.path[j] is not None else winner.get(j)
            flit = None if source is None else offered[source]
            if source is not None:
                taken[source] = moves[j]
            if moves[j]:
                self.shown[j] = None if flit is None else flit[1:]
                if flit is not None:
                    self.path[j] = None if flit[2] else source
            if reject[j]:
                self.shown[j] = self.path[j] = None
        return taken, rejected, dropped


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("radix", "routing"),
    [(2, "destination"), (2, "xor"), (3, "destination"), (4, "destination"), (8, "xor")],
)
def test_rejecting_switch_follows_the_model(radix: int, routing: str) -> None:
    """Cycle by cycle; sources that go on, stop or begin again, and rejections from behind."""
    bits = (radix - 1).bit_length()
    layout = Packet(bits, 8, flits=True)
    dut = RejectingWormholeSwitch(layout, radix=radix, routing=routing)  # type: ignore[arg-type]
    model = SwitchModel(radix)
    generator = random.Random(radix)
    print(f"seed {radix}")
    seen: Counter[str] = Counter()

    async def testbench(ctx: Any) -> None:
        inputs = Cat(
            *(Cat(Value.cast(port.payload), port.valid, port.close) for port in dut.i),
            *(Cat(port.ready, port.reject) for port in dut.o),
        )
        backward = Cat(*(Cat(port.ready, port.reject) for port in dut.i), dut.dropped)
        forward = Cat(*(Cat(port.valid, Value.cast(port.payload), port.close) for port in dut.o))
        width = layout.size
        paths: list[Path | None] = [None] * radix
        for _ in range(300):
            offered: list[tuple[int, int, bool] | None] = [None] * radix
            word = at = 0
            for i in range(radix):
                path = paths[i]
                if path is None and generator.random() < 0.6:
                    path = Path(generator.randrange(radix), generator.randint(1, 6))
                    paths[i] = path
                if path is not None and (path.gone == 0 or generator.random() < 0.8):
                    digit = path.output if path.gone == 0 else generator.randrange(radix)
                    if routing == "xor":
                        digit ^= i
                    close = path.gone == path.length - 1
                    flit = digit | generator.getrandbits(9) << bits
                    offered[i] = (path.output, flit, close)
                    word |= (flit | 1 << width | close << width + 1) << at
                at += width + 2
            ready = [generator.random() < 0.85 for _ in range(radix)]
            reject = [model.path[j] is not None and generator.random() < 0.1 for j in range(radix)]
            for j in range(radix):
                word |= (ready[j] | reject[j] << 1) << at
                at += 2
            ctx.set(inputs, word)

            now = ctx.get(forward)
            for shown in model.shown:
                assert now & 1 == (shown is not None)
                if shown is not None:
                    # The only digit is rotated onto itself.
                    assert (now >> 1 & (1 << width) - 1, bool(now >> 1 + width & 1)) == shown
                now >>= width + 2
            taken, rejected, dropped = model.cycle(offered, ready, reject)
            now = ctx.get(backward)
            for i, flit in enumerate(offered):
                seen["flits"] += flit is not None
                assert now >> 2 * i + 1 & 1 == rejected[i]
                if flit is not None and not rejected[i]:
                    assert now >> 2 * i & 1 == taken[i]
            assert now >> 2 * radix == sum(1 << i for i in dropped)
            seen["dropped"] += len(dropped)
            seen["behind"] += sum(rejected) - len(dropped)
            for i, path in enumerate(paths):
                if path is None:
                    continue
                if rejected[i]:
                    paths[i] = None
                elif offered[i] is not None and taken[i]:
                    path.gone += 1
                    if path.gone == path.length:
                        paths[i] = None
                        seen["packets"] += 1
            await ctx.tick()

    exercise(dut, testbench)
    assert min(seen["dropped"], seen["behind"], seen["packets"]) > 10 * radix


def test_rejecting_switch_gives_up_a_path_at_once() -> None:
    """After a rejection nothing of the packet is shown, and the next cycle may bring a header."""
    dut = RejectingWormholeSwitch(Packet(1, 4, flits=True), radix=2)
    entry, exit_ = dut.i[0], dut.o[1]

    async def testbench(ctx: Any) -> None:
        ctx.set(exit_.ready, 1)
        ctx.set(entry.payload, {"tag": 1, "payload": 7})
        ctx.set(entry.valid, 1)
        await ctx.tick()
        assert ctx.get(exit_.valid)
        assert not ctx.get(entry.reject)
        ctx.set(entry.payload, {"tag": 0, "payload": 8})
        ctx.set(exit_.reject, 1)
        assert ctx.get(entry.reject)
        await ctx.tick()
        assert not ctx.get(exit_.valid)
        assert not ctx.get(dut.o[0].valid)
        ctx.set(exit_.reject, 0)
        ctx.set(entry.payload, {"tag": 1, "payload": 9})
        assert ctx.get(entry.ready)
        assert not ctx.get(entry.reject)
        await ctx.tick()
        assert ctx.get(exit_.valid)
        assert ctx.get(exit_.payload.payload) == 9

    exercise(dut, testbench)


LAYOUT = Packet(2, 16, flits=True)


def packet(number: int, length: int) -> list[int]:
    """Flits that hold their number and that of their packet."""
    return [
        (number << 4 | index) << 2 | (index == length - 1) << LAYOUT.size - 1
        for index in range(length)
    ]


@dataclass
class Attempt:
    """What a `RetryInterface` sent: number of each flit's packet and its own, by cycle."""

    start: int
    sent: list[tuple[int, int]]
    end: int = 0
    rejected: bool = False
    padding: int = 0


def attempts(
    dut: RetryInterface,
    packets: list[list[int]],
    *,
    offered: Callable[[int], bool] = lambda cycle: True,
    ready: Callable[[int], bool] = lambda cycle: True,
    fate: Callable[[int], int | None] = lambda attempt: None,
    cycles: int,
) -> list[Attempt]:
    """Take what an interface sends; `fate` is the age at which an attempt is rejected, if at all.

    Headers find the link ready, as in the network.
    """
    result: list[Attempt] = []

    async def testbench(ctx: Any) -> None:
        rest = [flit for flits in packets for flit in flits]
        pending = False
        attempt: Attempt | None = None
        if dut.delay > 1:
            ctx.set(dut.seed, scattered_seed(dut.delay))
        forward = Cat(dut.o.valid, dut.o.close, Value.cast(dut.o.payload))
        for cycle in range(cycles):
            pending = bool(rest) and (pending or offered(cycle))
            ctx.set(dut.i.valid, pending)
            if rest:
                ctx.set(Value.cast(dut.i.payload), rest[0])
            shown = ctx.get(forward)
            valid, close, flit = bool(shown & 1), bool(shown >> 1 & 1), shown >> 2
            if attempt is None and valid:
                attempt = Attempt(cycle, [])
                result.append(attempt)
            age = 0 if attempt is None else cycle - attempt.start
            reject = attempt is not None and fate(len(result) - 1) == age
            flag = ready(cycle) or age == 0
            ctx.set(Cat(dut.o.ready, dut.o.reject), flag | reject << 1)
            if attempt is not None:
                if valid and flag and not reject:
                    if attempt.sent and flit_of(attempt.sent[-1], packets) >> LAYOUT.size - 1:
                        attempt.padding += 1
                    else:
                        attempt.sent.append((flit >> 6 & 255, flit >> 2 & 15))
                if reject or (valid and flag and close):
                    assert reject or age >= dut.stages - 1
                    attempt.end, attempt.rejected = cycle, reject
                    attempt = None
            if pending and ctx.get(dut.i.ready):
                rest.pop(0)
                pending = False
            await ctx.tick()
        assert not rest
        assert attempt is None

    exercise(dut, testbench)
    return result


def flit_of(name: tuple[int, int], packets: list[list[int]]) -> int:
    number, index = name
    return packets[number][index]


@pytest.mark.parametrize("delay", [0, long(1), 2, long(8)])
@pytest.mark.parametrize(("stages", "longest"), [(1, 3), (2, 1), (3, 6), long(4, 2)])
def test_retry_interface_sends_each_packet_until_it_passes(
    stages: int, longest: int, delay: int
) -> None:
    """Rejected at any age: whole packets in order, after a delay in its bounds, and padded."""
    seed = 10 * stages + delay
    generator = random.Random(seed)
    print(f"seed {seed}")
    packets = [packet(number, generator.randint(1, longest)) for number in range(60)]
    fates: dict[int, int | None] = defaultdict(
        lambda: generator.randrange(stages) if generator.random() < 0.5 else None
    )
    dut = RetryInterface(LAYOUT, length_max=longest, delay=delay, stages=stages)
    made = attempts(
        dut,
        packets,
        offered=lambda cycle: generator.random() < (0.5 if cycle < 300 else 1),
        ready=lambda cycle: generator.random() < 0.8,
        fate=lambda attempt: fates[attempt],
        cycles=60 * (2 * stages + 3 * longest + delay + 4),
    )
    passed, delays = 0, Counter[int]()
    current = 0
    for number, (before, attempt) in enumerate(zip([None, *made], made)):
        if before is not None and before.rejected and delay:
            delays[attempt.start - before.end] += 1
        length = len(packets[current])
        names = [(current, index) for index in range(length)]
        assert attempt.sent == names[: len(attempt.sent)], number
        if attempt.rejected:
            assert fates[number] == attempt.end - attempt.start
        else:
            assert len(attempt.sent) == length
            assert attempt.padding <= (length < stages)
            passed += 1
        if not attempt.rejected or not delay:
            current += 1
    assert current == 60
    assert 10 < passed <= 60 - bool(not delay)
    assert passed == 60 or not delay
    assert set(delays) == set(range(1, delay + 1))


@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize(("stages", "length"), [(1, 1), (1, 4), (3, 3), (3, 6)])
def test_retry_interface_adds_one_cycle_and_no_gap(stages: int, length: int, delay: int) -> None:
    dut = RetryInterface(LAYOUT, length_max=length, delay=delay, stages=stages)
    packets = [packet(number, length) for number in range(5)]
    made = attempts(dut, packets, cycles=5 * length + 2)
    assert [attempt.start for attempt in made] == [1 + length * number for number in range(5)]
    assert all(attempt.end == attempt.start + length - 1 for attempt in made)
    assert not any(attempt.padding for attempt in made)


@pytest.mark.parametrize("delay", [0, 4])
def test_retry_interface_pads_short_packets(delay: int) -> None:
    """The path through four stages is closed three cycles after the header, not earlier."""
    dut = RetryInterface(LAYOUT, length_max=2, delay=delay, stages=4)
    made = attempts(dut, [packet(0, 1), packet(1, 2), packet(2, 1)], cycles=20)
    assert [(attempt.start, attempt.end, attempt.padding) for attempt in made] == [
        (1, 4, 1),
        (5, 8, 1),
        (9, 12, 1),
    ]


def test_retry_receiver_strips_the_padding() -> None:
    dut = RetryReceiver(LAYOUT)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        # (last, close), and whether it is shown.
        for last, close, shown in [
            (0, 0, 1),
            (1, 1, 1),
            (1, 0, 1),
            (0, 1, 0),
            (1, 0, 1),
            (1, 1, 0),
            (0, 0, 1),
            (1, 1, 1),
        ]:
            ctx.set(dut.i.payload.last, last)
            ctx.set(Cat(dut.i.valid, dut.i.close), 1 | close << 1)
            assert ctx.get(dut.o.valid) == shown
            assert ctx.get(dut.i.ready)
            assert not ctx.get(dut.i.reject)
            ctx.set(dut.o.ready, 0)
            assert ctx.get(dut.i.ready) == (not shown)
            ctx.set(dut.o.ready, 1)
            await ctx.tick()

    exercise(dut, testbench)


def test_rejecting_link_compares_by_its_packet() -> None:
    packet = Packet(2, 8, flits=True)
    assert RejectingLink(packet) == RejectingLink(packet)
    assert RejectingLink(packet) != RejectingLink(Packet(2, 9, flits=True))
    assert RejectingLink(packet) != stream.Signature(packet)


def test_rejecting_parts_keep_their_parameters() -> None:
    packet = Packet(4, 8, flits=True)
    dut = RejectingWormholeSwitch(packet, radix=4, routing="xor")
    assert (dut.packet, dut.radix, dut.routing, dut.digit_bits) == (packet, 4, "xor", 2)
    retry = RetryInterface(packet, length_max=5, delay=8, stages=3)
    assert (retry.packet, retry.length_max, retry.delay, retry.stages) == (packet, 5, 8, 3)
    assert RetryReceiver(packet).packet == packet


test_retry_interface_rejects = refusals(
    lambda parameters: RetryInterface(
        **{"packet": LAYOUT, "length_max": 4, "delay": 4, "stages": 2, **parameters}
    ),
    ({"length_max": 0}, "Greatest length must be at least 1, not 0"),
    ({"length_max": "4"}, TypeError, "Greatest length must be an integer, not '4'"),
    ({"delay": 3}, "Delay must be 0 or a power of two, not 3"),
    ({"delay": -1}, "Delay must be at least 0, not -1"),
    ({"stages": 0}, "Stages must be at least 1, not 0"),
    ({"packet": Packet(2, 8)}, "Packet must have flits"),
)


test_other_rejecting_parts_reject_packets_without_flits = refusals(
    call,
    (lambda: RejectingWormholeSwitch(Packet(2, 8), radix=2), "Packet must have flits"),
    (lambda: RetryReceiver(Packet(2, 8)), "Packet must have flits"),
)


def test_rejecting_switch_rejects_broadcast_masks() -> None:
    message = "^Packet that may be rejected must not have a broadcast mask$"
    with pytest.raises(ValueError, match=message):
        RejectingWormholeSwitch(Packet(2, 8, flits=True, broadcast=True), radix=2)
