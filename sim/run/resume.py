"""Finished points of load sweeps, kept in a file from which a sweep goes on."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks import Network
from ...hdl.support.input_file import read_input
from ...hdl.support.output_file import check_output, is_regular, whole_file
from ..measure.result import Result
from .record import recorded
from .run import Run

__all__ = ["FinishedPoints"]

_KIND = "multicube sweeps 1"


class FinishedPoints(Mapping[float, Result]):
    """The results of a sweep that have been found, by load.

    A file may hold those of several sweeps. They are told apart by all that their numbers depend
    on: the network, the traffic and all options of the runs, and the version of multicube.

    Parameters
    ----------
    path : path-like, optional
        File that has all results as soon as they are added. If it exists, its results of the same
        sweep are there from the beginning.
    network : Network
    run : Run
        A run of the sweep; its load does not matter.
    bins : int or None

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
        run: Run,
        bins: int | None,
    ) -> None:
        self._path = path
        self._found: dict[float, Result] = {}
        self._sweeps: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        check_output(path)
        if not is_regular(path):
            raise InvalidValue(f"Resume must be a regular file, not {os.fspath(path)}")
        if os.path.exists(path):
            self._sweeps = _read(path)
        self._points = self._sweeps.setdefault(_about(network, run, bins), {})
        try:
            for load, point in self._points.items():
                self._found[float(load)] = Result.from_json(point, network.chosen)
        except (TypeError, ValueError, KeyError, AttributeError):
            raise _damaged(path) from None

    def __getitem__(self, load: float) -> Result:
        return self._found[load]

    def __iter__(self) -> Iterator[float]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, results: Iterable[tuple[float, Result]]) -> None:
        """Add results by load, and write them to the file."""
        new = dict(results)
        self._found.update(new)
        if self._path is not None and new:
            self._points |= {repr(load): result.to_json() for load, result in new.items()}
            with whole_file(self._path) as file:
                file.write_text(json.dumps({"kind": _KIND, "sweeps": self._sweeps}) + "\n")


def _about(network: Network, run: Run, bins: int | None) -> str:
    """All that the numbers of a sweep depend on, as text."""
    wiring = hashlib.sha256()  # A network may come from a file, which may change.
    for cell in network.fabric.cells.values():
        wiring.update(repr((cell.name, *sorted(cell.straps.items()), cell.contents)).encode())
    for pins in network.fabric.drivers.items():
        wiring.update(repr(pins).encode())
    asked = {**recorded(run, bins or 0, ()), "load": None}
    return json.dumps([str(network), wiring.hexdigest(), asked], sort_keys=True)


def _damaged(path: str | os.PathLike[str]) -> InvalidValue:
    return InvalidValue(f"Resume must be a file of finished points, not {os.fspath(path)}")


def _read(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(read_input(path))
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise _damaged(path)
    sweeps = content.get("sweeps")
    if not isinstance(sweeps, dict) or not all(isinstance(each, dict) for each in sweeps.values()):
        raise _damaged(path)
    return sweeps
