"""Raw bursts at the AXI4 ports of an exported network, of every kind and with many identities under
way. Runs inside the simulator.

The environment is that of `bus_traffic`, with the pairs of writes and of reads of each identity
(ROUNDS). Each identity of each port has a part of the memory for
itself: 16 words. Bytes of beats are those of A3.4 of the standard.
"""

import os
import random
from collections import defaultdict
from typing import Any

import cocotb
from bus_traffic import all_of, pauses, rules_of_axi, start
from cocotb.queue import Queue
from cocotb.triggers import Lock
from cocotbext.axi import AxiBus
from cocotbext.axi.axi_channels import AxiARSource, AxiAWSource, AxiBSink, AxiRSink, AxiWSource

PORTS = range(int(os.environ["COUNT"]))
LANES = int(os.environ["LANES"])
PART = 16 * LANES
IDENTITIES = min(4, int(os.environ["BYTES"]) // PART // len(PORTS))
ROUNDS = int(os.environ["ROUNDS"])
FIXED, INCR, WRAP = range(3)
OKAY, SLVERR = 0, 2


def beats_of(kind: int, start: int, size: int, count: int) -> list[range]:
    """The addresses of the bytes of each beat."""
    width = 1 << size
    aligned = start // width * width
    whole = range(start, aligned + width)
    if kind == FIXED:
        return [whole] * count
    ats = [aligned + n * width for n in range(count)]
    if kind == WRAP:
        low = start // (width * count) * width * count
        ats = [low + (at - low) % (width * count) for at in ats]
    return [whole, *(range(at, at + width) for at in ats[1:])]


class Manager:
    """The five channels of a port; answers go to the queue of their identity."""

    def __init__(self, dut: Any, port: int, rng: random.Random) -> None:
        bus = AxiBus.from_prefix(dut, f"s_axi_{port}")
        reset = (dut.aclk, dut.aresetn, False)
        self.aw, self.w = AxiAWSource(bus.write.aw, *reset), AxiWSource(bus.write.w, *reset)
        self.ar = AxiARSource(bus.read.ar, *reset)
        self.b, self.r = AxiBSink(bus.write.b, *reset), AxiRSink(bus.read.r, *reset)
        for channel in (self.aw, self.w, self.ar, self.b, self.r):
            channel.log.setLevel("WARNING")
            channel.set_pause_generator(pauses(rng))
        self.writing = Lock()
        self.answers: dict[tuple[str, int], Queue] = defaultdict(Queue)

    def listen(self) -> None:
        cocotb.start_soon(self._sort("b", self.b))
        cocotb.start_soon(self._sort("r", self.r))

    async def _sort(self, name: str, channel: Any) -> None:
        while True:
            answer = await channel.recv()
            self.answers[name, int(getattr(answer, f"{name}id"))].put_nowait(answer)

    async def write(self, identity: int, beats: list[tuple[int, int]], **about: int) -> None:
        """Send a burst; beats are words and strobes."""
        async with self.writing:  # The data are in the order of the addresses.
            await self.aw.send(
                self.aw._transaction_obj(awid=identity, awlen=len(beats) - 1, **about)
            )
            for number, (word, strobes) in enumerate(beats):
                last = number == len(beats) - 1
                await self.w.send(
                    self.w._transaction_obj(wdata=word, wstrb=strobes, wlast=int(last))
                )

    async def written(self, identity: int) -> int:
        return int((await self.answers["b", identity].get()).bresp)

    async def read(self, identity: int, count: int, **about: int) -> None:
        await self.ar.send(self.ar._transaction_obj(arid=identity, arlen=count - 1, **about))

    async def words(self, identity: int, count: int) -> tuple[list[int], set[int]]:
        """The beats of the next burst of this identity, and the responses."""
        beats = [await self.answers["r", identity].get() for _ in range(count)]
        assert [int(beat.rlast) for beat in beats] == [0] * (count - 1) + [1]
        return [int(beat.rdata) for beat in beats], {int(beat.rresp) for beat in beats}


@cocotb.test()
async def corners(dut: Any) -> None:
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    managers = [Manager(dut, port, rng) for port in PORTS]
    await start(dut, dut.aclk, dut.aresetn, 0)
    cocotb.start_soon(rules_of_axi(dut))
    for manager in managers:
        manager.listen()
    edge = min(4096, 1 << len(dut.s_axi_0_awaddr))
    seen: set[str] = set()

    def burst(base: int) -> tuple[dict[str, int], int, list[range]]:
        """What to send, without the channel's name, and the number and the bytes of its beats."""
        kind, size = rng.choice((FIXED, INCR, WRAP)), rng.randrange(LANES.bit_length())
        width = 1 << size
        count = rng.choice((2, 4, 8, 16)) if kind == WRAP else rng.randint(1, 16)
        start = base + rng.randrange(PART)
        if kind == WRAP:
            start = start // width * width
        elif kind == INCR:
            count = min(count, (base + PART - start // width * width) // width)
        beats = beats_of(kind, start, size, count)
        seen.update({f"kind {kind}"} | ({"narrow"} if width < LANES else set()))
        seen.update({"unaligned"} if start % width else set())
        seen.update({"wrapped"} if kind == WRAP and beats[-1].start < start else set())
        return {"addr": start, "size": size, "burst": kind}, count, beats

    def named(channel: str, about: dict[str, int]) -> dict[str, int]:
        return {channel + name: value for name, value in about.items()}

    async def traffic(port: int, identity: int) -> None:
        """Two writes under way at a time, then two reads."""
        manager, memory = managers[port], bytearray(PART)
        base = (port * IDENTITIES + identity) * PART
        await manager.write(
            identity,
            [(0, (1 << LANES) - 1)] * 16,
            awaddr=base,
            awsize=LANES.bit_length() - 1,
            awburst=INCR,
        )
        assert await manager.written(identity) == OKAY
        for _ in range(ROUNDS):
            for _ in range(2):
                about, count, beats = burst(base)
                words = [rng.getrandbits(8 * LANES) for _ in beats]
                strobes = [
                    sum(1 << at % LANES for at in own if rng.random() < 0.8) for own in beats
                ]
                await manager.write(identity, [*zip(words, strobes)], **named("aw", about))
                for own, word, strobe in zip(beats, words, strobes):
                    for at in own:
                        if strobe >> at % LANES & 1:
                            memory[at - base] = word >> 8 * (at % LANES) & 0xFF
            assert [await manager.written(identity) for _ in range(2)] == [OKAY, OKAY]
            reads = [burst(base) for _ in range(2)]
            for about, count, _ in reads:
                await manager.read(identity, count, **named("ar", about))
            for about, count, beats in reads:
                words, responses = await manager.words(identity, count)
                assert responses == {OKAY}
                for own, word in zip(beats, words):
                    for at in own:
                        due = memory[at - base]
                        assert word >> 8 * (at % LANES) & 0xFF == due, (port, identity, about)
        # Over the boundary of 4 kB: refused, and nothing is changed.
        size = LANES.bit_length() - 1
        about = {"addr": edge - LANES, "size": size, "burst": INCR}
        await manager.write(identity, [(1, (1 << LANES) - 1)] * 2, **named("aw", about))
        assert await manager.written(identity) == SLVERR
        await manager.read(identity, 2, **named("ar", about))
        assert (await manager.words(identity, 2))[1] == {SLVERR}
        await manager.read(identity, 16, araddr=base, arsize=size, arburst=INCR)
        words, _ = await manager.words(identity, 16)
        assert b"".join(word.to_bytes(LANES, "little") for word in words) == memory

    await all_of([traffic(port, one) for port in PORTS for one in range(IDENTITIES)])
    assert {"kind 0", "kind 1", "kind 2", "wrapped"} <= seen
    assert LANES == 1 or {"narrow", "unaligned"} <= seen
