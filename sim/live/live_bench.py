"""The bench of a page: a network whose links can be broken, and what the page knows of it."""

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...hdl.bench import Bench, bench_for
from ...hdl.bench.sources import BIAS_BITS, LOAD_BITS
from ...hdl.fabric.diagram import Diagram, Line
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.pins import Path, Pin
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ..run.run import Run
from ..workload.faults import gated
from .cells import fields

__all__ = ["LiveBench", "LiveFabric"]

BINS = 512
"""Bins of the latency histograms of a page."""

MOST_PATHS = 4096
"""Most paths that a page knows."""


class LiveFabric:
    """A fabric of a page: its drawing, and its links, each with a gate that the page can close.

    Parameters
    ----------
    fabric : Fabric
    picture : Diagram

    Attributes
    ----------
    fabric : Fabric
        With the gates.
    channels : list[Pin]
        The outputs that drive links, in the order of the diagram's lines.
    receivers : list[Pin]
        The inputs that they drive.
    entries : list[int]
        The channels by which packets of several flits enter a network.
    """

    entries: list[int] = []

    def __init__(self, fabric: Fabric, picture: Diagram) -> None:
        self.picture = picture
        self.lines: list[tuple[Line, list[int]]] = []
        self.channels: list[Pin] = []
        self.receivers: list[Pin] = []
        for line in picture.lines:
            pairs = [
                (self._driver(fabric, driver, receiver), receiver)
                for driver, receiver in zip(line.drivers, line.receivers)
                if line.kind == "link"
            ]
            pairs = [pair for pair in pairs if pair[0].cell is not None]
            first = len(self.channels)
            self.lines.append((line, list(range(first, first + len(pairs)))))
            self.channels += [driver for driver, _ in pairs]
            self.receivers += [receiver for _, receiver in pairs]
        self.fabric, self.gates = gated(fabric, self.channels)

    @staticmethod
    def _driver(fabric: Fabric, driver: Pin, receiver: Pin) -> Pin:
        """The output that drives a link: on a bench that of a source, if it is a terminal's."""
        if driver.cell is not None:
            return driver
        valid = fabric.drivers[Pin(receiver.cell, (*receiver.path, "valid"))]
        return Pin(valid.cell, valid.path[:-1])

    def handshake(self, output: Pin) -> tuple[Pin, Pin]:
        """The pins of valid and ready of a link, as its driver sees them."""
        return Pin(output.cell, (*output.path, "valid")), Pin(output.cell, (*output.path, "ready"))

    @cached_property
    def layouts(self) -> list[list[tuple[str, int, int]]]:
        """The layouts that links carry."""
        self.layout_of: list[int] = []
        found: list[list[tuple[str, int, int]]] = []
        known: dict[Any, int] = {}
        for output in self.channels:
            assert output.cell is not None  # the bench drives all
            type_ = self.fabric.cells[output.cell].type
            path: Path = (*output.path, "payload")
            key = type_, path
            if key not in known:
                layout = fields(type_.leaves[path].shape)
                if layout not in found:
                    found.append(layout)
                known[key] = found.index(layout)
            self.layout_of.append(known[key])
        return found

    @property
    def hops(self) -> list[int]:
        """Of each link: how many boxes a packet has passed before it; -1 if that is not known."""
        return [-1] * len(self.channels)

    def table(self) -> dict[str, Any]:
        """The links as the page sees them, as JSON."""
        return {
            "name": [str(output) for output in self.channels],
            "cell": [output.cell for output in self.channels],
            "receiver": [f"{pin.cell}.{_dotted(pin.path)}" for pin in self.receivers],
            "port": [_dotted(output.path) for output in self.channels],
            "layout": self.layout_of if self.layouts else [],
            "hop": self.hops,
            "gate": [self.gates.get(output) for output in self.channels],
        }

    def diagram(self) -> dict[str, Any]:
        """The drawing, as JSON: numbers are rounded, for a smaller page."""
        diagram = self.picture
        return {
            "unit": diagram.unit,
            "nodes": [
                {
                    "name": node.name,
                    "cells": node.cells,
                    "at": _rounded((node.x, node.y, node.width, node.height)),
                    "kind": node.kind,
                    "label": node.label,
                    "ports": {
                        f"{port.pin.cell}.{_dotted(port.pin.path)}": _rounded((port.x, port.y))
                        for port in node.ports
                    },
                }
                for node in diagram.nodes
            ],
            "lines": [
                {
                    "link": line.link,
                    "channels": numbers,
                    "source": [line.source.what, line.source.index],
                    "target": [line.target.what, line.target.index],
                    "points": [_rounded(point) for point in line.points],
                    "cut": line.cut,
                    "label": line.label,
                }
                for line, numbers in self.lines
            ],
            "terminals": [
                {
                    "number": terminal.number,
                    "at": _rounded((terminal.x, terminal.y)),
                    "label": terminal.label,
                    "side": terminal.side,
                    "sends": any(pin.path[0] == "i" for pin in terminal.pins),
                    "kind": terminal.kind,
                }
                for terminal in diagram.terminals
            ],
            "captions": [[text, *_rounded((x, y))] for text, x, y in diagram.captions],
        }


class LiveBench(LiveFabric):
    """A network on its bench.

    Parameters
    ----------
    network : Network
    run : Run
    """

    fabric: Bench

    def __init__(self, network: Network, run: Run) -> None:
        self.network = network
        bench = bench_for(network, run.sources(network), bins=BINS)
        super().__init__(bench, network.diagram)

    @cached_property
    def hops(self) -> list[int]:
        """Of each link: how many boxes a packet has passed before it; -1 if paths differ in that.

        In a network with memory, requests and replies are counted apart.
        """
        assert self.layouts
        kinds = self.layout_of if self.network.has_memory else [0] * len(self.channels)
        boxes = [node.kind == "box" for node in self.network.diagram.nodes]
        entering: dict[tuple[int, int], list[int]] = {}
        leaving: dict[tuple[int, int], list[int]] = {}
        starts = []
        for line, numbers in self.lines:
            for number in numbers:
                layout = kinds[number]
                if line.source.what == "node":
                    leaving.setdefault((line.source.index, layout), []).append(number)
                else:
                    starts.append(number)
                if line.target.what == "node":
                    entering.setdefault((line.target.index, layout), []).append(number)
        starts += [n for key, those in leaving.items() if key not in entering for n in those]
        target = {n: line.target for line, numbers in self.lines for n in numbers}
        hops = [-2] * len(self.channels)
        todo = deque((number, 0) for number in starts)
        while todo:
            number, hop = todo.popleft()
            if hops[number] in (hop, -1):
                continue
            hops[number] = hop if hops[number] == -2 else -1
            if target[number].what == "node":
                node = target[number].index
                after = leaving.get((node, kinds[number]), ())
                todo.extend((n, hop + boxes[node] if hops[number] >= 0 else -1) for n in after)
        return [max(hop, -1) for hop in hops]

    def tags(self) -> dict[str, Any] | None:
        """How a packet's tag is read: None if it is a plain address."""
        scheme = getattr(self.network, "tags", None)
        if scheme is None:
            return None
        return {
            "routing": scheme.routing,
            "rotates": self.network.wiring_plan is not None,
            "widths": scheme.tag_code.widths,
            "radices": scheme.tag_code.radices,
            "source_digits": scheme.source_digits,
            "destination_digits": scheme.destination_digits,
            "code": {"places": scheme.code.places, "widths": scheme.code.widths},
            "source_code": {
                "places": scheme.source_code.places,
                "widths": scheme.source_code.widths,
            },
        }

    def about(self) -> dict[str, Any]:
        """The bench as the page sees it, as JSON."""
        fabric = self.fabric
        return {
            "sources": fabric.sources,
            "sinks": fabric.sinks,
            "latencies": fabric.latencies,
            "bins": fabric.bins,
            "time": fabric.time,
            "load_bits": LOAD_BITS,
            "bias_bits": BIAS_BITS,
            "meters": {name: list(cells.values()) for name, cells in fabric.meters.items()},
            "channels": self.table(),
            "layouts": self.layouts,
            "addresses": [self.network.code.encode(n) for n in range(self.network.sinks)],
            "source_addresses": self._source_addresses(),
            "entries": self.entries,
            "paths": self._paths(),
        }

    @cached_property
    def entries(self) -> list[int]:  # type: ignore[override]
        """The channels by which packets of several flits enter the network, in the order of the
        sources; none if packets have one flit."""
        layouts = [[name for name, _, _ in layout] for layout in self.layouts]
        number = {output.cell: n for n, output in enumerate(self.channels)}
        entries = [number[cell] for cell in self.fabric.sources if cell in number]
        flits = all("last" in layouts[self.layout_of[n]] for n in entries)
        return entries if flits and len(entries) == len(self.fabric.sources) else []

    def _paths(self) -> list[list[list[int]]] | None:
        """The channels of each worm, by source and destination, if headers have no choice.

        None in networks of other packets, and in those with too many paths for a page.
        """
        network = self.network
        if not self.entries or network.sources * network.sinks > MOST_PATHS:
            return None
        assert isinstance(network, PacketNetwork)
        number = {output: n for n, output in enumerate(self.channels)}
        found = []
        for source, entry in enumerate(self.entries):
            own = []
            for destination in range(network.sinks):
                path = network.path(source, destination)
                choices = set(network.channels(source, destination))
                if choices != set(path) or not choices <= set(number):
                    return None
                own.append([entry, *(number[output] for output in path)])
            found.append(own)
        return found

    def _source_addresses(self) -> list[int]:
        """The code of each source, as its packets carry it; requests carry none."""
        if not isinstance(self.network, PacketNetwork):
            return []
        code = self.network.tags.source_code
        return [code.encode(number) for number in range(self.network.sources)]


def _rounded(numbers: Sequence[float]) -> list[float]:
    return [round(number, 4) for number in numbers]


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
