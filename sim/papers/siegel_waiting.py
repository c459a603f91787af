"""Formula (3) of Siegel et al.: waiting times in output-queued networks."""

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
from .item import Column, Item, Options, PaperResult, deviation, mean_of
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_PORTS = 64
_DEPTH = 32
"""Depth of the queues, practically unlimited at these loads."""
_SEEDS = 4
"""Number of parallel runs, over which means are taken."""
_SLOTS = 1_500_000
"""Terminals times cycles of each run."""
_WARMUP = 1000
"""Cycles of warm-up; at the highest load a queue is steady after some hundred."""


def _waiting(
    radix: int, ports: int, loads: Sequence[float], options: Options
) -> list[tuple[float, float | None]]:
    """Mean waiting time in the whole network at each load in cycles, and its interval."""
    network = MultistageNetwork(ports, radix=radix, switch="output-queued", depth=_DEPTH)
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
        latencies = [result.latency for result in results[first : first + seeds]]
        means = [mean_of(latency) for latency in latencies]
        widths = [latency.ci99 for latency in latencies if latency.ci99 is not None]
        width = math.hypot(*widths) / seeds if len(widths) == seeds else None
        found.append((sum(means) / seeds - network.stages, width))
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
            for load, (waiting, width) in zip(loads, _waiting(radix, ports, loads, options)):
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
            axes.errorbar(
                [row["load"] for row in points],
                [row["measured"] for row in points],
                [row["ci99"] or 0 for row in points],
                fmt=f"oC{number}",
                markersize=4,
                capsize=2,
                label=f"{label}, RTL",
            )
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


ITEMS = (
    Item(
        "siegel-eq3",
        "Waiting times in output-queued networks: formula (3) and RTL",
        f"{SOURCE}, VI-D",
        equation_3,
    ),
)
