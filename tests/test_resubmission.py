# amaranth: UnusedElaboratable=no
"""The resubmitter against networks that drop at will: nothing is lost, nothing comes twice."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal, Value
from claims import Claims, any_bits, needs_yosys
from driving import exercise
from long_runs import long
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.random_bits import scattered_seed
from multicube.hdl.terminals.resubmission import Acceptor, Resubmitter
from proof_table import proves
from refusals import refusals
from scipy import stats

__all__ = ["any_bits"]

PAYLOAD = 12
UNLIKELY = 1e-4
"""Chance with which a correct component fails a test of chances (their seeds are fixed)."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delay", [1, long(2), 8, long(32)])
@pytest.mark.parametrize("stages", [1, long(2), 5])
def test_resubmitter_loses_nothing_and_repeats_nothing(stages: int, delay: int) -> None:
    """A network that drops packets as it likes, from none to all of them for a while."""
    layout = Packet(2, PAYLOAD)
    dut = Resubmitter(layout, stages=stages, delay=delay)
    generator = random.Random(stages * 100 + delay)
    print(f"seed {stages * 100 + delay}")
    trip = 2 * stages
    length = 150 + 20 * delay
    phases = [(0.8, 0.0), (0.8, 0.3), (0.9, 1.0), (0.8, 0.9), (1.0, 0.0), (0.02, 0.5)]
    end = len(phases) * length
    taken: list[int] = []
    delivered: list[int] = []
    attempts: list[tuple[int, int, bool]] = []
    rejected: dict[int, int] = {}
    delays: Counter[int] = Counter()

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.seed, scattered_seed(stages, delay))
        flying: list[int | None] = [None] * trip
        name = 0
        for cycle in range(end + 20 * (delay + trip)):
            load, loss = phases[cycle // length] if cycle < end else (0.0, 0.0)
            offering = generator.random() < load
            ctx.set(dut.i.valid, offering)
            ctx.set(Value.cast(dut.i.payload), name << 2)
            landed = flying.pop(0)
            accepted = landed is not None and generator.random() >= loss
            ctx.set(dut.o.accepted, accepted or (landed is None and generator.random() < 0.5))
            out = ctx.get(Value.cast(dut.o.payload)) >> 2 if ctx.get(dut.o.valid) else None
            moved = offering and ctx.get(dut.i.ready)
            flying.append(out)
            if landed is not None:
                attempts.append((cycle, landed, accepted))
                if accepted:
                    delivered.append(landed)
                else:
                    rejected[landed] = cycle
            if out in rejected:
                delays[cycle - rejected.pop(out)] += 1
                assert not moved
            else:
                assert out == (name if moved else None)
                assert moved or not offering
            if moved:
                taken.append(name)
                name += 1
            await ctx.tick()
        assert not rejected
        assert not any(word is not None for word in flying)

    exercise(dut, testbench)
    assert len(taken) > 300
    assert sorted(delivered) == taken
    assert min(delays) >= 1
    assert max(delays) == delay
    assert len(attempts) > len(taken)


@pytest.mark.parametrize("delay", [2, 4, long(16)])
def test_delay_of_a_lone_retry_is_uniform(delay: int) -> None:
    dut = Resubmitter(Packet(1, 1), stages=1, delay=delay)
    delays: Counter[int] = Counter(dict.fromkeys(range(1, delay + 1), 0))

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.seed, scattered_seed(delay))
        for _ in range(4):
            await ctx.tick()
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        for _ in range(60 * delay):
            await ctx.tick()  # the verdict is no: two cycles after it was sent
            waited = 0
            while True:
                await ctx.tick()
                waited += 1
                if ctx.get(dut.o.valid):
                    break
            delays[waited] += 1
            await ctx.tick()

    exercise(dut, testbench, limit=200 * delay * (delay + 5))
    assert set(delays) == set(range(1, delay + 1))
    assert stats.chisquare(list(delays.values())).pvalue > UNLIKELY


def test_resubmitter_forgets_a_reset_in_flight() -> None:
    """After a reset, what the ring remembers from before is not sent again."""
    dut = Resubmitter(Packet(1, 4), stages=3, delay=2)
    m = Module()
    reset = Signal()
    m.submodules.dut = ResetInserter(reset)(dut)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.seed, 1)
        ctx.set(dut.i.valid, 1)
        for _ in range(5):
            await ctx.tick()
        ctx.set(dut.i.valid, 0)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        for _ in range(30):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()

    exercise(m, testbench)


def sent_until_it_arrives(claims: Claims, stages: int, delay: int, overdue: int = 0) -> None:
    """One packet, any of them, is marked. Until the verdict on it is yes it is sent again, at the
    latest the longest delay after the verdict; and never without need."""
    trip = 2 * stages
    m = claims.m
    m.submodules.dut = dut = Resubmitter(Packet(1, 1), stages=stages, delay=delay)
    valid, mark = claims.free(1, "valid"), claims.free(1, "mark")
    accepted, seed = claims.free(1, "accepted"), claims.symbol(32, "seed")
    m.d.comb += [
        dut.seed.eq(seed),
        dut.i.valid.eq(valid),
        dut.i.payload.payload.eq(mark),
        dut.o.accepted.eq(accepted),
    ]
    used, inside = Signal(), Signal()
    since = Signal(range(trip + delay + 2))  # cycles since it was sent
    enters = valid & mark & dut.i.ready
    shown = dut.o.valid & dut.o.payload.payload
    claims.assume(~(valid & mark & used))
    claims.claim(~valid | dut.i.ready | dut.o.valid)
    with m.If(enters):
        m.d.sync += [used.eq(1), inside.eq(1)]
    with m.If(inside & (since == trip) & accepted):
        m.d.sync += inside.eq(0)
    m.d.sync += since.eq(since + 1)
    with m.If(shown | (since == trip + delay + 1)):
        m.d.sync += since.eq(1)
    verdict = inside & (since == trip)
    claims.claim(~enters | shown)  # at once
    claims.claim(~shown | enters | (inside & (since > trip)))
    claims.claim(~inside | verdict | (since <= trip + delay - overdue))
    claims.claim(~inside | (since != trip + delay) | shown)


@pytest.mark.long
@needs_yosys
@proves(
    Resubmitter,
    says="Each packet is sent at once, and again until its verdict is yes. It is sent again at "
    "most `delay` cycles after a verdict, and never without need, whatever the random bits are.",
    sizes="1 stage with delay 1 and 2; 2 stages with delay 2",
)
@pytest.mark.parametrize(("stages", "delay"), [(1, 1), long(1, 2), long(2, 2)])
def test_every_packet_is_sent_until_it_arrives(
    tmp_path: Path, any_bits: Claims, stages: int, delay: int
) -> None:
    sent_until_it_arrives(any_bits, stages, delay)
    assert any_bits.hold(tmp_path)


@pytest.mark.long
@needs_yosys
@pytest.mark.parametrize(("stages", "delay"), [(1, 1), long(1, 2), long(2, 2)])
def test_proofs_find_that_a_packet_waits_for_its_verdict(
    tmp_path: Path, any_bits: Claims, stages: int, delay: int
) -> None:
    """A claim that is one cycle stricter fails."""
    sent_until_it_arrives(any_bits, stages, delay, overdue=1)
    assert not any_bits.hold(tmp_path)


@pytest.mark.long
@needs_yosys
@proves(Acceptor, says="Every packet passes, with the verdict yes.", sizes="any parameters")
def test_acceptor_accepts(tmp_path: Path) -> None:
    claims = Claims()
    claims.m.submodules.dut = dut = Acceptor(Packet(1, 2))
    word, valid, ready = (claims.free(n, name) for n, name in ((3, "word"), (1, "v"), (1, "r")))
    claims.m.d.comb += [dut.i.payload.eq(word), dut.i.valid.eq(valid), dut.o.ready.eq(ready)]
    claims.claim((dut.o.valid == valid) & (Value.cast(dut.o.payload) == word))
    claims.claim((dut.i.ready == ready) & (dut.i.accepted == valid))
    assert claims.hold(tmp_path)


test_resubmitter_rejects = refusals(
    lambda parameters: Resubmitter(Packet(1, 1), **({"stages": 2, "delay": 4} | parameters)),
    ({"stages": 0}, "Stages must be at least 1, not 0"),
    ({"delay": 0}, "Delay must be at least 1, not 0"),
    ({"delay": 12}, "Delay must be a power of two, not 12"),
    ({"delay": "auto"}, TypeError, "Delay must be an integer, not 'auto'"),
)
