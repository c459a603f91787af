"""Messages with values, sent over a network's hardware: fan-in by folding, fan-out by copies.

A terminal folds the values that it receives into one: it adds or ors them, takes the maximum, or
keeps the last. A combining network (`ConnectionMachine(combine=...)`) does part of this inside the
network; in others each message arrives separately. A value is sent to many terminals by copies: see
`copy_rounds`.

>>> from multicube.hdl import ConnectionMachine
>>> from multicube.sim import Message, send_messages
>>> network = ConnectionMachine(2, combine="add")
>>> run = send_messages(network, [Message(source, 3, 10) for source in range(4)])
>>> run.values, run.sent, run.delivered, run.combined
([None, None, None, 40], 4, 3, 1)
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property, reduce
from itertools import zip_longest
from typing import Any, NamedTuple

from ...hdl.bench.message_bench import MessageBench
from ...hdl.fabric.checks import check_integer, check_limit, check_several, shown
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.graphs.schedules.copies import copy_rounds
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.operations.folds import Fold
from ..engines import Engine
from ..engines.engine_selection import open_engines, resolve_engine
from ..measure.result import SimulationError
from .messages import Copies, CopyRun, Message, MessageRun
from .run import LONGEST

__all__ = ["Messenger", "copy_messages", "send_messages"]


class Messenger:
    """A network in an engine, which can send messages repeatedly.

    Parameters
    ----------
    network : PacketNetwork
        A network that loses no packets, and delivers each to one terminal.
    operation : str, optional
        What terminals do with the values that they receive: "overwrite", "add",
        "add-saturating", "or", "and", "max" or "min". In a network that combines it must be the
        network's own operation, which is the default; in others the default is "overwrite".
    depth : int
        Messages that a terminal can send per call, at least 1.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    threads : int, optional
        Processor cores that the engine `compiled` uses; one if not given.

    Attributes
    ----------
    network : PacketNetwork
        The network.
    fold : Fold
        The operation.
    depth : int
        Messages that a terminal can send per call.

    Raises
    ------
    TypeError, ValueError
        If the network can't carry messages, or an argument is not as above.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Message, Messenger
    >>> messenger = Messenger(build("hypercube", n=2), "add")
    >>> messenger.send([Message(0, 3, 10), Message(1, 3, 5)]).values
    [None, None, None, 15]
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
            raise InvalidValue(f"Operation must be {combine}, the network's own, not {operation!r}")
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
        # The engine is opened by the first `send`, after the messages have been checked.
        (engine,) = open_engines(self._name, [self._bench], threads=self._threads)
        return engine

    def send(self, messages: Iterable[Message]) -> MessageRun:
        """Send messages, all sources at the same time, each source's in order.

        Parameters
        ----------
        messages : Iterable[Message]
            The messages; source, destination and value of each.

        Returns
        -------
        MessageRun
            What arrived, and when.

        Raises
        ------
        SimulationError
            If messages were lost or misrouted.
        TypeError, ValueError
            If there is no such terminal, a value does not fit into a packet, a terminal would have
            to send more than `depth` messages, or the counters would overflow: after 2^31 cycles.
        """
        lists, wanted = self._sort(messages)
        engine, sinks = self._engine, self._bench.sinks
        check_limit("Cycles of all messages so far", engine.cycle, LONGEST)
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
        """Copy values in rounds: each terminal that has a value sends it to one that has none yet.

        A terminal that receives a copy sends it on from the next round. Copying to k destinations
        takes log2(k + 1) rounds, rounded up. Values of different sources are copied concurrently.

        Parameters
        ----------
        copies : Iterable[Copies]
            The values; at most one for each source.

        Returns
        -------
        CopyRun
            What each terminal has, and the rounds.

        Raises
        ------
        SimulationError
            If messages were lost or misrouted.
        TypeError, ValueError
            If a terminal does not exist or would have two values, or a value does not fit into
            a packet.
        """
        copies = _each(Copies, copies)
        values: list[int | None] = [None] * self.network.ports
        ends: dict[int, list[int]] = {}
        for source, destinations, value in copies:
            source, _, value = self._checked(Message(source, source, value))
            several = check_several("Destinations", destinations, "terminals")
            if values[source] is not None:
                raise InvalidValue(f"Copies must be one per terminal, not several for {source}")
            values[source] = value
            ends[source] = [
                self._checked(Message(source, end, value)).destination for end in several
            ]
        rounds = []
        for pairs in copy_rounds(ends):
            messages = []
            for source, to in pairs:
                held = values[source]
                assert held is not None  # it was received in an earlier round
                messages.append(Message(source, to, held))
            run = self.send(messages)
            for _, to in pairs:
                values[to] = run.values[to]
            rounds.append(run)
        return CopyRun(rounds, values)

    def _checked(self, message: Message) -> Message:
        """The message, of Python's integers."""
        shape = self.fold.shape
        low = -(1 << shape.width - 1) if shape.signed else 0
        source = check_integer("Source", message.source, 0, self.network.ports - 1)
        destination = check_integer("Destination", message.destination, 0, self.network.ports - 1)
        self.network.check_class(source, destination)
        value = check_integer("Value", message.value, low, low + (1 << shape.width) - 1)
        return Message(source, destination, value)

    def _sort(self, messages: Iterable[Message]) -> tuple[list[list[int]], list[list[int]]]:
        """By terminal: the rows of its source's list, and the values that it should receive."""
        code, layout = self.network.tags.code, self._bench.row
        at = {name: layout[name].offset for name in layout.members}
        mask = (1 << self.fold.shape.width) - 1
        lists: list[list[int]] = [[] for _ in range(self.network.ports)]
        wanted: list[list[int]] = [[] for _ in range(self.network.ports)]
        for message in messages:
            source, destination, value = self._checked(message)
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
        """Load the sources' lists, all at the same time."""
        for rows in zip_longest(*lists, fillvalue=0):
            for terminal, row in enumerate(rows):
                self._engine.set(f"row_{terminal}", row)
            self._engine.step(1)
        for terminal in range(len(lists)):
            self._engine.set(f"row_{terminal}", 0)

    def _run(self, messages: int) -> "_Totals":
        """Send the sources' messages, until all have arrived or nothing moves any more."""
        engine, network = self._engine, self.network
        before = last = self._totals()
        moved = engine.cycle
        patience = 1000 + 20 * network.zero_load_cycles
        engine.set("send", 1)
        while True:
            engine.step(4 + network.zero_load_cycles)
            totals = self._totals()
            arrived = sum(totals[1:3]) - sum(before[1:3])
            # Wait for one more interval after the last delivery, in case of a surplus message.
            if totals[:3] != last[:3]:
                last, moved = totals, engine.cycle
            elif arrived == messages or engine.cycle - moved > patience:
                break
        engine.set("send", 0)
        return _Totals(*(now - then for now, then in zip(totals, before)))

    def _totals(self) -> "_Totals":
        bench, read = self._bench, self._engine.read

        def metered(statistic: str) -> int:
            return sum(read(list(bench.meters.get(statistic, {}).values()), "total"))

        return _Totals(
            sum(read(bench.sources, "injected")),
            sum(read(bench.sinks, "delivered")),
            metered("combined"),
            metered("referred"),
        )

    def _number(self, word: int) -> int:
        """The number that a word represents; engines may return it with or without its sign."""
        width = self.fold.shape.width
        word &= (1 << width) - 1
        return word - (word >> width - 1 << width) if self.fold.shape.signed else word

    def _judge(self, run: MessageRun, wanted: list[list[int]]) -> None:
        """Raise SimulationError if messages were lost or misrouted."""
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
                    f"Terminal {terminal} has {value}, which is not the result of its "
                    f"{len(values)} messages",
                    run,
                )


class _Totals(NamedTuple):
    """Counts of all messages since the engine was opened."""

    sent: int
    delivered: int
    combined: int
    referred: int


def _check_network(network: object) -> None:
    """Raise an error if a network can't carry messages with values."""
    if not isinstance(network, PacketNetwork):
        raise InvalidType(f"Network must be a PacketNetwork, not {shown(network)}")
    for what, wrong in (
        ("loses packets", network.drops),
        ("has broadcast masks", network.broadcasts),
    ):
        if wrong:
            raise InvalidValue(f"Network must not be one that {what}, for messages with values")


def _each(kind: type[Any], given: Any) -> list[Any]:
    """Messages or copies that are given as such, or as tuples of their parts."""
    name = kind.__name__
    try:
        return [kind(*each) for each in check_several(f"{name}", given, "tuples")]
    except TypeError as error:
        if isinstance(error, InvalidType):
            raise
        parts = ", ".join(kind._fields)
        raise InvalidType(f"{name} must be of {parts}: {shown(given)}") from None


def send_messages(
    network: PacketNetwork,
    messages: Iterable[Message],
    operation: str | None = None,
    **options: Any,
) -> MessageRun:
    """Send messages over a network once, all sources at the same time, each source's in order.

    A `Messenger` sends repeatedly.

    Parameters
    ----------
    network : PacketNetwork
        A network that loses no packets, and delivers each to one terminal.
    messages : Iterable[Message]
        The messages; source, destination and value of each.
    operation : str, optional
        What terminals do with the values that they receive, by default the network's own
        operation, or "overwrite".
    **options : Any
        Further arguments of `Messenger`: depth, engine, threads. By default the depth is the
        most messages that any terminal sends.

    Returns
    -------
    MessageRun
        What arrived, and when.

    Raises
    ------
    SimulationError
        If messages were lost or misrouted.
    TypeError, ValueError
        If a terminal does not exist, or a value does not fit into a packet.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Message, send_messages
    >>> messages = [Message(source, 3, 10) for source in range(4)]
    >>> send_messages(build("connection-machine", n=2, combine="add"), messages)
    <MessageRun of 4 messages: 1 combined, 3 delivered, 0 referred, in 4 cycles>
    """
    _check_network(network)
    messages = _each(Message, messages)
    last = network.ports - 1
    sent = Counter(check_integer("Source", message.source, 0, last) for message in messages)
    depth = max(sent.values(), default=1)
    return Messenger(network, operation, **{"depth": depth, **options}).send(messages)


def copy_messages(network: PacketNetwork, copies: Iterable[Copies], **options: Any) -> CopyRun:
    """Copy values over a network once, in rounds, from terminals that have one to those that have
    none.

    A `Messenger` copies repeatedly.

    Parameters
    ----------
    network : PacketNetwork
        A network that loses no packets, and delivers each to one terminal.
    copies : Iterable[Copies]
        The values; at most one for each source.
    **options : Any
        Further arguments of `Messenger`: operation, depth, engine, threads.

    Returns
    -------
    CopyRun
        What each terminal has, and the rounds.

    Raises
    ------
    SimulationError
        If messages were lost or misrouted.
    TypeError, ValueError
        If a terminal does not exist or would have two values, or a value does not fit into a
        packet.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Copies, copy_messages
    >>> copy_messages(build("connection-machine", n=2), [Copies(0, [1, 2, 3], 5)]).values
    [5, 5, 5, 5]
    """
    return Messenger(network, **{"depth": 1, **options}).copy(copies)
