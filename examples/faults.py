"""Dead links in a cube, an Extra Stage Cube, a torus and a fat tree.

python examples/faults.py -o docs/pictures/faults.svg
python examples/faults.py torus      # only this one, as a table

All have 16 terminals. Random links between boxes or routers are severed: what is sent into them is
lost. A link of the torus and of the fat tree is severed in both directions. The Extra Stage Cube
has the configuration for as many of the faults, in the order drawn, as one configuration can avoid.
The torus and the fat tree have new up*/down* tables, written into the running engine before the
first packet (`simulate(..., reroute=50)` writes them later, when the network is empty). If a router
is cut off from the others, the old tables stay.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

import click
from matplotlib.figure import Figure
from multicube.hdl import GraphNetwork, MultistageNetwork, PacketNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.plans.extra_stage import ExtraStagePlan, Fault
from multicube.hdl.graphs.routing.rewritable import Rewritable
from multicube.hdl.graphs.routing.up_down import UpDown
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.sim import pattern
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.rerouting import write_tables
from multicube.sim.workload.faults import inject
from multicube.sim.workload.injection import Injection
from multicube.sim.workload.random_faults import network_links
from rich.console import Console
from rich.table import Table
from scipy.stats import t as student

PORTS = 16
COUNTS = (0, 1, 2, 3, 4, 6, 8)
NAMES = ("cube", "Extra Stage Cube", "torus", "fat tree")


@dataclass(frozen=True)
class Sample:
    """Severed links, with what the network has done about them.

    Attributes
    ----------
    pins : list[Pin]
        Outputs that drive them.
    network : PacketNetwork
        With the configuration that avoids them.
    tables : Sequence or None
        New tables.
    coverage : float
        Fraction of the pairs of terminals whose path meets no severed link.
    """

    pins: list[Pin]
    network: PacketNetwork
    tables: Mapping | None
    coverage: float


def network_of(name: str) -> PacketNetwork:
    """A network without faults."""
    if name == "torus":
        return GraphNetwork(graph=Rewritable(UpDown, Torus(4, 2)))
    if name == "fat tree":
        tree = build("fat-tree", k=4, n=2)
        assert isinstance(tree, RoutedNetwork)
        return GraphNetwork(graph=Rewritable(UpDown, tree.relation.graph))
    return build("cube", ports=PORTS, extra_stage=int(name != "cube"))


def covered(paths: Callable[[int, int], bool]) -> float:
    return fmean(paths(*pair) for pair in product(range(PORTS), repeat=2))


def with_stages(network: MultistageNetwork, count: int, generator: random.Random) -> Sample:
    """Links between the boxes of a multistage network, cut at random."""
    plan = network.plan
    places = [Fault("link", s, x) for s in range(len(plan.stages) - 1) for x in range(PORTS)]
    faults = generator.sample(places, count)
    chosen = network
    if isinstance(plan, ExtraStagePlan) and faults:
        # The configuration for as many of the faults as one can avoid.
        for known in range(count, 0, -1):
            text = ",".join(map(str, faults[:known]))
            try:
                chosen = build("cube", ports=PORTS, extra_stage=1, faults=text)
            except ValueError:
                continue
            break
    pins = []
    for fault in faults:
        box, port = plan.port(fault.stage, fault.index)
        pins.append(Pin(f"box_{fault.stage}_{box}", ("o", port)))
    dead = set(pins)
    return Sample(pins, chosen, None, covered(lambda *pair: not dead & {*chosen.path(*pair)}))


def with_tables(network: RoutedNetwork, count: int, generator: random.Random) -> Sample:
    """Links of a network of routers, cut at random in both directions."""
    graph = network.relation.graph
    edges = [ways for ways in graph.edges if None not in ways]
    ends = {
        (link.node, link.port) for ways in generator.sample(edges, count) for link in ways if link
    }
    pins = [pin for pin in network_links(network) if network.link_end(pin) in ends]
    try:
        return Sample(pins, network, network.tables_around(pins), 1.0)
    except ValueError:  # a router is cut off: the old tables stay
        dead = set(pins)
        return Sample(pins, network, None, covered(lambda *pair: not dead & {*network.path(*pair)}))


def sampled(network: PacketNetwork, count: int, samples: int) -> list[Sample]:
    """Independent samples, always the same."""
    found = []
    for number in range(samples):
        generator = random.Random(f"{network} {count} {number}")
        if isinstance(network, RoutedNetwork):
            found.append(with_tables(network, count, generator))
        else:
            assert isinstance(network, MultistageNetwork)
            found.append(with_stages(network, count, generator))
    return found


def throughputs(
    network: PacketNetwork, samples: list[Sample], cycles: int, load: float
) -> list[float]:
    """Packets delivered per terminal per cycle in each sample, under uniform traffic.

    All run side by side. Every link has the component for a fault.
    """
    spare = network_links(network)
    benches = []
    for number, sample in enumerate(samples):
        sources = pattern("uniform", PORTS).sources(sample.network, load, number + 1, 256)
        bench = bench_for(sample.network, sources, bins=2)
        faults = [Injection(pin, "severed") for pin in sample.pins]
        benches.append(inject(bench, None, faults, spare=spare))
    with CompiledEngine(benches) as engine:
        for run, sample in enumerate(samples):
            if sample.tables:
                write_tables(engine, sample.tables, run)
        engine.set("send", 1)
        engine.step(cycles // 2)
        sinks = benches[0].sinks
        before = [sum(engine.read(sinks, "delivered", run)) for run in range(len(samples))]
        engine.step(cycles)
        after = [sum(engine.read(sinks, "delivered", run)) for run in range(len(samples))]
    return [(b - a) / (cycles * PORTS) for a, b in zip(before, after)]


def interval(values: list[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % confidence interval."""
    if len(values) < 2:
        return fmean(values), 0.0
    half = student.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return fmean(values), float(half)


@dataclass(frozen=True)
class Curve:
    """Coverage and throughput at `COUNTS`, each with half the width of its interval."""

    coverage: list[tuple[float, float]]
    throughput: list[tuple[float, float]]
    reacted: list[int]
    """Samples in which the network had a configuration or new tables."""


def measure(name: str, samples: int, cycles: int, load: float) -> Curve:
    network = network_of(name)
    drawn = [each for count in COUNTS for each in sampled(network, count, samples)]
    rates = throughputs(network, drawn, cycles, load)
    parts = [slice(at, at + samples) for at in range(0, len(drawn), samples)]
    return Curve(
        [interval([each.coverage for each in drawn[part]]) for part in parts],
        [interval(rates[part]) for part in parts],
        [
            sum(each.tables is not None or each.network is not network for each in drawn[part])
            for part in parts
        ],
    )


def draw(curves: dict[str, Curve], load: float, path: str) -> None:
    """Coverage and throughput against the number of severed links."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    for number, (name, curve) in enumerate(curves.items()):
        for place, values in ((left, curve.coverage), (right, curve.throughput)):
            means, halves = zip(*values)
            place.errorbar(
                COUNTS, means, halves, marker="osD^"[number], markersize=4, capsize=2, label=name
            )
    left.set_ylabel("pairs of terminals that are connected")
    right.set_ylabel(f"packets per terminal per cycle, load {load:g}")
    for place in (left, right):
        place.set_ylim(bottom=0)
        place.grid(alpha=0.3)
    left.legend(fontsize=8)
    figure.supxlabel("severed links in a network of 16 terminals")
    figure.savefig(path, metadata={"Date": None})


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--samples", default=20, show_default=True, help="Sets of links for each number.")
@click.option("--cycles", default=1000, show_default=True, help="Cycles of a measurement.")
@click.option("--load", default=0.8, show_default=True, help="Packets per terminal per cycle.")
@click.option("-o", "--output", help="A picture: .svg, .png or .pdf.")
def main(
    names: tuple[str, ...], samples: int, cycles: int, load: float, output: str | None
) -> None:
    """Compare what networks do with dead links."""
    table = Table("network", "severed", "reacted", "connected", "throughput")
    curves = {}
    for name in names or NAMES:
        curve = curves[name] = measure(name, samples, cycles, load)
        for row in zip(COUNTS, curve.reacted, curve.coverage, curve.throughput):
            count, reacted, coverage, rate = row
            table.add_row(
                name,
                str(count),
                f"{reacted} of {samples}",
                "{:.3f} ± {:.3f}".format(*coverage),
                "{:.4f} ± {:.4f}".format(*rate),
            )
    Console().print(table)
    if output:
        draw(curves, load, output)


if __name__ == "__main__":
    main()
