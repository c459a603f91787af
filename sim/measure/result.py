"""The result of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...hdl.catalogue.catalogue import summary
from ...hdl.fabric.errors import MulticubeError
from ...hdl.fabric.parameters import plain_values
from ...hdl.support.interruption import INTERRUPTED
from ...hdl.support.shown import html_of
from .activity import Activity
from .frame import Tabled
from .latency import ClassResult, Latency

if TYPE_CHECKING:
    from ..run.collective import CollectiveRun
    from ..run.communication import StepRun
    from ..run.messages import MessageRun

__all__ = ["Result", "SimulationError"]


@dataclass(frozen=True)
class Result(Tabled):
    """One run: what was simulated, and what was measured.

    Counts are numbers of packets in the whole run, from the first cycle until the network has
    drained. Throughput and use of links are those of the window; latencies are those of packets
    that were generated in it. With several seeds, all numbers are for the runs together, except
    `cycles`, `warmup` and `drain`, which are those of each run.

    Attributes
    ----------
    network : str
        Family.
    parameters : dict
        Parameters of the network.
    engine : str
        The engine that was used.
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
    ended : str
        Why the window ended: its length was "given"; the results were "precise"; they were precise
        until "late" packets widened an interval; the network was "saturated"; the "limit" was
        reached; the traffic was "finite"; or the run was "interrupted".
    uncorrelated : bool
        Whether the batches, of which the confidence intervals are made, were shown to be
        uncorrelated. If not, the intervals may be too narrow.
    offered_load, throughput : float
        Packets per terminal per cycle; `offered_flits` and `throughput_flits` are in flits. Where
        sinks are not as many as sources, both are per source, and `sink_throughput` is per sink.
    packet_length : float
        Mean flits of a packet as it is generated; in a network with memory, mean cycles that a
        request occupies a link.
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
    untimed : int or None
        Packets born in the window that did not arrive, so that their latency is not known. None if
        packets may be lost, or arrive in several places or twice, or the traffic is finite.
    attempts : float or None
        Attempts per delivered packet in the window, 1 if nothing is dropped; of broadcasts that are
        sent again, per packet that entered. None if there was no such packet.
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
    saturated : bool or None
        Whether the network delivered less than it was offered (`saturation.Balance`). None if the
        window was too short to decide.
    verdict : str
        The reason, as text.
    least_served : dict
        The `terminal` that got the fewest packets into the network in the window, of those that
        send anything, and its `throughput`.
    terminals : dict
        Packets `injected` and `delivered` in the window, by terminal.
    links : dict[str, float]
        Use of each link's wires in flits per cycle, at most 1, by name: "node 5 -> node 6, +x".
        In a network with memory it counts whole requests, and whole replies.
    channels : dict[str, list[float]]
        The same for each virtual channel of the links that have several.
    run : dict[str, Any]
        The options of the run: all that is needed, besides network and parameters, to run it again
        (`run.rerun`). These are the fields of `Run`, the bins and faults of `simulate_runs`, and
        the `version` of multicube. The `traffic` of a trace is None, and `trace` its name.
    statistics : dict[str, Any]
        Further statistics of the window that depend on the network (its method `statistics`).
    activity : Activity or None
        What switched in the network in the window, if that was measured.
    classes : list[ClassResult]
        The results of each class of messages, if there are several.

    Examples
    --------
    >>> from multicube import simulate
    >>> from multicube.sim import Result
    >>> result = simulate("cube", ports=4, load=0.2, cycles=200, warmup=20)
    >>> Result.from_json(result.to_json(), result.parameters) == result
    True
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
    ended: str
    uncorrelated: bool
    offered_load: float
    throughput: float
    packet_length: float
    throughput_ci99: float | None
    generated: int
    rejected: int
    unsent: int
    injected: int
    delivered: int
    dropped: int
    corrupted: int
    untimed: int | None
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
    saturated: bool | None
    verdict: str
    least_served: dict[str, float]
    terminals: dict[str, list[int]] = field(repr=False)
    links: dict[str, float] = field(repr=False)
    channels: dict[str, list[float]] = field(repr=False)
    run: dict[str, Any] = field(default_factory=dict, repr=False)
    statistics: dict[str, Any] = field(default_factory=dict)
    activity: Activity | None = field(default=None, repr=False)
    classes: list[ClassResult] = field(default_factory=list, repr=False)

    @property
    def offered_flits(self) -> float:
        """Flits offered per terminal per cycle."""
        return self.offered_load * self.packet_length

    @property
    def throughput_flits(self) -> float:
        """Flits delivered per terminal per cycle."""
        return self.throughput * self.packet_length

    @property
    def sink_throughput(self) -> float:
        """Packets delivered per sink per cycle: `throughput`, if sinks are as many as sources."""
        ends = self.terminals
        return self.throughput * len(ends["injected"]) / len(ends["delivered"])

    def __repr__(self) -> str:
        verdict = self.verdict.partition(":")[0]
        return (
            f"<Result of {summary(self.network, self.parameters)}: {self.traffic} traffic, "
            f"load {self.offered_load:g}, throughput {self.throughput:.4f}, "
            f"latency {self.latency} cycles, {verdict}>"
        )

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the numbers, and the network with its links coloured by use."""
        return html_of("result", self)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain lists, dictionaries, numbers and strings.

        Returns
        -------
        dict[str, Any]
            The values by name.
        """
        return {**asdict(self), "parameters": plain_values(self.parameters)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], parameters: dict[str, Any]) -> "Result":
        """The result of which `to_json` gave these values, of a network with these parameters.

        Parameters
        ----------
        record : Mapping[str, Any]
            The values that `to_json` gave.
        parameters : dict[str, Any]
            The parameters of the network.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        TypeError
            If the record is not that of a result.
        """
        latencies = {
            name: Latency(**record[name])
            for name in ("latency", "network_latency", "round_trip")
            if record[name] is not None
        }
        activity = record.get("activity")
        measured = None if activity is None else Activity.from_json(activity)
        classes = [ClassResult.from_json(each) for each in record.get("classes", ())]
        own = {"parameters": parameters, "activity": measured, "classes": classes}
        return cls(**{**record, **latencies, **own})

    def _labelled(self) -> Iterator[tuple[dict[str, Any], "Result"]]:
        yield {}, self

    def violations(self, *, ordered: bool, finite: bool) -> str:
        """The violations that the packet counts show, as text; empty if there are none.

        Parameters
        ----------
        ordered : bool
            Whether flows must keep their order.
        finite : bool
            Whether all packets must be sent.

        Returns
        -------
        str
            The violations, with commas between them.
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
    """The packet counts of a run do not balance.

    The command ends with status 1, or with that of Ctrl-C if the run was interrupted.

    Attributes
    ----------
    result : Result, CollectiveRun, MessageRun, StepRun or None
        What was measured nevertheless.

    Examples
    --------
    In a ring of one channel, packets that are longer than its queues wait for each other for ever.

    >>> from multicube import build, simulate
    >>> from multicube.sim import Trace, TracePacket
    >>> network = build("torus k=5 n=1 channels=1 length=8 depth=1 allow_deadlock=1")
    >>> around = [TracePacket(0, node, (node + 2) % 5, 8) for node in range(5)]
    >>> simulate(network, traffic=Trace("around", tuple(around)))
    Traceback (most recent call last):
    ...
    multicube.sim.measure.result.SimulationError: The books do not balance: 5 lost or stuck
    """

    status = 1

    def __init__(
        self, message: str, result: "Result | CollectiveRun | MessageRun | StepRun | None"
    ) -> None:
        super().__init__(message)
        self.result = result
        if isinstance(result, Result) and result.partial:
            self.status = INTERRUPTED

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.result)
