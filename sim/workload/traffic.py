"""Traffic: how often terminals send packets, and to which destinations."""

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TypeVar

import numpy as np

from ...hdl.bench import BernoulliSource, Processor, ReplaySource, SourcePlan
from ...hdl.bench.sources import BIAS_BITS, LOAD_BITS
from ...hdl.core.checks import check_integer, check_kind, check_number
from ...hdl.core.errors import InvalidType, InvalidValue
from ...hdl.core.input_file import read_input
from ...hdl.networks import CombiningNetwork, Network, PacketNetwork
from ...hdl.operations.memory import find_operation
from ...hdl.topology.permutations import PERMUTATIONS
from ...hdl.topology.tags import AddressCode

__all__ = [
    "TRAFFIC",
    "Pattern",
    "Trace",
    "TracePacket",
    "check_load",
    "is_finite",
    "pattern",
    "read_trace",
]

TRACE_START = 2
"""Cycle of the bench that is cycle 0 of a trace: the first in which a `ReplaySource` can send."""


@dataclass(frozen=True)
class Pattern:
    """A traffic pattern: with probability `bias` a packet goes to its sender's favourite terminal.

    All other packets go to a random terminal. With probability `spread` a packet is a broadcast
    with a random mask. In a network with memory, terminals stand for memory modules; requests for
    the favourite are for its word 0.

    Attributes
    ----------
    name : str
        The text that was parsed.
    favourites : tuple[int, ...]
        Favourite destination of each terminal.
    bias, spread : float
    quota : int
        Packets that each terminal sends, as fast as it can, whatever the load; 0 for no limit.
    local : bool
        Whether `bias` is the fraction of packets for the sender's sphere of locality, which is the
        block of terminals that contains the sender. These packets are uniform in the sphere, all
        others uniform outside it.
    sphere : int
        Terminals in a sphere; 0 for the network's own size.
    """

    name: str
    favourites: tuple[int, ...]
    bias: float
    spread: float = 0
    quota: int = 0
    local: bool = False
    sphere: int = 0

    def __repr__(self) -> str:
        return f"<Pattern {self.name} of {len(self.favourites)} terminals>"

    @property
    def uniform(self) -> bool:
        """Whether all destinations are equally likely, including the sender, as in the paper."""
        return self.bias == 0 and self.spread == 0 and not self.local

    def sources(self, network: PacketNetwork, load: float, seed: int, depth: int) -> SourcePlan:
        """Bernoulli sources with this pattern.

        Parameters
        ----------
        network : PacketNetwork
        load : float
            Packets per terminal per cycle, 0 to 1; in steps of 2^-22.
        seed : int
            Not negative. Runs with the same seed are equal, bit for bit.
        depth : int
            Packets that can wait in front of the network at each terminal.
        """
        straps = self._straps(network, network.tags.code, load, seed)
        bias, scope = self._locality(network)
        straps = [{**own, "bias": round(bias * 2**BIAS_BITS), "scope": scope} for own in straps]
        if network.broadcasts:
            straps = [{**own, "spread": round(self.spread * 2**BIAS_BITS)} for own in straps]
        return SourcePlan(BernoulliSource, {"depth": min(depth, self.quota or depth)}, straps)

    def processors(
        self,
        network: CombiningNetwork,
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
        network : CombiningNetwork
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
        if self.local:
            raise InvalidValue(f"Traffic {self.name} is not for networks with memory")
        known = network.operations
        if tuple(operations) == ("all",):
            mix = tuple(range(len(known)))
        else:
            mix = tuple(known.index(find_operation(name, known)) for name in operations)
        straps = self._straps(network, network.code, load, seed)
        straps = [{**own, "turn": number % network.paths} for number, own in enumerate(straps)]
        parameters = {
            "rows": network.parameters.rows,
            "outstanding": network.parameters.outstanding,
            "depth": depth,
            "mix": mix,
            "history": history,
        }
        return SourcePlan(Processor, parameters, straps)

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

    def _straps(
        self, network: Network, code: AddressCode, load: float, seed: int
    ) -> list[dict[str, int]]:
        """The values in which the terminals' sources differ."""
        check_load(load)
        if seed < 0:
            raise InvalidValue(f"Seed must not be negative, not {seed}")
        if self.spread and not network.broadcasts:
            raise InvalidValue(f"Traffic {self.name} needs a network with broadcast=1")
        return [
            {
                "seed": _random_state(seed, terminal),
                "load": round((1 if self.quota else load) * 2**LOAD_BITS),
                "bias": round(self.bias * 2**BIAS_BITS),
                "favourite": code.encode(favourite),
                "quota": self.quota,
            }
            for terminal, favourite in enumerate(self.favourites)
        ]


def _random_state(seed: int, terminal: int) -> int:
    """128 bits, not all zero, that look random as a function of seed and terminal."""
    low, high = np.random.SeedSequence(seed, spawn_key=(terminal,)).generate_state(2, np.uint64)
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


TRAFFIC = (
    "uniform",
    "hotspot:H[:T]",
    "one-each[:PERMUTATION]",
    "all-to-one[:T]",
    "broadcast:B",
    "sphere:BETA[:SIZE]",
    *(":".join((name, *parameters)) for name, (_, parameters) in PERMUTATIONS.items()),
)
"""The forms that `pattern` accepts."""


def pattern(text: str, ports: int) -> Pattern:
    """Parse a traffic pattern.

    `uniform` sends each packet to a random terminal. `hotspot:H` sends a fraction H of all packets
    to terminal T (default 0), and the others uniformly. `broadcast:B` gives a fraction B of all
    packets a random broadcast mask. `sphere:BETA` sends a fraction BETA to the sender's sphere of
    locality, including the sender, and the others outside it; a sphere is a block of SIZE terminals
    (default: the network's own size). `one-each` sends one packet from every terminal, all at once,
    to random terminals or by a permutation; `all-to-one` sends them to terminal T. Any other name
    is a permutation of section V of Siegel et al.

    Raises
    ------
    ValueError
        If the text names no pattern, or one that does not fit the number of ports.
    """
    check_kind("Traffic", text, str, "a text")
    ports = check_integer("Ports", ports, 1)
    name, *words = text.split(":")
    if name == "uniform" and not words:
        return Pattern(text, (0,) * ports, 0)
    if name == "hotspot" and len(words) in (1, 2):
        fraction = _fraction(text, "H", words[0])
        return Pattern(text, _target(text, words[1:], ports), fraction)
    if name == "one-each" and not words:
        return Pattern(text, (0,) * ports, 0, quota=1)
    if name == "one-each" and words[0] in PERMUTATIONS:
        return replace(pattern(":".join(words), ports), name=text, quota=1)
    if name == "all-to-one" and len(words) in (0, 1):
        return Pattern(text, _target(text, words, ports), 1, quota=1)
    if name == "broadcast" and len(words) == 1:
        fraction = _fraction(text, "B", words[0])
        return Pattern(text, (0,) * ports, 0, fraction)
    if name == "sphere" and len(words) in (1, 2):
        beta = _fraction(text, "BETA", words[0])
        size = _number(text, words[1], int) if words[1:] else 0
        if words[1:] and size not in range(1, ports + 1):
            raise InvalidValue(f"Terminals SIZE of sphere must be from 1 to {ports}, not {size}")
        return Pattern(text, tuple(range(ports)), beta, local=True, sphere=size)
    if name in PERMUTATIONS and len(words) == len(PERMUTATIONS[name][1]):
        numbers = [_number(text, word, int) for word in words]
        return Pattern(text, tuple(PERMUTATIONS[name][0](ports, *numbers)), 1)
    raise InvalidValue(f"Traffic must be one of {', '.join(TRAFFIC)}, not {text!r}")


def is_finite(text: str) -> bool:
    """Whether a text names traffic with a finite number of packets."""
    return text.split(":")[0] in ("one-each", "all-to-one")


def _target(text: str, words: list[str], ports: int) -> tuple[int, ...]:
    """One terminal, by default 0, as the favourite of all."""
    hot = _number(text, words[0], int) if words else 0
    if hot not in range(ports):
        name = text.split(":")[0]
        raise InvalidValue(f"Terminal T of {name} must be from 0 to {ports - 1}, not {hot}")
    return (hot,) * ports


def _fraction(text: str, letter: str, word: str) -> float:
    fraction = _number(text, word, float)
    if not 0 <= fraction <= 1:
        name = text.split(":")[0]
        raise InvalidValue(f"Fraction {letter} of {name} must be from 0 to 1, not {word}")
    return fraction


_Number = TypeVar("_Number", int, float)


def _number(text: str, word: str, kind: type[_Number]) -> _Number:
    try:
        return kind(word)
    except ValueError:
        what = "an integer" if kind is int else "a number"
        raise InvalidValue(f"Traffic {text!r} needs {what} in place of {word!r}") from None


@dataclass(frozen=True)
class TracePacket:
    """A line of a trace: a packet, with its cycle, source and destination.

    `length` is the number of flits, `mask` the broadcast mask: a 1 means both values of that bit of
    the destination's address code.
    """

    cycle: int
    source: int
    destination: int
    length: int = 1
    mask: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if type(value) is not int:
                if isinstance(value, bool) or not isinstance(value, Integral):
                    raise InvalidType(f"{name} must be an integer, not {value!r}")
                object.__setattr__(self, name, int(value))


@dataclass(frozen=True)
class Trace:
    """Recorded traffic.

    Attributes
    ----------
    name : str
    packets : tuple[TracePacket, ...]
        In any order; each source sends its packets in the order of their cycles.
    """

    name: str
    packets: tuple[TracePacket, ...]

    def __repr__(self) -> str:
        return f"<Trace {self.name} of {len(self.packets)} packets>"

    @property
    def cycles(self) -> int:
        """Cycles from 0 to the last packet's, inclusive."""
        return max(packet.cycle for packet in self.packets) + 1

    def check(self, network: PacketNetwork) -> None:
        """Raise ValueError if the trace is empty, or does not fit this network."""
        if not self.packets:
            raise InvalidValue(f"Trace {self.name} holds no packets")
        longest = network.lengths[1]
        for packet in self.packets:
            _check_packet(packet, network.ports)
            if packet.length not in range(1, longest + 1):
                raise InvalidValue(
                    f"length must be from 1 to {longest} in this network, not {packet.length}"
                )
            if packet.mask and not network.packet.broadcast:
                raise InvalidValue(f"mask must be 0 without broadcast=1, not {packet.mask}")
            most = (1 << network.tags.code.width) - 1
            if packet.mask > most:
                raise InvalidValue(f"mask must be from 0 to {most}, not {packet.mask}")

    def sources(self, network: PacketNetwork) -> SourcePlan:
        """Sources that replay the trace."""
        self.check(network)
        code = network.tags.code
        rows: list[list[int]] = [[] for _ in range(network.ports)]
        for packet in sorted(self.packets, key=lambda packet: packet.cycle):
            order = [code.encode(packet.destination)]
            if network.packet.broadcast:
                order.append(packet.mask)
            if network.packet.flits:
                order.append(packet.length)
            row = sum(field << code.width * number for number, field in enumerate(order))
            rows[packet.source].append(row << 32 | packet.cycle + TRACE_START)
        return SourcePlan(
            ReplaySource,
            {"depth": max(map(len, rows))},
            [{"count": len(own)} for own in rows],
            [{"trace": tuple(own)} for own in rows],
        )


def _check_packet(packet: TracePacket, ports: int) -> None:
    if packet.cycle not in range(2**31):
        raise InvalidValue(f"cycle must be from 0 to {2**31 - 1}, not {packet.cycle}")
    for what, terminal in (("source", packet.source), ("destination", packet.destination)):
        if terminal not in range(ports):
            raise InvalidValue(f"{what} must be a terminal from 0 to {ports - 1}, not {terminal}")
    if packet.mask < 0:
        raise InvalidValue(f"mask must not be negative, not {packet.mask}")


def read_trace(path: str | os.PathLike[str], ports: int) -> Trace:
    """Read a trace: CSV in UTF-8 with a header line `cycle,source,destination`.

    The header may continue with `length`, or `length,mask`; without them every packet is one flit
    to one destination. Blank lines and spaces around numbers are ignored.

    Parameters
    ----------
    path : path-like
    ports : int
        Number of terminals that the trace may name.

    Raises
    ------
    ValueError
        If the file can't be read, has no such header, or has an invalid line; the message names the
        line.
    """
    columns = ["cycle", "source", "destination", "length", "mask"]
    width = 0
    try:
        text = read_input(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise InvalidValue(f"Trace {path} can't be read: {reason}") from None
    packets = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            words = [word.strip() for word in next(csv.reader([line]), [])]
            if number == 1:
                width = len(words)
                if width < 3 or words != columns[:width]:
                    raise InvalidValue(
                        f"the header must be {','.join(columns[:3])}[,length[,mask]]"
                    )
            elif len(words) > 1 or any(words):
                packets.append(_trace_packet(words, width))
                _check_packet(packets[-1], ports)
        except (ValueError, csv.Error) as error:
            raise InvalidValue(f"Trace {path}, line {number}: {error}") from None
    if not packets:
        raise InvalidValue(f"Trace {path} holds no packets")
    return Trace(os.fspath(path), tuple(packets))


def _trace_packet(words: Sequence[str], width: int) -> TracePacket:
    if len(words) != width:
        count = {3: "three", 4: "four", 5: "five"}[width]
        raise InvalidValue(f"there must be {count} fields, not {len(words)}")
    try:
        return TracePacket(*map(int, words))
    except ValueError:
        raise InvalidValue(f"all fields must be integers, not {','.join(words)!r}") from None
