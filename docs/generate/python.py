"""The pages of the Python reference, for Sphinx's autodoc: one for each public object."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from .markdown import table

__all__ = ["python_pages"]

_FOLDER = "reference/python"

_INTRODUCTION = """\
# Python

Most programs need the names of `multicube` only. `multicube.hdl` has the networks as Amaranth
components, `multicube.sim` what runs and measures them, `multicube.boards` the FPGA boards.

An argument that is not as its description says raises `InvalidType` or `InvalidValue`. These are a
`TypeError` and a `ValueError`, and as all errors that a user can correct they are a
`MulticubeError`, whose text is one line."""


class _Group(NamedTuple):
    """Modules whose objects are listed on one page."""

    page: str
    title: str
    about: str
    modules: tuple[str, ...]


_GROUPS = (
    _Group("hdl", "multicube.hdl", "Networks, boxes, Verilog.", ("multicube.hdl",)),
    _Group("sim", "multicube.sim", "Runs, traffic, results.", ("multicube.sim",)),
    _Group(
        "multicube",
        "multicube",
        "What most programs need; the objects are those of `multicube.hdl` and `multicube.sim`.",
        ("multicube",),
    ),
    _Group(
        "descriptions",
        "Descriptions",
        "What a network of one's own is made of: plain Python, without hardware.",
        (
            "multicube.hdl.graphs.graph",
            "multicube.hdl.graphs.routing.relation",
            "multicube.hdl.graphs.conversion",
            "multicube.hdl.graphs.plans.multistage",
            "multicube.hdl.graphs.tags",
        ),
    ),
    _Group(
        "parts",
        "Parts",
        "What components of one's own are made of, and what results are drawn by.",
        (
            "multicube.hdl.fabric.fabric",
            "multicube.hdl.fabric.parameters",
            "multicube.hdl.fabric.errors",
            "multicube.hdl.links.packet",
            "multicube.hdl.primitives.routing_tags",
            "multicube.hdl.primitives.round_robin",
            "multicube.hdl.families.multistage.switching",
            "multicube.hdl.networks.routed",
            "multicube.sim.measure.graph_measures",
            "multicube.boards.bench_top",
            "multicube.boards.host",
            "multicube.boards.simulated",
        ),
    ),
)


def python_pages() -> Iterator[tuple[str, str]]:
    """Path and text of all pages: an object that several modules offer has one page."""
    places: dict[int, str] = {}
    lists = []
    for group in _GROUPS:
        rows, own = [], []
        # Files of names that differ in capitals only would be one file on some machines.
        names = {name for _, name in _names(group)}
        for module, name in _names(group):
            found = getattr(import_module(module), name)
            if id(found) not in places:
                file = f"{name}_" if inspect.isroutine(found) and name.title() in names else name
                places[id(found)] = f"{group.page}/{file}.md"
                own.append(f"{group.page}/{file}")
                yield f"{_FOLDER}/{group.page}/{file}.md", _object_page(module, name, found)
            rows.append((f"[`{name}`]({places[id(found)]})", _summary(found)))
        heading = f"# {group.title}\n\n{group.about}"
        rows.sort(key=lambda row: row[0].lower())
        yield (
            f"{_FOLDER}/{group.page}.md",
            f"{heading}\n\n{table(('name', 'what it is'), rows)}\n\n{_tree(own)}",
        )
        lists.append(
            f"- [{group.title}]({group.page}.md): {group.about[0].lower()}{group.about[1:]}"
        )
    pages = [group.page for group in _GROUPS]
    yield f"{_FOLDER}/index.md", "\n\n".join([_INTRODUCTION, "\n".join(lists), _tree(pages)])


def _names(group: _Group) -> Iterator[tuple[str, str]]:
    for module in group.modules:
        for name in import_module(module).__all__:
            yield module, name


def _summary(found: object) -> str:
    """The first line of a docstring; of a value, which has none, its type."""
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        return f"a value: {type(found).__name__}"
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")


def _object_page(module: str, name: str, found: object) -> str:
    if inspect.isclass(found):
        error = issubclass(found, BaseException)
        lines = [f".. auto{'exception' if error else 'class'}:: {module}.{name}"]
        lines += ["   :members:", "   :show-inheritance:"]
    elif inspect.isroutine(found):
        lines = [f".. autofunction:: {module}.{name}"]
    else:
        lines = [f".. py:data:: {module}.{name}", f"   :type: {type(found).__name__}"]
    body = "\n".join(lines)
    return f"# {name}\n\n```{{eval-rst}}\n{body}\n```\n"


def _tree(entries: list[str]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(entries) + "\n```\n" if entries else ""
