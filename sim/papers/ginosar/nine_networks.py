"""The nine networks of Ginosar and Egozi, measured, beside the formulas of their tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ....hdl.families.chordal_ring_graph import ChordalRing
from ....hdl.families.complete_graph import Complete
from ....hdl.families.hypercube.hypercube_graph import RoutedHypercube
from ....hdl.families.perfect_shuffle_graph import ShuffleNearestNeighbor
from ....hdl.families.star_graph import Star
from ....hdl.families.torus.torus_graph import Torus
from ....hdl.families.tree_graph import Tree
from ....hdl.graphs.graph import Graph
from ...measure.graph_measures import CommunicationMeasures, communication_measures
from ...theory.static_comparison import compared
from ...theory.static_families import static_network
from ...theory.static_formulas import MEASURES, Formula, Size, StaticNetwork
from ..item import Options, Row
from ..panels import plain_numbers

__all__ = [
    "BOUNDS",
    "NINE",
    "TABLE_COLUMNS",
    "Measured",
    "comparison_rows",
    "draw_measures",
    "measured",
    "nine",
    "nine_graphs",
    "three",
    "why",
]

_LIMIT = 30.0
"""Seconds of processor time for the search of F, and of e, in each network."""
_QUICK_LIMIT = 2.0


@dataclass(frozen=True)
class Measured:
    """A network of the paper of one size, with formulas and what was found.

    Attributes
    ----------
    family : str
        Its name in the catalogue.
    network : StaticNetwork
    size : Size
    found : CommunicationMeasures
    graph : Graph
    """

    family: str
    network: StaticNetwork
    size: Size
    found: CommunicationMeasures
    graph: Graph


def measured(family: str, graph: Graph, options: Options) -> Measured:
    """Measure a network, given by its name in the catalogue and its description.

    Each is measured once in a process.
    """
    return _measured(family, graph, options.seed, _QUICK_LIMIT if options.quick else _LIMIT)


@cache
def _measured(family: str, graph: Graph, seed: int, limit: float) -> Measured:
    known = static_network(family, graph)
    assert known is not None, family
    return Measured(family, *known, communication_measures(graph, limit=limit, seed=seed), graph)


def three(n: int) -> dict[str, tuple[str, Graph]]:
    """The networks of Table II with 2^n nodes: names in the catalogue, and descriptions."""
    return {
        "Hypercube": ("hypercube", RoutedHypercube(n)),
        "PSNN": ("psnn", ShuffleNearestNeighbor(n)),
        "Tree": ("tree", Tree(1 << n)),
    }


NINE = ("CCN", "NN_1", "NN_2", "NN_n", "Star", "Tree", "Chordal ring", "Hypercube", "PSNN")
"""The rows of Tables I and A."""


def nine(dimensions: int, options: Options) -> Iterator[Measured]:
    """The networks of Tables I and A with 4^dimensions nodes, measured."""
    for family, graph in nine_graphs(dimensions):
        yield measured(family, graph, options)


def nine_graphs(dimensions: int) -> tuple[tuple[str, Graph], ...]:
    """The networks of Tables I and A with 4^dimensions nodes, k = 4 in NN_n; the tree has one node
    less, so that all its levels are full. Names in the catalogue, and descriptions."""
    nodes = 4**dimensions
    return (
        ("complete", Complete(nodes)),
        ("torus", Torus(nodes, 1)),
        ("torus", Torus(2**dimensions, 2)),
        ("torus", Torus(4, dimensions)),
        ("star", Star(nodes)),
        ("tree", Tree(nodes - 1)),
        ("chordal-ring", ChordalRing(nodes)),
        ("hypercube", RoutedHypercube(2 * dimensions)),
        ("psnn", ShuffleNearestNeighbor(2 * dimensions)),
    )


def comparison_rows(
    each: Measured, formulas: Mapping[str, Formula] | None = None, title: str | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a network in such a table, by default with the formulas of Table A."""
    found = each.found
    bounds = {
        "F": found.fan_out.time,
        "D": found.disconnectivity,
        "L": found.looseness,
        "LC": found.cost_effectiveness,
    }
    for row in compared(each.network, each.size, found.ranges(), formulas):
        own = bounds.get(row.measure)
        methods = (
            ""
            if own is None or own.exact is not None
            else (f"{own.lower_method} / {own.upper_method}")
        )
        yield {
            "network": title or each.network.name,
            "nodes": each.size.nodes,
            "measure": row.measure,
            "formula": row.printed,
            "published": row.value,
            "predicted": row.corrected,
            "computed": _shown(row.lower, row.upper),
            "deviation": row.deviation,
            "lower": row.lower,
            "upper": row.upper,
            "methods": methods,
        }


def _shown(lower: float | None, upper: float | None) -> str | None:
    if lower is None or upper is None:
        return None
    return f"{lower:.5g}" if lower == upper else f"{lower:.5g} to {upper:.5g}"


def why(networks: Mapping[str, Mapping[str, Formula]], rows: Sequence[Row]) -> Iterator[str]:
    """For each formula that deviates in some row, what is wrong with it."""
    for name, formulas in networks.items():
        for measure, formula in formulas.items():
            off = any(
                row["deviation"]
                for row in rows
                if (row["network"], row["measure"]) == (name, measure)
            )
            if formula.why and off:
                yield f"{name}, {measure}: {formula.why}."


TABLE_COLUMNS = (
    "network | nodes = N | measure | formula = printed | published = its value : .5g"
    " | predicted = corrected : .5g | computed | deviation : +.1% | methods"
)
"""Columns of a table of formulas beside computed values; `deviation` is of the printed value, and
`methods` those of both bounds, where a value is not exact."""

BOUNDS = (
    "Computed: from the graph alone; where two numbers stand, they are a lower bound and an upper "
    "bound, found within a limit of processor time, and methods says what proves each. Deviation: "
    "of the printed value; from the nearer bound, and none if it lies between both."
)


def draw_measures(rows: Sequence[Row]) -> Figure:
    """For each measure, the printed value over the computed one."""
    measures = [name for name in MEASURES if any(row["measure"] == name for row in rows)]
    figure = Figure(figsize=(3.4 * 3, 6.6), layout="constrained")
    grid = figure.subplots(2, 3, squeeze=False)
    names = list(dict.fromkeys(row["network"] for row in rows))
    for axes, measure in zip(grid.flat, measures):
        for row in rows:
            if row["measure"] != measure or row["published"] is None or row["lower"] is None:
                continue
            x = [names.index(row["network"])] * 2
            axes.plot(x, [row["published"] / row[b] for b in ("upper", "lower")], "-oC0", ms=4)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(title=measure, yscale="log", xlim=(-0.5, len(names) - 0.5))
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        plain_numbers(axes.yaxis)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.45), max(high, 2.2))
        axes.grid(alpha=0.3)
    for axes in grid[:, 0]:
        axes.set_ylabel("printed / computed")
    return figure
