"""Broadcast, concentration and permutations in communication steps, measured on the hardware.

The paper's model (section 3) in RTL: nodes whose controllers send one word and receive one in a
step. Its measures F and D predict the steps of broadcasts and of the worst permutation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.figure import Figure

from ...hdl.networks import build
from ...hdl.routing.communication_steps import concentration_of, one_message
from ...hdl.routing.permutation_steps import StepRouter, crossing_capacity
from ...hdl.topology.permutations import random_permutation
from ..measure.hardest_permutation import RoutedPermutation, hardest_permutation, route
from ..run.communication import (
    StepRun,
    broadcast_task,
    concentration_task,
    permutation_task,
    run_tasks,
)
from .ginosar_networks import SOURCE, Measured, nine
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "StepMeasurement", "measured_steps", "sizes"]

_CHANGES = {16: 100, 64: 20, 256: 0}
"""Changes that the search for the hardest permutation tries, by size: the large ones take long."""


@dataclass(frozen=True)
class StepMeasurement:
    """A network with its measures, and the runs of its programs of steps.

    Attributes
    ----------
    network : Measured
    capacity : int
        Words that can cross the bisection in a step.
    random, hardest : RoutedPermutation
    broadcast, concentration, random_run, hardest_run : StepRun
    """

    network: Measured
    capacity: int
    random: RoutedPermutation
    hardest: RoutedPermutation
    broadcast: StepRun
    concentration: StepRun
    random_run: StepRun
    hardest_run: StepRun

    @property
    def nodes(self) -> int:
        return len(self.broadcast.results)


def sizes(options: Options) -> Sequence[int]:
    """The sizes of the networks, as the n of 4^n nodes."""
    return (2,) if options.quick else (2, 3, 4)


def measured_steps(dimensions: int, options: Options) -> tuple[StepMeasurement, ...]:
    """Measure the paper's nine networks of 4^dimensions nodes. Each is measured once a process."""
    return _measured_steps(dimensions, options.quick, options.seed, options.engine)


@cache
def _measured_steps(
    dimensions: int, quick: bool, seed: int, engine: str
) -> tuple[StepMeasurement, ...]:
    options = Options(quick=quick, seed=seed, engine=engine)
    return tuple(_measure(network, options) for network in nine(dimensions, options))


def _measure(network: Measured, options: Options) -> StepMeasurement:
    relation = build(network.words, allow_deadlock=1).relation
    assert relation is not None
    graph, found, seed = relation.graph, network.found, options.seed
    # Where only the search found the bisection, it is not known which half a node is in.
    side = found.bisection.side or frozenset(range(graph.nodes // 2))
    router = StepRouter(graph, [side])
    broadcast = one_message(found.fan_out.steps)
    root = found.fan_out.source
    any_ = route(router, "random", random_permutation(graph.nodes, seed), seed=seed)
    changes = 0 if options.quick else _CHANGES.get(4 ** (graph.nodes.bit_length() // 2), 0)
    hardest = hardest_permutation(router, side, changes=changes, seed=seed)
    runs = run_tasks(
        graph,
        [
            broadcast_task(graph, broadcast, root),
            concentration_task(graph, concentration_of(broadcast), root),
            permutation_task(graph, any_.schedule, any_.destinations),
            permutation_task(graph, hardest.schedule, hardest.destinations),
        ],
        engine=options.engine,
    )
    return StepMeasurement(network, crossing_capacity(graph, side), any_, hardest, *runs)


def _rows(options: Options) -> Iterator[dict[str, Any]]:
    for dimensions in sizes(options):
        for one in measured_steps(dimensions, options):
            found = one.network.found
            yield {
                "network": one.network.words,
                "nodes": one.nodes,
                "fan_out": str(found.fan_out.time),
                "broadcast": one.broadcast.steps,
                "concentration": one.concentration.steps,
                "disconnectivity": str(found.disconnectivity),
                "capacity": one.nodes / one.capacity,
                "diameter": found.graph.diameter,
                "random_bound": one.random.bound.steps,
                "random": one.random_run.steps,
                "hardest_name": one.hardest.name,
                "hardest_bound": one.hardest.bound.steps,
                "hardest": one.hardest_run.steps,
                "rows": one.hardest_run.rows,
            }


def steps(options: Options) -> PaperResult:
    """Steps of broadcast, concentration and permutations, beside F and D."""
    rows = list(_rows(options))
    return PaperResult(
        columns=(
            Column("network"),
            Column("nodes", "N"),
            Column("fan_out", "F"),
            Column("broadcast", "broad-cast"),
            Column("concentration", "concen-tration"),
            Column("disconnectivity", "D"),
            Column("capacity", "N/c", ".4g"),
            Column("diameter", "d"),
            Column("random_bound", "random: at least"),
            Column("random", "found"),
            Column("hardest_bound", "worst: at least"),
            Column("hardest", "found"),
            Column("rows", "stored"),
            Column("hardest_name", "worst is"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Steps, measured on the RTL: in a step each node sends one word and receives one, and a "
            "link passes words in one direction. A step is one cycle. All results are checked: all "
            "nodes have the word, one has the sum of all values, each message is at its destination.",
            "F: steps of the best broadcast from the worst node. D = N / e, e links in the minimum "
            "bisection. c: words that can pass between its halves in a step, as each node sends "
            "only one. d: diameter. D is for the worst permutation.",
            "At least: no schedule has fewer steps (distance, cuts, nodes that all must pass). "
            "Found: the shortest schedule of a heuristic search, which runs on the hardware. Worst: "
            "of the permutations tried. Stored: messages on their way in one node.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    labels = [f"{row['network'].split()[0]} {row['nodes']}" for row in rows]
    axes = figure.subplots()
    places = range(len(rows))
    least = [row["hardest_bound"] for row in rows]
    axes.vlines(places, least, [row["hardest"] for row in rows], color="C0", linewidth=3, alpha=0.3)
    for key, style, label in (
        ("hardest", "oC0", "worst permutation found"),
        ("random", "xC0", "random permutation"),
        ("broadcast", "^C1", "broadcast and concentration"),
    ):
        axes.plot(places, [row[key] for row in rows], style, markersize=5, label=label)
    axes.plot(
        places,
        [max(map(float, row["disconnectivity"].split(" to "))) for row in rows],
        "_k",
        markersize=10,
        label="D = N / e",
    )
    axes.set_yscale("log")
    axes.set_xticks(places, labels, rotation=90, fontsize="small")
    axes.set(ylabel="steps")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "ginosar-steps",
        "Steps of broadcast, concentration and permutations on hardware, beside F and D",
        f"{SOURCE}, 3 and 5",
        steps,
    ),
)
