"""A Wishbone port of a network with memory that reads ahead (Wishbone B4, registered feedback)."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..links.memory_link import MemoryLink, check_link
from ..links.wishbone_bus import Wishbone
from ..operations.bus_operations import WINDOWS, check_data_bits, window_codes
from ..primitives.pacing import Lengths, paced
from .bus_words import WordMap
from .ordered_requests import OrderedRequests

__all__ = ["WishboneBurstTarget"]

_CONSTANT, _INCREMENTING = 0b001, 0b010
"""Of `cti`: bursts at one address, and at addresses that follow each other. All other values say
that the cycle is a classic one, or the last of a burst."""
_WRAPS = (4, 8, 16)
"""Beats after which addresses wrap, by `bte` from 1."""


class WishboneBurstTarget(wiring.Component):
    """What `WishboneTarget` does, and reads the words of a burst before they are asked for.

    A load with a `cti` of 1 or 2 starts a burst: the words that follow by `bte` are requested, as
    many as the link has identities, until a cycle ends whose `cti` is another, or with `err`, or
    `cyc` falls; what was read in vain is dropped. Between beats `stb` may pause. Each address must
    be the one that `cti` and `bte` announced, and `we` 0. Words were read at some time since the
    burst began. Other cycles, bursts of stores too, are done one by one.

    If network and memory show a reply L cycles after the request, `ack` comes L + 2 cycles after
    `stb`, at the earliest, and then in every cycle of a burst. `ack` and `err` depend
    combinationally on `cyc` and `stb`, and are 0 without both. `dat_r` comes from memories.

    Parameters
    ----------
    link : MemoryLink
        Its operations are `bus_operations(data)`, its identities have a bit or more.
    words, data, lengths
        As in `WishboneTarget`.

    Members
    -------
    bus : In(Wishbone(address=words.bits + 2, data=data, bursts=True))
    o : Out(link)
    """

    def __init__(
        self, link: MemoryLink, *, words: WordMap, data: int, lengths: Lengths = (1, 1)
    ) -> None:
        check_link(link)
        if link.identity < 1:
            raise InvalidValue("A Wishbone port with bursts needs two outstanding requests")
        self.link = link
        self.words = words
        self.data = check_data_bits(data)
        self.lengths = lengths
        bus = Wishbone(address=words.bits + 2, data=data, bursts=True)
        super().__init__({"bus": In(bus), "o": Out(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, bits = self.bus, self.words.bits
        note = data.StructLayout({"error": 1, "fetched": 1, "update": 1})
        m.submodules.requests = requests = OrderedRequests(self.link, words=self.words, note=note)
        wiring.connect(m, requests.o.reply, wiring.flipped(self.o.reply))
        wiring.connect(m, requests.o.request, paced(m, "pacer", "request", self.lengths, self.o))
        asks, answers = requests.asks, requests.answers
        ask, answer = asks.payload, answers.payload

        # The cycle that is answered, and the address of the word that is asked for.
        sent = Signal(data.StructLayout({"we": 1, "sel": self.data // 8, "data": self.data}))
        address = Signal(bits + 1)
        window = Signal(2)
        burst = Signal()
        begun = Signal()
        constant = Signal()
        wraps = Signal(2)
        _, _, exists = self.words.place(m, "word", address[:bits])
        fetches = (window != 0) & ~sent.we
        wrong = ~exists | address[bits] | (sent.we & (window != 0) & ~sent.sel.all())
        m.d.comb += [
            ask.word.eq(address),
            ask.operation.eq(Mux(sent.we, Array(window_codes(self.data, WINDOWS))[window], 0)),
            ask.operand.eq(Cat(sent.data, sent.sel)),
            ask.skip.eq(wrong | fetches),
            ask.note.error.eq(wrong),
            ask.note.fetched.eq(fetches),
            ask.note.update.eq(sent.we & (window != 0) & ~wrong),
        ]
        following = Signal.like(address)
        m.d.comb += following.eq(address + 1)
        with m.Switch(wraps):
            for code, beats in enumerate(_WRAPS, 1):
                low = beats.bit_length() - 1
                with m.Case(code):
                    m.d.comb += following.eq(Cat((address + 1)[:low], address[low:]))

        # Answers of cycles that are over are dropped: the first `stale` of those `under_way`.
        under_way = Signal(range((1 << self.link.identity) + 1))
        stale = Signal.like(under_way)
        leaving = Signal()
        shown = Signal()
        ends = Signal()
        over = Signal()
        old = Signal(self.data)
        asked, taken = asks.valid & asks.ready, answers.valid & answers.ready
        still = under_way + asked - taken
        goes_on = burst & bus.cti.matches(_CONSTANT, _INCREMENTING)
        m.d.comb += [
            shown.eq(answers.valid & (stale == 0) & ~leaving),
            ends.eq(shown & bus.cyc & bus.stb),
            over.eq(ends & (answer.note.error | ~goes_on) | ~bus.cyc | ~(bus.stb | begun)),
            bus.ack.eq(ends & ~answer.note.error),
            bus.err.eq(ends & answer.note.error),
            bus.dat_r.eq(Mux(answer.note.fetched, old, answer.value[: self.data])),
            answers.ready.eq(ends | ~shown),
        ]
        with m.If(ends | over):
            m.d.sync += begun.eq(~over)
        m.d.sync += [under_way.eq(still), stale.eq(stale - (taken & (stale != 0)))]
        with m.If(taken & answer.note.update):
            m.d.sync += old.eq(answer.value)
        with m.FSM():
            with m.State("idle"), m.If(bus.cyc & bus.stb):
                m.d.sync += [
                    Cat(address[:bits], window).eq(bus.adr),
                    address[bits].eq(0),
                    sent.we.eq(bus.we),
                    sent.sel.eq(bus.sel),
                    sent.data.eq(bus.dat_w),
                    constant.eq(bus.cti == _CONSTANT),
                    wraps.eq(bus.bte),
                    burst.eq(
                        bus.cti.matches(_CONSTANT, _INCREMENTING) & ~bus.we & (bus.adr[bits:] == 0)
                    ),
                ]
                m.next = "asking"
            with m.State("asking"):
                m.d.comb += asks.valid.eq(1)
                with m.If(asks.ready & ~constant):
                    m.d.sync += address.eq(following)
                with m.If(over):
                    m.d.sync += stale.eq(still)
                    m.next = "leaving"
                    with m.If(asks.ready):
                        m.next = "idle"
                with m.Elif(asks.ready & ~burst):
                    m.next = "waiting"
            with m.State("waiting"), m.If(over):
                m.d.sync += stale.eq(still)
                m.next = "idle"
            with m.State("leaving"):
                # A request stays until it is taken.
                m.d.comb += [asks.valid.eq(1), leaving.eq(1)]
                m.d.sync += stale.eq(still)
                with m.If(asks.ready):
                    m.next = "idle"
        return m
