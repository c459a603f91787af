"""Traffic sources: where a network's packets are generated."""

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..graphs.address_codes import AddressCode
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.xoroshiro import Xoroshiro128
from .bursts import add_bursts, burst_members
from .destination_table import check_slots, draw_destination
from .geometric import geometric_length
from .instruments import COUNT_BITS
from .sender import Order, attach_sender, source_members

__all__ = [
    "BIAS_BITS",
    "LOAD_BITS",
    "BernoulliSource",
    "ReplaySource",
    "add_generation",
    "attach_queue",
    "uniform_code",
]

LOAD_BITS = 22
BIAS_BITS = 18
_DESTINATION_BITS = 64 - LOAD_BITS - BIAS_BITS


class BernoulliSource(wiring.Component):
    """Generates a packet in each cycle with a fixed probability, independently of the network.

    New packets wait in a queue in front of the network (open loop). If the queue is full, a packet
    is rejected and counted. With probability `bias` a packet goes to `favourite`, otherwise to a
    terminal drawn uniformly, its own included. This gives uniform traffic (bias 0), permutations
    (bias 1) and hot spots. The favourite's bits in `scope` are drawn anew for each packet, so the
    favourite may be a block of terminals, for local traffic. If packets are `sized`, their length
    is uniform between two bounds, or geometric. If they have a broadcast mask, a packet gets a
    random one with probability `spread`: each of its bits is 1 with probability 1/2.

    With a table, the destinations that are not the favourite are drawn from it (`table_row`)
    instead of uniformly. With bursts, packets are only generated while a Markov chain is on
    (`Bursts`).

    In a *closed loop* there is one packet at a time: none is generated while one waits or is being
    sent, so none is rejected. In each later cycle one is generated with the probability `resume`,
    which replaces `load`. The first of these is the cycle in which the network takes the last flit
    of the packet before: so with `resume` 1 packets follow each other without a gap.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp`.
    tags : TagScheme
    depth : int
        Number of packets that fit into the queue; 1 in a closed loop.
    lengths : tuple[int, int]
        Fewest and most flits of a packet.
    geometric : int
        Mean of geometric lengths, which are cut off at the most flits; 0 if they are uniform.
    slots : int
        Slots of the table of destinations, a power of two; 0 for no table.
    bursts : bool
        Whether packets come in bursts.
    closed : bool
        Whether there is one packet at a time.
    table : tuple[int, ...]
        The slots, each a `table_row` as a number.

    Members
    -------
    address, favourite : In(width)
        Address codes. Constant.
    seed : In(128)
        Seed of the random numbers; not zero. Constant.
    load : In(23)
        Probability of a packet in a cycle, times 2^22. Constant. Not in a closed loop.
    resume : In(23)
        In a closed loop only: probability of a packet in a cycle in which the one before is gone,
        times 2^22. Constant.
    bias : In(19)
        Probability that a packet goes to the favourite, times 2^18. Constant.
    spread : In(19)
        Broadcast only: probability of a broadcast mask, times 2^18. Constant.
    scope : In(width)
        Bits of the favourite that are drawn uniformly for each packet. Constant.
    quota : In(32)
        Number of packets after which no more are generated; 0 for no limit. Constant.
    starts, stops, begins_on
        With bursts only: as in `Bursts`.
    now, open, measure, o, injected, entered, pending
        As in `Sender`. Nothing is generated while `open` is 0.
    generated, rejected : Out(32)
        Number of packets generated, and of those rejected because the queue was full.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        depth: int,
        lengths: tuple[int, int] = (1, 1),
        geometric: int = 0,
        slots: int = 0,
        bursts: bool = False,
        closed: bool = False,
        table: tuple[int, ...] = (),
    ) -> None:
        depth = check_integer("Depth", depth, 1, *((1,) if closed else ()))
        self.packet = packet
        self.tags = tags
        self.depth = depth
        self.lengths = lengths
        self.geometric = geometric
        self.slots = check_slots(slots)
        self.bursts = bursts
        self.closed = closed
        self.table = table
        width = tags.code.width
        super().__init__(
            {
                **source_members(packet, tags),
                "favourite": In(width),
                "seed": In(128),
                "resume" if closed else "load": In(LOAD_BITS + 1),
                "bias": In(BIAS_BITS + 1),
                "scope": In(width),
                "quota": In(COUNT_BITS),
                **({"spread": In(BIAS_BITS + 1)} if packet.broadcast else {}),
                **(burst_members() if bursts else {}),
                "generated": Out(COUNT_BITS),
                "rejected": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = random = Xoroshiro128()
        m.d.comb += random.seed.eq(self.seed)
        arrival_draw = random.value[-LOAD_BITS:]
        draw = random.value[BIAS_BITS:-LOAD_BITS]
        bias_draw = random.value[:BIAS_BITS]

        arrival = attach_queue(m, self, refill=self.closed)
        willing = (self.quota == 0) | (self.generated != self.quota)
        anywhere = uniform_code(draw, self.tags.code)
        near = (self.favourite & ~self.scope) | (anywhere & self.scope)
        ready = random.valid
        if self.slots:
            drawn, anywhere = draw_destination(m, self.seed, self.tags.code, self.slots, self.table)
            ready &= drawn
        if self.bursts:
            ready &= add_bursts(m, self)
        if self.closed:
            generate = self.open & ready & (arrival_draw < self.resume) & willing & arrival.ready
        else:
            generate = self.open & ready & (arrival_draw < self.load) & willing
        add_generation(m, self, arrival, generate)
        m.d.comb += arrival.payload.destination.eq(Mux(bias_draw < self.bias, near, anywhere))
        self._shape(m, arrival.payload)
        return m

    def _shape(self, m: Module, order: data.View) -> None:
        """Draw the length and the broadcast mask from a second generator."""
        low, high = self.lengths
        uniform = self.packet.sized and not self.geometric and low != high
        if self.geometric:
            length = geometric_length(m, self.seed, self.geometric, high.bit_length() - 1)
            m.d.comb += order.length.eq(length)
        elif self.packet.sized and not uniform:
            m.d.comb += order.length.eq(low)
        if not uniform and not self.packet.broadcast:
            return
        m.submodules.shape = shape = Xoroshiro128()
        m.d.comb += shape.seed.eq(self.seed.rotate_left(64))
        draw, spread_draw, mask = shape.value[:24], shape.value[24:][:BIAS_BITS], shape.value[42:]
        if uniform:
            m.d.comb += order.length.eq(low + (_times(draw, high - low + 1) >> 24))
        if self.packet.broadcast:
            m.d.comb += order.mask.eq(Mux(spread_draw < self.spread, mask, 0))


def attach_queue(m: Module, source: wiring.Component, *, refill: bool = False) -> stream.Interface:
    """The sender of a source, and a queue of orders in front of it, whose input this is."""
    sender = attach_sender(m, source)
    m.submodules.queue = queue = ArrivalQueue(
        Order(source.packet, source.tags.code), depth=source.depth, refill=refill
    )
    wiring.connect(m, sender.i, queue.o)
    return queue.i[0]


def add_generation(
    m: Module, source: wiring.Component, arrival: stream.Interface, generate: Value
) -> None:
    """Put an order into the queue whenever one is generated, and count those and the rejected."""
    m.d.comb += [arrival.valid.eq(generate), arrival.payload.birth.eq(source.now + 1)]
    m.d.sync += [
        source.generated.eq(source.generated + generate),
        source.rejected.eq(source.rejected + (generate & ~arrival.ready)),
    ]


def uniform_code(draw: Value, code: AddressCode) -> Value:
    """The code of an address that is uniform if the bits of `draw` are.

    Each digit is the integer part of the fraction 0.draw times the radix; the fractional part of
    the product gives the next digit. Exact for a power of two; otherwise each probability is within
    2^-24.
    """
    bits = len(draw)
    digits = []
    for radix, width in zip(code.radices, code.widths):
        product = _times(draw, radix)
        digit = product[bits : bits + width]
        digits.append(Cat(digit, Const(0, width - len(digit))))  # a code may align its digits
        draw = product[:bits]
    return Cat(digits)


def _times(draw: Value, factor: int) -> Value:
    """The product, as a sum of shifted values: a multiplier would take a block far away."""
    bits = [bit for bit in range(factor.bit_length()) if factor >> bit & 1]
    return reduce(add, (draw << bit for bit in bits))


class ReplaySource(wiring.Component):
    """Sends the packets of a recorded trace, each when its time has come.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp`.
    tags : TagScheme
    depth : int
        Number of rows of the trace memory.
    trace : Sequence[int]
        Rows: the cycle in which a packet is generated in the low 32 bits, then the code of its
        destination, and its broadcast mask and length if packets have them, in the order of the
        cycles. The first possible cycle is 2.

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    count : In(range(depth + 1))
        Number of rows in use. Constant.
    now, open, measure, o, injected, entered, pending
        As in `Sender`.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        depth: int,
        lengths: tuple[int, int] = (1, 1),
        geometric: int = 0,
        trace: tuple[int, ...] = (),
    ) -> None:
        depth = check_integer("Depth", depth, 1)
        self.packet = packet
        self.tags = tags
        self.depth = depth
        self.trace = trace
        super().__init__({**source_members(packet, tags), "count": In(range(depth + 1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        order = Order(self.packet, self.tags.code)
        time = order["birth"].width
        m.submodules.trace = trace = Memory(
            shape=32 + order.size - time, depth=self.depth, init=self.trace
        )
        row = trace.read_port()
        position = Signal(range(self.depth + 1))
        loaded = Signal()

        sender = attach_sender(m, self)
        cycle = row.data[:32]
        m.d.comb += [
            sender.i.valid.eq(loaded & (position != self.count) & (cycle <= self.now)),
            sender.i.payload.as_value().eq(Cat(cycle[:time], row.data[32:])),
            row.addr.eq(position + sender.i.ready),
        ]
        m.d.sync += [loaded.eq(1), position.eq(position + sender.i.ready)]
        return m
