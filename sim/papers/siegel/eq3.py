"""Formula (3): waiting times in output-queued networks, and what is measured on the RTL.

The first stage alone is measured as a network of one box, which has the same arrivals. With packets
of several flits, output queues are those of cut-through switches with a queue per crosspoint: an
output serves its k queues without a pause, one packet after the other.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...run.run import Run
from ...theory.buffered_delay import first_stage_waiting, later_stage_waiting
from ...workload.traffic import pattern
from ..item import Item, Options, Row, mean_of
from ..panels import Lines, Panel, Plot, dots
from . import SOURCE

__all__ = ["EQ3", "GRID", "TERMINALS", "measure_waiting"]

TERMINALS = 64
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
GRID = np.linspace(0, 0.85, 200)
"""Loads at which the formulas are drawn."""


def measure_waiting(
    radix: int, ports: int, loads: Sequence[float], options: Options, length: int = 1
) -> list[tuple[float, float | None, float]]:
    """Mean waiting time in the whole network at each load in cycles, its interval, and the mean
    waiting time in the sources."""
    switch: dict[str, Any] = {"switch": "output-queued", "depth": _DEPTH}
    if length > 1:
        switch = {"switch": "cut-through", "queues": "crosspoint", "length": length}
        switch["depth"] = _ROOM * length
    network = MultistageNetwork(ports, radix=radix, **switch)
    cycles = options.window(_SLOTS, ports, quick=50)
    uniform = pattern("uniform", ports)
    seeds = 2 if options.quick else _SEEDS
    runs = [
        Run(uniform, load, cycles, _WARMUP, options.seed + 1000 * i)
        for load in loads
        for i in range(seeds)
    ]
    results = options.simulated(network, runs, bins=64)
    found = []
    for first in range(0, len(results), seeds):
        chosen = results[first : first + seeds]
        latencies = [result.network_latency for result in chosen]
        mean = sum(map(mean_of, latencies)) / seeds
        widths = [latency.ci99 for latency in latencies if latency.ci99 is not None]
        width = math.hypot(*widths) / seeds if len(widths) == seeds else None
        whole = sum(mean_of(result.latency) for result in chosen) / seeds
        found.append((mean - (network.stages + length - 1), width, whole - mean))
    return found


def _predicted(load: float, radix: int, stages: int) -> float:
    """Mean waiting time in all stages."""
    later = later_stage_waiting(load, radix)
    return first_stage_waiting(load, radix) + (stages - 1) * later


def _rows(options: Options) -> Iterator[Row]:
    loads = (0.2, 0.6) if options.quick else tuple(i / 10 for i in range(1, 9))
    for radix in (2, 4):
        for ports, stages in ((radix, 1), (TERMINALS, round(math.log(TERMINALS, radix)))):
            found = measure_waiting(radix, ports, loads, options)
            for load, (waiting, width, _) in zip(loads, found):
                predicted = _predicted(load, radix, stages)
                yield {
                    "radix": radix,
                    "stages": stages,
                    "load": load,
                    "measured": waiting,
                    "ci99": width,
                    "predicted": predicted,
                }


def _panel(title: str, name: str, only: Callable[[Row], bool]) -> Panel:
    formula = Lines(
        lambda row: lambda load: _predicted(load, row["radix"], row["stages"]),
        "-",
        f"k = {{radix}}, {name}, formula",
        grid=GRID,
        only=only,
    )
    return Panel(
        "load",
        [formula, dots(f"k = {{radix}}, {name}, RTL", only=only)],
        ["radix"],
        title=title,
        xlabel="p (packets per terminal per cycle)",
        ylabel="mean waiting time (cycles)",
        xlim=(0, 0.87),
        ylim=(0, None),
    )


EQ3 = Item(
    "siegel-eq3",
    "Waiting times in output-queued networks: formula (3) and RTL",
    f"{SOURCE}, VI-D",
    columns="radix = k | stages | load = p | measured = waiting, RTL : .4f"
    " | ci99 = ± 99 % : .4f | predicted = formula : .4f | deviation : +.2%",
    rows=_rows,
    draw=Plot(
        [
            _panel("first stage: formula (3)", "1 stage", lambda row: row["stages"] == 1),
            _panel(
                f"all stages of {TERMINALS} terminals",
                "{stages} stages",
                lambda row: row["stages"] > 1,
            ),
        ]
    ),
    notes=(
        "Cycles, packets of c = 1. One stage: formula (3), exact for unlimited queues.",
        "More stages: (3), plus the approximation below it for each further stage. That is the "
        "limit deep",
        "in a network; the sum over a few stages is up to 5 % too high.",
    ),
)
