"""A Wishbone port of a network with memory (Wishbone B4, classic cycles)."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..links.memory_link import MemoryLink, check_link
from ..links.wishbone_bus import Wishbone
from ..operations.bus_operations import WINDOWS, check_data_bits, window_codes
from ..primitives.pacing import Lengths, paced
from .bus_words import WordMap

__all__ = ["WishboneTarget"]


class WishboneTarget(wiring.Component):
    """Makes a request to memory of each cycle of a Wishbone bus, and ends it with the reply.

    The top bits of an address choose what a write does (`operations.bus_operations.WINDOWS`): it
    stores the bytes that `sel` names, or adds, ANDs or ORs the word in one indivisible step, and
    `dat_r` is the old value in the cycle of `ack`. A read in the first window loads the word; one
    in the others shows the old value that the last read-modify-write of this port found. `err` ends
    a cycle at a word that does not exist, and a read-modify-write without all bytes.

    One request at a time. If network and memory show a reply L cycles after the request, `ack`
    comes L + 2 cycles after `stb`, at the earliest. If the initiator drops `cyc` or `stb`, the
    request under way is still performed, and its reply is not shown. `ack`, `err`, `dat_r` and
    `request` come from registers.

    Parameters
    ----------
    link : MemoryLink
        Its operations are `bus_operations(data, windows)`.
    words : WordMap
    data : int
        Width of the bus's data.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`).
    windows : tuple[str, ...]
        What a write does in each part of the addresses: `WINDOWS` or `ALL_WINDOWS`.

    Members
    -------
    bus : In(Wishbone(address=words.bits + 2, data=data))
        With `ALL_WINDOWS` addresses have one bit more.
    o : Out(link)
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        words: WordMap,
        data: int,
        lengths: Lengths = (1, 1),
        windows: tuple[str, ...] = WINDOWS,
    ) -> None:
        check_link(link)
        self.link = link
        self.words = words
        self.data = check_data_bits(data)
        self.lengths = lengths
        self.windows = windows
        bus = Wishbone(address=words.bits + (len(windows) - 1).bit_length(), data=data)
        super().__init__({"bus": In(bus), "o": Out(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, reply = self.bus, self.o.reply
        request = paced(m, "pacer", "request", self.lengths, self.o)
        window = bus.adr[self.words.bits :]
        tag, row, exists = self.words.place(m, "word", bus.adr[: self.words.bits])
        sent = Signal(self.link.request_layout)
        old = Signal(self.data)
        update = Signal()
        partial = Signal()
        abandoned = Signal()
        fetches = Signal()
        codes = Array(window_codes(self.data, self.windows))
        m.d.comb += [
            update.eq(window != 0),
            partial.eq(~bus.sel.all()),
            request.payload.eq(sent),
            reply.ready.eq(1),
        ]

        m.d.sync += [bus.ack.eq(0), bus.err.eq(0)]
        with m.If(~(bus.cyc & bus.stb)):
            m.d.sync += abandoned.eq(1)
        with m.FSM():
            with m.State("idle"), m.If(bus.cyc & bus.stb & ~bus.ack & ~bus.err):
                m.d.sync += [
                    abandoned.eq(0),
                    sent.tag.eq(tag),
                    sent.address.eq(row),
                    sent.operation.eq(Mux(bus.we, codes[window], 0)),
                    fetches.eq(update),
                    sent.operand.eq(Cat(bus.dat_w, bus.sel)),
                ]
                with m.If(~exists | (bus.we & update & partial)):
                    m.d.sync += bus.err.eq(1)
                with m.Elif(update & ~bus.we):
                    m.d.sync += [bus.ack.eq(1), bus.dat_r.eq(old)]
                with m.Else():
                    m.next = "request"
            with m.State("request"):
                m.d.comb += request.valid.eq(1)
                with m.If(request.ready):
                    m.next = "reply"
            with m.State("reply"), m.If(reply.valid):
                value = reply.payload.value[: self.data]
                m.d.sync += [bus.ack.eq(bus.cyc & bus.stb & ~abandoned), bus.dat_r.eq(value)]
                with m.If(fetches):
                    m.d.sync += old.eq(value)
                m.next = "idle"
        return m
