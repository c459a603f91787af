"""Traces: recorded traffic, replayed packet by packet."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from statistics import fmean

from ...hdl.bench import ReplaySource, SourcePlan
from ...hdl.fabric.checks import check_integer, check_kind, check_several
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.fabric.numerals import integer_of
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.support.input_file import read_text
from .csv_records import csv_records

__all__ = ["TRACE_START", "Trace", "TracePacket", "read_trace"]

TRACE_START = 2
"""Cycle of the bench that is cycle 0 of a trace: the first in which a `ReplaySource` can send."""


@dataclass(frozen=True)
class TracePacket:
    """A packet of a trace, with its cycle, source and destination.

    Attributes
    ----------
    cycle : int
        The cycle in which it is offered, from 0 on.
    source, destination : int
        Terminals.
    length : int
        Flits.
    mask : int
        Broadcast mask: a 1 means both values of that bit of the destination's address code.

    Raises
    ------
    TypeError
        If a field is no integer.
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
        What results call it.
    packets : tuple[TracePacket, ...]
        In any order; each source sends its packets in the order of their cycles.

    Raises
    ------
    TypeError
        If the name is no text, or there are no such packets.

    Examples
    --------
    >>> from multicube.sim import Trace, TracePacket
    >>> Trace("two", (TracePacket(0, 0, 3), TracePacket(5, 1, 2))).cycles
    6
    """

    name: str
    packets: tuple[TracePacket, ...]

    def __post_init__(self) -> None:
        check_kind("Name", self.name, str, "a text")
        packets = tuple(check_several("Packets", self.packets, "TracePacket"))
        for packet in packets:
            check_kind("Packet", packet, TracePacket, "a TracePacket")
        object.__setattr__(self, "packets", packets)

    def __repr__(self) -> str:
        return f"<Trace {self.name} of {len(self.packets)} packets>"

    @property
    def cycles(self) -> int:
        """Cycles from 0 to the last packet's, inclusive."""
        return max(packet.cycle for packet in self.packets) + 1

    @property
    def sent(self) -> dict[int, int]:
        """Number of packets that each terminal sends that sends any."""
        return Counter(packet.source for packet in self.packets)

    @property
    def senders(self) -> list[int]:
        """The terminals that send anything."""
        return sorted(self.sent)

    @property
    def mean_length(self) -> float:
        """Mean flits of a packet."""
        return fmean(packet.length for packet in self.packets)

    def check(self, network: PacketNetwork) -> None:
        """Check that the trace fits a network.

        Parameters
        ----------
        network : PacketNetwork
            The network that is to replay it.

        Raises
        ------
        ValueError
            If the trace is empty, or a packet does not fit this network.
        """
        if not self.packets:
            raise InvalidValue(f"Trace {self.name} holds no packets")
        longest = network.lengths[1]
        try:
            for packet in self.packets:
                _check_packet(packet, network.sources, network.sinks)
                network.check_class(packet.source, packet.destination)
                if packet.length not in range(1, longest + 1):
                    raise InvalidValue(
                        f"length must be from 1 to {longest} in this network, not {packet.length}"
                    )
                if packet.mask and not network.packet.broadcast:
                    raise InvalidValue(f"mask must be 0 without broadcast=1, not {packet.mask}")
                most = (1 << network.tags.code.width) - 1
                if packet.mask > most:
                    raise InvalidValue(f"mask must be from 0 to {most}, not {packet.mask}")
        except InvalidValue as error:
            way = f"from {packet.source} to {packet.destination}"
            raise InvalidValue(
                f"Trace {self.name}, packet of cycle {packet.cycle} {way}: {error}"
            ) from None

    def sources(self, network: PacketNetwork) -> SourcePlan:
        """Sources that replay the trace.

        Parameters
        ----------
        network : PacketNetwork
            The network that replays it.

        Returns
        -------
        SourcePlan
            A source for each terminal.
        """
        self.check(network)
        code = network.tags.code
        rows: list[list[int]] = [[] for _ in range(network.sources)]
        for packet in sorted(self.packets, key=lambda packet: packet.cycle):
            order = [code.encode(packet.destination)]
            if network.packet.broadcast:
                order.append(packet.mask)
            if network.packet.sized:
                order.append(packet.length)
            row = sum(field << code.width * number for number, field in enumerate(order))
            rows[packet.source].append(row << 32 | packet.cycle + TRACE_START)
        return SourcePlan(
            ReplaySource,
            {"depth": max(map(len, rows))},
            [{"count": len(own)} for own in rows],
            [{"trace": tuple(own)} for own in rows],
        )


def _check_packet(packet: TracePacket, sources: int, sinks: int) -> None:
    if packet.cycle not in range(2**31):
        raise InvalidValue(f"cycle must be from 0 to {2**31 - 1}, not {packet.cycle}")
    for what, terminal, count in (
        ("source", packet.source, sources),
        ("destination", packet.destination, sinks),
    ):
        if not 0 <= terminal < count:
            raise InvalidValue(f"{what} must be a terminal from 0 to {count - 1}, not {terminal}")
    if packet.mask < 0:
        raise InvalidValue(f"mask must not be negative, not {packet.mask}")


def read_trace(path: str | os.PathLike[str], ports: int, sinks: int | None = None) -> Trace:
    """Read a trace: CSV in UTF-8 with a header line `cycle,source,destination`.

    The header may continue with `length`, or `length,mask`; without them every packet is one flit
    to one destination. Blank lines and spaces around numbers are ignored.

    Parameters
    ----------
    path : path-like
        The file.
    ports : int
        Number of terminals that the trace may name.
    sinks : int, optional
        Number of those that it may name as destinations, if it is another.

    Returns
    -------
    Trace
        The packets, in the order of the lines.

    Raises
    ------
    ValueError
        If the file can't be read, has no such header, or has an invalid line; the message names the
        line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube.sim import read_trace
    >>> _ = Path("trace.csv").write_text('''cycle,source,destination
    ... 0,0,3
    ... 5,1,2
    ... ''')
    >>> read_trace("trace.csv", ports=4)
    <Trace trace.csv of 2 packets>
    """
    ports = check_integer("Ports", ports, 1)
    sinks = ports if sinks is None else check_integer("Sinks", sinks, 1)

    def packet(words: Sequence[str]) -> TracePacket:
        try:
            found = TracePacket(*map(integer_of, words))
        except ValueError:
            raise InvalidValue(f"all fields must be integers, not {','.join(words)!r}") from None
        _check_packet(found, ports, sinks)
        return found

    columns = [each.name for each in fields(TracePacket)]
    found = csv_records(read_text("Trace", path), columns, 3, packet, f"Trace {path}, ")
    if not found:
        raise InvalidValue(f"Trace {path} holds no packets")
    return Trace(os.fspath(path), tuple(each for each, _ in found))
