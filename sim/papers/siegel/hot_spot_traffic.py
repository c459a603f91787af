"""Hot spots, with and without combining (Siegel et al., IV-B).

A fraction h of all requests is for one word, the others are for words drawn uniformly. The module
of that word answers one request per cycle, and h + (1 - h)/N of the N processors' requests are for
it. Without combining, each processor can therefore complete at most 1/(1 + h (N - 1)) requests per
cycle (G. F. Pfister and V. A. Norton, IEEE Trans. Computers C-34 (10), 1985).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from ....hdl.families.combining_network import CombiningNetwork
from ...run.run import Run
from ...theory.hot_spot import hot_spot_limit
from ...workload.traffic import pattern
from ..item import Item, Options, Row, grouped, throughput_row
from ..panels import Layer, Lines, Panel, Plot, having
from . import SOURCE

__all__ = ["HOTSPOT"]

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
            yield (hot, Run(traffic, round(load, 6), cycles, warmup, options.seed, 16, history=0))


def _rows(options: Options) -> Iterator[Row]:
    for ports in _SIZES[:1] if options.quick else _SIZES:
        cases = list(_runs(options, ports))
        for combine in _COMBINE:
            network = CombiningNetwork(ports, combine=combine)
            results = options.simulated(network, [run for _, run in cases], bins=16)
            for (hot, run), result in zip(cases, results):
                limit = hot_spot_limit(ports, hot)
                limited = hot and combine == "none"
                yield throughput_row(result, min(run.load, limit) if limited else None) | {
                    "ports": ports,
                    "hot": hot,
                    "combine": combine,
                    "load": run.load,
                    "limit": limit,
                    "round_trip": result.round_trip and result.round_trip.mean,
                    "background": result.background_latency or result.network_latency.mean,
                    "combined": sum(result.statistics["combined"]),
                }


def _colour(row: Row) -> int:
    return _HOT.index(row["hot"])


def _draw_limits(axes: Axes, rows: Sequence[Row]) -> None:
    for row in (own[0] for own in grouped(rows, "hot").values()):
        if row["hot"]:
            axes.axhline(row["limit"], color=f"C{_colour(row)}", linestyle=":", linewidth=0.8)


def _panel(what: str, *layers: Layer, **axes: Any) -> Panel:
    def lines(combine: str, style: str, label: str) -> Lines:
        look = {"markersize": 3.5}
        return Lines(what, style, label, only=having(combine=combine), look=look)

    label = "h = {hot:.0%}" if what == "background" else ""
    return Panel(
        "load",
        [lines("all", "-o", label), lines("none", "--s", ""), *layers],
        ["hot", "combine"],
        colour=_colour,
        xlabel="offered (requests per processor per cycle)",
        **axes,
        legend=None,
    )


_ACCEPTED = _panel(
    "measured",
    _draw_limits,
    title="N = {ports:,}",
    ylabel="accepted (requests per processor per cycle)",
    ylim=(0, None),
)
_LATENCY = _panel(
    "background", ylabel="round trip of requests not for the hot word (cycles)", ylog=10
)

HOTSPOT = Item(
    "combining-hotspot",
    "Accepted traffic and latency with a hot spot, with and without combining",
    f"{SOURCE}, IV-B",
    columns="ports = N : , | hot = h : .0% | combine | load = offered : .4f | predicted : .4f"
    " | measured = accepted : .4f | ci99 = ± 99 % : .4f | deviation : +.1%"
    " | round_trip = round trip : .1f | background = of the others : .1f"
    " | combined : .3f",
    rows=_rows,
    draw=Plot(
        [_ACCEPTED, _LATENCY],
        by="ports",
        size=(4.6, 4),
        legend={
            "title": "solid: combining; dashed: none; dotted: 1/(1 + h (N - 1))",
            "fontsize": "medium",
        },
    ),
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
