"""Figure 12: delays of BH/BH with random, improved and shortest-queue routing.

Its largest network stands beside the formula at alpha 0.6 too, with longer and longer packets.
"""

from collections.abc import Iterator

from ....hdl.switch.selection import Selection
from ...theory.hierarchical import Rates, TwoLevel
from ..item import Item, Options, Row, deviation
from ..panels import Lines, Panel, dots
from . import SOURCE
from .delays_by_alpha import (
    COLUMNS,
    DRAW_DELAYS,
    Line,
    about_delays,
    compared_row,
    delays,
    small_and_large,
    window,
)
from .delays_on_rtl import Point, measured

__all__ = ["FIG12", "LENGTHS"]

_PRINTED = {
    ("random", 0.5): 15.2,
    ("random", 0.6): 5.3,
    ("least-count", 0.5): 6.3,
    ("least-count", 0.6): 3.8,
}
"""What the paper simulated for D = 6, d = 3, by selection and alpha."""

_CHOICES: tuple[Selection, ...] = ("random", "least-count", "shortest-queue")


def _rows(options: Options) -> Iterator[Row]:
    lines = [
        line._replace(panel="", selection=selection)
        for line in small_and_large(options)
        for selection in _CHOICES
    ]
    for row in delays(lines, options):
        if row["nodes"] == 64:
            row["published"] = _PRINTED.get((row["selection"], row["alpha"]))
        yield row


FIG12 = Item(
    "dandamudi-fig12",
    "Delays of BH/BH with random, improved and shortest-queue routing",
    f"{SOURCE}, section IV-B",
    columns="line | selection | nodes = N | alpha : .2f"
    f" | published = printed, simulated : .1f | {COLUMNS}",
    rows=_rows,
    draw=DRAW_DELAYS,
    notes=lambda rows, options: (
        *about_delays(rows, options),
        "The paper's improved routing is least-count. It expects shortest-queue to be somewhat "
        "better.",
    ),
    parallel=True,
)


def _by_length(options: Options) -> Iterator[Row]:
    rates, alpha = Rates(1, 1.5, 3), 0.6
    network = TwoLevel("bh", 2, 1) if options.quick else TwoLevel("bh", 3, 3)
    line = Line("", "", [(network, alpha)], rates)
    lengths = (2, 4) if options.quick else (4, 16, 64)
    time = 2 * window(network, alpha, rates, options)
    points = [Point(network, alpha, rates, length, time) for length in lengths]
    for length, found in zip(lengths, measured(points, options)):
        row = compared_row(line, network, alpha, length, found)
        yield row | {"clock": deviation(row["clocked"], row["predicted"])}


LENGTHS = Item(
    "dandamudi-lengths",
    "Delay of BH/BH on RTL and by formula, by the mean length of packets",
    f"{SOURCE}, section III-B",
    columns="length = mean flits | predicted = R, printed formula : .3f"
    " | clocked = with a clock : .3f | clock = clock to printed : +.1%"
    " | measured = RTL : .3f | ci99 = ± 99 % : .3f | deviation = RTL to clock : +.1%",
    rows=_by_length,
    draw=Panel(
        "length",
        [
            Lines("predicted", "-", "printed formula", look={"color": "C0"}),
            Lines("clocked", "--", "with a clock", look={"color": "C1"}),
            dots("RTL", look={"color": "C2", "markersize": 3}),
        ],
        xlabel="mean flits of a packet",
        ylabel="mean delay R",
        xlog=2,
        size=(6.4, 4.2),
    ),
    parallel=True,
)
