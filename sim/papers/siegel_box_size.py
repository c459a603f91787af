"""Size of boxes against load, for replicated buffered networks (Siegel et al., VI-D).

A terminal has a link to each copy, and each packet takes a random one. So each copy is a network of
its own at a load of p / d, and only one is simulated.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ...hdl.networks import MultistageNetwork
from ..run.run import Run
from ..run.simulation import whole_runs
from ..theory.multistage_cube import serial_delay
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, deviation, dots, mean_of
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_PORTS = 64
_ROOM = 8
"""Packets that a queue holds, enough for the loads that are simulated."""
_HIGHEST = 0.7
"""Highest traffic of a copy that is simulated."""
_SLOTS = 800_000
"""Terminals times cycles of a run."""


class _Network(NamedTuple):
    """Boxes of one size: their copies, and the cycles that a packet takes on a line."""

    radix: int
    stages: int
    copies: int
    length: int

    def delay(self, load: float) -> float:
        """Mean delay by the formula; infinite from the saturation of the copies on."""
        share = load / self.copies
        if share * self.length >= 1:
            return float("inf")
        return serial_delay(share, self.radix, self.stages, self.length)

    @property
    def crosspoints(self) -> int:
        """Crosspoints per terminal."""
        return self.copies * self.radix * self.stages

    @property
    def boxes(self) -> int:
        return self.copies * self.stages * _PORTS // self.radix


_COSTS = {
    "crosspoints": (_Network(2, 6, 4, 1), _Network(4, 3, 4, 1), _Network(8, 2, 3, 1)),
    "chips": (_Network(2, 6, 1, 4), _Network(4, 3, 4, 8), _Network(8, 2, 12, 16)),
}
"""Networks of equal cost. Equal crosspoints: lines as wide as a packet. Equal chips: a box is a
chip with a fixed number of pins, so lines are narrower, and packets longer, the larger a box is."""

_LOADS = {
    "crosspoints": (0.1, 0.5, 0.9),
    "chips": (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
}


def _measure(
    network: _Network, loads: Sequence[float], options: Options
) -> dict[float, tuple[float, float | None]]:
    """Mean delay on the RTL in one copy, and its interval, at each load of the terminals."""
    switch: dict[str, Any] = {"switch": "output-queued", "depth": 4 * _ROOM}
    if network.length > 1:
        switch = {"switch": "cut-through", "queues": "crosspoint", "length": network.length}
        switch["depth"] = _ROOM * network.length
    rtl = MultistageNetwork(_PORTS, radix=network.radix, **switch)
    cycles = options.cycles or (_SLOTS // 10 if options.quick else _SLOTS) // _PORTS
    uniform = pattern("uniform", _PORTS)
    runs = [
        Run(uniform, load / network.copies, cycles, cycles // 4, options.seed) for load in loads
    ]
    results = whole_runs(rtl, runs, engine=options.engine, bins=64, progress=options.progress)
    found = [(mean_of(result.latency), result.latency.ci99) for result in results]
    return dict(zip(loads, found))


def box_sizes(options: Options) -> PaperResult:
    """Mean delay of networks of equal cost by load."""
    rows = []
    for cost, networks in _COSTS.items():
        loads = _LOADS[cost][1:3] if options.quick else _LOADS[cost]
        best = {load: min(networks, key=lambda network: network.delay(load)) for load in loads}
        for network in networks[: 2 if options.quick else None]:
            share = network.length / network.copies
            simulated = [load for load in loads if load * share <= _HIGHEST]
            found = _measure(network, simulated, options)
            for load in loads:
                delay = network.delay(load)
                predicted = delay if delay < float("inf") else None
                measured, width = found.get(load, (None, None))
                rows.append(
                    {
                        "cost": cost,
                        "radix": network.radix,
                        "copies": network.copies,
                        "length": network.length,
                        "crosspoints": network.crosspoints,
                        "boxes": network.boxes,
                        "load": load,
                        "measured": measured,
                        "ci99": width,
                        "predicted": predicted,
                        "deviation": deviation(measured, predicted),
                        "best": network == best[load],
                    }
                )
    return PaperResult(
        columns=(
            Column("cost", "equal"),
            Column("radix", "k"),
            Column("copies", "d"),
            Column("length", "c"),
            Column("crosspoints", "crosspoints"),
            Column("boxes", "boxes"),
            Column("load", "p", "g"),
            Column("measured", "delay, RTL", ".2f"),
            Column("ci99", "± 99 %", ".2f"),
            Column("predicted", "formula", ".2f"),
            Column("deviation", format="+.1%"),
            Column("best", "best"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            f"Cycles from generation to delivery, N = {_PORTS}, d copies, packets of c cycles; "
            "crosspoints per terminal. A copy of the RTL has the load p / d.",
            "Equal crosspoints: lines are as wide as a packet. Equal chips: a box is a chip with a "
            "fixed number of pins, so c grows with k. Best: by the formula.",
            *(f"Equal {cost}: {_order(cost)}." for cost in _COSTS),
        ),
    )


def _order(cost: str) -> str:
    """The best radix by load, with the loads at which it changes."""
    words: list[str] = []
    last = None
    for load in np.arange(1, 1000) / 1000:
        best = min(_COSTS[cost], key=lambda network: network.delay(load))
        if best.delay(load) < float("inf") and best != last:
            words.append(f"k = {best.radix} from p = {load:g}")
            last = best
    return ", ".join(words)


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, (cost, networks) in zip(figure.subplots(1, 2), _COSTS.items()):
        for number, network in enumerate(networks):
            last = min(1, 0.93 * network.copies / network.length)
            grid = np.linspace(0, last, 300)
            label = f"k = {network.radix}, d = {network.copies}, c = {network.length}"
            axes.plot(
                grid,
                [network.delay(load) for load in grid],
                f"-C{number}",
                linewidth=1,
                label=label,
            )
            points = [
                row
                for row in rows
                if (row["cost"], row["radix"]) == (cost, network.radix)
                and row["measured"] is not None
            ]
            dots(axes, points, "load", number)
        axes.set(
            xlabel="p (packets per terminal per cycle)",
            ylabel="mean delay (cycles)",
            ylim=(0, {"crosspoints": 10, "chips": 50}[cost]),
            title=f"as many {cost}, N = {_PORTS}; dots: RTL",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="lower right")
    return figure


ITEMS = (
    Item(
        "siegel-box-size",
        "Delay of replicated buffered networks of equal cost by size of box and load",
        f"{SOURCE}, VI-D",
        box_sizes,
    ),
)
