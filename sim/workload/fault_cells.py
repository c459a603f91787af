# amaranth: UnusedElaboratable=no
"""Components that stand for faults: a link with one, and a box that is stuck.

A link that is dead has no answer to what comes. On most links the sender therefore waits. Where
nothing may wait, it learns instead that the packet is refused: a header on a `RejectingLink` is
rejected, unless it has met the last switch, and on a `VerdictLink` no packet is accepted. An answer
to what has passed before, such as its rejection or its verdict, still comes back: both ends would
otherwise differ about it.
"""

from amaranth.hdl import Const, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...hdl.fabric.cell import CellType
from ...hdl.fabric.errors import InvalidValue
from ...hdl.families.multistage.extra_stage_cells import link_leaves, link_signature
from ...hdl.primitives.arrival_queue import ArrivalQueue
from ...hdl.primitives.random_bits import RandomBits
from ...hdl.primitives.routing_tags import forwarded

__all__ = ["RATE_BITS", "LinkFault", "LinkGate", "StuckBox"]

RATE_BITS = 16


def _entered(m: Module, end: wiring.PureInterface) -> Signal:
    """Whether a path leads through this end of a link on which packets are rejected."""
    entered = Signal()
    with m.If(end.reject):
        m.d.sync += entered.eq(0)
    with m.Elif(end.valid & end.ready):
        m.d.sync += entered.eq(~end.close)
    return entered


def _answers(m: Module, cell: "LinkFault | LinkGate", dead: Value) -> dict[str, Value]:
    """What the sender sees of a link, which may be dead, that tells it the fate of its packets."""
    members, i, o = cell.link.members, cell.i, cell.o
    if "accepted" in members:
        return {"ready": o.ready | dead, "accepted": o.accepted}
    if "close" in members:
        entered = _entered(m, i)
        refused = 0 if cell.last else dead & i.valid & ~entered
        # A sender is not told of what it has not sent.
        return {"reject": o.reject & (i.valid | entered) | refused}
    return {}


class LinkFault(wiring.Component):
    """A link with an optional fault. The stream passes combinationally.

    Parameters
    ----------
    packet : ShapeLike
        What the link carries. With a field `last` they are flits.
    link : type[wiring.Signature]
        Kind of link: `stream.Signature`, `CircuitLink`, `RejectingLink` or `VerdictLink`.
    reply : ShapeLike, optional
        As in `CircuitLink`.
    last : bool
        Whether the packets have met the last switch, so that none is rejected here.

    Members
    -------
    i : In(link(packet))
    o : Out(link(packet))
    dead : In(1)
        Nothing passes, in either direction, but answers to what has passed before.
    lossy : In(1)
        Words are accepted and not passed on. A verdict on them, if there is one, is that they have
        not arrived.
    severed : In(1)
        Whole packets are accepted and not passed on. If a fault begins or ends in the middle of a
        packet, the rest of it is lost, and the receiver gets a last flit in place of the rest,
        which closes its path if it has one. Not for circuits.
    babbling : In(1)
        `o.valid` is always 1: the receiver also takes words that nobody sent, whatever `i.payload`
        then shows.
    flip, zero, one : In(width)
        Bits that are inverted, held at 0 and held at 1.
    rate : In(17)
        Probability that `lossy`, `flip`, `zero` and `one` affect a word, times 2^16.
    start : In(32)
        First cycle of the fault.
    length, period : In(32)
        Cycles that it lasts, and cycles from one beginning to the next; 0 for ever, and for once.
    begins, ends : In(17)
        If `begins` is not 0, the fault comes and goes at random instead: the probabilities per
        cycle that it begins and that it ends, times 2^16.
    seed : In(32)
        As in `RandomBits`.
    """

    def __init__(
        self,
        packet: ShapeLike,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
        last: bool = False,
    ) -> None:
        self.last = last
        self.packet = packet
        self.link = link_signature(link, packet, reply)
        super().__init__(
            {
                "i": In(self.link),
                "o": Out(self.link),
                **dict.fromkeys(("dead", "lossy", "severed", "babbling"), In(1)),
                **dict.fromkeys(("flip", "zero", "one"), In(Shape.cast(packet).width)),
                **dict.fromkeys(("rate", "begins", "ends"), In(RATE_BITS + 1)),
                **dict.fromkeys(("start", "length", "period", "seed"), In(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elapsed = Signal(32)
        phase = Signal(32)
        begun = Signal()
        active = Signal()
        present = Signal()
        m.d.comb += [
            begun.eq(elapsed == self.start),
            active.eq(
                begun & Mux(self.begins.any(), present, (self.length == 0) | (phase < self.length))
            ),
        ]
        with m.If(~begun):
            m.d.sync += elapsed.eq(elapsed + 1)
        with m.Elif(self.period.any() & (phase == self.period - 1)):
            m.d.sync += phase.eq(0)
        with m.Elif(self.period.any() | (phase != self.length)):
            m.d.sync += phase.eq(phase + 1)

        m.submodules.times = times = RandomBits(RATE_BITS)
        m.d.comb += times.seed.eq(self.seed.rotate_left(RATE_BITS))
        with m.If(begun):
            change = Mux(present, self.ends, self.begins)
            m.d.sync += present.eq(present ^ (times.value < change))

        # Whether the next word is affected is decided before it arrives, so it does not change
        # while the word waits.
        m.submodules.random = random = RandomBits(RATE_BITS)
        m.d.comb += random.seed.eq(self.seed)
        struck = Signal()
        hit = Signal()
        is_circuit = "request" in self.link.members
        busy = self.i.request if is_circuit else self.i.valid
        m.d.comb += hit.eq(active & (self.rate[-1] | struck))
        with m.If(~busy | self.i.valid & self.i.ready):
            m.d.sync += struck.eq(random.value < self.rate[:-1])

        dead, lost = active & self.dead, hit & self.lossy
        # A severed link: `gone` swallows what comes, `closing` ends what has begun to pass. A flit
        # that is offered stays until it is taken, even if the fault begins or ends.
        gone = Signal()
        closing = Signal()
        end = 0
        if not is_circuit:
            end = self._sever(m, active & self.severed, gone, closing)
        answers = _answers(m, self, dead)
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self.link, self.i), link_leaves(self.link, self.o)
        ):
            receiver, driver = (inner, outer) if flow == Out else (outer, inner)
            match path:
                case ("payload",):
                    word = Value.cast(outer)
                    wrong = (word & ~self.zero | self.one) ^ self.flip
                    driven = Mux(closing, end, Mux(hit, wrong, word))
                case ("valid",):
                    driven = outer & ~dead & ~lost & ~gone | closing | active & self.babbling
                case ("close",):
                    driven = outer | closing
                case ("ready",):
                    driven = answers.get("ready", inner & ~dead) | (lost | gone) & ~dead
                case (name,) if name in answers:
                    driven = answers[name]
                case (*_, "payload"):
                    driven = driver
                case _:
                    driven = driver & ~dead
            m.d.comb += receiver.eq(driven)
        return m

    def _sever(self, m: Module, severed: Value, gone: Signal, closing: Signal) -> int:
        """Set `gone` and `closing`; return the flit that ends a packet."""
        fields = getattr(self.packet, "members", {})
        offered, ending, spilling, passing = (
            Signal(name=name) for name in ("offered", "ending", "spilling", "passing")
        )
        rejects = "close" in self.link.members
        refused, rejected = (self.o.reject, self.i.reject) if rejects else (Const(0), Const(0))
        waits = self.o.valid & ~self.o.ready & ~refused
        m.d.comb += [
            gone.eq(severed & ~offered | spilling | ending),
            closing.eq(gone & passing),
        ]
        m.d.sync += [offered.eq(waits & ~closing), ending.eq(waits & closing)]
        if "last" not in fields:
            return 0

        def ends(side: wiring.PureInterface) -> Value:
            return side.close if rejects else side.payload.last

        # A rejection takes all that is left of the packet with it.
        with m.If(rejected):
            m.d.sync += spilling.eq(0)
        with m.Elif(gone & self.i.valid & self.i.ready):
            m.d.sync += spilling.eq(~ends(self.i))
        with m.If(refused):
            m.d.sync += passing.eq(0)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += passing.eq(~ends(self.o))
        return 1 << self.packet["last"].offset


class LinkGate(wiring.Component):
    """A link that can be dead, as with `LinkFault`, and has no other fault.

    Combinational, but for a register where packets are rejected.

    Parameters
    ----------
    packet, link, reply, last
        As in `LinkFault`.

    Members
    -------
    i : In(link(packet))
    o : Out(link(packet))
    dead : In(1)
        As in `LinkFault`.
    """

    def __init__(
        self,
        packet: ShapeLike,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
        last: bool = False,
    ) -> None:
        self.last = last
        self.link = link_signature(link, packet, reply)
        super().__init__({"i": In(self.link), "o": Out(self.link), "dead": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        answers = _answers(m, self, self.dead)
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self.link, self.i), link_leaves(self.link, self.o)
        ):
            receiver, driver = (inner, outer) if flow == Out else (outer, inner)
            driven = driver if path[-1] == "payload" else driver & ~self.dead
            m.d.comb += receiver.eq(answers.get(path[0], driven))
        return m


class StuckBox(wiring.Component):
    """Replaces a packet switch; connects every input to the output of the same number.

    The tag is rotated as in the switch, but ignored. A packet that is not blocked takes one cycle.

    Parameters
    ----------
    box : CellType
        Type of the switch, which has as many streams `o` as `i`.

    Members
    -------
    Those of the switch. Outputs outside `i` and `o` stay 0.

    Raises
    ------
    ValueError
        If the switch is not of this kind.
    """

    def __init__(self, box: CellType) -> None:
        members = box.build().signature.members
        links = [members[name] for name in ("i", "o")]
        if links[0].dimensions != links[1].dimensions or any(
            not isinstance(link.signature, stream.Signature | wiring.FlippedSignature)
            or set(link.signature.members) != {"payload", "valid", "ready"}
            for link in links
        ):
            raise InvalidValue(f"Box {box.name} can't be stuck at straight")
        self.packet = links[1].signature.members["payload"].shape
        self.digit_bits = (links[0].dimensions[0] - 1).bit_length()
        super().__init__(dict(members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for port, (entry, exit_) in enumerate(zip(self.i, self.o)):
            m.submodules[f"queue_{port}"] = queue = ArrivalQueue(self.packet, depth=2)
            wiring.connect(m, wiring.flipped(entry), queue.i[0])
            m.d.comb += [
                exit_.payload.eq(forwarded(queue.o.payload, self.digit_bits)),
                exit_.valid.eq(queue.o.valid),
                queue.o.ready.eq(exit_.ready),
            ]
        return m
