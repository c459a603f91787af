"""Figures 2 to 5 and tables I and II of Dandamudi and Eager: links and distances.

The printed formulas stand beside values of the graphs: links are counted, and distances are found
by breadth-first search.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import sqrt
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hdl.graphs.families.complete import Complete
from ...hdl.graphs.families.cube_connected_cycles import CubeConnectedCycles
from ...hdl.graphs.families.hierarchical import Hierarchical
from ...hdl.graphs.families.routed_hypercube import RoutedHypercube
from ...hdl.graphs.families.torus import Torus
from ...hdl.graphs.graph import Graph
from ...hdl.graphs.routing.minimal import Minimal
from ...hdl.graphs.routing.relation import Relation
from ..measure.graph_measures import graph_measures
from ..measure.path_loads import LocalTraffic
from ..theory.hierarchical import Hypercube, TwoLevel
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "SOURCE", "STYLES", "graph_of", "level2", "like", "true_traffic"]

SOURCE = "Dandamudi and Eager 1990"
STYLES = {"BH": "k-", "BH/BH": "C0-", "BH/BR": "C1-", "BH/CC": "C2-", "BH/CCC": "C3-"}
"""Line styles of the networks."""

_LARGEST = 1024
"""Most nodes of a graph that is examined as a whole."""


def level2(network: TwoLevel) -> Relation:
    """The graph of level 2, with all shortest paths."""
    if network.top == "bh":
        return RoutedHypercube(network.dimension)
    if network.top == "br":
        return Torus(network.clusters, 1)
    if network.top == "cc":
        return Complete(network.clusters)
    return Minimal(CubeConnectedCycles(network.dimension))


@cache
def graph_of(network: Hypercube | TwoLevel) -> Graph:
    """The graph of a network."""
    if isinstance(network, Hypercube):
        return RoutedHypercube(int(network.dimension))
    return Hierarchical([RoutedHypercube(network.cluster), level2(network)])


@cache
def true_traffic(network: Hypercube | TwoLevel) -> LocalTraffic | None:
    """What local traffic finds in the graph; None if it is too large, or there is none."""
    if network.nodes > _LARGEST or (isinstance(network, Hypercube) and network.dimension % 1):
        return None
    return LocalTraffic(graph_of(network), 1 << network.cluster)


def like(network: TwoLevel | Hypercube) -> Hypercube:
    """The hypercube that a network is compared with."""
    return network if isinstance(network, Hypercube) else Hypercube.like(network)


def _row(name: str, network: Hypercube | TwoLevel, alpha: float) -> dict[str, Any]:
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
        "network": name,
        "nodes": network.nodes,
        "alpha": alpha,
        "distance": network.distance(alpha),
        "true_distance": exact,
        "ratio": product / (reference.links() * reference.distance(alpha)),
        "true_ratio": ratio,
    }


_COLUMNS = (
    Column("network"),
    Column("nodes", "N"),
    Column("alpha", format=".2f"),
    Column("distance", "P, printed", ".4f"),
    Column("true_distance", "P, graph", ".4f"),
    Column("ratio", "LP ratio, printed", ".4f"),
    Column("true_ratio", "LP ratio, graph", ".4f"),
)
_APPROXIMATE = (
    "Equation (14) is an approximation of distances in cube-connected cycles; all others agree "
    "with the graphs."
)


def _by_alpha(options: Options, *, joining: int, cycles: int) -> PaperResult:
    networks: dict[str, Hypercube | TwoLevel] = {"BH": Hypercube(joining + 4, 4)}
    for top, dimension in (("bh", joining), ("br", joining), ("cc", joining), ("ccc", cycles)):
        network = TwoLevel(top, 4, dimension)
        networks[network.name] = network
    steps = range(0, 11, 5 if options.quick else 1)
    rows = [_row(name, network, step / 10) for name, network in networks.items() for step in steps]
    return PaperResult(
        _COLUMNS,
        rows,
        partial(_draw_pair, rows, "alpha"),
        (_APPROXIMATE, _PARALLEL)[: 2 if cycles == 2 else 1],
    )


_PARALLEL = (
    "With D_c = 2 the cycles have two nodes, which the formulas join by two links; so does the "
    "graph here."
)


def _by_size(options: Options) -> PaperResult:
    rows = []
    most = 8 if options.quick else 15
    for top in ("", "bh", "br", "cc", "ccc"):
        for dimension in range(2 if top == "ccc" else 1, most - 3):
            if top:
                network: Hypercube | TwoLevel = TwoLevel(top, 4, dimension)
            else:
                network = Hypercube(dimension + 4, 4)
            if network.nodes <= 1 << most:
                name = "BH" if isinstance(network, Hypercube) else network.name
                rows.append(_row(name, network, 0.8))
    notes = (
        _APPROXIMATE,
        f"Graphs are examined up to {_LARGEST} nodes. Where N is no power of two, the reference of "
        "BH/CCC is the formula for a hypercube of N nodes.",
    )
    return PaperResult(_COLUMNS, rows, partial(_draw_pair, rows, "nodes"), notes)


def _links(options: Options) -> PaperResult:
    rows = []
    most = 8 if options.quick else 15
    for top in ("", "bh", "br", "cc", "ccc"):
        for dimension in range(2 if top == "ccc" else 1, most - 3):
            network = TwoLevel(top, 4, dimension) if top else Hypercube(dimension + 4, 4)
            if network.nodes > 1 << most:
                continue
            small = network.nodes <= _LARGEST
            rows.append(
                {
                    "network": "BH" if isinstance(network, Hypercube) else network.name,
                    "nodes": network.nodes,
                    "links": network.links(),
                    "counted": len(graph_of(network).edges) if small else None,
                }
            )
    columns = (
        Column("network"),
        Column("nodes", "N"),
        Column("links", "L, printed", ".0f"),
        Column("counted", "L, graph"),
    )

    def draw() -> Figure:
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        axes = figure.subplots()
        plot_lines(axes, rows, "nodes", "links", "")
        axes.set(xlabel="nodes N", ylabel="links L", yscale="log")
        axes.legend(fontsize="small")
        return figure

    return PaperResult(columns, rows, draw)


def plot_lines(
    axes: Axes,
    rows: Sequence[dict[str, Any]],
    x: str,
    y: str,
    exact: str,
    most: float | None = None,
) -> None:
    """A line for each network, and dots for the values of the graphs."""
    for name in dict.fromkeys(row["network"] for row in rows):
        own = [row for row in rows if row["network"] == name and row[y] is not None]
        axes.plot([row[x] for row in own], [row[y] for row in own], STYLES[name], label=name)
        if exact:
            found = [row for row in own if row[exact] is not None]
            axes.plot(
                [row[x] for row in found],
                [row[exact] for row in found],
                f"{STYLES[name][:-1]}o",
                markersize=3,
            )
    if x == "nodes":
        axes.set_xscale("log", base=2)
    if most is not None:
        axes.set_ylim(0, most)
    axes.grid(alpha=0.3)


def _draw_pair(rows: Sequence[dict[str, Any]], x: str) -> Figure:
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_lines(left, rows, x, "distance", "true_distance", 14 if x == "nodes" else None)
    plot_lines(right, rows, x, "ratio", "true_ratio", 1.6)
    label = "nodes N" if x == "nodes" else "probability alpha that a packet stays in its cluster"
    left.set(xlabel=label, ylabel="mean distance P (links)")
    right.set(xlabel=label, ylabel="LP ratio to the hypercube BH")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize="small")
    figure.suptitle("lines: printed formulas; dots: the graphs", fontsize="small")
    return figure


def _draw_bars(rows: Sequence[dict[str, Any]], x: str, keys: dict[str, str], label: str) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for (key, name), style in zip(keys.items(), ("o-", "x--", "s:")):
        axes.plot([row[x] for row in rows], [row[key] for row in rows], style, label=name)
    axes.set(xlabel=x, ylabel=label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def _table1(options: Options) -> PaperResult:
    """The orders of growth, by the numbers of graphs of two sizes."""
    kinds: tuple[tuple[str, str, str, Callable[[int], Graph]], ...] = (
        ("complete connection", "O(N²)", "O(1)", lambda n: Complete(1 << n)),
        ("hypercube", "O(N log N)", "O(log N)", RoutedHypercube),
        ("ring", "O(N)", "O(N)", lambda n: Torus(1 << n, 1)),
    )
    rows = []
    for name, links, distance, make in kinds:
        for n in (3, 5) if options.quick else (4, 5, 6, 7, 8):
            measures = graph_measures(make(n))
            rows.append(
                {
                    "network": name,
                    "order_links": links,
                    "order_distance": distance,
                    "nodes": measures.nodes,
                    "links": measures.links,
                    "distance": measures.mean_distance,
                }
            )
    columns = (
        Column("network"),
        Column("order_links", "links, printed"),
        Column("order_distance", "distance, printed"),
        Column("nodes", "N"),
        Column("links"),
        Column("distance", "mean distance", ".4f"),
    )

    def draw() -> Figure:
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        for axes, key in zip(figure.subplots(1, 2), ("links", "distance")):
            for name, *_ in kinds:
                own = [row for row in rows if row["network"] == name]
                axes.plot(
                    [row["nodes"] for row in own], [row[key] for row in own], "o-", label=name
                )
            axes.set(
                xlabel="nodes N", ylabel="links" if key == "links" else "mean distance (links)"
            )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")
        return figure

    return PaperResult(columns, rows, draw)


_PRINTED_ALPHA = {4: 0.5, 9: 0.67, 16: 0.75, 25: 0.80, 36: 0.83, 49: 0.86, 64: 0.875}


def _table2(options: Options) -> PaperResult:
    """How many neighbours in a mesh are in the same square, counted in a torus of 3 x 3 squares."""
    rows = []
    for size, printed in _PRINTED_ALPHA.items():
        side = round(sqrt(size))
        torus = Torus(3 * side, 2)
        squares = [
            (node // (3 * side) // side, node % (3 * side) // side) for node in range(torus.nodes)
        ]
        links = list(torus.links())
        inside = sum(squares[link.node] == squares[link.peer] for link in links)
        rows.append(
            {
                "size": size,
                "published": printed,
                "predicted": 1 - 1 / sqrt(size),
                "counted": inside / len(links),
            }
        )
    columns = (
        Column("size", "cluster size n"),
        Column("published", "printed", ".3f"),
        Column("predicted", "1 - 1 / sqrt(n)", ".4f"),
        Column("counted", "links inside, counted", ".4f"),
    )
    keys = {"published": "printed", "counted": "counted in a torus of 3 x 3 clusters"}
    return PaperResult(columns, rows, partial(_draw_bars, rows, "size", keys, "alpha"))


ITEMS = (
    Item(
        "dandamudi-fig2",
        "Distances and LP ratios of hierarchical networks of 128 nodes in clusters of 16",
        f"{SOURCE}, section III-A",
        partial(_by_alpha, joining=3, cycles=2),
    ),
    Item(
        "dandamudi-fig3",
        "Distances and LP ratios of hierarchical networks of 1,024 nodes in clusters of 16",
        f"{SOURCE}, section III-A",
        partial(_by_alpha, joining=6, cycles=4),
    ),
    Item(
        "dandamudi-fig4",
        "Distances and LP ratios of hierarchical networks by size, at alpha 0.8",
        f"{SOURCE}, section III-A",
        _by_size,
    ),
    Item(
        "dandamudi-fig5",
        "Links of hierarchical networks by size",
        f"{SOURCE}, section III-A",
        _links,
    ),
    Item(
        "dandamudi-table1",
        "Links and distances of complete networks, hypercubes and rings",
        f"{SOURCE}, section II-A",
        _table1,
    ),
    Item(
        "dandamudi-table2",
        "The share of neighbours in a mesh that are in the same square cluster",
        f"{SOURCE}, section III-A",
        _table2,
    ),
)
