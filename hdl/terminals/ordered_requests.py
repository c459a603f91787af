"""A window of requests to memory whose replies are put back into order."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..links.memory_link import MemoryLink, check_link
from .bus_words import WordMap

__all__ = ["OrderedRequests", "answer_layout", "ask_layout"]


def ask_layout(link: MemoryLink, words: WordMap, note: ShapeLike) -> data.StructLayout:
    """A request before it has an identity.

    With `skip` nothing is asked of the memory, and the answer has no value. `note` is kept for the
    answer.
    """
    return data.StructLayout(
        {
            "word": words.bits,
            "operation": link.request_layout["operation"].shape,
            "operand": link.width,
            "skip": 1,
            "note": note,
        }
    )


def answer_layout(link: MemoryLink, note: ShapeLike) -> data.StructLayout:
    """The old value of the word, and the note of the request."""
    return data.StructLayout({"value": link.width, "note": note})


class OrderedRequests(wiring.Component):
    """Sends requests as soon as it can, and shows the answers in the order of the requests.

    As many requests can be unanswered as there are identities; an answer occupies its identity
    until it is taken, so that `o.reply.ready` is always 1. An answer is shown one cycle after the
    reply arrived, or after a request with `skip` was taken. `answers` comes from registers and
    memories; `asks.ready` depends combinationally on `asks.valid`,
    `asks.payload.skip` and `o.request.ready`.

    Requests are *sent* in order. Whether they are performed in order is up to the network: those
    for one word are, in all networks with memory.

    Parameters
    ----------
    link : MemoryLink
    words : WordMap
    note : ShapeLike
        What is kept with a request.

    Members
    -------
    asks : In(stream.Signature(ask_layout(link, words, note)))
    answers : Out(stream.Signature(answer_layout(link, note)))
    o : Out(link)
    """

    def __init__(self, link: MemoryLink, *, words: WordMap, note: ShapeLike) -> None:
        check_link(link)
        self.link = link
        self.words = words
        self.note = note
        super().__init__(
            {
                "asks": In(stream.Signature(ask_layout(link, words, note))),
                "answers": Out(stream.Signature(answer_layout(link, note))),
                "o": Out(link),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asks, answers = self.asks, self.answers
        request, reply = self.o.request, self.o.reply
        entries = 1 << self.link.identity
        first, next_ = Signal(self.link.identity), Signal(self.link.identity)
        waiting = Signal(range(entries + 1))
        answered = Signal(entries)
        shapes = {"values": self.link.width, "notes": Shape.cast(self.note).width}
        memories = {
            name: Memory(shape=width, depth=entries, init=[]) for name, width in shapes.items()
        }
        m.submodules += memories.values()
        write = {name: memory.write_port() for name, memory in memories.items()}
        read = {name: memory.read_port(domain="comb") for name, memory in memories.items()}

        asked, taken = Signal(), Signal()
        tag, row, _ = self.words.place(m, "word", asks.payload.word)
        free = waiting != entries
        m.d.comb += [
            request.valid.eq(asks.valid & free & ~asks.payload.skip),
            request.payload.tag.eq(tag),
            request.payload.identity.eq(next_),
            request.payload.address.eq(row),
            request.payload.operation.eq(asks.payload.operation),
            request.payload.operand.eq(asks.payload.operand),
            asks.ready.eq(free & (request.ready | (asks.valid & asks.payload.skip))),
            asked.eq(asks.valid & asks.ready),
            write["notes"].en.eq(asked),
            write["notes"].addr.eq(next_),
            write["notes"].data.eq(asks.payload.note),
            reply.ready.eq(1),
            write["values"].en.eq(reply.valid),
            write["values"].addr.eq(reply.payload.identity),
            write["values"].data.eq(reply.payload.value),
            *(port.addr.eq(first) for port in read.values()),
            answers.valid.eq(answered.bit_select(first, 1)),
            answers.payload.value.eq(read["values"].data),
            answers.payload.note.eq(read["notes"].data),
            taken.eq(answers.valid & answers.ready),
        ]
        m.d.sync += waiting.eq(waiting + asked - taken)
        with m.If(asked):
            m.d.sync += next_.eq(next_ + 1)
        with m.If(taken):
            m.d.sync += [first.eq(first + 1), answered.bit_select(first, 1).eq(0)]
        with m.If(asked & asks.payload.skip):
            m.d.sync += answered.bit_select(next_, 1).eq(1)
        with m.If(reply.valid):
            m.d.sync += answered.bit_select(reply.payload.identity, 1).eq(1)
        return m
