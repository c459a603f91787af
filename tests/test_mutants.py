"""The seeded bugs of `tests/mutants`: each patch still fits, and names tests that exist."""

import ast
from pathlib import Path

from mutants.score import ROOT, mutants


def test_every_patch_applies() -> None:
    """To one place each, and what results differs, and is Python if it is a module."""
    bugs = mutants()
    assert len(bugs) >= 100
    for bug in bugs:
        assert bug.what, bug.name
        assert bug.changes, bug.name
        for file, text in bug.applied(ROOT).items():
            assert text != (ROOT / file).read_text(), bug.name
            if file.endswith(".py"):
                compile(text, file, "exec", ast.PyCF_ONLY_AST)


def test_every_patch_names_tests() -> None:
    texts: dict[str, str] = {}
    for bug in mutants():
        assert bug.tests, bug.name
        for test in bug.tests:
            file, _, function = test.partition("::")
            text = texts.setdefault(file, (ROOT / Path(file)).read_text())
            assert f"\ndef {function.partition('[')[0]}(" in text or not function, test
