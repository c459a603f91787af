"""The comparison of speeds: it says which case is slower, and keeps what it has measured."""

import json
import sys
from pathlib import Path

import pytest
import speed
from multicube.hdl import build

CASES = ["cube of 64", "graph made ready"]


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.04, 0), (1.2, 1), (0.5, 0)])
def test_a_case_that_takes_more_time_is_named(
    factor: float,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def seconds(library: Path, case: str) -> float:
        assert (library / "multicube/hdl").is_dir()
        return 2.0 * (factor if library.name == "mine" and case == CASES[0] else 1)

    kept = tmp_path / "speed.jsonl"
    kept.write_text("{}\n")
    monkeypatch.setattr(speed, "seconds", seconds)
    monkeypatch.setattr(speed, "unpacked", lambda commit, folder: speed.ROOT)
    monkeypatch.setattr(speed, "KEPT", kept)
    words = ["speed", "HEAD", "--pairs", "2", "--keep", "--cases", *CASES]
    monkeypatch.setattr(sys, "argv", words)
    assert speed.main() == status
    (line,) = (line for line in capsys.readouterr().out.splitlines() if CASES[0] in line)
    assert ("slower" in line) == bool(status)
    assert ("faster" in line) == (factor < 1)
    assert f"{factor:.3f}" in line
    first, second = kept.read_text().splitlines()
    assert first == "{}"
    assert json.loads(second)["seconds"] == {CASES[0]: 2 * factor, CASES[1]: 2.0}


def test_cases_are_networks() -> None:
    for family, parameters, load, cycles in speed.CASES.values():
        assert build(family, **parameters).ports >= 64
        assert 0 < load <= 1
        assert cycles >= 0


@pytest.mark.long
def test_a_case_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(speed.CASES, "small", ("cube", {"ports": 4}, 0.1, 10))
    assert 0 < speed.seconds(speed.package(speed.ROOT, tmp_path), "small") < 60


def test_kept_times_are_of_commits_and_machines() -> None:
    for line in speed.KEPT.read_text().splitlines() if speed.KEPT.exists() else ():
        kept = json.loads(line)
        assert kept["commit"]
        assert kept["machine"]
        assert kept["date"]
        assert all(time > 0 for time in kept["seconds"].values())
