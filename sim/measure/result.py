"""The result of a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from ...hdl.core.errors import MulticubeError
from ...hdl.networks.catalogue import told

if TYPE_CHECKING:
    from ..run.messages import MessageRun

__all__ = ["CONFIDENCE", "Latency", "Result", "SimulationError", "ratio_interval"]

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Latency:
    """Latencies of the packets delivered in the window, in cycles.

    A percentile is None if it lies beyond the histogram; `mean` and `max` are always exact.

    Attributes
    ----------
    mean, p50, p95, p99, max : float or None
        None if no packet was delivered.
    ci99 : float or None
        Half the width of the mean's 99 % confidence interval, from batch means; None if there are
        too few batches.
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
        cumulated = np.cumsum(inside)

        def percentile(percent: int) -> int | None:
            rank = -(-packets * percent // 100)
            bin_ = int(np.searchsorted(cumulated, rank))
            return bin_ if bin_ < len(inside) else None

        used = np.flatnonzero(inside)
        return cls(
            mean=total / packets,
            p50=percentile(50),
            p95=percentile(95),
            p99=percentile(99),
            max=longest,
            ci99=ci99,
            histogram=inside[: used[-1] + 1].tolist() if len(used) else [],
            beyond=int(counts[-1]),
        )


def ratio_interval(amounts: Sequence[float], counts: Sequence[float]) -> float | None:
    """Half the width of the 99 % confidence interval of sum(amounts) / sum(counts).

    The pairs are batches of one run, long enough to be nearly independent; the estimate is a ratio
    estimator with Student's t. None for fewer than five batches, or if nothing was counted.
    """
    x, n = np.asarray(amounts, float), np.asarray(counts, float)
    batches = len(x)
    if batches < 5 or not n.sum():
        return None
    residuals = x - n * (x.sum() / n.sum())
    deviation = np.sqrt((residuals**2).sum() / (batches * (batches - 1))) / n.mean()
    return float(stdtrit(batches - 1, 0.5 + CONFIDENCE / 2) * deviation)


@dataclass(frozen=True)
class Result:
    """One run: what was simulated, and what was measured.

    Counts are numbers of packets in the whole run, from the first cycle until the network has
    drained. Throughput, latencies and utilisation are those of the window.

    Attributes
    ----------
    network : str
        Family.
    parameters : dict
    engine : str
    traffic : str
        Name of the pattern or trace.
    seed : int or None
        None for a trace.
    cycles : int
        Length of the window.
    warmup, drain : int
        Cycles before and after it.
    settled : bool
        Whether the warm-up ended because the network had reached a steady state.
    partial : bool
        Whether the run was interrupted; packets were then left in the network.
    offered_load, throughput : float
        Packets per terminal per cycle.
    throughput_ci99 : float or None
        Half the width of its 99 % confidence interval.
    generated, rejected, unsent : int
        Packets generated; packets rejected because their source's queue was full; and packets still
        in that queue when the sources were stopped.
    injected, delivered : int
        Packets that entered the network, and packets delivered (each copy of a broadcast counts).
    dropped : int
        Packets, or attempts to send them, that were dropped by a network designed to drop packets.
    corrupted : int
        Packets whose parity was wrong, and which were discarded.
    attempts : float or None
        Attempts per delivered packet in the window, 1 if nothing is dropped. None if nothing was
        delivered.
    lost, misrouted, duplicated, reordered, damaged : int or None
        Violations. `lost` is None for a partial run. `damaged` counts flits that did not
        follow their header correctly. In networks of more than 8,192 terminals `duplicated` and
        `reordered` are not known, and None.
    stamps_differ : bool or None
        In such a network: whether the sums of the stamps of all packets sent and delivered differ,
        which shows that a packet was duplicated in place of another. Otherwise, or in a partial
        run, None.
    latency : Latency
        From birth to delivery.
    network_latency : Latency
        From the head of the source's queue to delivery.
    round_trip : Latency or None
        In a network with memory, where a request counts as delivered when its reply arrives: from
        the head of the processor's queue to the reply, the same as `network_latency`.
    background_latency : float or None
        Mean round trip of the requests that were not for the hot spot.
    serializable : bool or None
        Whether some serial order of the operations explains the replies and the final contents of
        the memory. None if that was not checked.
    predicted : dict
        `latency_mean`, `throughput` and `attempts`; None where no formula applies.
    saturated : bool
        Whether the network carried less than it was offered.
    verdict : str
        The reason, as text.
    least_served : dict
        The `terminal` that got the fewest packets into the network in the window, and its
        `throughput`.
    terminals : dict
        Packets `injected` and `delivered` in the window, by terminal.
    links : dict[str, float]
        Utilisation of each link, in packets per cycle, by the output that drives it.
    statistics : dict[str, Any]
        Further statistics of the window that depend on the network (its method `statistics`).
    """

    network: str
    parameters: dict[str, Any]
    engine: str
    traffic: str
    seed: int | None
    cycles: int
    warmup: int
    drain: int
    settled: bool
    partial: bool
    offered_load: float
    throughput: float
    throughput_ci99: float | None
    generated: int
    rejected: int
    unsent: int
    injected: int
    delivered: int
    dropped: int
    corrupted: int
    attempts: float | None
    lost: int | None
    misrouted: int
    duplicated: int | None
    reordered: int | None
    stamps_differ: bool | None
    damaged: int
    latency: Latency
    network_latency: Latency
    round_trip: Latency | None
    background_latency: float | None
    serializable: bool | None
    predicted: dict[str, float | None]
    saturated: bool
    verdict: str
    least_served: dict[str, float]
    terminals: dict[str, list[int]] = field(repr=False)
    links: dict[str, float] = field(repr=False)
    statistics: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        verdict = self.verdict.partition(":")[0]
        return (
            f"<Result of {told(self.network, self.parameters)}: {self.traffic} traffic, "
            f"load {self.offered_load:g}, throughput {self.throughput:.4f}, "
            f"latency {self.latency} cycles, {verdict}>"
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as plain lists, dictionaries, numbers and strings."""
        return asdict(self)

    def violations(self, *, ordered: bool, finite: bool) -> str:
        """The violations that the packet counts show, as text; empty if there are none.

        `ordered` says whether flows must keep their order, `finite` whether all packets must be
        sent.
        """
        wrong = [
            f"{count} {what}"
            for what, count in (
                ("lost or stuck", max(self.lost or 0, 0)),
                ("more delivered than sent", max(-(self.lost or 0), 0)),
                ("never taken", self.unsent if finite and not self.partial else 0),
                ("misrouted", self.misrouted),
                ("duplicated", self.duplicated),
                ("reordered", self.reordered if ordered else 0),
                ("damaged flits", self.damaged),
            )
            if count
        ]
        if self.stamps_differ:
            wrong.append("other packets delivered than sent")
        if self.serializable is False:
            wrong.append("replies that no serial order of the operations explains")
        return ", ".join(wrong)


class SimulationError(MulticubeError):
    """The packet counts of a run do not balance. They are in `result`."""

    status = 1

    def __init__(self, message: str, result: "Result | MessageRun") -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.result)
