"""Figures 2 to 4: distances and LP ratios of hierarchical networks."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ...theory.hierarchical import Hypercube, TwoLevel
from ..item import Item, Options, Row
from ..panels import Limits
from . import SOURCE
from .two_levels import (
    LARGEST,
    AnyNetwork,
    by_size,
    graph_of,
    like,
    lines_and_dots,
    name_of,
    pair,
    true_traffic,
)

__all__ = ["FIG2", "FIG3", "FIG4"]


def _row(network: AnyNetwork, alpha: float) -> Row:
    """P and LP ratio, by the formulas and in the graph."""
    reference = like(network)
    product = network.links() * network.distance(alpha)
    true, of_reference = true_traffic(network), true_traffic(reference)
    exact = ratio = None
    if true is not None:
        exact = true.distance(alpha)
        if of_reference is not None:
            counted = len(graph_of(network).edges) * exact
            ratio = counted / (len(graph_of(reference).edges) * of_reference.distance(alpha))
    return {
        "network": name_of(network),
        "nodes": network.nodes,
        "alpha": alpha,
        "distance": network.distance(alpha),
        "true_distance": exact,
        "ratio": product / (reference.links() * reference.distance(alpha)),
        "true_ratio": ratio,
    }


def _by_alpha(joining: int, cycles: int, options: Options) -> Iterator[Row]:
    """Networks of one size, with this dimension of level 2, and that of its cycles."""
    networks: list[AnyNetwork] = [Hypercube(joining + 4, 4)]
    networks += [TwoLevel(top, 4, joining) for top in ("bh", "br", "cc")]
    networks.append(TwoLevel("ccc", 4, cycles))
    for network in networks:
        for step in range(0, 11, 5 if options.quick else 1):
            yield _row(network, step / 10)


def _figure(
    number: int,
    title: str,
    x: str,
    rows: Callable[[Options], Iterable[Row]],
    *notes: str,
    limits: Limits | None = None,
) -> Item:
    left = lines_and_dots(x, "distance", "true_distance", "mean distance P (links)", limits)
    right = lines_and_dots(x, "ratio", "true_ratio", "LP ratio to the hypercube BH", (0, 1.6))
    return Item(
        f"dandamudi-fig{number}",
        f"Distances and LP ratios of hierarchical networks {title}",
        f"{SOURCE}, section III-A",
        columns="network | nodes = N | alpha : .2f | distance = P, printed : .4f"
        " | true_distance = P, graph : .4f | ratio = LP ratio, printed : .4f"
        " | true_ratio = LP ratio, graph : .4f",
        rows=rows,
        draw=pair("lines: printed formulas; dots: the graphs", left, right),
        notes=(
            "Equation (14) is an approximation of distances in cube-connected cycles; all others "
            "agree with the graphs.",
            *notes,
        ),
        ignores=("cycles", "engine", "seed"),
    )


FIG2 = _figure(
    2,
    "of 128 nodes in clusters of 16",
    "alpha",
    partial(_by_alpha, 3, 2),
    "With D_c = 2 the cycles have two nodes, which the formulas join by two links; so does the "
    "graph here.",
)
FIG3 = _figure(3, "of 1,024 nodes in clusters of 16", "alpha", partial(_by_alpha, 6, 4))
FIG4 = _figure(
    4,
    "by size, at alpha 0.8",
    "nodes",
    lambda options: (_row(network, 0.8) for network in by_size(options)),
    f"Graphs are examined up to {LARGEST} nodes. Where N is no power of two, the reference of "
    "BH/CCC is the formula for a hypercube of N nodes.",
    limits=(0, 14),
)
