"""Numbers in texts: ASCII digits, without underscores, wherever they stand."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from command_line import exit_status
from multicube.hdl import build
from multicube.hdl.fabric.numerals import integer_of, is_natural, number_of
from multicube.hdl.graphs.routing.group_tree import parse_group
from multicube.sim import pattern, read_trace
from multicube.sim.command import entry_point
from multicube.sim.run.sweeps import parse_loads
from multicube.sim.workload.injection import parse_fault
from multicube.sim.workload.workload import parse_workload

WRONG = ("1_0", "\N{ARABIC-INDIC DIGIT ONE}0", "", "ten")


@pytest.mark.parametrize("text", [*WRONG, "\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_not_a_numeral(text: str) -> None:
    assert not is_natural(text)
    with pytest.raises(ValueError, match=r"ASCII|invalid literal|digits"):
        integer_of(text)


def test_numerals() -> None:
    assert is_natural("016")
    assert not is_natural("-1")
    assert (integer_of(" -12 "), number_of("+.5"), number_of("1e-3")) == (-12, 0.5, 0.001)


READ: dict[str, Callable[[str], Any]] = {
    "network": lambda text: build(f"cube ports={text}"),
    "radices": lambda text: build(f"torus k=4x{text}"),
    "length": lambda text: build(f"torus k=4 n=2 length=1:{text}"),
    "loads": parse_loads,
    "group": lambda text: parse_group(f"0:{text}", 64),
    "fault": lambda text: parse_fault(f"link:1:{text}"),
    "traffic": lambda text: pattern(f"sphere:0.5:{text}", 16),
    "destinations": lambda text: pattern(f"{text},0", 2),
    "bursts": lambda text: pattern(f"uniform+bursts:{text}:2", 16),
    "workload": lambda text: parse_workload("w", f"id,source,destination\n0,1,{text}\n"),
}


@pytest.mark.parametrize("text", WRONG[:2])
@pytest.mark.parametrize("reads", READ.values(), ids=READ)
def test_wrong_numerals_are_refused(reads: Callable[[str], Any], text: str) -> None:
    """They were taken as 10."""
    with pytest.raises(ValueError, match=r"must be|needs a"):
        reads(text)


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ("source,destination,rate\n0,1,0_1\n", "rate must be a number, not '0_1'"),
        ("1_0\n0\n", "line 1 must hold destinations, not '1_0'"),
        ("0_1 1\n1 0\n", "line 1 must hold weights, not '0_1 1'"),
    ],
)
def test_wrong_numerals_in_files_of_traffic(contents: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(contents)
    with pytest.raises(ValueError, match=said):
        pattern(f"file:{tmp_path / 't'}", 2)


def test_wrong_numerals_in_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("cycle,source,destination\n1_0,0,1\n")
    with pytest.raises(ValueError, match="all fields must be integers, not '1_0,0,1'"):
        read_trace(tmp_path / "t", 2)


def test_a_pin_may_have_any_name() -> None:
    """What `str.isdigit` accepts, `int` may refuse: it was a traceback."""
    assert parse_fault("link:a.\N{SUPERSCRIPT TWO}:dead").effect == "dead"


def test_wrong_numerals_in_options_of_other_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = click.Command("inner", params=[click.Option(["--size"], type=click.IntRange(1))])
    others = click.Group("others", {"inner": inner})
    package = SimpleNamespace(value="others:main", load=lambda: others)
    monkeypatch.setattr(entry_point, "_plugins", lambda: {"others": [package]})
    assert exit_status("others", "inner", "--size", "1_0") == 2
    assert "'1_0' is not a valid integer" in capsys.readouterr().err
    assert exit_status("others", "inner", "--size", "10") == 0
