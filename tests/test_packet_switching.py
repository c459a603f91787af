# amaranth: UnusedElaboratable=no
"""Packet switching with geometric lengths: queues at outputs, and links that take time."""

import random
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from driving import exercise
from long_runs import long
from multicube.hdl import AxiStreamNetwork, build
from multicube.hdl.bench.geometric import bit_probabilities, geometric_length
from multicube.hdl.networks.flits import geometric_mean, parse_lengths
from multicube.sim import simulate as run
from multicube.sim.papers.dandamudi.delays_on_rtl import Point, clocked, measured
from multicube.sim.papers.item import Options
from multicube.sim.theory.hierarchical import Rates, TwoLevel
from multicube.sim.workload.trace import Trace, TracePacket
from refusals import refusals

SEED = 5
MODEL = "routing=minimal channels=1 allow_deadlock=1 switch=packet"


@pytest.mark.parametrize(("mean", "bits"), [(2, 5), (5, 7), (16, 8)])
def test_bits_of_a_geometric_number_are_independent(mean: int, bits: int) -> None:
    """The products of the bits' probabilities are those of a geometric number that is cut off."""
    chances = bit_probabilities(mean, bits)
    q = 1 - 1 / mean
    total = sum(q**x for x in range(1 << bits))
    for x in range(1 << bits):
        product = 1.0
        for i, p in enumerate(chances):
            product *= p if x >> i & 1 else 1 - p
        assert product == pytest.approx(q**x / total)


@pytest.mark.parametrize("length", ["geometric:2", "geometric:5", "geometric:64"])
def test_where_lengths_are_cut_off(length: str) -> None:
    low, high = parse_lengths(length)
    mean = geometric_mean(length)
    assert low == 1
    assert 16 * mean <= high < 32 * mean
    assert (1 - 1 / mean) ** high < 2e-7


@pytest.mark.long
def test_geometric_lengths_in_gates() -> None:
    """Mean, and shares of the first lengths; each within four standard deviations."""
    mean, cycles = 4, 4000
    m = Module()
    length = Signal(16)
    m.d.comb += length.eq(geometric_length(m, Signal(128, init=SEED * 3**70 % 2**128), mean, 6))
    found: list[int] = []

    async def watch(ctx: Any) -> None:
        await ctx.tick().repeat(100)
        for _ in range(cycles):
            found.append(ctx.get(length))
            await ctx.tick()

    exercise(m, watch)
    assert min(found) == 1
    deviation = (mean * (mean - 1) / cycles) ** 0.5
    assert fmean(found) == pytest.approx(mean, abs=4 * deviation)
    for x in range(1, 6):
        share = (1 - 1 / mean) ** (x - 1) / mean
        assert found.count(x) / cycles == pytest.approx(share, abs=4 * (share / cycles) ** 0.5)
    # Successive lengths are not correlated.
    products = fmean((x - mean) * (y - mean) for x, y in pairwise(found))
    assert abs(products) < 4 * mean * (mean - 1) / cycles**0.5


@pytest.mark.long
def test_time_on_links() -> None:
    """A packet that meets no other one is on each link for its length times the link's interval,
    and takes one cycle more."""
    network = build(f"bh-bh dimension=3 cluster=2 {MODEL} selection=random interval=3:2 length=1:9")
    print("seed", SEED)
    draw = random.Random(SEED)
    expected = 0
    packets = []
    for number in range(12):
        source, destination, length = draw.randrange(8), draw.randrange(8), draw.randint(1, 9)
        packets.append(TracePacket(200 * number, source, destination, length))
        within = (source ^ destination).bit_count()
        joining = 0
        if source // 4 != destination // 4:
            within = (source % 4).bit_count() + (destination % 4).bit_count()
            joining = 1
        expected += 1 + length * (3 * within + 2 * joining)
    result = run(network, traffic=Trace("alone", tuple(packets)), bins=256)
    assert result.latency.mean * len(packets) == pytest.approx(expected)


@pytest.mark.long
def test_no_packet_waits_for_another_output() -> None:
    """Two packets at one node for two neighbours, behind a long one for the first of them."""
    network = build("hypercube n=2 switch=packet length=1:40")
    packets = [TracePacket(0, 0, 1, 40), TracePacket(1, 0, 1, 5), TracePacket(2, 0, 2, 3)]
    result = run(network, traffic=Trace("apart", tuple(packets)), bins=256)
    latencies = [1 + 40, 40 + 5, 1 + 3]
    assert result.latency.mean * 3 == pytest.approx(sum(latencies))
    assert result.latency.max == max(latencies)


@pytest.mark.long
@pytest.mark.parametrize(
    ("interval", "cycles"), [(1, 40_000), long(1, 2_000_000), long(3, 4_000_000)]
)
def test_a_link_is_a_queue(interval: int, cycles: int) -> None:
    """Arrivals of probability a in a cycle and service of s cycles: the mean time in the queue is
    E[s] + a E[s (s - 1)] / 2 (1 - a E[s]), by Pollaczek and Khinchine for discrete time."""
    mean, busy = 5, 0.7
    words = "level1=complete:nodes=2 level2=complete:nodes=2"
    network = build(
        f"hierarchical {words} interval={interval} switch=packet length=geometric:{mean} depth=512"
    )
    s = mean * interval
    a = busy / s
    squares = (2 * mean**2 - mean) * interval**2
    expected = s + a * (squares - s) / (2 * (1 - busy))
    assert Rates(a, 1 / s, 1 / s, length=mean, cycle=1).time(a, 1 / s) == pytest.approx(expected)
    result = run(network, traffic="1,0,3,2", load=a, cycles=cycles, warmup=2000, seed=SEED, bins=2)
    assert result.latency.mean - 1 == pytest.approx(expected, abs=1.5 * result.latency.ci99)


@pytest.mark.long
def test_engines_agree() -> None:
    network = build("hypercube n=1 switch=packet length=geometric:2")
    compiled, amaranth = (
        run(network, load=0.3, cycles=100, warmup=0, seed=SEED, bins=8, engine=name)
        for name in ("compiled", "amaranth")
    )
    assert compiled.latency == amaranth.latency
    assert compiled.delivered == compiled.injected


@pytest.mark.long
@pytest.mark.parametrize("selection", ["least-count", "shortest-queue"])
def test_better_selections(selection: str) -> None:
    """The paper's improved routing, and the better one that it hopes for, against random."""
    words = f"bh-bh dimension=6 cluster=3 {MODEL} interval=2:1 length=geometric:2 depth=256"
    options: dict[str, Any] = {"traffic": "locality:0.5", "load": 1 / 6, "cycles": 60_000}
    chosen, drawn = (
        run(build(f"{words} selection={name}"), warmup=10_000, bins=8, **options).latency
        for name in (selection, "random")
    )
    assert chosen.mean + chosen.ci99 < drawn.mean - drawn.ci99


@pytest.mark.parametrize("rates", [Rates(1, 1.5, 3), Rates(1, 1.2, 1.5)])
def test_clock_of_the_paper(rates: Rates) -> None:
    """Links serve at their rates, and with long packets delays are those of M/M/1 queues."""
    network = TwoLevel("bh", 3, 3)
    delays = [network.delay(0.8, clocked(network, rates, length)) for length in (4, 16, 64, 10**6)]
    assert delays == sorted(delays)
    assert delays[-1] == pytest.approx(network.delay(0.8, rates), rel=1e-4)


@pytest.mark.long
def test_rtl_is_close_to_the_formula() -> None:
    network, rates = TwoLevel("bh", 2, 1), Rates(1, 1.5, 3)
    formula = network.delay(0.6, rates)
    (found,) = measured([Point(network, 0.6, rates, 16, 40_000)], Options(seed=SEED))
    assert found is not None
    assert found.ci99 is not None
    assert found.ci99 < 0.05 * formula
    assert found.delay == pytest.approx(formula, abs=found.ci99 + 0.05 * formula)


test_refused = refusals(
    build,
    ("hypercube n=2 length=geometric:1", "...from 2 to 64, not '1'"),
    ("hypercube n=2 length=geometric:x", "...from 2 to 64, not 'x'"),
    ("hypercube n=2 switch=packet decision=2", "...Decision must be 1 with switch=packet..."),
    ("torus k=5 n=1 switch=packet", "...one channel with switch=packet, not 2..."),
    (f"bh-bh dimension=3 cluster=2 {MODEL}", "...Selection must not be first-free..."),
    ("bh-bh dimension=3 cluster=2 interval=2:1", "...Interval must be 1 unless switch..."),
    ("bh-bh dimension=3 cluster=2 interval=2:1:1 switch=packet", "...at most 2, not 3"),
    ("bh-bh dimension=3 cluster=2 interval=a switch=packet", "...LEVEL1:LEVEL2..."),
    ("combining ports=4 lengths=geometric:4", "...number of flits or LOW:HIGH, not 'geometric:4'"),
)


def test_no_axi_stream_ports() -> None:
    with pytest.raises(ValueError, match="need a network of flits"):
        AxiStreamNetwork(build("hypercube n=2 switch=packet"))
