"""The stage of a pipelined router in which a header gets its exits."""

from collections.abc import Iterable, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..links.packet import Packet
from ..primitives.round_robin import lowest
from .entry import at_header
from .shape import OutputChannel

__all__ = ["RouteStage", "worm_exits"]


def worm_exits(m: Module, name: str, port: stream.Interface, last: Value, route: Value) -> Signal:
    """The exits of the flit at a port: those of its packet's header.

    `last` says that the flit is a tail, and `route` what its exits are if it is a header.
    """
    moves = port.valid & port.ready
    begins = at_header(m, name, moves, last)
    own, found = (Signal(len(route), name=f"{kind}_{name}") for kind in ("own", "found"))
    m.d.comb += found.eq(Mux(begins, route, own))
    with m.If(moves):
        m.d.sync += own.eq(found)
    return found


def _first(bits: Iterable[Value]) -> Value:
    return lowest(Cat(bits), quick=True)


class RouteStage(wiring.Component):
    """A register behind a queue, with the exit that a flit wants: that of its packet's header.

    One cycle, and one flit per cycle: it takes the next flit in the cycle in which its own leaves.
    `i.ready` depends on `o.ready`; `o.valid` and `o.payload` come from registers.

    Of several exits a header wants the first that is free, and otherwise its first escape channel;
    those that are no escape channels come first. If it waits for a channel that is no escape
    channel, and this is taken by another, it wants its first escape channel from then on. So it
    loses once at most, and then waits in turn, for a channel that it may always wait for.

    Parameters
    ----------
    packet : Packet
        With flits.
    exits : Sequence[OutputChannel]
        Outputs that a header can take.
    choice : bool
        Whether a header may have several exits.

    Members
    -------
    i : In(stream.Signature(tag, last))
    route : In(exits)
        The outputs that the flit at `i` may take, if it is a header.
    free : In(exits)
        With a choice: whether a header could leave by them now.
    o : Out(stream.Signature(tag, last, exits))
        `exits` has one bit; none without a flit.
    """

    def __init__(
        self, packet: Packet, exits: Sequence[OutputChannel], *, choice: bool = False
    ) -> None:
        self.packet = packet
        self.exits = exits
        self.choice = choice
        front = {"tag": packet.members["tag"], "last": 1}
        members = {
            "i": In(stream.Signature(StructLayout(front))),
            "route": In(len(exits)),
            "o": Out(stream.Signature(StructLayout({**front, "exits": len(exits)}))),
        }
        if choice:
            members["free"] = In(len(exits))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        front = Signal(self.i.payload.shape(), reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~valid | self.o.ready),
            self.o.valid.eq(valid),
            self.o.payload.tag.eq(front.tag),
            self.o.payload.last.eq(front.last),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), front.eq(self.i.payload)]
        if self.choice:
            self._choose(m, valid)
        else:
            exits = Signal(len(self.exits), name="wanted")
            found = worm_exits(m, "worm", self.i, self.i.payload.last, self.route)
            m.d.comb += self.o.payload.exits.eq(exits)
            with m.If(self.i.ready):
                m.d.sync += exits.eq(Mux(self.i.valid, found, 0))
        return m

    def _choose(self, m: Module, valid: Value) -> None:
        """Keep one of the exits of a header, for all flits of its packet."""
        wish, escape = (Signal(len(self.exits), name=name) for name in ("wish", "escape"))
        begins = Signal(init=1)
        waits = Signal()
        order = sorted(range(len(self.exits)), key=lambda at: (self.exits[at].escape, at))
        adaptive = [at for at in order if not self.exits[at].escape]
        last = [at for at in order if self.exits[at].escape]
        free, best = (Signal(len(self.exits), name=name) for name in ("first_free", "best"))
        first_free = dict(zip(order, _first(self.route[at] & self.free[at] for at in order)))
        first_escape = dict(zip(last, _first(self.route[at] for at in last)))
        rest = Cat(first_escape.get(at, Const(0)) for at in range(len(self.exits)))
        m.d.comb += [
            free.eq(Cat(first_free[at] for at in range(len(self.exits)))),
            best.eq(Mux(free.any(), free, rest)),
            self.o.payload.exits.eq(Mux(valid, wish, 0)),
        ]
        # Nobody leaves by a channel that is not free, so this header has not.
        taken = Cat(wish[at] & ~self.free[at] for at in adaptive).any()
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += [begins.eq(self.i.payload.last), waits.eq(begins), escape.eq(rest)]
        with m.If(valid & waits & taken):
            m.d.sync += wish.eq(escape)
        with m.Elif(self.i.ready & self.i.valid & begins):
            m.d.sync += wish.eq(best)
