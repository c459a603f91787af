"""Pictures of items as records: panels, and the lines of each.

A `Plot` makes a grid of panels, a `Panel` has axes and layers, and `Lines` is a layer that draws a
line, or dots, for each series of rows. A layer may also be any function of the axes and the rows of
a panel.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .item import Row, grouped

__all__ = ["Layer", "Lines", "Panel", "Plot", "Text", "dots", "having", "plain_numbers"]

Layer = Callable[[Axes, Sequence[Row]], Any]

Text = str | Callable[[Row], str]
"""A text about a row: with the names of columns in braces, or a function of the row."""

Curve = Callable[[Row], Callable[[float], float | None]]
"""A formula with the parameters of a row: a function of the abscissa."""


Limits = tuple[float | None, float | None]

_SIZE = (5.5, 4.4)


def _text(text: Text, row: Row) -> str:
    return text(row) if callable(text) else text.format_map(row)


def plain_numbers(*each: Axis) -> None:
    """Write the numbers of logarithmic axes without powers."""
    for axis in each:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def having(**values: Any) -> Callable[[Row], bool]:
    """Whether a row has these values: for `Lines.only`."""
    return lambda row: all(row.get(key) == value for key, value in values.items())


@dataclass(frozen=True)
class Lines:
    """A line for each series of a panel, through the rows that have a value.

    Attributes
    ----------
    y : str or callable
        The column that is drawn; or a `Curve`, drawn over `grid`.
    style : Text
        Line and marker, as in matplotlib; its colour, if that is not the series'.
    label : Text
        What the legend says of a series; nothing if empty.
    error : str
        The column of half its confidence interval.
    grid : Iterable[float] or callable
        Where a `Curve` is computed.
    scale : callable, optional
        By what the values of a row are divided.
    only : callable, optional
        Which rows are meant.
    look : Mapping[str, Any] or callable
        More words for matplotlib.
    """

    y: str | Curve
    style: Text = "-o"
    label: Text = ""
    error: str = ""
    grid: Iterable[float] | Callable[[Row], Iterable[float]] = ()
    scale: Callable[[Row], float] = lambda row: 1
    only: Callable[[Row], bool] = lambda row: True
    look: Mapping[str, Any] | Callable[[Row], Mapping[str, Any]] = field(default_factory=dict)

    def draw(self, axes: Axes, rows: Sequence[Row], x: str, colour: str | None) -> None:
        """Draw one series; without a colour, the style has it."""
        rows = [row for row in rows if self.only(row)]
        if isinstance(self.y, str):
            key = self.y
            rows = [row for row in rows if row.get(key) is not None]
            points = [(row[x], row[key] / self.scale(row)) for row in rows]
        elif rows:
            value, scale = self.y(rows[0]), self.scale(rows[0])
            grid = self.grid(rows[0]) if callable(self.grid) else self.grid
            found = ((at, value(at)) for at in grid)
            points = [(at, height / scale) for at, height in found if height is not None]
        if not rows or not points:
            return
        across, up = zip(*points)
        style = _text(self.style, rows[0])
        look: dict[str, Any] = {"markersize": 4, "linewidth": 1}
        look["label"] = _text(self.label, rows[0]) or None
        look |= {"color": colour} if colour else {}
        look |= self.look(rows[0]) if callable(self.look) else self.look
        if self.error:
            errors = [(row.get(self.error) or 0) / self.scale(row) for row in rows]
            axes.errorbar(across, up, errors, fmt=style, capsize=2, **look)
        else:
            axes.plot(across, up, style, **look)


def dots(label: Text = "", **words: Any) -> Lines:
    """What was measured, as dots with their 99 % intervals."""
    return Lines(**{"y": "measured", "style": "o", "label": label, "error": "ci99"} | words)


@dataclass(frozen=True)
class Panel:
    """A diagram: its lines, and its axes. Alone it is a picture, as a `Plot` of one panel.

    Attributes
    ----------
    x : str
        The column of the abscissa.
    layers : Sequence[Lines or callable]
        What is drawn, in this order; a function takes the axes and the rows of the panel.
    series : Sequence[str]
        The columns by whose values lines differ.
    title, xlabel, ylabel : Text
        About the first row of the panel.
    by, size
        Those of the `Plot`, if the panel is alone.
    xlim, ylim : tuple, optional
        Limits of the axes.
    xlog, ylog : float
        Their bases, if they are logarithmic.
    ticks : bool or Sequence
        The values of the abscissa that are written: all there are, or these.
    colour : callable, optional
        The colour of a series by a row of it: a number, a name, or None if the style has it. By
        default the series are counted.
    legend : Mapping[str, Any] or None
        Words for its legend; with None there is none.
    """

    x: str
    layers: Sequence[Lines | Layer]
    series: Sequence[str] = ()
    title: Text = ""
    xlabel: Text = ""
    ylabel: Text = ""
    by: str = ""
    size: tuple[float, float] = _SIZE
    xlim: Limits | None = None
    ylim: Limits | None = None
    xlog: float = 0
    ylog: float = 0
    ticks: bool | Sequence[Any] = False
    colour: Callable[[Row], Any] | None = None
    legend: Mapping[str, Any] | None = field(default_factory=lambda: {"fontsize": "small"})

    def __call__(self, rows: Sequence[Row]) -> Figure:
        return Plot([self], self.by, self.size)(rows)

    def draw(self, axes: Axes, rows: Sequence[Row]) -> None:
        """Draw all lines, series by series, then the other layers."""
        for number, own in enumerate(grouped(rows, *self.series).values()):
            colour = self.colour(own[0]) if self.colour else number
            colour = f"C{colour}" if isinstance(colour, int) else colour
            for layer in self.layers:
                if isinstance(layer, Lines):
                    layer.draw(axes, own, self.x, colour)
        if self.xlog:
            axes.set_xscale("log", base=self.xlog)
        if self.ylog:
            axes.set_yscale("log", base=self.ylog)
        for layer in self.layers:
            if not isinstance(layer, Lines):
                layer(axes, rows)
        if self.ticks is True:
            ticks = sorted({row[self.x] for row in rows if row.get(self.x) is not None})
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        elif self.ticks:
            axes.set_xticks(self.ticks)
        title, xlabel, ylabel = (
            _text(text, rows[0]) for text in (self.title, self.xlabel, self.ylabel)
        )
        if title:
            axes.set_title(title)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set(**{k: v for k, v in (("xlim", self.xlim), ("ylim", self.ylim)) if v is not None})
        axes.grid(alpha=0.3)
        if self.legend is not None and axes.get_legend_handles_labels()[0]:
            axes.legend(**self.legend)


@dataclass(frozen=True)
class Plot:
    """Panels side by side; if a column divides the rows, below each other, for each value of it.

    Attributes
    ----------
    panels : Sequence[Panel]
    by : str
        The column that divides the rows.
    size : tuple[float, float]
        Inches of a panel.
    title : str
        Above all panels.
    legend : Mapping[str, Any] or None
        Words for one legend of all panels, below them; with None there is none.
    """

    panels: Sequence[Panel]
    by: str = ""
    size: tuple[float, float] = _SIZE
    title: str = ""
    legend: Mapping[str, Any] | None = None

    def __call__(self, rows: Sequence[Row]) -> Figure:
        parts = list(grouped(rows, self.by).values()) if self.by else [rows]
        down, across = (len(self.panels), len(parts)) if self.by else (1, len(self.panels))
        inches = (self.size[0] * across, self.size[1] * down)
        figure = Figure(figsize=inches, layout="constrained")
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (panel, own) in zip(grid.flat, product(self.panels, parts)):
            panel.draw(axes, own)
        if self.title:
            figure.suptitle(self.title, fontsize="small")
        if self.legend is not None:
            handles = {
                label: handle
                for axes in grid.flat
                for handle, label in zip(*axes.get_legend_handles_labels())
            }
            words = {"ncols": len(handles), "fontsize": "small"} | dict(self.legend)
            figure.legend(handles.values(), handles, loc="outside lower center", **words)
        return figure
