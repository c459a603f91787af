"""What all figures and formula checks have in common: their options, tables and pictures."""

import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hdl.fabric.checks import check_field
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.output_file import check_output, output_format, whole_file
from ..measure.result import Latency
from ..report.drawing import save_figure
from ..report.formats import FORMATS
from ..run.cluster import finished_anywhere
from ..run.run import LONGEST
from ..run.workers import Job

__all__ = [
    "Column",
    "Item",
    "Options",
    "PaperResult",
    "deviation",
    "dots",
    "finished",
    "finite",
    "mean_of",
]


@dataclass(frozen=True)
class Options:
    """How an item is run.

    Attributes
    ----------
    quick : bool
        Small networks and short runs.
    cycles : int or None
        Length of the measurement window; None for the item's own.
    seed : int
    engine : str
        One of `engines.selection.ENGINES`.
    progress : bool
        Show progress bars on standard error, if it is a terminal.
    scheduler : str or None
        Address of a Dask scheduler, to run the jobs of a `parallel` item on its cluster.

    Raises
    ------
    TypeError, ValueError
        If a number is not one that a run can have.
    """

    quick: bool = False
    cycles: int | None = None
    seed: int = 1
    engine: str = "auto"
    progress: bool = False
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.cycles is not None:
            check_field(self, "cycles", "Cycles", 1, LONGEST)
        check_field(self, "seed", "Seed", 0)


def finished(jobs: Sequence[Job], options: Options) -> Iterator[tuple[int, Any]]:
    """Run the jobs of a parallel item; yield the number and the result of each as it ends.

    They run on the cluster, if there is one. Otherwise quick ones, or one alone, run in this
    process, and others on all cores.
    """
    if options.scheduler is None and (options.quick or len(jobs) == 1):
        for number, (function, arguments, words) in enumerate(jobs):
            yield number, function(*arguments, **words)
    else:
        yield from finished_anywhere(jobs, options.scheduler)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key : str
        Name in files.
    heading : str
        Heading in the printed table.
    format : str
        Format specification in the printed table.
    """

    key: str
    heading: str = ""
    format: str = ""

    def show(self, value: Any) -> str:
        """A value as printed; a dash if there is none."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "-" if value is None else format(value, self.format)


def deviation(measured: float | None, predicted: float | None) -> float | None:
    """Relative deviation of the measured value from the prediction."""
    return None if measured is None or not predicted else measured / predicted - 1


def finite(value: float) -> float | None:
    """The value of a table: none if a formula has no finite one, as beyond saturation."""
    return value if isfinite(value) else None


def mean_of(latency: Latency) -> float:
    """The mean latency of a run.

    Raises
    ------
    InvalidValue
        If the window was so short that no packet was measured.
    """
    if latency.mean is None:
        raise InvalidValue("Cycles are too few: no packet was delivered in the window")
    return latency.mean


@dataclass(frozen=True)
class PaperResult:
    """An item as a table and a picture.

    Attributes
    ----------
    columns : tuple[Column, ...]
    rows : list[dict]
        Values by column. `published` is printed in the paper, `predicted` follows from a formula or
        the wiring plan, and `measured` is the result of the RTL; None where there is none.
    draw : callable
        Draws the picture.
    notes : tuple[str, ...]
        Notes below the table.
    """

    columns: tuple[Column, ...]
    rows: Sequence[dict[str, Any]]
    draw: Callable[[], Figure]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Table and notes as plain lists, dictionaries, numbers and strings."""
        rows = [{column.key: row.get(column.key) for column in self.columns} for row in self.rows]
        return {
            "columns": [column.key for column in self.columns],
            "rows": rows,
            "notes": [*self.notes],
        }


@dataclass(frozen=True)
class Item:
    """A figure, table or formula of a paper that can be regenerated.

    Attributes
    ----------
    id : str
        Paper and number: "siegel-fig9".
    title : str
    source : str
        Paper and section.
    run : callable
        Takes `Options`, returns a `PaperResult`.
    parallel : bool
        Whether it consists of jobs that run in parallel, and so can run on a cluster.
    """

    id: str
    title: str
    source: str
    run: Callable[[Options], PaperResult] = field(repr=False)
    parallel: bool = False

    def to_json(self, result: PaperResult) -> dict[str, Any]:
        """A whole result, with its item."""
        return {"item": self.id, "title": self.title, "source": self.source, **result.to_json()}

    def save(self, result: PaperResult, path: str | os.PathLike[str]) -> None:
        """Write a result to a file: a picture (.svg, .png), or its table (.csv, .json, `-`).

        Raises
        ------
        ValueError
            If the name has another suffix, or the file can't be written.
        """
        check_output(path)
        kind = output_format(path, FORMATS)
        if kind == ".json":
            with whole_file(path) as file:
                file.write_text(json.dumps(self.to_json(result)) + "\n")
        elif kind == ".csv":
            with whole_file(path) as file, open(file, "w", newline="") as stream:
                table = result.to_json()
                writer = csv.DictWriter(stream, table["columns"])
                writer.writeheader()
                writer.writerows(table["rows"])
        else:
            save_figure(result.draw(), path)


def dots(
    axes: Axes,
    rows: Sequence[dict[str, Any]],
    x: str,
    number: int,
    *,
    scale: float = 1,
    label: str | None = None,
) -> None:
    """Draw what was measured, with its 99 % interval, in the colour of this number.

    `x` is the column of the abscissa. Measured values are divided by `scale`.
    """
    axes.errorbar(
        [row[x] for row in rows],
        [row["measured"] / scale for row in rows],
        [(row["ci99"] or 0) / scale for row in rows],
        fmt=f"oC{number}",
        markersize=4,
        capsize=2,
        label=label,
    )
