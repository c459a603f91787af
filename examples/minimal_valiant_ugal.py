"""Shortest paths, Valiant's routing and UGAL in networks of several kinds.

python examples/minimal_valiant_ugal.py -o docs/pictures/minimal-valiant-ugal.svg
python examples/minimal_valiant_ugal.py dragonfly      # only this one, as a table

Each network is measured under uniform traffic, and under a permutation that is bad for its shortest
paths. Theory says at which load their links are full. Valiant's routing makes of any traffic twice
uniform traffic. UGAL chooses between the two, packet by packet.
"""

from dataclasses import dataclass
from statistics import fmean

import click
import numpy as np
from matplotlib.figure import Figure
from multicube.hdl import GraphNetwork, build
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.sim import Run, pattern, simulate_runs
from multicube.sim.measure.worst_permutation import link_uses, worst_permutation
from rich.console import Console
from rich.table import Table

LENGTH = 4
DEPTH = 8
NETWORKS = {
    "fat-tree": "fat-tree k=4 n=2 ascent=fixed",
    "hyperx": "hyperx k=4 n=2",
    "dragonfly": "dragonfly h=2",
    "kautz": "kautz d=2 n=4",
    "de-bruijn": "de-bruijn d=2 n=4",
    "express-mesh": "express-mesh k=8 n=1 interval=4",
    "torus": "torus k=8 n=1",
}
WORST = {
    # All terminals of a switch send to one each of the other switches, and take one link up.
    "fat-tree": lambda terminal: terminal % 4 * 4 + terminal // 4,
    # All of a node send to the next node.
    "hyperx": lambda terminal: terminal // 16 * 16 + (terminal + 4) % 16,
    # All of a group send to the next group.
    "dragonfly": lambda terminal: (terminal + 8) % 72,
    # The reverse, so that all cross the middle.
    "express-mesh": lambda terminal: 7 - terminal,
    # The tornado.
    "torus": lambda terminal: (terminal + 3) % 8,
}
"""Permutations known to be bad. For the others `worst_permutation` finds one."""
ROUTINGS = {"own": "shortest", "valiant": "Valiant", "ugal": "UGAL"}
LOADS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def network_of(name: str, routing: str) -> RoutedNetwork:
    """A network, with packets and queues as they are measured."""
    own = {"length": LENGTH, "depth": DEPTH}
    if name == "torus" and routing != "own":
        return GraphNetwork(Torus(8, 1), routing=routing, **own)
    more = {"routing": routing} if name != "torus" else {}
    network = build(NETWORKS[name], **own, **more)
    assert isinstance(network, RoutedNetwork)
    return network


# Theory.


@dataclass(frozen=True)
class Theory:
    """What follows from the paths of all pairs of terminals.

    Attributes
    ----------
    links : float
        Mean links of a path.
    uniform : float
        Load in flits per terminal per cycle at which a link is full.
    permutation : list[int]
        The destination of each terminal in the worst case.
    worst : float
        Its throughput in flits per terminal per cycle, if packets share the most loaded link of
        their path evenly.
    """

    links: float
    uniform: float
    permutation: list[int]
    worst: float


def theory_of(name: str, relation: Relation) -> Theory:
    """Of a network whose own routing is without a choice."""
    ports = relation.ports
    uses = link_uses(relation)
    uniform = uses.sum(axis=(1, 2)).max() / ports
    permutation = list(map(WORST[name], range(ports))) if name in WORST else worst_permutation(uses)
    taken = uses[:, np.arange(ports), permutation]
    most = (taken * taken.sum(axis=1, keepdims=True)).max(axis=0)
    worst = fmean(1 / np.maximum(most, 1))
    return Theory(uses.sum() / ports**2, min(1, 1 / uniform), permutation, worst)


# Measurement.


@dataclass(frozen=True)
class Curve:
    """Latency in cycles, None beyond saturation, and throughput in flits, at `LOADS`."""

    latencies: list[float | None]
    throughputs: list[float]


def measure(network: RoutedNetwork, permutation: list[int] | None, cycles: int) -> Curve:
    """A network under uniform traffic, or a permutation."""
    traffic = pattern("uniform" if permutation is None else permutation, network.ports)
    runs = [
        Run(traffic, load / LENGTH, cycles=cycles, warmup=cycles // 2, seed=1) for load in LOADS
    ]
    results = list(simulate_runs(network, runs))
    return Curve(
        [None if result.saturated else result.latency.mean for result in results],
        [result.throughput_flits for result in results],
    )


def measured(name: str, theory: Theory, cycles: int) -> dict[tuple[str, str], Curve]:
    """The curves by traffic and routing."""
    return {
        (traffic, routing): measure(network_of(name, routing), permutation, cycles)
        for routing in ROUTINGS
        for traffic, permutation in (("uniform", None), ("worst", theory.permutation))
    }


# Report.


def report(name: str, theory: Theory, curves: dict[tuple[str, str], Curve], table: Table) -> None:
    """Rows of a table: latency at the lowest load and highest throughput, with what theory says."""
    for (traffic, routing), curve in curves.items():
        full = {"uniform": theory.uniform, "worst": theory.worst}[traffic]
        if routing == "valiant":
            full = theory.uniform / 2
        cells = [f"{curve.latencies[0] or 0:.2f}", "", f"{max(curve.throughputs):.2f}", ""]
        if routing == "own" and traffic == "uniform":
            cells[1] = f"{theory.links + LENGTH:.2f}"
        if routing != "ugal":
            cells[3] = f"{full:.2f}"
        table.add_row(name, traffic, ROUTINGS[routing], *cells)


def draw(curves: dict[str, dict[tuple[str, str], Curve]], path: str) -> None:
    """Throughput against load: a row for each traffic, a column for each network."""
    figure = Figure(figsize=(2.4 * len(curves), 5), layout="constrained")
    axes = figure.subplots(2, len(curves), sharex=True, sharey=True, squeeze=False)
    for column, (name, own) in enumerate(curves.items()):
        for row, traffic in enumerate(("uniform", "worst")):
            place = axes[row, column]
            for number, (routing, title) in enumerate(ROUTINGS.items()):
                curve = own[traffic, routing]
                marker = "osD"[number]
                place.plot(LOADS, curve.throughputs, marker=marker, markersize=3, label=title)
            place.set_title(f"{name}, {traffic}", fontsize=9)
            place.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    figure.supxlabel("offered flits per terminal per cycle")
    figure.supylabel("delivered flits per terminal per cycle")
    figure.savefig(path, metadata={"Date": None})


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(NETWORKS)))
@click.option("--cycles", default=2000, show_default=True, help="Cycles of a measurement.")
@click.option("-o", "--output", help="A picture: .svg, .png or .pdf.")
def main(names: tuple[str, ...], cycles: int, output: str | None) -> None:
    """Compare the routings of networks."""
    columns = ("network", "traffic", "routing", "latency", "theory", "throughput", "theory")
    table = Table(*columns)
    curves = {}
    for name in names or NETWORKS:
        theory = theory_of(name, network_of(name, "own").relation)
        curves[name] = measured(name, theory, cycles)
        report(name, theory, curves[name], table)
    Console().print(table)
    if output:
        draw(curves, output)


if __name__ == "__main__":
    main()
