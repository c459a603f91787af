"""Writes load sweeps to files: tables, JSON and figures."""

import csv
import json
import os
from collections.abc import Sequence
from typing import Any

from ...hdl.core.output_file import output_format, whole_file
from ..measure.comparison import rate_factor
from ..measure.curve import Sweep

__all__ = ["FORMATS", "PICTURES", "save_sweep", "save_sweeps"]

PICTURES = (".svg", ".png", ".pdf")
"""Name suffixes of pictures."""

FORMATS = (".csv", ".json", *PICTURES)
"""Name suffixes of the files that results can be written to."""


def save_sweep(sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Write a sweep to a file: .csv or `-` (one line per point), .json, .svg, .png or .pdf.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
    """
    _save([sweep], sweep.to_json(), sweep.rows(), path)


def save_sweeps(
    sweeps: Sequence[Sweep], path: str | os.PathLike[str], *, per: str = "terminal"
) -> None:
    """Write several sweeps to one file, as `save_sweep` does.

    A .csv file has the rows of all sweeps. A .json file lists the sweeps,
    each with the factor that converts its rates (`measure.comparison.rate_factor`). The rates of a
    picture are converted.

    Raises
    ------
    ValueError
        If the name has another suffix, the file can't be written, or a network does not know what
        its rates are to be divided by.
    """
    record = {
        "per": per,
        "sweeps": [
            {"rate_factor": rate_factor(sweep.network, per), **sweep.to_json()} for sweep in sweeps
        ],
    }
    rows = [row for sweep in sweeps for row in sweep.rows()]
    _save(sweeps, record, rows, path, per)


def _save(
    sweeps: Sequence[Sweep],
    record: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    path: str | os.PathLike[str],
    per: str = "terminal",
) -> None:
    """Write sweeps as JSON, as the rows of a table, or as a picture."""
    kind = output_format(path, FORMATS)
    if kind == ".json":
        with whole_file(path) as file:
            file.write_text(json.dumps(record) + "\n")
    elif kind == ".csv":
        with whole_file(path) as file, open(file, "w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        from .plot import draw_sweeps  # imports matplotlib, which is slow

        draw_sweeps(sweeps, path, per=per)
