"""Latencies of packets, and the results of one class of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hdl.fabric.checks import check_number
from ...hdl.fabric.errors import InvalidValue

if TYPE_CHECKING:
    pass

__all__ = ["ClassResult", "Latency"]


@dataclass(frozen=True)
class Latency:
    """Latencies of the packets born in the window, in cycles.

    A percentile is None if it lies beyond the histogram; `mean` and `max` are always exact.

    Attributes
    ----------
    mean, p50, p95, p99, max : float or None
        None if no packet arrived.
    ci99 : float or None
        Half the width of the mean's 99 % confidence interval, from batch means (`ratio_estimate`)
        or from several seeds; None if there are too few.
    histogram : list[int]
        Packets by latency, from 0 cycles on, without empty bins at the end.
    beyond : int
        Packets with latencies beyond the histogram.
    """

    mean: float | None
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None
    ci99: float | None
    histogram: list[int]
    beyond: int

    def __repr__(self) -> str:
        if self.mean is None:
            return f"<Latency of {self.beyond} packets, not known>"
        tail = f"p50 {self.p50}, p95 {self.p95}, p99 {self.p99}, max {self.max}"
        return f"<Latency {self}, {tail} cycles>"

    def __str__(self) -> str:
        """The mean and its confidence interval."""
        if self.mean is None:
            return "-"
        return f"{self.mean:.2f}" + ("" if self.ci99 is None else f" ± {self.ci99:.2f}")

    @classmethod
    def unknown(cls, packets: int) -> "Latency":
        """The latency of packets that took longer than can be measured."""
        return cls(None, None, None, None, None, None, [], packets)

    @classmethod
    def from_counts(
        cls, counts: Sequence[int], total: int, longest: int, ci99: float | None
    ) -> "Latency":
        """Latency from a histogram of the sinks, whose last bin counts all longer latencies."""
        packets = int(np.sum(counts))
        if not packets:
            return cls(None, None, None, None, None, None, [], 0)
        inside = np.asarray(counts[:-1])
        used = np.flatnonzero(inside)
        histogram = inside[: used[-1] + 1].tolist() if len(used) else []
        beyond = int(counts[-1])
        p50, p95, p99 = (_percentile(histogram, beyond, percent) for percent in (50, 95, 99))
        return cls(total / packets, p50, p95, p99, longest, ci99, histogram, beyond)

    def percentile(self, percent: float) -> int | None:
        """The latency that this percentage of the packets did not exceed, in cycles.

        None if no packet arrived, or it lies beyond the histogram.

        Raises
        ------
        TypeError, ValueError
            If the percentage is not from 0 to 100.
        """
        number = check_number("Percentile", percent)
        if not 0 <= number <= 100:
            raise InvalidValue(f"Percentile must be from 0 to 100, not {percent}")
        return _percentile(self.histogram, self.beyond, number)


def _percentile(histogram: Sequence[int], beyond: int, percent: float) -> int | None:
    packets = sum(histogram) + beyond
    rank = max(1, -(-packets * Fraction(str(percent)) // 100))
    found = int(np.searchsorted(np.cumsum(histogram), rank)) if packets else len(histogram)
    return found if found < len(histogram) else None


@dataclass(frozen=True)
class ClassResult:
    """What a run measured of one of several classes of messages.

    Attributes
    ----------
    generated, rejected : int
        Packets that its endpoints generated, and those for which the source's queue had no room.
    injected, delivered : int
        Packets in the window.
    throughput : float
        Packets per endpoint of this class per cycle.
    least_served : float
        The throughput of the endpoint that got the fewest packets into the network.
    latency, network_latency : Latency
        Of its packets, from generation, and from the first flit in the network. In a saturated
        network only of packets that arrived in the run.
    """

    generated: int
    rejected: int
    injected: int
    delivered: int
    throughput: float
    least_served: float
    latency: Latency
    network_latency: Latency

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "ClassResult":
        """The result of which `asdict` gave these values.

        Parameters
        ----------
        record : Mapping[str, Any]
            The values by name.

        Returns
        -------
        ClassResult
            The result.
        """
        latencies = {name: Latency(**record[name]) for name in ("latency", "network_latency")}
        return cls(**{**record, **latencies})
