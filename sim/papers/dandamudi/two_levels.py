"""What the figures of Dandamudi and Eager have in common: hierarchical networks as graphs.

Distances in the graphs are found by breadth-first search.
"""

from collections.abc import Iterator
from functools import cache

from ....hdl.families.complete_graph import Complete
from ....hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from ....hdl.families.hierarchical.hierarchical_graph import Hierarchical
from ....hdl.families.hypercube.hypercube_graph import RoutedHypercube
from ....hdl.families.torus.torus_graph import Torus
from ....hdl.graphs.graph import Graph
from ....hdl.graphs.routing.minimal import Minimal
from ....hdl.graphs.routing.relation import Relation
from ...measure.path_loads import LocalTraffic
from ...theory.hierarchical import Hypercube, TwoLevel
from ..item import Options, Row
from ..panels import Limits, Lines, Panel, Plot

__all__ = [
    "COLOURS",
    "LARGEST",
    "AnyNetwork",
    "by_size",
    "colour_of",
    "graph_of",
    "level2",
    "like",
    "lines_and_dots",
    "name_of",
    "pair",
    "true_traffic",
]

COLOURS = {"BH": "black", "BH/BH": "C0", "BH/BR": "C1", "BH/CC": "C2", "BH/CCC": "C3"}
"""Colours of the networks."""
AnyNetwork = TwoLevel | Hypercube

LARGEST = 1024
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
    if network.nodes > LARGEST or (isinstance(network, Hypercube) and network.dimension % 1):
        return None
    return LocalTraffic(graph_of(network), 1 << network.cluster)


def like(network: TwoLevel | Hypercube) -> Hypercube:
    """The hypercube that a network is compared with."""
    return network if isinstance(network, Hypercube) else Hypercube.like(network)


def name_of(network: AnyNetwork) -> str:
    """The name of a network in the figures."""
    return "BH" if isinstance(network, Hypercube) else network.name


def by_size(options: Options) -> Iterator[AnyNetwork]:
    """All networks with clusters of 16 nodes, up to the size of the figures."""
    most = 8 if options.quick else 15
    for top in ("", "bh", "br", "cc", "ccc"):
        for dimension in range(2 if top == "ccc" else 1, most - 3):
            network = TwoLevel(top, 4, dimension) if top else Hypercube(dimension + 4, 4)
            if network.nodes <= 1 << most:
                yield network


def lines_and_dots(x: str, y: str, exact: str, ylabel: str, ylim: Limits | None = None) -> Panel:
    """A line for each network by the printed formulas, and dots for the values of the graphs."""
    alpha = "probability alpha that a packet stays in its cluster"
    return Panel(
        x,
        [Lines(y, "-", "{network}"), Lines(exact, "o", look={"markersize": 3})],
        ["network"],
        xlabel="nodes N" if x == "nodes" else alpha,
        ylabel=ylabel,
        ylim=ylim,
        xlog=2 if x == "nodes" else 0,
        colour=colour_of,
        legend=None,
    )


def colour_of(row: Row) -> str:
    """That of the row's network."""
    return COLOURS[row["network"]]


def pair(title: str, *panels: Panel) -> Plot:
    """Two panels with one legend."""
    return Plot(panels, size=(4.8, 4.6), title=title, legend={"ncols": 5})
