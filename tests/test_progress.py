"""What a terminal is told while work takes time."""

import os
import pty
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import build
from multicube.sim import Run, pattern, simulate_runs, sweep
from multicube.sim.run import progress, simulation
from multicube.sim.run.progress import RunCount, phase


def test_phase_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    with phase("building"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim cube ports=2 --cycles 20 --warmup 0", "building the bench of 2 terminals ..."),
        long(
            "sweep cube ports=2 --loads 0.1,0.2 --cycles 20 --warmup 0 --processes 1",
            "cube, preparing the engine:   0%",
        ),
        ("deadlock torus k=2 n=2", "destinations"),
        ("permute cube ports=4 3,2,1,0 --passes", "looking for passes"),
    ],
)
def test_a_terminal_is_told_what_is_done(words: str, said: str, tmp_path: Path) -> None:
    program = "from multicube.sim.command import main; main()"
    process, terminal = pty.fork()
    if process == 0:
        termios.tcsetwinsize(0, (24, 100))
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", program, *words.split()])
    heard = b""
    try:
        while part := os.read(terminal, 4096):
            heard += part
    except OSError:  # it has ended
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert said.encode() in heard


def test_runs_are_counted_as_they_end() -> None:
    """Not when all of those are done that share an engine."""

    class Clock:
        cycle = 0

        def step(self, cycles: int) -> None:
            self.cycle += cycles

    def run(*waits: int) -> Iterator[int]:
        yield from waits
        return waits

    clock = Clock()
    ended: list[int] = []
    simulation._advance(clock, [run(3, 4), run(2), run(9)], lambda: ended.append(clock.cycle))
    assert ended == [2, 7, 9]


def test_each_run_that_ends_leaves_a_byte(tmp_path: Path) -> None:
    network = build("cube", ports=2)
    runs = [Run(pattern("uniform", 2), load, cycles=20, warmup=0) for load in (0.1, 0.2, 0.3)]
    tally = tmp_path / "ended"
    results = simulate_runs(network, runs, bins=8, engine="amaranth", progress=tally)
    assert tally.read_bytes().count(b".") == len(results) == 3


class Bar:
    """In place of the bar of a terminal."""

    def __init__(self, **about: Any) -> None:
        self.disable, self.n, self.total, self.about = about["disable"] is not None, 0, 0, about
        bars.append(self)
        self.shown: list[int] = []

    def update(self, runs: int) -> None:
        self.n += runs
        self.shown.append(self.n)

    def refresh(self) -> None:
        pass

    def __enter__(self) -> "Bar":
        return self

    def set_description(self, text: str, refresh: bool) -> None:
        self.about["desc"] = text

    def __exit__(self, *_: object) -> None:
        pass


bars: list[Bar] = []


def test_a_bar_counts_runs_of_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "tqdm", Bar)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.001)
    with RunCount("cube", True) as count:
        count.expect(3)
        bar = bars[-1]
        assert bar.about["desc"] == "cube, preparing the engine"
        with open(count.tally, "ab") as file:
            file.write(b"+.")
        while not bar.shown:
            time.sleep(0.001)
        assert bar.shown == [1]
        assert bar.about["desc"] == "cube"
        count.ended(3)  # those of which the file says nothing yet
        assert bar.shown == [1, 3]
    assert not Path(count.tally).exists()
    quick = {"cycles": 20, "warmup": 0, "bins": 8, "engine": "amaranth", "refine": False}
    sweep("cube ports=2", [0.1, 0.2], progress=True, processes=1, **quick)
    bar = next(each for each in bars[1:] if each.about["desc"] == "cube")
    assert (bar.n, bar.total, bar.about["unit"]) == (3, 3, " loads")
    with RunCount("cube", False) as count:
        assert count.tally is None
