"""Writes a live page: one file with the program, its memory, the drawing and the page's script."""

import base64
import html
import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ...hdl.fabric.checks import check_integer, check_kind, shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ...hdl.support.printable import printable
from ..engines.compiled.program import Group
from ..measure.confidence_intervals import CONFIDENCE, PARTS
from ..measure.saturation import BATCHES, TOLERANCE
from ..run.run import Run, pace
from ..run.run_steps import SINK_DELAY, patience
from ..theory.prediction import predict
from ..workload.class_traffic import network_traffic
from ..workload.pattern import Pattern
from .cells import described
from .html_page import HtmlPage
from .image import Entry, Image
from .lessons import lesson_titles, lessons_for, patterns_of
from .live_bench import LiveBench, LiveFabric
from .patterns import page_patterns

__all__ = ["LivePage", "Page", "filled"]

_SCRIPTS = ("numbers.js", "machine.js", "measure.js", "running_program.js", "worker.js")
"""What runs in the worker, in this order."""

_PAGE_SCRIPTS = (
    "numbers.js",
    "moment.js",
    "worms.js",
    "follow.js",
    "scene.js",
    "view.js",
    "drawing.js",
    "panels.js",
    "inspector.js",
    "remote.js",
    "laboratory.js",
    "lessons.js",
    "program.js",
    "collective.js",
    "theme.js",
    "controls.js",
    "page.js",
)


class Page(HtmlPage):
    """A page in which a fabric runs, as the compiled engine runs it.

    Attributes
    ----------
    bench : LiveFabric
    """

    bench: LiveFabric

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """All that the page knows, as JSON, but for the program and the contents of its memory.

        Returns
        -------
        dict[str, Any]
            Tables of the engine, the drawing, and what the page shows.

        Raises
        ------
        ValueError
            If a signal that a design names does not exist.
        """

    @cached_property
    def image(self) -> Image:
        """The program and its memory, as WebAssembly."""
        bench = self.bench
        links = [bench.handshake(output) for output in bench.channels]
        return Image(bench.fabric, links, [self._entry(number) for number in bench.entries])

    def _entry(self, number: int) -> Entry:
        bench = self.bench
        output = bench.channels[number]
        layout = bench.layouts[bench.layout_of[number]]
        width = max(at + bits for _, at, bits in layout)
        last = next(at for name, at, _ in layout if name == "last")
        return Entry(number, Pin(output.cell, (*output.path, "payload")), width, last)

    @cached_property
    def html(self) -> str:
        """The page, complete in itself."""
        parts = {
            "title": html.escape(self.title),
            "style": _source("page.css"),
            "about": _json_in_script(self.about()),
            "program": base64.b64encode(self.image.program()).decode(),
            "contents": base64.b64encode(self.image.contents()).decode(),
            "worker": _in_script("\n".join(map(_source, _SCRIPTS))),
            "script": _in_script("\n".join(map(_source, _PAGE_SCRIPTS))),
        }
        return filled("page.html", parts)


class LivePage(Page):
    """A page in which a network runs, as the compiled engine runs it.

    Parameters
    ----------
    network : Network
        The network that runs in the page.
    traffic : str or Pattern
        The destinations of packets, read by `pattern`; not a trace, and no traffic of a given
        number of packets.
    load : float
        Packets per terminal per cycle at first.
    seed : int
        Seed of the sources' random numbers.
    lesson : str, optional
        The lesson that it begins with: one of those for this network.

    Attributes
    ----------
    html : str
        The page, complete in itself.

    Raises
    ------
    NoCompiler
        If the package ziglang is not installed.
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from multicube import LivePage, build
    >>> LivePage(build("cube", ports=4), load=0.3).name
    'cube'
    """

    def __init__(
        self,
        network: Network,
        traffic: str | Pattern = "uniform",
        *,
        load: float = 0.3,
        seed: int = 1,
        lesson: str | None = None,
    ) -> None:
        check_kind("Network", network, Network, "a network")
        found = network_traffic(traffic, network)
        if found.when.quota:
            raise InvalidValue(
                f"Traffic of a live page must go on for ever, not end as {found.name}"
            )
        if found.flows is not None:
            raise InvalidValue(f"Traffic of a live page must have a load: {found.own_load}")
        found.check(network)
        seed = check_integer("Seed of a live page", seed, 0, 2**32 - 1)
        self.network = network
        self.title, self.name = str(network), str(network.family)
        self.run = Run(found, load, seed=seed, history=0)
        self.lessons = lessons_for(network)
        if lesson is not None and (not isinstance(lesson, str) or lesson not in self.lessons):
            raise InvalidValue(f"Lesson {shown(lesson)} is not for {network}")
        if found.parts_in(network):  # its sources have no other traffic, such as that of a lesson
            if lesson is not None:
                raise InvalidValue(f"Lesson {lesson} has traffic of its own, not {found.name}")
            self.lessons = {}
        self.lesson = lesson
        self.offered: Sequence[str] = patterns_of(self.lessons)

    @cached_property
    def bench(self) -> LiveBench:  # type: ignore[override]
        """The network between the terminals of the page."""
        return LiveBench(self.network, self.run)

    def offering(self, patterns: Sequence[str]) -> "LivePage":
        """A page like this one that offers these patterns, besides what all pages offer.

        Parameters
        ----------
        patterns : Sequence[str]
            The patterns, as `--traffic` takes them.

        Returns
        -------
        LivePage
            The page; this one stays as it is.
        """
        page = copy(self)
        page.offered = patterns
        page.__dict__.pop("html", None)  # it offers what this one does
        return page

    def about(self) -> dict[str, Any]:
        network, image = self.network, self.image
        loads = [round(load, 3) for load in np.arange(0.02, 1.0001, 0.02)]
        theory = [predict(network, load, uniform=True) for load in loads]
        names = [str(group.type.component.__name__) for group in image.engine_tables.groups]
        return {
            "title": str(network.family),
            "words": str(network),
            "sources": network.sources,
            "sinks": network.sinks,
            "memory": network.has_memory,
            "operations": [each.name for each in getattr(network, "operations", ())],
            "flits": network.mean_length(),
            "load": self.run.load,
            "seed": self.run.seed,
            "lesson": self.lesson,
            "lessons": self.lessons,
            "titles": lesson_titles(),
            "engine": image.about(),
            "kinds": [self._kind(group) for group in image.engine_tables.groups],
            "names": names,
            "bench": {"layouts": self.bench.layouts, **self.bench.about()},
            "diagram": self.bench.diagram(),
            "tags": self.bench.tags(),
            "measure": self._rules(),
            "patterns": page_patterns(network, self.run, self.offered),
            "theory": {
                "load": loads,
                "latency": [each["latency_mean"] for each in theory],
                "throughput": [each["throughput"] for each in theory],
            },
        }

    def _rules(self) -> dict[str, Any]:
        """How `multicube sim` measures this network, for runs of a page that give its numbers."""
        network = self.network
        return {
            "pace": pace(network),
            "patience": patience(network),
            "delay": SINK_DELAY,
            "parts": PARTS,
            "batches": BATCHES,
            "student": float(stdtrit(BATCHES - 1, 0.5 + CONFIDENCE / 2)),
            "tolerance": TOLERANCE,
            "known": (not network.drops or network.resubmits) and not network.broadcasts,
            "resubmits": bool(network.resubmits),
            "copies": bool(network.broadcasts),
        }

    def _kind(self, group: Group) -> dict[str, Any]:
        return described(group.type, group.module)


def filled(name: str, parts: Mapping[str, str]) -> str:
    """A source of the page with its parts, all at once: one may look like a place of another.

    A title may have the name of a file that is no UTF-8.
    """
    text = re.sub("<!--([a-z]+)-->", lambda place: parts[place[1]], _source(name))
    return printable(text)


def _source(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text("utf-8")


def _in_script(text: str) -> str:
    """A script of ours as it can stand in an element `script`, which ends at the first end tag."""
    return text.replace("</", "<\\/")


def _json_in_script(value: object) -> str:
    """JSON as it can stand in an element `script`: in it, "<!--" and "<script" have a meaning too,
    so it has no "<" at all."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
