"""A queue of flits whose tags are read ahead of their payloads."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..links.packet import Packet
from ..primitives.places import Places
from .entry import at_header

__all__ = ["SplitQueue"]


class SplitQueue(wiring.Component):
    """A queue in which a flit's tag can go ahead, to a stage behind it, before the flit leaves.

    Its payload stays in the memory until then. So a stage needs no registers for it, with an enable
    on the longest path.

    `i.ready` and `front.valid` come from registers, `front.payload` and `payload` from memories.

    Parameters
    ----------
    packet : Packet
        With flits.
    depth : int
        Flits that fit into it, at least 2. At most `depth` - 1 may wait at `front`: the stage
        behind takes one as long as it is empty.
    credits : bool
        Whether the sender counts credits: then `i.ready` is 1. If not, a place can be used again
        two cycles after its flit has left.
    room : int
        Without credits: places that must be free for a header to enter.

    Members
    -------
    i : In(stream.Signature(packet))
    front : Out(stream.Signature(tag, last))
        Of the first flit that has not gone ahead.
    leaves : In(1)
        The first flit leaves, which has gone ahead before.
    payload : Out(payload)
        Of the first flit.
    """

    def __init__(self, packet: Packet, *, depth: int, credits: bool = False, room: int = 1) -> None:
        self.packet = packet
        self.depth = check_integer("Depth", depth, 2)
        self.credits = credits
        self.room = check_integer("Room", room, 1, depth)
        members = packet.members
        self.front_layout = StructLayout({"tag": members["tag"], "last": 1})
        super().__init__(
            {
                "i": In(stream.Signature(packet)),
                "front": Out(stream.Signature(self.front_layout)),
                "leaves": In(1),
                "payload": Out(members["payload"]),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # As many rows as addresses have, so that these wrap around by themselves. The tags of fewer
        # flits than that wait, so different addresses tell that there is one.
        rows = 1 << (self.depth - 1).bit_length()
        tail, ahead, head = (Signal(range(rows), name=name) for name in ("tail", "ahead", "head"))
        enters = Signal()
        m.submodules.fronts = fronts = Memory(shape=self.front_layout, depth=rows, init=[])
        m.submodules.payloads = payloads = Memory(
            shape=self.packet.members["payload"], depth=rows, init=[]
        )
        for memory, row in ((fronts, ahead), (payloads, head)):
            write = memory.write_port()
            read = memory.read_port(domain="comb")
            m.d.comb += [write.addr.eq(tail), write.en.eq(enters), read.addr.eq(row)]
            if memory is fronts:
                m.d.comb += [
                    write.data.tag.eq(self.i.payload.tag),
                    write.data.last.eq(self.i.payload.last),
                    self.front.payload.eq(read.data),
                ]
            else:
                m.d.comb += [write.data.eq(self.i.payload.payload), self.payload.eq(read.data)]
        m.d.comb += [enters.eq(self.i.valid & self.i.ready), self.front.valid.eq(ahead != tail)]
        m.d.sync += [
            tail.eq(tail + enters),
            ahead.eq(ahead + (self.front.valid & self.front.ready)),
            head.eq(head + self.leaves),
        ]
        if self.credits:
            m.d.comb += self.i.ready.eq(1)
        else:
            left = Signal()
            m.d.sync += left.eq(self.leaves)
            places = Places(m, "free_places", self.depth, left, enters)
            ready = places.free()
            if self.room > 1:
                begins = at_header(m, "input", enters, self.i.payload.last)
                ready = Mux(begins, places.free(self.room), ready)
            m.d.comb += self.i.ready.eq(ready)
        return m
