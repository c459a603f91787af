"""What tests of resets share: a network on its bench, whose reset is pulsed amid traffic."""

import random
from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import Out
from multicube.hdl.bench import Bench, bench_for
from multicube.hdl.core.fabric import Pin
from multicube.hdl.networks import Network
from multicube.sim import Run, pattern
from multicube.sim.engines import PortEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.probe import Probe

__all__ = ["check_books", "check_resets", "counters", "pulses", "reset_bench", "start"]

_WATCHED = (1, 3, 17, 20, 40)
"""Cycles between looks at the counters after a reset."""

_LONGEST_DRAIN = 40_000


def reset_bench(network: Network, *, load: float = 0.5, seed: int = 1) -> Bench:
    """A bench of the network with uniform traffic."""
    run = Run(pattern("uniform", network.sources), load, seed=seed, source_depth=8)
    return bench_for(network, run.sources(network), bins=64)


def counters(bench: Bench) -> list[Pin]:
    """What sources, sinks and meters count, as far as registers do.

    Stamps have numbers from a memory, which a reset does not reach.
    """
    cells = dict.fromkeys([*bench.sources, *bench.sinks])
    cells |= dict.fromkeys(name for meters in bench.meters.values() for name in meters.values())
    return [
        Pin(name, path)
        for name in cells
        for path, leaf in bench.cells[name].type.leaves.items()
        if leaf.flow == Out and len(path) == 1 and path != ("stamp_sum",)
    ]


def start(engine: PortEngine) -> None:
    engine.set("send", 1)
    engine.set("measure", 1)


def pulses(seed: int, count: int, *, within: int = 120) -> Iterator[tuple[int, int]]:
    """For each reset, after how many cycles it begins, and how many it takes."""
    generator = random.Random(seed)
    for _ in range(count):
        yield generator.randint(1, within), generator.choice((1, 1, 2, 3, 9))


def check_books(engine: CompiledEngine, bench: Bench) -> None:
    """Let the sources stop: each packet or request since the reset has come, once."""
    probe = Probe(engine, [0], bench)
    engine.set("send", 0)
    end = engine.cycle + _LONGEST_DRAIN
    while probe.unfinished > 0 and engine.cycle < end:
        engine.step(100)
    engine.step(200)  # nothing may follow
    assert probe.unfinished == 0
    assert sum(probe.sinks("delivered")) > 0
    ports = bench.cells[bench.sinks[0]].type.leaves
    for error in ("misrouted", "duplicated", "damaged"):
        assert (error,) not in ports or sum(probe.sinks(error)) == 0, error
    assert not probe.stamps_differ
    # Nothing was born before the reset.
    born = sum(probe.sinks("delivered")) * max(probe.sinks("latest"))
    assert probe.arrived_latency <= born


def check_resets(
    network: Network, pulses: Sequence[tuple[int, int]], *, load: float = 0.5, seed: int = 1
) -> None:
    """Pulse the reset amid traffic: after it, the network is as when it was new.

    If it sends packets again, it may take its time to begin; then only the books are compared.
    """
    bench = reset_bench(network, load=load, seed=seed)
    pins = counters(bench)
    recovers = getattr(network, "recovers", False)

    def watched(engine: CompiledEngine) -> list[list[int]]:
        seen = []
        for cycles in _WATCHED:
            engine.step(cycles)
            seen.append([engine.get(pin) for pin in pins])
        return seen

    with CompiledEngine(bench) as engine:
        start(engine)
        new = watched(engine)
        for number, (wait, length) in enumerate(pulses):
            engine.step(wait)
            engine.reset(length)
            assert watched(engine) == new or recovers, (number, engine.cycle)
            if recovers or number == len(pulses) - 1:
                check_books(engine, bench)
                start(engine)
