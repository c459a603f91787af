"""Intermediate terminals of packets: chosen where they enter, and taken off where they leave."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.random_bits import RandomBits

__all__ = ["DetourEnd", "LeastDelayDetour", "RandomDetour", "detoured"]

_DRAWN_BITS = 24
"""Random bits that a number below one that is no power of two is made of: its probability is
exact to 2^-24."""


def detoured(packet: Packet) -> Packet:
    """The layout of a packet with an intermediate terminal: its number, as wide as the tag, is
    above it."""
    return Packet(2 * packet.members["tag"], packet.members["payload"], flits=True)


def _with_via(packet: Packet, flit: Value, via: Value) -> Value:
    """A flit with an intermediate terminal, which is as wide as the tag."""
    tag = packet.members["tag"]
    return Cat(flit[:tag], via, flit[tag:])


def _below(count: int, word: Value) -> Value:
    """A number below `count`, from random bits."""
    if count & (count - 1) == 0:
        return word[: count.bit_length() - 1]
    return ((word * count) >> len(word))[: (count - 1).bit_length()]


def _drawn_bits(count: int) -> int:
    return max(count.bit_length() - 1, 1) if count & (count - 1) == 0 else _DRAWN_BITS


class RandomDetour(wiring.Component):
    """Gives each packet a random intermediate terminal. Combinational.

    The number is drawn before the packet comes, and is the same while its header waits. Flits
    behind the header may have another number, which does not matter.

    Parameters
    ----------
    packet : Packet
        With flits.
    terminals : int

    Members
    -------
    seed : In(32)
        Constant, not zero.
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(detoured(packet)))
    """

    def __init__(self, packet: Packet, *, terminals: int) -> None:
        self.packet, self.terminals = packet, terminals
        super().__init__(
            {
                "seed": In(32),
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(detoured(packet))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = _drawn_bits(self.terminals)
        m.submodules.random = random = RandomBits(width)
        started = Signal()
        drawn = _below(self.terminals, Mux(started, random.value, self.seed[:width]))
        kept, via = (Signal(self.packet.members["tag"], name=name) for name in ("kept", "via"))
        # The generator starts after the first cycle.
        m.d.comb += [random.seed.eq(self.seed), via.eq(Mux(started, kept, drawn))]
        m.d.sync += started.eq(1)
        with m.If(~self.i.valid | (self.i.ready & self.i.payload.last)):
            m.d.sync += kept.eq(drawn)
        with m.Elif(~started):
            m.d.sync += kept.eq(via)
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(_with_via(self.packet, self.i.payload.as_value(), via)),
            self.i.ready.eq(self.o.ready),
        ]
        return m


class LeastDelayDetour(wiring.Component):
    """Gives each packet a random intermediate terminal if that way seems to be faster than the
    direct one, and otherwise the terminal that it comes from.

    The delay of a way is estimated as the number of its links, times the number of flits in the
    queues behind the first of them. If both are equal, the packet goes directly.

    The choice is made as a flit enters a queue of two; so it leaves a cycle later. `i.ready`
    depends on registers only.

    Parameters
    ----------
    packet : Packet
        With flits.
    terminals : int
    links : tuple[tuple[int, ...], ...]
        For each link that leaves the node, the numbers of its channels.
    depth : int
        Most flits in a queue.
    hops : int
        Most links of one phase.
    **rows : tuple[int, ...]
        Contents of the memories. `direct`: for each terminal, how many links lead to it directly,
        and above that, in units of `hops` + 1 rounded up to a power of two, the number of the first
        one. `detour`: the same of the first phase to it. `onward`: for each destination, and above
        it each intermediate terminal, the links between them.

    Members
    -------
    seed : In(32)
        Constant, not zero.
    own : In(width of the tag)
        This terminal. Constant.
    level : In(range(depth + 1)).array(channels)
        Flits in the queue behind each channel.
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(detoured(packet)))
    """

    def __init__(
        self,
        packet: Packet,
        *,
        terminals: int,
        links: tuple[tuple[int, ...], ...],
        depth: int,
        hops: int,
        **rows: tuple[int, ...],
    ) -> None:
        self.packet, self.terminals = packet, terminals
        self.links, self.depth, self.hops, self.rows = links, depth, hops, rows
        tag = packet.members["tag"]
        super().__init__(
            {
                "seed": In(32),
                "own": In(tag),
                "level": In(range(depth + 1)).array(sum(map(len, links))),
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(detoured(packet))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tag, bits = self.packet.members["tag"], self.hops.bit_length()
        port_bits = bits + max(len(self.links) - 1, 1).bit_length()

        def row(name: str, shape: int, address: Value) -> Value:
            depth = 1 << len(address)
            memory = Memory(shape=shape, depth=depth, init=self.rows.get(name, ()))
            m.submodules[name] = memory
            port = memory.read_port(domain="comb")
            m.d.comb += port.addr.eq(address)
            return port.data

        m.submodules.random = random = RandomBits(_drawn_bits(self.terminals))
        m.d.comb += random.seed.eq(self.seed)
        drawn = Signal(tag)
        via = Signal(tag)
        to = self.i.payload.tag
        m.d.comb += drawn.eq(_below(self.terminals, random.value))
        waiting = Array(
            sum((self.level[channel] for channel in link), start=Const(0)) for link in self.links
        )
        direct = row("direct", port_bits, to)
        detour = row("detour", port_bits, drawn)
        onward = row("onward", bits, Cat(to, drawn))
        straight = waiting[direct[bits:]] * direct[:bits]
        around = waiting[detour[bits:]] * (detour[:bits] + onward)
        m.d.comb += via.eq(Mux(straight <= around, self.own, drawn))

        m.submodules.queue = queue = ArrivalQueue(detoured(self.packet), depth=2)
        arrival = queue.i[0]
        m.d.comb += [
            arrival.valid.eq(self.i.valid),
            arrival.payload.eq(_with_via(self.packet, self.i.payload.as_value(), via)),
            self.i.ready.eq(arrival.ready),
            self.o.valid.eq(queue.o.valid),
            self.o.payload.eq(queue.o.payload),
            queue.o.ready.eq(self.o.ready),
        ]
        return m


class DetourEnd(wiring.Component):
    """Takes the intermediate terminal off a packet that leaves. Combinational.

    Parameters
    ----------
    packet : Packet
        The packet as it leaves.

    Members
    -------
    i : In(stream.Signature(detoured(packet)))
    o : Out(stream.Signature(packet))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        super().__init__(
            {"i": In(stream.Signature(detoured(packet))), "o": Out(stream.Signature(packet))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tag = self.packet.members["tag"]
        flit = self.i.payload.as_value()
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(Cat(flit[:tag], flit[2 * tag :])),
            self.i.ready.eq(self.o.ready),
        ]
        return m
