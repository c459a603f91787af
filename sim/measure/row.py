"""Results as rows of a table, whose columns are the same for every network."""

import shlex
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...hdl.fabric.checks import check_number, check_several
from ...hdl.fabric.parameters import plain_values

if TYPE_CHECKING:
    from .result import Result

__all__ = ["MEASURED", "row_of", "wide_row"]

MEASURED: dict[str, Callable[["Result"], Any]] = {
    "engine": attrgetter("engine"),
    "offered_load": attrgetter("offered_load"),
    "throughput": attrgetter("throughput"),
    "packet_length": attrgetter("packet_length"),
    "latency_mean": attrgetter("latency.mean"),
    "latency_ci99": attrgetter("latency.ci99"),
    "latency_p50": attrgetter("latency.p50"),
    "latency_p95": attrgetter("latency.p95"),
    "latency_p99": attrgetter("latency.p99"),
    "latency_max": attrgetter("latency.max"),
    "network_latency_mean": attrgetter("network_latency.mean"),
    "predicted_latency_mean": lambda result: result.predicted["latency_mean"],
    "least_served_throughput": lambda result: result.least_served["throughput"],
    "saturated": attrgetter("saturated"),
    "verdict": attrgetter("verdict"),
}
"""The columns of what was measured, and the value of each in a result."""


def row_of(result: "Result") -> dict[str, Any]:
    """A result as a row: network, parameters, the entries of `Result.run`, then `MEASURED`.

    Parameters and lists are words in one column each: `ports=64 radix=2`.
    """
    given = plain_values(result.parameters)
    parameters = shlex.join(f"{name}={value}" for name, value in given.items())
    run = {
        name: shlex.join(value) if isinstance(value, list) else value
        for name, value in result.run.items()
    }
    measured = {name: value(result) for name, value in MEASURED.items()}
    return {"network": result.network, "parameters": parameters, **run, **measured}


def wide_row(result: "Result", percentiles: Iterable[float] = ()) -> dict[str, Any]:
    """`row_of`, with columns of their own for parameters and for percentiles of the latency.

    A parameter of the name of another column has "network_" before its own.
    """
    row = row_of(result)
    parameters = {
        f"network_{name}" if name in row else name: value
        for name, value in plain_values(result.parameters).items()
    }
    asked = {
        f"latency_p{check_number('Percentile', each):g}": result.latency.percentile(each)
        for each in check_several("Percentiles", percentiles, "numbers")
    }
    return {**row, **parameters, **asked}
