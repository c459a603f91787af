# amaranth: UnusedElaboratable=no
"""Parity on circuits of several words: damage to any bit of any word is found and reported once."""

import random
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.links.packet import Packet
from multicube.hdl.terminals.circuit_parity import CircuitParityChecker
from multicube.hdl.terminals.parity import protected
from multicube.sim import Trace, TracePacket, simulate
from refusals import refusals

PACKET = Packet(2, 9, flits=True)
Words = list[int]


def sealed(word: int, last: bool, parity: str) -> int:
    """A word of `PACKET` with its parity: tag 2, payload 9, then the parity bits, and `last`."""
    tag, payload = word & 3, word >> 2 & 0x1FF

    def odd(bits: int) -> int:
        return bits.bit_count() % 2

    header = odd(tag) ^ last
    if parity == "packet":
        bits, width = header ^ odd(payload), 1
    else:
        bits = header | odd(payload & 0xFF) << 1 | odd(payload >> 8) << 2
        width = 3
    return tag | payload << 2 | bits << 11 | last << 11 + width


def test_this_is_the_layout() -> None:
    for parity, size in (("packet", 13), ("byte", 15)):
        layout = protected(PACKET, parity)
        assert (layout.size, layout["payload"].offset, layout["last"].offset) == (size, 2, size - 1)


class Bench:
    """A circuit at a time into the checker; what it passes on, and what it reports."""

    def __init__(self, ctx: Any, dut: CircuitParityChecker, seed: int) -> None:
        self.ctx, self.dut, self.rng = ctx, dut, random.Random(seed)
        self.passed: list[list[int]] = []
        self.reports = 0
        self._words: list[int] = []

    async def cycle(self, pace: float) -> None:
        ctx, dut = self.ctx, self.dut
        ready = self.rng.random() < pace
        ctx.set(dut.o.ready, int(ready))
        self.reports += ctx.get(dut.corrupted)
        if ready and ctx.get(dut.o.valid):
            word = ctx.get(Value.cast(dut.o.payload))
            self._words.append(word & 0x7FF)
            if word >> 11:
                self.passed.append(self._words)
                self._words = []
        await ctx.tick()

    async def circuit(self, words: Words, pace: float = 1.0, offers: float = 1.0) -> None:
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.connected, 1)
        for word in words:
            ctx.set(Value.cast(dut.i.payload), word)
            taken = False
            for _ in range(200):
                offered = self.rng.random() < offers
                ctx.set(dut.i.valid, int(offered))
                taken = bool(offered and ctx.get(dut.i.ready))
                await self.cycle(pace)
                if taken:
                    break
            assert taken
        ctx.set(Cat(dut.i.valid, dut.connected), 0)
        await self.cycle(pace)

    async def rest(self) -> None:
        for _ in range(12):
            await self.cycle(1.0)


@pytest.mark.parametrize("parity", ["packet", "byte"])
def test_every_wrong_bit_of_every_word(parity: str) -> None:
    """Whatever bit is wrong, `last` and the parity itself too: one report, and no other harm."""
    dut = CircuitParityChecker(PACKET, parity=parity, length=4)
    size = protected(PACKET, parity).size

    async def testbench(ctx: Any) -> None:
        bench = Bench(ctx, dut, 1)
        expected, reports = [], 0
        for length in (1, 3, 4):
            for place in range(length):
                for bit in range(size):
                    words = [bench.rng.randrange(1 << 11) for _ in range(length)]
                    sent = [sealed(w, at == length - 1, parity) for at, w in enumerate(words)]
                    sent[place] ^= 1 << bit
                    await bench.circuit(sent)
                    reports += 1
                # The next one is good.
                words = [bench.rng.randrange(1 << 11) for _ in range(length)]
                await bench.circuit([sealed(w, w is words[-1], parity) for w in words])
                expected.append(words)
                await bench.rest()
                assert (bench.passed, bench.reports) == (expected, reports)

    exercise(dut, testbench)


@pytest.mark.parametrize("length", [3, 4])
def test_random_circuits_with_pauses(length: int) -> None:
    """Good and damaged packets, packets without an end, and packets that are too long."""
    dut = CircuitParityChecker(PACKET, parity="byte", length=length)
    print(f"seed {length}")

    async def testbench(ctx: Any) -> None:
        bench = Bench(ctx, dut, length)
        rng = bench.rng
        expected, reports = [], 0
        for _ in range(60):
            count = rng.randrange(1, length + 3)
            words = [rng.randrange(1 << 11) for _ in range(count)]
            ended = rng.random() < 0.9
            sent = [
                sealed(word, ended and at == count - 1, "byte") for at, word in enumerate(words)
            ]
            good = ended and count <= length
            if rng.random() < 0.3:
                sent[rng.randrange(count)] ^= 1 << rng.randrange(15)
                good = False
            if good:
                expected.append(words)
            reports += not good
            await bench.circuit(sent, pace=rng.choice((0.3, 1.0)), offers=rng.choice((0.5, 1.0)))
        await bench.rest()
        assert (bench.passed, bench.reports) == (expected, reports)
        assert reports > 10
        assert len(expected) > 10

    exercise(dut, testbench)


@pytest.mark.long
def test_a_checked_packet_is_its_length_late() -> None:
    """A circuit through n boxes takes n + c cycles, and the checker of several words c more."""
    network = build("pasm", ports=4, length=5)
    trace = Trace("one", (TracePacket(0, 1, 2, 5),))
    assert simulate(network, traffic=trace, engine="amaranth", bins=32).latency.max == 2 + 5 + 5


@pytest.mark.parametrize("bit", [40, long(0), long(2), long(3), long(4)])
def test_damage_in_the_network_is_reported(bit: int) -> None:
    """A link inverts a bit of some words: of a stamp, or of the tag (bits 0 to 2 lead the packet).

    A request that is led to another terminal is rejected there, and reported too.
    """
    fault = f"link:1:3:flip={bit}:rate=0.1"
    given = {"load": 0.03, "cycles": 300, "warmup": 20, "seed": 5, "faults": [fault]}
    result = simulate(build("pasm", ports=8, length="2:6"), **given)
    assert result.corrupted > 0
    assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
    assert result.delivered + result.corrupted + result.dropped == result.injected


test_circuit_parity_checker_rejects = refusals(
    lambda packet, given: CircuitParityChecker(packet, **given),
    (Packet(2, 3), {"length": 4}, "Packet must have flits"),
    (PACKET, {"length": 1}, "Length must be at least 2, not 1"),
    (PACKET, {"length": 4, "parity": "odd"}, "Parity must be one of packet, byte, not 'odd'"),
)
