"""Deadlock: networks that lock up, buffer classes that prevent it, and recovery by discarding."""

import itertools

import networkx as nx
import pytest
from command_line import Call
from deadlock_monitor import Monitor
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.sim import Run, Trace, TracePacket, pattern, simulate
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.measure.result import SimulationError
from refusals import refusals

SEED = 21
LOCKED = "man-yo stages=3 length=4 depth=2 channels=1"
"""A network of twelve nodes that locks up."""

SINGLE_STAGE = [
    LOCKED,
    *(
        long(f"{family} stages={stages} length=4 depth=2 channels=1")
        for family, stages in (
            ("man-yo", 4),
            ("lssn", 3),
            ("lssn", 4),
            ("lambda", 3),
            ("lambda", 4),
        )
    ),
]
OTHERS = [
    long(words)
    for words in (
        "ring k=5 n=1 channels=1 length=4",
        "torus k=5 n=2 channels=1 length=3 depth=2 timeout=32 window=2",
        "torus k=5 n=1 channels=1 length=2:6 depth=6 latency=2",
        "torus k=5 n=1 channels=1 length=4 decision=3",
        "torus k=5 n=1 channels=1 length=4 switch=cut-through",
        "torus k=5 n=1 channels=1 length=4 switch=store-and-forward timeout=20",
        "dragonfly routing=shortest channels=1",
        "lambda stages=3 length=4 depth=2 channels=1",
        "lssn stages=2 length=8 depth=2 channels=1",
        "man-yo stages=2 length=8 depth=2 channels=1",
        "lambda stages=2 length=8 depth=2 channels=1",
        "clos spread=fixed",
    )
]


# Without a remedy.


def circle(network: RoutedNetwork) -> Trace:
    """Worms that start in the first cycle, each of which wants as its second channel the first one
    of the next worm."""
    firsts = {}
    for pair in itertools.product(range(network.ports), repeat=2):
        path = network.path(*pair)
        if len(path) > 2:
            firsts.setdefault((path[0], path[1]), pair)
    pairs = [firsts[step] for step in nx.find_cycle(nx.DiGraph(list(firsts)))]
    length = network.lengths[1]
    return Trace("circle", tuple(TracePacket(0, *pair, length) for pair in pairs))


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "stages", "engine"),
    [
        ("lssn", 2, "compiled"),
        long("lssn", 2, "amaranth"),
        *(long("man-yo", stages, "compiled") for stages in (3, 4)),
        *(long("lssn", stages, "compiled") for stages in (3, 4)),
        *(long("lambda", stages, "compiled") for stages in (3, 4)),
    ],
)
def test_a_circle_of_worms(family: str, stages: int, engine: str) -> None:
    """With one channel nothing of it ever arrives. With either remedy, all of it does."""
    words = f"{family} stages={stages} length=12 depth=2"
    stuck = build(f"{words} channels=1 allow_deadlock=1")
    trace = circle(stuck)
    count = len(trace.packets)
    with pytest.raises(SimulationError, match="lost or stuck"):
        simulate(stuck, traffic=trace, engine=engine)
    assert simulate(build(words), traffic=trace, engine=engine).delivered == count
    result = simulate(build(f"{words} channels=1 recovery=discard"), traffic=trace, engine=engine)
    assert result.delivered == count
    assert result.statistics["discarded"] > 0


@pytest.mark.long
@pytest.mark.parametrize("words", SINGLE_STAGE)
def test_one_channel_locks_up(words: str) -> None:
    network = build(f"{words} allow_deadlock=1")
    assert deadlock_cycle(network) is not None
    with pytest.raises(SimulationError, match="lost or stuck"):
        simulate(network, load=0.25, cycles=2000, warmup=0, seed=SEED, engine="compiled")


def test_one_channel_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Routing can deadlock: worms on 3 channels .* loop"):
        build("man-yo stages=3 channels=1")


# Buffer classes.


@pytest.mark.one_in(4)
@pytest.mark.parametrize("family", ["man-yo", "lssn", "lambda"])
@pytest.mark.parametrize("stages", [2, 3, 4, long(5), long(6), long(7)])
def test_buffer_classes_are_needed(family: str, stages: int) -> None:
    """As many classes as the network has are free of deadlock; with one less there is a cycle, but
    for the 4 nodes of m = 2 with one terminal each, which need no classes."""
    network = build(f"{family} stages={stages}")
    classes = network.relation.channels_per_link
    assert classes == (2 if stages < 4 or (family, stages) == ("lambda", 4) else 3)
    assert deadlock_cycle(network) is None
    assert deadlock_cycle(build(f"{family} stages={stages} channels={classes}")) is None
    fewer = build(f"{family} stages={stages} channels={classes - 1} allow_deadlock=1")
    small = stages == 2 and family != "lssn"
    assert (deadlock_cycle(fewer) is None) == small


# Recovery.


@pytest.mark.long
@pytest.mark.parametrize("words", [*SINGLE_STAGE, *OTHERS])
@pytest.mark.parametrize("load", [0.25, long(0.02)])
def test_with_recovery_everything_arrives(words: str, load: float) -> None:
    """Once each, whole, and in order: the books of the bench balance, or it raises an error."""
    network = build(f"{words} recovery=discard")
    result = simulate(network, load=load, cycles=500, warmup=0, seed=SEED, engine="compiled")
    assert result.delivered == result.injected > 0
    assert (result.lost, result.duplicated, result.reordered, result.damaged) == (0, 0, 0, 0)
    if words in SINGLE_STAGE and load == 0.25:
        assert result.statistics["discarded"] > 0
        assert result.statistics["resent"] > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "cycles"),
    [
        (LOCKED, 120),
        long("man-yo stages=3 length=4 depth=4 channels=1", 600),
        long("torus k=5 n=1 channels=1 length=2 depth=1 timeout=9", 1000),
        long("lambda stages=3 length=3 channels=1 timeout=5", 600),
    ],
)
def test_headers_that_wait_are_discarded(words: str, cycles: int) -> None:
    """In the cycle in which a model expects it, and no others; the queues stay as it expects."""
    network = build(f"{words} recovery=discard")
    run = Run(pattern("uniform", network.ports), 0.25, seed=SEED, source_depth=4)
    bench = bench_for(network, run.sources(network), bins=8)
    with CompiledEngine(bench) as engine:
        engine.set("send", 1)
        monitor = Monitor(network, engine, bench)
        for _ in range(cycles):
            monitor.observe()
            engine.step(1)
    assert monitor.discarded == monitor.true + monitor.behind + monitor.false > 0
    assert monitor.true > 0 or words != LOCKED


@pytest.mark.long
def test_false_detections() -> None:
    """Where there is no deadlock, all detections are false: the longer the timeout, the fewer."""
    found = []
    for timeout in (8, 16, 32, 64):
        network = build(f"man-yo stages=3 length=4 recovery=discard timeout={timeout}")
        result = simulate(network, load=0.25, cycles=4000, warmup=500, seed=SEED)
        found.append(result.statistics["discarded"])
    assert found == sorted(found, reverse=True)
    assert found[0] > 0 == found[-1]


test_recovery_refuses = refusals(
    lambda words: build(f"man-yo stages=3 recovery=discard {words}"),
    ("timeout=4 length=4", "Timeout must be at least 5, ..., not 4"),
    ("timeout=1", "Timeout must be from 2 to 4096, not 1"),
    ("window=0", "Window must be from 1 to 64, not 0"),
    ("routing=minimal", "Recovery must be none if packets may overtake ..., not discard"),
    ("routing=valiant", "Recovery must be none if packets may overtake ..., not discard"),
    ("channels=9", "Channels must be auto or at most 2 with the network's own ..., not 9"),
    ("switch=packet channels=1", "Recovery must be none with switch=packet, not discard"),
)


def test_the_command_prints_the_cycle(call: Call) -> None:
    words = ("man-yo", "stages=3", "channels=1")
    outcome = call("deadlock", *words, "allow_deadlock=1")
    assert outcome.status == 1
    assert "it can deadlock" in outcome.out
    cycle = [line.strip() for line in outcome.out.splitlines() if line.startswith("  ")]
    assert len(cycle) == 4
    assert cycle[0] == cycle[-1]
    assert call("deadlock", *words, "recovery=discard").out == outcome.out
