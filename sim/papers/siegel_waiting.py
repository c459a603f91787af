"""Formula (3) of Siegel et al.: waiting times in output-queued networks.

With packets of several flits, output queues are those of cut-through switches with a queue per
crosspoint: an output serves its k queues without a pause, one packet after the other.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.networks import MultistageNetwork
from ..run.run import Run
from ..run.simulation import whole_runs
from ..theory.multistage_cube import first_stage_waiting, later_stage_waiting
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, deviation, dots, mean_of
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_PORTS = 64
_DEPTH = 32
"""Depth of the queues, practically unlimited at these loads."""
_ROOM = 16
"""Packets of several flits that a queue at a crosspoint holds, as well practically unlimited."""
_SEEDS = 4
"""Number of parallel runs, over which means are taken."""
_SLOTS = 1_500_000
"""Terminals times cycles of each run."""
_WARMUP = 1000
"""Cycles of warm-up; at the highest load a queue is steady after some hundred."""


def _waiting(
    radix: int, ports: int, loads: Sequence[float], options: Options, length: int = 1
) -> list[tuple[float, float | None, float]]:
    """Mean waiting time in the whole network at each load in cycles, its interval, and the mean
    waiting time in the sources."""
    switch: dict[str, Any] = {"switch": "output-queued", "depth": _DEPTH}
    if length > 1:
        switch = {"switch": "cut-through", "queues": "crosspoint", "length": length}
        switch["depth"] = _ROOM * length
    network = MultistageNetwork(ports, radix=radix, **switch)
    cycles = options.cycles or (_SLOTS // 50 if options.quick else _SLOTS) // ports
    uniform = pattern("uniform", ports)
    seeds = 2 if options.quick else _SEEDS
    runs = [
        Run(uniform, load, cycles, _WARMUP, options.seed + 1000 * i)
        for load in loads
        for i in range(seeds)
    ]
    results = whole_runs(network, runs, engine=options.engine, bins=64, progress=options.progress)
    found = []
    for first in range(0, len(results), seeds):
        chosen = results[first : first + seeds]
        latencies = [result.network_latency for result in chosen]
        means = [mean_of(latency) for latency in latencies]
        widths = [latency.ci99 for latency in latencies if latency.ci99 is not None]
        width = math.hypot(*widths) / seeds if len(widths) == seeds else None
        mean = sum(means) / seeds
        whole = sum(mean_of(result.latency) for result in chosen) / seeds
        found.append((mean - (network.stages + length - 1), width, whole - mean))
    return found


def equation_3(options: Options) -> PaperResult:
    """Waiting times in the first stage and in all stages, by the formulas and on the RTL.

    The first stage alone is measured as a network of one box, which has the same arrivals.
    """
    loads = (0.2, 0.6) if options.quick else tuple(i / 10 for i in range(1, 9))
    rows = []
    for radix in (2, 4):
        stages = round(math.log(_PORTS, radix))
        for ports, n in ((radix, 1), (_PORTS, stages)):
            for load, (waiting, width, _) in zip(loads, _waiting(radix, ports, loads, options)):
                first, later = first_stage_waiting(load, radix), later_stage_waiting(load, radix)
                predicted = first + (n - 1) * later
                rows.append(
                    {
                        "radix": radix,
                        "stages": n,
                        "load": load,
                        "measured": waiting,
                        "ci99": width,
                        "predicted": predicted,
                        "deviation": deviation(waiting, predicted),
                    }
                )
    return PaperResult(
        columns=(
            Column("radix", "k"),
            Column("stages"),
            Column("load", "p"),
            Column("measured", "waiting, RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "formula", ".4f"),
            Column("deviation", format="+.2%"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Cycles, packets of c = 1. One stage: formula (3), exact for unlimited queues.",
            "More stages: (3), plus the approximation below it for each further stage. That is the "
            "limit deep",
            "in a network; the sum over a few stages is up to 5 % too high.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    grid = np.linspace(0, 0.85, 200)
    for column, axes in enumerate(figure.subplots(1, 2)):
        for number, radix in enumerate((2, 4)):
            stages = sorted({row["stages"] for row in rows if row["radix"] == radix})[column]
            points = [row for row in rows if row["radix"] == radix and row["stages"] == stages]
            curve = [
                first_stage_waiting(p, radix) + (stages - 1) * later_stage_waiting(p, radix)
                for p in grid
            ]
            label = f"k = {radix}, {stages} stage{'s' if stages > 1 else ''}"
            axes.plot(grid, curve, f"-C{number}", linewidth=1, label=f"{label}, formula")
            dots(axes, points, "load", number, label=f"{label}, RTL")
        axes.set(
            xlabel="p (packets per terminal per cycle)",
            ylabel="mean waiting time (cycles)",
            xlim=(0, 0.87),
            ylim=(0, None),
            title=("first stage: formula (3)", f"all stages of {_PORTS} terminals")[column],
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


_PACKETS = ((2, 2), (2, 4), (2, 8), (4, 4))
"""Radix, and flits of a packet."""


def long_packets(options: Options) -> PaperResult:
    """Waiting times of packets of c flits: the formula for later stages in two readings, and RTL.

    Lines bring one flit per cycle, so all stages are like later ones, and packets wait in the
    sources by (3) with k = 1.
    """
    traffic = (0.5,) if options.quick else (0.2, 0.5, 0.8)
    rows = []
    for radix, length in _PACKETS[1:2] if options.quick else _PACKETS:
        stages = round(math.log(_PORTS, radix))
        loads = [part / length for part in traffic]
        found = _waiting(radix, _PORTS, loads, options, length)
        for part, load, (waiting, width, source) in zip(traffic, loads, found):
            predicted = stages * later_stage_waiting(load, radix, length)
            printed = stages * _printed(load, radix, length)
            rows.append(
                {
                    "radix": radix,
                    "stages": stages,
                    "length": length,
                    "traffic": part,
                    "measured": waiting,
                    "ci99": width,
                    "predicted": predicted,
                    "deviation": deviation(waiting, predicted),
                    "published": printed,
                    "published_deviation": deviation(waiting, printed),
                    "source": source,
                    "source_predicted": first_stage_waiting(load, 1, length),
                }
            )
    return PaperResult(
        columns=(
            Column("radix", "k"),
            Column("stages"),
            Column("length", "c"),
            Column("traffic", "c p", "g"),
            Column("measured", "RTL", ".3f"),
            Column("ci99", "± 99 %", ".3f"),
            Column("predicted", "c (1 - 1/k)", ".3f"),
            Column("deviation", format="+.1%"),
            Column("published", "c - 1/k", ".3f"),
            Column("published_deviation", "deviation", "+.1%"),
            Column("source", "source", ".3f"),
            Column("source_predicted", "(3), k = 1", ".3f"),
        ),
        rows=rows,
        draw=lambda: _draw_packets(rows),
        notes=(
            "Cycles in the network of 64 terminals, and in the sources, which send one flit per "
            "cycle.",
            "c - 1/k: the formula for later stages as printed. c (1 - 1/k): without the waiting "
            "for packets of the same line.",
        ),
    )


def _printed(p: float, k: int, c: int) -> float:
    """Mean waiting time at a later stage as the paper prints it, with (c - 1/k)."""
    return (1 + 4 * c * p / (5 * k)) * first_stage_waiting(p, k, c)


def _draw_packets(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    grid = np.linspace(0, 0.85, 200)
    for number, (k, c) in enumerate(dict.fromkeys((r["radix"], r["length"]) for r in rows)):
        points = [row for row in rows if (row["radix"], row["length"]) == (k, c)]
        stages = points[0]["stages"]
        scale = stages * c
        fits = [stages * later_stage_waiting(x / c, k, c) / scale for x in grid]
        printed = [stages * _printed(x / c, k, c) / scale for x in grid]
        label = f"k = {k}, c = {c}"
        axes.plot(grid, fits, f"-C{number}", linewidth=1, label=f"{label}: c (1 - 1/k)")
        axes.plot(grid, printed, f":C{number}", linewidth=1, label=f"{label}: c - 1/k")
        dots(axes, points, "traffic", number, scale=scale, label=f"{label}: RTL")
    axes.set(
        xlabel="c p (flits per terminal per cycle)",
        ylabel="waiting per stage (lengths of a packet)",
        xlim=(0, 0.87),
        ylim=(0, None),
        title=f"Packets of c flits, {_PORTS} terminals",
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small", ncols=2)
    return figure


ITEMS = (
    Item(
        "siegel-eq3",
        "Waiting times in output-queued networks: formula (3) and RTL",
        f"{SOURCE}, VI-D",
        equation_3,
    ),
    Item(
        "siegel-packets",
        "Waiting times of packets of c flits: the formula for later stages and RTL",
        f"{SOURCE}, VI-D",
        long_packets,
    ),
)
