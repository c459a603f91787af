"""Figures 3 to 9 of Ginosar and Egozi: formulas as lines, computed measures as points."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator
from matplotlib.transforms import Bbox

from ..measure.graph_measures import graph_measures
from ..theory.static_networks import NETWORKS, Formula, Range, Size, looseness
from .ginosar_networks import NINE, SOURCE, measured, nine, plain_numbers, three
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS"]

_THREE = ("Hypercube", "PSNN", "Tree")
"""The networks of Table II."""
_SEARCHED = 8
"""The largest n for which F and e are looked for."""
_LARGEST = 11
"""The largest n of figures of d and C, for which no search is needed."""
_TITLES = {
    "d": "greatest distance d",
    "F": "fan-out time F",
    "D": "disconnectivity D = N / e",
    "C": "links of a node C",
}

Values = dict[tuple[str, int], Range]
"""Bounds of a measure by network and n."""


# --- Figures 3 and 4 ---------------------------------------------------------------------------


def _plane(options: Options, *, across: str, up: str) -> PaperResult:
    """Two measures of the nine networks, computed and by their orders."""
    dimensions = 2 if options.quick else 3
    rows = []
    for each, name in zip(nine(dimensions, options), NINE):
        ranges = each.found.ranges()
        row: dict[str, Any] = {"network": name, "nodes": each.size.nodes}
        for place, measure in (("x", across), ("y", up)):
            row[f"{place}_order"] = NETWORKS[name].orders[measure]
            row[f"{place}_value"] = NETWORKS[name].growth(measure, each.size)
            row[f"{place}_lower"], row[f"{place}_upper"] = ranges[measure]
        rows.append(row)
    columns = [Column("network"), Column("nodes", "N")]
    for place, measure in (("x", across), ("y", up)):
        columns += [
            Column(f"{place}_order", f"order of {measure}"),
            Column(f"{place}_value", "its value", ".5g"),
            Column(f"{place}_lower", f"{measure}, at least", ".5g"),
            Column(f"{place}_upper", "at most", ".5g"),
        ]
    return PaperResult(
        columns=tuple(columns),
        rows=rows,
        draw=lambda: _draw_plane(rows, across, up),
        notes=(
            "The paper's figure has orders on its axes and no numbers. Computed: from the graph.",
            "Star and tree: the paper cuts a node for D; here links are cut, as its definition "
            "says. So the star is as good as the hypercube in D.",
        ),
    )


def _draw_plane(rows: Sequence[dict[str, Any]], across: str, up: str) -> Figure:
    figure = Figure(figsize=(7.6, 5.6), layout="constrained")
    axes = figure.subplots()
    places: list[tuple[float, float]] = []
    for index, row in enumerate(rows):
        colour = f"C{index}"
        x = [row["x_lower"], row["x_upper"]]
        y = [row["y_lower"], row["y_upper"]]
        middle = sum(x) / 2, sum(y) / 2
        axes.plot(x, [middle[1]] * 2, color=colour)
        axes.plot([middle[0]] * 2, y, color=colour)
        order = row["x_value"], row["y_value"]
        axes.plot(*zip(middle, order), ":", color=colour, linewidth=0.8)
        axes.plot(*order, "s", markerfacecolor="white", color=colour, markersize=6)
        axes.plot(*middle, "o", color=colour, markersize=6)
        places.append(middle)
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    axes.set_title(f"N = {rows[0]['nodes']}: computed (dots), and the printed orders (squares)")
    axes.margins(0.12)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain_numbers(axes.xaxis, axes.yaxis)
    axes.grid(alpha=0.3)
    figure.draw_without_rendering()  # So that it is known how large all is.
    bars = [
        axes.transData.transform(
            [(row["x_lower"], row["y_lower"]), (row["x_upper"], row["y_upper"])]
        )
        for row in rows
    ]
    _label(axes, [row["network"] for row in rows], places, bars)
    return figure


_OFFSETS = [(x, y) for y in (5, -14, 17, -26, 29, -38) for x in (7, -7)]
"""Where a name may stand, in points from its dot; left of it if x is negative."""


def _label(
    axes: Axes, names: Sequence[str], places: Sequence[tuple[float, float]], bars: Sequence[Any]
) -> None:
    """Write the name of each dot beside it, where it touches no other name, dot, bar or edge.

    `bars` are the ends of the bars through the dots, in pixels.
    """
    taken = [Bbox(ends).padded(5) for ends in bars]
    for number, (name, place) in enumerate(zip(names, places)):
        for x, y in _OFFSETS:
            text = axes.annotate(
                name,
                place,
                (x, y),
                textcoords="offset points",
                ha="left" if x > 0 else "right",
                color=f"C{number}",
                fontsize=9,
            )
            box = text.get_window_extent()
            inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
            if inside and not any(box.overlaps(other) for other in taken):
                break
            if (x, y) != _OFFSETS[-1]:
                text.remove()
        taken.append(box)


# --- Figures 5 to 9 ----------------------------------------------------------------------------


def _sizes(options: Options, most: int) -> range:
    return range(2, (4 if options.quick else most) + 1)


def _searched(options: Options, alpha: float | None, measure: str) -> Values:
    """A measure of the three networks; for some alpha, if it is one that depends on it."""
    found: Values = {}
    for name in _THREE:
        for n in _sizes(options, _SEARCHED):
            each = measured(*three(n)[name], options).found
            ranges = (each if alpha is None else each.at(alpha)).ranges()
            found[name, n] = ranges[measure]
    return found


def _counted(options: Options, measure: str) -> Values:
    """d or C of the three networks, which need no search."""
    found: Values = {}
    for name in _THREE:
        for n in _sizes(options, _LARGEST):
            basic = graph_measures(three(n)[name][1])
            value = basic.diameter if measure == "d" else 2 * basic.links / basic.nodes
            found[name, n] = value, value
    return found


def _rows(
    values: Values, printed: Callable[[str, int], float], **more: Any
) -> list[dict[str, Any]]:
    rows = []
    for (name, n), (lower, upper) in values.items():
        value = printed(name, n)
        inside = lower <= value <= upper
        off = value / (lower if value < lower else upper) - 1
        rows.append(
            {
                **more,
                "network": name,
                "nodes": 1 << n,
                "published": value,
                "lower": lower,
                "upper": upper,
                "deviation": None if inside and lower < upper else off,
            }
        )
    return rows


_COLUMNS = (
    Column("network"),
    Column("nodes", "N", ","),
    Column("published", "printed formula", ".5g"),
    Column("lower", "computed, at least", ".5g"),
    Column("upper", "at most", ".5g"),
    Column("deviation", format="+.1%"),
)


def _table_2(name: str, measure: str) -> Formula:
    return NETWORKS[name].table_2[measure]


def _value(measure: str, name: str, n: int) -> float:
    value = _table_2(name, measure).value
    assert value is not None
    return value(Size(1 << n))


def _lines(options: Options, *, measure: str) -> PaperResult:
    """A measure of hypercube, PSNN and tree, over N."""
    values = _counted(options, measure) if measure in "dC" else _searched(options, None, measure)
    rows = _rows(values, partial(_value, measure))
    notes = [
        "Lines: Table II, with 2^n nodes. Points: computed from the graph; where two are joined, "
        "they are a lower and an upper bound."
    ]
    notes += [
        f"{name}: {formula.why}." for name in _THREE if (formula := _table_2(name, measure)).why
    ]
    if measure == "C":
        notes.append(f"Break-even of the cost, printed N = 16: {_break_even(rows)}.")
    return PaperResult(
        columns=_COLUMNS,
        rows=rows,
        draw=lambda: _draw_lines(measure, rows),
        notes=tuple(notes),
    )


def _break_even(rows: Sequence[Mapping[str, Any]]) -> str:
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


def _draw_lines(measure: str, rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    _draw_three(axes, rows, partial(_value, measure), log=measure == "D")
    axes.set_ylabel(_TITLES[measure])
    axes.legend(fontsize="small")
    return figure


def _draw_three(
    axes: Axes, rows: Sequence[dict[str, Any]], line: Callable[[str, int], float], log: bool
) -> None:
    sizes = sorted({row["nodes"] for row in rows})
    for index, name in enumerate(_THREE):
        own = [row for row in rows if row["network"] == name]
        printed = [line(name, nodes.bit_length() - 1) for nodes in sizes]
        axes.plot(sizes, printed, f"-C{index}", lw=1, label=f"{name}, printed")
        for row in own:
            axes.plot(
                [row["nodes"]] * 2, [row["lower"], row["upper"]], f"-C{index}", lw=2, alpha=0.5
            )
        axes.plot(
            [row["nodes"] for row in own] * 2,
            [row[bound] for bound in ("lower", "upper") for row in own],
            f"oC{index}",
            ms=4,
            label=f"{name}, computed",
        )
    axes.set_xscale("log", base=2)
    plain_numbers(axes.xaxis)
    if log:
        axes.set_yscale("log", base=2)
        plain_numbers(axes.yaxis)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("nodes N")
    axes.grid(alpha=0.3)


_ALPHAS = (0.5, 0.0, 1.0)


def _product(alpha: float, name: str, n: int) -> float:
    """C times L of Table II, with F and D of the table."""
    if alpha == 0.5:
        return _value("LC", name, n)
    mixed = looseness(_value("F", name, n), _value("D", name, n), alpha)
    return mixed * _value("C", name, n)


def _cost_effectiveness(options: Options) -> PaperResult:
    """L C of hypercube, PSNN and tree, for three alpha."""
    rows: list[dict[str, Any]] = []
    for alpha in _ALPHAS:
        rows += _rows(_searched(options, alpha, "LC"), partial(_product, alpha), alpha=alpha)

    def own(alpha: float) -> Iterator[dict[str, Any]]:
        return (row for row in rows if row["alpha"] == alpha)

    printed = {0.5: "between N = 128 and 256", 0.0: "none", 1.0: "N = 256"}
    names = {0.5: "L C", 0.0: "D C", 1.0: "F C"}
    return PaperResult(
        columns=(Column("alpha"), *_COLUMNS),
        rows=rows,
        draw=lambda: _draw_products(rows),
        notes=(
            "alpha = 1/2 is L C, 0 is D C, 1 is F C. Lines: Table II. Points: computed with the "
            "mean degree as C; where two are joined, they are a lower and an upper bound.",
            *(
                f"Break-even of {names[alpha]}, printed: {printed[alpha]}. "
                f"{_break_even([*own(alpha)])}."
                for alpha in _ALPHAS
            ),
        ),
    )


def _draw_products(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    grid = figure.subplots(1, len(_ALPHAS), squeeze=False)[0]
    titles = {0.5: "alpha = 1/2: L C", 0.0: "alpha = 0: D C", 1.0: "alpha = 1: F C"}
    for axes, alpha in zip(grid, _ALPHAS):
        own = [row for row in rows if row["alpha"] == alpha]
        _draw_three(axes, own, partial(_product, alpha), log=True)
        axes.set_title(titles[alpha])
    grid[0].set_ylabel("looseness times links of a node")
    grid[0].legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "ginosar-fig3",
        "Disconnectivity and fan-out time of nine networks",
        f"{SOURCE}, Fig. 3",
        partial(_plane, across="F", up="D"),
    ),
    Item(
        "ginosar-fig4",
        "Looseness and links of nine networks",
        f"{SOURCE}, Fig. 4",
        partial(_plane, across="C", up="L"),
    ),
    Item(
        "ginosar-fig5",
        "Distance in hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. 5",
        partial(_lines, measure="d"),
    ),
    Item(
        "ginosar-fig6",
        "Fan-out time of hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. 6",
        partial(_lines, measure="F"),
    ),
    Item(
        "ginosar-fig7",
        "Disconnectivity of hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. 7",
        partial(_lines, measure="D"),
    ),
    Item(
        "ginosar-fig8",
        "Cost per node of hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. 8",
        partial(_lines, measure="C"),
    ),
    Item(
        "ginosar-fig9",
        "Cost-effectiveness of hypercube, perfect shuffle and tree",
        f"{SOURCE}, Fig. 9",
        _cost_effectiveness,
    ),
)
