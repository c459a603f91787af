"""Traffic patterns: how often terminals send packets, where to, and the sources that do so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...hdl.bench import BernoulliSource, Processor, SourcePlan
from ...hdl.bench.bursts import CHANGE_BITS
from ...hdl.bench.sources import BIAS_BITS, LOAD_BITS
from ...hdl.fabric.checks import check_limit, check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.tags import AddressCode
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.network import Network, PacketNetwork
from .matrix import MOST_ENTRIES, destination_tables, table_slots

__all__ = ["Pattern", "check_load", "short_name"]

_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Pattern:
    """A traffic pattern: with probability `bias` a packet goes to its sender's favourite terminal.

    All other packets go to a random terminal. With probability `spread` a packet is a broadcast
    with a random mask. In a network with memory, terminals stand for memory modules; requests for
    the favourite are for its word 0.

    Attributes
    ----------
    name : str
        The traffic as text, as `traffic.pattern` reads it.
    favourites : tuple[int, ...]
        Favourite destination of each terminal, as many as there are terminals.
    bias, spread : float
    quota : int
        Packets that each terminal sends, as fast as it can, whatever the load; 0 for no limit.
    local : bool
        Whether `bias` is the fraction of packets for the sender's sphere of locality, which is the
        block of terminals that contains the sender. These packets are uniform in the sphere, all
        others uniform outside it.
    sphere : int
        Terminals in a sphere; 0 for the network's own size.
    tabled : bool
        Whether the sources draw from tables where they can't draw local traffic otherwise: if
        spheres are no blocks of addresses, or get less than their share of all packets.
    digitwise : Callable, optional
        Function that gives the favourites instead, for a network's code of addresses.
    rates : tuple[float, ...]
        Load of each terminal, relative to the mean of all; empty if all are the same. A terminal of
        rate 0 sends nothing.
    matrix : np.ndarray, optional
        Weights of the destinations (columns) of each terminal (row), instead of uniform ones.
    bursts : tuple[float, float], optional
        Mean cycles in which a terminal is on, and in which it is off and sends nothing.
    interval : float, optional
        In a closed loop: mean cycles between those in which the network takes the last flit of a
        packet and its terminal generates the next one, at least 0. A terminal has one packet at a
        time, and all that send have this interval, whatever the load.
    """

    name: str
    favourites: tuple[int, ...]
    bias: float
    spread: float = 0
    quota: int = 0
    local: bool = False
    sphere: int = 0
    tabled: bool = False
    digitwise: Callable[[AddressCode], Sequence[int]] | None = None
    rates: tuple[float, ...] = ()
    matrix: np.ndarray | None = field(default=None, compare=False)
    bursts: tuple[float, float] | None = None
    interval: float | None = None

    def __repr__(self) -> str:
        return f"<Pattern {short_name(self.name)} of {len(self.favourites)} terminals>"

    @property
    def uniform(self) -> bool:
        """Whether packets are independent, and all destinations equally likely, including the
        sender, as in the paper.
        """
        return (
            self.bias == 0
            and self.spread == 0
            and not self.local
            and not self.rates
            and self.matrix is None
            and self.bursts is None
            and self.interval is None
        )

    @property
    def packets(self) -> int:
        """Number of packets that all terminals send, if they have a quota."""
        return self.quota * sum(rate > 0 for rate in self._rates)

    @property
    def highest_load(self) -> float:
        """The load at which the busiest terminal sends in every cycle (while it is on)."""
        return 1 / (max(self._rates) * self._hurry)

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
        if self.interval is None:
            return load
        senders = sum(rate > 0 for rate in self._rates)
        return senders / len(self._rates) / (self.interval + length)

    @property
    def _rates(self) -> tuple[float, ...]:
        return self.rates or (1.0,) * len(self.favourites)

    @property
    def _hurry(self) -> float:
        """How much faster a terminal sends while it is on."""
        return sum(self.bursts) / self.bursts[0] if self.bursts else 1.0

    def destinations(self, code: AddressCode) -> list[int | None] | None:
        """The destination of each terminal, None for one that sends nothing.

        None if a terminal's packets do not all have the same destination.
        """
        if self.bias != 1 or self.local:
            return None
        return [to if rate else None for to, rate in zip(self._favourites(code), self._rates)]

    def _favourites(self, code: AddressCode) -> Sequence[int]:
        return self.digitwise(code) if self.digitwise else self.favourites

    def check_load(self, load: float) -> None:
        """Raise ValueError if the sources can't send this load on average."""
        check_load(load)
        given = self.quota or self.interval is not None
        if not given and load > self.highest_load * (1 + 1e-9):
            what = "all terminals" if self.rates else "bursts and pauses"
            raise InvalidValue(
                f"Load, which is the mean of {what}, must be at most {self.highest_load:.4g} with "
                f"traffic {short_name(self.name)}, not {load}"
            )

    def check(self, network: Network) -> None:
        """Raise ValueError if the pattern does not suit a network."""
        if len(self.favourites) != network.sources:
            raise InvalidValue(
                f"Traffic {short_name(self.name)} is for {len(self.favourites)} terminals, "
                f"not {network.sources}"
            )
        if network.sources != network.sinks and not self._reaches(network.sinks):
            raise InvalidValue(
                f"Traffic from {network.sources} sources to {network.sinks} sinks must be uniform, "
                f"hotspot or all-to-one, to a sink from 0 to {network.sinks - 1}, "
                f"not {short_name(self.name)}"
            )
        if (self.local or self.interval is not None) and network.has_memory:
            raise InvalidValue(f"Traffic {self.name} is not for networks with memory")
        if self.spread and not network.broadcasts:
            raise InvalidValue(f"Traffic {self.name} needs a network with broadcast=1")
        if not network.has_memory:
            fitted = self.fitted(network)
            fitted._locality(network)

    def _reaches(self, sinks: int) -> bool:
        """Whether it has a meaning for another number of sinks than of sources."""
        alike = not self.local and self.matrix is None and self.digitwise is None
        return alike and len(set(self.favourites)) == 1 and self.favourites[0] < sinks

    def sources(self, network: PacketNetwork, load: float, seed: int, depth: int) -> SourcePlan:
        """Bernoulli sources with this pattern.

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
        fitted = self.fitted(network)
        if fitted is not self:
            return fitted.sources(network, load, seed, depth)
        straps = self._straps(network, load, seed)
        bias, scope = self._locality(network)
        straps = [{**own, "bias": round(bias * 2**BIAS_BITS), "scope": scope} for own in straps]
        if network.broadcasts:
            straps = [{**own, "spread": round(self.spread * 2**BIAS_BITS)} for own in straps]
        most = 1 if self.interval is not None else self.quota or depth
        parameters = {"depth": min(depth, most), **self.parts}
        return SourcePlan(BernoulliSource, parameters, straps, self._tables(network.code))

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
        return SourcePlan(Processor, parameters, straps, self._tables(network.code))

    def parts_in(self, network: Network) -> dict[str, Any]:
        """`parts` of the sources of a network."""
        fitted = self.fitted(network) if isinstance(network, PacketNetwork) else self
        return fitted.parts

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters of the parts that only some sources have: tables, bursts, closed loops."""
        return {
            **({} if self.matrix is None else {"slots": table_slots(self.matrix)}),
            **({} if self.bursts is None else {"bursts": True}),
            **({} if self.interval is None else {"closed": True}),
        }

    def _tables(self, code: AddressCode) -> list[dict[str, tuple[int, ...]]]:
        """The contents of the sources' tables of destinations."""
        if self.matrix is None:
            return []
        return [{"table": table} for table in destination_tables(self.matrix, code)]

    def fitted(self, network: PacketNetwork) -> "Pattern":
        """What the sources of a network draw from: the same pattern, or one with a matrix.

        Raises
        ------
        ValueError
            If the spheres do not divide the network, or a matrix would be too large.
        """
        if not self.tabled:
            return self
        ports, size = network.ports, self.sphere or network.sphere
        if ports % size:
            raise InvalidValue(
                f"Terminals SIZE of locality must divide {ports}, the number of all, not {size}"
            )
        plain = replace(self, tabled=False, sphere=size)
        if size == ports or (self.bias * ports >= size and _is_block(network.code, size)):
            return plain
        check_limit("Entries of a traffic matrix", ports**2, MOST_ENTRIES)
        cluster = np.arange(ports) // size
        inside = cluster[:, None] == cluster
        matrix = np.where(inside, self.bias / size, (1 - self.bias) / (ports - size))
        return replace(plain, bias=0, local=False, matrix=matrix)

    def _locality(self, network: PacketNetwork) -> tuple[float, int]:
        """The probability that a source draws from the favourite's block, and the block's mask.

        A fraction 1 - bias must go outside the sphere of S of the N terminals. So the source draws
        a fraction (1 - bias) / (1 - S / N) from all terminals, including the sphere.
        """
        if not self.local:
            return self.bias, 0
        size = self.sphere or network.sphere
        scope = network.tags.code.block_mask(size)
        share = size / network.ports
        if share == 1:
            return 1, scope
        if self.bias < share:
            raise InvalidValue(
                f"Fraction BETA of sphere must be at least {share:g}, its share of all terminals, "
                f"not {self.bias:g}"
            )
        return (self.bias - share) / (1 - share), scope

    def _straps(self, network: Network, load: float, seed: int) -> list[dict[str, int]]:
        """The values in which the terminals' sources differ."""
        self.check_load(load)
        if seed < 0:
            raise InvalidValue(f"Seed must not be negative, not {seed}")
        self.check(network)
        code = network.code
        return [
            {
                "seed": _random_state(seed, terminal),
                **self._pace(load, rate),
                "bias": round(self.bias * 2**BIAS_BITS),
                "favourite": code.encode(favourite),
                "quota": self.quota,
                **self._changes(seed, terminal),
            }
            for terminal, (favourite, rate) in enumerate(zip(self._favourites(code), self._rates))
        ]

    def _pace(self, load: float, rate: float) -> dict[str, int]:
        """The strap of a source: the probability that it sends in a cycle in which it may."""
        if self.interval is not None:
            return {"resume": round((rate > 0) / (1 + self.interval) * 2**LOAD_BITS)}
        chance = rate > 0 if self.quota else load * rate * self._hurry
        return {"load": round(min(chance, 1) * 2**LOAD_BITS)}

    def _changes(self, seed: int, terminal: int) -> dict[str, int]:
        """The straps of a source's bursts. It begins in its state of a random cycle."""
        if self.bursts is None:
            return {}
        on, off = self.bursts
        begin = np.random.default_rng(_spawned(seed, terminal, 1)).random()
        return {
            "starts": round(2**CHANGE_BITS / off),
            "stops": round(2**CHANGE_BITS / on),
            "begins_on": int(begin < on / (on + off)),
        }


def _is_block(code: AddressCode, size: int) -> bool:
    """Whether the terminals of a sphere are all those that agree in some bits of their codes."""
    try:
        code.block_mask(size)
    except InvalidValue:
        return False
    return True


def _spawned(seed: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=key)


def _random_state(seed: int, terminal: int) -> int:
    """128 bits, not all zero, that look random as a function of seed and terminal."""
    low, high = _spawned(seed, terminal).generate_state(2, np.uint64)
    return int(high) << 64 | int(low) or 1


def check_load(load: float) -> None:
    """Raise ValueError if a load is not a probability, or nearer to 0 than any step of sources."""
    number = check_number("Load", load)
    if not 0 <= number <= 1:
        raise InvalidValue(f"Load must be from 0 to 1 packets per terminal per cycle, not {load}")
    if number and abs(round(number * 2**LOAD_BITS) / 2**LOAD_BITS - number) > 0.01 * number:
        raise InvalidValue(
            f"Load must be 0 or some steps of 2^-{LOAD_BITS} = {2**-LOAD_BITS:.2g} to within 1 %, "
            f"not {load}"
        )


def short_name(traffic: str) -> str:
    """The name of a pattern or trace as it is shown in text and figures."""
    if len(traffic) <= _LONGEST_SHOWN:
        return traffic
    return f"{traffic[: _LONGEST_SHOWN - 3]}..."
