"""An AXI4 port of a network with memory (Arm IHI 0022)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_flag
from ..fabric.errors import InvalidValue
from ..links.axi4 import Axi
from ..links.memory_link import MemoryLink, check_link
from ..operations.bus_operations import WINDOWS, bus_operations, check_data_bits
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.pacing import Lengths, check_lengths
from ..primitives.round_robin import RoundRobin
from .bus_words import WordMap
from .ordered_requests import OrderedRequests, RequestsByIdentity
from .shared_port import ProcessorMultiplexer, shared_link

__all__ = ["AxiTarget"]

_OKAY, _SLVERR, _DECERR = 0b00, 0b10, 0b11
_FIXED, _INCR, _WRAP = 0b00, 0b01, 0b10
_WRAPPED = (2, 4, 8, 16)
_PAGE_BITS = 12
"""A burst stays in 4 kB."""
_ATOMICS = ("fetch-and-add", "fetch-and-and", "fetch-and-xor", "fetch-and-or")
"""What ADD, CLR, EOR and SET of AXI5 become; CLR inverts its operand."""
_ATOMIC_SWAP = 0b11
_ATOMIC_COMPARE = 0b110001


class AxiTarget(wiring.Component):
    """Makes a request to memory of each beat of an AXI4 bus.

    Reads and writes are two windows of requests (`OrderedRequests`), which share the link by turns,
    so that neither waits for the other. A window has half of the link's identities: so many beats,
    of one burst or several, are under way at a time. Each channel's transactions are answered in
    the order in which they were accepted. With `reorder` only those of one identity are, as AXI4
    asks: others overtake them (`RequestsByIdentity`), but beats of two bursts are not mixed. A
    write is answered when all its beats have been performed.

    All bursts, of whole or narrow beats, aligned or not, are taken: INCR, WRAP and FIXED. The top
    two bits of an address choose what a write does (`operations.bus_operations.WINDOWS`): it stores
    the bytes of its strobes, or adds, ANDs or ORs each beat in one indivisible step. A read in the
    first quarter loads words; one in the others shows the old value that the last read-modify-write
    of this port found; it should be sent after that one's response.

    With `atomics`, `awatop` is that of AXI5: AtomicStore and AtomicLoad with ADD, CLR, EOR and SET,
    little-endian, and AtomicSwap, of one beat of all bytes, whatever the quarter of the address.
    Others are refused on both channels, with as many beats as AXI5 asks for.

    With `user`, a write can be for several words at once, in as many modules, as the bits of
    `awuser` say: with broadcast masks, each beat stores to all words whose number differs from its
    own only in bits of the module that are 1 there; with groups, to the words of this row in the
    modules of a group. It is answered when all have been stored. Reads are for one word each.

    The response is DECERR at words that do not exist, and SLVERR for read-modify-writes without all
    bytes or for several words, and for other atomics. Such a beat changes nothing, but the others
    of its burst are performed. A burst that the standard forbids changes nothing at all, and is
    answered SLVERR: INCR over a boundary of 4 kB (or the end of all addresses), FIXED of more than
    16 beats, WRAP of other than 2, 4, 8 or 16 beats or not aligned, one of the reserved kind, or
    with beats wider than the data. There is no exclusive access: as of any subordinate without it
    (A7.2), the answer to an exclusive read is OKAY and not EXOKAY, so that no exclusive write
    follows; one that comes nevertheless is a plain one, and answered OKAY. What it is used for,
    atomics and the quarters of addresses do.

    Throughput is one beat per cycle in sum, less one cycle between bursts of a channel. No output
    of `bus` depends combinationally on an input of it. If network and memory show a reply L cycles
    after the request, a read shows its first beat L + 2 cycles after `arready`, and a write of one
    beat its response L + 2 cycles after `awready`, at the earliest.

    Parameters
    ----------
    link : MemoryLink
        Its operations are `bus_operations(data)`, its identities have two bits or more.
    words : WordMap
        With `user`, its columns are those of a module's number, and then those of `awuser`.
    data, ids, atomics
        As in `Axi`.
    reorder : bool
        Whether answers of different identities may overtake each other.
    user : int
        Bits of `awuser`; 0: there is none.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`).

    Members
    -------
    bus : In(Axi(address, data, ids, atomics, user))
        An address has log2(data / 8) + 2 bits, and those of a word's number.
    o : Out(link)
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        words: WordMap,
        data: int,
        ids: int = 4,
        atomics: bool = False,
        reorder: bool = False,
        user: int = 0,
        lengths: Lengths = (1, 1),
    ) -> None:
        check_link(link)
        check_lengths(lengths)
        if link.identity < 2:
            raise InvalidValue("An AXI4 port needs three outstanding requests at least")
        self.link = link
        self.words = words
        self.data = check_data_bits(data)
        check_flag("Reorder", reorder)
        self.reorder = reorder
        self.lengths = lengths
        self.lane_bits = (data // 8).bit_length() - 1
        self.axi = Axi(
            address=self.lane_bits + words.bits - user + 2,
            data=data,
            ids=ids,
            atomics=atomics,
            user=user,
        )
        super().__init__({"bus": In(self.axi), "o": Out(link)})

    @property
    def _half(self) -> MemoryLink:
        link = self.link
        return MemoryLink(
            tag=link.tag,
            identity=link.identity - 1,
            address=link.address,
            width=link.width,
            operations=link.operations,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = self._half
        assert shared_link(half, 2) == self.link
        m.submodules.share = share = ProcessorMultiplexer(half, processors=2, lengths=self.lengths)
        wiring.connect(m, wiring.flipped(self.o), share.o)
        ids = self.axi.ids
        window = RequestsByIdentity if self.reorder else OrderedRequests
        last = {"id": ids, "last": 1, "response": 2}
        reads = window(
            half,
            words=self.words,
            note=data.StructLayout({**last, "fetched": 1, "value": self.data}),
        )
        writes = window(
            half,
            words=self.words,
            note=data.StructLayout({**last, "update": 1, "answers": 1, "more": self._more}),
        )
        m.submodules.reads, m.submodules.writes = reads, writes
        wiring.connect(m, reads.o, share.i[0])
        wiring.connect(m, writes.o, share.i[1])
        fetched = Signal(self.data)
        self._read(m, reads.asks, fetched)
        self._write(m, writes.asks)
        self._answer(m, reads.answers, writes.answers, fetched)
        return m

    @property
    def _more(self) -> int:
        """Bits of the beats that follow the first of an atomic, which has 32 bytes at most."""
        return 5 if self.axi.atomics else 0

    def _code(self, name: str) -> int:
        return [operation.name for operation in bus_operations(self.data)].index(name)

    def _word(self, address: Value, user: Value) -> Value:
        """The number of an address's word, as `words` has it: `awuser` is after the module's."""
        number, modules = address[self.lane_bits : -2], len(self.words.columns) - self.axi.user
        return Cat(number[:modules], user, number[modules:])

    def _burst(
        self, m: Module, name: str, beat: Value
    ) -> tuple[Signal, data.View, Value, Value, Value]:
        """Accept a burst and count its beats: whether there is one, what it is, the address of the
        beat, whether it is the last, and whether the burst is forbidden."""
        bus = self.bus
        atop = {"atop": 6} if self.axi.atomics and name == "aw" else {}
        user = {"user": self.axi.user} if self.axi.user and name == "aw" else {}
        fields = {"id": self.axi.ids, "len": 8, "size": 3, "burst": 2, **atop, **user}
        burst = Signal(data.StructLayout(fields), name=f"{name}_burst")
        active = Signal(name=f"{name}_active")
        left = Signal(8, name=f"{name}_left")
        forbidden = Signal(name=f"{name}_forbidden")
        address = Signal(self.axi.address, name=f"{name}_address")
        m.d.comb += getattr(bus, f"{name}ready").eq(~active)
        with m.If(~active):
            m.d.sync += [
                forbidden.eq(self._forbidden(m, name)),
                *(burst[field].eq(getattr(bus, f"{name}{field}")) for field in fields),
                left.eq(getattr(bus, f"{name}len")),
                address.eq(getattr(bus, f"{name}addr")),
                active.eq(getattr(bus, f"{name}valid")),
            ]
        sizes = range(self.lane_bits + 1)
        step = Signal(self.lane_bits + 1)
        within = Signal.like(address)
        aligned = Signal.like(address)
        following = Signal.like(address)
        with m.Switch(burst.size):
            for size in sizes:
                with m.Case(size):
                    m.d.comb += [
                        step.eq(1 << size),
                        within.eq(Cat(Const((1 << size) - 1, size), burst.len)),
                        aligned.eq(Cat(Const(0, size), address[size:])),
                    ]
        m.d.comb += following.eq(aligned + step)
        with m.If(beat):
            m.d.sync += [left.eq(left - 1), active.eq(left != 0)]
            with m.Switch(burst.burst):
                with m.Case(_INCR):
                    m.d.sync += address.eq(following)
                with m.Case(_WRAP):
                    m.d.sync += address.eq(address & ~within | following & within)
        return active, burst, address, left == 0, forbidden

    def _forbidden(self, m: Module, name: str) -> Value:
        """Whether the burst that is offered is none of the standard's."""
        kind, size, length, start = (
            getattr(self.bus, f"{name}{field}") for field in ("burst", "size", "len", "addr")
        )
        page = start[:_PAGE_BITS]
        sizes = range(self.lane_bits + 1)
        unaligned, ends = (Signal(name=f"{name}_{what}") for what in ("unaligned", "ends"))
        with m.Switch(size):
            for one in sizes:
                with m.Case(one):
                    beats = page[one:] + length
                    m.d.comb += [
                        unaligned.eq(page[:one].any()),
                        ends.eq((beats >> (len(page) - one)) != 0),
                    ]
        wraps = Cat(length == beats - 1 for beats in _WRAPPED).any()
        return (
            (size > self.lane_bits)
            | (kind > _WRAP)
            | ((kind == _FIXED) & (length[4:] != 0))
            | ((kind == _INCR) & ends)
            | ((kind == _WRAP) & (unaligned | ~wraps))
        )

    def _refused(self, m: Module, name: str, forbidden: Value, word: Value) -> Value:
        """The response if a beat is not performed, else OKAY."""
        response = Signal(2, name=f"{name}_response")
        _, _, exists = self.words.place(m, f"{name}_word", word)
        with m.If(forbidden):
            m.d.comb += response.eq(_SLVERR)
        with m.Elif(~exists):
            m.d.comb += response.eq(_DECERR)
        return response

    def _read(self, m: Module, asks: stream.Interface, old: Signal) -> None:
        """From AR to the window of reads."""
        active, burst, address, last, forbidden = self._burst(m, "ar", asks.valid & asks.ready)
        word = self._word(address, Const(0, self.axi.user))
        response = self._refused(m, "ar", forbidden, word)
        ask, fetched = asks.payload, address[-2:] != 0
        m.d.comb += [
            asks.valid.eq(active),
            ask.word.eq(word),
            ask.skip.eq(fetched | (response != _OKAY)),
            ask.note.id.eq(burst.id),
            ask.note.last.eq(last),
            ask.note.response.eq(response),
            ask.note.fetched.eq(fetched),
            ask.note.value.eq(old),
        ]

    def _write(self, m: Module, asks: stream.Interface) -> None:
        """From AW and W to the window of writes."""
        bus = self.bus
        beat = data.StructLayout({"data": self.data, "strobes": self.data // 8})
        # A queue, so that `wready` comes from registers.
        m.submodules.beats = beats = ArrivalQueue(beat, depth=2)
        m.d.comb += [
            beats.i[0].valid.eq(bus.wvalid),
            beats.i[0].payload.data.eq(bus.wdata),
            beats.i[0].payload.strobes.eq(bus.wstrb),
            bus.wready.eq(beats.i[0].ready),
        ]
        active, burst, address, last, forbidden = self._burst(m, "aw", asks.valid & asks.ready)
        user: Value = burst.user if self.axi.user else Const(0, 0)
        word = self._word(address, user)
        response = self._refused(m, "aw", forbidden, word)
        ask, words = asks.payload, beats.o.payload
        whole = words.strobes.all() & ~user.any()
        operation = Signal.like(ask.operation)
        operand = Signal(self.data)
        kind = Signal(2)
        wrong = Signal()
        answers = Signal()
        window = address[-2:]
        m.d.comb += [
            operation.eq(Array(self._code(name) for name in WINDOWS)[window]),
            operand.eq(words.data),
            wrong.eq((window != 0) & ~whole),
        ]
        if self.axi.atomics:
            atop = burst.atop
            # Beats on R: as many as on W, of AtomicCompare half.
            m.d.comb += [
                kind.eq(atop[4:]),
                answers.eq(atop[5]),
                ask.note.more.eq(burst.len >> (atop == _ATOMIC_COMPARE)),
            ]
            swap = kind == _ATOMIC_SWAP
            with m.If(kind != 0):
                codes = Array(self._code(name) for name in _ATOMICS)
                m.d.comb += [
                    operation.eq(Mux(swap, self._code("masked-store"), codes[atop[:2]])),
                    operand.eq(words.data ^ (~swap & (atop[:2] == 1)).replicate(self.data)),
                    wrong.eq(~whole | (burst.len != 0) | Mux(swap, atop[:4] != 0, atop[2:4] != 0)),
                ]
        failed = Mux(response != _OKAY, response, Mux(wrong, _SLVERR, _OKAY))
        m.d.comb += [
            asks.valid.eq(active & beats.o.valid),
            beats.o.ready.eq(active & asks.ready),
            ask.word.eq(word),
            ask.operation.eq(operation),
            ask.operand.eq(Cat(operand, words.strobes)),
            ask.skip.eq(failed != _OKAY),
            ask.note.id.eq(burst.id),
            ask.note.last.eq(last),
            ask.note.response.eq(failed),
            ask.note.update.eq((window != 0) & (kind == 0) & (failed == _OKAY)),
            ask.note.answers.eq(answers),
        ]

    def _answer(
        self, m: Module, reads: stream.Interface, writes: stream.Interface, fetched: Signal
    ) -> None:
        """From the windows to R and B."""
        bus = self.bus
        answer = Cat(bus.rid, bus.rdata, bus.rresp, bus.rlast)
        worst = Signal(2)
        response = Signal(2)
        read, write = reads.payload, writes.payload
        # An AtomicLoad is answered on both channels: on R from this register.
        shape = {"id": self.axi.ids, "data": self.data, "response": 2, "more": self._more}
        loaded = Signal(data.StructLayout(shape))
        full = Signal()
        room = ~(write.note.answers & full)
        m.d.comb += [
            response.eq(worst | write.note.response),
            bus.bvalid.eq(writes.valid & write.note.last & room),
            bus.bid.eq(write.note.id),
            bus.bresp.eq(response),
            writes.ready.eq(room & (bus.bready | (writes.valid & ~write.note.last))),
        ]
        with m.If(writes.valid & writes.ready):
            m.d.sync += worst.eq(Mux(write.note.last, 0, response))
            with m.If(write.note.update):
                m.d.sync += fetched.eq(write.value)

        shown = [read.note.id, Mux(read.note.fetched, read.note.value, read.value[: self.data])]
        shown += [read.note.response, read.note.last]
        m.d.comb += [answer.eq(Cat(shown)), bus.rvalid.eq(reads.valid), reads.ready.eq(bus.rready)]
        if not self.axi.atomics:
            return
        m.submodules.turns = turns = RoundRobin(2)
        begun = Signal(2)  # the one whose burst has begun
        m.d.comb += [
            turns.request.eq(Cat(reads.valid, full) & Mux(begun.any(), begun, 0b11)),
            turns.taken.eq(bus.rready),
            bus.rvalid.eq(turns.request.any()),
            reads.ready.eq(bus.rready & turns.granted[0]),
        ]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += begun.eq(Mux(bus.rlast, 0, turns.granted))
        with m.If(turns.granted[1]):
            shown = [loaded.id, loaded.data, loaded.response, loaded.more == 0]
            m.d.comb += answer.eq(Cat(shown))
            with m.If(bus.rready):
                m.d.sync += [full.eq(loaded.more != 0), loaded.more.eq(loaded.more - 1)]
        with m.If(writes.valid & writes.ready & write.note.answers & write.note.last):
            m.d.sync += [
                full.eq(1),
                loaded.id.eq(write.note.id),
                loaded.data.eq(write.value),
                loaded.response.eq(response),
                loaded.more.eq(write.note.more),
            ]
