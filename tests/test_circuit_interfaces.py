# amaranth: UnusedElaboratable=no
"""The ends of a circuit, one by one and joined by a wire."""

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import wiring
from driving import exercise
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.terminals.circuit_terminals import CircuitInitiator, CircuitResponder
from refusals import refusals
from scipy.stats import chisquare

TAGS = multistage_plan("omega", 8).tags("destination")
XOR = multistage_plan("omega", 8).tags("xor")
PACKET = Packet(3, 4, flits=True)
LAST = 1 << 7


@pytest.mark.parametrize("delay", [1, 2, 8])
def test_rejected_requests_try_again_after_a_random_delay(delay: int) -> None:
    """The request is down for 1 to `delay` cycles, all equally often (chi-square test at 1 %)."""
    dut = CircuitInitiator(PACKET, delay=delay)
    gaps: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.seed, 0x1234_5678)
        await ctx.tick()
        ctx.set(dut.i.valid, 1)
        ctx.set(Value.cast(dut.i.payload), 5 | LAST)
        ctx.set(dut.o.reject, 1)
        for _ in range(400):
            assert ctx.get(dut.o.request)
            assert ctx.get(Value.cast(dut.o.payload)) == 5 | LAST
            assert not ctx.get(dut.o.valid)
            assert not ctx.get(dut.i.ready)
            await ctx.tick()
            gaps.append(0)
            while not ctx.get(dut.o.request):
                gaps[-1] += 1
                await ctx.tick()

    exercise(dut, testbench)
    counts = Counter(gaps)
    assert set(counts) == set(range(1, delay + 1))
    if delay > 1:
        assert chisquare(list(counts.values())).pvalue > 0.01


@pytest.mark.parametrize("length", [1, 2, 4])
def test_rejected_packet_is_thrown_away_with_a_delay_of_0(length: int) -> None:
    """Whole, a word a cycle, beginning in the next cycle; what follows it is requested anew."""
    dut = CircuitInitiator(PACKET, delay=0)
    words = [*range(length - 1), LAST]
    trace = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.reject, 1)
        left = words * 2
        while left:
            ctx.set(Value.cast(dut.i.payload), left[0])
            taken = ctx.get(dut.i.ready)
            trace.append((ctx.get(dut.o.request), taken))
            if taken:
                left.pop(0)
            assert not ctx.get(dut.o.valid)
            await ctx.tick()

    exercise(dut, testbench)
    assert trace == ([(1, 0)] + [(0, 1)] * length) * 2


def test_circuit_for_each_word_of_packets_without_flits() -> None:
    dut = CircuitInitiator(Packet(3, 4), delay=0)
    requests = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.grant, 1)
        ctx.set(dut.o.ready, 1)
        for _ in range(9):
            requests.append((ctx.get(dut.o.request), ctx.get(dut.o.valid)))
            await ctx.tick()

    exercise(dut, testbench)
    assert requests == [(1, 0), (1, 1), (0, 0)] * 3


@pytest.mark.parametrize("address", range(8))
def test_responder_accepts_what_is_sent_to_it(address: int) -> None:
    """And rejects all else; what the tag's field holds later is data. No word passes, in either
    direction, while there is no circuit."""
    dut = CircuitResponder(PACKET, 6, tags=TAGS)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.address, TAGS.code.encode(address))
        for flag in (dut.i.valid, dut.o.ready, dut.reply.valid, dut.i.reply.ready):
            ctx.set(flag, 1)
        passing = (dut.connected, dut.o.valid, dut.i.ready, dut.i.reply.valid, dut.reply.ready)
        for destination in range(8):
            here = destination == address
            ctx.set(dut.i.request, 1)
            ctx.set(dut.i.payload.tag, TAGS.tag(3, destination))
            assert ctx.get(dut.i.grant) == here
            assert ctx.get(dut.i.reject) == ctx.get(dut.misdelivered) == (not here)
            assert not any(ctx.get(flag) for flag in passing)
            await ctx.tick()
            for tag in range(8 if here else 0):
                ctx.set(dut.i.payload.tag, tag)
                assert ctx.get(dut.i.grant)
                assert not ctx.get(dut.i.reject)
                assert all(ctx.get(flag) for flag in passing)
                assert ctx.get(dut.o.payload.tag) == tag
                await ctx.tick()
            ctx.set(dut.i.request, 0)
            assert not any(ctx.get(flag) for flag in (dut.i.grant, dut.i.reject, *passing))
            await ctx.tick()

    exercise(dut, testbench)


def test_responder_of_xor_tags_accepts_everything() -> None:
    dut = CircuitResponder(PACKET, tags=XOR)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.i.request, 1)
        for tag in range(8):
            ctx.set(dut.i.payload.tag, tag)
            assert ctx.get(dut.i.grant)
            assert not ctx.get(dut.misdelivered)
            await ctx.tick()

    exercise(dut, testbench)


class Wire(Elaboratable):
    """An initiator and a responder without a network between them."""

    def __init__(self) -> None:
        self.near = CircuitInitiator(PACKET, 6, delay=1)
        self.far = CircuitResponder(PACKET, 6, tags=TAGS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.near, m.submodules.far = self.near, self.far
        wiring.connect(m, self.near.o, self.far.i)
        return m


def test_replies_come_back_over_the_path_of_the_request() -> None:
    """Requests of random length, answered by as many words and one more, under random waits on
    all four streams; the source keeps the path until it has the answer."""
    dut = Wire()
    near, far = dut.near, dut.far
    rng = random.Random(7)
    asked: list[list[int]] = []
    answers: list[list[int]] = []

    async def asking(ctx: Any) -> None:
        for number in range(40):
            words = [rng.getrandbits(7) for _ in range(rng.randint(1, 4))]
            words[0] &= ~7  # to terminal 0
            words[-1] |= LAST
            asked.append(words)
            answers.append([])
            ctx.set(near.keep, 1)
            for word in words:
                ctx.set(near.i.valid, 0)
                while rng.random() < 0.3:
                    await ctx.tick()
                ctx.set(near.i.valid, 1)
                ctx.set(Value.cast(near.i.payload), word)
                await ctx.tick().until(near.i.ready)
            ctx.set(near.i.valid, 0)
            while len(answers[number]) <= len(words):
                ctx.set(near.reply.ready, rng.getrandbits(1))
                _, _, valid, payload = await ctx.tick().sample(
                    near.reply.valid & near.reply.ready, near.reply.payload
                )
                if valid:
                    answers[number].append(payload)
            ctx.set(near.reply.ready, 0)
            assert ctx.get(far.connected)
            ctx.set(near.keep, 0)
            await ctx.tick()
            assert not ctx.get(far.connected)

    async def answering(ctx: Any) -> None:
        for _ in range(40):
            heard: list[int] = []
            while not heard or not heard[-1] & LAST:
                ctx.set(far.o.ready, rng.getrandbits(1))
                _, _, valid, word = await ctx.tick().sample(
                    far.o.valid & far.o.ready, Value.cast(far.o.payload)
                )
                if valid:
                    heard.append(word)
            ctx.set(far.o.ready, 0)
            assert heard == asked[-1]
            for reply in [*(word & 63 for word in heard), len(heard)]:
                ctx.set(far.reply.valid, 1)
                ctx.set(far.reply.payload, reply)
                await ctx.tick().until(far.reply.ready)
            ctx.set(far.reply.valid, 0)

    exercise(dut, asking, answering)
    assert answers == [[*(word & 63 for word in words), len(words)] for words in asked]


test_circuit_initiator_rejects_delay = refusals(
    lambda delay: CircuitInitiator(PACKET, delay=delay),
    (-1, "Delay must be at least 0, not -1"),
    (1.5, TypeError, "Delay must be an integer, not 1.5"),
    (6, "Delay must be 0 or a power of two, not 6"),
)
