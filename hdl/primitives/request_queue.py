"""A queue that shows what its first entry requests from registers."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from .multiplexer import one_of

__all__ = ["MOST_AHEAD", "RequestQueue"]

MOST_AHEAD = 64
"""Most packets that fit into a queue, whose level has a bit for each."""


class RequestQueue(wiring.Component):
    """A first-in first-out queue of packets, each with the outputs that it requests.

    The requests are stored beside the packets, one bit for each output. Those of the next entry are
    read a cycle ahead, so `request` comes from registers: an arbiter behind it has the whole cycle.
    Only whether the first entry is taken may be known late: little depends on it. A queue of two
    places is two registers, used in turn, and stores no requests: those of the packet that will be
    first are found when it becomes so.

    An arrival at an empty queue is shown one cycle later; throughput is one packet per cycle.
    `i.ready` and `request` come from registers, `payload` from a memory or a register.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a packet.
    outputs : int
        Width of the requests, at least 1.
    depth : int
        Packets that fit, from 2 to 64.
    key : str, optional
        Field of a packet by which its requests are found; without it, the whole packet.
    enabled : bool
        Whether tools may make enables of choices: fewer tables, and a longer path.

    Members
    -------
    i : In(stream.Signature(shape))
    coming : Out(shape of the key)
        The key of the packet whose requests are to be found: the arriving packet or, with two
        places, that behind the first.
    wanted : In(outputs)
        What it requests.
    request : Out(outputs)
        What the first packet requests; zero if the queue is empty.
    payload : Out(shape)
        The first packet.
    taken : In(1)
        The first packet leaves. Never while the queue is empty.
    """

    def __init__(
        self,
        shape: ShapeLike,
        *,
        outputs: int,
        depth: int,
        key: str | None = None,
        enabled: bool = False,
    ) -> None:
        self.shape = shape
        self.key = key
        self.outputs = check_integer("Outputs", outputs, 1)
        self.depth = check_integer("Depth", depth, 2, MOST_AHEAD)
        self.enabled = enabled
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "coming": Out(shape if key is None else data.Layout.cast(shape)[key].shape),
                "wanted": In(outputs),
                "request": Out(outputs),
                "payload": Out(shape),
                "taken": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Bit n: there are more than n packets. So what depends on it needs one bit only.
        more = Signal(self.depth)
        enters = Signal()
        m.d.comb += [self.i.ready.eq(~more[-1]), enters.eq(self.i.valid & self.i.ready)]
        behind = self._pair(m, platform, more) if self.depth == 2 else self._rows(m, enters)
        # What is next if the first packet is taken, and if not. These are gates and no choices:
        # tools make enables and resets of registers from choices, and those take longer.
        moved = Signal(self.outputs)
        stayed = Signal(self.outputs)
        grown = Signal(self.depth)
        left = Signal(self.depth)
        arriving = Mux(self.i.valid, self.wanted, 0)
        m.d.comb += [
            moved.eq(Mux(more[1], behind, arriving)),
            stayed.eq(self.request | Mux(more[0], 0, arriving)),
            grown.eq(more | (Cat(1, more) & enters.replicate(self.depth))),
            left.eq(self.taken.replicate(self.depth)),
        ]
        if self.enabled:
            with m.If(self.taken | ~more[0]):
                m.d.sync += self.request.eq(moved)
        else:
            m.d.sync += self.request.eq(Mux(self.taken, moved, stayed))
        m.d.sync += more.eq((grown[1:] & left) | (grown & ~left))
        return m

    def _pair(self, m: Module, platform: object, more: Signal) -> Value:
        """Two registers of packets, and a copy of the key of the later one."""
        first = Signal()
        packets = [Signal(self.shape, name=f"packet_{row}", reset_less=True) for row in range(2)]
        later = Signal.like(self.coming, name="later", reset_less=True)
        arriving = self._key(self.i.payload)
        words = [Value.cast(packet) for packet in packets]
        m.d.comb += [
            self.payload.eq(one_of(m, platform, "shown", [~first, first], words, quick=True)),
            self.coming.eq(Mux(more[1], later, arriving)),
        ]
        with m.If(self.taken):
            m.d.sync += first.eq(~first)
        with m.If(~more[1]):
            m.d.sync += later.eq(arriving)
            with m.If(first ^ more[0]):
                m.d.sync += packets[1].eq(self.i.payload)
            with m.Else():
                m.d.sync += packets[0].eq(self.i.payload)
        return self.wanted

    def _rows(self, m: Module, enters: Value) -> Value:
        """Memories of the packets, and of what they request."""
        # Rows of the next arrival, of the first packet, and of the one behind it.
        tail = Signal(range(self.depth))
        first = Signal(range(self.depth))
        second = Signal(range(self.depth), init=1)
        m.submodules.packets = packets = Memory(shape=self.shape, depth=self.depth, init=[])
        m.submodules.requests = requests = Memory(shape=self.outputs, depth=self.depth, init=[])
        shown = packets.read_port(domain="comb")
        behind = requests.read_port(domain="comb")
        m.d.comb += [
            self.coming.eq(self._key(self.i.payload)),
            shown.addr.eq(first),
            self.payload.eq(shown.data),
            behind.addr.eq(second),
        ]
        for memory, value in ((packets, self.i.payload), (requests, self.wanted)):
            write = memory.write_port()
            m.d.comb += [write.en.eq(enters), write.addr.eq(tail), write.data.eq(value)]
        with m.If(enters):
            m.d.sync += tail.eq(self._after(tail))
        with m.If(self.taken):
            m.d.sync += [first.eq(second), second.eq(self._after(second))]
        return behind.data

    def _key(self, packet: Any) -> Any:
        return packet if self.key is None else packet[self.key]

    def _after(self, row: Signal) -> Mux:
        return Mux(row == self.depth - 1, 0, row + 1)
