"""The queueing model of Dandamudi and Eager on RTL.

Packet switching with a queue at each output, geometric lengths in the place of exponential service
times, and links that take some cycles for a flit. The faster links take one, if the others' rate
divides theirs.
"""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from ...hdl.networks.graph import GraphNetwork
from ...hdl.routers.selection import Selection
from ...hdl.topology.hierarchical import Hierarchical
from ..run.simulation import simulate
from ..theory.hierarchical import Hypercube, Rates, TwoLevel
from .dandamudi_static import graph_of
from .item import Options, mean_of

__all__ = ["Measurement", "clocked", "measured"]

_DEPTH = 512
"""Packets that fit into each queue: more than ever wait."""


class Measurement(NamedTuple):
    """A mean delay in the time of the paper, and half its 99 % confidence interval."""

    delay: float
    ci99: float | None


def _intervals(rates: Rates) -> tuple[int, int]:
    """Cycles that links within clusters, and between them, need for a flit."""
    ratio = Fraction(rates.joining / rates.cluster).limit_denominator(64)
    return ratio.numerator, ratio.denominator


def clocked(rates: Rates, length: int) -> Rates:
    """The same rates with a clock, for packets of this mean length."""
    return replace(rates, length=length, cycle=1 / (rates.cluster * _intervals(rates)[0] * length))


def measured(
    network: Hypercube | TwoLevel,
    alpha: float,
    rates: Rates,
    options: Options,
    *,
    selection: Selection = "random",
    length: int,
    time: int,
) -> Measurement:
    """The mean delay of a network on RTL.

    Parameters
    ----------
    network : Hypercube or TwoLevel
    alpha : float
        Probability that a packet stays in its cluster.
    rates : Rates
    options : Options
    selection : Selection
        How packets choose between shortest paths.
    length : int
        Mean flits of a packet.
    time : int
        The window in the paper's time, in which a node sends `rates.arrival` packets; the warm-up
        is a quarter of it.
    """
    graph = graph_of(network)
    if isinstance(graph, Hierarchical):
        graph = Hierarchical(graph.levels, intervals=_intervals(rates))
    design = GraphNetwork(
        graph=graph,
        routing="minimal",
        channels=1,
        allow_deadlock=1,
        switching="packet",
        selection=selection,
        depth=_DEPTH,
        length=f"geometric:{length}",
    )
    cycle = clocked(rates, length).cycle
    cycles = options.cycles or round(time / cycle)
    result = simulate(
        design,
        traffic=f"locality:{alpha}:{1 << network.cluster}",
        load=rates.arrival * cycle,
        cycles=cycles,
        warmup=cycles // 4,
        seed=options.seed,
        engine=options.engine,
        bins=2,
        progress=options.progress,
    )
    ci99 = result.latency.ci99
    # A packet is generated a cycle before it can be in a queue.
    return Measurement(
        (mean_of(result.latency) - 1) * cycle, None if ci99 is None else ci99 * cycle
    )
