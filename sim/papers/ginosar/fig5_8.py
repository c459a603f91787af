"""Figures 5 to 8: a measure of hypercube, PSNN and tree by their size.

The formulas of Table II are lines, what is computed from the graphs points.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ...measure.graph_measures import graph_measures
from ...theory.static_comparison import Range
from ...theory.static_formulas import Formula, Size
from ...theory.static_networks import NETWORKS
from ..item import Item, Options, Row, grouped
from ..panels import Lines, Panel, plain_numbers
from . import SOURCE
from .nine_networks import measured, three

__all__ = [
    "COLUMNS",
    "FIG5",
    "FIG6",
    "FIG7",
    "FIG8",
    "JOINED",
    "THREE",
    "Values",
    "break_even_words",
    "panel",
    "rows_of",
    "searched",
    "table_value",
]

THREE = ("Hypercube", "PSNN", "Tree")
"""The networks of Table II."""
JOINED = (
    "where two are joined, they are a lower and an upper bound, found within a limit of processor "
    "time."
)
"""Of points in figures."""
_SEARCHED = 8
"""The largest n for which F and e are looked for."""
_LARGEST = 11
"""The largest n of figures of d and C, for which no search is needed."""

Values = dict[tuple[str, int], Range]
"""Bounds of a measure by network and n."""


def _sizes(options: Options, most: int) -> range:
    return range(2, (4 if options.quick else most) + 1)


def searched(options: Options, alpha: float | None, measure: str) -> Values:
    """A measure of the three networks; for some alpha, if it is one that depends on it."""
    found: Values = {}
    for name in THREE:
        for n in _sizes(options, _SEARCHED):
            each = measured(*three(n)[name], options).found
            ranges = (each if alpha is None else each.at(alpha)).ranges()
            found[name, n] = ranges[measure]
    return found


def _counted(options: Options, measure: str) -> Values:
    """d or C of the three networks, which need no search."""
    found: Values = {}
    for name in THREE:
        for n in _sizes(options, _LARGEST):
            basic = graph_measures(three(n)[name][1])
            value = basic.diameter if measure == "d" else 2 * basic.links / basic.nodes
            found[name, n] = value, value
    return found


def rows_of(values: Values, printed: Callable[[str, int], float], **more: Any) -> Iterator[Row]:
    """What was computed, beside the printed formula."""
    for (name, n), (lower, upper) in values.items():
        value = printed(name, n)
        inside = lower <= value <= upper
        off = value / (lower if value < lower else upper) - 1
        yield {
            **more,
            "network": name,
            "nodes": 1 << n,
            "published": value,
            "lower": lower,
            "upper": upper,
            "deviation": None if inside and lower < upper else off,
        }


COLUMNS = (
    "network | nodes = N : , | published = printed formula : .5g"
    " | lower = computed, at least : .5g | upper = at most : .5g | deviation : +.1%"
)


def _table_2(name: str, measure: str) -> Formula:
    return NETWORKS[name].table_2[measure]


def table_value(measure: str, name: str, n: int) -> float:
    """A measure of a network of 2^n nodes by Table II."""
    value = _table_2(name, measure).value
    assert value is not None
    return value(Size(1 << n))


def break_even_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """From which N on the PSNN has less than the hypercube, by formula and as computed."""
    sizes = sorted({row["nodes"] for row in rows})
    by = {(row["network"], row["nodes"]): row for row in rows}

    def since(less: Callable[[Any, Any], bool]) -> str:
        wins = [less(by["PSNN", nodes], by["Hypercube", nodes]) for nodes in sizes]
        if not wins[-1]:
            return f"not up to N = {sizes[-1]}"
        first = max((i + 1 for i, win in enumerate(wins) if not win), default=0)
        return f"from N = {sizes[first]} on"

    formula = since(lambda one, other: one["published"] < other["published"])
    sure = since(lambda one, other: one["upper"] < other["lower"])
    perhaps = since(lambda one, other: one["lower"] < other["upper"])
    computed = sure if sure == perhaps else f"surely {sure}, perhaps {perhaps}"
    return f"PSNN is below the hypercube by formula {formula}; as computed {computed}"


def _join_bounds(axes: Axes, rows: Sequence[Row]) -> None:
    for number, own in enumerate(grouped(rows, "network").values()):
        nodes, low, high = ([row[key] for row in own] for key in ("nodes", "lower", "upper"))
        axes.vlines(nodes, low, high, color=f"C{number}", lw=2, alpha=0.5)


def _write_numbers(axes: Axes, rows: Sequence[Row]) -> None:
    plain_numbers(axes.xaxis)
    if axes.get_yscale() == "log":
        plain_numbers(axes.yaxis)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def panel(log: bool, **words: Any) -> Panel:
    """The three networks by size: lines for the formulas, dots for both bounds of each value."""
    return Panel(
        "nodes",
        [
            Lines("published", "-", "{network}, printed"),
            Lines("lower", "o", "{network}, computed"),
            Lines("upper", "o"),
            _join_bounds,
            _write_numbers,
        ],
        ["network"],
        xlabel="nodes N",
        xlog=2,
        ylog=2 if log else 0,
        **words,
    )


def _line(number: int, measure: str, name: str, ylabel: str) -> Item:
    """A measure of hypercube, PSNN and tree, over N."""
    counted = measure in "dC"

    def rows(options: Options) -> Iterator[Row]:
        values = _counted(options, measure) if counted else searched(options, None, measure)
        return rows_of(values, partial(table_value, measure))

    def notes(rows: Sequence[Row], options: Options) -> Iterator[str]:
        yield "Lines: Table II, with 2^n nodes. Points: computed from the graph; " + JOINED
        for network in THREE:
            why = _table_2(network, measure).why
            if why:
                yield f"{network}: {why}."
        if measure == "C":
            yield f"Break-even of the cost, printed N = 16: {break_even_words(rows)}."

    return Item(
        f"ginosar-fig{number}",
        f"{name} hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. {number}",
        columns=COLUMNS,
        rows=rows,
        draw=panel(measure == "D", ylabel=ylabel, size=(6.4, 4.6)),
        notes=notes,
        ignores=("cycles", "engine", "seed") if counted else ("cycles", "engine"),
    )


FIG5 = _line(5, "d", "Distance in", "greatest distance d")
FIG6 = _line(6, "F", "Fan-out time of", "fan-out time F")
FIG7 = _line(7, "D", "Disconnectivity of", "disconnectivity D = N / e")
FIG8 = _line(8, "C", "Cost per node of", "links of a node C")
