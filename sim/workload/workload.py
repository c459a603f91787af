"""Workloads: messages that wait for other messages and for computing, as programs send them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ...hdl.bench.dependent_source import DependentSource
from ...hdl.bench.waiting_rows import ROWS, sliced
from ...hdl.bench.workload_bench import WorkloadPlan
from ...hdl.fabric.checks import (
    check_field,
    check_integer,
    check_kind,
    check_limit,
    check_several,
    shown,
)
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.support.input_file import read_text
from .csv_records import csv_records

__all__ = [
    "MOST_ID",
    "MOST_MESSAGES",
    "Workload",
    "WorkloadMessage",
    "parse_workload",
    "read_workload",
]

MOST_ID = 2**64 - 1

_MOST = 2**31 - 1
"""Most of any other number of a message."""

MOST_MESSAGES = 16384
"""Most messages and computations of a terminal: what waits for what is a table of bits there."""


_MOST_BITS = 2**33
"""Most bits of these tables in all terminals together, which are as large as the largest."""


@dataclass(frozen=True)
class WorkloadMessage:
    """A message of a workload, or a computation.

    A *computation* has the length 0, and the same terminal as source and destination. Nothing is
    sent. It ends `delay` cycles after what it depends on, and other messages of its terminal may
    depend on it.

    Attributes
    ----------
    id : int
        Its name in `after` of other messages, from 0 to 2^64 - 1.
    source, destination : int
        Terminals.
    length : int
        Flits; 0 for a computation.
    after : tuple[int, ...]
        The messages that it depends on: each arrives at its source, or is sent by its source, or is
        a computation there.
    delay : int
        Cycles of computing between the last of these and the message, up to 2^31 - 1. At least 1
        for a computation.

    Raises
    ------
    TypeError, ValueError
        If a field has a value that is not allowed, or a computation has no delay.
    """

    id: int
    source: int
    destination: int
    length: int = 1
    after: tuple[int, ...] = ()
    delay: int = 0

    def __post_init__(self) -> None:
        check_field(self, "id", "Id", 0, MOST_ID)
        check_field(self, "source", "Source", 0, _MOST)
        check_field(self, "destination", "Destination", 0, _MOST)
        check_field(self, "length", "Length", 0, _MOST)
        check_field(self, "delay", "Delay", 0, _MOST)
        if self.is_computation and self.destination != self.source:
            raise InvalidValue(
                f"Destination must be {self.source}, its source, with length 0, a computation, "
                f"not {self.destination}"
            )
        if self.is_computation and not self.delay:
            raise InvalidValue("Delay must be at least 1 with length 0, a computation, not 0")
        after = check_several("After", self.after, "numbers of messages")
        numbers = [check_integer("After", each, 0, MOST_ID) for each in after]
        object.__setattr__(self, "after", tuple(dict.fromkeys(numbers)))

    @property
    def is_computation(self) -> bool:
        """Whether nothing is sent."""
        return self.length == 0

    @property
    def steps(self) -> int:
        """Cycles that its row waits in its source: what a computation delays has ended by then."""
        return self.delay - self.is_computation

    @property
    def counts_when_it_arrives(self) -> bool:
        """Whether its own terminal waits for its arrival, and not until it has left."""
        return self.destination == self.source and not self.is_computation


@dataclass(frozen=True)
class Workload:
    """Messages that wait for each other.

    A message is sent when the messages in its `after` have arrived at its source, and `delay`
    cycles have passed. A terminal only knows what it sees. So it waits for a message that it sends
    itself until the last flit has entered the network, and for a computation until it ends.

    Attributes
    ----------
    name : str
        What results call it.
    messages : tuple[WorkloadMessage, ...]
        If several messages of a terminal can be sent, the first of them in this order is sent
        first.
    places : tuple[str, ...]
        Names of the messages in errors, one each; by default such as "Message 7".

    Raises
    ------
    TypeError, ValueError
        If there are no messages, two have the same id, one depends on an unknown message, or on
        itself through others, or on one that its terminal neither receives nor sends.

    Examples
    --------
    >>> from multicube.sim import Workload, WorkloadMessage
    >>> there = WorkloadMessage(0, source=0, destination=3)
    >>> back = WorkloadMessage(1, source=3, destination=0, after=(0,), delay=10)
    >>> Workload("ping", (there, back)).longest_delay
    10
    """

    name: str
    messages: tuple[WorkloadMessage, ...]
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_kind("Name", self.name, str, "a text")
        messages = tuple(check_several("Messages", self.messages, "WorkloadMessage"))
        places = tuple(check_several("Places", self.places, "texts"))
        if places and (len(places) != len(messages) or not all(isinstance(p, str) for p in places)):
            raise InvalidValue(f"Places must be {len(messages)} texts, not {shown(self.places)}")
        object.__setattr__(self, "places", places)
        for message in messages:
            check_kind("Message", message, WorkloadMessage, "a WorkloadMessage")
        object.__setattr__(self, "messages", messages)
        if not messages:
            raise InvalidValue(f"Workload {self.name} holds no messages")
        seen: dict[int, int] = {}
        for number, message in enumerate(messages):
            if message.id in seen:
                raise self._error(number, f"id {message.id} is also that of an earlier message")
            seen[message.id] = number
        for number, message in enumerate(messages):
            for other in message.after:
                self._check_dependency(number, other)
        try:
            TopologicalSorter({each.id: each.after for each in messages}).prepare()
        except CycleError as error:
            # Each is a dependency of the next, and the first is also the last.
            cycle = error.args[1][::-1]
            path = " after ".join(map(str, cycle))
            raise self._error(seen[cycle[0]], f"it waits for itself: {path}") from None

    def __repr__(self) -> str:
        return f"<Workload {self.name} of {len(self.messages)} messages>"

    def _error(self, number: int, what: str) -> InvalidValue:
        place = self.places[number] if self.places else f"Message {self.messages[number].id}"
        return InvalidValue(f"{place}: {what}")

    def _check_dependency(self, number: int, other: int) -> None:
        message = self.messages[number]
        if other not in self.by_id:
            raise self._error(number, f"after {other}, which is no message")
        awaited = self.by_id[other]
        if message.source not in (awaited.source, awaited.destination):
            raise self._error(
                number,
                f"terminal {message.source} can't wait for message {other}, which goes from "
                f"{awaited.source} to {awaited.destination}: it neither receives nor sends it; let "
                f"{awaited.destination} send an answer, and wait for that",
            )

    @cached_property
    def by_id(self) -> dict[int, WorkloadMessage]:
        """The messages by their ids."""
        return {message.id: message for message in self.messages}

    @property
    def ordered(self) -> list[WorkloadMessage]:
        """The messages, each behind those that it depends on."""
        sorter = TopologicalSorter({each.id: each.after for each in self.messages})
        return [self.by_id[each] for each in sorter.static_order()]

    @property
    def sent_messages(self) -> int:
        """Number of messages that are no computations."""
        return sum(not message.is_computation for message in self.messages)

    @property
    def longest_delay(self) -> int:
        """The longest delay of a message, in cycles."""
        return max(message.delay for message in self.messages)

    def check(self, network: PacketNetwork) -> None:
        """Check that the messages fit a network.

        Parameters
        ----------
        network : PacketNetwork
            The network that is to carry them.

        Raises
        ------
        ValueError
            If a message does not fit this network.
        """
        ports, longest = network.ports, network.lengths[1]
        for number, message in enumerate(self.messages):
            for what in ("source", "destination"):
                terminal = getattr(message, what)
                if terminal >= ports:
                    raise self._error(
                        number, f"{what} must be a terminal from 0 to {ports - 1}, not {terminal}"
                    )
            network.check_class(message.source, message.destination)
            if message.length > longest:
                raise self._error(
                    number,
                    f"length must be from 1 to {longest} in this network, not {message.length}",
                )
        for terminal, own in enumerate(self.sent_by(ports)):
            if len(own) > MOST_MESSAGES:
                raise InvalidValue(
                    f"Messages of terminal {terminal} must be at most {MOST_MESSAGES}, "
                    f"not {len(own)}"
                )

    def sent_by(self, ports: int) -> list[list[WorkloadMessage]]:
        """The messages of each terminal: the rows of its source.

        Parameters
        ----------
        ports : int
            Number of terminals.

        Returns
        -------
        list[list[WorkloadMessage]]
            A list for each terminal.
        """
        return _grouped(self.messages, "source", ports)

    def received_by(self, ports: int) -> list[list[WorkloadMessage]]:
        """The messages for each terminal: the rows of what arrives there.

        Parameters
        ----------
        ports : int
            Number of terminals.

        Returns
        -------
        list[list[WorkloadMessage]]
            A list for each terminal.
        """
        return _grouped(
            [each for each in self.messages if not each.is_computation], "destination", ports
        )

    def sources(self, network: PacketNetwork, room: WorkloadPlan | None = None) -> WorkloadPlan:
        """Sources that send the messages, with at least the room of others.

        Parameters
        ----------
        network : PacketNetwork
            The network that carries them.
        room : WorkloadPlan, optional
            Sources of other messages, whose room these have at least.

        Returns
        -------
        WorkloadPlan
            A source for each terminal.

        Raises
        ------
        TypeError, ValueError
            If the messages do not fit the network, or their tables are too large.
        """
        self.check(network)
        sent, received = self.sent_by(network.ports), self.received_by(network.ports)
        place = {each.id: row for group in received for row, each in enumerate(group)}
        needed = {
            "blocks": -(-max(map(len, sent)) // ROWS),
            "arrivals": max(1, *map(len, received)),
        }
        bits = {
            "count_bits": max(1, *(len(each.after).bit_length() for each in self.messages)),
            # Whole bytes, so that most lists have the same.
            "delay_bits": 8 * max(1, -(-self.longest_delay.bit_length() // 8)),
        }
        size = _largest(needed, room.parameters if room else {})
        depth = ROWS * size["blocks"]
        tables = network.ports * depth * (depth + size["arrivals"])
        check_limit("Bits in the tables of a workload", tables, _MOST_BITS)
        rows = _largest(bits, room.rows if room else {})
        blocks, contents = [], []
        for own, arriving in zip(sent, received):
            blocks.append([_straps(own[at * ROWS :][:ROWS], rows) for at in range(size["blocks"])])
            dependent: dict[int, int] = {}
            for row, each in enumerate(own):
                for other in each.after:
                    dependent[other] = dependent.get(other, 0) | 1 << row
            # A message from a terminal to itself counts when it arrives.
            contents.append(
                {
                    "orders": tuple(_order(network, each, place.get(each.id, 0)) for each in own),
                    "awaited": tuple(dependent.get(each.id, 0) for each in arriving),
                    "followed": tuple(
                        0 if each.counts_when_it_arrives else dependent.get(each.id, 0)
                        for each in own
                    ),
                }
            )
        straps: list[dict[str, int]] = [{} for _ in sent]
        return WorkloadPlan(DependentSource, size, straps, contents, rows, blocks)


def _largest(needed: Mapping[str, int], room: Mapping[str, int]) -> dict[str, int]:
    return {name: max(number, room.get(name, 0)) for name, number in needed.items()}


def _straps(rows: Sequence[WorkloadMessage], bits: Mapping[str, int]) -> dict[str, int]:
    """What a `WaitingRows` needs to know of its rows."""
    needs = [len(each.after) for each in rows] + [1] * (ROWS - len(rows))
    return {
        "needs": sliced(needs, bits["count_bits"]),
        "delays": sliced([each.steps for each in rows], bits["delay_bits"]),
        "computes": sum(1 << row for row, each in enumerate(rows) if each.is_computation),
    }


def _grouped(
    messages: Sequence[WorkloadMessage], end: str, ports: int
) -> list[list[WorkloadMessage]]:
    groups: list[list[WorkloadMessage]] = [[] for _ in range(ports)]
    for message in messages:
        groups[getattr(message, end)].append(message)
    return groups


def _order(network: PacketNetwork, message: WorkloadMessage, row: int) -> int:
    """A row of the list of a `DependentSource`."""
    code = network.tags.code
    word, width = code.encode(message.destination), code.width
    if network.packet.sized:
        word |= message.length << width
        width += network.lengths[1].bit_length()
    return word | row << width


_COLUMNS = tuple(each.name for each in fields(WorkloadMessage))
_MUST = 3


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload: CSV in UTF-8 with a header line `id,source,destination,length,after,delay`.

    The header may end after any column from `destination` on. In `after` there are ids with spaces
    or semicolons between them, or nothing. An empty length is 1, and an empty delay 0. Blank lines
    and spaces around numbers are ignored.

    A length of 0 is a computation.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Workload
        The messages, in the order of the lines.

    Raises
    ------
    ValueError
        If the file can't be read, has no such header, or has an invalid line; the message names the
        line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube.sim import read_workload
    >>> _ = Path("ping.csv").write_text('''id,source,destination,length,after
    ... 0,0,3,1,
    ... 1,3,0,1,0
    ... ''')
    >>> len(read_workload("ping.csv").messages)
    2
    """
    text = read_text("Workload", path)
    return parse_workload(os.fspath(path), text)


def parse_workload(name: str, text: str) -> Workload:
    """The workload in the text of a file of this name: see `read_workload`."""
    found = csv_records(text, _COLUMNS, _MUST, _message, f"Workload {name}, ")
    if not found:
        raise InvalidValue(f"Workload {name} holds no messages")
    return Workload(name, *zip(*found))


def _message(words: Sequence[str]) -> WorkloadMessage:
    values: dict[str, Any] = {}
    for name, word in zip(_COLUMNS, words):
        if name == "after":
            values[name] = tuple(_number(name, each) for each in word.replace(";", " ").split())
        elif word or name in _COLUMNS[:_MUST]:
            values[name] = _number(name, word)
    return WorkloadMessage(**values)


def _number(name: str, word: str) -> int:
    if not is_natural(word):
        raise InvalidValue(f"{name} must be a number, not {word!r}")
    return int(word)
