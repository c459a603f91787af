# amaranth: UnusedElaboratable=no
"""What leads to the copies of a network, and back: packets stay whole, and choices are fair."""

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Value
from claims import Claims, needs_yosys
from driving import transport
from long_runs import long
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.random_bits import scattered_seed
from multicube.hdl.terminals.replication import Distributor, Merger
from refusals import refusals
from scipy import stats

PAYLOAD = 14
UNLIKELY = 1e-4
"""Chance with which a correct component fails a test of chances (their seeds are fixed)."""


def seeded(dut: Distributor | Merger) -> Module:
    """The component with a seed."""
    m = Module()
    m.submodules.dut = dut
    m.d.comb += dut.seed.eq(scattered_seed(1))
    return m


class Flits:
    """Packets as words with a tag of one bit: numbered from 0, of 1 to 4 flits each."""

    def __init__(self, generator: random.Random, *, flits: bool) -> None:
        self.layout = Packet(1, PAYLOAD, flits=flits)
        self.flits = flits
        self.generator = generator
        self.numbers = itertools.count()
        self.waiting: list[int] = []

    def next(self) -> int:
        if not self.waiting:
            number = next(self.numbers)
            if not self.flits:
                return number << 1
            length = self.generator.randint(1, 4)
            for index in range(length):
                last = index == length - 1
                self.waiting.append((number << 2 | index) << 1 | last << PAYLOAD + 1)
        return self.waiting.pop(0)

    def is_last(self, word: int) -> bool:
        return not self.flits or bool(word >> PAYLOAD + 1)


@pytest.mark.parametrize("flits", [False, True], ids=["words", "flits"])
@pytest.mark.parametrize("copies", [1, long(2), 3, long(4), long(5)])
def test_distributor_keeps_packets_whole_and_chooses_evenly(copies: int, flits: bool) -> None:
    generator = random.Random(copies)
    print(f"seed {copies}")
    words = Flits(generator, flits=flits)
    dut = Distributor(words.layout, copies)
    cycles = 2500
    trace = transport(
        seeded(dut),
        [dut.i],
        dut.o,
        cycles=cycles,
        offer=lambda port, cycle: words.next() if generator.random() < 0.9 else None,
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    counts: Counter[int] = Counter(dict.fromkeys(range(copies), 0))
    follows: Counter[tuple[int, int]] = Counter()
    before = owner = None
    for cycle in trace:
        moved = cycle.moved()
        assert [word for _, word in moved] == [word for _, word in cycle.entered()]
        assert sum(word is not None for word in cycle.shown) == (cycle.offered[0] is not None)
        for copy, word in moved:
            assert owner in (None, copy)
            if owner is None:
                counts[copy] += 1
                follows[before, copy] += 1
                before = copy
            owner = None if words.is_last(word) else copy
    assert sum(counts.values()) > 400
    if copies > 1:
        assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY
        pairs = [follows[pair] for pair in itertools.product(range(copies), repeat=2)]
        assert stats.chisquare(pairs).pvalue > UNLIKELY


@pytest.mark.parametrize("flits", [False, True], ids=["words", "flits"])
@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_fair_merger_loses_nothing_and_starves_nobody(copies: int, flits: bool) -> None:
    """Packets stay whole and in order; a header waits for the packet that is passing, and then
    for one of each other copy at most (of two copies, for the passing one only)."""
    generator = random.Random(copies)
    print(f"seed {copies}")
    streams = [Flits(generator, flits=flits) for _ in range(copies)]
    dut = Merger(streams[0].layout, copies, "fair")
    trace = transport(
        dut,
        cycles=600,
        offer=lambda port, cycle: streams[port].next() if generator.random() < 0.6 else None,
        ready=lambda port, cycle: generator.random() < 0.8,
    )
    bound = copies if copies > 2 else copies - 1
    owner: int | None = None
    waits: list[int | None] = [None] * copies  # of the headers that wait: packets of others so far
    for cycle in trace:
        entered = cycle.entered()
        assert [word for _, word in cycle.moved()] == [word for _, word in entered]
        assert len(entered) <= 1
        if owner is None or cycle.offered[owner] is not None:
            any_offer = any(word is not None for word in cycle.offered)
            assert any(word is not None for word in cycle.shown) == any_offer
        for copy, word in enumerate(cycle.offered):
            if word is not None and copy != owner and waits[copy] is None:
                waits[copy] = 0 if owner is None else 1
        for copy, word in entered:
            assert owner in (None, copy)
            if owner is None:
                waits[copy] = None
                waits = [None if wait is None else wait + 1 for wait in waits]
                assert all(wait is None or wait <= bound for wait in waits)
            owner = None if streams[copy].is_last(word) else copy


@pytest.mark.one_in(2)
@pytest.mark.parametrize("copies", [1, 2, 3, long(4), long(5)])
def test_dropping_merger_takes_one_of_those_that_come(copies: int) -> None:
    """One is shown whatever comes, and stays; the others are dropped; all have equal chances."""
    generator = random.Random(copies)
    print(f"seed {copies}")
    words = Flits(generator, flits=False)
    dut = Merger(words.layout, copies, "drop")
    trace = transport(
        seeded(dut),
        dut.i,
        [dut.o],
        cycles=3000,
        offer=lambda port, cycle: words.next() if generator.random() < 0.7 else None,
        ready=lambda port, cycle: cycle < 2000 or generator.random() < 0.4,
        watch=lambda: dut.dropped,
    )
    wins: dict[tuple[int, ...], Counter[int]] = {}
    held = False
    for number, cycle in enumerate(trace):
        rivals = tuple(i for i, word in enumerate(cycle.offered) if word is not None)
        entered = cycle.entered()
        shown = cycle.shown[0]
        assert (shown is not None) == bool(rivals)
        winner = cycle.offered.index(shown) if rivals else None
        assert cycle.watched == sum(1 << i for i in rivals if i != winner)
        assert [i for i, _ in entered] == [i for i in rivals if i != winner or cycle.ready[0]]
        if not held and len(rivals) > 1 and number > 20:
            wins.setdefault(rivals, Counter(dict.fromkeys(rivals, 0)))[winner] += 1
        held = shown is not None and not cycle.ready[0]
    assert len(wins) == 2**copies - copies - 1
    for rivals, counts in wins.items():
        if sum(counts.values()) > 5 * len(rivals):
            assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY, rivals


@pytest.mark.one_in(2)
@needs_yosys
@pytest.mark.parametrize(
    ("copies", "policy", "flits"),
    [
        *(long(2, "fair", False), (2, "fair", True), (2, "drop", False)),
        *((3, "fair", False), long(3, "fair", True), long(3, "drop", False)),
    ],
    ids=str,
)
def test_merger_obeys_the_stream_rule(
    tmp_path: Path, policy: str, flits: bool, copies: int
) -> None:
    """What it shows stays until it is taken, if its inputs do, and of two packets the
    flits never mix."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = Merger(Packet(1, 2, flits=flits), copies, policy)
    if policy == "drop":
        m.d.comb += dut.seed.eq(claims.symbol(32, "seed"))
    ready = claims.free(1, "ready")
    m.d.comb += dut.o.ready.eq(ready)
    for c, port in enumerate(dut.i):
        valid, last = claims.free(1, f"valid_{c}"), claims.free(1, f"last_{c}")
        m.d.comb += [port.valid.eq(valid), port.payload.payload.eq(c)]
        if flits:
            m.d.comb += port.payload.last.eq(last)
        waits = claims.past(valid & ~port.ready)
        claims.assume(~waits | (valid & (last == claims.past(last))))
    shown = Cat(dut.o.valid, Value.cast(dut.o.payload))
    held = claims.past(dut.o.valid & ~ready)
    claims.claim(~held | (shown == claims.past(shown)))
    if flits:
        inside = claims.past(dut.o.valid & ready & ~dut.o.payload.last)
        owner = claims.past(dut.o.payload.payload)
        claims.claim(~inside | ~dut.o.valid | (dut.o.payload.payload == owner))
    assert claims.hold(tmp_path)


test_merger_rejects = refusals(
    lambda arguments: Merger(Packet(1, 1), *arguments),
    ((0, "fair"), "Copies must be at least 1, not 0"),
    ((65, "drop"), "Copies must be from 1 to 64, not 65"),
    ((2, "lose"), "Policy must be one of fair, drop, not 'lose'"),
    ((2.0, "fair"), TypeError, "Copies must be an integer, not 2.0"),
)


def test_dropping_merger_rejects_flits() -> None:
    with pytest.raises(ValueError, match=r"^Packets that a merger may drop must be single flits$"):
        Merger(Packet(1, 1, flits=True), 2, "drop")


@pytest.mark.parametrize("copies", [0, -1])
def test_distributor_rejects_copies(copies: int) -> None:
    with pytest.raises(ValueError, match=rf"^Copies must be at least 1, not {copies}$"):
        Distributor(Packet(1, 1), copies)
