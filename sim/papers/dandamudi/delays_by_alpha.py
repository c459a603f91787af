"""Delays of packet-switched networks where the paper simulates: by the formulas and on the RTL.

Figures 8, 9 and 12 are made of lines, and so is their table.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from ....hdl.switch.selection import Selection
from ...theory.hierarchical import Hypercube, Rates, TwoLevel
from ..item import Options, Row, deviation, finite
from ..panels import Lines, Panel, Plot, dots
from .delays_on_rtl import Measurement, Point, clocked, measured
from .two_levels import AnyNetwork

__all__ = [
    "COLUMNS",
    "DRAW_DELAYS",
    "Line",
    "about_delays",
    "alphas_of",
    "compared_row",
    "delays",
    "small_and_large",
    "window",
]

_LENGTH = 16
"""Mean flits of a packet."""
_TIME = 4000
"""The window of 64 nodes in the paper's time. Fewer nodes have longer ones, and more nodes shorter
ones, so that all send as many packets."""
_BUSY, _LONGER = 0.9, 4
"""Where links are busier than this, delays change slowly, and windows are longer by this factor."""
_QUICK_LENGTH, _QUICK_TIME = 4, 100
_QUICK_NODES = 8
"""Most nodes that quick runs simulate."""


def window(network: Hypercube | TwoLevel, alpha: float, rates: Rates, options: Options) -> int:
    """The window of a point, in the paper's time."""
    if options.quick:
        return _QUICK_TIME
    busiest = network.cluster_load(1, alpha, rates) if isinstance(network, TwoLevel) else 0
    longer = _LONGER if busiest > _BUSY * rates.cluster else 1
    return _TIME * 64 * longer // network.nodes


class Line(NamedTuple):
    """A line of a figure: points are networks and alpha."""

    panel: str
    label: str
    points: Sequence[tuple[AnyNetwork, float]]
    rates: Rates
    selection: Selection = "random"


def delays(lines: Sequence[Line], options: Options) -> Iterator[Row]:
    """Delays of all points."""
    length = _QUICK_LENGTH if options.quick else _LENGTH
    wanted = [(line, *point) for line in lines for point in line.points]
    simulated = [
        number
        for number, (_, network, _) in enumerate(wanted)
        if not options.quick or network.nodes <= _QUICK_NODES
    ]
    points = []
    for line, network, alpha in (wanted[number] for number in simulated):
        time = window(network, alpha, line.rates, options)
        points.append(Point(network, alpha, line.rates, length, time, line.selection))
    found = dict(zip(simulated, measured(points, options)))
    for number, each in enumerate(wanted):
        yield compared_row(*each, length, found.get(number))


def compared_row(
    line: Line, network: AnyNetwork, alpha: float, length: int, found: Measurement | None
) -> Row:
    """A row: the formulas, which hold for random routing only, and what was measured."""
    predicted = discrete = None
    if line.selection == "random":
        predicted = finite(network.delay(alpha, line.rates))
        discrete = finite(network.delay(alpha, clocked(network, line.rates, length)))
    sizes = len({alpha for _, alpha in line.points}) == 1
    return {
        "panel": line.panel,
        "line": line.label,
        "selection": line.selection,
        "nodes": network.nodes,
        "alpha": alpha,
        "at": network.nodes if sizes else alpha,
        "axis": "nodes N" if sizes else "alpha",
        "length": length,
        "predicted": predicted,
        "clocked": discrete,
        "measured": None if found is None else found.delay,
        "ci99": None if found is None else found.ci99,
        "deviation": None if found is None else deviation(found.delay, discrete),
    }


def _measured_label(row: Row) -> str:
    return "" if row["selection"] == "random" else f"{row['line']}, {row['selection']}"


def _scale(axes: Axes, rows: Sequence[Row]) -> None:
    if rows[0]["axis"] != "alpha":
        axes.set_xscale("log", base=2)


DRAW_DELAYS = Plot(
    [
        Panel(
            "at",
            [
                Lines("predicted", "-", "{line}", look={"linewidth": 1.5}),
                Lines("clocked", "--"),
                dots(_measured_label, look={"markersize": 3}),
                Lines("published", "s", "printed, simulated", look={"markerfacecolor": "white"}),
                _scale,
            ],
            ["line", "selection"],
            xlabel="{axis}",
            ylabel="mean delay R",
            ylim=(0, None),
        )
    ],
    by="panel",
    size=(5.1, 4.6),
    title="lines: printed formulas; dashes: with a clock; dots: RTL, with 99 % confidence",
)


def about_delays(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    """What was measured, in words."""
    usual = (
        f"windows in which about {64 * _TIME:,} packets are sent, {_LONGER} times as many where "
        f"the formula has links busier than {_BUSY:.0%}"
    )
    return (
        f"RTL: geometric lengths of {rows[0]['length']} flits on average, one seed; "
        f"{options.window_words(usual)}. With a clock: the formula with queues in discrete time.",
    )


COLUMNS = (
    "predicted = R, printed formula : .3f | clocked = with a clock : .3f | measured = RTL : .3f"
    " | ci99 = ± 99 % : .3f | deviation = RTL to clock : +.1%"
)

_TENTHS = [step / 10 for step in range(5, 11)]


def alphas_of(options: Options) -> Sequence[float]:
    """The abscissas of lines by alpha."""
    return _TENTHS[::5] if options.quick else _TENTHS


def small_and_large(options: Options) -> list[Line]:
    """BH/BH of 64 and of 8 nodes by alpha: lines of Figures 9 and 12."""
    return [
        Line(
            "a",
            f"D = {c + t}, d = {c}",
            [(TwoLevel("bh", c, t), a) for a in alphas_of(options)],
            Rates(1, 1.5, 3),
        )
        for c, t in ((3, 3), (2, 1))
    ]
