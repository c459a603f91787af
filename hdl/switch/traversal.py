"""The switch of a pipelined router, behind registers, and the credits of its links."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..links.packet import Packet
from ..primitives.multiplexer import one_of
from ..primitives.places import Places
from .shape import RouterShape

__all__ = ["Traversal"]


class Traversal(wiring.Component):
    """Registers in front of the switch of a router, and the credits of its links.

    What an input sends in a cycle crosses the switch in the next. The queues behind the links have
    room for all that is sent to them, as these are counted here.

    All outputs depend on registers.

    Parameters
    ----------
    packet : Packet
    shape : RouterShape
    depth : int
        Places of the queues behind the links.
    needed : Mapping[int, int]
        Places that must be free for an output to be open, for those that are guarded.

    Members
    -------
    i : In(packet).array(inputs)
        The flit that each input sends, if any.
    uses : In(outputs).array(inputs)
        The output that it is for, one bit each.
    turn : In(outputs)
        Of each link the channel, if any, that has the wires.
    sent : In(outputs)
        To which outputs a flit is sent: only to those that are `ready` and have the wires.
    ready : Out(outputs)
        0 if the output is no link's.
    open : Out(outputs)
        Whether there are so many places as needed; 1 if the output is not guarded.
    credit : In(1).array(link outputs)
        A place in the queue behind this output has become free.
    o : Out(stream.Signature(packet)).array(link outputs)
        `ready` is not looked at.
    """

    def __init__(
        self, packet: Packet, shape: RouterShape, *, depth: int, needed: Mapping[int, int]
    ) -> None:
        self.packet = packet
        self.shape = shape
        self.depth = depth
        self.needed = needed
        inputs, outputs, links = len(shape.inputs), len(shape.outputs), len(shape.link_outputs)
        super().__init__(
            {
                "i": In(packet).array(inputs),
                "uses": In(outputs).array(inputs),
                "turn": In(outputs),
                "sent": In(outputs),
                "ready": Out(outputs),
                "open": Out(outputs),
                "credit": In(1).array(links),
                "o": Out(stream.Signature(packet)).array(links),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = {j: number for number, j in enumerate(self.shape.link_outputs)}
        flits: dict[int, Signal] = {}
        for number, link in enumerate(self.shape.links):
            if link[0] not in numbers:
                continue
            entries = sorted({i for j in link for i in self.shape.outputs[j].inputs})
            for i in entries:
                if i not in flits:
                    flits[i] = Signal(self.packet, name=f"flit_{i}", reset_less=True)
                    m.d.sync += flits[i].eq(self.i[i])
            selects = Signal(len(entries), name=f"select_{number}")
            goes = Signal(len(link), name=f"goes_{number}")
            m.d.sync += [
                bit.eq(Cat(self.uses[i][j] & self.turn[j] for j in link).any())
                for i, bit in zip(entries, selects)
            ]
            m.d.sync += goes.eq(Cat(self.sent[j] for j in link))
            words = [flits[i].as_value() for i in entries]
            payload = one_of(m, platform, f"link_{number}", list(selects), words)
            for j, valid in zip(link, goes):
                port = self.o[numbers[j]]
                m.d.comb += [port.valid.eq(valid), port.payload.eq(payload)]
        for j, number in numbers.items():
            places = Places(m, f"free_{j}", self.depth, self.credit[number], self.sent[j])
            m.d.comb += [
                self.ready[j].eq(places.free()),
                self.open[j].eq(places.free(self.needed[j]) if j in self.needed else 1),
            ]
        return m
