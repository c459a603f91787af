"""Broadcast, concentration and permutations in communication steps, measured on the hardware.

The paper's model (section 3) in RTL: nodes whose controllers send one word and receive one in a
step. Its measures F and D predict the steps of broadcasts and of the worst permutation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure
from tqdm import tqdm

from ....hdl.fabric.errors import MulticubeError
from ....hdl.graphs.permutations import random_permutation
from ....hdl.graphs.schedules.communication_steps import concentration_of, one_message
from ....hdl.graphs.schedules.permutation_steps import StepRouter, crossing_capacity
from ...measure.bounds import Bounds
from ...measure.hardest_permutation import RoutedPermutation, hardest_permutation, route
from ...run.communication import (
    StepRun,
    broadcast_task,
    concentration_task,
    permutation_task,
    run_tasks,
)
from ...run.workers import Job
from ...theory.static_comparison import compared
from ..item import Item, Options, Row, finished
from . import SOURCE
from .nine_networks import NINE, Measured, measured, nine_graphs

__all__ = ["STEPS", "StepMeasurement", "measure_steps", "measured_rows", "measured_steps", "middle"]

_CHANGES = ((16, 200), (64, 20))
"""Changes that the search for the hardest permutation tries, in networks of up to so many nodes:
large ones take long."""
_SIZES = (2, 3, 4)
"""Those of the networks, as the n of 4^n nodes."""
_QUICK = (1, 4, 7)
"""The networks of a quick run: ring, star and hypercube."""
_LEAST = 3
"""No rank correlation of fewer."""
_CHEAP = (2, 3, 7, 6, 5, 1, 8)
_DEAR = (4, 0)
"""The networks in the order in which they are measured: last, of all sizes, those with nodes of
many links."""


@dataclass(frozen=True)
class StepMeasurement:
    """A network with its measures, and the runs of its programs of steps.

    Attributes
    ----------
    name : str
        That of the paper, one of `NINE`.
    network : Measured
    capacity : int
        Words that can cross the bisection in a step.
    random, hardest : RoutedPermutation
    broadcast, concentration, random_run, hardest_run : StepRun
    """

    name: str
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

    @property
    def printed_disconnectivity(self) -> float | None:
        """D by the paper's formula."""
        found = compared(self.network.network, self.network.size, self.network.found.ranges())
        return next((row.value for row in found if row.measure == "D"), None)


def measured_rows(row: Callable[[int, int, Options], Row], options: Options) -> list[Row]:
    """The rows of the paper's nine networks of all sizes.

    Parameters
    ----------
    row : callable
        Takes n of 4^n nodes, the number of a network in `NINE`, and `options`. It is called in
        processes of their own, cheap networks first, or in this one for a quick run.
    options : Options
        With `progress`, a bar on standard error shows how many networks are measured. If that is
        interrupted, the rows found so far are returned, if they are three at least.
    """
    wanted = [(2, number) for number in _QUICK]
    if not options.quick:
        wanted = [
            (dimensions, number)
            for numbers in (_CHEAP, _DEAR)
            for dimensions in _SIZES
            for number in numbers
        ]
    jobs: list[Job] = [(row, (*each, options), {}) for each in wanted]
    found: dict[tuple[int, int], Row] = {}
    with tqdm(
        total=len(jobs), unit="networks", disable=None if options.progress else True, leave=False
    ) as bar:
        try:
            for job, result in finished(jobs, options):
                found[wanted[job]] = result
                bar.update()
        except KeyboardInterrupt:
            if len(found) < _LEAST:
                raise
    options.unmeasured.extend(
        f"{NINE[number]} of {4**dimensions}"
        for dimensions, number in sorted(wanted)
        if (dimensions, number) not in found
    )
    if len(found) < _LEAST:
        raise MulticubeError(*options.missing())
    return [found[each] for each in sorted(found)]


def measured_steps(dimensions: int, number: int, options: Options) -> StepMeasurement:
    """Measure one of the paper's nine networks, with 4^dimensions nodes."""
    network = measured(*nine_graphs(dimensions)[number], options)
    return measure_steps(NINE[number], network, options)


def measure_steps(name: str, network: Measured, options: Options) -> StepMeasurement:
    """Run broadcast, concentration and permutations on a network, which is called `name`."""
    graph, found, seed = network.graph, network.found, options.seed
    # Where only the search found the bisection, it is not known which half a node is in.
    side = found.bisection.side or frozenset(range(graph.nodes // 2))
    router = StepRouter(graph, [side])
    broadcast = one_message(found.fan_out.steps)
    root = found.fan_out.source
    any_ = route(router, "random", random_permutation(graph.nodes, seed), seed=seed)
    tried = (changes for nodes, changes in _CHANGES if graph.nodes <= nodes)
    changes = 0 if options.quick else next(tried, 0)
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
    return StepMeasurement(name, network, crossing_capacity(graph, side), any_, hardest, *runs)


def _row(dimensions: int, number: int, options: Options) -> Row:
    one = measured_steps(dimensions, number, options)
    found = one.network.found
    return {
        "network": one.name,
        "nodes": one.nodes,
        "fan_out": _shown(found.fan_out.time),
        "broadcast": one.broadcast.steps,
        "concentration": one.concentration.steps,
        "disconnectivity": _shown(found.disconnectivity),
        "d_middle": middle(found.disconnectivity),
        "published": one.printed_disconnectivity,
        "capacity": one.nodes / one.capacity,
        "diameter": found.graph.diameter,
        "random_bound": one.random.bound.steps,
        "random": one.random_run.steps,
        "hardest_name": one.hardest.name,
        "hardest_bound": one.hardest.bound.steps,
        "hardest": one.hardest_run.steps,
        "rows": one.hardest_run.rows,
    }


def _draw(rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    labels = [f"{row['network']}, {row['nodes']}" for row in rows]
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
    axes.plot(places, [row["hardest_bound"] for row in rows], "_C0", label="it needs at least")
    for key, style, label in (
        ("published", "1k", "D, printed"),
        ("d_middle", "_k", "D of the graph"),
    ):
        axes.plot(places, [row[key] for row in rows], style, markersize=9, label=label)
    axes.set_yscale("log")
    axes.set_xticks(places, labels, rotation=90, fontsize="small")
    axes.set(ylabel="steps")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def middle(bounds: Bounds) -> float:
    """A number for a figure: the mean of both bounds."""
    return sum(bounds.range) / 2


def _shown(bounds: Bounds) -> str:
    low, high = (f"{value:.4g}" for value in bounds.range)
    return low if low == high else f"{low}-{high}"


STEPS = Item(
    "ginosar-steps",
    "Steps of broadcast, concentration and permutations on hardware, beside F and D",
    f"{SOURCE}, 3 and 5",
    columns="network | nodes = N | fan_out = F | broadcast = bcast | concentration = conc."
    " | published = D print : .4g | disconnectivity = D | capacity = N/c : .4g"
    " | diameter = d | random_bound = >= | random = rand. | hardest_bound = >="
    " | hardest = worst | rows | hardest_name = which",
    rows=partial(measured_rows, _row),
    draw=_draw,
    notes=(
        "Steps on the RTL, one cycle each: a node sends one word and receives one, and a link "
        "passes words in one direction. All results are checked.",
        "F: steps of the best broadcast from the worst node; bcast, conc.: broadcast and "
        "concentration measured. D = N / e for the worst permutation: by the printed formula, "
        "and with the e links of the graph's minimum bisection. c: words that can pass between "
        "its halves in a step, as each node sends only one. d: diameter.",
        "Rand.: a random permutation; worst: the one of most steps of those tried (which). >=: "
        "no schedule has fewer, by distances, cuts, and nodes that all must pass. Schedules "
        "are the shortest that a heuristic search found. Rows: messages on their way that a "
        "node must store.",
    ),
    parallel=True,
    ignores=("cycles",),
)
