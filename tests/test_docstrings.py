"""All that is public is described, and its examples run."""

import builtins
import doctest
import inspect
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from docstrings import Documented, faults, has_example, private_names, public, types, undescribed
from generate.python import rooms
from long_runs import long
from multicube.hdl import FAMILIES, Network
from multicube.hdl.fabric.checks import check_integer
from page_code import ROOT

WITHOUT = {"AssertionViolated", "CompilerFailed", "LoadsLost", "NotEnoughMemory"}
"""Errors without an example: of a component that is wrong, a compiler that fails, a process that is
killed, and a machine that is full."""

OWN_PROCESS = {"multicube.sim.run_cocotb"}
"""What can be called only once in a process."""

SLOW = {
    "multicube.sim.measure.bisection.bisection",
    "multicube.sim.papers.dandamudi.equal_cost.equal_width",
    "multicube.sim.run.messenger",
}
"""Modules and functions whose examples take more than half a second."""

CELLS = Path(__file__).parent / "kit" / "tiny.lib"
"""A library of standard cells, which is where examples are run."""


def test_all_that_is_public_is_described() -> None:
    """With a summary, and all arguments, answers and errors, as numpydoc has them."""
    assert len(public()) > 300
    assert {each.name: found for each in public() if (found := faults(each))} == {}


def test_functions_of_all_pages_are_described() -> None:
    """Those too that no stub names: parts of one's own networks."""
    assert len(_shown()) > 70
    assert {each.name: found for each in _shown() if (found := faults(each))} == {}


def test_classes_of_all_pages_describe_what_they_hold() -> None:
    """Their arguments, and the fields of tuples and records, those too that no stub names."""
    items = {each.page: each.item for _, names in rooms().values() for each in names}
    classes = [Documented(*each) for each in items.items() if inspect.isclass(each[1])]
    assert len(classes) > 200
    assert {each.name: found for each in classes if (found := undescribed(each))} == {}


def test_functions_and_main_classes_have_an_example() -> None:
    """The networks of families have pages with theirs. What functions return, and what is part of
    it, need none of their own."""
    families = {family.component for family in FAMILIES.values()}
    lacking = [
        each.name
        for each in public()
        if each.owner is None
        and each.item not in families
        and not has_example(each)
        and not (inspect.isclass(each.item) and _is_shown(each.item))
    ]
    assert lacking == []


def test_errors_of_all_pages_have_an_example() -> None:
    """Their own, even those that no stub names."""
    assert len(ERRORS) > 15
    assert {name for name, each in ERRORS.items() if not has_example(each)} == WITHOUT


def _is_shown(kind: type) -> bool:
    if issubclass(kind, Exception):
        return False
    return issubclass(kind, Network) or bool(re.search(rf"\b{kind.__name__}\b", _seen()))


@cache
def _seen() -> str:
    """The examples, and the types of attributes and answers, which stand before them."""
    return "\n".join(
        each.text.partition(f"{section}\n---")[2]
        for each in public()
        for section in ("Attributes", "Returns", "Examples")
    )


FOREIGN = {
    *("Any", "Callable", "Collection", "Iterable", "Mapping", "PathLike", "Self", "Sequence"),
    *("Elaboratable", "Module", "Period", "ShapeLike", "Signature", "ValueLike"),
    *("Axes", "DataFrame", "Figure"),
    *("BoxSettings", "Path", "Permutation", "Program", "Readings"),
}
"""Types of Python, of Amaranth, and of matplotlib and pandas; and other names of types of these."""


def test_types_have_pages_that_they_link() -> None:
    """All classes that a docstring names as the type of something, but those of others."""
    named = set().union(*map(types, public()))
    assert len(named) > 100
    shown = {each.name for _, names in rooms().values() for each in names}
    assert named - FOREIGN - vars(builtins).keys() - shown == set()


def test_no_page_names_what_is_private() -> None:
    """Nor does a page of what is no name of a stub, as of parts of one's own networks."""
    names = [each for _, names in rooms().values() for each in names if each.kind != "data"]
    assert len(names) > 150
    assert [each.page for each in names if private_names(each.item.__doc__ or "")] == []


@cache
def _shown() -> list[Documented]:
    """The functions that have a page."""
    items = {each.page: each.item for _, names in rooms().values() for each in names}
    return [Documented(*each) for each in items.items() if inspect.isfunction(each[1])]


ERRORS = {
    each.name: Documented(each.page, each.item)
    for _, names in rooms().values()
    for each in names
    if each.kind == "exception"
}

EXAMPLES = {
    each.text: each for each in (*public(), *_shown(), *ERRORS.values()) if ">>>" in each.text
}


def run_examples(test: doctest.DocTest) -> None:
    said: list[str] = []
    with patch.dict(os.environ):
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        done = runner.run(test, out=said.append)
    assert not done.failed, "".join(said)


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("each", [pytest.param(each, id=each.name) for each in EXAMPLES.values()])
def test_examples_run(each: Documented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(CELLS.name).write_text(CELLS.read_text())
    test = doctest.DocTestParser().get_doctest(each.text, {}, each.name, None, None)
    assert not any(doctest.SKIP in example.options for example in test.examples)
    if each.name in OWN_PROCESS:
        Path("example.txt").write_text(each.text)
        command = [sys.executable, "-m", "doctest", "example.txt"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        return
    run_examples(test)


def _others() -> list[Any]:
    """The examples of all that has no page, by module."""
    known = {inspect.cleandoc(text) for text in EXAMPLES}
    found = []
    paths = (path for folder in ("hdl", "sim", "boards") for path in (ROOT / folder).rglob("*.py"))
    for path in sorted(paths):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if ">>>" in path.read_text() and "multicube" not in name:
            tests = doctest.DocTestFinder().find(import_module(f"multicube.{name}"))
            found += [
                each
                for each in tests
                if each.examples and inspect.cleandoc(each.docstring) not in known
            ]
    return found


@pytest.mark.parametrize(
    "test",
    [long(x, id=x.name) if x.name in SLOW else pytest.param(x, id=x.name) for x in _others()],
)
def test_examples_of_what_has_no_page_run(
    test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(test)


def _complete(number: int, *others: int, **more: Any) -> int:
    """The sum of numbers.

    Parameters
    ----------
    number : int
        The first.
    *others : int
        The others.
    **more : Any
        Is not allowed.

    Returns
    -------
    int
        The sum.

    Raises
    ------
    ValueError
        If there is more.
    """
    if more:
        raise ValueError("more")
    return sum(others, number)


def _changed(old: str, new: str) -> Callable[..., int]:
    def function(number: int, *others: int, **more: Any) -> int:
        if more:
            raise ValueError("more")
        return sum(others, number)

    # Python 3.13 and later take the indentation away.
    text = textwrap.indent(inspect.cleandoc(_complete.__doc__), "    ").lstrip()
    assert old in text
    function.__doc__ = text.replace(old, new)
    return function


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("The sum of", "the sum of", "summary is no sentence: 'the sum of numbers.'"),
        ("of numbers.", "of numbers", "summary is no sentence: 'The sum of numbers'"),
        ("of numbers.", "of all. It is exact.", "summary is more than a sentence: ..."),
        ("The sum of numbers", "As in `_total`", "private name `_total`"),
        ("number : int", "number", "number has no type"),
        ("        The first.\n", "", "number has no description"),
        ("The first.", "As in `sum`.", "number is described elsewhere: 'As in `sum`.'"),
        ("The first.", "the first", "number has no sentence: 'the first'"),
        ("number : int", "numeral : int", "not described: number"),
        ("number : int", "numeral : int", "no arguments: numeral"),
        (
            "number : int\n        The first.\n    *others : int\n        The others.",
            "*others : int\n        The others.\n    number : int\n        The first.",
            "not in their order: others, number",
        ),
        ("    Returns\n    -------\n    int\n        The sum.\n\n", "", "no Returns"),
        ("int\n        The sum.", "int", "answer has no description"),
        ("    ValueError\n", "    OSError\n", "not in Raises: ValueError"),
        ("\n        If there is more.", "", "ValueError has no description"),
        ("numbers.\n", "numbers.\n\n", "two blank lines follow each other"),
    ],
)
def test_what_a_docstring_lacks_is_found(old: str, new: str, found: str) -> None:
    assert faults(Documented("complete", _complete)) == []
    wrong = faults(Documented("changed", _changed(old, new)))
    start = found.removesuffix("...")
    assert any(each.startswith(start) for each in wrong), wrong


def test_a_check_of_an_argument_raises_errors() -> None:
    def checked(number: int) -> None:
        """Do nothing.

        Parameters
        ----------
        number : int
            The first.
        """
        check_integer("Number", number, 1)

    assert faults(Documented("checked", checked)) == ["not in Raises: TypeError or ValueError"]


def test_no_docstring_is_a_fault() -> None:
    assert faults(Documented("none", lambda: 0)) == ["no docstring"]


def test_an_override_has_the_docstring_of_what_it_overrides() -> None:
    names = {each.name: each for each in public()}
    assert names["multicube.hdl.CombiningGraphNetwork.confinement"].text.startswith(
        "What keeps packets, or requests, inside their subnetwork."
    )
