"""Figures 8, 9 and 12 of Dandamudi and Eager, where the paper simulates: formulas and RTL."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hdl.switch.selection import Selection
from ..theory.hierarchical import Hypercube, Rates, TwoLevel
from .dandamudi_rtl import Measurement, Point, clocked, measured
from .dandamudi_static import SOURCE
from .item import Column, Item, Options, PaperResult, deviation, finite

__all__ = ["ITEMS"]

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


def _window(network: Hypercube | TwoLevel, alpha: float, rates: Rates, options: Options) -> int:
    """The window of a point, in the paper's time."""
    if options.quick:
        return _QUICK_TIME
    busiest = network.cluster_load(1, alpha, rates) if isinstance(network, TwoLevel) else 0
    longer = _LONGER if busiest > _BUSY * rates.cluster else 1
    return _TIME * 64 * longer // network.nodes


class _Line(NamedTuple):
    """A line of a figure: points are networks and alpha."""

    panel: str
    label: str
    points: Sequence[tuple[Hypercube | TwoLevel, float]]
    rates: Rates
    selection: Selection = "random"


def _delays(
    lines: Sequence[_Line], options: Options, *notes: str, compares: bool = False
) -> PaperResult:
    """Delays of all points; with `compares`, of several selections beside printed simulations."""
    length = _QUICK_LENGTH if options.quick else _LENGTH
    wanted = [(line, *point) for line in lines for point in line.points]
    simulated = [
        number
        for number, (_, network, _) in enumerate(wanted)
        if not options.quick or network.nodes <= _QUICK_NODES
    ]
    points = []
    for line, network, alpha in (wanted[number] for number in simulated):
        time = _window(network, alpha, line.rates, options)
        points.append(Point(network, alpha, line.rates, length, time, line.selection))
    found = dict(zip(simulated, measured(points, options)))
    rows = [_compared(*each, length, found.get(number)) for number, each in enumerate(wanted)]
    columns = (
        *(() if compares else (Column("panel"),)),
        Column("line"),
        *((Column("selection"),) if compares else ()),
        Column("nodes", "N"),
        Column("alpha", format=".2f"),
        *((Column("published", "printed, simulated", ".1f"),) if compares else ()),
        Column("predicted", "R, printed formula", ".3f"),
        Column("clocked", "with a clock", ".3f"),
        Column("measured", "RTL", ".3f"),
        Column("ci99", "± 99 %", ".3f"),
        Column("deviation", "RTL to clock", "+.1%"),
    )
    about = (
        f"RTL: geometric lengths of {length} flits on average, one seed; windows in which about "
        f"{64 * _TIME:,} packets are sent, {_LONGER} times as many where the formula has links "
        f"busier than {_BUSY:.0%}. With a clock: the formula with queues in discrete time."
    )
    return PaperResult(columns, rows, partial(_draw_delays, rows), (about, *notes))


def _compared(
    line: _Line,
    network: Hypercube | TwoLevel,
    alpha: float,
    length: int,
    found: Measurement | None,
) -> dict[str, Any]:
    """A row: the formulas, which hold for random routing only, and what was measured."""
    formula = line.selection == "random"
    predicted = finite(network.delay(alpha, line.rates)) if formula else None
    discrete = (
        finite(network.delay(alpha, clocked(network, line.rates, length))) if formula else None
    )
    return {
        "panel": line.panel,
        "line": line.label,
        "selection": line.selection,
        "nodes": network.nodes,
        "alpha": alpha,
        "length": length,
        "published": None,
        "predicted": predicted,
        "clocked": discrete,
        "measured": None if found is None else found.delay,
        "ci99": None if found is None else found.ci99,
        "deviation": None if found is None else deviation(found.delay, discrete),
    }


def _draw_delays(rows: Sequence[dict[str, Any]]) -> Figure:
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    figure = Figure(figsize=(0.6 + 4.8 * len(panels), 4.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels):
        shown = [row for row in rows if row["panel"] == panel]
        x = "nodes" if len({row["alpha"] for row in shown}) == 1 else "alpha"
        lines = dict.fromkeys((row["line"], row["selection"]) for row in shown)
        for number, (line, selection) in enumerate(lines):
            own = [row for row in shown if (row["line"], row["selection"]) == (line, selection)]
            name = line if selection == "random" else f"{line}, {selection}"
            places, heights, discrete = (
                [row[key] for row in own] for key in (x, "predicted", "clocked")
            )
            if selection == "random":
                axes.plot(places, heights, f"C{number}-", label=name)
                axes.plot(places, discrete, f"C{number}--", linewidth=1)
            _bars(axes, own, x, f"C{number}o", "" if selection == "random" else name)
            printed = [row for row in own if row["published"] is not None]
            if printed:
                axes.plot(
                    [row[x] for row in printed],
                    [row["published"] for row in printed],
                    f"C{number}s",
                    markerfacecolor="white",
                    label="printed, simulated",
                )
        if x == "nodes":
            axes.set_xscale("log", base=2)
        axes.set(
            xlabel="nodes N" if x == "nodes" else "alpha", ylabel="mean delay R", ylim=(0, None)
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(
        "lines: printed formulas; dashes: with a clock; dots: RTL, with 99 % confidence",
        fontsize="small",
    )
    return figure


def _bars(axes: Axes, rows: Sequence[dict[str, Any]], x: str, style: str, name: str) -> None:
    """What was measured, with its confidence intervals."""
    found = [row for row in rows if row["measured"] is not None]
    if found:
        axes.errorbar(
            [row[x] for row in found],
            [row["measured"] for row in found],
            [row["ci99"] or 0 for row in found],
            fmt=style,
            markersize=3,
            capsize=2,
            label=name or None,
        )


_TENTHS = [step / 10 for step in range(5, 11)]


def _alphas(options: Options) -> Sequence[float]:
    return _TENTHS[::5] if options.quick else _TENTHS


def _fig8(options: Options) -> PaperResult:
    alphas = _alphas(options)
    lines = [
        _Line(
            "a", f"D = {d}, d = {c}", [(Hypercube(d, c), a) for a in alphas], Rates(1, 0.75, 0.75)
        )
        for d, c in ((6, 3), (3, 2))
    ]
    lines += [
        _Line("b", f"d = {c}", [(Hypercube(d, c), 0.8) for d in range(5, 9)], Rates(1, 1, 1))
        for c in (3, 2)
    ]
    return _delays(lines, options)


def _fig9(options: Options) -> PaperResult:
    alphas = _alphas(options)
    sizes = range(5, 9)
    lines = [
        _Line(
            "a",
            f"D = {c + t}, d = {c}",
            [(TwoLevel("bh", c, t), a) for a in alphas],
            Rates(1, 1.5, 3),
        )
        for c, t in ((3, 3), (2, 1))
    ]
    for c, rates in ((3, Rates(1, 1.2, 1.5)), (2, Rates(1, 1.2, 1.2))):
        lines.append(
            _Line("b", f"d = {c}", [(TwoLevel("bh", c, d - c), 0.8) for d in sizes], rates)
        )
    return _delays(lines, options)


_PRINTED = {
    ("random", 0.5): 15.2,
    ("random", 0.6): 5.3,
    ("least-count", 0.5): 6.3,
    ("least-count", 0.6): 3.8,
}
"""What the paper simulated for D = 6, d = 3, by selection and alpha."""

_CHOICES: tuple[Selection, ...] = ("random", "least-count", "shortest-queue")


def _fig12(options: Options) -> PaperResult:
    alphas = _alphas(options)
    lines = [
        _Line(
            "",
            f"D = {c + t}, d = {c}",
            [(TwoLevel("bh", c, t), a) for a in alphas],
            Rates(1, 1.5, 3),
            selection,
        )
        for c, t in ((3, 3), (2, 1))
        for selection in _CHOICES
    ]
    note = (
        "The paper's improved routing is least-count. It expects shortest-queue to be somewhat "
        "better."
    )
    result = _delays(lines, options, note, compares=True)
    for row in result.rows:
        if row["nodes"] == 64:
            row["published"] = _PRINTED.get((row["selection"], row["alpha"]))
    return result


def _lengths(options: Options) -> PaperResult:
    """The largest network of Fig. 12 at alpha 0.6, with longer and longer packets."""
    rates, alpha = Rates(1, 1.5, 3), 0.6
    network = TwoLevel("bh", 2, 1) if options.quick else TwoLevel("bh", 3, 3)
    line = _Line("", "", [(network, alpha)], rates)
    lengths = (2, 4) if options.quick else (4, 16, 64)
    time = 2 * _window(network, alpha, rates, options)
    points = [Point(network, alpha, rates, length, time) for length in lengths]
    rows = []
    for length, found in zip(lengths, measured(points, options)):
        row = _compared(line, network, alpha, length, found)
        row["clock"] = deviation(row["clocked"], row["predicted"])
        rows.append(row)
    columns = (
        Column("length", "mean flits"),
        Column("predicted", "R, printed formula", ".3f"),
        Column("clocked", "with a clock", ".3f"),
        Column("clock", "clock to printed", "+.1%"),
        Column("measured", "RTL", ".3f"),
        Column("ci99", "± 99 %", ".3f"),
        Column("deviation", "RTL to clock", "+.1%"),
    )

    def draw() -> Figure:
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        places = [row["length"] for row in rows]
        axes.plot(places, [row["predicted"] for row in rows], "C0-", label="printed formula")
        axes.plot(places, [row["clocked"] for row in rows], "C1--", label="with a clock")
        _bars(axes, rows, "length", "C2o", "RTL")
        axes.set_xscale("log", base=2)
        axes.set(xlabel="mean flits of a packet", ylabel="mean delay R")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        return figure

    return PaperResult(columns, rows, draw)


_VALIDATION = f"{SOURCE}, section III-B"

ITEMS = (
    Item(
        "dandamudi-fig8",
        "Delays of hypercubes under local traffic",
        _VALIDATION,
        _fig8,
        parallel=True,
    ),
    Item(
        "dandamudi-fig9", "Delays of BH/BH under local traffic", _VALIDATION, _fig9, parallel=True
    ),
    Item(
        "dandamudi-fig12",
        "Delays of BH/BH with random, improved and shortest-queue routing",
        f"{SOURCE}, section IV-B",
        _fig12,
        parallel=True,
    ),
    Item(
        "dandamudi-lengths",
        "Delay of BH/BH on RTL and by formula, by the mean length of packets",
        _VALIDATION,
        _lengths,
        parallel=True,
    ),
)
