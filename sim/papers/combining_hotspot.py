"""Hot spots, with and without combining (Siegel et al., IV-B).

A fraction h of all requests is for one word, the others are for words drawn uniformly. The module
of that word answers one request per cycle, and h + (1 - h)/N of the N processors' requests are for
it. Without combining, each processor can therefore complete at most 1/(1 + h (N - 1)) requests per
cycle (G. F. Pfister and V. A. Norton, IEEE Trans. Computers C-34 (10), 1985).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...hdl.networks import CombiningNetwork
from ..run.run import Run
from ..run.simulation import whole_runs
from ..theory.hot_spot import hot_spot_limit
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, deviation
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_SIZES = (64, 256, 1024)
_HOT = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)
_LOADS = (0.1, 0.2, 0.4, 0.6, 1.0)
_NEAR_LIMIT = (0.5, 0.9)
"""Further loads, as fractions of the limit without combining."""
_COMBINE = ("none", "all")
_SLOTS = 500_000
"""Processors times cycles of each measurement, which lasts at least `_WINDOW` cycles."""
_WINDOW = 4000


def _runs(options: Options, ports: int) -> Iterator[tuple[float, Run]]:
    """Measure all fractions and loads at one size; they run in parallel."""
    for hot in (0.0, 0.04) if options.quick else _HOT:
        limit = hot_spot_limit(ports, hot)
        loads = {0.2, 1.0} if options.quick else {*_LOADS, *(part * limit for part in _NEAR_LIMIT)}
        cycles = options.cycles or (500 if options.quick else max(_WINDOW, _SLOTS // ports))
        # The tree of full queues behind a hot spot grows with the number of processors.
        warmup = 500 if options.quick else 500 + 4 * ports
        for load in sorted(loads):
            traffic = pattern(f"hotspot:{hot}", ports)
            yield (
                hot,
                Run(traffic, round(load, 6), cycles, warmup, options.seed, 16, history=0),
            )


def _measure(options: Options) -> Iterator[dict[str, Any]]:
    for ports in _SIZES[:1] if options.quick else _SIZES:
        cases = list(_runs(options, ports))
        for combine in _COMBINE:
            results = whole_runs(
                CombiningNetwork(ports, combine=combine),
                [run for _, run in cases],
                engine=options.engine,
                bins=16,
                progress=options.progress,
            )
            for (hot, run), result in zip(cases, results):
                limit = hot_spot_limit(ports, hot)
                limited = hot and combine == "none"
                predicted = min(run.load, limit) if limited else None
                yield {
                    "ports": ports,
                    "hot": hot,
                    "combine": combine,
                    "load": run.load,
                    "limit": limit,
                    "predicted": predicted,
                    "measured": result.throughput,
                    "ci99": result.throughput_ci99,
                    "deviation": deviation(result.throughput, predicted),
                    "round_trip": result.round_trip and result.round_trip.mean,
                    "background": result.background_latency or result.network_latency.mean,
                    "combined": sum(result.statistics["combined"]),
                }


def hot_spots(options: Options) -> PaperResult:
    """Accepted traffic, and latency of requests to other words, with a hot spot."""
    rows = list(_measure(options))
    return PaperResult(
        columns=(
            Column("ports", "N", ","),
            Column("hot", "h", ".0%"),
            Column("combine"),
            Column("load", "offered", ".4f"),
            Column("predicted", "predicted", ".4f"),
            Column("measured", "accepted", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("deviation", "deviation", "+.1%"),
            Column("round_trip", "round trip", ".1f"),
            Column("background", "of the others", ".1f"),
            Column("combined", "combined", ".3f"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Requests per processor per cycle. All are fetch-and-adds, a fraction h for one word, "
            "the others uniform. 2 x 2 boxes, 16 outstanding requests per processor.",
            "Predicted, without combining: the load, but at most 1/(1 + h (N - 1)). "
            "Combined: the share of the requests that did not reach the memory themselves.",
            "Round trips in cycles, from the offer to the network to the reply. Of the others: "
            "of requests that were not for the hot word. Without any conflict: 2 log2 N + 1.",
            "At load 1, without a hot spot or with combining, a processor is limited by its 16 "
            "outstanding requests, and by conflicts of random traffic in the boxes.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    sizes = list(dict.fromkeys(row["ports"] for row in rows))
    fractions = list(dict.fromkeys(row["hot"] for row in rows))
    figure = Figure(figsize=(4.6 * len(sizes), 8), layout="constrained")
    axes = figure.subplots(2, len(sizes), squeeze=False)
    for column, ports in enumerate(sizes):
        accepted, latency = axes[:, column]
        for colour, hot in enumerate(fractions):
            for combine, style in (("all", "-o"), ("none", "--s")):
                points = [
                    row
                    for row in rows
                    if (row["ports"], row["hot"], row["combine"]) == (ports, hot, combine)
                ]
                loads = [row["load"] for row in points]
                look = {"color": f"C{colour}", "markersize": 3.5, "linewidth": 1}
                accepted.plot(loads, [row["measured"] for row in points], style, **look)
                label = f"h = {hot:.0%}" if combine == "all" else None
                trips = [row["background"] for row in points]
                latency.plot(loads, trips, style, label=label, **look)
            if hot:
                limit = hot_spot_limit(ports, hot)
                accepted.axhline(limit, color=f"C{colour}", linestyle=":", linewidth=0.8)
        accepted.set(
            title=f"N = {ports:,}",
            xlabel="offered (requests per processor per cycle)",
            ylabel="accepted (requests per processor per cycle)",
            ylim=(0, None),
        )
        latency.set(
            xlabel="offered (requests per processor per cycle)",
            ylabel="round trip of requests not for the hot word (cycles)",
            yscale="log",
        )
        for each in (accepted, latency):
            each.grid(alpha=0.3)
    lines, names = axes[1][0].get_legend_handles_labels()
    title = "solid: combining; dashed: none; dotted: 1/(1 + h (N - 1))"
    figure.legend(lines, names, loc="outside lower center", ncols=len(lines), title=title)
    return figure


ITEMS = (
    Item(
        "combining-hotspot",
        "Accepted traffic and latency with a hot spot, with and without combining",
        f"{SOURCE}, IV-B",
        hot_spots,
    ),
)
