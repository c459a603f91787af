"""What a result records of its run, such that it can be run again."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from typing import Any

from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import integer_of, number_of
from ...hdl.fabric.parameters import words_in
from ...hdl.networks.network import Network
from ..workload.class_traffic import network_traffic
from ..workload.traffic import Trace, read_trace
from .run import Run

__all__ = [
    "NAMES",
    "changes",
    "from_cells",
    "identity",
    "recorded",
    "run_from",
    "this_version",
]

_FIELDS = {each.name: each for each in fields(Run)}

_LISTS = ("faults", *(name for name, field in _FIELDS.items() if field.default == ()))
"""Entries that are lists of words."""

_DIGESTS = ("network_digest", "traffic_digest")
"""What tells whether the network and the traffic are still the same: they may be in files."""

_TEXTS = ("version", "traffic", "trace", *_DIGESTS)
"""Entries that are texts, even if they look like numbers."""

NAMES = (
    *("version", *_DIGESTS, "traffic", "trace", *(n for n in _FIELDS if n != "traffic")),
    *("bins", "faults", "reroute"),
)
"""The names of all entries: the fields of `Run`, and the arguments of `simulate_runs`."""


@cache
def this_version() -> str:
    """The version of this library."""
    return version("multicube")


def recorded(
    network: Network, run: Run, bins: int, faults: Sequence[str] = (), reroute: int | None = None
) -> dict[str, Any]:
    """A run on a network as plain values, by the names in `NAMES`.

    `traffic` is the name of a pattern, and `trace` that of a trace; the other of them is None.
    """
    traced = isinstance(run.traffic, Trace)
    values: dict[str, Any] = {"version": this_version()}
    values |= {"network_digest": network.digest, "traffic_digest": digest(run.traffic)}
    values |= {"bins": bins, "faults": tuple(faults), "reroute": reroute}
    values |= {name: getattr(run, name) for name in _FIELDS}
    values["traffic"] = None if traced else run.traffic.name
    values["trace"] = run.traffic.name if traced else None
    return {name: _plain(values[name]) for name in NAMES}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def identity(record: Mapping[str, Any]) -> str:
    """The digest of a run as `recorded` gives it: of all that its result depends on.

    That is the version, the network and the traffic as they were read, and all that was asked for.
    No result is taken for that of a run with another identity.
    """
    return digest(dict(record))


def changes(record: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not any more as a run was recorded: "network" or "traffic".

    Their digests now are compared with those in the record; one of another version does not say.
    """
    if record.get("version") != this_version():
        return []
    return [
        name.removesuffix("_digest")
        for name in _DIGESTS
        if name in now and record.get(name) not in (None, now[name])
    ]


def run_from(record: Mapping[str, Any], network: Network) -> tuple[Run, dict[str, Any]]:
    """The run on a network that a record describes, and the arguments of `simulate_runs`.

    What the record lacks has the usual value. A trace is read from the file that it names.

    Raises
    ------
    TypeError, ValueError
        If a name is unknown or a value is not allowed, or traffic can't be read again: a trace
        that is no file, or a pattern that came from Python and has no text.
    """
    for name in record:
        if name not in NAMES:
            raise InvalidValue(f"Run must have only {', '.join(NAMES)}, not {name!r}")
    if record.get("trace") is not None:
        traffic: Any = read_trace(record["trace"], network.sources, network.sinks)
    elif record.get("traffic") is not None:
        traffic = network_traffic(record["traffic"], network)
    else:
        raise InvalidValue("Run must have traffic or a trace")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record.items()
        if name in _FIELDS and name != "traffic"
    }
    options = {name: record.get(name) for name in ("bins", "reroute")}
    return Run(traffic, **values), options | {"faults": record.get("faults") or ()}


def from_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """A record from the cells of a table, as `measure.row.row_of` writes them.

    Raises
    ------
    ValueError
        If the words in a cell can't be separated.
    """
    return {
        name: words_in(text) if name in _LISTS else _value(name, text)
        for name, text in cells.items()
        if name in NAMES
    }


def _value(name: str, text: str) -> Any:
    """What a cell holds: None if it is empty, a number, True or False, or a text."""
    if name not in _TEXTS:
        for read in (integer_of, number_of):
            try:
                return read(text)
            except ValueError:
                pass
    return {"": None, "True": True, "False": False}.get(text, text)
