"""Live pages of any fabric: a design of one's own cells, with the signals that it names."""

import os
import runpy
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from amaranth.lib.wiring import In

from ...hdl.fabric.checks import check_kind
from ...hdl.fabric.diagram import Diagram
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.layout import Layout, arranged
from ...hdl.fabric.pins import Pin
from ...hdl.fabric.wires import Lane, named_wires, streams
from ...hdl.networks.graph_layout import fabric_layout
from ...hdl.support.input_file import read_content
from ..engines.compiled.words import word_count
from .cells import described
from .live_bench import LiveFabric
from .page import Page

__all__ = ["Design", "DesignPage", "own_design"]


@dataclass(frozen=True)
class Design:
    """A fabric, and how a page shows it.

    Attributes
    ----------
    fabric : Fabric
        Cells of any kind that the compiled engine accepts, and the links between them.
    title : str
        The title of the page.
    layout : Layout, optional
        Where its cells are; by default linked cells are close.
    signals : Sequence[tuple[str, str]]
        What the page shows in each cycle: a cell, and the hierarchical name of a signal in it, as
        `Engine.signal` takes it.
    wires : bool
        Whether wires without a handshake are drawn, too.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim.live import Design
    >>> design = Design(build("cube", ports=2).fabric, title="a box")
    >>> len(design.diagram.nodes)
    1
    """

    fabric: Fabric
    title: str = "design"
    layout: Layout | None = None
    signals: Sequence[tuple[str, str]] = ()
    wires: bool = True

    @cached_property
    def diagram(self) -> Diagram:
        """The picture of its cells and of the links between them."""
        fabric = self.fabric
        inside = [pair for pair in streams(fabric).each() if pair[0].cell and pair[1].cell]
        wires = named_wires(fabric, inside, lambda pin: Lane())
        found = arranged(self.title, fabric, self.layout or fabric_layout(fabric), wires)
        if self.wires:
            return found
        return replace(found, lines=tuple(line for line in found.lines if line.kind == "link"))


class DesignPage(Page):
    """A page in which any fabric runs.

    Its inputs can be set, and it shows its outputs, the signals that the design names, the queues
    and arbiters in its cells, and what its links carry.

    Parameters
    ----------
    design : Design or Fabric
        What runs in the page.

    Raises
    ------
    NoCompiler
        If the package ziglang is not installed.
    TypeError, ValueError
        If it is no design, or names a cell or signal that it has not.
    UnsupportedConstruct, CombinationalLoop
        If the compiled engine can't simulate a cell of the fabric, or a signal depends on itself.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim.live import DesignPage
    >>> DesignPage(build("cube", ports=2).fabric).title
    'design'
    """

    def __init__(self, design: Design | Fabric) -> None:
        if isinstance(design, Fabric):
            design = Design(design)
        check_kind("Design", design, Design, "a design or a fabric")
        design.fabric.check()
        self.design = design
        self.title = self.name = design.title
        self.lessons = {}
        for cell, _ in design.signals:
            design.fabric.check_cell(cell)
        self.bench = LiveFabric(design.fabric, design.diagram)

    def about(self) -> dict[str, Any]:
        image, groups = self.image, self.image.engine_tables.groups
        names: list[list[str]] = [[] for _ in groups]
        for cell, name in self.design.signals:
            own = image.group_of(cell)
            if name not in groups[own].module.signal_names:
                raise InvalidValue(f"Cell {cell} has no signal {name!r}")
            names[own].append(name)
        boundary = self.bench.fabric.boundary
        return {
            "title": self.title,
            "words": self.title,
            "design": True,
            "sources": 0,
            "sinks": 0,
            "memory": False,
            "operations": [],
            "load": 0,
            "seed": 0,
            "lesson": None,
            "lessons": {},
            "titles": {},
            "engine": image.about(),
            "kinds": [
                described(group.type, group.module, own) for group, own in zip(groups, names)
            ],
            "bench": {
                "layouts": self.bench.layouts,
                "channels": self.bench.table(),
                "sources": [],
                "sinks": [],
                "meters": {},
                "addresses": [],
                "source_addresses": [],
                "entries": [],
                "paths": None,
            },
            "diagram": self.bench.diagram(),
            "tags": None,
            "patterns": [{"name": "none", "rates": [], "paced": False, "hurry": 1, "straps": {}}],
            "theory": {"load": [], "latency": [], "throughput": []},
            "signals": [list(each) for each in self.design.signals],
            "inputs": {
                ".".join(map(str, path)): leaf.width
                for path, leaf in boundary.items()
                if leaf.flow == In
            },
            "outputs": {
                ".".join(map(str, path)): {
                    "wires": [
                        image.wire(Pin(None, path), n) for n in range(word_count(leaf.width))
                    ],
                    "width": leaf.width,
                }
                for path, leaf in boundary.items()
                if leaf.flow != In
            },
        }


def own_design(words: str) -> Any:
    """What a name in a file of Python stands for: "FILE.py:NAME".

    If it is a function, it is called without arguments. The file may import others beside it; what
    it prints goes to standard error.

    Raises
    ------
    ValueError
        If the file has no such name, or does not run.
    """
    file, _, name = words.rpartition(":")
    read_content("File", file)
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        with redirect_stdout(sys.stderr):
            found = runpy.run_path(file)
            made = found.get(name)
            made = made() if callable(made) else made
    except (Exception, SystemExit) as error:
        raise InvalidValue(f"File {file}: {type(error).__name__}: {error}") from error
    if name not in found:
        raise InvalidValue(f"File {file} defines no {name!r}")
    return made
