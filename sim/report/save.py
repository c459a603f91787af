"""Writes results to files: tables, JSON and pictures."""

import csv
import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...hdl.fabric.checks import check_kind
from ...hdl.support.output_file import check_output, output_format, whole_file
from ..measure.comparison import rate_factors
from ..measure.curve import Sweep
from ..measure.units import unit_name
from .formats import FORMATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["comparison_record", "save_result", "save_sweep", "save_sweeps"]


def save_sweep(sweep: Sweep, path: str | os.PathLike[str], *, unit: str = "packets") -> None:
    """Write a sweep to a file: .csv or `-` (one line per point), .json, .svg, .png or .pdf.

    Rates in a picture count packets or flits, as `unit` says; those in .csv and .json files are
    always in packets.

    Raises
    ------
    ValueError
        If the name has another suffix, the file can't be written, or there is no such unit.
    """
    check_kind("Sweep", sweep, Sweep, "a sweep")
    _save([sweep], sweep.to_json(), sweep.rows(), path, unit=unit)


def save_sweeps(
    sweeps: Sequence[Sweep],
    path: str | os.PathLike[str],
    *,
    per: str = "terminal",
    unit: str = "packets",
) -> None:
    """Write several sweeps to one file, as `save_sweep` does.

    A .csv file has the rows of all sweeps. A .json file holds what `comparison_record` returns. The
    rates of a picture are converted.

    Raises
    ------
    ValueError
        If the name has another suffix, the file can't be written, there is no such unit, or a
        network does not know what its rates are to be divided by.
    """
    rows = [row for sweep in sweeps for row in sweep.rows()]
    _save(sweeps, comparison_record(sweeps, per, unit), rows, path, per, unit)


def comparison_record(
    sweeps: Sequence[Sweep], per: str = "terminal", unit: str = "packets"
) -> dict[str, Any]:
    """Several sweeps as plain values: the unit of converted rates, and the sweeps.

    The rates of the sweeps are not converted. Each has the `rate_factor` that does it
    (`measure.comparison.rate_factor`).
    """
    return {
        "per": per,
        "unit": unit_name(per, unit),
        "sweeps": [
            {"rate_factor": factor, **each.to_json()}
            for factor, each in zip(rate_factors(sweeps, per, unit), sweeps)
        ],
    }


def save_result(
    path: str | os.PathLike[str],
    record: dict[str, Any],
    columns: Sequence[str],
    rows: Sequence[dict[str, Any]],
    draw: "Callable[[], Figure]",
) -> None:
    """Write a result to a file: as a record, as a table, or as a picture.

    Parameters
    ----------
    path : path-like
        Ends in .json, .csv (or is `-`), .svg, .png or .pdf.
    record : dict
        All of it as plain values.
    columns, rows : Sequence
        The table, and the names of its columns.
    draw : callable
        Draws the picture.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
    """
    kind = output_format(path, FORMATS)
    check_output(path)
    if kind == ".json":
        with whole_file(path) as file:
            file.write_text(json.dumps(record) + "\n")
    elif kind == ".csv":
        with whole_file(path) as file, open(file, "w", newline="") as stream:
            writer = csv.DictWriter(stream, columns)
            writer.writeheader()
            writer.writerows(rows)
    else:
        from .drawing import save_figure  # imports matplotlib, which is slow

        save_figure(draw(), path)


def _save(
    sweeps: Sequence[Sweep],
    record: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    path: str | os.PathLike[str],
    per: str = "terminal",
    unit: str = "packets",
) -> None:
    """Write sweeps as JSON, as the rows of a table, or as a picture."""

    def draw() -> "Figure":
        from .plot import sweeps_figure  # imports matplotlib, which is slow

        return sweeps_figure(sweeps, per=per, unit=unit)

    save_result(path, record, list(rows[0]) if rows else [], rows, draw)
