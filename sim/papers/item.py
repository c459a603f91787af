"""Items: the figures, tables and formula checks of the papers, as records.

An `Item` states its columns, the function that makes its rows, its picture and its notes. Most
pictures are records too, a `panels.Plot`. A number is `published` if the paper prints it,
`predicted` if it follows from a formula or a wiring plan, and `measured` if it is the result of the
hardware.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any

from matplotlib.figure import Figure

from ...hdl.fabric.checks import check_field
from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.networks.network import Network
from ..engines.engine_selection import check_engine
from ..measure.latency import Latency
from ..measure.result import Result
from ..report.save import save_result
from ..run.cluster import finished_anywhere
from ..run.run import LONGEST, Run
from ..run.simulation import whole_runs
from ..run.workers import Job

__all__ = [
    "Column",
    "Item",
    "Options",
    "PaperResult",
    "Row",
    "columns_of",
    "deviation",
    "finished",
    "finite",
    "grouped",
    "mean_of",
    "throughput_of",
    "throughput_row",
]

Row = dict[str, Any]
"""What is known of a case, by column. A row may have values that no column shows."""


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
        One of `engines.engine_selection.ENGINES`.
    progress : bool
        Show progress bars on standard error, if it is a terminal.
    scheduler : str or None
        Address of a Dask scheduler, to run the jobs of a `parallel` item on its cluster.
    unmeasured : list[str]
        What the item did not measure, as the run, a process or the scheduler was ended.

    Raises
    ------
    TypeError, ValueError
        If a number is not one that a run can have, or there is no such engine.
    """

    quick: bool = False
    cycles: int | None = None
    seed: int = 1
    engine: str = "auto"
    progress: bool = False
    scheduler: str | None = None
    unmeasured: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.cycles is not None:
            check_field(self, "cycles", "Cycles", 1, LONGEST)
        check_field(self, "seed", "Seed", 0)
        check_engine(self.engine)

    def window(self, slots: int, ports: int, *, least: int = 0, quick: int = 10) -> int:
        """The cycles of a window with so many slots, which are terminals times cycles.

        Parameters
        ----------
        slots, ports : int
        least : int
            Fewest cycles.
        quick : int
            By what the slots of a quick run are divided.
        """
        return self.cycles or max(least, (slots // quick if self.quick else slots) // ports)

    def window_words(self, usual: str) -> str:
        """How long windows are, in words; `usual` are those of the item's own."""
        return f"windows of {self.cycles:,} cycles" if self.cycles else usual

    def missing(self) -> tuple[str, ...]:
        """What to say of what was not measured: nothing or one note."""
        ended = "Not measured, as the run or a process of it was ended"
        return (f"{ended}: {', '.join(self.unmeasured)}",) if self.unmeasured else ()

    def simulated(self, network: Network, runs: Sequence[Run], *, bins: int) -> list[Result]:
        """The results of runs, which are simulated side by side."""
        return whole_runs(network, runs, engine=self.engine, bins=bins, progress=self.progress)


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
    return _delivered(latency.mean)


def throughput_of(result: Result) -> float:
    """The throughput of a run, which is not 0.

    Raises
    ------
    InvalidValue
        As `mean_of`.
    """
    return _delivered(result.throughput)


def _delivered(value: float | None) -> float:
    if not value:
        raise InvalidValue("Cycles are too few: no packet was delivered in the window")
    return value


def throughput_row(result: Result | None, predicted: float | None) -> Row:
    """A throughput with its 99 % interval, if it was measured, beside its prediction."""
    found = (None, None) if result is None else (result.throughput, result.throughput_ci99)
    return {"measured": found[0], "ci99": found[1], "predicted": predicted}


def grouped(rows: Iterable[Mapping[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[Any]]:
    """Rows in groups of equal values in these columns, in the order in which they come."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return groups


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


def columns_of(text: str) -> tuple[Column, ...]:
    """Columns written as `key = heading : format`, with bars between; only the key is needed.

    Examples
    --------
    >>> columns_of("ports = N : , | load")
    (Column(key='ports', heading='N', format=','), Column(key='load', heading='', format=''))
    """
    columns = []
    for each in text.split("|"):
        named, _, form = each.partition(" : ")
        key, _, heading = named.partition(" = ")
        columns.append(Column(key.strip(), heading.strip(), form.strip()))
    return tuple(columns)


@dataclass(frozen=True)
class PaperResult:
    """An item as a table and a picture.

    Attributes
    ----------
    columns : tuple[Column, ...]
    rows : list[Row]
    draw : callable
        Draws the picture.
    notes : tuple[str, ...]
        Notes below the table.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    draw: Callable[[], Figure]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Table and notes as plain lists, dictionaries, numbers and strings."""
        keys = [column.key for column in self.columns]
        rows = [{key: row.get(key) for key in keys} for row in self.rows]
        return {"columns": keys, "rows": rows, "notes": [*self.notes]}


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
    columns : str
        As `columns_of` reads them. The column `deviation` is that of `measured` from `predicted`,
        if the rows have no other.
    rows : callable
        Takes `Options`, and runs the cases: a row for each.
    draw : callable
        Takes the rows, and draws the picture: a `panels.Plot`, or a function.
    notes : Sequence[str] or callable
        Notes below the table, or a function of rows and options that returns them.
    parallel : bool
        Whether it consists of jobs that run in parallel, and so can run on a cluster.
    ignores : tuple[str, ...]
        Of the options `cycles`, `engine` and `seed`, those that it has no use for.
    """

    id: str
    title: str
    source: str
    columns: str
    rows: Callable[[Options], Iterable[Row]] = field(repr=False)
    draw: Callable[[Sequence[Row]], Figure] = field(repr=False)
    notes: Sequence[str] | Callable[[Sequence[Row], Options], Iterable[str]] = ()
    parallel: bool = False
    ignores: tuple[str, ...] = ()

    def run(self, options: Options) -> PaperResult:
        """Measure all cases.

        Raises
        ------
        MulticubeError
            If the processes of all of them were ended.
        ValueError
            If an option is given that the item ignores.
        """
        for name in self.ignores:
            if getattr(options, name) != getattr(Options, name):
                raise InvalidValue(
                    f"Option {name} can't be given: item {self.id} has no use for it"
                )
        columns = columns_of(self.columns)
        options = replace(options)  # With a list of its own of what is not measured.
        rows = list(self.rows(options))
        if not rows:
            raise MulticubeError(f"Nothing of {self.id} was measured: all its processes were ended")
        if any(column.key == "deviation" for column in columns):
            for row in rows:
                found = deviation(row.get("measured"), row.get("predicted"))
                row.setdefault("deviation", found)
        notes = self.notes(rows, options) if callable(self.notes) else self.notes
        notes = (*notes, *options.missing())
        return PaperResult(columns, rows, partial(self.draw, rows), notes)

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
        record = self.to_json(result)
        save_result(path, record, record["columns"], record["rows"], result.draw)
