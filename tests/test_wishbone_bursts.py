"""Wishbone ports with registered feedback: bursts of loads, compared with a list of words."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.networks.buses import WishboneNetwork
from multicube.hdl.operations.bus_operations import bus_operations, row_bits
from multicube.hdl.terminals.bus_words import WordMap
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.hdl.terminals.wishbone_bursts import WishboneBurstTarget

CLASSIC, CONSTANT, INCREMENTING, LAST = 0, 1, 2, 7


def addresses(start: int, beats: int, cti: int, bte: int) -> list[int]:
    """Of a burst, by tables 4-2 and 4-3 of the standard."""
    if cti == CONSTANT:
        return [start] * beats
    if bte == 0:
        return [start + n for n in range(beats)]
    wrap = (4, 8, 16)[bte - 1]
    return [start // wrap * wrap + (start + n) % wrap for n in range(beats)]


class Initiator:
    """One port."""

    def __init__(self, ctx: Any, port: Any, draw: random.Random | None = None) -> None:
        self.ctx, self.port, self.draw = ctx, port, draw
        self.cycles = 0

    async def tick(self) -> None:
        self.cycles += 1
        await self.ctx.tick()

    async def beat(self, cti: int = CLASSIC, **fields: int) -> int | None:
        """One transfer, sometimes after a pause: what was read, or None after an error."""
        ctx, port = self.ctx, self.port
        ctx.set(port.cyc, 1)
        while self.draw and self.draw.random() < 0.3:
            ctx.set(port.stb, 0)
            assert not ctx.get(port.ack | port.err)
            await self.tick()
        ctx.set(port.stb, 1)
        for name, value in {"cti": cti, "sel": 15, **fields}.items():
            ctx.set(getattr(port, name), value)
        for _ in range(300):
            if ctx.get(port.ack | port.err):
                break
            await self.tick()
        else:
            raise TimeoutError("no answer")
        seen = ctx.get(port.dat_r) if ctx.get(port.ack) else None
        await self.tick()
        return seen

    async def burst(
        self, ats: list[int], cti: int, bte: int, words: list[int] | None = None, end: bool = True
    ) -> list[int | None]:
        """The words that were read; without `end` no beat says that it is the last."""
        seen = []
        for number, at in enumerate(ats):
            tag = LAST if end and number == len(ats) - 1 else cti
            word = {} if words is None else {"dat_w": words[number]}
            fields = {"adr": at, "bte": bte, "we": words is not None}
            seen.append(await self.beat(tag, **fields, **word))
            if seen[-1] is None:
                break
        return seen

    def idle(self) -> None:
        self.ctx.set(self.port.cyc, 0)
        self.ctx.set(self.port.stb, 0)


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("cube", {"ports": 2, "payload": 32}),
        long("combining", {"ports": 4, "width": 32, "lengths": "1:3"}),
        long("torus", {"k": 4, "n": 1, "payload": 32, "latency": 2}),
        long("processor-memory", {"ports": 2, "width": 32}),
    ],
)
def test_bursts(family: str, parameters: dict[str, Any]) -> None:
    """Of all kinds, with pauses, ended as they should be or given up; past the last word, too."""
    network = WishboneNetwork(build(family, **parameters), rows=12, bursts=True)
    size, draw = network.ports * 12, random.Random(5)
    memory, errors = [0] * size, 0

    async def testbench(ctx: Any) -> None:
        nonlocal errors
        port = Initiator(ctx, network.port(0), draw)
        for _ in range(24):
            kind, bte = draw.choice((CLASSIC, CONSTANT, INCREMENTING, INCREMENTING)), 0
            if kind == INCREMENTING:
                bte = draw.randrange(4)
            ats = addresses(draw.randrange(size), draw.randint(1, 9), kind or INCREMENTING, bte)
            end = draw.random() < 0.8
            known = [at for at in ats if at < size]
            if draw.random() < 0.4:
                words = [draw.getrandbits(32) for _ in ats]
                seen = await port.burst(ats, kind, bte, words, end)
                for at, word in zip(known, words):
                    memory[at] = word
            else:
                seen = await port.burst(ats, kind, bte, end=end)
                assert seen[: len(known)] == [memory[at] for at in known]
            assert (seen[-1] is None) == (len(known) < len(ats))
            errors += seen[-1] is None
            if not end or draw.random() < 0.5:
                port.idle()
                await ctx.tick()
        # Reads of a burst may be given up while they wait, and additions are done once.
        port.draw = None
        window = 1 << network.words.bits
        await port.beat(adr=3, we=1, dat_w=100)
        for value in range(100, 105):
            await port.burst([1, 2], INCREMENTING, 0, end=False)
            port.idle()
            await ctx.tick()
            assert await port.beat(adr=window + 3, we=1, dat_w=1) == value
            assert await port.beat(adr=window, we=0) == value
        assert await port.beat(adr=3) == 105
        assert await port.beat(adr=window + 3, we=1, dat_w=1, sel=7) is None

    exercise(network, testbench)
    assert errors


def test_two_ports_see_what_the_other_stored() -> None:
    network = WishboneNetwork(build("cube", ports=2, payload=32), rows=8, bursts=True)

    async def testbench(ctx: Any) -> None:
        one, other = (Initiator(ctx, network.port(p)) for p in range(2))
        for turn in range(2):
            words = [16 * turn + n for n in range(8)]
            await one.burst([*range(4, 12)], INCREMENTING, 0, words)
            one.idle()
            assert await other.burst([*range(4, 12)], INCREMENTING, 0) == words
            other.idle()

    exercise(network, testbench)


@pytest.mark.parametrize("latency", [1, 6])
def test_a_beat_in_every_cycle(latency: int) -> None:
    """The first L + 2 cycles after `stb`."""
    link = MemoryLink(
        tag=1, identity=4, address=4, width=row_bits(32), operations=bus_operations(32)
    )
    m = Module()
    m.submodules.target = target = WishboneBurstTarget(link, words=WordMap((1,), 16, 1), data=32)
    m.submodules.memory = memory = MemoryModule(link, latency=latency)
    connect(m, target.o, memory.i)
    taken = []

    async def testbench(ctx: Any) -> None:
        port = Initiator(ctx, target.bus)
        for beats in (1, 16):
            port.cycles = 0
            await port.burst([*range(beats)], INCREMENTING, 0)
            taken.append(port.cycles)
            port.idle()
            await ctx.tick().repeat(40)

    exercise(m, testbench)
    assert taken == [latency + 3, latency + 3 + 15]
