"""What Dandamudi and Eager could not see: hierarchical networks at equal silicon, and wormholes.

The paper compares networks by links times delay. Here each network is measured beside the hypercube
of as many nodes at equal links, and at equal silicon (`equal_cost`).

Both networks have the same traffic: with probability alpha a message stays in its cluster. So a
cluster size is judged, as by the paper's LR ratio, by how much better or worse a network is than
the hypercube with traffic in clusters of that size.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import hypot
from typing import Any, NamedTuple, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator
from tqdm import tqdm

from ...run.progress import phase
from ...run.workers import Job
from ...theory.hierarchical import Hypercube, Rates, TwoLevel
from ..item import Item, Options, Row, finished, finite, grouped
from ..panels import Lines, Panel, plain_numbers
from . import SOURCE
from .equal_cost import (
    BITS,
    LOAD,
    SWITCHINGS,
    WIDTH,
    Cost,
    Measured,
    Speed,
    cost_of,
    cube_of,
    measured,
    message_flits,
    reference_speeds,
)

__all__ = ["SILICON", "Ratio", "References", "best_notes", "best_of"]

_ALPHAS = (0.5, 0.8, 0.95)
_NETWORKS = (
    *(TwoLevel("bh", d, 8 - d) for d in range(1, 7)),
    *(TwoLevel("br", d, 8 - d) for d in range(1, 6)),
    *(TwoLevel("cc", d, 8 - d) for d in (3, 4, 5)),
    *(TwoLevel("ccc", d, cycles) for d, cycles in ((2, 4), (5, 2))),
    *(TwoLevel("bh", d, 10 - d) for d in range(1, 6)),
)
_QUICK = (TwoLevel("bh", 1, 3), TwoLevel("bh", 2, 2), TwoLevel("cc", 2, 2))


class Ratio(NamedTuple):
    """A ratio of two means, and half its 99 % confidence interval."""

    value: float
    ci99: float

    @classmethod
    def of(cls, above: tuple[float, float], below: tuple[float, float]) -> "Ratio":
        """The ratio of two independent means with small intervals."""
        value = above[0] / below[0]
        return cls(value, value * hypot(above[1] / above[0], below[1] / below[0]))


_Of = TypeVar("_Of")


def best_of(ratios: Mapping[_Of, Ratio], largest: bool = True) -> list[_Of]:
    """Those that may be the best: no other one is better beyond their intervals.

    Examples
    --------
    >>> best_of({2: Ratio(1.0, 0.05), 4: Ratio(1.3, 0.05), 8: Ratio(1.25, 0.05)})
    [4, 8]
    >>> best_of({2: Ratio(1.0, 0.05), 4: Ratio(1.3, 0.05)}, largest=False)
    [2]
    """
    if not ratios:
        return []
    sign = 1 if largest else -1
    reached = max(sign * ratio.value - ratio.ci99 for ratio in ratios.values())
    return [name for name, ratio in ratios.items() if sign * ratio.value + ratio.ci99 >= reached]


# --- Measurements ------------------------------------------------------------------------------


def _alphas(options: Options) -> Sequence[float]:
    return _ALPHAS[::2] if options.quick else _ALPHAS


def _networks(options: Options) -> Sequence[TwoLevel]:
    return _QUICK if options.quick else _NETWORKS


def _switchings(network: TwoLevel) -> list[str]:
    """Both only for BH/BH of 256 nodes, else wormhole."""
    both = (network.name, network.nodes) == ("BH/BH", 256)
    return [*SWITCHINGS][: 2 if both else 1]


References = dict[tuple[int, str], dict[tuple[float, int], Speed]]
"""Speeds of hypercubes, by nodes and switching."""


def _all_measured(
    options: Options,
) -> Iterator[tuple[References, TwoLevel, dict[tuple[str, str], Measured]]]:
    """All networks, each with the hypercubes; without those whose process was ended."""
    networks = _networks(options)
    wanted = sorted({(n.nodes, s) for n in networks for s in _switchings(n)})
    budgets: dict[tuple[int, str], Cost] = {}
    with phase("synthesising hypercubes", options.progress):
        for nodes, switching in wanted:
            cube = cube_of(nodes.bit_length() - 1, switching)
            budgets[nodes, switching] = cost_of(cube, WIDTH, options.seed)
    jobs: list[Job] = []
    alphas = _alphas(options)
    for nodes, switching in wanted:
        sizes = sorted({network.cluster for network in networks if network.nodes == nodes})
        dimension = nodes.bit_length() - 1
        jobs.append((reference_speeds, (dimension, switching, alphas, sizes, options), {}))
    for network in reversed(networks):  # The longest ones first.
        own = {s: budgets[network.nodes, s] for s in _switchings(network)}
        jobs.append((measured, (network, own, alphas, options), {}))
    results: dict[int, Any] = {}
    with tqdm(total=len(jobs), unit="jobs", disable=None if options.progress else True) as bar:
        for number, result in finished(jobs, options):
            results[number] = result
            bar.update()
    references = {key: results[n] for n, key in enumerate(wanted) if n in results}
    for number, network in enumerate(reversed(networks), len(wanted)):
        cubes = {(network.nodes, switching) for switching in _switchings(network)}
        if number in results and cubes <= references.keys():
            yield references, network, results[number]


# --- The item ----------------------------------------------------------------------------------


def _row(
    network: TwoLevel, alpha: float, switching: str, cost: str, at: Measured, reference: Speed
) -> dict[str, Any]:
    speed = at.speeds[alpha]
    ratio = Ratio.of(
        (speed.throughput, speed.throughput_ci), (reference.throughput, reference.throughput_ci)
    )
    delay = None
    if speed.delay is not None and reference.delay is not None:
        delay = Ratio.of(
            (speed.delay, speed.delay_ci or 0), (reference.delay, reference.delay_ci or 0)
        )
    return {
        "nodes": network.nodes,
        "alpha": alpha,
        "switching": switching,
        "cost": cost,
        "network": network.name,
        "size": 1 << network.cluster,
        "width": at.width,
        "flits": at.flits,
        "tables": at.tables,
        "flip_flops": at.flip_flops,
        "throughput": 1000 * speed.throughput,
        "throughput_ci": 1000 * speed.throughput_ci,
        "ratio": ratio.value,
        "ratio_ci": ratio.ci99,
        "delay": speed.delay,
        "delay_ci": speed.delay_ci,
        "delay_ratio": None if delay is None else delay.value,
        "delay_ratio_ci": None if delay is None else delay.ci99,
        "printed": _printed(network, alpha),
    }


def _printed(network: TwoLevel, alpha: float) -> float | None:
    """The paper's LR ratio by its formulas, at the load at which delays are measured."""
    rates = Rates(LOAD * message_flits(WIDTH), 1, 1)
    reference = Hypercube.like(network)
    ratio = network.links() * network.delay(alpha, rates)
    ratio /= reference.links() * reference.delay(alpha, rates)
    return finite(ratio)


def _best(rows: Sequence[Mapping[str, Any]], key: str, names: Sequence[str] = ("size",)) -> str:
    """The best networks in words: the largest ratios of throughput, else the smallest ratios."""
    own = {
        " with ".join(str(row[name]) for name in names): Ratio(row[key], row.get(f"{key}_ci", 0))
        for row in rows
        if row[key] is not None
    }
    return " or ".join(best_of(own, key == "ratio")) or "none"


def _both(rows: Sequence[Mapping[str, Any]], *names: str) -> str:
    """The best networks by throughput, and by delay in parentheses."""
    return f"{_best(rows, 'ratio', names)} ({_best(rows, 'delay_ratio', names)})"


def best_notes(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The best clusters in words: of BH/BH by switching and cost, and of each network measured."""
    cubes = [row for row in rows if row["network"] == "BH/BH"]
    for (nodes, alpha), own in grouped(cubes, "nodes", "alpha").items():
        words = [
            f"{switching} at equal {cost} {_both(some, 'size')}"
            for (switching, cost), some in grouped(own, "switching", "cost").items()
        ]
        yield (
            f"N = {nodes}, alpha {alpha}, best cluster of BH/BH by throughput (by delay): "
            f"{'; '.join(words)}; LR ratio by the printed formula {_best(own, 'printed')}."
        )
    keys = ("nodes", "alpha", "switching", "cost")
    for (nodes, alpha, switching, cost), own in grouped(rows, *keys).items():
        networks = grouped(own, "network")
        if len(networks) > 1:
            words = [f"{network} {_both(some, 'size')}" for (network,), some in networks.items()]
            yield (
                f"N = {nodes}, alpha {alpha}, {switching} at equal {cost}, best cluster by "
                f"throughput (by delay): {'; '.join(words)}; "
                f"best of all {_both(own, 'network', 'size')}."
            )


def _rows(options: Options) -> list[Row]:
    rows = [
        _row(network, alpha, switching, cost, at, references[network.nodes, switching][key])
        for references, network, found in _all_measured(options)
        for (switching, cost), at in found.items()
        for alpha in _alphas(options)
        for key in [(alpha, network.cluster)]
    ]
    got = {(row["network"], row["nodes"], row["size"]) for row in rows}
    options.unmeasured.extend(
        f"{network.name} of {network.nodes} nodes in clusters of {1 << network.cluster}"
        for network in _networks(options)
        if (network.name, network.nodes, 1 << network.cluster) not in got
    )
    keys = ("nodes", "alpha", "switching", "cost", "network", "size")
    return sorted(rows, key=lambda row: [row[key] for key in keys])


def _notes(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    return (
        f"Messages of {BITS} bits. The hypercube has flits of {WIDTH} bits; those of the other "
        "networks are so wide that links times bits (equal links), or the tables of all routers "
        "on an ECP5 (equal silicon), are as many as in the hypercube. Ratios are to the hypercube "
        "with the same traffic.",
        "Bits: of a flit, at most; flits: of a message. Tables and registers (flip-flops): of all "
        "routers, over those of the hypercube. Throughput: messages per node per 1,000 cycles at "
        f"full load. Delay: cycles at {LOAD} messages per node and cycle; a dash if saturated. "
        "LR: the paper's ratio by its formulas, at this load; a dash if saturated. "
        "±: 99 % confidence. Sizes joined by `or` have overlapping intervals.",
        *best_notes(rows),
    )


_LINES = {
    ("BH/BH", "packet", "links"): ("C0", "--", "s"),
    ("BH/BH", "packet", "silicon"): ("C0", "-", "s"),
    ("BH/BH", "wormhole", "links"): ("C1", "--", "o"),
    ("BH/BH", "wormhole", "silicon"): ("C1", "-", "o"),
    ("BH/BR", "wormhole", "silicon"): ("C2", "-", "^"),
    ("BH/CC", "wormhole", "silicon"): ("C4", "-", "v"),
    ("BH/CCC", "wormhole", "silicon"): ("C3", "-", "D"),
}
"""Colour, line and marker of a network by switching and cost."""

_MEASURES = {"ratio": "throughput", "delay_ratio": "delay"}


def _draw(rows: Sequence[Row]) -> Figure:
    nodes = sorted({row["nodes"] for row in rows})
    alphas = sorted({row["alpha"] for row in rows})
    figure = Figure(figsize=(1 + 3.2 * len(alphas), 1 + 2.7 * 2 * len(nodes)), layout="constrained")
    panels = figure.subplots(2 * len(nodes), len(alphas), squeeze=False, sharex=True, sharey="row")
    for line, (n, key) in zip(panels, product(nodes, _MEASURES)):
        for axes, alpha in zip(line, alphas):
            own = [row for row in rows if (row["nodes"], row["alpha"]) == (n, alpha)]
            _panel(key).draw(axes, own)
            axes.set_title(f"N = {n}, alpha = {alpha}", fontsize="medium")
        line[0].set_ylabel(f"{_MEASURES[key]} / hypercube's")
    sizes = sorted({row["size"] for row in rows})
    for axes in panels[-1]:
        axes.set_xlabel("nodes of a cluster")
        axes.xaxis.set_major_locator(FixedLocator(sizes))
        axes.xaxis.set_minor_locator(NullLocator())
    handles = {
        label: handle
        for axes in panels.flat
        for handle, label in zip(*axes.get_legend_handles_labels())
    }
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=len(alphas), fontsize="small"
    )
    return figure


def _kind(row: Row) -> tuple[str, str, str]:
    return row["network"], row["switching"], row["cost"]


def _scale(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axhline(1, color="grey", lw=1)
    axes.yaxis.set_major_locator(LogLocator(base=2))
    plain_numbers(axes.xaxis, axes.yaxis)


def _panel(key: str) -> Panel:
    """One measure of one number of nodes and alpha, by cluster size."""
    return Panel(
        "size",
        [
            Lines(
                key,
                lambda row: "".join(_LINES[_kind(row)][1:]),
                "{network}, {switching}, equal {cost}",
                error=f"{key}_ci",
                only=lambda row: _kind(row) in _LINES,
                look={"markersize": 3.5, "linewidth": 1.2},
            ),
            _scale,
        ],
        ["network", "switching", "cost"],
        xlog=2,
        ylog=2,
        colour=lambda row: _LINES[_kind(row)][0] if _kind(row) in _LINES else None,
        legend=None,
    )


SILICON = Item(
    "dandamudi-silicon",
    "Hierarchical networks and hypercubes at equal links and at equal silicon, by cluster size",
    f"{SOURCE}, and our own measurements",
    columns="nodes = N | alpha : .2f | switching | cost = equal | network | size = cluster"
    " | width = bits | flits | tables : .2f | flip_flops = registers : .2f"
    " | throughput : .2f | throughput_ci = ± : .2f | ratio : .2f | ratio_ci = ± : .2f"
    " | delay : .1f | delay_ci = ± : .1f | delay_ratio = ratio : .2f"
    " | delay_ratio_ci = ± : .2f | printed = LR : .2f",
    rows=_rows,
    draw=_draw,
    notes=_notes,
    parallel=True,
)
