"""Hypercube routers under load: the Connection Machine's, e-cube and minimal adaptive.

Stanfill, 3.10: a hypercube of 2^d nodes has a communication time of d. Messages have many routes,
which is an advantage if the routing can use them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...hdl.graphs.families.hypercube import Hypercube
from ...hdl.networks import ConnectionMachine, HypercubeNetwork, PacketNetwork
from ..measure.result import Result
from ..run.run import Run
from ..run.simulation import whole_runs
from ..run.sweeps import ZERO_LOAD
from ..workload.traffic import Pattern, pattern
from .item import Column, Item, Options, PaperResult
from .stanfill_router import SOURCE

__all__ = ["ITEMS"]

_TRAFFIC = ("uniform", "transpose", "bit-reversal", "complement", "hotspot:0.02")
_SIZES = (4, 6, 8, 10, 12)
_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_SLOTS = 400_000
"""Terminals times cycles of each measurement, which has from `_WINDOW` to `_MOST` cycles."""
_WINDOW = 200
_MOST = 2000


def _routers(n: int) -> Iterator[tuple[str, PacketNetwork, int]]:
    """Name, network, and cycles of an unblocked packet that crosses no wire."""
    yield "CM", ConnectionMachine(n, schedule="parallel"), 2
    yield "e-cube", HypercubeNetwork(n, routing="ecube"), 1
    yield "adaptive", HypercubeNetwork(n, routing="adaptive"), 1


def _distance(n: int, traffic: Pattern) -> float:
    """Mean number of wires that a packet has to cross: d/2 if destinations are uniform."""
    plan = Hypercube(n)
    favourite = sum(plan.distance(x, y) for x, y in enumerate(traffic.favourites)) / plan.terminals
    return traffic.bias * favourite + (1 - traffic.bias) * n / 2


def _crossed(result: Result) -> float | None:
    """Mean number of wires that packets crossed: traffic of the wires over that of terminals."""
    wires = sum(use for name, use in result.links.items() if _joins_nodes(name))
    ports = 1 << result.parameters["n"]
    return wires / (result.throughput * ports) if result.throughput else None


def _joins_nodes(link: str) -> bool:
    """Whether a link joins two nodes; the others lead to terminals."""
    return " -> terminal " not in link


def _measure(options: Options) -> Iterator[dict[str, Any]]:
    loads = (0.3, 1.0) if options.quick else _LOADS
    for n in (2,) if options.quick else _SIZES:
        window = max(_WINDOW, min(_MOST, _SLOTS >> n))
        cycles = options.cycles or (_WINDOW if options.quick else window)
        for router, network, overhead in _routers(n):
            patterns = [pattern(name, network.ports) for name in _TRAFFIC]
            runs = [
                Run(traffic, load, cycles, 100 if options.quick else 200, options.seed, 16)
                for traffic in patterns
                for load in (ZERO_LOAD, *loads)
            ]
            results = whole_runs(
                network, runs, engine=options.engine, bins=2, progress=options.progress
            )
            for traffic in patterns:
                own = [result for result in results if result.traffic == traffic.name]
                distance = _distance(n, traffic)
                zero_load, *points = own
                yield {
                    "n": n,
                    "router": router,
                    "traffic": traffic.name,
                    "distance": distance,
                    "crossed": _crossed(zero_load),
                    "predicted": distance + overhead,
                    "measured": zero_load.network_latency.mean,
                    "most": max(point.throughput for point in points),
                    "full": points[-1].throughput,
                    "loads": [point.offered_load for point in points],
                    "throughputs": [point.throughput for point in points],
                    "latencies": [point.network_latency.mean for point in points],
                }


def under_load(options: Options) -> PaperResult:
    """Distance, latency without load and throughput of three routers of hypercubes."""
    rows = list(_measure(options))
    return PaperResult(
        columns=(
            Column("n", "d"),
            Column("router"),
            Column("traffic"),
            Column("distance", "distance", ".2f"),
            Column("crossed", "crossed", ".2f"),
            Column("predicted", "latency", ".2f"),
            Column("measured", "measured", ".2f"),
            Column("most", "most", ".3f"),
            Column("full", "at 1", ".3f"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Hypercubes of 2^d nodes with one terminal each; packets of one flit. CM: the "
            "Connection Machine's router, all dimensions at once, 4 buffers per node. E-cube and "
            "adaptive: wormhole routers, queues of 4 flits (adaptive has two channels per wire).",
            "Distance: mean number of wires between source and destination (d/2 for uniform "
            f"traffic). Crossed: measured at load {ZERO_LOAD}.",
            "Latency in the network, in cycles. Predicted: without load (distance + 2, or + 1 "
            f"for wormhole routers). Measured: at load {ZERO_LOAD}.",
            "Throughput in packets per terminal per cycle: the highest at any load, and at load 1. "
            "A terminal can send and accept 1; hotspot:0.02 is limited by one terminal's output.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    traffics = list(dict.fromkeys(row["traffic"] for row in rows))
    routers = list(dict.fromkeys(row["router"] for row in rows))
    figure = Figure(figsize=(3.4 * len(traffics), 6.4), layout="constrained")
    grid = figure.subplots(2, len(traffics), squeeze=False, sharex=True)
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    for column, traffic in enumerate(traffics):
        for row in (row for row in rows if row["traffic"] == traffic):
            look = {
                "color": f"C{routers.index(row['router'])}",
                "alpha": 0.35 + 0.65 * (sizes.index(row["n"]) + 1) / len(sizes),
                "linewidth": 0.6 + 0.3 * sizes.index(row["n"]),
            }
            label = row["router"] if row["n"] == sizes[-1] else None
            grid[0][column].plot(row["loads"], row["throughputs"], label=label, **look)
            grid[1][column].plot(row["loads"], row["latencies"], **look)
        grid[0][column].set(title=traffic, ylim=(0, 1.02))
        grid[1][column].set(yscale="log", xlabel="offered load")
    grid[0][0].set_ylabel("throughput (packets per terminal per cycle)")
    grid[1][0].set_ylabel("latency in the network (cycles)")
    for axes in grid.flat:
        axes.grid(alpha=0.3)
    lines, names = grid[0][0].get_legend_handles_labels()
    sizes_shown = ", ".join(map(str, sizes))
    figure.legend(
        lines,
        names,
        loc="outside lower center",
        ncols=len(names),
        title=f"d = {sizes_shown}: darker lines for larger d",
    )
    return figure


def _permutations(options: Options) -> Iterator[dict[str, Any]]:
    for n in (2,) if options.quick else (2, *_SIZES):
        for router, network, overhead in _routers(n):
            traffics = [f"one-each:{name}" for name in _TRAFFIC[1:4]]
            patterns = [pattern(name, network.ports) for name in traffics]
            results = whole_runs(
                network,
                [Run(each, seed=options.seed) for each in patterns],
                engine=options.engine,
                bins=2,
                progress=options.progress,
            )
            plan = Hypercube(n)
            for each, result in zip(patterns, results):
                pairs = enumerate(each.favourites)
                farthest = max(plan.distance(x, y) for x, y in pairs)
                last = result.network_latency.max
                yield {
                    "n": n,
                    "terminals": network.ports,
                    "router": router,
                    "permutation": each.name.split(":")[1],
                    "predicted": farthest + overhead,
                    "measured": last,
                    "ratio": last and last / (farthest + overhead),
                    "mean": result.network_latency.mean,
                }


def one_permutation(options: Options) -> PaperResult:
    """Cycles until the last packet of a whole permutation has arrived, against log N."""
    rows = list(_permutations(options))
    return PaperResult(
        columns=(
            Column("n", "log2 N"),
            Column("terminals", "N", ","),
            Column("router"),
            Column("permutation"),
            Column("predicted", "at least", ".0f"),
            Column("measured", "last packet", ".0f"),
            Column("ratio", "times", ".2f"),
            Column("mean", "mean", ".2f"),
        ),
        rows=rows,
        draw=lambda: _draw_permutations(rows),
        notes=(
            "One packet from every terminal, all in the same cycle; cycles until the last one "
            "is delivered, and on average. At least: the longest path without conflicts.",
        ),
    )


def _draw_permutations(rows: Sequence[dict[str, Any]]) -> Figure:
    names = list(dict.fromkeys(row["permutation"] for row in rows))
    figure = Figure(figsize=(3.8 * len(names), 4), layout="constrained")
    grid = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axes, name in zip(grid, names):
        own = [row for row in rows if row["permutation"] == name]
        for router in dict.fromkeys(row["router"] for row in own):
            points = [row for row in own if row["router"] == router]
            sizes = [row["n"] for row in points]
            axes.plot(sizes, [row["measured"] for row in points], "-o", ms=4, label=router)
        sizes = [row["n"] for row in points]
        axes.plot(
            sizes, [row["predicted"] for row in points], "k--", lw=1, label="adaptive, at least"
        )
        axes.set(title=name, xlabel="log2 N")
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("cycles to the last packet")
    grid[0].legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "stanfill-hypercube",
        "Distance, latency and throughput of three routers for hypercubes of d dimensions",
        f"{SOURCE}, 3.10",
        under_load,
    ),
    Item(
        "stanfill-permutation",
        "Time of a whole permutation, against log N",
        f"{SOURCE}, 3.10",
        one_permutation,
    ),
)
