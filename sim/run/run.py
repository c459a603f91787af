"""What to simulate on a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...hdl.bench import SourcePlan
from ...hdl.bench.stamp import LONG_TIME_BITS, TIME_BITS
from ...hdl.fabric.checks import check_field, check_kind, check_limit, check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ..measure.units import units_in_packet
from ..workload.traffic import Pattern, Trace, check_load
from .warmup import DOUBLINGS, MAXIMUM

__all__ = ["LONGEST", "Run", "amount", "most_warmup", "pace", "packet_load"]

LONGEST = 2**31
"""Most cycles of warm-up and window: the bench counts to 2^32, which includes the drain."""

FIRST = 2000
"""Cycles of a window before it grows."""

PRECISION = 0.05
"""Precision of mean latency and throughput, as a fraction, if none is given."""

MOST_SEEDS = 1000

DEEPEST = 2**20
"""Most packets that can wait at a source."""

OPERATIONS = ("fetch-and-add",)
"""Operations of the processors if none are given."""

LONGEST_HISTORY = 2**18
"""Most answered requests that all processors together record, if their number is not given."""


@dataclass(frozen=True)
class Run:
    """What to simulate on a network.

    Attributes
    ----------
    traffic : Pattern or Trace
        The destinations of packets, and when they are generated.
    load : float
        Packets per terminal per cycle, 0 to 1. Not used for a trace, nor in a closed loop.
    cycles : int, optional
        Length of the window, 1 to 2^31. If it is not given, or a precision is given too, the window
        grows from this length to the one that is needed. Not used for a trace, whose
        window is the whole trace.
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
    precision : float, optional
        The window grows until the 99 % confidence intervals of mean latency and of throughput are
        within this fraction of their values, or the network is seen to be saturated. Above 0, to 1;
        0.05 if neither this nor `cycles` is given.
    limit : int
        Most cycles to which the window grows.
    seeds : int
        Number of independent runs with seeds from `seed` on, which are simulated side by side
        (engine `compiled`) and measured together. Each has this warm-up and window.

    Raises
    ------
    TypeError, ValueError
        If a field has a value that is not allowed, or two exclude each other.

    Examples
    --------
    >>> from multicube.sim import Run, pattern
    >>> Run(pattern("uniform", 4), load=0.25, cycles=1000).longest
    1000
    """

    traffic: Pattern | Trace
    load: float = 0.5
    cycles: int | None = None
    warmup: int | Literal["auto"] = "auto"
    seed: int = 1
    source_depth: int = 256
    operations: tuple[str, ...] = ()
    history: int | None = None
    precision: float | None = None
    limit: int = 200_000
    seeds: int = 1

    def __post_init__(self) -> None:
        check_kind("Traffic", self.traffic, (Pattern, Trace), "a Pattern or a Trace")
        check_load(self.load)
        object.__setattr__(self, "load", float(self.load))
        if isinstance(self.traffic, Pattern):
            self.traffic.check_load(self.load)
        check_field(self, "limit", "Limit", 1, LONGEST)
        if self.cycles is not None:
            check_field(self, "cycles", "Cycles", 1, LONGEST)
        if self.precision is not None:
            precision = check_number("Precision", self.precision)
            if not 0 < precision <= 1:
                raise InvalidValue(f"Precision must be above 0 and at most 1, not {precision:g}")
            object.__setattr__(self, "precision", precision)
        if self.cycles is not None and self.precision is not None:
            check_limit("Cycles", self.cycles, self.limit)
        check_field(self, "seed", "Seed", 0)
        check_field(self, "seeds", "Seeds", 1, MOST_SEEDS)
        if self.seeds > 1 and self.is_finite:
            raise InvalidValue("Seeds must be 1 for traffic that is finite, which is all measured")
        check_field(self, "source_depth", "Source depth", 1, DEEPEST)
        if not isinstance(self.warmup, str) or self.warmup != "auto":
            check_field(self, "warmup", "Warm-up", 0, LONGEST)
            check_limit("Warm-up and cycles together", self.warmup + self.longest, LONGEST)
        if self.history is not None:
            check_field(self, "history", "History", 0, LONGEST_HISTORY)

    def time_bits(self, network: Network) -> int:
        """Width of the bench's timestamps, large enough for any latency in this run.

        A finite run has no given length. It is estimated as four times what one terminal needs to
        receive all its packets.

        Parameters
        ----------
        network : Network
            The network that runs.

        Returns
        -------
        int
            Bits of a timestamp.
        """
        if self.is_finite:
            packets, span = amount(self.traffic, network)
            longest = span + 4 * packets * network.lengths[1]
        else:
            warmup = most_warmup(self, network) if self.warmup == "auto" else self.warmup
            # Packets born at the end of the window are followed for at most as long again.
            longest = warmup + 2 * self.longest
        return TIME_BITS if longest < 2**TIME_BITS else LONG_TIME_BITS

    def offered_load(self, network: Network) -> float:
        """Packets per terminal per cycle that are offered, as `Pattern.offered` counts them.

        Parameters
        ----------
        network : Network
            The network that runs.

        Returns
        -------
        float
            Packets per terminal per cycle.
        """
        assert isinstance(self.traffic, Pattern)  # a trace has no load
        flits = isinstance(network, PacketNetwork) and network.flits
        return self.traffic.offered(self.load, self.packet_length(network) if flits else 1)

    def packet_length(self, network: Network) -> float:
        """Mean flits of a packet; in a network with memory, mean cycles of a request on a link.

        Parameters
        ----------
        network : Network
            The network that runs.

        Returns
        -------
        float
            Flits, or cycles.
        """
        if isinstance(self.traffic, Trace):
            return self.traffic.mean_length
        return self.traffic.mean_length(network.mean_length(self.operations or OPERATIONS))

    def sources(self, network: Network, number: int = 0) -> SourcePlan:
        """The sources that generate this run's traffic, with the seed of this number.

        Parameters
        ----------
        network : Network
            The network that runs.
        number : int
            Which of the run's `seeds`, from 0 on.

        Returns
        -------
        SourcePlan
            A source for each terminal.

        Raises
        ------
        ValueError
            If the network and the traffic do not fit.
        """
        seed = self.seed + number
        if network.has_memory:
            if isinstance(self.traffic, Trace):
                raise InvalidValue("A trace holds no memory requests: this network can't replay it")
            history = min(4096, LONGEST_HISTORY // network.ports)
            return self.traffic.processors(
                network,
                self.load,
                seed,
                self.source_depth,
                operations=self.operations or OPERATIONS,
                history=history if self.history is None else self.history,
            )
        if self.operations or self.history:
            raise InvalidValue("Operations and history are for networks with memory")
        if isinstance(self.traffic, Trace):
            return self.traffic.sources(network)
        return self.traffic.sources(network, self.load, seed, self.source_depth)

    @property
    def grows(self) -> bool:
        """Whether the window grows until the results are precise."""
        return self.cycles is None or self.precision is not None

    @property
    def first(self) -> int:
        """Length of the window before it grows."""
        return min(FIRST, self.limit) if self.cycles is None else self.cycles

    @property
    def longest(self) -> int:
        """Most cycles of the window."""
        return self.limit if self.grows else self.first

    @property
    def wanted(self) -> float:
        """The precision that is wanted, or that a given window is compared with."""
        return PRECISION if self.precision is None else self.precision

    @property
    def is_finite(self) -> bool:
        """Whether the traffic has a given number of packets, which are all measured."""
        return isinstance(self.traffic, Trace) or self.traffic.when.quota > 0


def amount(traffic: Pattern | Trace, network: Network) -> tuple[int, int]:
    """The number of packets of finite traffic, and of the cycles in which they are generated."""
    cycles = traffic.cycles if isinstance(traffic, Trace) else traffic.when.quota
    return sum(traffic.sent.values()), cycles


def packet_load(load: float, unit: str, network: Network, operations: Sequence[str] = ()) -> float:
    """A load in packets per terminal per cycle.

    Parameters
    ----------
    load : float
    unit : str
        Its unit, one of `units.UNITS`, per terminal per cycle. Flits are divided by their mean
        number in a packet (`Network.mean_length`).
    network : Network
    operations : Sequence[str]
        As in `Run`.

    Raises
    ------
    TypeError, ValueError
        If there is no such unit, or the load is not a number.
    """
    packet = units_in_packet(unit, network.mean_length(operations or OPERATIONS))
    return load if packet == 1 else check_number("Load", load) / packet


def most_warmup(run: Run, network: Network) -> int:
    """Most cycles of a warm-up that waits for a steady state."""
    return MAXIMUM * pace(network) * (2**DOUBLINGS if run.grows else 1)


def pace(network: Network) -> int:
    """Cycles between samples during warm-up and drain."""
    return max(25, 4 * network.zero_load_cycles)
