"""Writes results to files: tables, JSON and pictures."""

import csv
import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...hdl.fabric.checks import check_kind
from ...hdl.support.output_file import check_output, output_format, whole_file
from ..measure.comparison import Comparison
from ..measure.curve import Sweep
from .formats import FORMATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .look import Look

__all__ = ["save_comparison", "save_result", "save_sweep"]


def save_sweep(
    sweep: Sweep,
    path: str | os.PathLike[str],
    *,
    unit: str = "packets",
    look: "Look | None" = None,
) -> None:
    """Write a sweep to a file: .csv or `-` (one line per point), .json, .svg, .png or .pdf.

    Rates in .csv and .json files are always in packets.

    Parameters
    ----------
    sweep : Sweep
        The sweep.
    path : path-like
        The file: .csv or `-` (a line for each point), .json, .svg, .png or .pdf.
    unit : str
        What the rates in a picture count: "packets" or "flits".
    look : Look, optional
        Size, style and title of a picture.

    Raises
    ------
    ValueError
        If the name has another suffix, the file can't be written, or there is no such unit.

    Examples
    --------
    >>> from multicube import sweep
    >>> from multicube.sim import save_sweep
    >>> curve = sweep("cube", [0.1], ports=4, refine=False, processes=1, cycles=200, warmup=20)
    >>> save_sweep(curve, "curve.json")
    """
    check_kind("Sweep", sweep, Sweep, "a sweep")
    _save(Comparison([sweep], unit=unit), sweep.to_json(), path, look)


def save_comparison(
    comparison: Comparison, path: str | os.PathLike[str], look: "Look | None" = None
) -> None:
    """Write several sweeps to one file, as `save_sweep` does.

    A .csv file has the rows of all sweeps, a .json file what `Comparison.to_json` returns. The
    rates of a picture, which has this `look`, are converted.

    Raises
    ------
    ValueError
        If the name has another suffix, the file can't be written, or a network does not know what
        its rates are to be divided by.
    """
    check_kind("Comparison", comparison, Comparison, "a comparison")
    _save(comparison, comparison.to_json(), path, look)


def save_result(
    path: str | os.PathLike[str],
    record: dict[str, Any],
    columns: Sequence[str],
    rows: Sequence[dict[str, Any]],
    draw: "Callable[[], Figure]",
    look: "Look | None" = None,
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
    look : Look, optional
        The one that it draws it in.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
    """
    kind = output_format(path, FORMATS)
    check_output(path)
    if kind == ".json":
        with whole_file(path) as file:
            file.write_text(json.dumps(record) + "\n", "utf-8")
    elif kind == ".csv":
        with whole_file(path) as file, open(file, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, columns)
            writer.writeheader()
            writer.writerows(rows)
    else:
        from .drawing import save_figure  # imports matplotlib, which is slow

        save_figure(draw(), path, look)


def _save(
    comparison: Comparison,
    record: dict[str, Any],
    path: str | os.PathLike[str],
    look: "Look | None",
) -> None:
    """Write sweeps as a record, as the rows of a table, or as a picture."""

    def draw() -> "Figure":
        from .plot import comparison_figure  # imports matplotlib, which is slow

        return comparison_figure(comparison, look)

    rows = comparison.rows()
    save_result(path, record, list(rows[0]) if rows else [], rows, draw, look)
