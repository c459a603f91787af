"""Sweeps that go on from the points that an earlier one has finished."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from multicube.hdl import Network, build
from multicube.sim.measure.result import Result
from multicube.sim.run import sweeps
from multicube.sim.run.run import Run
from multicube.sim.run.simulation import simulate_runs
from multicube.sim.run.sweeps import sweep

SHORT: dict[str, Any] = {
    **{"cycles": 60, "warmup": 0, "bins": 16, "engine": "auto"},
    **{"processes": 1, "refine": False},
}


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The loads that were simulated; the fifth is interrupted."""
    loads: list[float] = []

    def measure(network: Network, runs: list[Run], **options: Any) -> list[Result]:
        loads.extend(run.load for run in runs)
        if len(loads) == 5:
            raise KeyboardInterrupt
        return simulate_runs(network, runs, **options)

    monkeypatch.setattr(sweeps, "simulate_runs", measure)
    return loads


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", ["cube ports=2", "torus k=2 length=1:3", "combining ports=2"])
def test_a_sweep_goes_on(words: str, simulated: list[float], tmp_path: Path) -> None:
    """With the same result as one without pause, and nothing is simulated twice."""
    network, loads = build(words), [0.1, 0.2, 0.3, 0.4, 0.5]
    kept = tmp_path / "points.json"
    part = sweep(network, loads, resume=kept, **SHORT)
    assert part.partial
    assert [point.offered_load for point in part.points] == [0.1, 0.2, 0.3]
    whole = sweep(network, loads, resume=kept, **SHORT)
    assert simulated[5:] == [0.4, 0.5]
    fresh = sweep(network, loads, **SHORT)
    assert not whole.partial
    assert json.dumps(whole.to_json()) == json.dumps(fresh.to_json())
    assert whole.rows() == fresh.rows()


@pytest.mark.long
def test_other_runs_are_not_taken(simulated: list[float], tmp_path: Path) -> None:
    """Points of another network, traffic, seed or length are kept beside; other loads are left."""
    kept = tmp_path / "points.json"
    network = build("cube", ports=2)
    asked: list[tuple[Network, dict[str, Any]]] = [
        (network, {}),
        (build("omega", ports=2), {}),
        (build("cube", ports=2, depth=1), {}),
        (network, {"traffic": "hotspot:0.5"}),
        (network, {"seed": 2}),
        (network, {"cycles": 61}),
    ]
    for each, options in asked:
        simulated.clear()
        sweep(each, [0.2], resume=kept, **{**SHORT, **options})
        assert 0.2 in simulated
    for each, options in asked:
        simulated.clear()
        curve = sweep(each, [0.2], resume=kept, **{**SHORT, **options})
        assert simulated == []
        assert curve.points == sweep(each, [0.2], **{**SHORT, **options}).points
    more = sweep(network, [0.1], resume=kept, **SHORT)
    assert [point.offered_load for point in more.points] == [0.1]


def _swapped(text: str) -> str:
    """Each result under the name of the other."""
    content = json.loads(text)
    names, results = content["points"].keys(), content["points"].values()
    return json.dumps(content | {"points": dict(zip(names, reversed(results)))})


CHANGES: dict[str, Callable[[str], str]] = {
    "FIELD": lambda text: text.replace('"throughput":', '"output":'),
    "VALUE": lambda text: text.replace('"mean": ', '"mean": 1'),
    "SWAPPED": _swapped,
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text", ["", "[]", pytest.param("[" * 9999, id="deep"), '{"kind": "other"}', *CHANGES]
)
def test_files_that_are_not_of_a_sweep(text: str, tmp_path: Path) -> None:
    """They are refused, and not touched."""
    kept = tmp_path / "points.json"
    network = build("cube", ports=2)
    if text in CHANGES:
        sweep(network, [0.1, 0.2], resume=kept, **SHORT)
        written = kept.read_text()
        text = CHANGES[text](written)
        assert text != written
    kept.write_text(text)
    message = f"^Resume must be a file of finished points, not {re.escape(str(kept))}$"
    with pytest.raises(ValueError, match=message):
        sweep(network, [0.2], resume=kept, **SHORT)
    assert kept.read_text() == text
    with pytest.raises(ValueError, match="there is no folder"):
        sweep(network, [0.2], resume=tmp_path / "none" / "points.json", **SHORT)
