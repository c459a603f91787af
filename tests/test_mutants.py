"""The seeded bugs of `tests/mutants`: each still has its place, and names tests that exist."""

import ast
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from mutants.score import FOLDER, ROOT, Mutant, definitions, mutants


def test_every_bug_has_its_place() -> None:
    """What results differs, and is Python if it is a module."""
    bugs = mutants()
    assert len(bugs) >= 250
    for bug in bugs:
        assert bug.what, bug.name
        text = bug.applied(ROOT)
        assert text != (ROOT / bug.file).read_text(), bug.name
        if bug.file.endswith(".py"):
            compile(text, bug.file, "exec", ast.PyCF_ONLY_AST)


def test_every_bug_is_in_the_file_of_its_room() -> None:
    for path in sorted(FOLDER.glob("*.toml")):
        for name, bug in tomllib.loads(path.read_text()).items():
            rooms = bug["at"].removeprefix("multicube.").replace(".", "/").split("/")
            assert rooms[1] == path.stem, name


def test_every_bug_names_tests() -> None:
    known: dict[str, set[str]] = {}
    for bug in mutants():
        assert bug.tests, bug.name
        for test in bug.tests:
            file, _, function = test.partition("::")
            if file not in known:
                known[file] = {
                    name for name, _ in definitions(ast.parse((ROOT / file).read_text()))
                }
            assert not function or function.partition("[")[0] in known[file], test


HALVES = '''def sum(a, b):
    return a + b


class Half:
    """Half of a sum."""

    @property
    def sum(self):
        if self.odd:
            self.rest = f(self.a + 1,
                          self.b)
        return self.a + self.b
'''


@pytest.fixture
def bug(tmp_path: Path) -> Mutant:
    (tmp_path / "hdl").mkdir()
    (tmp_path / "hdl/halves.py").write_text(HALVES)
    old, new = (
        "self.rest = f(self.a + 1, self.b)",
        "self.rest = 0\nif self.even:\n    self.rest = 1",
    )
    return Mutant("rest", "", [], "multicube.hdl.halves:Half.sum", old, new)


def test_a_bug_stays_in_its_place(bug: Mutant, tmp_path: Path) -> None:
    """Code is found however its lines are broken, and what takes its place is indented like it."""
    before, after = HALVES.split("self.rest = f(self.a + 1,\n                          self.b)")
    indented = bug.new.replace("\n", "\n" + 12 * " ")
    assert bug.applied(tmp_path) == f"{before}{indented}{after}"
    top = replace(bug, at="multicube.hdl.halves:sum", old="a + b", new="a - b")
    assert top.applied(tmp_path) == HALVES.replace("return a + b", "return a - b")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": "multicube.hdl.wholes:Half.sum"}, "rest: there is no hdl/wholes.py"),
        ({"at": "multicube.hdl.halves:Half.product"}, "rest: multicube.hdl.halves:Half.product is "
         "defined 0 times, not once"),
        ({"old": "self.whole"}, "rest fits 0 places of multicube.hdl.halves:Half.sum, not one"),
        ({"old": "self.a"}, "rest fits 2 places of multicube.hdl.halves:Half.sum, not one"),
        ({"old": "elf.b)"}, "rest fits 0 places of multicube.hdl.halves:Half.sum, not one"),
    ],
    ids=["file", "name", "text", "twice", "half a word"],
)  # fmt: skip
def test_a_bug_without_its_place_says_so(
    bug: Mutant, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replace(bug, **change).applied(tmp_path)
