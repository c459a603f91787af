# amaranth: UnusedElaboratable=no
"""The processors of a network with memory: they send requests, and check the replies."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..graphs.address_codes import AddressCode
from ..links.memory_link import MemoryLink
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.pacing import paced
from ..primitives.xoroshiro import Xoroshiro128
from .bursts import add_bursts, burst_members
from .destination_table import check_slots, draw_destination
from .instruments import COUNT_BITS, SUM_BITS, latency_members, record_latency, window_members
from .sources import BIAS_BITS, LOAD_BITS, uniform_code
from .stamp import TIME_BITS

__all__ = ["Processor", "access_layout"]

_COUNTERS = (
    "generated",
    "rejected",
    "injected",
    "entered",
    "delivered",
    "misrouted",
    "duplicated",
    "measured",
    "latest",
    "background",
)


def access_layout(link: MemoryLink) -> data.StructLayout:
    """The record of a request that has been answered.

    `sent` and `answered` are the cycles in which the network took the request, and in which the
    first word of the reply arrived.
    """
    fields = link.request_layout.members
    return data.StructLayout(
        {
            "tag": fields["tag"],
            "address": fields["address"],
            "operation": fields["operation"],
            "operand": fields["operand"],
            "reply": link.width,
            "sent": 32,
            "answered": 32,
        }
    )


class Processor(wiring.Component):
    """Generates requests at random, independently of the network, and takes the replies.

    In each cycle a request is generated with a fixed probability, and waits in a queue (open loop).
    If the queue is full, the request is rejected and counted. The first request of the queue is
    sent as soon as fewer than `outstanding` requests are unanswered. With probability `bias` it is
    for word 0 of the `favourite` memory module, otherwise for a word drawn uniformly from all.
    Operation and operand are random too. With a table and bursts as in `BernoulliSource`.

    A reply is *misrouted* if its tag is not that of its request, and *duplicated* if no request has
    its identity. Latencies end when the last word of the reply has arrived; they start when the
    request was generated (total), or when it was first offered to the network (network). They are
    recorded for the requests that were born in the measurement window (`WindowAges`). The counters
    include a reply two cycles after it arrived.

    `o.request` comes from registers and memories, `o.reply.ready` is always 1.

    Parameters
    ----------
    link : MemoryLink
    code : AddressCode
        Code of the numbers of memory modules.
    tag_bits : tuple[tuple[str, int], ...]
        The meaning of each bit of a request's tag, from bit 0 on: ("module", b) for bit b of the
        module's code, ("path", b) for bit b of the number of the path.
    rows : int
        Rows in each memory module. With operations of several sizes, the part of a row is random
        too, but that of a favourite's word is the lowest.
    outstanding : int
        Number of requests that may be unanswered, at least 1.
    depth : int
        Requests that fit into the queue.
    mix : tuple[int, ...]
        Codes of the operations to draw from.
    lengths : tuple[int, int]
        Words of a load and of a reply; and of any other request. Each takes one cycle.
    bins : int
        Bins of the histograms, one cycle each; the last one also counts all longer latencies.
    time : int
        Width of times and latencies: exact in runs of fewer than 2^time cycles.
    history : int
        How many answered requests are recorded, from the first on; 0 for none.
    slots, bursts, table
        As in `BernoulliSource`, for the modules of the requests.

    Members
    -------
    seed : In(128)
        Seed of the random numbers; not zero. Constant.
    load : In(23)
        Probability of a request in a cycle, times 2^22. Constant.
    bias : In(19)
        Probability of the favourite, times 2^18. Constant.
    favourite : In(code.width)
        Code of a memory module. Constant.
    quota : In(32)
        Number of requests after which no more are generated; 0 for no limit. Constant.
    turn : In(max(1, path bits))
        With several paths: row r uses path (r + turn) mod paths. Constant.
    starts, stops, begins_on
        With bursts only: as in `Bursts`.
    now : In(32)
        Number of this cycle.
    open, measure : In(1)
        Nothing is generated, or offered, while `open` is 0.
    least, most : In(time)
        From `WindowAges`.
    o : Out(link)
    generated, rejected : Out(32)
        Number of requests generated, and of those rejected because the queue was full.
    injected, entered : Out(32)
        Number of requests that the network took in total, and while `measure` was 1.
    pending : Out(1)
        A request was offered in the last cycle, and was not taken.
    delivered, misrouted, duplicated, measured : Out(32)
        Number of all replies, of those with the errors above, and of those while `measure` was 1.
    latest : Out(32)
        Cycle in which the last word of the last reply arrived.
    latency_sum, timed, total_sum, network_sum, total_max, network_max : Out
        As in `Sink`, with this `time`.
    background : Out(32)
        Number of requests born in the window that were not for the favourite, and were answered.
    background_sum : Out(64)
        Sum of their latencies (network).

    Attributes
    ----------
    total_histogram, network_histogram : Memory
        One count of 32 bits per bin. They are submodules of the same names.
    history : Memory or None
        Rows of `access_layout(link)`, in the order of the replies. A submodule of this name.
    """

    def __init__(
        self,
        link: MemoryLink,
        code: AddressCode,
        tag_bits: tuple[tuple[str, int], ...],
        *,
        rows: int,
        outstanding: int,
        depth: int,
        mix: tuple[int, ...],
        lengths: tuple[int, int] = (1, 1),
        bins: int,
        time: int = TIME_BITS,
        history: int = 0,
        slots: int = 0,
        bursts: bool = False,
        table: tuple[int, ...] = (),
    ) -> None:
        outstanding = check_integer("Outstanding", outstanding, 1)
        depth = check_integer("Depth", depth, 1)
        bins = check_integer("Bins", bins, 2, 1 << time)
        history = check_integer("History", history, 0)
        self.link = link
        self.code = code
        self.tag_bits = tag_bits
        self.rows = rows
        self.outstanding = outstanding
        self.depth = depth
        self.mix = mix
        self.lengths = lengths
        self.time = time
        self.slots = check_slots(slots)
        self.bursts = bursts
        self.table = table
        super().__init__(
            {
                "seed": In(128),
                "load": In(LOAD_BITS + 1),
                "bias": In(BIAS_BITS + 1),
                "favourite": In(code.width),
                "quota": In(COUNT_BITS),
                "turn": In(max(1, sum(source == "path" for source, _ in tag_bits))),
                "now": In(32),
                "open": In(1),
                "measure": In(1),
                "o": Out(link),
                "pending": Out(1),
                **{name: Out(COUNT_BITS) for name in _COUNTERS},
                "latency_sum": Out(COUNT_BITS + time),
                **window_members(time),
                **latency_members("total", time),
                **latency_members("network", time),
                "background_sum": Out(SUM_BITS),
                **(burst_members() if bursts else {}),
            }
        )
        self.total_histogram = Memory(shape=COUNT_BITS, depth=bins, init=[])
        self.network_histogram = Memory(shape=COUNT_BITS, depth=bins, init=[])
        self.history = (
            Memory(shape=access_layout(link), depth=history, init=[]) if history else None
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = random = Xoroshiro128()
        m.submodules.choice = choice = Xoroshiro128()
        m.d.comb += [random.seed.eq(self.seed), choice.seed.eq(self.seed.rotate_left(64))]

        request = self.o.request
        taken = Signal()
        m.d.comb += taken.eq(request.valid & request.ready)
        ready, table = random.valid, None
        if self.slots:
            chosen, table = draw_destination(m, self.seed, self.code, self.slots, self.table)
            ready &= chosen
        on = add_bursts(m, self) if self.bursts else Const(1)
        queue = self._generate(m, random.value[-LOAD_BITS:], ready & on)
        busy, identity, free = self._identities(m, taken)
        paced_request = paced(m, "pacer", "request", self.lengths, self.o)

        # The next request is held in registers, so that it does not change while it waits.
        what = Signal(self.link.request_layout)
        favoured = Signal()
        m.d.comb += [
            paced_request.payload.eq(what),
            paced_request.payload.identity.eq(identity),
            paced_request.valid.eq(queue.o.valid & free & (self.open | self.pending)),
            queue.o.ready.eq(taken),
        ]
        drawn = Signal()
        with m.If(ready & (taken | ~drawn)):
            m.d.sync += drawn.eq(1)
            self._draw(m, what, favoured, random.value, choice.value, table)

        m.d.sync += [
            self.pending.eq(request.valid & ~request.ready),
            self.injected.eq(self.injected + taken),
            self.entered.eq(self.entered + (taken & self.measure)),
        ]
        offered = Signal(self.time)
        with m.If(~request.valid | taken):
            m.d.sync += offered.eq(self.now + 1)

        note = data.StructLayout(
            {
                "birth": self.time,
                "offered": self.time,
                "sent": 32,
                "favoured": 1,
                "request": self.link.request_layout,
            }
        )
        m.submodules.notes = notes = Memory(shape=note, depth=self.outstanding, init=[])
        write = notes.write_port()
        read = notes.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(taken),
            write.addr.eq(identity),
            write.data.birth.eq(queue.o.payload),
            write.data.offered.eq(offered),
            write.data.sent.eq(self.now),
            write.data.favoured.eq(favoured),
            write.data.request.eq(request.payload),
        ]
        self._judge(m, busy, read)
        return m

    def _generate(self, m: Module, arrival_draw: Value, valid: Value) -> ArrivalQueue:
        """Generate requests into a queue."""
        m.submodules.queue = queue = ArrivalQueue(self.time, depth=self.depth)
        arrival = queue.i[0]
        generate = Signal()
        m.d.comb += [
            generate.eq(
                self.open
                & valid
                & (arrival_draw < self.load)
                & ((self.quota == 0) | (self.generated != self.quota))
            ),
            arrival.valid.eq(generate),
            arrival.payload.eq(self.now + 1),
        ]
        m.d.sync += [
            self.generated.eq(self.generated + generate),
            self.rejected.eq(self.rejected + (generate & ~arrival.ready)),
        ]
        return queue

    def _identities(self, m: Module, taken: Value) -> tuple[Signal, Signal, Signal]:
        """The identities in use; the one for the next request; and whether one is free."""
        busy = Signal(self.outstanding)
        identity = Signal(range(self.outstanding))
        free = Signal()
        after = Signal(self.outstanding)
        mine = Signal(self.outstanding)
        reply = self.o.reply
        m.d.comb += [
            mine.eq(Mux(free, 1 << identity, 0)),
            after.eq((busy & ~Mux(reply.valid, 1 << reply.payload.identity, 0)) | mine),
        ]
        m.d.sync += busy.eq(Mux(taken, after, after & ~mine))
        with m.If(taken | ~free):
            m.d.sync += free.eq(~after.all())
            for number in reversed(range(self.outstanding)):
                with m.If(~after[number]):
                    m.d.sync += identity.eq(number)
        return busy, identity, free

    def _draw(
        self,
        m: Module,
        what: data.View,
        favoured: Signal,
        word: Value,
        choice: Value,
        table: Value | None,
    ) -> None:
        """Choose word, operation and operand of a request."""
        bias_draw, draw = word[:BIAS_BITS], word[BIAS_BITS:-LOAD_BITS]
        hot = bias_draw < self.bias
        anywhere = uniform_code(draw, self.code) if table is None else table
        module = Mux(hot, self.favourite, anywhere)
        row = Signal(self.link.address - self.link.part_bits)
        m.d.comb += row.eq(Mux(hot, 0, choice[:32] * self.rows >> 32))
        path = row + self.turn
        codes = Array(self.mix)
        index = choice[32:] * len(self.mix) >> 32
        bits = {"module": module, "path": path}
        operation = codes[index] if len(self.mix) > 1 else self.mix[0]
        address: Value = row
        if parts := self.link.part_bits:
            # An operation takes a whole number of its own sizes: the lower bits are 0.
            unit = self.link.width >> parts
            first = Array(
                -(self.link.bits(self.link.operations[code]) // unit) & (1 << parts) - 1
                for code in self.mix
            )
            part = Mux(hot, 0, choice[32 : 32 + parts] & first[index])
            address = Cat(part[:parts], row)
        m.d.sync += [
            what.tag.eq(Cat(bits[source][bit] for source, bit in self.tag_bits)),
            what.address.eq(address),
            what.operation.eq(operation),
            # From both, so that the operand does not depend on the operation or the word alone.
            what.operand.eq(choice ^ word.rotate_left(LOAD_BITS)),
            favoured.eq(hot),
        ]

    def _judge(self, m: Module, busy: Signal, read: wiring.PureInterface) -> None:
        """Compare replies with their requests, and count them."""
        reply, note = self.o.reply, read.data
        asked = note.request
        expected = Signal()
        last = Signal(32)
        m.d.comb += [
            reply.ready.eq(1),
            read.addr.eq(reply.payload.identity),
            expected.eq(reply.valid & busy.bit_select(reply.payload.identity, 1)),
            last.eq(self.now + (self.lengths[0] - 1)),
        ]
        came = Signal()
        alien = Signal()
        strayed = Signal()
        measured = Signal()
        timed = Signal()
        total, network, age = (Signal(self.time, name=name) for name in ("total", "network", "age"))
        m.d.comb += [
            total.eq(last - note.birth),
            network.eq(last - note.offered),
            age.eq(self.now - note.birth),
        ]
        born_in_window = expected & (age >= self.least) & (age <= self.most)
        m.d.sync += [
            came.eq(reply.valid),
            alien.eq(reply.valid & ~expected),
            strayed.eq(expected & (reply.payload.tag != asked.tag)),
            measured.eq(reply.valid & self.measure),
            timed.eq(born_in_window),
            self.delivered.eq(self.delivered + came),
            self.duplicated.eq(self.duplicated + alien),
            self.misrouted.eq(self.misrouted + strayed),
            self.measured.eq(self.measured + measured),
            self.timed.eq(self.timed + timed),
        ]
        with m.If(reply.valid):
            m.d.sync += self.latest.eq(last)
        with m.If(expected):
            m.d.sync += self.latency_sum.eq(self.latency_sum + total)
        record_latency(m, self, "total", total, timed)
        record_latency(m, self, "network", network, timed)
        held = Signal(self.time)
        background = Signal()
        m.d.sync += [
            held.eq(network),
            background.eq(born_in_window & ~note.favoured),
            self.background.eq(self.background + background),
            self.background_sum.eq(self.background_sum + Mux(background, held, 0)),
        ]
        if self.history is not None:
            self._keep(m, self.history, note, expected)

    def _keep(self, m: Module, history: Memory, note: data.View, expected: Value) -> None:
        """Write an answered request to the history while there is room."""
        m.submodules.history = history
        write = history.write_port()
        row = Signal(range(history.depth + 1))
        access, asked = write.data, note.request
        m.d.comb += [
            write.en.eq(expected & (row != history.depth)),
            write.addr.eq(row),
            access.tag.eq(asked.tag),
            access.address.eq(asked.address),
            access.operation.eq(asked.operation),
            access.operand.eq(asked.operand),
            access.reply.eq(self.o.reply.payload.value),
            access.sent.eq(note.sent),
            access.answered.eq(self.now),
        ]
        m.d.sync += row.eq(row + write.en)
