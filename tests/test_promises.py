"""Each line of the page of promises names the tests that hold it, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from mutants.score import definitions

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "promises.md"
ROWS = [line for line in PAGE.read_text().splitlines() if re.match(r"\| (?!---)", line)]
PROMISES = [line for line in ROWS if not line.startswith(("| promise |", "| status |"))]


@cache
def _known(file: str) -> set[str]:
    return {name for name, _ in definitions(ast.parse((HERE / file).read_text()))}


@pytest.mark.parametrize("line", PROMISES)
def test_a_promise_is_held_by_tests(line: str) -> None:
    *_, held, _ = line.split("|")
    names = re.findall(r"`([\w/]+\.py)::(\w+)`", held)
    assert names, line
    for file, function in names:
        assert function in _known(file), f"{file}::{function}"


def test_the_page_has_all_kinds() -> None:
    heads = re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE)
    wanted = {"The books", "Which run a number belongs to", "Reset", "Interruption", "Files"}
    assert wanted | {"The cache", "Exit status"} <= set(heads)
