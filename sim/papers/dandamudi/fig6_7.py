"""Figures 6 and 7 of Dandamudi and Eager: delays and links, by formula.

Beside the formulas stands the same queueing model, an M/M/1 queue for each direction of each link,
with the loads that links of the graph really have. They differ with cube-connected cycles only,
where the formulas give all links the same load.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ....hdl.families.hierarchical.hierarchical_graph import Hierarchical
from ...theory.hierarchical import Hypercube, Rates, TwoLevel
from ..item import Item, Options, Row, finite
from . import SOURCE
from .two_levels import AnyNetwork, graph_of, like, lines_and_dots, name_of, pair, true_traffic

__all__ = ["FIG6", "FIG7"]

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


def _row(network: AnyNetwork, alpha: float, replication: int = 1) -> Row:
    """R and LR ratio; level-2 links are replicated, and so serve faster, but not the reference's.

    Values are None where a link is saturated, or the graph is too large.
    """
    reference, rates = like(network), _RATES
    own = Rates(rates.arrival, rates.cluster, rates.joining * replication)
    delay = network.delay(alpha, own)
    true = _true_delay(network, alpha, own)
    scale = network.links(replication) / reference.links()
    return {
        "network": name_of(network),
        "nodes": network.nodes,
        "alpha": alpha,
        "replication": replication,
        "delay": finite(delay),
        "true_delay": finite(true),
        "ratio": finite(scale * delay / reference.delay(alpha, rates)),
        "true_ratio": finite(scale * true / reference.delay(alpha, rates)),
    }


_RATES = Rates(1, 3, 3)


def _by_alpha(options: Options) -> Iterator[Row]:
    for network in (
        Hypercube(9, 3),
        TwoLevel("bh", 3, 6),
        TwoLevel("ccc", 3, 4),
        TwoLevel("cc", 3, 6),
    ):
        for alpha in _ALPHAS[::5] if options.quick else _ALPHAS:
            yield _row(network, alpha)


def _needed(network: TwoLevel, alpha: float) -> int:
    """The fewest parallel links at which those of level 2 are busy less than `_BUSY`."""
    return int(network.joining_load(alpha, _RATES) / (_BUSY * _RATES.joining)) + 1


def _by_size(options: Options) -> Iterator[Row]:
    alpha = 0.8
    most = 8 if options.quick else 15
    for d in range(5, most + 1):
        yield _row(Hypercube(d, 4), alpha)
    for d in range(5, most + 1):
        yield _row(TwoLevel("bh", 4, d - 4), alpha)
    for cycles in range(2, most - 6):
        network = TwoLevel("ccc", 4, cycles)
        yield _row(network, alpha, _needed(network, alpha))


def _figure(
    number: int, title: str, x: str, rows: Callable[[Options], Iterable[Row]], *notes: str
) -> Item:
    return Item(
        f"dandamudi-fig{number}",
        f"Delays and LR ratios of hierarchical networks {title}",
        f"{SOURCE}, section III-B",
        columns="network | nodes = N | alpha : .2f | replication = parallel links"
        " | delay = R, printed : .4f | true_delay = R, loads of the graph : .4f"
        " | ratio = LR ratio, printed : .4f"
        " | true_ratio = LR ratio, loads of the graph : .4f",
        rows=rows,
        draw=pair(
            "lines: printed formulas; dots: loads of the graphs",
            lines_and_dots(x, "delay", "true_delay", "mean delay R", (0, None)),
            lines_and_dots(x, "ratio", "true_ratio", "LR ratio to the hypercube BH", (0, None)),
        ),
        notes=("A dash: a link is saturated, or the graph has more than 1,024 nodes.", *notes),
        ignores=("cycles", "engine", "seed"),
    )


FIG6 = _figure(6, "of 512 nodes in clusters of 8", "alpha", _by_alpha)
FIG7 = _figure(
    7,
    "by size, at alpha 0.8",
    "nodes",
    _by_size,
    "BH/CCC has as many parallel links at level 2 as keep them less than 80 % busy; L counts "
    "them all.",
)
