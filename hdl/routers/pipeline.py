"""The stages of a pipelined router: routes at the head of a queue, and the switch behind registers."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..primitives.packet import Packet
from .credit_link import count_credits
from .shape import RouterShape

__all__ = ["RouteStage", "Traversal"]


class RouteStage(wiring.Component):
    """A register behind a queue, with the exits of the flit in it: those of a header only.

    One cycle, and one flit per cycle: it takes the next flit in the cycle in which its own leaves.
    `i.ready` depends on `o.ready`; `o.valid` and `o.payload` are registers.

    Parameters
    ----------
    packet : Packet
        With flits.
    exits : int
        Outputs that a header can take.

    Members
    -------
    i : In(stream.Signature(packet))
    route : In(exits)
        The outputs that the flit at `i` may take, if it is a header.
    o : Out(stream.Signature(flit, exits))
        `exits` is 0 without a header.
    """

    def __init__(self, packet: Packet, exits: int) -> None:
        self.packet = packet
        self.layout = StructLayout({"flit": packet, "exits": exits})
        super().__init__(
            {
                "i": In(stream.Signature(packet)),
                "route": In(exits),
                "o": Out(stream.Signature(self.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begins = Signal(init=1)
        valid, exits = Signal(), Signal.like(self.route)
        flit = Signal(self.packet, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~valid | self.o.ready),
            self.o.valid.eq(valid),
            self.o.payload.flit.eq(flit),
            self.o.payload.exits.eq(exits),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                flit.eq(self.i.payload),
                exits.eq(Mux(self.i.valid & begins, self.route, 0)),
            ]
            with m.If(self.i.valid):
                m.d.sync += begins.eq(self.i.payload.last)
        return m


class Traversal(wiring.Component):
    """Registers in front of the switch of a router, and the credits of its links.

    What an input sends in a cycle crosses the switch in the next. The queues behind links have
    room for all that is sent to them, as credits are counted here. The flit for a terminal that is
    not ready stays in the register of its input, which is *stalled*: it must not send, and nothing
    else may be sent to this terminal.

    `ready` and `stalled` depend on registers and, for terminals, on `o[*].ready`.

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
    stalled : Out(inputs)
    ready : Out(outputs)
    open : Out(outputs)
        Whether there are so many places as needed; 1 if the output is not guarded.
    credit : In(1).array(channels of links)
        A place in the queue behind this output has become free.
    o : Out(stream.Signature(packet)).array(outputs)
        `ready` is looked at only for terminals.
    """

    def __init__(
        self, packet: Packet, shape: RouterShape, *, depth: int, needed: Mapping[int, int]
    ) -> None:
        self.packet = packet
        self.shape = shape
        self.depth = depth
        self.needed = needed
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        members = {
            "i": In(packet).array(inputs),
            "uses": In(outputs).array(inputs),
            "turn": In(outputs),
            "sent": In(outputs),
            "stalled": Out(inputs),
            "ready": Out(outputs),
            "open": Out(outputs),
            "o": Out(stream.Signature(packet)).array(outputs),
        }
        if shape.link_outputs:
            members["credit"] = In(1).array(len(shape.link_outputs))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stalls: dict[int, list[Value]] = {i: [] for i in range(len(self.shape.inputs))}
        flits = [Signal(self.packet, name=f"flit_{i}", reset_less=True) for i in stalls]
        for i, flit in enumerate(flits):
            with m.If(~self.stalled[i]):
                m.d.sync += flit.eq(self.i[i])
        for number, link in enumerate(self.shape.links):
            entries = sorted({i for j in link for i in self.shape.outputs[j].inputs})
            selects = Signal(len(entries), name=f"select_{number}")
            goes = Signal(len(link), name=f"goes_{number}")
            moves: Value = Const(1)
            if self.shape.outputs[link[0]].is_terminal:
                moves = ~goes | self.o[link[0]].ready
                m.d.comb += self.ready[link[0]].eq(moves)
                for i, select in zip(entries, selects):
                    stalls[i].append(select & ~moves)
            with m.If(moves):
                m.d.sync += [
                    selects.eq(
                        Cat(
                            Cat(self.uses[i][j] & self.turn[j] for j in link).any() for i in entries
                        )
                    ),
                    goes.eq(Cat(self.sent[j] for j in link)),
                ]
            payload: Value = Const(0)
            for i, select in zip(entries, selects):
                payload |= Mux(select, flits[i].as_value(), 0)
            for j, valid in zip(link, goes):
                m.d.comb += [self.o[j].valid.eq(valid), self.o[j].payload.eq(payload)]
        m.d.comb += self.stalled.eq(Cat(Cat(own).any() for own in stalls.values()))
        for number, j in enumerate(self.shape.link_outputs):
            free = count_credits(m, f"{j}", self.depth, self.credit[number], self.sent[j])
            m.d.comb += [
                self.ready[j].eq(free != 0),
                self.open[j].eq(free >= self.needed[j] if j in self.needed else 1),
            ]
        return m
