# amaranth: UnusedElaboratable=no
"""The serial line against a model of it in Python, bit by bit."""

import random
from typing import Any

import pytest
from driving import exercise
from multicube.boards.uart import UARTReceiver, UARTTransmitter

DIVISOR = 16
SEED = 20260713


def _random_bytes(count: int) -> list[int]:
    print("seed", SEED)
    return [0x00, 0xFF, 0x55, 0xAA, *random.Random(SEED).randbytes(count)]


def _levels(byte: int, *, stop: int = 1) -> list[int]:
    """What the line shows, bit after bit."""
    return [0, *(byte >> bit & 1 for bit in range(8)), stop]


def _decode(line: list[int], divisor: int) -> list[int]:
    """The bytes in a line that was looked at in every cycle; every bit must be whole and steady."""
    found, at = [], 0
    while at < len(line):
        if line[at]:
            at += 1
            continue
        bits = [line[at + bit * divisor : at + (bit + 1) * divisor] for bit in range(10)]
        assert all(len(set(bit)) == 1 for bit in bits), f"a bit is cut short at cycle {at}"
        assert bits[0][0] == 0
        assert bits[9][0] == 1
        found.append(sum(bits[1 + bit][0] << bit for bit in range(8)))
        at += 10 * divisor
    return found


@pytest.mark.parametrize("divisor", [4, 5, 16])
def test_transmitter(divisor: int) -> None:
    """Bytes that wait follow each other without a gap of more than two cycles."""
    sent = _random_bytes(8)
    dut = UARTTransmitter(divisor)
    line: list[int] = []

    async def source(ctx: Any) -> None:
        for byte in sent:
            ctx.set(dut.i.payload, byte)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def watch(ctx: Any) -> None:
        for _ in range(len(sent) * (10 * divisor + 2) + 4):
            line.append(ctx.get(dut.tx))
            await ctx.tick()

    exercise(dut, source, watch, limit=100_000)
    assert _decode(line, divisor) == sent


def _receive(bits: list[tuple[float, int]], *, wait: int = 0) -> list[int]:
    """What a receiver makes of a line: (duration in cycles, level) one after the other."""
    dut = UARTReceiver(DIVISOR)
    found: list[int] = []
    bits = [(2 * DIVISOR, 1), *bits, (2 * DIVISOR + wait, 1)]

    async def drive(ctx: Any) -> None:
        end = now = 0.0
        for duration, level in bits:
            end += duration
            ctx.set(dut.rx, level)
            while now < end:
                now += 1
                await ctx.tick()

    async def take(ctx: Any) -> None:
        ctx.set(dut.o.ready, not wait)
        for cycle in range(int(sum(duration for duration, _ in bits))):
            if cycle == wait:
                ctx.set(dut.o.ready, 1)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                found.append(ctx.get(dut.o.payload))
            await ctx.tick()

    exercise(dut, drive, take, limit=100_000)
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("error", [-0.04, 0, 0.04])
def test_receiver_tolerates_other_speeds(error: float) -> None:
    sent = _random_bytes(8)
    gaps = random.Random(SEED + 1)
    bits: list[tuple[float, int]] = []
    for byte in sent:
        bits += [(DIVISOR * (1 + error), level) for level in _levels(byte)]
        bits.append((gaps.choice([0, 1, 7, 40]), 1))
    assert _receive(bits) == sent


def test_receiver_passes_over_glitches_and_breaks() -> None:
    """A short spike is no start bit; a byte without its stop bit is none; the next one is whole."""

    def whole(byte: int, stop: int = 1) -> list[tuple[float, int]]:
        return [(DIVISOR, level) for level in _levels(byte, stop=stop)]

    bits = [(DIVISOR // 4, 0), (DIVISOR, 1), *whole(0x5A), *whole(0x33, stop=0)]
    bits += [(20 * DIVISOR, 0), (DIVISOR, 1), *whole(0xC3)]
    assert _receive(bits) == [0x5A, 0xC3]


def test_receiver_keeps_the_byte_that_nobody_takes() -> None:
    bits = [(DIVISOR, level) for byte in (0x12, 0x34) for level in _levels(byte)]
    assert _receive(bits, wait=30 * DIVISOR) == [0x12]


@pytest.mark.parametrize("component", [UARTReceiver, UARTTransmitter])
def test_uart_rejects_divisor(component: type) -> None:
    with pytest.raises(ValueError, match=r"^Divisor must be at least 4, not 3$"):
        component(3)
    with pytest.raises(TypeError, match=r"^Divisor must be an integer, not 8\.5$"):
        component(8.5)
