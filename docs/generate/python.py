"""The pages of the Python reference: one for each public function and class.

Public is what the stubs of the packages name. `PARTS` are modules of which a user makes networks,
boxes and pictures of their own.
"""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from multicube.hdl import FAMILIES
from sphinx.pycode import ModuleAnalyzer

from .markdown import hidden_tree

__all__ = ["PARTS", "PLACE", "python_pages", "rooms"]

PLACE = "reference/python"
"""The folder of the pages, in the site."""

_INTRODUCTION = """\
# Python

Most programs need the names of `multicube` only. `multicube.hdl` has the networks as Amaranth
components, `multicube.sim` what runs and measures them, `multicube.boards` the FPGA boards. Each
function and each class has a page, and the examples there are run by the tests. Below are also
those of which networks of one's own are made.

An argument that is not as its description says raises `InvalidType` or `InvalidValue`. These are a
`TypeError` and a `ValueError`, and as all errors that a user can correct they are a
`MulticubeError`, whose text is one line.
"""

_PACKAGES = ("multicube", "multicube.hdl", "multicube.sim", "multicube.sim.live")
_PACKAGES += ("multicube.sim.synthesis",)

PARTS = {
    "descriptions": (
        "What a network of one's own is made of: plain Python, without hardware.",
        (
            "multicube.hdl.graphs.graph",
            "multicube.hdl.graphs.listed_graph",
            "multicube.hdl.graphs.altered_graph",
            "multicube.hdl.graphs.routing.relation",
            "multicube.hdl.graphs.conversion",
            "multicube.hdl.graphs.plans.multistage",
            "multicube.hdl.graphs.plans.named_plans",
            "multicube.hdl.graphs.plans.stage_radices",
            "multicube.hdl.graphs.tags",
            "multicube.hdl.graphs.address_codes",
        ),
    ),
    "parts": (
        "What components of one's own are made of, and what results are drawn by.",
        (
            "multicube.hdl.fabric.cell",
            "multicube.hdl.fabric.fabric",
            "multicube.hdl.fabric.fabric_component",
            "multicube.hdl.fabric.pins:Path",
            "multicube.hdl.fabric.pins:Pin",
            "multicube.hdl.fabric.pins:Pins",
            "multicube.hdl.fabric.parameters",
            "multicube.hdl.fabric.parameter_fields",
            "multicube.hdl.fabric.errors",
            "multicube.hdl.links.packet",
            "multicube.hdl.primitives.routing_tags",
            "multicube.hdl.primitives.round_robin",
            "multicube.hdl.families.multistage.switching",
            "multicube.hdl.families.multistage.switching_mode",
            "multicube.hdl.networks.network",
            "multicube.hdl.networks.network_records",
            "multicube.hdl.networks.packet_network",
            "multicube.hdl.networks.any_routing",
            "multicube.hdl.networks.memory_network",
            "multicube.hdl.networks.routed",
            "multicube.sim.report.drawing",
            "multicube.sim.report.diagram_figure",
            "multicube.sim.report.look",
            "multicube.sim.measure.graph_measures",
            "multicube.boards.bench_top",
            "multicube.boards.host",
            "multicube.boards.simulated",
        ),
    ),
    "types": (
        "What functions and methods take and return, besides.",
        (
            "multicube.hdl.export.style:Style",
            "multicube.hdl.export.top_ports:Clock",
            "multicube.hdl.fabric.layout:Layout",
            "multicube.hdl.fabric.wires:Lane",
            "multicube.hdl.families.clos.rearrangeable_graph:RearrangeableGraph",
            "multicube.hdl.families.connection_machine.connection_machine_graph:Hypercube",
            "multicube.hdl.families.dcsh.dcsh_graph:DCSH",
            "multicube.hdl.families.multistage.extra_stage_network:Controls",
            "multicube.hdl.graphs.address_hash:AddressHash",
            "multicube.hdl.graphs.mask_rule:MaskRule",
            "multicube.hdl.graphs.partitions:Partition",
            "multicube.hdl.graphs.plans.extra_stage:Configuration",
            "multicube.hdl.graphs.plans.redundant_paths:RedundantPathPlan",
            "multicube.hdl.graphs.routing.group_tree:Kind",
            "multicube.hdl.links.memory_link:MemoryLink",
            "multicube.hdl.networks.family:Family",
            "multicube.hdl.networks.group_tables:Missing",
            "multicube.hdl.networks.stage_columns:Columns",
            "multicube.hdl.operations.folds:Fold",
            "multicube.hdl.operations.memory:Operation",
            "multicube.hdl.bench.packet_bench:SourcePlan",
            "multicube.hdl.bench.workload_bench:WorkloadPlan",
            "multicube.hdl.switch.route:RouteLogic",
            "multicube.hdl.switch.shape:RouterShape",
            "multicube.sim.computer.console:ConsoleLine",
            "multicube.sim.engines.compiled.compiled_errors",
            "multicube.sim.measure.activity:TypeActivity",
            "multicube.sim.measure.delay_bound:DelayBounds",
            "multicube.sim.measure.latency:Latency",
            "multicube.sim.measure.serial_order:Access",
            "multicube.sim.run.communication:StepRun",
            "multicube.sim.run.sweeps:LoadsLost",
            "multicube.sim.synthesis.cost:Part",
            "multicube.sim.synthesis.measurement:Route",
            "multicube.sim.theory.prediction:Prediction",
            "multicube.sim.workload.pattern:Pattern",
        ),
    ),
}
"""By the name of a page: what it says, and the modules whose names it lists, or one of each."""


class _Name(NamedTuple):
    """Something public: the module that users import it from, and the one that defines it."""

    module: str
    name: str
    home: str

    @property
    def item(self) -> Any:
        return getattr(import_module(self.module), self.name)

    @property
    def page(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def key(self) -> int | str:
        """What tells it apart from all that have other pages; numbers may be equal."""
        return self.page if self.kind == "data" else id(self.item)

    @property
    def kind(self) -> str:
        """The directive of autodoc."""
        if inspect.isclass(self.item):
            return "exception" if issubclass(self.item, Exception) else "class"
        return "function" if inspect.isfunction(self.item) else "data"

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, or of the text that follows a constant."""
        text = inspect.getdoc(self.item) or ""
        if self.kind == "data":
            found = ModuleAnalyzer.for_module(self.home).find_attr_docs()
            text = "\n".join(found.get(("", self.name), []))
        return " ".join(text.partition("\n\n")[0].split())

    def text(self) -> str:
        """Its page."""
        named = f"{self.home if self.kind == 'data' else self.module}.{self.name}"
        lines = [f".. auto{self.kind}:: {named}"]
        if self.kind == "data":
            lines.append("   :no-value:")
        if inspect.isclass(self.item):
            lines.append("   :members:")
            if any(base.__module__ != "builtins" for base in self.item.__bases__):
                lines.append("   :show-inheritance:")
            # A base beside it that has no page is described here, and no other one.
            room = self.item.__module__.rpartition(".")[0]
            bases = self.item.__mro__[1:]
            beside = [
                each
                for each in bases
                if each.__module__.rpartition(".")[0] == room and each.__name__ not in _sections()
            ]
            if beside:
                others = ", ".join(each.__name__ for each in bases if each not in beside)
                lines.append(f"   :inherited-members: {others}")
        return f"# {self.name}\n\n" + _rst("\n".join(lines)) + self._networks() + self._example()

    def _example(self) -> str:
        """For a class without an example, where one is; for networks, how one is built."""
        own = inspect.getdoc(self.item) or ""
        if self.kind != "class" or self.name not in _sections() or ">>>" in own:
            return ""
        for family in FAMILIES.values():
            if family.component is self.item and family.preset is None:
                values = "".join(f", {name}={value!r}" for name, value in family.example.items())
                shown = f'>>> build("{family.name}"{values})\n{family.build(**family.example)!r}'
                return f"\n```pycon\n>>> from multicube import build\n{shown}\n```\n"
        word = re.compile(rf"(?<![\w.]){self.name}(?!\w)")
        for title, says in _SEEN_IN.items():
            others = [
                f"{{py:obj}}`{name}`"
                for name, sections in _sections().items()
                if name != self.name and word.search(sections.get(title, ""))
            ]
            if others:
                return f"\n{says} {', '.join(others[:_MOST_SEEN_IN])}.\n"
        return ""

    def _networks(self) -> str:
        """The pages of the networks of a class."""
        above = "../" * len(PLACE.split("/"))
        pages = [
            f"[{name}]({above}networks/{name}.md)"
            for name, family in FAMILIES.items()
            if family.component is self.item
        ]
        return f"\nNetworks of this class: {', '.join(pages)}.\n" if pages else ""


_SEEN_IN = {
    "Examples": "An example is with",
    "Returns": "Returned by",
    "Attributes": "Part of",
    "Parameters": "Taken by",
}
"""What is said of a class that has no example by the section of another docstring that names it."""

_MOST_SEEN_IN = 3


@cache
def _sections() -> dict[str, dict[str, str]]:
    """The sections of the docstrings of the packages' names, and of the members of classes."""
    return {
        each.name: _by_title("\n\n".join(_docstrings(each.item)))
        for package in _PACKAGES
        for each in _of_package(package)
        if each.kind != "data"
    }


def _docstrings(item: Any) -> Iterator[str]:
    yield inspect.getdoc(item) or ""
    for name, member in vars(item).items() if inspect.isclass(item) else ():
        if name[0] != "_" and isinstance(member, FunctionType | property | cached_property):
            yield inspect.getdoc(member) or ""


def _by_title(text: str) -> dict[str, str]:
    _, *parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    found: dict[str, str] = {}
    for title, part in zip(parts[::2], parts[1::2]):
        found[title] = found.get(title, "") + part
    return found


def rooms() -> dict[str, tuple[str, list[_Name]]]:
    """What is said of each package, and of each of `PARTS`, and the names in it."""
    found = {
        package: (inspect.getdoc(import_module(package)) or "", _of_package(package))
        for package in _PACKAGES
    }
    return found | {
        room: (about, [each for module in modules for each in _of_module(module)])
        for room, (about, modules) in PARTS.items()
    }


def python_pages() -> Iterator[tuple[str, str]]:
    """The paths and the texts of all pages."""
    seen: dict[int | str, _Name] = {}
    lines = []
    for room, (about, names) in rooms().items():
        # A name that several packages have is described where it comes first.
        listed = [seen.setdefault(each.key, each) for each in names]
        own = sorted(each for each in listed if each in names)
        yield f"{PLACE}/{room}.md", f"# {room}\n\n{about}\n\n{_listed(listed)}\n{_tree(own)}\n"
        yield from ((f"{PLACE}/{each.page}.md", each.text()) for each in own)
        summary = " ".join(about.partition("\n\n")[0].split())
        lines.append(f"- [{room}]({room}.md): {summary}\n")
    yield f"{PLACE}/index.md", f"{_INTRODUCTION}\n{''.join(lines)}\n{hidden_tree(rooms())}\n"


def _of_package(package: str) -> list[_Name]:
    """The names of a package with a stub, which says where each is defined."""
    file = import_module(package).__file__
    found = []
    for node in ast.parse(Path(str(file)).with_suffix(".pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -(node.level - 1) or None]
            home = ".".join([*above, str(node.module)])
            found += [_Name(package, each.name, home) for each in node.names if each.asname]
        elif isinstance(node, ast.ClassDef):
            found.append(_Name(package, node.name, package))
    return [each for each in found if each.name != "__version__"]


def _of_module(module: str) -> list[_Name]:
    """The names of a module that are described, or the one that follows a colon."""
    module, _, name = module.partition(":")
    names = [name] if name else import_module(module).__all__
    return [each for each in (_Name(module, name, module) for name in names) if each.summary]


def _listed(names: Iterable[_Name]) -> str:
    """Functions, classes and constants, with their summaries."""
    kinds = {
        "function": "Functions",
        "class": "Classes",
        "exception": "Errors",
        "data": "Constants",
    }
    found: dict[str, list[str]] = {}
    for each in names:
        line = f"- [`{each.name}`]({each.page}.md): {each.summary}"
        found.setdefault(each.kind, []).append(line)
    parts = [
        f"## {title}\n\n" + "\n".join(found[kind]) + "\n"
        for kind, title in kinds.items()
        if kind in found
    ]
    return "\n".join(parts)


def _tree(names: Iterable[_Name]) -> str:
    return hidden_tree(each.page for each in names)


def _rst(text: str) -> str:
    return f"```{{eval-rst}}\n{text}\n```\n"
