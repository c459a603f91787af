"""Traces of Netrace: packets of cache coherence that depend on each other.

Netrace is by Hestness, Grot and Keckler (Netrace: dependency-driven trace-based network-on-chip
simulation, NoCArc 2010). All numbers of a file are little-endian; it is compressed by bzip2.
"""

import bz2
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ...hdl.fabric.checks import check_integer, check_limit
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.input_file import read_content
from .packets import MOST_PACKETS, Scale
from .workload import Workload, WorkloadMessage

__all__ = ["NETRACE_STARTS", "parse_netrace", "read_netrace"]

_MAGIC = 0x484A5455
_HEADER = struct.Struct("<If30sBxQQII8x")
"""Magic number, version, name, nodes, cycles, packets, bytes of the notes, regions."""

_REGION = struct.Struct("<QQQ")
_PACKET = struct.Struct("<QIIBBBBB")
"""Cycle, id, address, type, source, destination, types of these, number of dependents."""

NETRACE_STARTS = (b"BZh", struct.pack("<I", _MAGIC))
"""How files begin, compressed or not."""

_BYTES = {
    **dict.fromkeys((1, 5, 13, 14, 15, 25, 27, 28, 29), 8),
    **dict.fromkeys((2, 3, 4, 6, 16, 30), 72),
}
"""The bytes of a packet by its type: of one without data, and with a line of 64 bytes."""

_MOST_BYTES = 2**28
"""Most bytes of a trace that is not compressed any more."""

_TIMER, _PART = 1 << 32, 33
"""Numbers that the ids of packets, of 32 bits, leave to others: what lasts until the packet's cycle
has this bit; the parts of a packet differ in the bits from 33 on."""


class _Packet(NamedTuple):
    cycle: int
    id: int
    address: int
    type: int
    source: int
    destination: int
    node_types: int
    dependents: tuple[int, ...]


def read_netrace(
    path: str | os.PathLike[str], scale: Scale | None = None, *, until: int | None = None
) -> Workload:
    """Read a trace of Netrace.

    A packet is sent when all those that it depends on have arrived, and not before its cycle in the
    trace. Its ids are those of the trace.

    Parameters
    ----------
    path : path-like
        The file, compressed by bzip2 or not.
    scale : Scale, optional
        Packets longer than its `longest` are split.
    until : int, optional
        Only packets before this cycle of the trace are sent.

    Returns
    -------
    Workload
        The packets of the trace as messages.

    Raises
    ------
    ValueError
        If the file can't be read, or is no such trace.

    Examples
    --------
    >>> from multicube.sim import MulticubeError, read_netrace
    >>> try:
    ...     read_netrace("absent.tra")
    ... except MulticubeError as error:
    ...     print(error)
    Netrace absent.tra can't be read: No such file or directory
    """
    content = read_content("Netrace", path)
    return parse_netrace(os.fspath(path), content, scale, until=until)


def parse_netrace(
    name: str, content: bytes, scale: Scale | None = None, *, until: int | None = None
) -> Workload:
    """The trace in the content of a file of this name: see `read_netrace`."""
    scale = Scale.given(scale)
    if until is not None:
        check_integer("Last cycle", until, 1)
    packets: list[_Packet] = []
    known: set[int] = set()
    for packet in _packets(name, _plain(name, content)):
        known.add(packet.id)
        if until is None or packet.cycle < until:
            packets.append(packet)
    if not packets:
        raise InvalidValue(
            f"Netrace {name} holds no packets" + ("" if until is None else " so early")
        )
    after: dict[int, list[int]] = {packet.id: [] for packet in packets}
    parts: dict[int, list[int]] = {}
    for packet in packets:
        place = _place(name, packet)
        if packet.type not in _BYTES:
            raise InvalidValue(f"{place}: type {packet.type} has no known length")
        for other in packet.dependents:
            if other not in known:
                raise InvalidValue(f"{place}: packet {other} depends on it, but there is none")
            if other in after:
                after[other].append(packet.id)
        lengths = scale.packets(_BYTES[packet.type])
        parts[packet.id] = [packet.id | part << _PART for part in range(len(lengths))]
    check_limit("Packets of a trace", sum(map(len, parts.values())), MOST_PACKETS)
    messages: list[WorkloadMessage] = []
    places: list[str] = []
    for packet in packets:
        place = _place(name, packet)
        try:
            own = list(_messages(packet, after[packet.id], parts, scale))
        except ValueError as error:
            raise InvalidValue(f"{place}: {error}") from None
        messages += own
        places += [place] * len(own)
    return Workload(name, tuple(messages), tuple(places))


def _messages(
    packet: _Packet, after: list[int], parts: dict[int, list[int]], scale: Scale
) -> Iterator[WorkloadMessage]:
    """What a packet becomes: messages, behind a computation that lasts until its cycle."""
    needed = [each for other in after for each in parts[other]]
    delay = packet.cycle
    if needed and delay:
        timer = packet.id | _TIMER
        yield WorkloadMessage(timer, packet.source, packet.source, 0, (), delay)
        needed, delay = [*needed, timer], 0
    for number, length in zip(parts[packet.id], scale.packets(_BYTES[packet.type])):
        yield WorkloadMessage(
            number, packet.source, packet.destination, length, tuple(needed), delay
        )


def _place(name: str, packet: _Packet) -> str:
    return f"Netrace {name}, packet {packet.id}"


def _plain(name: str, content: bytes) -> bytes:
    if not content.startswith(b"BZh"):
        return content
    found, left = b"", content
    try:
        while left:
            stream = bz2.BZ2Decompressor()
            found += stream.decompress(left, _MOST_BYTES + 1 - len(found))
            if len(found) > _MOST_BYTES:
                raise InvalidValue(f"Netrace {name} has more than {_MOST_BYTES} bytes")
            if not stream.eof:
                raise EOFError
            left = stream.unused_data
    except (OSError, EOFError):
        raise InvalidValue(f"Netrace {name} can't be read: it is not whole") from None
    return found


def _packets(name: str, content: bytes) -> Iterator[_Packet]:
    if len(content) < _HEADER.size or _HEADER.unpack_from(content)[0] != _MAGIC:
        raise InvalidValue(f"Netrace {name} must begin with the number {_MAGIC:#x}")
    version, _, _, _, _, notes, regions = _HEADER.unpack_from(content)[1:]
    if version != 1:
        raise InvalidValue(f"Netrace {name} must be of version 1, not {version:g}")
    at = _HEADER.size + notes + regions * _REGION.size
    number = 0
    while at != len(content):
        try:
            *numbers, count = _PACKET.unpack_from(content, at)
            at += _PACKET.size
            dependents = struct.unpack_from(f"<{count}I", content, at)
            at += 4 * count
        except struct.error:
            raise InvalidValue(f"Netrace {name} ends within packet {number} of the file") from None
        yield _Packet._make((*numbers, dependents))
        number += 1
