"""Writes load sweeps to files: tables, JSON and figures."""

import csv
import json
import os

from ...hdl.core.output_file import output_format, whole_file
from ..measure.curve import Sweep

__all__ = ["FORMATS", "PICTURES", "save_sweep"]

PICTURES = (".svg", ".png", ".pdf")
"""Name suffixes of pictures."""

FORMATS = (".csv", ".json", *PICTURES)
"""Name suffixes of the files that results can be written to."""


def save_sweep(sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Write a sweep to a file: .csv or `-` (one line per point), .json, .svg, .png
    or .pdf.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
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
        from .plot import draw_sweeps  # imports matplotlib, which is slow

        draw_sweeps([sweep], path)
