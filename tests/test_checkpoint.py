"""Runs that were killed or interrupted continue from their checkpoint, to the same result."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import command_refusals
from long_runs import long
from multicube.hdl import build
from multicube.sim import Run, pattern, simulate
from multicube.sim.engines.compiled import CompiledEngine, State
from multicube.sim.run import checkpoint as checkpoints
from multicube.sim.run.record import identity, recorded
from started import started

OPTIONS: dict[str, Any] = {"load": 0.4, "cycles": 300, "bins": 32, "engine": "compiled", "seed": 3}


RUN = Run(pattern("uniform", 2), 0.4, 300, seed=3)
"""The same, for the record."""


class _Killed(Exception):
    """What ends a run without warning."""


@pytest.fixture
def each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every part of a run, and parts of few cycles."""
    monkeypatch.setattr(checkpoints, "_PART_SECONDS", 1e-9)
    original = checkpoints.Checkpoint.__init__

    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options, seconds=0)

    monkeypatch.setattr(checkpoints.Checkpoint, "__init__", begin)
    monkeypatch.setattr(checkpoints, "max", lambda *numbers: 67, raising=False)


def test_killed_runs_continue(
    each_part: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed several times: in the warm-up, in the window, and while the network empties."""
    network, path = build("cube", ports=2), tmp_path / "run.npz"
    expected = simulate(network, **OPTIONS).to_json()
    step = CompiledEngine.step
    kills = [60, 200, expected["warmup"] + 300]
    cycles: list[int] = []

    def until(cycle: int) -> Callable[[CompiledEngine, int], None]:
        def killed(self: CompiledEngine, count: int) -> None:
            if self.cycle >= cycle:
                raise _Killed
            cycles.append(self.cycle)
            step(self, count)

        return killed

    for kill in kills:
        monkeypatch.setattr(CompiledEngine, "step", until(kill))
        with pytest.raises(_Killed):
            simulate(network, **OPTIONS, checkpoint=path)
    monkeypatch.setattr(CompiledEngine, "step", until(10**9))
    found = simulate(network, **OPTIONS, checkpoint=path).to_json()
    assert found == expected
    assert len(cycles) == len(set(cycles)) > 6  # nothing was simulated twice
    assert simulate(network, **OPTIONS, checkpoint=path).to_json() == expected


@pytest.mark.long
def test_interrupted_run_continues(
    each_part: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, path = build("cube", ports=2), tmp_path / "run.npz"
    step = CompiledEngine.step

    def interrupted(self: CompiledEngine, count: int) -> None:
        step(self, count)
        if self.cycle > 200:
            monkeypatch.setattr(CompiledEngine, "step", step)
            raise KeyboardInterrupt

    monkeypatch.setattr(CompiledEngine, "step", interrupted)
    assert simulate(network, **OPTIONS, checkpoint=path).partial
    assert State.load(path).cycles[0] in range(200, 400)
    found = simulate(network, **OPTIONS, checkpoint=path).to_json()
    assert found == simulate(network, **OPTIONS).to_json()


def test_checkpoints_of_other_runs_are_refused(each_part: None, tmp_path: Path) -> None:
    network, path = build("cube", ports=2), tmp_path / "run.npz"
    simulate(network, **OPTIONS, checkpoint=path)
    with pytest.raises(ValueError, match="is the checkpoint of another run"):
        simulate(network, **{**OPTIONS, "cycles": 400}, checkpoint=path)
    state = State.load(path)
    assert state.run == identity(recorded(network, RUN, 32))
    replace(state, note="").save(path)
    with pytest.raises(ValueError, match="is the checkpoint of another run"):
        simulate(network, **OPTIONS, checkpoint=path)
    with CompiledEngine(network.fabric) as engine:
        replace(engine.save(), run=state.run, note="[]").save(path)
    with pytest.raises(ValueError, match="is the checkpoint of another run"):
        simulate(network, **OPTIONS, checkpoint=path)
    path.write_text("nothing")
    with pytest.raises(ValueError, match="holds no saved state"):
        simulate(network, **OPTIONS, checkpoint=path)


test_refused = command_refusals(
    "sim cube ports=2",
    ("--checkpoint - --engine compiled", "Checkpoint must be a regular file, not -"),
    ("--checkpoint none/x", "Output none/x can't be written: there is no folder none"),
    ("--checkpoint x --engine amaranth", "Engine must be compiled to write checkpoints"),
    part=True,
)


@pytest.mark.parametrize(
    "words",
    [
        long("cube ports=64 --load 0.5 --cycles 1000000"),
        long("torus k=8 length=4 --load 0.1 --cycles 600000"),
    ],
)
def test_killed_command_continues(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed by SIGKILL, twice; a run whose books do not balance would end with another status."""
    monkeypatch.setenv("CFLAGS", "")
    command = [sys.executable, "-m", "multicube", "sim", *words.split(), "--warmup=100", "--json"]
    whole = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    script = (
        "import sys; from multicube.sim.run import checkpoint as c; "
        "c._PART_SECONDS = 0.1; c.Checkpoint.__init__.__kwdefaults__['seconds'] = 0.5; "
        "from multicube.sim.command import main; main(sys.argv[1:])"
    )
    command[1:3] = ["-c", script]
    path = tmp_path / "run.npz"
    for _ in range(2):
        before = path.stat().st_mtime_ns if path.exists() else None
        started_ = [*command, "--checkpoint", path.name]
        with started(started_, cwd=tmp_path, stdout=None, stderr=None) as process:
            while not path.exists() or path.stat().st_mtime_ns == before:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
    done = [*command, "--checkpoint", path.name]
    out = subprocess.run(done, cwd=tmp_path, capture_output=True, check=True).stdout
    assert json.loads(out) == json.loads(whole)
