"""Sweeps as files: tables, JSON and pictures."""

import csv
import json
import os

from ...hdl.core.output_file import output_format, whole_file
from ..measure.curve import Sweep

__all__ = ["FORMATS", "save_sweep"]

FORMATS = (".csv", ".json", ".png", ".svg")
"""Endings of what a sweep can be written to."""


def save_sweep(sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Write a sweep to a file: .csv (a line per point; `-` too), .json, .png or .svg.

    Raises
    ------
    ValueError
        If the name ends otherwise, or the file can't be written.
    """
    kind = output_format(path, FORMATS)
    if kind == ".json":
        with whole_file(path) as file:
            file.write_text(json.dumps(sweep.to_json()) + "\n")
    elif kind == ".csv":
        with whole_file(path) as file, open(file, "w", newline="") as stream:
            rows = sweep.rows()
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        from .plot import draw_sweeps  # with matplotlib, which takes long to import

        draw_sweeps([sweep], path)
