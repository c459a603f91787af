"""Figure 10: utilisation of the links of BH/BH and BH/CCC, by formula and on RTL.

The paper's networks have 32,768 nodes, with parallel links of level 2. RTL has 1,024; Figures 10
and 11 have the formulas for all.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ....hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from ...measure.path_loads import converging_loads
from ...theory.hierarchical import Rates, TwoLevel, utilisation
from ..item import Item, Options, Row, grouped
from ..panels import Panel, Plot
from . import SOURCE
from .delays_on_rtl import Measurement, Point, measured
from .two_levels import COLOURS

__all__ = [
    "ALPHA",
    "FIG10",
    "LENGTH",
    "PUBLISHED",
    "TIME",
    "group_of",
    "joining_loads",
    "point_of",
    "rates_of",
    "simulated_networks",
    "sizes_of",
]

ALPHA = 0.8
PUBLISHED = (TwoLevel("bh", 4, 11), TwoLevel("ccc", 4, 8))
_SIMULATED = (TwoLevel("bh", 4, 6), TwoLevel("ccc", 4, 4))
_QUICK = (TwoLevel("bh", 2, 1),)
LENGTH, TIME = 16, 150
"""Mean flits of a packet, and the window in the paper's time."""


def rates_of(factor: int) -> Rates:
    """Level-2 links with this number of parallel wires serve so much faster."""
    return Rates(1, 3, 3 * factor)


def simulated_networks(options: Options) -> Sequence[TwoLevel]:
    """The networks that are simulated."""
    return _QUICK if options.quick else _SIMULATED


def point_of(network: TwoLevel, factor: int) -> Point:
    """What is simulated of a network with so many parallel links."""
    return Point(network, ALPHA, rates_of(factor), LENGTH, TIME)


@cache
def _cycle_and_across(dimension: int) -> tuple[float, float]:
    """In cube-connected cycles, mean links of the cycles and across the cube on the shortest path
    between two different nodes. All nodes are equivalent, so paths to one node suffice."""
    graph = CubeConnectedCycles(dimension)
    loads = converging_loads(graph, 0)
    across = [graph.direction(link) == "across" for link in graph.links()]
    others = graph.nodes - 1
    return float(loads[~np.array(across)].sum() / others), float(loads[across].sum() / others)


def joining_loads(network: TwoLevel, rates: Rates) -> dict[str, tuple[float, float]]:
    """For each kind of level-2 links of the graph, how many are on a path on average, and the load
    of each in each direction."""
    if network.top != "ccc":
        return {"": (network.joining_distance, network.joining_load(ALPHA, rates))}
    sent = (1 - ALPHA) * rates.arrival * network.nodes
    cycle, across = _cycle_and_across(network.dimension)
    k = network.clusters
    return {"cycle": (cycle, sent * cycle / (2 * k)), "across": (across, sent * across / k)}


def sizes_of(networks: Sequence[TwoLevel]) -> str:
    """The nodes of these networks, for a title."""
    return ", ".join(f"{network.name}: {network.nodes:,} nodes" for network in networks)


def group_of(network: TwoLevel, options: Options) -> dict[str, Any]:
    """The columns of a row that say to which panel its network belongs."""
    published = network in PUBLISHED
    return {
        "network": network.name,
        "nodes": network.nodes,
        "sizes": sizes_of(PUBLISHED if published else simulated_networks(options)),
    }


_FACTORS = (1, 4)
"""Parallel links of the two networks."""


def _utilisations(
    network: TwoLevel, factor: int, found: Measurement | None, options: Options
) -> Iterator[Row]:
    """A row for each kind of links."""
    rates = rates_of(factor)
    printed = utilisation(network.joining_load(ALPHA, rates), rates.joining)
    shares = {
        (0, kind): (printed, utilisation(load, rates.joining))
        for kind, (_, load) in joining_loads(network, rates).items()
    }
    for j in range(1, network.cluster + 1):
        share = utilisation(network.cluster_load(j, ALPHA, rates), rates.cluster)
        shares[j, ""] = share, share
    for (j, kind), (predicted, exact) in shares.items():
        use = None if found is None else found.uses[j, kind]
        yield group_of(network, options) | {
            "replication": factor,
            "j": j,
            "kind": kind,
            "predicted": predicted,
            "exact": exact,
            "measured": None if use is None else use.share,
            "ci99": None if use is None else use.ci99,
        }


def _rows(options: Options) -> Iterator[Row]:
    smaller = simulated_networks(options)
    points = [point_of(network, factor) for network, factor in zip(smaller, _FACTORS)]
    for network, factor in zip(PUBLISHED, _FACTORS):
        yield from _utilisations(network, factor, None, options)
    for network, factor, found in zip(smaller, _FACTORS, measured(points, options)):
        yield from _utilisations(network, factor, found, options)


def _draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    for shift, ((name,), own) in zip((-0.18, 0.18), grouped(rows, "network").items()):
        bars = {row["j"]: row["predicted"] for row in own}
        places = [j + shift for j in bars]
        colour = COLOURS[name]
        axes.bar(places, list(bars.values()), 0.34, color=colour, alpha=0.7, label=name)
        for row in own:
            place = row["j"] + shift
            axes.plot([place], [row["exact"]], "k_", markersize=9)
            if row["measured"] is not None:
                axes.errorbar([place], [row["measured"]], [row["ci99"]], fmt="k.", capsize=2)
    axes.title.set_fontsize("small")


FIG10 = Item(
    "dandamudi-fig10",
    "Utilisation of the links of BH/BH and BH/CCC, by formula and on RTL",
    f"{SOURCE}, section IV-A",
    columns="network | nodes = N : , | replication = parallel links | j = level j"
    " | kind = links | predicted = utilisation, printed : .4f"
    " | exact = loads of the graph : .4f | measured = RTL : .4f | ci99 = ± 99 % : .4f",
    rows=_rows,
    draw=Plot(
        [
            Panel(
                "j",
                [_draw_bars],
                title="{sizes}",
                xlabel="level j of a link (0: level 2)",
                ylabel="utilisation",
                ylim=(0, 1.02),
                ticks=range(5),
            )
        ],
        by="sizes",
        size=(5.1, 4.2),
        title="bars: printed; dashes: loads of the graphs; dots: RTL",
    ),
    notes=lambda rows, options: (
        "j = 0: links of level 2, with mu_NCL = mu_CL in BH/BH and 4 mu_CL in BH/CCC. The formula "
        "has the same load for all links of cube-connected cycles; in the graph those of the "
        "cycles and those across the cube differ.",
        f"RTL: geometric lengths of {LENGTH} flits on average, "
        f"{options.window_words(f'windows of {TIME}')}, one seed. A link that is one of "
        "several parallel ones is as many times as fast.",
    ),
    parallel=True,
)
