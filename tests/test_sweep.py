"""Sweeps: loads as text, refinement, files."""

import csv
import hashlib
import importlib
import json
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from long_runs import long
from multicube.hdl import build
from multicube.sim import Result, simulate
from multicube.sim.measure.comparison import Comparison
from multicube.sim.measure.curve import Sweep
from multicube.sim.report.look import Look
from multicube.sim.report.save import save_comparison, save_sweep
from multicube.sim.run.sweeps import MOST_LOADS, ZERO_LOAD, LoadsLost, parse_loads, planned, sweep

module = importlib.import_module(
    "multicube.sim.run.sweeps"
)  # the package may have a function sweep


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("0.1:0.9:0.1", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("0.1:1:0.3", [0.1, 0.4, 0.7, 1.0]),
        ("0.1:0.95:0.3", [0.1, 0.4, 0.7]),
        ("0:1:1", [0, 1]),
        ("0.5:0.5:0.1", [0.5]),
        ("0.2:0.6:5", [0.2]),
        ("0.5", [0.5]),
        ("0.5,0.1,0.5", [0.1, 0.5]),
        (" 1e-1 , 1 ", [0.1, 1]),
        ("0.001:1:0.001", [round(0.001 * i, 3) for i in range(1, 1001)]),
    ],
)
def test_parse_loads(text: str, loads: list[float]) -> None:
    assert parse_loads(text) == loads


NONSENSE = """
: :: abc 0.1:0.9 0.1:0.9:0.1:1 0.1:0.9:0 0.1:0.9:-0.1 0.9:0.1:0.1 0.1, 0.1,,0.2 0.1;0.2
0:1:nan nan:1:0.1 0:nan:0.1 0:inf:0.1 0:1:x 0:1:inf -inf:1:1
"""


@pytest.mark.parametrize("text", ["", " ", *NONSENSE.split()])
def test_parse_loads_rejects_form(text: str) -> None:
    message = re.escape(f"Loads must be FIRST:LAST:STEP or a list like 0.1,0.5, not {text!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse_loads(text)


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("nan", "nan"),
        ("inf", "inf"),
        ("0.5,1.5", "1.5"),
        ("-0.1:0.5:0.2", "-0.1"),
        ("0:3:1", "2.0"),
    ],
)
def test_sweep_rejects_load(text: str, load: str) -> None:
    message = f"^Load must be from 0 to 1 packets per terminal per cycle, not {load}$"
    with pytest.raises(ValueError, match=message):
        sweep("cube", parse_loads(text), ports=4, clip=True)


def test_loads_in_flits_may_be_above_1() -> None:
    """What counts is packets, as in a single run."""
    plan = planned(build("cube", ports=4, switch="wormhole", length=4), [1.5, 4], unit="flits")
    assert plan.loads == (0.375, 1)


@pytest.mark.parametrize("text", ["0:1:0.0005", "0:1:1e-12", "0:1:1e-300"])
def test_parse_loads_rejects_many(text: str) -> None:
    message = re.escape(f"Loads must be at most {MOST_LOADS}, not as many as in {text!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse_loads(text)


@pytest.fixture(scope="module")
def curve() -> Sweep:
    """A real sweep of one 2 x 2 box with input queues, which carries 3/4."""
    return sweep(
        build("cube", ports=2, switch="input-queued"), [0.9, 0.3, 0.6], bins=64, processes=1
    )


@pytest.mark.long
def test_refinement_brackets_saturation(curve: Sweep) -> None:
    loads = [point.offered_load for point in curve.points]
    assert loads == sorted(set(loads))
    assert {0.3, 0.6, 0.9} <= set(loads)
    assert len(loads) == 9
    assert all(point.saturated is not None for point in curve.points)
    low, high = curve.saturation_interval
    assert high - low <= 0.3 / 16 + 1e-8
    assert 0.73 <= low < 0.76
    assert curve.saturation_throughput == pytest.approx(0.75, abs=0.03)
    for point in curve.points:
        if point.offered_load <= low:
            assert not point.saturated
        if point.offered_load == high:
            assert point.saturated


def test_zero_load(curve: Sweep) -> None:
    assert curve.zero_load.offered_load == ZERO_LOAD
    assert curve.zero_load_latency == pytest.approx(1, abs=0.1)


@pytest.mark.long
def test_zero_load_of_long_packets() -> None:
    """So few flits that packets of 32 hardly ever meet, although at 0.01 packets they would."""
    network = build("dcsh", k=4, n=2, length=32)
    curve = sweep(network, [0.002], cycles=20_000, refine=False)
    assert curve.zero_load.offered_load == pytest.approx(ZERO_LOAD / 32, rel=1e-2)
    assert curve.zero_load_latency == pytest.approx(32 + 2 * 3 / 4, abs=1)


@pytest.mark.long
def test_points_are_those_of_single_runs(curve: Sweep) -> None:
    network = build("cube", ports=2, switch="input-queued")
    point = next(point for point in curve.points if point.offered_load == 0.6)
    assert point == simulate(network, load=0.6, bins=64)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, curve: Sweep) -> Callable[[float], list[float]]:
    """Replace simulations by a network that saturates at a given load; gives the loads asked.

    Its runs decide nothing at loads up to a second limit, if that is higher.
    """

    def at(limit: float, decided: float = 0) -> list[float]:
        asked: list[float] = []

        def simulate_share(_: Any, runs: list, **__: Any) -> list[Result]:
            asked.extend(run.load for run in runs)
            return [
                replace(
                    curve.zero_load,
                    offered_load=run.load,
                    throughput=min(run.load, limit),
                    saturated=None if limit < run.load <= decided else run.load > limit,
                )
                for run in runs
            ]

        monkeypatch.setattr(module, "simulate_runs", simulate_share)
        return asked

    return at


@pytest.mark.parametrize("limit", [0.05, 0.33, 0.5, 0.77, 0.8999])
def test_refinement_finds_the_limit(limit: float, quick: Callable[[float], list[float]]) -> None:
    asked = quick(limit)
    found = sweep(build("cube", ports=2), [0.1, 0.3, 0.5, 0.7, 0.9], processes=1)
    low, high = found.saturation_interval
    assert low <= limit < high
    assert high - low == pytest.approx((0.1 if limit < 0.1 else 0.2) / 16)
    assert found.saturation_throughput == limit
    assert len(asked) == len(set(asked)) == 1 + 5 + 6
    loads = [point.offered_load for point in found.points]
    assert loads == sorted(loads)


def test_refinement_ends_where_nothing_is_decided(quick: Callable[..., list[float]]) -> None:
    asked = quick(0.5, decided=0.8)
    found = sweep(build("cube", ports=2), [0.5, 0.9], processes=1)
    assert asked == [ZERO_LOAD, 0.5, 0.9, 0.6, 0.7, 0.8]
    assert found.saturation_interval == (0.5, 0.9)


def test_no_saturation(quick: Callable[[float], list[float]]) -> None:
    asked = quick(2)
    found = sweep(build("cube", ports=2), [0.5, 0.1, 0.1, 1], processes=1)
    assert asked == [ZERO_LOAD, 0.1, 0.5, 1]
    assert found.saturation_interval is None
    assert found.saturation_throughput is None


def test_no_refinement(quick: Callable[[float], list[float]]) -> None:
    asked = quick(0.3)
    found = sweep(build("cube", ports=2), [0.1, 0.5], processes=1, refine=False)
    assert asked == [ZERO_LOAD, 0.1, 0.5]
    assert found.saturation_interval == (0.1, 0.5)


def test_throughput_past_saturation(curve: Sweep) -> None:
    """The highest, and the one at the highest load, are told apart where a network collapses."""

    def point(load: float, throughput: float, saturated: bool | None) -> Result:
        return replace(
            curve.zero_load, offered_load=load, throughput=throughput, saturated=saturated
        )

    low, top, past = point(0.1, 0.1, False), point(0.2, 0.18, True), point(0.3, 0.05, True)
    fallen = replace(curve, points=[low, top, past])
    assert (fallen.saturation_throughput, fallen.sustained_throughput) == (0.18, 0.05)
    assert fallen.to_json()["sustained_throughput"] == 0.05
    for last in (point(0.3, 0.2, None), point(0.3, 0.3, False)):
        assert replace(curve, points=[low, top, last]).sustained_throughput is None
    assert replace(curve, points=[]).sustained_throughput is None


def test_csv(curve: Sweep, tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    save_sweep(curve, path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(curve.points)
    for row, point in zip(rows, curve.points):
        assert float(row["offered_load"]) == point.offered_load
        assert float(row["latency_mean"]) == point.latency.mean
        assert row["saturated"] == ("" if point.saturated is None else str(point.saturated))
        assert row["verdict"] == point.verdict
        assert row["predicted_latency_mean"] == ""


def test_json(curve: Sweep, tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    save_sweep(curve, path)
    record = json.loads(path.read_text())
    assert record["network"] == "cube"
    assert record["parameters"]["switch"] == "input-queued"
    assert record["zero_load_latency"] == curve.zero_load_latency
    assert record["saturation_interval"] == list(curve.saturation_interval)
    assert [point["latency"]["mean"] for point in record["points"]] == [
        point.latency.mean for point in curve.points
    ]


@pytest.mark.long
def test_pictures(curve: Sweep, tmp_path: Path) -> None:
    for name in ("curve.png", "curve.svg"):
        save_sweep(curve, tmp_path / name)
    png = (tmp_path / "curve.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(png[16:20], "big") > 1000  # width in pixels
    assert png.endswith(b"IEND\xaeB`\x82")
    root = ElementTree.parse(tmp_path / "curve.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter())) > 100


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ending", ["csv", "json", long("png"), "svg", long("pdf")])
def test_files_are_the_same_twice(ending: str, curve: Sweep, tmp_path: Path) -> None:
    digests = set()
    for number in range(2):
        path = tmp_path / f"{number}.{ending}"
        save_sweep(curve, path)
        digests.add(hashlib.sha256(path.read_bytes()).digest())
    assert len(digests) == 1


@pytest.mark.long
def test_picture_of_nothing_delivered(tmp_path: Path) -> None:
    empty = simulate(build("cube", ports=2), load=0, cycles=10, warmup=0, bins=8)
    save_sweep(Sweep(build("cube", ports=2), "uniform", [empty], empty), tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 1000


@pytest.mark.long
def test_picture_with_theory_and_labels(curve: Sweep, tmp_path: Path) -> None:
    short: dict[str, Any] = {"loads": [0.3], "cycles": 100, "engine": "amaranth"}
    other = sweep(build("cube", ports=2), **short)
    path = tmp_path / "both.svg"
    save_comparison(Comparison([curve, other], ["mine", "other"]), path, Look(title="A comparison"))
    text = path.read_text()
    for word in ("mine", "other", "theory", "A comparison"):
        assert f"<!-- {word} -->" in text
    save_comparison(Comparison([curve]), path)
    assert "<!-- theory -->" not in path.read_text()  # no formula for input queues
    full = sweep(other.network, **short, source_depth=1, refine=False)
    save_comparison(Comparison([full]), path)
    assert "<!-- theory -->" not in path.read_text()  # sources were full


@pytest.mark.parametrize("name", ["curve.gif", "curve", "curve.PNG", ".png.x"])
def test_save_rejects_ending(name: str, curve: Sweep, tmp_path: Path) -> None:
    message = r"^Output .* must end in \.csv, \.json, \.svg, \.png, \.pdf$"
    with pytest.raises(ValueError, match=message):
        save_sweep(curve, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "json", "png", "svg"])
def test_save_rejects_folder(ending: str, curve: Sweep, tmp_path: Path) -> None:
    path = tmp_path / "none" / f"curve.{ending}"
    message = re.escape(f"Output {path} can't be written: there is no folder {path.parent}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        save_sweep(curve, path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("ending", "victim"),
    [
        ("csv", "csv.DictWriter.writerows"),
        ("json", "pathlib.Path.write_text"),
        ("png", "matplotlib.figure.Figure.savefig"),
        ("svg", "matplotlib.figure.Figure.savefig"),
    ],
)
def test_failed_write_leaves_the_old_file(
    ending: str, victim: str, curve: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"curve.{ending}"
    path.write_bytes(b"old")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(victim, full)
    with pytest.raises(OSError, match="No space left"):
        save_sweep(curve, path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"


def test_killed_processes_lose_nothing(monkeypatch: pytest.MonkeyPatch, curve: Sweep) -> None:
    """What had been finished is kept, and what was lost runs again."""
    rounds: list[tuple[int, list[int]]] = []

    def kill_half(jobs: list, processes: int) -> Iterator[tuple[int, list[Result]]]:
        rounds.append((processes, [len(runs) for _, (_, runs), _ in jobs]))
        for number, (_, (_, runs), _) in enumerate(jobs):
            if number or len(rounds) > 1:
                yield number, [replace(curve.zero_load, offered_load=run.load) for run in runs]

    monkeypatch.setattr(module, "Workers", lambda: nullcontext(kill_half))
    network = build("cube", ports=2)
    found = sweep(network, [0.1, 0.2, 0.3], engine="compiled", processes=2, refine=False)
    assert [point.offered_load for point in found.points] == [0.1, 0.2, 0.3]
    assert rounds == [(2, [2, 2]), (1, [1, 1])]
    assert (found.partial, found.lost) == (False, ())


def test_one_deadly_load_costs_no_other(monkeypatch: pytest.MonkeyPatch, curve: Sweep) -> None:
    """Whatever runs when a process is killed is lost, until each load runs alone."""

    def kill(jobs: list, _: int) -> Iterator[tuple[int, list[Result]]]:
        if not any(run.load == 0.2 for _, (_, runs), _ in jobs for run in runs):
            for number, (_, (_, runs), _) in enumerate(jobs):
                yield number, [replace(curve.zero_load, offered_load=run.load) for run in runs]

    monkeypatch.setattr(module, "Workers", lambda: nullcontext(kill))
    with pytest.raises(LoadsLost) as caught:
        sweep(build("cube", ports=2), [0.1, 0.2, 0.3], processes=2, refine=False)
    assert caught.value.sweep.lost == (0.2,)
    assert [point.offered_load for point in caught.value.sweep.points] == [0.1, 0.3]


def test_lost_loads_are_named(monkeypatch: pytest.MonkeyPatch, curve: Sweep) -> None:
    def kill(jobs: list, _: int) -> Iterator[tuple[int, list[Result]]]:
        for number, (_, (_, (run, *_)), _) in enumerate(jobs):
            if run.load not in (0.2, 0.3):
                yield number, [replace(curve.zero_load, offered_load=run.load)]

    monkeypatch.setattr(module, "Workers", lambda: nullcontext(kill))
    message = r"^Processes were killed, .* scheduler; no result for these loads: 0\.2, 0\.3$"
    with pytest.raises(LoadsLost, match=message) as caught:
        sweep(build("cube", ports=2), [0.1, 0.2, 0.3, 0.4], engine="amaranth", processes=2)
    found = caught.value.sweep
    assert [point.offered_load for point in found.points] == [0.1, 0.4]
    assert found.to_json()["lost"] == [0.2, 0.3]
    assert pickle.loads(pickle.dumps(caught.value)).sweep.lost == (0.2, 0.3)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupted_sweep_keeps_what_is_whole(
    processes: int, monkeypatch: pytest.MonkeyPatch, curve: Sweep
) -> None:
    """A run that was cut short is no point of the curve."""

    def measure(_: Any, runs: list, **__: Any) -> list[Result]:
        cut = [run.load >= 0.2 for run in runs]
        return [
            replace(curve.zero_load, offered_load=run.load, partial=partial)
            for run, partial in zip(runs, cut)
        ]

    def interrupt(jobs: list, _: int) -> Iterator[tuple[int, list[Result]]]:
        yield 0, measure(*jobs[0][1])
        yield 1, measure(*jobs[1][1])
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "simulate_runs", measure)
    monkeypatch.setattr(module, "Workers", lambda: nullcontext(interrupt))
    network = build("cube", ports=2)
    found = sweep(network, [0.1, 0.2, 0.3], engine="amaranth", processes=processes)
    assert [point.offered_load for point in found.points] == [0.1]
    assert found.to_json()["partial"] is True
    with pytest.raises(KeyboardInterrupt):
        sweep(network, [0.2, 0.3], engine="amaranth", processes=processes)


def test_sweep_rejects_arguments() -> None:
    network = build("cube", ports=2)
    for options, message in (
        ({"loads": []}, "Loads must be given, at least one"),
        ({"loads": [2]}, "Load must be from 0 to 1 packets per terminal per cycle, not 2"),
        ({"loads": [0.1], "processes": 0}, "Processes must be at least 1, not 0"),
        ({"loads": [0.1], "processes": -2}, "Processes must be at least 1, not -2"),
        (
            {"loads": [0.1], "processes": 2, "scheduler": "tcp://127.0.0.1:1"},
            "A cluster takes no processes of this machine, not 2",
        ),
        ({"loads": [0.1], "cycles": 0}, "Cycles must be from 1 to 2147483648, not 0"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            sweep(network, **options)


def test_scheduler_needs_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = re.escape("A scheduler needs the package distributed: pip install multicube[cluster]")
    with pytest.raises(ValueError, match=f"^{message}$"):
        sweep(build("cube", ports=2), [0.1], scheduler="tcp://127.0.0.1:1")


def test_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(address: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(nthreads=dict, close=lambda: None)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))
    with pytest.raises(ValueError, match=r"^Scheduler tcp://127\.0\.0\.1:1 has no workers$"):
        sweep(build("cube", ports=2), [0.1], scheduler="tcp://127.0.0.1:1")


def test_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(address: str, timeout: float) -> None:
        raise OSError(f"Timed out trying to connect to {address} after {timeout} s")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))
    message = r"^Scheduler tcp://127\.0\.0\.1:1 can't be reached: Timed out trying to connect"
    with pytest.raises(ValueError, match=message):
        sweep(build("cube", ports=2), [0.1], scheduler="tcp://127.0.0.1:1")
