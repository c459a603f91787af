"""Figures 12 and 13: distances from one processor to all others in MAN-YO and Lambda networks.

Those of the graph stand beside the latencies of packets on the RTL.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ....hdl.families.single_stage.single_stage_network import LambdaNetwork, ManYoNetwork
from ....hdl.networks.routed import RoutedNetwork
from ...measure.result import Result
from ...run.simulation import whole_run
from ...workload.traffic import Trace, TracePacket
from ..item import Item, Options, Row
from . import SOURCE

__all__ = ["FIG12", "FIG13"]

_STAGES, _QUICK_STAGES = 8, 5
"""Stages of the networks whose distances are counted: 1,024 and 80 nodes."""


def _one_to_all(network: RoutedNetwork, options: Options) -> Result:
    """Packets from processor 0 to all others, each when the one before has arrived."""
    (length, _), diameter = network.lengths, max(map(max, network.relation.graph.distances))
    others = enumerate(range(1, network.ports))
    packets = [TracePacket(number * (diameter + length), 0, to) for number, to in others]
    return whole_run(
        network,
        traffic=Trace("one to all", tuple(packets)),
        engine=options.engine,
        bins=2 * diameter + length + 1,
        progress=options.progress,
    )


def _built(network: type[RoutedNetwork], options: Options) -> RoutedNetwork:
    return network(stages=_QUICK_STAGES if options.quick else _STAGES)


def _rows(network: type[RoutedNetwork], options: Options) -> Iterator[Row]:
    built = _built(network, options)
    shortest = np.array(built.relation.graph.distances)[:, 0]
    latencies = dict(enumerate(_one_to_all(built, options).latency.histogram))
    for distance in range(1, shortest.max() + 1):
        nodes = int((shortest == distance).sum())
        # A packet that never waits takes a cycle for each link, and one for each of its flits.
        packets = latencies.get(distance + built.lengths[0], 0)
        row = {"distance": distance, "graph": nodes, "measured": packets}
        yield row | {"agrees": nodes == packets}


def _notes(network: type[RoutedNetwork], options: Options) -> Iterator[str]:
    built = _built(network, options)
    graph = built.relation.graph
    distances = np.array(graph.distances).T  # from each processor
    shortest = distances[0]
    equal = bool((np.sort(distances) == np.sort(shortest)).all())
    yield (
        f"From processor (0) 0...0 to the {graph.nodes - 1:,} others; "
        f"{'' if equal else 'not '}all processors have the same distances to others."
    )
    yield (
        f"Mean {shortest[1:].mean():.4f}, greatest {shortest.max()}. RTL: latency less "
        f"{built.lengths[0]}, of packets that are alone in the network."
    )


def _draw(rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    places = [row["distance"] for row in rows]
    heights = [row["graph"] for row in rows]
    bars = axes.bar(places, heights, color="#cfe2f3", edgecolor="black", label="graph")
    axes.bar_label(bars, fontsize="small", padding=3)
    axes.plot(places, [row["measured"] for row in rows], "C3o", markersize=4, label="RTL, latency")
    axes.set_xticks(places)
    title = f"{sum(heights) + 1:,} nodes"
    axes.set(xlabel="distance (links)", ylabel="processors", title=title)
    axes.margins(y=0.1)
    axes.legend(fontsize="small")
    return figure


def _distances(number: int, name: str, network: type[RoutedNetwork], section: str) -> Item:
    return Item(
        f"siegel-fig{number}",
        f"Distances between the processors of a {name} network",
        f"{SOURCE}, {section}",
        columns="distance | graph = processors, graph : , | measured = packets, RTL : , | agrees",
        rows=partial(_rows, network),
        draw=_draw,
        notes=lambda rows, options: _notes(network, options),
        ignores=("cycles", "seed"),
    )


FIG12 = _distances(12, "MAN-YO", ManYoNetwork, "VIII-B")
FIG13 = _distances(13, "Lambda", LambdaNetwork, "VIII-D")
