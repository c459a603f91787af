"""Messages with values, sent over a network's hardware: fan-in by folding, fan-out by copies.

What a terminal receives is folded into one value: added, or-ed, reduced to the maximum, or
overwritten. A network that combines (`ConnectionMachine(combine=...)`) does part of that on the
way; in others each message arrives by itself. One message to many goes by copies: see
`copy_rounds`.

>>> from multicube.hdl.networks.connection_machine import ConnectionMachine
>>> from multicube.sim import Message, send_messages
>>> network = ConnectionMachine(2, combine="add")
>>> run = send_messages(network, [Message(source, 3, 10) for source in range(4)])
>>> run.values, run.sent, run.delivered, run.combined
([None, None, None, 40], 4, 3, 1)
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import zip_longest
from typing import Any, NamedTuple

from ...hdl.bench.message_bench import MessageBench
from ...hdl.core.checks import check_integer
from ...hdl.core.errors import InvalidType, InvalidValue
from ...hdl.networks.network import PacketNetwork
from ...hdl.operations.folds import Fold
from ...hdl.routing.copies import copy_rounds
from ..engines import Engine
from ..engines.selection import open_engines, resolve_engine
from ..measure.result import SimulationError

__all__ = [
    "Copies",
    "CopyRun",
    "Message",
    "MessageRun",
    "Messenger",
    "copy_messages",
    "send_messages",
]


class Message(NamedTuple):
    """A value that goes from one terminal to another.

    Attributes
    ----------
    source, destination : int
        Terminals; they may be the same.
    value : int
        What the shape of the network's payload can hold.
    """

    source: int
    destination: int
    value: int


class Copies(NamedTuple):
    """A value that goes from one terminal to several others.

    Attributes
    ----------
    source : int
    destinations : Sequence[int]
    value : int
    """

    source: int
    destinations: Sequence[int]
    value: int


@dataclass(frozen=True)
class MessageRun:
    """What became of messages that were sent at the same time.

    Attributes
    ----------
    engine : str
    operation : str
        By which values became one.
    cycles : int
        From the first offer to the last delivery; h + 2 for one message over h wires of a
        `ConnectionMachine` with wires of a word. 0 if there were none.
    sent, delivered : int
    combined : int
        Messages that vanished because they were combined with others: those sent, less those
        delivered.
    referred : int
        How many times the network sent a message away from its destination, for want of room.
    values : list[int | None]
        By terminal: what its messages became; None if there was none.
    deliveries : list[int]
        By terminal.
    """

    engine: str
    operation: str
    cycles: int
    sent: int
    delivered: int
    combined: int
    referred: int
    values: list[int | None] = field(repr=False)
    deliveries: list[int] = field(repr=False)


@dataclass(frozen=True)
class CopyRun:
    """What became of values that were copied.

    Attributes
    ----------
    rounds : list[MessageRun]
    values : list[int | None]
        By terminal: its own if it is a source, its copy if it got one, or None.
    """

    rounds: list[MessageRun]
    values: list[int | None] = field(repr=False)

    @property
    def cycles(self) -> int:
        """Of all rounds together."""
        return sum(run.cycles for run in self.rounds)


class Messenger:
    """A network in an engine, for sending messages again and again.

    Parameters
    ----------
    network : PacketNetwork
        Loses no packet, and carries each to one terminal.
    operation : str, optional
        One of `FOLDS`: what terminals do with the values that they receive. By default what the
        network does when it combines, and it can be nothing else; or "overwrite".
    depth : int
        Messages that a terminal can send at a time, at least 1.
    engine : str
        One of `engines.selection.ENGINES`.
    threads : int, optional
        Processor cores that the engine `compiled` may use; all if not given.

    Attributes
    ----------
    network : PacketNetwork
    fold : Fold
    depth : int

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    def __init__(
        self,
        network: PacketNetwork,
        operation: str | None = None,
        *,
        depth: int = 16,
        engine: str = "auto",
        threads: int | None = None,
    ) -> None:
        _check_network(network)
        combine = network.combine
        if combine != "none" and operation not in (None, combine):
            raise InvalidValue(f"Operation must be {combine}, as the network's, not {operation!r}")
        if operation is None:
            operation = "overwrite" if combine == "none" else combine
        self.network = network
        self.fold = Fold(operation, network.packet.members["payload"])
        depth = check_integer("Depth", depth, 1)
        self.depth = depth
        self._name = resolve_engine(engine)
        self._threads = threads
        self._bench = MessageBench(network, self.fold, depth=depth)

    @cached_property
    def _engine(self) -> Engine:
        # Opened when there is something to send: by then what is wrong has been found.
        (engine,) = open_engines(self._name, [self._bench], threads=self._threads)
        return engine

    def send(self, messages: Iterable[Message]) -> MessageRun:
        """Send messages, all at the same time, those of one source in order.

        Raises
        ------
        SimulationError
            If messages were lost, or went elsewhere.
        TypeError, ValueError
            If there is no such terminal, a value does not fit into a packet, or a terminal shall
            send more than `depth` messages.
        """
        lists, wanted = self._sort(messages)
        engine, sinks = self._engine, self._bench.sinks
        engine.set("clear", 1)
        engine.step(1)
        engine.set("clear", 0)
        self._load(lists)
        start = engine.cycle
        totals = self._run(sum(map(len, lists)))

        deliveries = engine.read(sinks, "delivered")
        latest = [
            cycle for cycle, number in zip(engine.read(sinks, "latest"), deliveries) if number
        ]
        run = MessageRun(
            engine=engine.name,
            operation=self.fold.name,
            cycles=max(latest, default=start) - start,
            sent=totals.sent,
            delivered=totals.delivered,
            combined=totals.combined,
            referred=totals.referred,
            values=[
                self._number(word) if number else None
                for word, number in zip(engine.read(sinks, "value"), deliveries)
            ],
            deliveries=deliveries,
        )
        self._judge(run, wanted)
        return run

    def copy(self, copies: Iterable[Copies]) -> CopyRun:
        """Copy values in rounds: each that has one sends it to another that has none yet.

        A copy that has arrived is what goes on in the next round. To k destinations it takes
        log2(k + 1) rounds, rounded up; values from different sources are copied at the same time.

        Raises
        ------
        SimulationError
            As `send`.
        TypeError, ValueError
            As `send`, and if a terminal would get two values, or get one and be a source.
        """
        copies = [Copies(*given) for given in copies]
        values: list[int | None] = [None] * self.network.ports
        for source, destinations, value in copies:
            self._check(Message(source, source, value))
            for destination in destinations:
                self._check(Message(source, destination, value))
            if values[source] is not None:
                raise InvalidValue(f"Copies must be one per terminal, not several for {source}")
            values[source] = value
        rounds = []
        for pairs in copy_rounds({source: destinations for source, destinations, _ in copies}):
            messages = []
            for source, to in pairs:
                held = values[source]
                assert held is not None  # who sends has one since an earlier round
                messages.append(Message(source, to, held))
            run = self.send(messages)
            for _, to in pairs:
                values[to] = run.values[to]
            rounds.append(run)
        return CopyRun(rounds, values)

    def _check(self, message: Message) -> None:
        shape = self.fold.shape
        low = -(1 << shape.width - 1) if shape.signed else 0
        check_integer("Source", message.source, 0, self.network.ports - 1)
        check_integer("Destination", message.destination, 0, self.network.ports - 1)
        check_integer("Value", message.value, low, low + (1 << shape.width) - 1)

    def _sort(self, messages: Iterable[Message]) -> tuple[list[list[int]], list[list[int]]]:
        """By terminal: the rows of its list, and the values that it shall receive."""
        code, layout = self.network.tags.code, self._bench.row
        at = {name: layout[name].offset for name in layout.members}
        mask = (1 << self.fold.shape.width) - 1
        lists: list[list[int]] = [[] for _ in range(self.network.ports)]
        wanted: list[list[int]] = [[] for _ in range(self.network.ports)]
        for message in messages:
            self._check(message)
            source, destination, value = message
            lists[source].append(
                1 << at["used"]
                | code.encode(destination) << at["destination"]
                | (value & mask) << at["value"]
            )
            wanted[destination].append(value)
        for terminal, rows in enumerate(lists):
            if len(rows) > self.depth:
                raise InvalidValue(
                    f"Messages of terminal {terminal} must be at most {self.depth} at a time, "
                    f"not {len(rows)}"
                )
        return lists, wanted

    def _load(self, lists: list[list[int]]) -> None:
        """Give the sources their lists, all at the same time."""
        for rows in zip_longest(*lists, fillvalue=0):
            for terminal, row in enumerate(rows):
                self._engine.set(f"row_{terminal}", row)
            self._engine.step(1)
        for terminal in range(len(lists)):
            self._engine.set(f"row_{terminal}", 0)

    def _run(self, messages: int) -> "_Totals":
        """Send what the sources have, until nothing is under way, or nothing moves any more."""
        engine, network = self._engine, self.network
        before = last = self._totals()
        moved = engine.cycle
        patience = 1000 + 20 * network.zero_load_cycles
        engine.set("send", 1)
        while True:
            engine.step(4 + network.zero_load_cycles)
            totals = self._totals()
            arrived = sum(totals[1:3]) - sum(before[1:3])
            # After the last delivery the books stay open for another while.
            if totals[:3] != last[:3]:
                last, moved = totals, engine.cycle
            elif arrived == messages or engine.cycle - moved > patience:
                break
        engine.set("send", 0)
        return _Totals(*(now - then for now, then in zip(totals, before)))

    def _totals(self) -> "_Totals":
        bench, read = self._bench, self._engine.read
        return _Totals(
            sum(read(bench.sources, "injected")),
            sum(read(bench.sinks, "delivered")),
            sum(read(list(bench.meters.get("combined", {}).values()), "total")),
            sum(read(list(bench.meters.get("referred", {}).values()), "total")),
        )

    def _number(self, word: int) -> int:
        """The number that a word stands for; an engine may give it with or without its sign."""
        width = self.fold.shape.width
        word &= (1 << width) - 1
        return word - (word >> width - 1 << width) if self.fold.shape.signed else word

    def _judge(self, run: MessageRun, wanted: list[list[int]]) -> None:
        """Raise SimulationError if messages were lost, or went elsewhere."""
        messages = sum(map(len, wanted))
        if not messages == run.sent == run.delivered + run.combined:
            raise SimulationError(
                f"The books do not balance: {messages} messages, {run.sent} sent, "
                f"{run.delivered} delivered and {run.combined} combined",
                run,
            )
        for terminal, (value, values) in enumerate(zip(run.values, wanted)):
            if self.fold.name == "overwrite":
                right = value in values if values else value is None
            else:
                right = value == (reduce(self.fold.perform, values) if values else None)
            if not right:
                raise SimulationError(
                    f"Terminal {terminal} has {value}, which its {len(values)} messages don't make",
                    run,
                )


class _Totals(NamedTuple):
    """Of all messages since the engine was opened."""

    sent: int
    delivered: int
    combined: int
    referred: int


def _check_network(network: object) -> None:
    """Raise an error if a network can't carry messages as they are here."""
    if not isinstance(network, PacketNetwork):
        raise InvalidType(f"Network must be one that carries packets, not {network!r}")
    for what, wrong in (
        ("loses packets", network.drops),
        ("has broadcast masks", network.broadcasts),
    ):
        if wrong:
            raise InvalidValue(f"Network must not be one that {what}, for messages with values")


def send_messages(
    network: PacketNetwork,
    messages: Iterable[Message],
    operation: str | None = None,
    **options: Any,
) -> MessageRun:
    """Send messages over a network once; see `Messenger` and its `send`.

    `depth` is as many as a terminal sends, if not given.
    """
    messages = [Message(*message) for message in messages]
    depth = max(Counter(message.source for message in messages).values(), default=1)
    return Messenger(network, operation, **{"depth": depth, **options}).send(messages)


def copy_messages(network: PacketNetwork, copies: Iterable[Copies], **options: Any) -> CopyRun:
    """Copy values over a network once; see `Messenger` and its `copy`."""
    return Messenger(network, **{"depth": 1, **options}).copy(copies)
