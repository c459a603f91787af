"""The queueing model of Dandamudi and Eager on RTL.

Packet switching with a queue at each output, geometric lengths in the place of exponential service
times, and links that take some cycles for a flit. The faster links take one, if the others' rate
divides theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ....hdl.families.graph_network import GraphNetwork
from ....hdl.families.hierarchical.hierarchical_graph import Hierarchical
from ....hdl.graphs.graph import Graph, Link
from ....hdl.switch.selection import Selection
from ...measure.result import Result
from ...run.run import Run
from ...run.simulation import whole_runs
from ...run.workers import Job
from ...theory.hierarchical import Hypercube, Rates, TwoLevel
from ...workload.traffic import pattern
from ..item import Options, finished, mean_of
from .two_levels import graph_of

__all__ = ["Measurement", "Point", "Use", "clocked", "kind_of", "measured"]

_DEPTH = 512
"""Packets that fit into each queue: more than ever wait."""
_NORMAL = 2.576
"""Standard deviations in half a 99 % confidence interval."""


@dataclass(frozen=True)
class Point:
    """What is measured.

    Attributes
    ----------
    network : Hypercube or TwoLevel
    alpha : float
        Probability that a packet stays in its cluster.
    rates : Rates
    length : int
        Mean flits of a packet.
    time : int
        The window in the paper's time, in which a node sends `rates.arrival` packets; the warm-up
        is a quarter of it.
    selection : Selection
        How packets choose between shortest paths.
    """

    network: Hypercube | TwoLevel
    alpha: float
    rates: Rates
    length: int
    time: int
    selection: Selection = "random"


class Use(NamedTuple):
    """The mean share of time that links of one kind are in use, and half its 99 % confidence
    interval, from the differences between the links: the load of the whole run varies too."""

    share: float
    ci99: float


class Measurement(NamedTuple):
    """A mean delay in the time of the paper, half its 99 % confidence interval, and the use of
    links by their kind (`kind_of`)."""

    delay: float
    ci99: float | None
    uses: dict[tuple[int, str], Use]


def _intervals(rates: Rates) -> tuple[int, int]:
    """Cycles that links within clusters, and between them, need for a flit."""
    ratio = Fraction(rates.joining / rates.cluster).limit_denominator(64)
    return ratio.numerator, ratio.denominator


def clocked(network: Hypercube | TwoLevel, rates: Rates, length: int) -> Rates:
    """The same rates with a clock, for packets of this mean length.

    A queue within a cluster gets packets from the node itself, and from its other links.
    """
    cycle = 1 / (rates.cluster * _intervals(rates)[0] * length)
    links = network.cluster if isinstance(network, TwoLevel) else round(network.dimension)
    return replace(rates, length=length, cycle=cycle, streams=links)


def kind_of(graph: Graph, link: Link) -> tuple[int, str]:
    """The level j of a link, as in Fig. 10: within a cluster, the distance of its farther end from
    the interface node; 0 between clusters. And of cube-connected cycles "cycle" or "across"."""
    if isinstance(graph, Hierarchical) and graph.level(link) == 1:
        ends = (graph.members(end)[0].node for end in (link.node, link.peer))
        return max(end.bit_count() for end in ends), ""
    kinds = {"up": "cycle", "down": "cycle", "across": "across"}
    return 0, kinds.get(graph.direction(link).rpartition(" ")[2], "")


def measured(points: Sequence[Point], options: Options) -> list[Measurement | None]:
    """Mean delays on RTL, with a process for each core of this machine.

    Points that differ in alpha only share an engine. None stands for points whose process was
    killed, and `options.unmeasured` says how many there are.
    """
    grouped: dict[Point, list[int]] = {}
    for number, point in enumerate(points):
        grouped.setdefault(replace(point, alpha=0), []).append(number)
    # The longest first.
    groups = sorted(grouped.values(), key=lambda group: -sum(_cost(points[i]) for i in group))
    found: list[Measurement | None] = [None] * len(points)
    jobs: list[Job] = [(_together, ([points[i] for i in group], options), {}) for group in groups]
    hidden = None if options.progress else True
    with tqdm(total=len(points), unit="points", disable=hidden, leave=False) as bar:
        for job, results in finished(jobs, options):
            for number, result in zip(groups[job], results):
                found[number] = result
            bar.update(len(results))
    if lost := found.count(None):
        options.unmeasured.append(f"{lost} of {len(points)} points on RTL")
    return found


def _cost(point: Point) -> float:
    """Cycles of all nodes."""
    return (
        point.network.nodes * point.time / clocked(point.network, point.rates, point.length).cycle
    )


def _together(points: Sequence[Point], options: Options) -> list[Measurement]:
    """Points that differ in alpha only, side by side on one engine."""
    first = points[0]
    graph = graph_of(first.network)
    intervals = _intervals(first.rates)
    if isinstance(graph, Hierarchical):
        graph = Hierarchical(graph.levels, intervals=intervals)
    design = GraphNetwork(
        graph=graph,
        routing="minimal",
        channels=1,
        allow_deadlock=1,
        switch="packet",
        selection=first.selection,
        depth=_DEPTH,
        length=f"geometric:{first.length}",
    )
    cycle = clocked(first.network, first.rates, first.length).cycle
    cycles = options.cycles or round(first.time / cycle)
    runs = [
        Run(
            pattern(f"locality:{point.alpha}:{1 << point.network.cluster}", design.ports),
            first.rates.arrival * cycle,
            cycles=cycles,
            warmup=cycles // 4,
            seed=options.seed,
        )
        for point in points
    ]
    results = whole_runs(design, runs, engine=options.engine, bins=2, threads=1)
    return [_measurement(graph, result, first, cycle) for result in results]


def _measurement(graph: Graph, result: Result, point: Point, cycle: float) -> Measurement:
    by_kind: dict[tuple[int, str], list[float]] = {}
    for link in graph.links():
        ends = f"node {graph.name(link.node)} -> node {graph.name(link.peer)}"
        packets = result.links[f"{ends}, {graph.direction(link)}"]
        by_kind.setdefault(kind_of(graph, link), []).append(packets * link.interval * point.length)
    uses = {
        kind: Use(float(np.mean(own)), _NORMAL * float(np.std(own)) / sqrt(len(own)))
        for kind, own in by_kind.items()
    }
    ci99 = result.latency.ci99
    # A packet is generated a cycle before it can be in a queue.
    delay = (mean_of(result.latency) - 1) * cycle
    return Measurement(delay, None if ci99 is None else ci99 * cycle, uses)
