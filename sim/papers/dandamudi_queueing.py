"""Figures 6 and 7 of Dandamudi and Eager: delays and links, by formula.

Beside the formulas stands the same queueing model, an M/M/1 queue for each direction of each link,
with the loads that links of the graph really have. They differ with cube-connected cycles only,
where the formulas give all links the same load.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.graphs.families.hierarchical import Hierarchical
from ..theory.hierarchical import Hypercube, Rates, TwoLevel
from .dandamudi_static import SOURCE, graph_of, like, plot_lines, true_traffic
from .item import Column, Item, Options, PaperResult, finite

__all__ = ["ITEMS"]

_ALPHAS = [step / 20 for step in range(10, 21)]
_BUSY = 0.8
"""Most utilisation of level-2 links for which Fig. 7 replicates them."""


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
        "delay": finite(delay),
        "true_delay": finite(true),
        "ratio": finite(scale * delay / reference.delay(alpha, rates)),
        "true_ratio": finite(scale * true / reference.delay(alpha, rates)),
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
)
