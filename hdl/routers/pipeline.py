"""The stages of a pipelined router: routes at the head of a queue, and the switch behind registers."""

from collections.abc import Iterable, Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..primitives.arbiters import arbitrate
from ..primitives.packet import Packet
from .credit_link import count_credits
from .shape import OutputChannel, RouterShape

__all__ = ["Owners", "RouteStage", "Traversal", "worm_exits"]


def worm_exits(m: Module, name: str, port: stream.Interface, last: Value, route: Value) -> Signal:
    """The exits of the flit at a port: those of its packet's header.

    `last` says that the flit is a tail, and `route` what its exits are if it is a header.
    """
    begins = Signal(init=1, name=f"begins_{name}")
    own, found = (Signal(len(route), name=f"{kind}_{name}") for kind in ("own", "found"))
    m.d.comb += found.eq(Mux(begins, route, own))
    with m.If(port.valid & port.ready):
        m.d.sync += [begins.eq(last), own.eq(found)]
    return found


class RouteStage(wiring.Component):
    """A register behind a queue, with the exit that the flit in it wants: that of its header.

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
    i : In(stream.Signature(packet))
    route : In(exits)
        The outputs that the flit at `i` may take, if it is a header.
    free : In(exits)
        With a choice: whether a header could leave by them now.
    o : Out(stream.Signature(flit, exits))
        `exits` has one bit; none without a flit.
    """

    def __init__(
        self, packet: Packet, exits: Sequence[OutputChannel], *, choice: bool = False
    ) -> None:
        self.packet = packet
        self.exits = exits
        self.choice = choice
        self.layout = StructLayout({"flit": packet, "exits": len(exits)})
        members = {
            "i": In(stream.Signature(packet)),
            "route": In(len(exits)),
            "o": Out(stream.Signature(self.layout)),
        }
        if choice:
            members["free"] = In(len(exits))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        flit = Signal(self.packet, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~valid | self.o.ready),
            self.o.valid.eq(valid),
            self.o.payload.flit.eq(flit),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), flit.eq(self.i.payload)]
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
        begins, waits = Signal(init=1), Signal()
        order = sorted(range(len(self.exits)), key=lambda at: (self.exits[at].escape, at))
        adaptive = [at for at in order if not self.exits[at].escape]
        last = [at for at in order if self.exits[at].escape]
        free, best = (Signal(len(self.exits), name=name) for name in ("first_free", "best"))
        first_free = dict(zip(order, lowest_of(self.route[at] & self.free[at] for at in order)))
        first_escape = dict(zip(last, lowest_of(self.route[at] for at in last)))
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


def lowest_of(bits: Iterable[Value]) -> Value:
    """Keep only the first 1 of some bits, by the shortest path."""
    bits = Cat(bits)
    return Cat(bits[at] & ~bits[:at].any() for at in range(len(bits)))


class Owners(wiring.Component):
    """Which input each output of a router belongs to. An input's flit is offered to its own output.

    An output passes to another input when the tail of a worm leaves, or when its owner offers
    nothing and is not inside a worm, if another one wants it: in the next cycle, so one packet can
    follow another without a gap. So it stays with its owner while nobody else wants it. A header
    whose output belongs to another input waits for one cycle at least. An input that wants an
    output waits for one worm of each other at most, with round-robin or least-recent arbiters.

    `offered` and `serves` depend on `want` and registers.

    Parameters
    ----------
    shape : RouterShape
    arbiter : str
        One of `ARBITERS`.

    Members
    -------
    seed : In(32)
        For random arbiters.
    want : In(outputs).array(inputs)
        The output of the flit at each input, one bit each; 0 if there is none.
    last : In(inputs)
        Whether it is a tail.
    passed : In(outputs)
        What is offered to this output leaves.
    offered : Out(outputs)
    serves : Out(outputs).array(inputs)
        To which output the flit of each input is offered.
    inside : Out(outputs)
        Whether a worm has begun to leave by it, and its tail has not left.
    """

    def __init__(self, shape: RouterShape, arbiter: str) -> None:
        self.shape = shape
        self.arbiter = arbiter
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        super().__init__(
            {
                "seed": In(32),
                "want": In(outputs).array(inputs),
                "last": In(inputs),
                "passed": In(outputs),
                "offered": Out(outputs),
                "serves": Out(outputs).array(inputs),
                "inside": Out(outputs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for j, output in enumerate(self.shape.outputs):
            entries = output.inputs
            if not entries:
                continue
            owner, want, served, others, next_ = (
                Signal(len(entries), name=f"{name}_{j}")
                for name in ("owner", "want", "served", "others", "next")
            )
            tail, releases, inside = (
                Signal(name=f"{name}_{j}") for name in ("tail", "releases", "inside")
            )
            m.d.comb += [
                want.eq(Cat(self.want[i][j] for i in entries)),
                served.eq(want & owner),
                Cat(self.serves[i][j] for i in entries).eq(served),
                self.offered[j].eq(served.any()),
                tail.eq(Cat(self.last[i] & own for i, own in zip(entries, owner)).any()),
                releases.eq(Mux(self.offered[j], self.passed[j] & tail, ~inside)),
                others.eq(want & ~owner),
                self.inside[j].eq(inside),
                next_.eq(self._next(m, j, owner, others, releases)),
            ]
            with m.If(self.offered[j] & self.passed[j]):
                m.d.sync += inside.eq(~tail)
            with m.If(releases & others.any()):
                m.d.sync += owner.eq(next_)
        return m

    def _next(self, m: Module, j: int, owner: Value, others: Value, releases: Value) -> Value:
        """Which other input gets an output that is released."""
        if self.arbiter == "round-robin":
            # The first one after the owner, so the owner is all that must be kept.
            after = Cat(owner[:at].any() for at in range(len(owner)))
            later = Signal(len(owner), name=f"later_{j}")
            m.d.comb += later.eq(others & after)
            return Mux(later.any(), lowest_of(later), lowest_of(others))
        seed = self.seed.rotate_left(j % 32) if self.arbiter == "random" else Const(1, 32)
        request = others & releases.replicate(len(others))
        return arbitrate(m, self.arbiter, f"arbiter_{j}", request, seed)


class Traversal(wiring.Component):
    """Registers in front of the switch of a router, and the credits of its links.

    What an input sends in a cycle crosses the switch in the next. The queues behind links have
    room for all that is sent to them, as credits are counted here. A flit that its terminal does
    not take at once waits in a register.

    `ready` depends on registers and, for terminals, on `o[*].ready`; `o[*].valid` and `.payload` on
    registers.

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
            "ready": Out(outputs),
            "open": Out(outputs),
            "o": Out(stream.Signature(packet)).array(outputs),
        }
        if shape.link_outputs:
            members["credit"] = In(1).array(len(shape.link_outputs))
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
            payload: Value = Const(0)
            for i, select in zip(entries, selects):
                payload |= Mux(select, flits[i].as_value(), 0)
            if self.shape.outputs[link[0]].is_terminal:
                self._end(m, link[0], goes, payload)
            else:
                for j, valid in zip(link, goes):
                    m.d.comb += [self.o[j].valid.eq(valid), self.o[j].payload.eq(payload)]
        for number, j in enumerate(self.shape.link_outputs):
            free = count_credits(m, f"{j}", self.depth, self.credit[number], self.sent[j])
            m.d.comb += [
                self.ready[j].eq(free != 0),
                self.open[j].eq(free >= self.needed[j] if j in self.needed else 1),
            ]
        return m

    def _end(self, m: Module, j: int, comes: Value, payload: Value) -> None:
        """The output of a terminal, with a place for a flit that it does not take at once."""
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
