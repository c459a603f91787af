"""Runs that were recorded in files, run again."""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.parameters import pairs, words_in
from ...hdl.support.input_file import given_once, read_text
from ..engines import ActivityEngine
from ..engines.engine_selection import ENGINES, check_engine, engines_that_can
from ..measure.result import Result, SimulationError
from ..measure.row import MEASURED, row_of
from .record import NAMES, changes, from_cells, run_from, this_version
from .resume import results_in
from .simulation import simulate_runs

__all__ = ["Record", "read_records", "rerun"]

_MUST = ("network", "parameters", "run")
_FIELDS = {each.name for each in fields(Result)} - {*_MUST}


@dataclass(frozen=True)
class Record:
    """A run that was recorded, and what was measured.

    Attributes
    ----------
    network : str
        Family of the network.
    parameters : dict[str, Any]
        As values or as text.
    run : dict[str, Any]
        The options of the run: the field `run` of `Result`.
    measured : dict[str, Any]
        The other fields of the result; from a table, the text in its columns.
    table : bool
        Whether it is a row of a table.

    Examples
    --------
    >>> from multicube import simulate
    >>> from multicube.sim import Record
    >>> result = simulate("cube", ports=4, load=0.2, cycles=200, warmup=20)
    >>> Record.of(result).differences(result)
    {}
    """

    network: str
    parameters: dict[str, Any]
    run: dict[str, Any]
    measured: dict[str, Any]
    table: bool = False

    @classmethod
    def of(cls, result: Any) -> "Record":
        """The record of a `Result`, or of what its `to_json` gives.

        Parameters
        ----------
        result : Result or Mapping[str, Any]
            A result, or what its `to_json` gives.

        Returns
        -------
        Record
            The record of it.

        Raises
        ------
        ValueError
            If it has no network, parameters or run.
        """
        if isinstance(result, Result):
            result = result.to_json() | {"parameters": result.parameters}  # objects as they are
        if not isinstance(result, Mapping) or not set(_MUST) <= result.keys():
            raise InvalidValue(f"Recorded run must have {', '.join(_MUST)}")
        parameters, run = result["parameters"], result["run"]
        if not isinstance(parameters, Mapping) or not isinstance(run, Mapping):
            raise InvalidValue("Parameters and run of a recorded run must be JSON objects")
        measured = {name: value for name, value in result.items() if name not in _MUST}
        return cls(str(result["network"]), dict(parameters), dict(run), measured)

    @property
    def version(self) -> str:
        """The version of multicube that made it."""
        return str(self.run.get("version") or "unknown")

    @property
    def comparable(self) -> dict[str, Any]:
        """The measured values that a result of this version has, too, whatever its engine."""
        known = MEASURED if self.table else _FIELDS
        return {
            name: value
            for name, value in self.measured.items()
            if name in known and name != "engine"
        }

    def differences(self, result: Result) -> dict[str, tuple[Any, Any]]:
        """The values of the record that differ from those of a result: both, by name.

        The engine is not compared, since all give the same numbers; nor are values that only one
        of both has, which are of different versions, or activity that was not measured again.

        Parameters
        ----------
        result : Result
            The result of running it again.

        Returns
        -------
        dict[str, tuple[Any, Any]]
            Recorded and new value, by the name of the field.
        """
        now = row_of(result) if self.table else result.to_json()
        both = {
            name: (was, _as_text(now[name]) if self.table else _as_json(now[name]))
            for name, was in self.comparable.items()
            if name in now and (name != "activity" or now[name] is not None)
        }
        return {name: pair for name, pair in both.items() if pair[0] != pair[1]}

    def changes(self, result: Result) -> list[str]:
        """What is not as it was recorded, but its name: "network" or "traffic", or both.

        So it is if a file has changed from which they are read, or code of a user.

        Parameters
        ----------
        result : Result
            The result of running it again.

        Returns
        -------
        list[str]
            Which of these have changed.
        """
        return changes(self.run, result.run)


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def rerun(record: Record | Result | Mapping[str, Any], *, engine: str | None = None) -> Result:
    """Run again what a record or a result describes.

    The network is that of the library with the recorded name and parameters. If another one was
    recorded, such as a class of one's own with that name, `Record.changes` says so.

    A run that loses packets gives its result, like others: the record may be of such a run, and
    `Record.differences` compares the packet counts with the record's.

    Parameters
    ----------
    record : Record, Result or Mapping
        A record that `read_records` gives; or a result, or what its `to_json` gives.
    engine : str, optional
        By default the engine that was used. All give the same numbers.

    Returns
    -------
    Result
        The new result.

    Raises
    ------
    TypeError, ValueError
        If the record lacks something, a value is not allowed, or its traffic can't be read again:
        a trace that is no file, or a pattern that came from Python and has no text.

    Examples
    --------
    >>> from multicube import simulate
    >>> from multicube.sim import rerun
    >>> result = simulate("cube", ports=4, load=0.2, cycles=200, warmup=20)
    >>> rerun(result) == result
    True
    """
    if engine is not None:
        check_engine(engine)
    if not isinstance(record, Record):
        record = Record.of(record)
    if record.parameters.get("file") == "given":
        raise InvalidValue(
            "Its graph is not recorded: run again what made it, a program or booksim"
        )
    network = build(record.network, **record.parameters)
    run, options = run_from(record.run, network)
    if engine is None or engine in engines_that_can(ActivityEngine):
        options["activity"] = record.measured.get("activity") is not None
    if engine is None:
        used = record.measured.get("engine")
        engine = used if used in ENGINES else "auto"
    try:
        return simulate_runs(network, [run], engine=engine, **options)[0]
    except SimulationError as error:
        if not isinstance(error.result, Result):
            raise
        return error.result


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """All runs that a file of `multicube sim --json` or `multicube sweep` records.

    The file is JSON or CSV, whatever its name. Several files may have been joined: JSON objects and
    lists may follow each other, and a table may have further header lines.

    Parameters
    ----------
    path : path-like
        The file, of JSON or CSV.

    Returns
    -------
    list[Record]
        One for each run, in the order of the file.

    Raises
    ------
    ValueError
        If the file can't be read, records no run, or has an unknown column.

    Examples
    --------
    >>> from multicube import sweep
    >>> from multicube.sim import read_records, save_sweep
    >>> curve = sweep("cube", [0.1], ports=4, refine=False, processes=1, cycles=200, warmup=20)
    >>> save_sweep(curve, "curve.csv")
    >>> [record.network for record in read_records("curve.csv")]
    ['cube']
    """
    text = read_text("File", path)
    read = _from_json if text.lstrip()[:1] in ("{", "[") else _from_table
    try:
        records = list(read(text))
    except (InvalidValue, csv.Error) as error:
        raise InvalidValue(f"File {path}: {error}") from None
    if not records:
        raise InvalidValue(f"File {path} records no run")
    return records


def _from_json(text: str) -> Iterator[Record]:
    """The records in JSON values that follow each other."""
    decoder, at = json.JSONDecoder(object_pairs_hook=given_once), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise InvalidValue(f"Line {error.lineno} is not JSON: {error.msg}") from None
        except RecursionError:
            raise InvalidValue("Its values are nested too deeply") from None
        yield from _in_value(value)


def _in_value(value: Any) -> Iterator[Record]:
    """The records in a list, a comparison, a sweep, its finished points, or a result; also in what
    has a result beside other things, such as those of BookSim2's configurations."""
    if isinstance(value, Mapping) and (finished := results_in(value)) is not None:
        value = finished
    for parts in ("sweeps", "rows", "points"):
        if isinstance(value, Mapping) and isinstance(value.get(parts), list):
            value = value[parts]
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        value = value["result"]
    if isinstance(value, list):
        for each in value:
            yield from _in_value(each)
    else:
        yield Record.of(value)


def _from_table(text: str) -> Iterator[Record]:
    """The records in the rows of one or more tables, each behind its header."""
    header: list[str] = []
    reader = csv.reader(io.StringIO(text, newline=""))  # cells may have ends of lines
    for cells in reader:
        if {"network", "parameters"} <= set(cells):
            header = cells
            for name, times in Counter(header).items():
                if times > 1:
                    raise InvalidValue(f"Column {name!r} must be there once, not {times} times")
        elif cells and not header:
            raise InvalidValue("It must be JSON, or have columns network and parameters")
        elif cells and len(cells) != len(header):
            raise InvalidValue(
                f"Line {reader.line_num} must have {len(header)} cells, not {len(cells)}"
            )
        elif cells:
            yield _row(dict(zip(header, cells)))


def _row(cells: Mapping[str, str]) -> Record:
    if cells.get("version") == this_version():
        # Another version may have other columns.
        for name in cells:
            if name not in ("label", "network", "parameters", *NAMES, *MEASURED):
                raise InvalidValue(f"Column {name!r} is not one that multicube writes")
    parameters = pairs(words_in(cells["parameters"]))
    measured = {name: cells[name] for name in MEASURED if name in cells}
    return Record(cells["network"], parameters, from_cells(cells), measured, table=True)
