# amaranth: UnusedElaboratable=no
"""The receiver at an output of a network: it checks every packet and measures its latency."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.routing_tags import TagEncoder
from .instruments import COUNT_BITS, latency_members, record_latency, window_members
from .stamp import SEQUENCE_BITS, STAMP_SUM_BITS

__all__ = ["Sink"]

_REACH = SEQUENCE_BITS - 1
_WINDOW = 1 << _REACH


class Sink(wiring.Component):
    """Takes one flit per cycle, and checks and counts the packets.

    A packet is *misrouted* if it was sent elsewhere: its tag does not lead from the source in its
    stamp to this terminal (except for the bits in its broadcast mask), or the destination in its
    stamp, if any, is not this terminal. For each flow the sink stores the next sequence number, and
    which of the eight before it have arrived. So it can distinguish packets that arrive late
    (*reordered*) from those that arrive twice (*duplicated*). The counts are exact while a flow is
    less than eight packets out of order; later packets count as reordered. Misrouted packets enter
    no flow. Without sequence numbers there is only the sum of the stamps of all packets, and no
    *reordered* or *duplicated*. A flit is *damaged* if it is not the one that must follow the
    header: from another packet, in another order, too many or too few.

    Latencies end in the cycle in which the tail is delivered; they start when the packet was
    generated (total), or when it reached the network's input (network). They are recorded for the
    packets that were born in the measurement window (`WindowAges`), whenever they arrive. The
    counters include a packet two cycles after its tail was taken.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp`.
    tags : TagScheme
    bins : int
        Bins of the histograms, one cycle each; the last one also counts all longer latencies.

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    now : In(32)
    measure : In(1)
    least, most : In(time)
        From `WindowAges`.
    i : In(stream.Signature(packet))
    delivered, misrouted, duplicated, reordered : Out(32)
        Number of all packets taken, and of those with the errors above.
    stamp_sum : Out(64)
        Sum of the stamps of all packets taken. Only if flows are not followed; `duplicated` and
        `reordered` only if they are.
    damaged : Out(32)
        Number of damaged flits. Only if packets have flits.
    measured : Out(32)
        Number of packets taken while `measure` was 1.
    latest : Out(32)
        Cycle in which the last packet was taken.
    latency_sum : Out(32 + time)
        Sum of the total latencies of all packets taken.
    timed : Out(32)
        Number of packets taken that were born in the window.
    total_sum, network_sum : Out(64)
        Sums of their latencies in cycles. `network_sum`, `network_max` and `network_histogram`
        only if the stamp has an `offered`.
    total_max, network_max : Out(time)
        Maxima of their latencies; as wide as the times in stamps.

    Attributes
    ----------
    total_histogram, network_histogram : Memory
        One count of 32 bits per bin. They are submodules of the same names.
    """

    def __init__(self, packet: Packet, tags: TagScheme, *, bins: int) -> None:
        time = packet["payload"].shape.time
        bins = check_integer("Bins", bins, 2, 1 << time)
        self.packet = packet
        self.tags = tags
        self.bins = bins
        self.followed = packet["payload"].shape.followed
        self.kinds = packet["payload"].shape.kinds
        counters = ["delivered", "misrouted", "measured", "latest"]
        if self.followed:
            counters += ["duplicated", "reordered"]
        if packet.flits:
            counters.append("damaged")
        latencies: dict[str, wiring.Member] = {}
        for kind in self.kinds:
            latencies |= latency_members(kind, time)
        super().__init__(
            {
                "address": In(tags.code.width),
                "now": In(32),
                "measure": In(1),
                "i": In(stream.Signature(packet)),
                **{name: Out(COUNT_BITS) for name in counters},
                "latency_sum": Out(COUNT_BITS + time),
                **({} if self.followed else {"stamp_sum": Out(STAMP_SUM_BITS)}),
                **window_members(time),
                **latencies,
            }
        )
        for kind in self.kinds:
            setattr(self, f"{kind}_histogram", Memory(shape=COUNT_BITS, depth=bins, init=[]))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packet = self.i.payload
        stamp = packet.payload
        m.d.comb += self.i.ready.eq(1)

        m.submodules.expected = expected = TagEncoder(self.tags)
        m.d.comb += [expected.source.eq(stamp.source), expected.destination.eq(self.address)]
        difference = packet.tag ^ expected.tag
        if packet.shape().broadcast:
            difference &= ~packet.mask
        misrouted = Signal()
        m.d.comb += misrouted.eq(difference.any())
        if "destination" in stamp.shape().members:
            astray = stamp.destination != self.address
            m.d.comb += misrouted.eq(difference.any() | astray)

        arrival = self.i.valid
        if packet.shape().flits:
            arrival = self.i.valid & packet.last
            misrouted = self._follow(m, packet, misrouted)

        taken = Signal()
        misplaced = Signal()
        measured = Signal()
        m.d.sync += [
            taken.eq(arrival),
            misplaced.eq(misrouted),
            measured.eq(arrival & self.measure),
            self.delivered.eq(self.delivered + taken),
            self.misrouted.eq(self.misrouted + (taken & misplaced)),
            self.measured.eq(self.measured + measured),
        ]
        with m.If(arrival):
            m.d.sync += self.latest.eq(self.now)
        if self.followed:
            self._check_flow(m, stamp, taken & ~misplaced)
        else:
            with m.If(arrival):
                m.d.sync += self.stamp_sum.eq(self.stamp_sum + stamp.shape().identity(stamp))
        latencies = {
            kind: Signal(stamp.shape().time, name=f"{kind}_latency") for kind in self.kinds
        }
        begun = {"total": "birth", "network": "offered"}
        for kind, latency in latencies.items():
            m.d.comb += latency.eq(self.now - stamp[begun[kind]])
        total = latencies["total"]
        timed = Signal()
        born_in_window = (total >= self.least) & (total <= self.most)
        m.d.sync += [timed.eq(arrival & born_in_window), self.timed.eq(self.timed + timed)]
        with m.If(arrival):
            m.d.sync += self.latency_sum.eq(self.latency_sum + total)
        for kind, latency in latencies.items():
            record_latency(m, self, kind, latency, timed)
        return m

    def _follow(self, m: Module, packet: data.View, misrouted: Value) -> Value:
        """Check that flits follow their header; return at the tail whether it was misrouted."""
        stamp = packet.payload
        index = Signal.like(stamp.length)
        header = data.View(stamp.shape(), Signal(stamp.shape().size, name="header"))
        strayed = Signal()
        here = Signal()
        m.d.comb += here.eq(Mux(index == 0, misrouted, strayed))
        identity = stamp.shape().identity
        alien = (identity(stamp) != identity(header)) | (packet.tag != index[: len(packet.tag)])
        wrong = ((index != 0) & alien) | (packet.last != (index == stamp.length - 1))
        with m.If(self.i.valid):
            m.d.sync += [
                index.eq(Mux(packet.last, 0, index + 1)),
                strayed.eq(here),
                self.damaged.eq(self.damaged + wrong),
            ]
            with m.If(index == 0):
                m.d.sync += header.eq(stamp)
        return here

    def _check_flow(self, m: Module, stamp: data.View, taken: Value) -> None:
        """Compare a packet's sequence number with those of earlier packets of its flow."""
        bits = len(stamp.sequence)
        m.submodules.flows = flows = Memory(
            shape=bits + _WINDOW, depth=1 << len(stamp.source), init=[]
        )
        update = flows.write_port()
        flow = flows.read_port(transparent_for=[update])
        source = Signal.like(stamp.source)
        sequence = Signal.like(stamp.sequence)
        m.d.comb += [flow.addr.eq(stamp.source), update.addr.eq(source)]
        m.d.sync += [source.eq(stamp.source), sequence.eq(stamp.sequence)]

        expected, seen = flow.data[:bits], flow.data[bits:]
        ahead = Signal(bits)
        behind = Signal(bits)
        late = Signal()
        bit = Signal(_WINDOW)
        m.d.comb += [
            ahead.eq(sequence - expected),
            late.eq(ahead[-1]),
            behind.eq(expected - 1 - sequence),
            bit.eq(1 << behind[:_REACH]),
            update.en.eq(taken),
        ]
        if bits - 1 > _REACH:
            with m.If(behind[_REACH:].any()):
                m.d.comb += bit.eq(0)
        # Bit r of `seen` says that the packet r + 1 before the expected one has arrived.
        with m.If(late):
            m.d.comb += update.data.eq(flow.data | bit << bits)
        with m.Else():
            m.d.comb += [
                update.data[:bits].eq(sequence + 1),
                update.data[bits:].eq(seen << 1 << ahead[:_REACH] | 1),
            ]
            if bits - 1 > _REACH:
                with m.If(ahead[_REACH:].any()):
                    m.d.comb += update.data[bits:].eq(1)
        again = (seen & bit).any()
        m.d.sync += [
            self.duplicated.eq(self.duplicated + (taken & late & again)),
            self.reordered.eq(self.reordered + (taken & late & ~again)),
        ]
