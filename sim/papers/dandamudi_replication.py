"""Figures 10 and 11 of Dandamudi and Eager: parallel links of level 2, by formula and on RTL.

The paper's networks have 32,768 nodes. RTL has 1,024; figures have the formulas for all.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.graphs.families.cube_connected_cycles import CubeConnectedCycles
from ..measure.path_loads import converging_loads
from ..theory.hierarchical import Rates, TwoLevel, utilisation
from .dandamudi_rtl import Measurement, Point, measured
from .dandamudi_static import SOURCE, STYLES, like
from .item import Column, Item, Options, PaperResult, finite

__all__ = ["ITEMS"]

_ALPHA = 0.8
_PUBLISHED = (TwoLevel("bh", 4, 11), TwoLevel("ccc", 4, 8))
_SIMULATED = (TwoLevel("bh", 4, 6), TwoLevel("ccc", 4, 4))
_QUICK = (TwoLevel("bh", 2, 1),)

_LENGTH, _TIME = 16, 150
"""Mean flits of a packet, and the window in the paper's time."""


def _rates(factor: int) -> Rates:
    """Level-2 links with this number of parallel wires serve so much faster."""
    return Rates(1, 3, 3 * factor)


def _simulated(options: Options) -> Sequence[TwoLevel]:
    return _QUICK if options.quick else _SIMULATED


def _point(network: TwoLevel, factor: int) -> Point:
    return Point(network, _ALPHA, _rates(factor), _LENGTH, _TIME)


@cache
def _cycle_and_across(dimension: int) -> tuple[float, float]:
    """In cube-connected cycles, mean links of the cycles and across the cube on the shortest path
    between two different nodes. All nodes are alike, so paths to one node tell it."""
    graph = CubeConnectedCycles(dimension)
    loads = converging_loads(graph, 0)
    across = [graph.direction(link) == "across" for link in graph.links()]
    others = graph.nodes - 1
    return float(loads[~np.array(across)].sum() / others), float(loads[across].sum() / others)


def _joining_loads(network: TwoLevel, rates: Rates) -> dict[str, tuple[float, float]]:
    """For each kind of level-2 links of the graph, how many are on a path on average, and the load
    of each in each direction."""
    if network.top != "ccc":
        return {"": (network.joining_distance, network.joining_load(_ALPHA, rates))}
    sent = (1 - _ALPHA) * rates.arrival * network.nodes
    cycle, across = _cycle_and_across(network.dimension)
    k = network.clusters
    return {"cycle": (cycle, sent * cycle / (2 * k)), "across": (across, sent * across / k)}


def _true_delay(network: TwoLevel, rates: Rates) -> float:
    """The delay with the loads that the links of level 2 have."""
    without = Rates(rates.arrival, rates.cluster, float("inf"))
    total = network.delay(_ALPHA, without)
    for links, load in _joining_loads(network, rates).values():
        time = 1 / (rates.joining - load) if load < rates.joining else float("inf")
        total += (1 - _ALPHA) * links * time
    return total


def _utilisations(
    network: TwoLevel, factor: int, found: Measurement | None
) -> list[dict[str, Any]]:
    """A row for each kind of links."""
    rates = _rates(factor)
    printed = utilisation(network.joining_load(_ALPHA, rates), rates.joining)
    shares = {
        (0, kind): (printed, utilisation(load, rates.joining))
        for kind, (_, load) in _joining_loads(network, rates).items()
    }
    for j in range(1, network.cluster + 1):
        share = utilisation(network.cluster_load(j, _ALPHA, rates), rates.cluster)
        shares[j, ""] = share, share
    rows = []
    for (j, kind), (predicted, exact) in shares.items():
        use = None if found is None else found.uses[j, kind]
        rows.append(
            {
                "network": network.name,
                "nodes": network.nodes,
                "replication": factor,
                "j": j,
                "kind": kind,
                "predicted": predicted,
                "exact": exact,
                "measured": None if use is None else use.share,
                "ci99": None if use is None else use.ci99,
            }
        )
    return rows


def _of(rows: Sequence[dict[str, Any]], network: TwoLevel) -> list[dict[str, Any]]:
    """The rows of a network."""
    return [row for row in rows if (row["network"], row["nodes"]) == (network.name, network.nodes)]


def _sizes(networks: Sequence[TwoLevel]) -> str:
    return ", ".join(f"{network.name}: {network.nodes:,} nodes" for network in networks)


def _fig10(options: Options) -> PaperResult:
    factors = (1, 4)
    smaller = _simulated(options)
    points = [_point(network, factor) for network, factor in zip(smaller, factors)]
    rows: list[dict[str, Any]] = []
    for network, factor in zip(_PUBLISHED, factors):
        rows += _utilisations(network, factor, None)
    for network, factor, found in zip(smaller, factors, measured(points, options)):
        rows += _utilisations(network, factor, found)
    columns = (
        Column("network"),
        Column("nodes", "N", ","),
        Column("replication", "parallel links"),
        Column("j", "level j"),
        Column("kind", "links"),
        Column("predicted", "utilisation, printed", ".4f"),
        Column("exact", "loads of the graph", ".4f"),
        Column("measured", "RTL", ".4f"),
        Column("ci99", "± 99 %", ".4f"),
    )
    notes = (
        "j = 0: links of level 2, with mu_NCL = mu_CL in BH/BH and 4 mu_CL in BH/CCC. The formula "
        "has the same load for all links of cube-connected cycles; in the graph those of the "
        "cycles and those across the cube differ.",
        f"RTL: geometric lengths of {_LENGTH} flits on average, windows of {_TIME}, one seed. A "
        "link that is one of several parallel ones is as many times as fast.",
    )

    def draw() -> Figure:
        sizes = (_PUBLISHED, smaller)
        figure = Figure(figsize=(4.8 * len(sizes) + 0.6, 4.2), layout="constrained")
        for axes, group in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes):
            for shift, network in zip((-0.18, 0.18), group):
                name = network.name
                own = _of(rows, network)
                bars = {row["j"]: row["predicted"] for row in own}
                colour = STYLES[name][:2]
                places = [j + shift for j in bars]
                axes.bar(places, list(bars.values()), 0.34, color=colour, alpha=0.7, label=name)
                for row in own:
                    place = row["j"] + shift
                    axes.plot([place], [row["exact"]], "k_", markersize=9)
                    if row["measured"] is not None:
                        axes.errorbar(
                            [place], [row["measured"]], [row["ci99"]], fmt="k.", capsize=2
                        )
            axes.set(xlabel="level j of a link (0: level 2)", ylabel="utilisation", ylim=(0, 1.02))
            axes.set_title(_sizes(group), fontsize="small")
            axes.set_xticks(range(5))
            axes.legend(fontsize="small")
            axes.grid(axis="y", alpha=0.3)
        figure.suptitle("bars: printed; dashes: loads of the graphs; dots: RTL", fontsize="small")
        return figure

    return PaperResult(columns, rows, draw, notes)


_FACTORS = {"BH/BH": (1, 2, 3), "BH/CCC": (2, 3, 4, 5)}
"""Numbers of parallel links that are simulated: those about the best."""


def _ratios(network: TwoLevel, factor: int, found: Measurement | None) -> dict[str, Any]:
    """A row: the LR ratio by formula, by the loads of the graph, and on RTL. All have the formula
    for the reference."""
    other, rates = like(network), _rates(factor)
    base, scale = other.delay(_ALPHA, _rates(1)), network.links(factor) / other.links()
    row: dict[str, Any] = {
        "network": network.name,
        "nodes": network.nodes,
        "replication": factor,
        "delay": finite(network.delay(_ALPHA, rates)),
        "ratio": finite(scale * network.delay(_ALPHA, rates) / base),
        "true_ratio": finite(scale * _true_delay(network, rates) / base),
        "measured": None,
        "ci99": None,
        "measured_ratio": None,
        "ratio_ci99": None,
    }
    if found is not None:
        row |= {"measured": found.delay, "measured_ratio": scale * found.delay / base}
        if found.ci99 is not None:
            row |= {"ci99": found.ci99, "ratio_ci99": scale * found.ci99 / base}
    return row


def _fig11(options: Options) -> PaperResult:
    networks = _simulated(options)
    simulated = [(network, factor) for network in networks for factor in _FACTORS[network.name]]
    found = dict(zip(simulated, measured([_point(*each) for each in simulated], options)))
    rows = [
        _ratios(network, factor, found.get((network, factor)))
        for network in (*_PUBLISHED, *networks)
        for factor in range(1, 7 if options.quick else 17)
    ]
    columns = (
        Column("network"),
        Column("nodes", "N", ","),
        Column("replication", "mu_NCL / mu_CL"),
        Column("delay", "R, printed", ".4f"),
        Column("ratio", "LR ratio, printed", ".4f"),
        Column("true_ratio", "loads of the graph", ".4f"),
        Column("measured", "R, RTL", ".4f"),
        Column("ci99", "± 99 %", ".4f"),
        Column("measured_ratio", "LR ratio, RTL", ".4f"),
        Column("ratio_ci99", "± 99 %", ".4f"),
    )
    notes = [_best(rows, network) for network in (*_PUBLISHED, *networks)]
    notes.append(
        f"RTL: geometric lengths of {_LENGTH} flits on average, windows of {_TIME}, one seed; a "
        "link that stands for r parallel ones is r times as fast, as in the formula. The "
        "reference of all is the formula for the hypercube."
    )

    def draw() -> Figure:
        sizes = (_PUBLISHED, networks)
        figure = Figure(figsize=(4.8 * len(sizes) + 0.6, 4.4), layout="constrained")
        for axes, group in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes):
            for network in group:
                name = network.name
                own = _of(rows, network)
                for key, style in (("ratio", "-"), ("true_ratio", "--")):
                    shown = [row for row in own if row[key] is not None]
                    axes.plot(
                        [row["replication"] for row in shown],
                        [row[key] for row in shown],
                        STYLES[name][:2] + style,
                        label=name if style == "-" else None,
                    )
                points = [row for row in own if row["measured_ratio"] is not None]
                axes.errorbar(
                    [row["replication"] for row in points],
                    [row["measured_ratio"] for row in points],
                    [row["ratio_ci99"] or 0 for row in points],
                    fmt=f"{STYLES[name][:2]}o",
                    markersize=3,
                    capsize=2,
                )
            axes.set(xlabel="parallel links, mu_NCL / mu_CL", ylabel="LR ratio to the hypercube BH")
            axes.set_ylim(0, 1)
            axes.set_title(_sizes(group), fontsize="small")
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")
        figure.suptitle(
            "lines: printed formulas; dashes: loads of the graphs; dots: RTL", fontsize="small"
        )
        return figure

    return PaperResult(columns, rows, draw, tuple(notes))


def _best(rows: Sequence[dict[str, Any]], network: TwoLevel) -> str:
    """Which number of parallel links has the smallest LR ratio."""
    best = {}
    for key in ("ratio", "true_ratio", "measured_ratio"):
        own = [row for row in _of(rows, network) if row[key] is not None]
        if own:
            best[key] = min(own, key=lambda row: row[key])["replication"]
    text = (
        f"{network.name}, {network.nodes:,} nodes: smallest with {best['ratio']} parallel links "
        f"by the formula, with {best['true_ratio']} by the loads of the graph"
    )
    measured = best.get("measured_ratio")
    return f"{text}, with {measured} on RTL." if measured else f"{text}."


_REPLICATION = f"{SOURCE}, section IV-A"

ITEMS = (
    Item(
        "dandamudi-fig10",
        "Utilisation of the links of BH/BH and BH/CCC, by formula and on RTL",
        _REPLICATION,
        _fig10,
        parallel=True,
    ),
    Item(
        "dandamudi-fig11",
        "LR ratios of BH/BH and BH/CCC by the number of parallel links, by formula and on RTL",
        _REPLICATION,
        _fig11,
        parallel=True,
    ),
)
