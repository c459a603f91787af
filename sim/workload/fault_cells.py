# amaranth: UnusedElaboratable=no
"""Components that stand for faults: a link with one, and a box that is stuck."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import CellType
from ...hdl.links.packet import Packet
from ...hdl.networks.multistage.extra_stage_cells import link_leaves, link_signature
from ...hdl.primitives.arrival_queue import ArrivalQueue
from ...hdl.primitives.random_bits import RandomBits
from ...hdl.primitives.routing_tags import forwarded

__all__ = ["RATE_BITS", "LinkFault", "LinkGate", "StuckBox"]

RATE_BITS = 16


class LinkFault(wiring.Component):
    """A link with an optional fault. The stream passes combinationally.

    Parameters
    ----------
    packet : StructLayout
        What the link carries. With a field `last` they are flits.
    link : type[wiring.Signature]
        Kind of link: `stream.Signature` or `CircuitLink`.
    reply : ShapeLike, optional
        As in `CircuitLink`.

    Members
    -------
    i : In(link(packet))
    o : Out(link(packet))
    dead : In(1)
        Nothing passes, in either direction.
    lossy : In(1)
        Words are accepted and not passed on.
    severed : In(1)
        Whole packets are accepted and not passed on. If a fault begins or ends in the middle of a
        packet, the rest of it is lost, and the receiver gets a last flit in place of the rest. Not
        for circuits.
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
        packet: data.StructLayout,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        self.packet = packet
        self.link = link_signature(link, packet, reply)
        super().__init__(
            {
                "i": In(self.link),
                "o": Out(self.link),
                **dict.fromkeys(("dead", "lossy", "severed", "babbling"), In(1)),
                **dict.fromkeys(("flip", "zero", "one"), In(packet.size)),
                **dict.fromkeys(("rate", "begins", "ends"), In(RATE_BITS + 1)),
                **dict.fromkeys(("start", "length", "period", "seed"), In(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elapsed, phase = Signal(32), Signal(32)
        begun, active, present = Signal(), Signal(), Signal()
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
        struck, hit = Signal(), Signal()
        is_circuit = "request" in self.link.members
        busy = self.i.request if is_circuit else self.i.valid
        m.d.comb += hit.eq(active & (self.rate[-1] | struck))
        with m.If(~busy | self.i.valid & self.i.ready):
            m.d.sync += struck.eq(random.value < self.rate[:-1])

        works = ~(active & self.dead)
        lost = hit & self.lossy
        # A severed link: `gone` swallows what comes, `closing` ends what has begun to pass. A flit
        # that is offered stays until it is taken, even if the fault begins or ends.
        gone, closing = Signal(), Signal()
        offered, ending, spilling, passing, end = Signal(), Signal(), Signal(), Signal(), 0
        m.d.comb += [
            gone.eq(active & self.severed & ~offered | spilling | ending),
            closing.eq(gone & passing),
        ]
        if not is_circuit:
            waits = self.o.valid & ~self.o.ready
            m.d.sync += [offered.eq(waits & ~closing), ending.eq(waits & closing)]
        if "last" in self.packet.members and not is_circuit:
            end = 1 << self.packet["last"].offset
            with m.If(gone & self.i.valid & self.i.ready):
                m.d.sync += spilling.eq(~self.i.payload.last)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += passing.eq(~self.o.payload.last)
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self.link, self.i), link_leaves(self.link, self.o)
        ):
            receiver, driver = (inner, outer) if flow == Out else (outer, inner)
            match path:
                case ("payload",):
                    word = outer.as_value()
                    wrong = (word & ~self.zero | self.one) ^ self.flip
                    driven = Mux(closing, end, Mux(hit, wrong, word))
                case ("valid",):
                    driven = outer & works & ~lost & ~gone | closing | active & self.babbling
                case ("ready",):
                    driven = (inner | lost | gone) & works
                case (*_, "payload"):
                    driven = driver
                case _:
                    driven = driver & works
            m.d.comb += receiver.eq(driven)
        return m


class LinkGate(wiring.Component):
    """A link that can be dead, as with `LinkFault`, and has no other fault. Combinational.

    Parameters
    ----------
    packet, link, reply
        As in `LinkFault`.

    Members
    -------
    i : In(link(packet))
    o : Out(link(packet))
    dead : In(1)
        Nothing passes, in either direction.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        self.link = link_signature(link, packet, reply)
        super().__init__({"i": In(self.link), "o": Out(self.link), "dead": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self.link, self.i), link_leaves(self.link, self.o)
        ):
            receiver, driver = (inner, outer) if flow == Out else (outer, inner)
            is_payload = path[-1] == "payload"
            m.d.comb += receiver.eq(driver if is_payload else driver & ~self.dead)
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
