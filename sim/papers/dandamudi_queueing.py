"""Figures 6, 7, 10 and 11 of Dandamudi and Eager: delays, utilisations and links, by formula.

Beside the formulas stands the same queueing model, an M/M/1 queue for each direction of each link,
with the loads that links of the graph really have. They differ with cube-connected cycles only,
where the formulas give all links the same load.
"""

from collections.abc import Sequence
from functools import cache, partial
from math import isfinite
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.topology.cube_connected_cycles import CubeConnectedCycles
from ...hdl.topology.hierarchical import Hierarchical
from ..measure.path_loads import converging_loads
from ..theory.hierarchical import Hypercube, Rates, TwoLevel, utilisation
from .dandamudi_static import SOURCE, STYLES, graph_of, like, plot_lines, true_traffic
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS"]

_ALPHAS = [step / 20 for step in range(10, 21)]
_BUSY = 0.8
"""Most utilisation of level-2 links for which Fig. 7 replicates them."""


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _true_delay(network: Hypercube | TwoLevel, alpha: float, rates: Rates) -> float:
    """The delay with the loads that the links of the graph have; infinite if one is saturated."""
    traffic, graph = true_traffic(network), graph_of(network)
    if traffic is None:
        return float("nan")
    if isinstance(graph, Hierarchical):
        within = [graph.level(link) == 1 for link in traffic.links]
    else:
        within = [link.port < network.cluster for link in traffic.links]
    services = np.where(within, rates.cluster, rates.joining)
    return traffic.delay(alpha, rates.arrival, services)


def _delay_row(
    network: Hypercube | TwoLevel, alpha: float, rates: Rates, replication: int = 1
) -> dict[str, Any]:
    """R and LR ratio; level-2 links are replicated, and so serve faster, but not the reference's.

    Values are None where a link is saturated, or the graph is too large.
    """
    reference = like(network)
    own = Rates(rates.arrival, rates.cluster, rates.joining * replication)
    delay = network.delay(alpha, own)
    true = _true_delay(network, alpha, own)
    scale = network.links(replication) / reference.links()
    return {
        "network": "BH" if isinstance(network, Hypercube) else network.name,
        "nodes": network.nodes,
        "alpha": alpha,
        "replication": replication,
        "delay": _finite(delay),
        "true_delay": _finite(true),
        "ratio": _finite(scale * delay / reference.delay(alpha, rates)),
        "true_ratio": _finite(scale * true / reference.delay(alpha, rates)),
    }


_COLUMNS = (
    Column("network"),
    Column("nodes", "N"),
    Column("alpha", format=".2f"),
    Column("replication", "parallel links"),
    Column("delay", "R, printed", ".4f"),
    Column("true_delay", "R, loads of the graph", ".4f"),
    Column("ratio", "LR ratio, printed", ".4f"),
    Column("true_ratio", "LR ratio, loads of the graph", ".4f"),
)
_SATURATED = "A dash: a link is saturated, or the graph has more than 1,024 nodes."


def _fig6(options: Options) -> PaperResult:
    rates = Rates(1, 3, 3)
    networks = (
        Hypercube(9, 3),
        TwoLevel("bh", 3, 6),
        TwoLevel("ccc", 3, 4),
        TwoLevel("cc", 3, 6),
    )
    alphas = _ALPHAS[::5] if options.quick else _ALPHAS
    rows = [_delay_row(network, alpha, rates) for network in networks for alpha in alphas]
    return PaperResult(_COLUMNS, rows, partial(_draw_pair, rows, "alpha"), (_SATURATED,))


def _needed(network: TwoLevel, alpha: float, rates: Rates) -> int:
    """The fewest parallel links at which those of level 2 are busy less than `_BUSY`."""
    return int(network.joining_load(alpha, rates) / (_BUSY * rates.joining)) + 1


def _fig7(options: Options) -> PaperResult:
    rates, alpha = Rates(1, 3, 3), 0.8
    most = 8 if options.quick else 15
    rows = [_delay_row(Hypercube(d, 4), alpha, rates) for d in range(5, most + 1)]
    rows += [_delay_row(TwoLevel("bh", 4, d - 4), alpha, rates) for d in range(5, most + 1)]
    for cycles in range(2, most - 6):
        network = TwoLevel("ccc", 4, cycles)
        rows.append(_delay_row(network, alpha, rates, _needed(network, alpha, rates)))
    notes = (
        _SATURATED,
        "BH/CCC has as many parallel links at level 2 as keep them less than 80 % busy; L counts "
        "them all.",
    )
    return PaperResult(_COLUMNS, rows, partial(_draw_pair, rows, "nodes"), notes)


def _draw_pair(rows: Sequence[dict[str, Any]], x: str) -> Figure:
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_lines(left, rows, x, "delay", "true_delay")
    plot_lines(right, rows, x, "ratio", "true_ratio")
    label = "nodes N" if x == "nodes" else "probability alpha that a packet stays in its cluster"
    left.set(xlabel=label, ylabel="mean delay R", ylim=(0, None))
    right.set(xlabel=label, ylabel="LR ratio to the hypercube BH", ylim=(0, None))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize="small")
    figure.suptitle("lines: printed formulas; dots: loads of the graphs", fontsize="small")
    return figure


# Figures 10 and 11: 32,768 nodes.

_LARGE = (TwoLevel("bh", 4, 11), TwoLevel("ccc", 4, 8))


@cache
def _cycle_and_across(dimension: int) -> tuple[float, float]:
    """In cube-connected cycles, mean links of the cycles and across the cube on the shortest path
    between two different nodes. All nodes are alike, so paths to one node tell it."""
    graph = CubeConnectedCycles(dimension)
    loads = converging_loads(graph, 0)
    across = [graph.direction(link) == "across" for link in graph.links()]
    others = graph.nodes - 1
    return float(loads[~np.array(across)].sum() / others), float(loads[across].sum() / others)


def _joining_loads(network: TwoLevel, alpha: float, rates: Rates) -> dict[str, tuple[float, float]]:
    """For each kind of level-2 links of the graph, how many are on a path on average, and the load
    of each in each direction."""
    if network.top != "ccc":
        return {"": (network.joining_distance, network.joining_load(alpha, rates))}
    sent = (1 - alpha) * rates.arrival * network.nodes
    cycle, across = _cycle_and_across(network.dimension)
    k = network.clusters
    return {"cycle": (cycle, sent * cycle / (2 * k)), "across": (across, sent * across / k)}


def _true_large_delay(network: TwoLevel, alpha: float, rates: Rates) -> float:
    """The delay with the loads that the links of level 2 have."""
    without = Rates(rates.arrival, rates.cluster, float("inf"))
    total = network.delay(alpha, without)
    for links, load in _joining_loads(network, alpha, rates).values():
        total += (1 - alpha) * (
            links / (rates.joining - load) if load < rates.joining else float("inf")
        )
    return total


def _fig10(options: Options) -> PaperResult:
    alpha = 0.8
    rows: list[dict[str, Any]] = []
    for network, factor in zip(_LARGE, (1, 4)):
        rates = Rates(1, 3, 3 * factor)
        kinds = _joining_loads(network, alpha, rates)
        true = [utilisation(load, rates.joining) for _, load in kinds.values()]
        values = [(utilisation(network.joining_load(alpha, rates), rates.joining), true)]
        for j in range(1, network.cluster + 1):
            own = utilisation(network.cluster_load(j, alpha, rates), rates.cluster)
            values.append((own, [own]))
        for j, (printed, exact) in enumerate(values):
            rows.append(
                {
                    "network": network.name,
                    "j": j,
                    "predicted": printed,
                    "least": min(exact),
                    "most": max(exact),
                }
            )
    columns = (
        Column("network"),
        Column("j", "level j"),
        Column("predicted", "utilisation, printed", ".4f"),
        Column("least", "in the graph, least", ".4f"),
        Column("most", "most", ".4f"),
    )
    notes = (
        "j = 0: links of level 2, with mu_NCL = mu_CL in BH/BH and 4 mu_CL in BH/CCC. The formula "
        "has the same load for all links of cube-connected cycles; in the graph those of the "
        "cycles and those across the cube differ.",
    )

    def draw() -> Figure:
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        for shift, network in zip((-0.18, 0.18), _LARGE):
            own = [row for row in rows if row["network"] == network.name]
            places = np.array([row["j"] for row in own]) + shift
            heights = [row["predicted"] for row in own]
            colour = STYLES[network.name][:2]
            axes.bar(places, heights, 0.34, color=colour, alpha=0.7, label=network.name)
            for place, row in zip(places, own):
                if row["least"] != row["most"]:
                    axes.plot([place, place], [row["least"], row["most"]], "k_-", markersize=9)
        axes.set(xlabel="level j of a link (0: level 2)", ylabel="utilisation", ylim=(0, 1.02))
        axes.set_xticks(range(5))
        axes.legend(fontsize="small")
        axes.grid(axis="y", alpha=0.3)
        return figure

    return PaperResult(columns, rows, draw, notes)


def _fig11(options: Options) -> PaperResult:
    alpha, reference = 0.8, Hypercube(15, 4)
    base = reference.links() * reference.delay(alpha, Rates(1, 3, 3))
    rows: list[dict[str, Any]] = []
    best = {}
    for network in _LARGE:
        for factor in range(1, 7 if options.quick else 17):
            rates = Rates(1, 3, 3 * factor)
            links = network.links(factor)
            rows.append(
                {
                    "network": network.name,
                    "replication": factor,
                    "ratio": _finite(links * network.delay(alpha, rates) / base),
                    "true_ratio": _finite(links * _true_large_delay(network, alpha, rates) / base),
                }
            )
        for key in ("ratio", "true_ratio"):
            own = [row for row in rows if row["network"] == network.name and row[key] is not None]
            best[network.name, key] = min(own, key=lambda row: row[key])["replication"]
    columns = (
        Column("network"),
        Column("replication", "mu_NCL / mu_CL"),
        Column("ratio", "LR ratio, printed", ".4f"),
        Column("true_ratio", "LR ratio, loads of the graph", ".4f"),
    )
    notes = tuple(
        f"{network.name}: smallest with {best[network.name, 'ratio']} parallel links by the "
        f"formula, with {best[network.name, 'true_ratio']} by the loads of the graph."
        for network in _LARGE
    )

    def draw() -> Figure:
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        axes = figure.subplots()
        plot_lines(axes, rows, "replication", "ratio", "true_ratio", 1.0)
        axes.set(xlabel="parallel links, mu_NCL / mu_CL", ylabel="LR ratio to the hypercube BH")
        axes.set_title("lines: printed formulas; dots: loads of the graphs", fontsize="small")
        axes.legend(fontsize="small")
        return figure

    return PaperResult(columns, rows, draw, notes)


_DELAYS = f"{SOURCE}, section III-B"

ITEMS = (
    Item(
        "dandamudi-fig6",
        "Delays and LR ratios of hierarchical networks of 512 nodes in clusters of 8",
        _DELAYS,
        _fig6,
    ),
    Item(
        "dandamudi-fig7",
        "Delays and LR ratios of hierarchical networks by size, at alpha 0.8",
        _DELAYS,
        _fig7,
    ),
    Item(
        "dandamudi-fig10",
        "Utilisation of the links of BH/BH and BH/CCC of 32,768 nodes",
        f"{SOURCE}, section IV-A",
        _fig10,
    ),
    Item(
        "dandamudi-fig11",
        "LR ratios of BH/BH and BH/CCC of 32,768 nodes, by the number of parallel links",
        f"{SOURCE}, section IV-A",
        _fig11,
    ),
)
