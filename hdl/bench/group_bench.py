# amaranth: UnusedElaboratable=no
"""The test bench for groups: terminals send their words to a group, and keep what they hear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.pins import Pin
from ..graphs.routing.group_tree import Kind
from ..links.packet import Packet
from ..networks.packet_network import PacketNetwork
from .instruments import COUNT_BITS
from .packet_bench import Bench
from .stamp import LONG_TIME_BITS

__all__ = ["GroupBench", "GroupTask", "GroupTerminal"]


@dataclass(frozen=True)
class GroupTask:
    """What terminals send to one group.

    Attributes
    ----------
    kind : Kind
        `MULTICAST`, `REDUCE` or `ALL_REDUCE`.
    root : int
    members : Sequence[int]
    words : Mapping[int, Sequence[int]]
        By terminal, the words that it sends: of the root for a multicast, of all members otherwise.
    width : int
        Width of a word.

    Raises
    ------
    ValueError
        If others send: their packets have no way, or the members' wait for theirs, for ever.
    """

    kind: Kind
    root: int
    members: Sequence[int]
    words: Mapping[int, Sequence[int]]
    width: int

    def __post_init__(self) -> None:
        multicast = self.kind is Kind.MULTICAST
        senders = {self.root} if multicast else set(self.members)
        if self.words.keys() != senders:
            who = f"the root {self.root}" if multicast else f"the members {sorted(senders)}"
            raise InvalidValue(f"Words must be those of {who}, not of {sorted(self.words)}")

    @property
    def length(self) -> int:
        """How many words each of those that send has."""
        (length,) = {len(words) for words in self.words.values()}
        return length

    @property
    def listeners(self) -> Sequence[int]:
        """The terminals that hear so many."""
        return [self.root] if self.kind is Kind.REDUCE else self.members


class GroupTerminal(wiring.Component):
    """Sends a list of words to a group, in packets of several flits, and stores all that it hears.

    `o` comes from memory, registers and `send`.

    Parameters
    ----------
    packet : Packet
        With flits and groups. Its payload is a word.
    depth : int
        Most words that are sent, and that are stored.
    longest : int
        Most flits of a packet.
    words : tuple[int, ...]
        The words.

    Members
    -------
    now : In(32)
        Number of this cycle.
    send : In(1)
        Words are offered. It must stay 1.
    group : In(tag)
        Number of the group. Constant.
    kind : In(2)
        Constant.
    count : In(32)
        How many words are sent. Constant.
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(packet))
    sent, heard : Out(32)
        Flits so far.
    latest : Out(32)
        Cycle in which the last flit was heard.

    Attributes
    ----------
    words, stored : Memory
        What is sent, and what was heard. They are submodules of the same names.
    """

    def __init__(
        self, packet: Packet, *, depth: int, longest: int, words: tuple[int, ...] = ()
    ) -> None:
        self.packet = packet
        self.depth = check_integer("Depth", depth, 1)
        self.longest = check_integer("Longest packet", longest, 1)
        shape = packet.members["payload"]
        super().__init__(
            {
                "now": In(32),
                "send": In(1),
                "group": In(packet.members["tag"]),
                "kind": In(2),
                "count": In(COUNT_BITS),
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(packet)),
                "sent": Out(COUNT_BITS),
                "heard": Out(COUNT_BITS),
                "latest": Out(32),
            }
        )
        self.words = Memory(shape=shape, depth=depth, init=words)
        self.stored = Memory(shape=shape, depth=depth, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words, m.submodules.stored = self.words, self.stored
        word = self.words.read_port(domain="comb")
        store = self.stored.write_port()
        number = Signal(range(self.longest))
        tail = (number == self.longest - 1) | (self.sent + 1 == self.count)
        m.d.comb += [
            word.addr.eq(self.sent),
            self.o.valid.eq(self.send & (self.sent != self.count)),
            self.o.payload.tag.eq(self.group),
            self.o.payload.kind.eq(self.kind),
            self.o.payload.payload.eq(word.data),
            self.o.payload.last.eq(tail),
            self.i.ready.eq(1),
            store.addr.eq(self.heard),
            store.data.eq(self.i.payload.payload),
            store.en.eq(self.i.valid),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [self.sent.eq(self.sent + 1), number.eq(number + 1)]
            with m.If(tail):
                m.d.sync += number.eq(0)
        with m.If(self.i.valid):
            m.d.sync += [self.heard.eq(self.heard + 1), self.latest.eq(self.now)]
        return m


class GroupBench(Bench):
    """The fabric of a network whose group 0 does a task, with a `GroupTerminal` at each terminal.

    Parameters
    ----------
    network : PacketNetwork
        With groups.
    task : GroupTask

    Attributes
    ----------
    network, task
        The arguments.

    Raises
    ------
    ValueError
        If the network has no groups, or the packets of this one have no way.
    """

    network: PacketNetwork

    def __init__(self, network: PacketNetwork, task: GroupTask) -> None:
        tables = network.group_tables({0: (task.root, task.members)})
        if why := network.group_refusal(task.kind, task.root, task.members):
            raise InvalidValue(why)
        super().__init__(2, LONG_TIME_BITS, False, False)
        self.network, self.task = network, task
        self.packet = packet = network.packet_of(task.width)
        self.sources = self.sinks = [f"terminal_{number}" for number in range(network.ports)]
        outside = len(self.links)
        ends = network.place(self, packet)
        depth = task.length
        kind = CellType(GroupTerminal, packet=packet, depth=depth, longest=network.lengths[1])
        for number, name in enumerate(self.sources):
            words = tuple(task.words.get(number, ()))
            straps = {"group": 0, "kind": task.kind, "count": len(words)}
            contents = {"words": words} if words else {}
            self.place(Cell(name, kind, straps, contents, f"terminal {number}"))
        self._carry(ends.inputs, self.sources, "o")
        self._carry(ends.outputs, self.sinks, "i")
        self._supply(Pin(self.timer.name, ("now",)), self.sources, "now")
        self._supply(Pin(None, ("send",)), self.sources, "send")
        self._meter_links(self._streams(outside))
        for name, memories in tables.items():
            rows = {memory: tuple(each) for memory, each in memories.items()}
            self.cells[name] = replace(self.cells[name], contents=rows)
