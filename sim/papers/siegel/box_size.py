"""Size of boxes against load, for replicated buffered networks (Siegel et al., VI-D).

A terminal has a link to each copy, and each packet takes a random one. So each copy is a network of
its own at a load of p / d, and only one is simulated.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...run.run import Run
from ...theory.buffered_delay import serial_delay
from ...workload.traffic import pattern
from ..item import Item, Options, Row, finite, mean_of
from ..panels import Lines, Panel, dots
from . import SOURCE

__all__ = ["BOX_SIZE"]

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

_LOADS = {"crosspoints": (0.1, 0.5, 0.9), "chips": (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)}


def _measure(
    network: _Network, loads: Sequence[float], options: Options
) -> dict[float, tuple[float, float | None]]:
    """Mean delay on the RTL in one copy, and its interval, at each load of the terminals."""
    switch: dict[str, Any] = {"switch": "output-queued", "depth": 4 * _ROOM}
    if network.length > 1:
        switch = {"switch": "cut-through", "queues": "crosspoint", "length": network.length}
        switch["depth"] = _ROOM * network.length
    rtl = MultistageNetwork(_PORTS, radix=network.radix, **switch)
    cycles = options.window(_SLOTS, _PORTS)
    uniform = pattern("uniform", _PORTS)
    runs = [
        Run(uniform, load / network.copies, cycles, cycles // 4, options.seed) for load in loads
    ]
    latencies = [result.latency for result in options.simulated(rtl, runs, bins=64)]
    return dict(zip(loads, ((mean_of(latency), latency.ci99) for latency in latencies)))


def _rows(options: Options) -> Iterator[Row]:
    for cost, networks in _COSTS.items():
        loads = _LOADS[cost][1:3] if options.quick else _LOADS[cost]
        for network in networks[: 2 if options.quick else None]:
            share = network.length / network.copies
            found = _measure(network, [p for p in loads if p * share <= _HIGHEST], options)
            for load in loads:
                predicted = finite(network.delay(load))
                measured, width = found.get(load, (None, None))
                yield {
                    "cost": cost,
                    "form": network,
                    "radix": network.radix,
                    "copies": network.copies,
                    "length": network.length,
                    "crosspoints": network.crosspoints,
                    "boxes": network.boxes,
                    "load": load,
                    "measured": measured,
                    "ci99": width,
                    "predicted": predicted,
                    "best": network == min(networks, key=lambda each: each.delay(load)),
                }


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


_HIGHEST_DELAYS = {"crosspoints": 10, "chips": 50}
"""The largest delays that are drawn."""


def _loads_drawn(row: Row) -> np.ndarray:
    """Up to near the saturation of the copies."""
    return np.linspace(0, min(1, 0.93 * row["copies"] / row["length"]), 300)


BOX_SIZE = Item(
    "siegel-box-size",
    "Delay of replicated buffered networks of equal cost by size of box and load",
    f"{SOURCE}, VI-D",
    columns="cost = equal | radix = k | copies = d | length = c | crosspoints | boxes"
    " | load = p : g | measured = delay, RTL : .2f | ci99 = ± 99 % : .2f"
    " | predicted = formula : .2f | deviation : +.1% | best",
    rows=_rows,
    draw=Panel(
        "load",
        [
            Lines(
                lambda row: row["form"].delay,
                "-",
                "k = {radix}, d = {copies}, c = {length}",
                grid=_loads_drawn,
            ),
            dots(),
            lambda axes, rows: axes.set_ylim(0, _HIGHEST_DELAYS[rows[0]["cost"]]),
        ],
        ["form"],
        title=f"as many {{cost}}, N = {_PORTS}; dots: RTL",
        xlabel="p (packets per terminal per cycle)",
        ylabel="mean delay (cycles)",
        legend={"fontsize": "small", "loc": "lower right"},
        by="cost",
    ),
    notes=lambda rows, options: (
        f"Cycles from generation to delivery, N = {_PORTS}, d copies, packets of c cycles; "
        "crosspoints per terminal. A copy of the RTL has the load p / d.",
        "Equal crosspoints: lines are as wide as a packet. Equal chips: a box is a chip with a "
        "fixed number of pins, so c grows with k. Best: by the formula.",
        *(f"Equal {cost}: {_order(cost)}." for cost in _COSTS),
    ),
)
