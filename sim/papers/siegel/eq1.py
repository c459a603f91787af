"""Formulas (1) and (2): the throughput of unbuffered networks, and what is measured on the RTL."""

from collections.abc import Callable

from ...theory.unbuffered_bandwidth import (
    unbuffered_throughput,
    unbuffered_throughput_approximation,
)
from ..item import Item, Options, Row, deviation, throughput_row
from ..panels import Lines, Panel, dots
from . import SOURCE
from .fig9 import LARGEST, RADICES, measure_unbuffered, measured_sizes, stages_of

__all__ = ["EQ1"]

_LOADS = (0.5, 1.0)


def _rows(options: Options) -> list[Row]:
    rows = []
    for radix in RADICES:
        for ports, stages in measured_sizes(radix, options).items():
            results = measure_unbuffered(ports, radix, _LOADS, options)
            for load, result in zip(_LOADS, results):
                closed = unbuffered_throughput_approximation(load, radix, stages)
                row: Row = {"load": load, "boxes": f"{radix}x{radix}", "ports": ports}
                row |= {"radix": radix, "stages": stages, "approximation": closed}
                row |= throughput_row(result, unbuffered_throughput(load, radix, stages))
                row["approximation_deviation"] = deviation(row["measured"], closed)
                rows.append(row)
    return sorted(rows, key=lambda row: (row["load"], row["boxes"], row["ports"]))


def _formula(formula: Callable[[float, int, int], float], style: str, name: str) -> Lines:
    """A formula as a line, at the sizes that a network of such boxes can have."""
    return Lines(
        lambda row: (
            lambda ports: formula(
                row["load"], row["radix"], stages_of(round(ports), row["radix"]) or 0
            )
        ),
        style,
        f"k = {{radix}}, {name}",
        grid=lambda row: [n for n in (row["radix"] ** k for k in range(1, 13)) if n <= LARGEST],
    )


EQ1 = Item(
    "siegel-eq1",
    "Throughput of unbuffered networks: recurrence (1), formula (2) and RTL",
    f"{SOURCE}, VI-B",
    columns="load = p | boxes | ports = N : , | stages | measured = RTL : .4f"
    " | ci99 = ± 99 % : .4f | predicted = recurrence (1) : .4f | deviation : +.2%"
    " | approximation = formula (2) : .4f | approximation_deviation = deviation : +.2%",
    rows=_rows,
    draw=Panel(
        "ports",
        [
            _formula(unbuffered_throughput, "-", "recurrence (1)"),
            _formula(unbuffered_throughput_approximation, ":", "formula (2)"),
            dots("k = {radix}, RTL"),
        ],
        ["radix"],
        title="p = {load:g}",
        xlabel="N, number of terminals",
        ylabel="throughput (packets per terminal per cycle)",
        ylim=(0, None),
        xlog=2,
        by="load",
    ),
    notes=(
        "Packets delivered per terminal per cycle, uniform traffic.",
        "(1) is exact under its assumptions, (2) is an upper bound of (1).",
    ),
)
