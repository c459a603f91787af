"""Pictures of items as records: which lines a panel has, and where panels are."""

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest
from matplotlib.axes import Axes
from multicube.sim import papers
from multicube.sim.papers import ITEMS, Item, Options
from multicube.sim.papers.item import Row
from multicube.sim.papers.panels import Lines, Panel, Plot, dots, having

ROWS: list[Row] = [
    {"n": 8, "kind": kind, "x": x, "measured": measured, "ci99": ci99, "predicted": 2.0 * x}
    for kind, points in {
        "fast": [(1, 2.5, 0.5), (2, None, None), (4, 0.0, None)],
        "slow": [(1, None, None), (2, None, None), (4, None, None)],
    }.items()
    for x, measured, ci99 in points
]


def drawn(axes: Axes) -> list[tuple[str, str, list[float], list[float]]]:
    """Colour, marker and points of each line that has a marker or a style."""
    return [
        (line.get_color(), line.get_marker(), [*line.get_xdata()], [*line.get_ydata()])
        for line in axes.lines
        if line.get_marker() in ("o", "None")
    ]


def test_rows_without_a_value_are_left_out() -> None:
    (axes,) = Panel("x", [dots("{kind}"), Lines("predicted", "-")], ["kind"])(ROWS).axes
    assert drawn(axes) == [
        ("C0", "o", [1, 4], [2.5, 0.0]),
        ("C0", "None", [1, 2, 4], [2.0, 4.0, 8.0]),
        ("C1", "None", [1, 2, 4], [2.0, 4.0, 8.0]),
    ]
    (bars,) = (each for each in axes.collections if len(each.get_segments()) == 2)
    # Half the interval on each side; none where it is not known.
    assert [[*map(tuple, ends)] for ends in bars.get_segments()] == [
        [(1, 2.0), (1, 3.0)],
        [(4, 0.0), (4, 0.0)],
    ]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["fast"]


def test_formulas_have_the_parameters_of_their_series() -> None:
    curve = Lines(lambda row: lambda x: x * row["n"], "-", grid=(0, 0.5), only=having(kind="slow"))
    panel = Panel("x", [curve], ["kind"], colour=lambda row: 3 if row["kind"] == "slow" else None)
    assert drawn(panel(ROWS).axes[0]) == [("C3", "None", [0, 0.5], [0, 4.0])]
    scaled = Lines(curve.y, "-", grid=lambda row: (row["n"],), scale=lambda row: 2)
    assert drawn(Panel("x", [scaled])(ROWS).axes[0]) == [("C0", "None", [8], [32.0])]


def test_panels_below_each_other_for_each_value() -> None:
    panels = [Panel("x", [Lines(y)], title="{kind}", ylabel=y) for y in ("measured", "predicted")]
    figure = Plot(panels, by="kind", title="above", legend={})(ROWS)
    assert [(axes.get_title(), axes.get_ylabel()) for axes in figure.axes] == [
        ("fast", "measured"),
        ("slow", "measured"),
        ("fast", "predicted"),
        ("slow", "predicted"),
    ]
    assert [len(drawn(axes)) for axes in figure.axes] == [1, 0, 1, 1]
    side_by_side = Plot(panels)(ROWS)
    assert [axes.get_ylabel() for axes in side_by_side.axes] == ["measured", "predicted"]


def test_axes() -> None:
    panel = Panel("x", [Lines("predicted")], xlog=2, ylim=(1, 9), ticks=True, legend=None)
    (axes,) = panel(ROWS).axes
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()) == ("log", "linear", (1, 9))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]
    assert axes.get_legend() is None


def test_deviation_is_the_measured_value_from_the_predicted_one() -> None:
    def rows(options: Options) -> list[Row]:
        return [
            {"measured": 3, "predicted": 2},
            {"measured": None, "predicted": 2},
            {"measured": 3, "predicted": 2, "deviation": 7},
        ]

    item = Item("x", "x", "x", "measured | deviation", rows, Panel("x", []))
    assert [row["deviation"] for row in item.run(Options()).rows] == [0.5, None, 7]


@pytest.mark.parametrize("item", [name for name in ITEMS if re.search(r"-(fig|table)", name)])
def test_an_item_is_in_the_file_of_its_number(item: str) -> None:
    """`siegel-fig9` is in `siegel/fig9.py`, `ginosar-fig6` in `ginosar/fig5_8.py`."""
    paper, kind, number = re.fullmatch(r"(\w+)-(fig|table)(\w+)", item).groups()  # type: ignore[union-attr]
    found = []
    for module in walk_packages(papers.__path__, f"{papers.__name__}."):
        name = re.fullmatch(rf".*\.{paper}\.{kind}(\w+)", module.name)
        if name and ITEMS[item] in vars(import_module(module.name)).values():
            first, _, last = name[1].partition("_")
            inside = number == first or (last and int(first) <= int(number) <= int(last))
            found.append(inside)
    assert found == [True]
