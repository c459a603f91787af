"""Traffic patterns: where packets go and when, and the sources that send them so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...hdl.bench import BernoulliSource, Processor, SourcePlan
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.address_codes import AddressCode
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from .destinations import Destinations
from .flow_traffic import Flows
from .injection_process import InjectionProcess, check_load, spawned

__all__ = ["Pattern", "check_load", "short_name"]

_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Pattern:
    """A traffic pattern.

    Attributes
    ----------
    name : str
        The traffic as text, as `traffic.pattern` reads it.
    where : Destinations
        Where packets go.
    when : InjectionProcess
        When they are made.
    flows : Flows, optional
        What is sent in place of the former two, which only say so on average.
    """

    name: str
    where: Destinations
    when: InjectionProcess = InjectionProcess()
    flows: Flows | None = None

    def __post_init__(self) -> None:
        rates = len(self.when.rates)
        if rates not in (0, self.terminals):
            raise InvalidValue(f"Rates must be those of {self.terminals} terminals, not of {rates}")

    def __repr__(self) -> str:
        return f"<Pattern {short_name(self.name)} of {self.terminals} terminals>"

    @property
    def terminals(self) -> int:
        """Number of terminals that it is for."""
        return len(self.where.favourites)

    @property
    def senders(self) -> list[int]:
        """The terminals that send anything."""
        return [number for number, rate in enumerate(self.when.of(self.terminals)) if rate > 0]

    @property
    def uniform(self) -> bool:
        """Whether packets are independent, and all destinations equally likely, including the
        sender, as in the paper.
        """
        return self.where.uniform and self.when.uniform

    @property
    def own_load(self) -> str | None:
        """Why the traffic takes no load, if it has its own."""
        if self.flows is not None:
            return "its flows have rates"
        return None if self.when.interval is None else "it has an interval"

    @property
    def sent(self) -> dict[int, int]:
        """Number of packets that each terminal sends that sends any, if they have a quota."""
        return dict.fromkeys(self.senders, self.when.quota)

    def offered(self, load: float, length: float) -> float:
        """Packets per terminal per cycle that are offered to a network.

        In a closed loop: those that its sources would send if they never waited.

        Parameters
        ----------
        load : float
            What was asked for; it is not used in a closed loop.
        length : float
            Mean cycles that a packet needs to enter the network.
        """
        if self.flows is not None:
            return self.flows.load
        return self.when.offered(self.terminals, load, length)

    def mean_length(self, usual: float) -> float:
        """Mean flits of a packet in a network in which it is usually so."""
        return usual if self.flows is None else self.flows.mean_length(usual)

    def destinations(self, code: AddressCode) -> list[int | None] | None:
        """The destination of each terminal, None for one that sends nothing.

        None if a terminal's packets do not all have the same destination.
        """
        if not self.where.fixed:
            return None
        rates = self.when.of(self.terminals)
        return [to if rate else None for to, rate in zip(self.where.of(code), rates)]

    def check_load(self, load: float) -> None:
        """Raise ValueError if the sources can't send this load on average."""
        if self.flows is None:
            self.when.check_load(load, short_name(self.name))

    def check(self, network: Network) -> None:
        """Raise ValueError if the pattern does not suit a network."""
        where = self.where
        if self.terminals != network.sources:
            raise InvalidValue(
                f"Traffic {short_name(self.name)} is for {self.terminals} terminals, "
                f"not {network.sources}"
            )
        if network.classes > 1 and not self._keeps_classes(network):
            raise InvalidValue(
                f"Traffic {short_name(self.name)} must be for endpoints of the class of their "
                "source"
            )
        if not where.reach(network.sinks):
            raise InvalidValue(
                f"Traffic from {network.sources} sources to {network.sinks} sinks must be uniform, "
                f"a matrix of all sinks, or to sinks from 0 to {network.sinks - 1}, "
                f"not {short_name(self.name)}"
            )
        if (where.local or self.own_load is not None) and network.has_memory:
            raise InvalidValue(f"Traffic {self.name} is not for networks with memory")
        if where.spread and not network.broadcasts:
            raise InvalidValue(f"Traffic {self.name} needs a network with broadcast=1")
        if not network.has_memory:
            where.fitted(network).scope(network)
        if self.flows is not None:
            self.flows.check(network)

    def _keeps_classes(self, network: Network) -> bool:
        """Whether all packets are for endpoints of their class."""
        if self.where.matrix is not None:
            sources, destinations = np.nonzero(self.where.matrix)
        elif (fixed := self.destinations(network.code)) is not None:
            sources = np.array(self.senders)
            destinations = np.array([to for to in fixed if to is not None])
        else:
            return False
        return bool(np.all((sources - destinations) % network.classes == 0))

    def sources(self, network: PacketNetwork, load: float, seed: int, depth: int) -> SourcePlan:
        """Bernoulli sources with this pattern, or sources with its flows.

        Parameters
        ----------
        network : PacketNetwork
        load : float
            Packets per terminal per cycle, 0 to 1; in steps of 2^-22. The mean of all terminals.
        seed : int
            Not negative. Runs with the same seed are equal, bit for bit.
        depth : int
            Packets that can wait in front of the network at each terminal.
        """
        if self.flows is not None:
            self.check(network)
            return self.flows.sources(network, self._random_states(seed), depth)
        fitted = self.fitted(network)
        more = fitted.where.network_straps(network)
        straps = [{**own, **more} for own in fitted._straps(network, load, seed)]
        most = 1 if self.when.interval is not None else self.when.quota or depth
        parameters = {"depth": min(depth, most), **fitted.parts}
        return SourcePlan(BernoulliSource, parameters, straps, fitted.where.tables(network.code))

    def processors(
        self,
        network: MemoryNetwork,
        load: float,
        seed: int,
        depth: int,
        *,
        operations: Sequence[str],
        history: int,
    ) -> SourcePlan:
        """Processors with this pattern.

        Parameters
        ----------
        network : MemoryNetwork
        load, seed, depth
            As in `sources`, for requests.
        operations : Sequence[str]
            Names of the operations to draw from; "all" means all that the network supports.
        history : int
            Answered requests that each processor records.

        Raises
        ------
        ValueError
            If the network does not support an operation.
        """
        straps = self._straps(network, load, seed)
        straps = [{**own, "turn": number % network.paths} for number, own in enumerate(straps)]
        parameters = {
            "rows": network.memory_rows,
            "outstanding": network.parameters["outstanding"],
            "depth": depth,
            "mix": network.mix(operations),
            "history": history,
            **self.parts,
        }
        return SourcePlan(Processor, parameters, straps, self.where.tables(network.code))

    def parts_in(self, network: Network) -> dict[str, Any]:
        """`parts` of the sources of a network."""
        fitted = self.fitted(network) if isinstance(network, PacketNetwork) else self
        return fitted.parts

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters of the parts that only some sources have: tables, bursts, closed loops."""
        more = {} if self.flows is None else {"flows": self.flows.digest}
        return {**self.where.parts, **self.when.parts, **more}

    def fitted(self, network: PacketNetwork) -> "Pattern":
        """What the sources of a network draw from: see `Destinations.fitted`."""
        return replace(self, where=self.where.fitted(network))

    def _straps(self, network: Network, load: float, seed: int) -> list[dict[str, int]]:
        """The values in which the terminals' sources differ."""
        self.check_load(load)
        states = self._random_states(seed)
        self.check(network)
        times = self.when.straps(load, seed, self.terminals)
        return [
            {"seed": state, **time, **place}
            for state, time, place in zip(states, times, self.where.straps(network.code))
        ]

    def _random_states(self, seed: int) -> list[int]:
        """The seeds of the terminals' sources."""
        if seed < 0:
            raise InvalidValue(f"Seed must not be negative, not {seed}")
        return [_random_state(seed, terminal) for terminal in range(self.terminals)]


def _random_state(seed: int, terminal: int) -> int:
    """128 bits, not all zero, that look random as a function of seed and terminal."""
    low, high = spawned(seed, terminal).generate_state(2, np.uint64)
    return int(high) << 64 | int(low) or 1


def short_name(traffic: str) -> str:
    """The name of a pattern or trace as it is shown in text and figures."""
    if len(traffic) <= _LONGEST_SHOWN:
        return traffic
    return f"{traffic[: _LONGEST_SHOWN - 3]}..."
