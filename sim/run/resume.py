"""Finished points of load sweeps, kept in a file from which a sweep goes on."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.support.input_file import read_input
from ...hdl.support.output_file import alone, check_output, is_regular, whole_file
from ..measure.result import Result
from .record import identity, recorded
from .run import Run

__all__ = ["FinishedPoints", "kept_results", "results_in"]

_KIND = "multicube sweeps 3"

_Points = dict[str, dict[str, Any]]
"""Results as plain values, each with a digest of them, by the identity of their runs."""


class FinishedPoints(Mapping[float, Result]):
    """The results of a sweep that have been found, by load.

    A file may hold those of several sweeps, also of some that run at the same time. They are told
    apart by all that their numbers depend on (`record.identity`).

    Parameters
    ----------
    path : path-like, optional
        File that has all results as soon as they are added. If it exists, its results of the same
        runs are there from the beginning.
    network : Network
    run_at : Callable[[float], Run]
        The run of the sweep at a load.
    bins : int

    Raises
    ------
    ValueError
        If the file is no file of sweeps, or can't be written.
    OSError
        If it can't be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        network: Network,
        run_at: Callable[[float], Run],
        bins: int,
    ) -> None:
        self._path = path
        self._network, self._run_at, self._bins = network, run_at, bins
        self._found: dict[float, Result] = {}
        self._kept: _Points = {}
        if path is not None:
            check_output(path)
            if not is_regular(path):
                raise InvalidValue(f"Resume must be a regular file, not {os.fspath(path)}")
            with alone(path):
                self._kept = _read(path)

    def _identity(self, load: float) -> str:
        return identity(recorded(self._network, self._run_at(load), self._bins))

    def look_for(self, loads: Iterable[float]) -> None:
        """Take from the file what it has of these loads."""
        for load in loads if self._kept else ():
            name = self._identity(load)
            point = self._kept.get(name)
            if point is not None:
                if not _is_intact(name, point):
                    raise _damaged(self._path)
                try:
                    found = Result.from_json(point["result"], self._network.chosen)
                except (TypeError, ValueError, KeyError, AttributeError):
                    raise _damaged(self._path) from None
                self._found[load] = found

    def __getitem__(self, load: float) -> Result:
        return self._found[load]

    def __iter__(self) -> Iterator[float]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, results: Iterable[tuple[float, Result]]) -> None:
        """Add results by load, and write them to the file, beside what others have written."""
        new = dict(results)
        self._found.update(new)
        if self._path is not None and new:
            points = {}
            for result in new.values():
                name, point = identity(result.run), result.to_json()
                points[name] = {"digest": _digest(name, point), "result": point}
            with alone(self._path):
                kept = _read(self._path) | points
                with whole_file(self._path) as file:
                    file.write_text(json.dumps({"kind": _KIND, "points": kept}) + "\n", "utf-8")


def kept_results(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The results that a file has, as plain values, of all its sweeps.

    Raises
    ------
    ValueError
        If the file is no file of sweeps.
    """
    return [point["result"] for point in _read(path).values()]


def results_in(content: Mapping[str, Any]) -> list[Any] | None:
    """The results in what such a file holds, as plain values; None if it is no such file.

    Raises
    ------
    ValueError
        If a point is not as it was written.
    """
    if content.get("kind") != _KIND:
        return None
    points = content.get("points")
    if not isinstance(points, dict) or not all(_is_intact(*each) for each in points.items()):
        raise InvalidValue("Points must be those that a sweep has written")
    return [point["result"] for point in points.values()]


def _is_intact(name: str, point: Any) -> bool:
    """Whether a point is as it was written."""
    try:
        return bool(point["digest"] == _digest(name, point["result"]))
    except (TypeError, KeyError):
        return False


def _digest(name: str, point: dict[str, Any]) -> str:
    """Of a result and its run: one that was changed, or is under another's name, has another."""
    return digest(name, json.dumps(point))


def _damaged(path: str | os.PathLike[str] | None) -> InvalidValue:
    return InvalidValue(f"Resume must be a file of finished points, not {path}")


def _read(path: str | os.PathLike[str]) -> _Points:
    """What a file has of finished points; nothing if there is no file."""
    if not os.path.exists(path):
        return {}
    try:
        content = json.loads(read_input(path))
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise _damaged(path)
    points = content.get("points")
    if not isinstance(points, dict) or not all(isinstance(each, dict) for each in points.values()):
        raise _damaged(path)
    return points
