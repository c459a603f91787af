"""What to simulate on a network."""

from dataclasses import dataclass
from typing import Literal

from ...hdl.bench import SourcePlan
from ...hdl.bench.stamp import LONG_TIME_BITS, TIME_BITS
from ...hdl.core.checks import check_field, check_kind, check_limit
from ...hdl.core.errors import InvalidValue
from ...hdl.networks import Network
from ..workload.traffic import Pattern, Trace, check_load
from .warmup import MAXIMUM

__all__ = ["LONGEST", "Run", "amount", "pace"]

LONGEST = 2**31
"""Most cycles of warm-up and window: the bench counts to 2^32, which includes the drain."""

DEEPEST = 2**20
"""Most packets that can wait at a source."""

OPERATIONS = ("fetch-and-add",)
"""Operations of the processors if none are given."""

MOST_BINS = 2**25
"""Most bins of all sinks' histograms together, if their number is not given."""

LONGEST_HISTORY = 2**18
"""Most answered requests that all processors together record, if their number is not given."""


@dataclass(frozen=True)
class Run:
    """What to simulate on a network.

    Attributes
    ----------
    traffic : Pattern or Trace
    load : float
        Packets per terminal per cycle, 0 to 1. Not used for a trace.
    cycles : int
        Length of the window, 1 to 2^31. Not used for a trace, whose window is the whole trace.
    warmup : int or "auto"
        Cycles before the window; "auto" waits for a steady state (`warmup.is_settled`).
    seed : int
        Seed of the sources' random numbers.
    source_depth : int
        Packets that can wait in front of the network at each terminal, 1 to 2^20.
    operations : tuple[str, ...]
        Names of the operations that processors draw from, if the network has memory; "all" means
        all that it supports. If empty, `OPERATIONS`.
    history : int, optional
        Answered requests that each processor records, so that their serial order can be checked. By
        default 4,096, or as many as `LONGEST_HISTORY` allows.
    """

    traffic: Pattern | Trace
    load: float = 0.5
    cycles: int = 2000
    warmup: int | Literal["auto"] = "auto"
    seed: int = 1
    source_depth: int = 256
    operations: tuple[str, ...] = ()
    history: int | None = None

    def __post_init__(self) -> None:
        check_kind("Traffic", self.traffic, (Pattern, Trace), "a Pattern or a Trace")
        check_load(self.load)
        object.__setattr__(self, "load", float(self.load))
        check_field(self, "cycles", "Cycles", 1, LONGEST)
        check_field(self, "seed", "Seed", 0)
        check_field(self, "source_depth", "Source depth", 1, DEEPEST)
        if self.warmup != "auto":
            check_field(self, "warmup", "Warm-up", 0, LONGEST)
            check_limit("Warm-up and cycles together", self.warmup + self.cycles, LONGEST)
        if self.history is not None:
            check_field(self, "history", "History", 0, LONGEST_HISTORY)

    def time_bits(self, network: Network) -> int:
        """Width of the bench's timestamps, large enough for any latency in this run.

        A finite run has no given length. It is estimated as four times what one terminal needs to
        receive all its packets.
        """
        if self.is_finite:
            packets, span = amount(self.traffic, network)
            longest = span + 4 * packets * network.lengths[1]
        else:
            warmup = MAXIMUM * pace(network) if self.warmup == "auto" else self.warmup
            longest = warmup + self.cycles
        return TIME_BITS if longest < 2**TIME_BITS else LONG_TIME_BITS

    def sources(self, network: Network) -> SourcePlan:
        """The sources that generate this run's traffic."""
        if network.has_memory:
            if isinstance(self.traffic, Trace):
                raise InvalidValue("A trace holds no memory requests: this network can't replay it")
            history = min(4096, LONGEST_HISTORY // network.ports)
            return self.traffic.processors(
                network,
                self.load,
                self.seed,
                self.source_depth,
                operations=self.operations or OPERATIONS,
                history=history if self.history is None else self.history,
            )
        if self.operations or self.history is not None:
            raise InvalidValue("Operations and history are for networks with memory")
        if isinstance(self.traffic, Trace):
            return self.traffic.sources(network)
        return self.traffic.sources(network, self.load, self.seed, self.source_depth)

    @property
    def is_finite(self) -> bool:
        """Whether the traffic has a given number of packets, which are all measured."""
        return isinstance(self.traffic, Trace) or self.traffic.quota > 0


def amount(traffic: Pattern | Trace, network: Network) -> tuple[int, int]:
    """The number of packets of finite traffic, and of the cycles in which they are generated."""
    if isinstance(traffic, Trace):
        return len(traffic.packets), traffic.cycles
    return traffic.quota * network.ports, traffic.quota


def pace(network: Network) -> int:
    """Cycles between samples during warm-up and drain."""
    return max(25, 4 * network.zero_load_cycles)
