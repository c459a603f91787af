"""Waiting times of packets of c flits (VI-D): the formula in two readings, and RTL.

Lines bring one flit per cycle, so all stages are like later ones, and packets wait in the sources
by (3) with k = 1.
"""

import math
from collections.abc import Callable, Iterator

from ...theory.buffered_delay import first_stage_waiting, later_stage_waiting
from ..item import Item, Options, Row, deviation
from ..panels import Lines, Panel, dots
from . import SOURCE
from .eq3 import GRID, TERMINALS, measure_waiting

__all__ = ["PACKETS"]

_PACKETS = ((2, 2), (2, 4), (2, 8), (4, 4))
"""Radix, and flits of a packet."""


def _printed(p: float, k: int, c: int) -> float:
    """Mean waiting time at a later stage as the paper prints it, with (c - 1/k)."""
    return (1 + 4 * c * p / (5 * k)) * first_stage_waiting(p, k, c)


def _rows(options: Options) -> Iterator[Row]:
    traffic = (0.5,) if options.quick else (0.2, 0.5, 0.8)
    for radix, length in _PACKETS[1:2] if options.quick else _PACKETS:
        stages = round(math.log(TERMINALS, radix))
        found = measure_waiting(
            radix, TERMINALS, [part / length for part in traffic], options, length
        )
        for part, (waiting, width, source) in zip(traffic, found):
            load = part / length
            predicted = stages * later_stage_waiting(load, radix, length)
            printed = stages * _printed(load, radix, length)
            yield {
                "radix": radix,
                "stages": stages,
                "length": length,
                "traffic": part,
                "measured": waiting,
                "ci99": width,
                "predicted": predicted,
                "published": printed,
                "published_deviation": deviation(waiting, printed),
                "source": source,
                "source_predicted": first_stage_waiting(load, 1, length),
            }


_LABEL = "k = {radix}, c = {length}"


def _formula(formula: Callable[[float, int, int], float], style: str, name: str) -> Lines:
    """A formula for a stage, in lengths of a packet."""
    return Lines(
        lambda row: lambda x: formula(x / row["length"], row["radix"], row["length"]),
        style,
        f"{_LABEL}: {name}",
        grid=GRID,
        scale=lambda row: row["length"],
    )


PACKETS = Item(
    "siegel-packets",
    "Waiting times of packets of c flits: the formula for later stages and RTL",
    f"{SOURCE}, VI-D",
    columns="radix = k | stages | length = c | traffic = c p : g | measured = RTL : .3f"
    " | ci99 = ± 99 % : .3f | predicted = c (1 - 1/k) : .3f | deviation : +.1%"
    " | published = c - 1/k : .3f | published_deviation = deviation : +.1%"
    " | source : .3f | source_predicted = (3), k = 1 : .3f",
    rows=_rows,
    draw=Panel(
        "traffic",
        [
            _formula(later_stage_waiting, "-", "c (1 - 1/k)"),
            _formula(_printed, ":", "c - 1/k"),
            dots(f"{_LABEL}: RTL", scale=lambda row: row["stages"] * row["length"]),
        ],
        ["radix", "length"],
        title=f"Packets of c flits, {TERMINALS} terminals",
        xlabel="c p (flits per terminal per cycle)",
        ylabel="waiting per stage (lengths of a packet)",
        xlim=(0, 0.87),
        ylim=(0, None),
        legend={"fontsize": "x-small", "ncols": 2},
        size=(6.4, 4.4),
    ),
    notes=(
        "Cycles in the network of 64 terminals, and in the sources, which send one flit per cycle.",
        "c - 1/k: the formula for later stages as printed. c (1 - 1/k): without the waiting "
        "for packets of the same line.",
    ),
)
