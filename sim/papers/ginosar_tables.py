"""Tables I, II and A of Ginosar and Egozi: printed, corrected and computed."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ..theory.static_networks import MEASURES, NETWORKS
from .ginosar_networks import (
    COLUMNS,
    NINE,
    SOURCE,
    comparison_rows,
    measured,
    nine,
    plain_numbers,
    three,
    why,
)
from .item import Column, Item, Options, PaperResult, deviation

__all__ = ["ITEMS"]

_BOUNDS = (
    "Computed: from the graph alone; where two numbers stand, they are a lower bound and an upper "
    "bound, and methods says what proves each. Deviation: of the printed value; from the nearer "
    "bound, and none if it lies between both."
)


def table_a(options: Options) -> PaperResult:
    """Table A: exact measures."""
    rows: list[dict[str, Any]] = []
    for dimensions in (2,) if options.quick else (3, 4):
        for each, name in zip(nine(dimensions, options), NINE):
            rows += comparison_rows(each, NETWORKS[name].exact, name)
    return PaperResult(
        columns=COLUMNS,
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            _BOUNDS,
            "NN_n has k = 4, and the tree is binary with full levels. L and LC are for alpha = "
            "1/2.",
            "Scan errors, not counted as deviations: D of NN_n is N^(1/n)/2, that of the hypercube "
            "is 2; d and F of NN_2 have sqrt(N)/2; L and LC of PSNN follow from its F, D and C.",
            *why({name: NETWORKS[name].exact for name in NINE}, rows),
        ),
    )


def table_2(options: Options) -> PaperResult:
    """Table II: hypercube, PSNN and binary tree of 2^n nodes."""
    rows: list[dict[str, Any]] = []
    sizes = (3, 4) if options.quick else range(3, 9)
    names = [*three(sizes[0])]
    for name in names:
        for n in sizes:
            each = measured(*three(n)[name], options)
            rows += comparison_rows(each, NETWORKS[name].table_2, name)
    return PaperResult(
        columns=COLUMNS,
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            _BOUNDS,
            "The tree has 2^n nodes as the table says, so one node more than n full levels.",
            *why({name: NETWORKS[name].table_2 for name in names}, rows),
        ),
    )


def table_1(options: Options) -> PaperResult:
    """Table I: orders, by how much each measure grows when N grows fourfold."""
    small, large = (2, 3) if options.quick else (3, 4)
    rows = []
    for name, one, other in zip(NINE, nine(small, options), nine(large, options)):
        before, after = one.found.ranges(), other.found.ranges()
        for measure in MEASURES:
            network = NETWORKS[name]
            order = network.growth(measure, other.size) / network.growth(measure, one.size)
            lower = after[measure][0] / before[measure][1]
            upper = after[measure][1] / before[measure][0]
            exact = lower if lower == upper else None
            rows.append(
                {
                    "network": name,
                    "measure": measure,
                    "formula": network.orders[measure],
                    "published": order,
                    "lower": lower,
                    "upper": upper,
                    "computed": f"{lower:.3f}" if exact else f"{lower:.3f} to {upper:.3f}",
                    "deviation": deviation(order, exact),
                }
            )
    return PaperResult(
        columns=(
            Column("network"),
            Column("measure"),
            Column("formula", "order, printed"),
            Column("published", "its growth", ".3f"),
            Column("computed", "growth, computed"),
            Column("deviation", format="+.1%"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            f"Growth: the measure at N = {4**large} over that at N = {4**small}. An order leaves "
            "out constants and smaller terms, so it is only approached.",
            "NN_n has k = 4 at both sizes, so n grows. Star: d is 2, LC is N only with the mean of "
            "C; Table A has C = N. D of the star and the tree is N by the node that is cut there; "
            "by the definition of 5.3, links are cut: the star has D = 2.",
            "PSNN: the D of the table, log N, is that of the upper bound on e of PSE; "
            "whether e grows faster is open, as the appendix says.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """For each measure, the printed value over the computed one."""
    measures = [name for name in MEASURES if any(row["measure"] == name for row in rows)]
    figure = Figure(figsize=(3.4 * 3, 6.6), layout="constrained")
    grid = figure.subplots(2, 3, squeeze=False)
    names = list(dict.fromkeys(row["network"] for row in rows))
    for axes, measure in zip(grid.flat, measures):
        for row in rows:
            if row["measure"] != measure or row["published"] is None or row["lower"] is None:
                continue
            x = [names.index(row["network"])] * 2
            axes.plot(x, [row["published"] / row[b] for b in ("upper", "lower")], "-oC0", ms=4)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(title=measure, yscale="log", xlim=(-0.5, len(names) - 0.5))
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        plain_numbers(axes.yaxis)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.45), max(high, 2.2))
        axes.grid(alpha=0.3)
    for axes in grid[:, 0]:
        axes.set_ylabel("printed / computed")
    return figure


ITEMS = (
    Item(
        "ginosar-table1",
        "Orders of the measures of nine static networks",
        f"{SOURCE}, Table I",
        table_1,
    ),
    Item(
        "ginosar-table2",
        "Measures of hypercube, perfect shuffle and tree",
        f"{SOURCE}, Table II",
        table_2,
    ),
    Item(
        "ginosar-tableA",
        "Exact measures of nine static networks",
        f"{SOURCE}, Table A",
        table_a,
    ),
)
