"""Arguments that are of no use: one line names them, and nothing fails deep inside."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from multicube.hdl import MulticubeError, build, write_verilog
from multicube.hdl.bench import Bench, bench_for
from multicube.hdl.export.verilog import Clock
from multicube.hdl.fabric.fabric import Pin
from multicube.sim import Run, Trace, TracePacket, pattern, read_trace, simulate, simulate_runs
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.engine_timings import time_engines
from multicube.sim.run.sweeps import sweep

NETWORK = build("cube", ports=2)
NO_TRAFFIC = (
    "Traffic must be a text, a list of destinations, a matrix, a function or a pattern, not 5"
)
RUN = Run(pattern("uniform", 2), 0.5, 20, 0)


def one_packet(*words: Any) -> Trace:
    return Trace("one", (TracePacket(*words),))


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: simulate(5), "Network must be a network, not 5"),
    (lambda: sweep(None, [0.1]), "Network must be a network, not None"),
    (lambda: list(time_engines("cube")), "Network must be a network, not 'cube'"),
    (lambda: simulate(NETWORK, traffic=5), NO_TRAFFIC),
    (lambda: sweep(NETWORK, [0.1], traffic=5), NO_TRAFFIC),
    (lambda: simulate(NETWORK, load="x"), "Load must be a number, not 'x'"),
    (lambda: simulate(NETWORK, load=True), "Load must be a number, not True"),
    (lambda: sweep(NETWORK, [None]), "Load must be a number, not None"),
    (lambda: sweep(NETWORK, 0.5), "Loads must be a sequence of numbers, not 0.5"),
    (lambda: sweep(NETWORK, np.array([])), "Loads must be given, at least one"),
    (lambda: simulate(NETWORK, operations=5), "Operations must be a sequence of names, not 5"),
    (lambda: simulate(NETWORK, faults=[5]), "Fault must be a text, not 5"),
    (lambda: simulate(NETWORK, engine="warp"), "Engine must be one of auto, compiled, amaranth"),
    (lambda: simulate_runs(NETWORK, []), "Runs must be given, at least one"),
    (lambda: simulate_runs(NETWORK, [5]), "Run must be a Run, not 5"),
    (lambda: simulate_runs(NETWORK, [RUN], threads=np.nan), "Threads must be an integer, not nan"),
    (lambda: simulate_runs(NETWORK, [RUN], threads=0), "Threads must be from 1 to 1024, not 0"),
    (lambda: pattern(5, 4), NO_TRAFFIC),
    (lambda: pattern("uniform", "4"), "Ports must be an integer, not '4'"),
    (lambda: list(time_engines(NETWORK, seconds="x")), "Seconds must be a number, not 'x'"),
    (lambda: one_packet(1.5, 0, 1), "cycle must be an integer, not 1.5"),
    (lambda: one_packet(1, 0, 1, True), "length must be an integer, not True"),
    (lambda: simulate(NETWORK, traffic=Trace("no", ())), "Trace no holds no packets"),
    (lambda: write_verilog(NETWORK, "a.v"), "Fabric must be a Fabric, not "),
    (lambda: CompiledEngine("x"), "Fabric must be a Fabric, not 'x'"),
    (lambda: CompiledEngine([]), "Fabrics must be given, at least one"),
]


@pytest.mark.parametrize(("wrong", "message"), CALLS)
def test_wrong_arguments_are_named(
    wrong: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MulticubeError) as caught:
        wrong()
    assert str(caught.value).startswith(message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", [{"engine": "warp"}, {"faults": ["x"]}, {"bins": 1}])
def test_wrong_options_are_refused_before_anything_is_built(
    option: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_nothing(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(sys.modules["multicube.sim.run.simulation"], "bench_for", build_nothing)
    with pytest.raises(ValueError, match=r"^(Engine|Fault|Bins) must be "):
        simulate(NETWORK, **option)


@cache
def bench() -> Bench:
    return bench_for(NETWORK, RUN.sources(NETWORK), bins=4)


@pytest.mark.parametrize("kind", [AmaranthEngine, CompiledEngine])
def test_unknown_pins_are_named(kind: type) -> None:
    with kind(bench()) as engine:
        for access, message in (
            (lambda: engine.get(Pin("nobody", ("i",))), "There is no cell 'nobody'"),
            (lambda: engine.get(Pin("sink_0", ("nothing",))), "There is no pin sink_0.nothing"),
            (lambda: engine.get(Pin(None, ("nothing",))), "There is no pin (boundary).nothing"),
            (lambda: engine.get("sink_0"), "Pin must be a Pin, not 'sink_0'"),
            (lambda: engine.read(["sink_0", "nobody"], "measured"), "There is no cell 'nobody'"),
            (lambda: engine.read(["sink_0"], "nothing"), "There is no pin sink_0.nothing"),
            (lambda: engine.set("nothing", 1), "There is no pin (boundary).nothing"),
            (lambda: engine.memory("nobody", "total_histogram"), "There is no cell 'nobody'"),
            (lambda: engine.memory_sum(["nobody"], "total_histogram"), "There is no cell 'nobody'"),
        ):
            with pytest.raises(MulticubeError) as caught:
                access()
            assert str(caught.value) == message
        with pytest.raises(MulticubeError):
            engine.memory("sink_0", "nothing")
        assert engine.memory("sink_0", "total_histogram") == [0] * 4


def test_numbers_of_numpy_are_welcome() -> None:
    options: dict[str, Any] = {"cycles": 20, "warmup": 0, "bins": 8, "source_depth": 4}
    how = {**options, "refine": False, "processes": 1}
    curve = sweep(NETWORK, np.linspace(0.25, 0.5, 2), **how)
    assert curve.to_json() == sweep(NETWORK, [0.25, 0.5], **how).to_json()
    result = simulate(NETWORK, load=np.float32(0.5), **options)
    assert json.dumps(result.to_json()) == json.dumps(curve.points[1].to_json())
    assert simulate(NETWORK, traffic=one_packet(*np.array([3, 0, 1]))).delivered == 1


@pytest.mark.parametrize("load", [1e-300, 1e-7, 1.5e-6])
def test_loads_that_no_source_can_have_are_refused(load: float) -> None:
    message = rf"^Load must be 0 or some steps of 2\^-22 = 2\.4e-07 to within 1 %, not {load}$"
    with pytest.raises(ValueError, match=message):
        Run(pattern("uniform", 2), load)
    assert Run(pattern("uniform", 2), 2**-22).load == 2**-22


def test_names_of_clocks_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.v"
    for clock, message in (
        (Clock("clk); endmodule module x("), "Clock name must be a Verilog identifier, not 'clk);"),
        (Clock("clk", "wire"), "Reset name must not be the Verilog keyword 'wire'"),
        (Clock("both", "both"), "Clock and reset must have different names, not both 'both'"),
        (Clock(5), "Clock name must be a text, not 5"),
    ):
        with pytest.raises(MulticubeError) as caught:
            write_verilog(NETWORK.fabric, path, clock=clock)
        assert str(caught.value).startswith(message)
        assert not list(tmp_path.iterdir())


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"line 1: the header must be cycle,source,destination"):
        read_trace(path, 2)
    reader, writer = os.pipe()
    os.write(writer, b"cycle,source,destination\r\n0,0,1\r\n")
    os.close(writer)
    with open(reader):
        assert len(read_trace(f"/dev/fd/{reader}", 2).packets) == 1


def test_what_the_machine_refuses_is_no_bug(tmp_path: Path) -> None:
    code = "from multicube.sim.command import main; main()"
    words = [sys.executable, "-c", code, "export", "cube", "ports=2", "-o", "a.v"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 8 && exec "$@"', "bash", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # else it leaves truncated bytecode
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("multicube: Yosys can't be run: ")
    assert not list(tmp_path.iterdir())
