"""The switch of a pipelined router, behind registers, and the credits of its links."""

from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..links.packet import Packet
from ..primitives.multiplexer import one_of
from ..primitives.places import Places
from .shape import RouterShape

__all__ = ["Traversal"]


class Traversal(wiring.Component):
    """Registers in front of the switch of a router, and the credits of its links.

    What an input sends in a cycle crosses the switch in the next. The queues behind links with
    credits have room for all that is sent to them, as these are counted here. Of other outputs, a
    flit that is not taken at once waits in a register.

    `ready` depends on registers and, for outputs without credits, on `o[*].ready`; `o[*].valid` and
    `.payload` on registers.

    Parameters
    ----------
    packet : Packet
    shape : RouterShape
    depth : int
        Places of the queues behind the links.
    needed : Mapping[int, int]
        Places that must be free for an output to be open, for those that are guarded.
    credited : Sequence[int], optional
        The outputs with credits; by default the channels of links.

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
    open : Out(outputs)
        Whether there are so many places as needed; 1 if the output is not guarded.
    credit : In(1).array(credited outputs)
        A place in the queue behind this output has become free.
    o : Out(stream.Signature(packet)).array(outputs)
        `ready` is looked at only without credits.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        depth: int,
        needed: Mapping[int, int],
        credited: Sequence[int] | None = None,
    ) -> None:
        self.packet = packet
        self.shape = shape
        self.depth = depth
        self.needed = needed
        self.credited = shape.link_outputs if credited is None else credited
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        members = {
            "i": In(packet).array(inputs),
            "uses": In(outputs).array(inputs),
            "turn": In(outputs),
            "sent": In(outputs),
            "ready": Out(outputs),
            "open": Out(outputs),
            "o": Out(stream.Signature(packet)).array(outputs),
        }
        if self.credited:
            members["credit"] = In(1).array(len(self.credited))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flits = []
        for i, port in enumerate(self.i):
            flits.append(Signal(self.packet, name=f"flit_{i}", reset_less=True))
            m.d.sync += flits[i].eq(port)
        for number, link in enumerate(self.shape.links):
            entries = sorted({i for j in link for i in self.shape.outputs[j].inputs})
            selects = Signal(len(entries), name=f"select_{number}")
            goes = Signal(len(link), name=f"goes_{number}")
            m.d.sync += [
                bit.eq(Cat(self.uses[i][j] & self.turn[j] for j in link).any())
                for i, bit in zip(entries, selects)
            ]
            m.d.sync += goes.eq(Cat(self.sent[j] for j in link))
            words = [flits[i].as_value() for i in entries]
            payload = one_of(m, platform, f"link_{number}", list(selects), words)
            if link[0] not in self.credited:
                self._end(m, link[0], goes, payload)
            else:
                for j, valid in zip(link, goes):
                    m.d.comb += [self.o[j].valid.eq(valid), self.o[j].payload.eq(payload)]
        for number, j in enumerate(self.credited):
            places = Places(m, f"free_{j}", self.depth, self.credit[number], self.sent[j])
            m.d.comb += [
                self.ready[j].eq(places.free()),
                self.open[j].eq(places.free(self.needed[j]) if j in self.needed else 1),
            ]
        return m

    def _end(self, m: Module, j: int, comes: Value, payload: Value) -> None:
        """An output without credits, with a place for a flit that it does not take at once."""
        port = self.o[j]
        waits = Signal(name=f"waits_{j}")
        place = Signal(self.packet, name=f"place_{j}", reset_less=True)
        m.d.comb += [
            port.valid.eq(comes | waits),
            port.payload.eq(Mux(waits, place.as_value(), payload)),
            self.open[j].eq(1),
            # Nothing comes while a flit waits: it was not sent.
            self.ready[j].eq(~port.valid | port.ready),
        ]
        m.d.sync += waits.eq(port.valid & ~port.ready)
        with m.If(comes):
            m.d.sync += place.eq(payload)
