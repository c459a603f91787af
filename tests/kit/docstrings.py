"""What the docstrings of the public names lack: the rules of numpydoc, and some of our own.

Public is what a stub (`*.pyi`) names, and each method and property of a class there that has no
underscore. An override without a docstring has that of what it overrides.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

from multicube.hdl.fabric.parameters import Parameters
from numpydoc.docscrape import NumpyDocString
from page_code import ROOT

__all__ = [
    "Documented",
    "faults",
    "has_example",
    "private_names",
    "public",
    "public_names",
    "types",
    "undescribed",
]


class Documented(NamedTuple):
    """Something public, by the name that a user writes, as `multicube.sim.Run.sources`."""

    name: str
    item: Any
    owner: type | None = None

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function that it is, or that a method or a property is made of."""
        item = self.item
        if isinstance(item, property):
            return item.fget
        if isinstance(item, cached_property):
            return item.func
        if isinstance(item, classmethod | staticmethod):
            return item.__func__
        return None if inspect.isclass(item) else item

    @property
    def is_attribute(self) -> bool:
        """Whether it is read without a call."""
        return isinstance(self.item, property | cached_property)

    @property
    def text(self) -> str:
        """Its docstring, or that of what it overrides."""
        if self.owner is None:
            return inspect.getdoc(self.item) or ""
        last = self.name.rpartition(".")[2]
        found = (vars(base).get(last) for base in self.owner.__mro__)
        return next((inspect.cleandoc(each.__doc__) for each in found if each and each.__doc__), "")


class _Parsed(NumpyDocString):
    """Knows the section of a component's ports too."""

    sections = NumpyDocString.sections | {"Members": ""}


@cache
def public_names() -> dict[str, list[str]]:
    """The public names of each package, those first that most programs need."""
    stubs = [path for room in ("sim", "hdl", "boards") for path in (ROOT / room).rglob("*.pyi")]
    named = {}
    for stub in sorted(stubs, key=lambda path: (path.parent.name != "multicube", path)):
        words = stub.parent.relative_to(ROOT).parts
        package = "multicube" if words[-1] == "multicube" else ".".join(("multicube", *words))
        named[package] = list(import_module(package).__all__)
    return named


@cache
def public() -> tuple[Documented, ...]:
    """All functions and classes of the stubs, with the members of the classes, each once."""
    found: dict[int, Documented] = {}
    for package, names in public_names().items():
        for name in names:
            item = getattr(import_module(package), name)
            if inspect.isclass(item) or inspect.isfunction(item):
                found.setdefault(id(item), Documented(f"{package}.{name}", item))
    for each in [*found.values()]:
        if inspect.isclass(each.item):
            for member in _members(each):
                found.setdefault(id(member.item), member)
    return tuple(found.values())


def _members(owner: Documented) -> Iterator[Documented]:
    """The methods and properties of a class; `elaborate` is Amaranth's."""
    for base in owner.item.__mro__:
        if base.__module__.startswith("multicube"):
            for name, item in vars(base).items():
                made = item.func if isinstance(item, cached_property) else item
                own = (getattr(made, "__module__", None) or "multicube").startswith("multicube")
                kinds = FunctionType, property, cached_property, classmethod, staticmethod
                if own and isinstance(item, kinds) and not re.match("_|elaborate$", name):
                    yield Documented(f"{owner.name}.{name}", item, base)


_AS_ELSEWHERE = re.compile(r"(As|Those|That) (in|for|of|by|with|to|at) |See `|As `")
_PRIVATE = re.compile(r"(?<!, )(?<![\w`.}])_[a-z]\w*|`(?:\w+\.)*_[A-Za-z]\w*`")
_CLASS = re.compile(r"(?<![\w\".])[A-Z]\w*[a-z]{2}\w*")
_CHECKED = "TypeError or ValueError"
_NAMED_AS = {
    "InvalidValue": {"ValueError"},
    "InvalidType": {"TypeError"},
    _CHECKED: {"TypeError", "ValueError"},
}


def faults(each: Documented) -> list[str]:
    """What its docstring lacks, in words."""
    if not each.text:
        return ["no docstring"]
    return [*_faults_of_text(each.text), *_faults_of_sections(each, _Parsed(each.text))]


def undescribed(each: Documented) -> list[str]:
    """What the docstring of a class names without a description, and fields that it does not name.

    A field may be described where it is inherited from. The parameters of a network describe
    themselves, in a line each that the command shows too.
    """
    made: type = each.item
    names = list(getattr(made, "_fields", ()))
    if is_dataclass(made) and not issubclass(made, Parameters):
        names = [field.name for field in fields(made)]
    lines = [line for base in made.__mro__ for line in _held(base)]
    silent = [names for names, _, about in _held(made) if not "".join(about).strip()]
    known = {name for names, _, _ in lines for name in names.split(", ")}
    return silent + [name for name in names if name[0] != "_" and name not in known]


def _held(made: type) -> list[tuple[str, str, list[str]]]:
    """Names, type and description of each line of what a class takes and holds."""
    if not made.__module__.startswith("multicube"):
        return []
    parsed = _Parsed(inspect.cleandoc(made.__doc__ or ""))
    return [*parsed["Parameters"], *parsed["Attributes"]]


def has_example(each: Documented) -> bool:
    """Whether its docstring shows an example."""
    return bool(_Parsed(each.text)["Examples"])


def private_names(text: str) -> list[str]:
    """The names in a docstring that begin with an underscore."""
    return _PRIVATE.findall(text)


def types(each: Documented) -> set[str]:
    """The names of classes in the types of arguments, attributes, answers and errors."""
    parsed = _Parsed(each.text)
    sections = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
    kinds = (kind for section in sections for _, kind, _ in parsed[section])
    return {name for kind in kinds for name in _CLASS.findall(kind)}


def _faults_of_text(text: str) -> Iterator[str]:
    summary = " ".join(text.partition("\n\n")[0].split())
    if not re.match(r"[A-Z0-9`\"]", summary) or not summary.endswith("."):
        yield f"summary is no sentence: {summary!r}"
    if re.search(r"[a-z`)]\. [A-Z]", summary):
        yield f"summary is more than a sentence: {summary!r}"
    if _AS_ELSEWHERE.match(summary):
        yield f"summary is elsewhere: {summary!r}"
    if "\n\n\n" in text:
        yield "two blank lines follow each other"
    yield from (f"private name {name}" for name in private_names(text))


def _faults_of_sections(each: Documented, parsed: NumpyDocString) -> Iterator[str]:
    described = [*parsed["Parameters"], *parsed["Other Parameters"], *parsed["Attributes"]]
    for names, kind, about in described:
        if not kind:
            yield f"{names} has no type"
        if kind.count("[") != kind.count("]"):
            yield f"{names} has no whole type: {kind}"
        yield from _faults_of_words(names, about)
    given = {name.lstrip("*") for names, _, _ in described for name in names.split(", ")}
    if not each.is_attribute:
        wanted = _arguments(each)
        if lacks := [name for name in wanted if name not in given]:
            yield f"not described: {', '.join(lacks)}"
        told = [*parsed["Parameters"], *parsed["Other Parameters"]]
        names = [name for names, _, _ in told for name in names.split(", ")]
        if extra := [name for name in names if name.strip("*") not in wanted and name[:2] != "**"]:
            yield f"no arguments: {', '.join(extra)}"
        order = [name.strip("*") for name in names if name.strip("*") in wanted]
        if order != sorted(order, key=wanted.index):
            yield f"not in their order: {', '.join(order)}"
        if each.function is not None:
            yield from _faults_of_answer(each, parsed)
    yield from _faults_of_errors(each, parsed)


def _faults_of_words(name: str, about: list[str]) -> Iterator[str]:
    words = " ".join(about)
    if not words:
        yield f"{name} has no description"
    elif _AS_ELSEWHERE.match(words) and len(words.split()) < 8:
        yield f"{name} is described elsewhere: {words!r}"
    elif not re.search(r"[.:`]$", words) or re.match("[a-z]", words):
        yield f"{name} has no sentence: {words!r}"


def _arguments(each: Documented) -> list[str]:
    """The names of the arguments that it takes."""
    made = each.item if inspect.isclass(each.item) else each.function
    if inspect.isabstract(made) or (
        isinstance(made, type) and issubclass(made, Enum | BaseException)
    ):
        return []
    names = list(inspect.signature(made).parameters)
    bound = not inspect.isclass(made) and not isinstance(each.item, staticmethod)
    return names[1:] if bound and names[:1] in (["self"], ["cls"]) else names


def _faults_of_answer(each: Documented, parsed: NumpyDocString) -> Iterator[str]:
    answer = inspect.unwrap(each.function).__annotations__.get("return")
    if answer in (None, "None"):
        return
    told = [*parsed["Returns"], *parsed["Yields"]]
    if not told:
        yield "no Returns"
    for name, kind, about in told:
        if not kind or kind.count("[") != kind.count("]"):
            yield f"answer has no type: {kind!r}"
        yield from _faults_of_words(name or "answer", about)


def _faults_of_errors(each: Documented, parsed: NumpyDocString) -> Iterator[str]:
    for _, kind, about in parsed["Raises"]:
        yield from _faults_of_words(kind, about)
    told = {name for _, kind, _ in parsed["Raises"] for name in re.split(", | or ", kind)}
    for name in sorted(_raised(each)):
        if not told & ({name} | _NAMED_AS.get(name, set())):
            yield f"not in Raises: {name}"


def _raised(each: Documented) -> set[str]:
    """The names of what its own code raises, be it by a check of an argument (`check_...`); of a
    class, what its constructor does."""
    functions = [each.function]
    if inspect.isclass(each.item):
        functions = [vars(each.item).get(name) for name in ("__init__", "__post_init__")]
    found = set()
    for function in functions:
        if inspect.isfunction(function) and function.__code__.co_filename != "<string>":
            tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
            for node in ast.walk(tree):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                    found.add(ast.unparse(node.exc.func))
                if isinstance(node, ast.Call) and re.match("check_", ast.unparse(node.func)):
                    found.add(_CHECKED)
    return found & {"InvalidValue", "InvalidType"} | {e for e in found if e.endswith("Error")}
