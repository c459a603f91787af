# amaranth: UnusedElaboratable=no
"""The engines give the same values, bit for bit; states, waves, refusals, interruption."""

import _thread
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import PacketBench
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, Trace, TracePacket, pattern, simulate, simulate_runs
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine, State
from multicube.sim.engines.compiled import build as builder
from multicube.sim.engines.compiled import engine as engine_module
from multicube.sim.engines.compiled.compiled_errors import NoCompiler, NotEnoughMemory
from multicube.sim.engines.engine_selection import open_engines, resolve_engine
from vcd.reader import TokenKind, tokenize


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(builder.importlib.util, "find_spec", lambda name: None)
    builder._command.cache_clear()
    yield
    builder._command.cache_clear()


def trace(ports: int) -> Trace:
    packets = [(t, t * 3 % ports, t * 5 % ports) for t in range(30)]
    return Trace("mine", tuple(TracePacket(*packet) for packet in packets))


def bench(
    name: str = "cube",
    traffic: str = "uniform",
    load: float = 0.7,
    seed: int = 1,
    **parameters: str | int,
) -> PacketBench:
    network = build(name, **{"ports": 4, **parameters})
    kind = trace(network.ports) if traffic == "trace" else pattern(traffic, network.ports)
    run = Run(kind, load, seed=seed, source_depth=4)
    return PacketBench(network, run.sources(network), bins=8)


def assert_equal(
    reference: AmaranthEngine, engine: CompiledEngine, fabric: PacketBench, run: int = 0
) -> None:
    """All ports of all cells, and what the memories of the cells hold."""
    for cell in fabric.cells.values():
        for path in cell.type.leaves:
            pin = Pin(cell.name, path)
            assert engine.get(pin, run) == reference.get(pin), (pin, engine.cycle)
    for name in fabric.sinks:
        for memory in ("total_histogram", "network_histogram"):
            assert engine.memory(name, memory, run) == reference.memory(name, memory)


def start(*engines: AmaranthEngine | CompiledEngine) -> None:
    for engine in engines:
        engine.set("send", 1)
        engine.set("measure", 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "traffic", "parameters"),
    [
        ("cube", "uniform", {"ports": 8}),
        long("cube", "hotspot:0.4", {"ports": 8, "switch": "input-queued", "depth": 1}),
        long("omega", "uniform", {"ports": 8, "depth": 1, "routing": "xor"}),
        ("omega", "trace", {"ports": 9, "radix": 3}),
        long("baseline", "bit-reversal", {"ports": 8, "switch": "input-queued"}),
        long("baseline", "uniform", {"ports": 9, "radix": 3, "switch": "input-queued", "depth": 1}),
        long("indirect-cube", "uniform", {"ports": 16, "radix": 4, "depth": 1}),
        long("butterfly", "hotspot:0.2", {"ports": 16, "radix": 4, "switch": "input-queued"}),
        long("butterfly", "trace", {"ports": 8, "switch": "input-queued", "routing": "xor"}),
        long("flip", "perfect-shuffle", {"ports": 8, "depth": 1}),
        long("flip", "uniform", {"ports": 9, "radix": 3, "depth": 1, "payload": 100}),
        ("cube", "uniform", {"ports": 4, "radix": 4, "switch": "input-queued", "routing": "xor"}),
    ],
)
def test_lock_step(name: str, traffic: str, parameters: dict[str, str | int]) -> None:
    fabric = bench(name, traffic, **parameters)
    with AmaranthEngine(fabric) as reference, CompiledEngine(fabric) as engine:
        assert_equal(reference, engine, fabric)
        start(reference, engine)
        for cycles in (1, 2, 12, 20):
            reference.step(cycles)
            engine.step(cycles)
            assert engine.cycle == reference.cycle
            assert_equal(reference, engine, fabric)
        reference.set("send", 0)
        engine.set("send", 0)
        reference.step(8)
        engine.step(8)
        assert_equal(reference, engine, fabric)
        assert sum(engine.read(fabric.sinks, "delivered")) > 10


@pytest.mark.parametrize("ports", [4, long(64)])
def test_runs_side_by_side(ports: int) -> None:
    fabrics = [bench(load=load, seed=seed, ports=ports) for load, seed in ((0.2, 1), (1, 2))]
    fabrics.append(bench(traffic="hotspot:0.5", load=0.5, seed=3, ports=ports))
    with CompiledEngine(fabrics) as together:
        assert together.runs == 3
        assert len(together._machines) == (1 if ports == 4 else 3)
        start(together)
        together.set("send", 0, 1)
        together.step(11)
        together.set("send", 1, 1)
        together.step(60)
        for run, fabric in enumerate(fabrics):
            with CompiledEngine(fabric) as alone:
                start(alone)
                alone.set("send", int(run != 1))
                alone.step(11)
                alone.set("send", 1)
                alone.step(60)
                for cell in fabric.cells.values():
                    for path in cell.type.leaves:
                        pin = Pin(cell.name, path)
                        assert together.get(pin, run) == alone.get(pin), (pin, run)
                for sink in fabric.sinks:
                    rows = alone.memory(sink, "total_histogram")
                    assert together.memory(sink, "total_histogram", run) == rows
        assert len({sum(together.read(fabrics[0].sinks, "delivered", run)) for run in range(3)}) > 1
        with pytest.raises(ValueError, match="Run must be from 0 to 2, not 3"):
            together.get(Pin("timer", ("now",)), 3)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("traffic", "switch"),
    [
        long("uniform", "input-queued"),
        ("uniform", "output-queued"),
        ("hotspot:0.3", "input-queued"),
        long("hotspot:0.3", "output-queued"),
        ("trace", "input-queued"),
        ("trace", "output-queued"),
    ],
)
def test_whole_runs(traffic: str, switch: str) -> None:
    network = build("omega", ports=4, switch=switch, depth=2)
    options = {"load": 0.6, "cycles": 60, "warmup": 20, "bins": 32, "source_depth": 8}
    records = []
    for engine in ("amaranth", "compiled"):
        kind = trace(4) if traffic == "trace" else traffic
        result = simulate(network, traffic=kind, engine=engine, **options)
        record = result.to_json()
        assert record.pop("engine") == engine
        records.append(record)
    assert records[0] == records[1]


def test_whole_runs_side_by_side() -> None:
    network = build("cube", ports=4)
    kind = pattern("uniform", 4)
    runs = [Run(kind, load, 50, 10, seed, 8) for load, seed in ((0.1, 1), (0.5, 2), (1.0, 3))]
    together = simulate_runs(network, runs, engine="compiled", bins=32)
    assert together == [
        simulate_runs(network, [run], engine="compiled", bins=32)[0] for run in runs
    ]


def test_saved_state_is_resumed(tmp_path: Path) -> None:
    fabrics = [bench(seed=seed) for seed in (1, 2)]
    with CompiledEngine(fabrics) as engine, CompiledEngine(fabrics) as other:
        start(engine)
        engine.step(33)
        engine.save().save(tmp_path / "state.npz")
        saved = State.load(tmp_path / "state.npz")
        engine.step(21)
        expected = ports(engine, fabrics)
        for resumed in (other, engine):
            resumed.restore(saved)
            assert resumed.cycle == 33
            resumed.step(21)
            assert resumed.cycle == 54
            assert ports(resumed, fabrics) == expected


def ports(engine: CompiledEngine, fabrics: list[PacketBench]) -> list[int]:
    """All ports, and the memories of the sinks, of all runs."""
    values = [
        engine.get(Pin(cell.name, path), run)
        for run, fabric in enumerate(fabrics)
        for cell in fabric.cells.values()
        for path in cell.type.leaves
    ]
    for run, fabric in enumerate(fabrics):
        for sink in fabric.sinks:
            values += engine.memory(sink, "total_histogram", run)
    return values


def test_state_of_another_fabric_is_refused() -> None:
    with CompiledEngine(bench()) as engine:
        state = engine.save()
    with CompiledEngine(bench(ports=8)) as other, pytest.raises(ValueError, match="not belong"):
        other.restore(state)
    with CompiledEngine([bench(ports=64)] * 3) as other, pytest.raises(ValueError, match="number"):
        other.restore(state)


@pytest.mark.parametrize("engine", [AmaranthEngine, CompiledEngine])
def test_step_rejects_cycles(engine: type) -> None:
    with engine(bench(ports=2)) as machine:
        machine.step(3)
        with pytest.raises(ValueError, match=r"^Cycles must be at least 0, not -1$"):
            machine.step(-1)
        for cycles in (1.0, "1", True, None):
            with pytest.raises(TypeError, match=r"^Cycles must be an integer, not "):
                machine.step(cycles)
        machine.step(0)
        assert machine.cycle == machine.get(Pin("timer", ("now",))) == 3


def test_named_signals() -> None:
    with CompiledEngine(bench()) as engine:
        start(engine)
        engine.step(20)
        levels = [engine.signal("box_0_0", f"queue_{i}.level") for i in range(2)]
        assert any(levels)
        assert engine.signal("timer", "now") == engine.get(Pin("timer", ("now",)))
        with pytest.raises(ValueError, match="Cell box_0_0 has no signal 'nothing'"):
            engine.signal("box_0_0", "nothing")


def waves(path: Path, cycles: int) -> list[dict[str, int]]:
    """Values of all signals in the middle of each cycle, from a VCD file; names without `top`."""
    names: dict[str, list[str]] = {}
    scope: list[str] = []
    values: dict[str, int] = {}
    samples: list[dict[str, int]] = []
    per_cycle = 1
    content = path.read_bytes()
    if path.name == "a.vcd":  # Amaranth's names that begin with $ are none for this reader
        content = re.sub(rb"^(\$var \S+ \d+ \S+ )\$", rb"\1unnamed$", content, flags=re.MULTILINE)
    with BytesIO(content) as stream:
        for token in tokenize(stream):
            match token.kind:
                case TokenKind.TIMESCALE:
                    scale = {"us": 1, "ns": 10**3, "ps": 10**6, "fs": 10**9}
                    per_cycle = scale[token.timescale.unit.value]
                    per_cycle //= token.timescale.magnitude.value
                case TokenKind.SCOPE:
                    scope.append(token.scope.ident)
                case TokenKind.UPSCOPE:
                    scope.pop()
                case TokenKind.VAR:
                    inner = [part for part in scope if part not in ("bench", "top")]
                    name = ".".join([*inner, token.var.reference])
                    names.setdefault(token.var.id_code, []).append(name)
                case TokenKind.CHANGE_TIME:
                    while len(samples) < cycles and token.data > len(samples) * per_cycle:
                        samples.append(dict(values))
                case TokenKind.CHANGE_SCALAR | TokenKind.CHANGE_VECTOR:
                    value = token.data.value
                    for name in names[token.data.id_code]:
                        values[name] = int(value)
                case _:
                    pass
    return samples + [dict(values)] * (cycles - len(samples))


@pytest.mark.long
@pytest.mark.parametrize("switch", ["input-queued", long("output-queued")])
def test_waves_of_all_signals(switch: str, tmp_path: Path) -> None:
    fabric = bench(switch=switch, depth=2)
    cells = ["box_0_0", "box_1_1", "source_1", "sink_2", "timer"]
    with AmaranthEngine(fabric) as reference:
        reference.record(tmp_path / "a.vcd")
        start(reference)
        reference.step(25)
    with CompiledEngine(fabric) as engine:
        start(engine)
        with engine.vcd(tmp_path / "b.vcd", cells) as recorder:
            recorder.step(25)
        assert engine.cycle == 25
    expected, found = (waves(tmp_path / name, 25) for name in ("a.vcd", "b.vcd"))
    names = found[1].keys() | expected[1].keys()
    # Where signals of a scope share a name, either engine numbers them as it meets them.
    shared = {name.rpartition("$")[0] for name in names if "$" in name}
    compared = {
        name
        for name in found[1].keys() & expected[1].keys() - shared
        if "$" not in name and not name.endswith(".rst")
    }
    for cycle in range(1, 25):
        for name in compared:
            assert found[cycle][name] == expected[cycle][name], (name, cycle)
    assert {name.split(".")[0] for name in compared} == set(cells)
    assert len(compared) > 100


def test_no_clock_that_stands_still_is_among_the_waves(tmp_path: Path) -> None:
    with CompiledEngine(bench()) as engine, engine.vcd(tmp_path / "a.vcd", ["timer"]) as recorder:
        recorder.step(3)
    named = re.findall(r"\$var wire \d+ \S+ (\S+)", (tmp_path / "a.vcd").read_text())
    assert "rst" in named
    assert "clk" not in named


def test_too_little_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = SimpleNamespace(available=1000)
    monkeypatch.setattr(engine_module.psutil, "virtual_memory", lambda: memory)
    with pytest.raises(NotEnoughMemory, match=r"needs 0\.00 GB of memory; 0\.00 GB are free"):
        CompiledEngine(bench())
    assert exit_status("sim", "cube", "ports=4", "--engine", "compiled") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_auto_without_compiler(no_compiler: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolve_engine("auto") == "amaranth"
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "No C compiler was found" in message
    assert "pip install ziglang" in message
    assert simulate(build("cube", ports=2), cycles=5, warmup=0).engine == "amaranth"


@pytest.mark.long
@pytest.mark.parametrize("compiler", [None, "/nowhere/cc"])
def test_compiled_without_compiler(
    compiler: str | None,
    no_compiler: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if compiler:
        monkeypatch.setenv("CC", compiler)
    with pytest.raises(NoCompiler):
        open_engines("compiled", [bench(ports=2)])
    end = exit_status("sim", "cube", "ports=2", "--engine", "compiled")
    out, err = capsys.readouterr()
    assert (end, out, err.count("\n")) == (2, "", 1)
    assert (compiler or "ziglang") in err


def test_engine_names() -> None:
    assert resolve_engine("auto") == resolve_engine("compiled") == "compiled"
    with pytest.raises(
        ValueError, match="must be one of auto, compiled, amaranth, verilator, not 'quick'"
    ):
        resolve_engine("quick")


@contextmanager
def interrupting(begun: Callable[[], bool], seconds: float = 0.1) -> Iterator[None]:
    """Interrupt this thread so many seconds after something has begun."""

    def interrupt() -> None:
        while not begun():
            time.sleep(0.005)
        time.sleep(seconds)
        _thread.interrupt_main()

    # A program that runs in the background of a shell may ignore interrupts.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("runs", [1, 3])
def test_interruption(runs: int) -> None:
    fabric = bench(ports=64 if runs > 1 else 8)
    with CompiledEngine([fabric] * runs) as engine:
        start(engine)
        engine.step(1)
        with interrupting(lambda: engine.cycle > 1), pytest.raises(KeyboardInterrupt):
            engine.step(10**12)
        cycle = engine.cycle
        assert cycle > 1
        for run in range(runs):
            assert engine.get(Pin("timer", ("now",)), run) == cycle % 2**32
        engine.step(7)
        assert engine.cycle == cycle + 7
        assert engine.get(Pin("timer", ("now",)), runs - 1) == (cycle + 7) % 2**32


def test_interruption_leaves_amaranths_simulator_between_cycles() -> None:
    """Whenever it comes: all counters are of the same cycle."""
    fabric = bench(load=1)
    with AmaranthEngine(fabric) as engine:
        start(engine)
        for number in range(12):
            whenever = interrupting(lambda: True, 0.05 + 0.003 * number)
            with whenever, pytest.raises(KeyboardInterrupt):
                engine.step(10**12)
            assert engine.get(Pin("timer", ("now",))) == engine.cycle
            assert sum(engine.read(fabric.sources, "generated")) == 4 * (engine.cycle - 1)


def test_interrupted_run_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build("cube", ports=4)
    options: dict[str, Any] = {"load": 0.3, "warmup": 10, "engine": "compiled", "bins": 32}
    step, longest = CompiledEngine.step, 0

    def stepped(engine: CompiledEngine, cycles: int) -> None:
        nonlocal longest
        longest = max(longest, cycles)
        step(engine, cycles)

    monkeypatch.setattr(CompiledEngine, "step", stepped)
    with interrupting(lambda: longest > 10**6):
        result = simulate(network, cycles=2**30, **options)
    assert result.partial
    assert 0 < result.cycles < 2**31
    assert result.verdict.startswith("interrupted")


def test_threads_end() -> None:
    before = threading.active_count()
    with CompiledEngine([bench(ports=64)] * 3, threads=2) as engine:
        engine.step(100)
        assert threading.active_count() <= before + 2
    assert threading.active_count() == before
