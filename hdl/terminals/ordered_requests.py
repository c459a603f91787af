"""Windows of requests to memory whose replies are put back into order: one, or one an identity."""

from typing import NamedTuple

from amaranth.hdl import Array, Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..links.memory_link import MemoryLink, check_link
from ..primitives.round_robin import RoundRobin, lowest, number_of
from .bus_words import WordMap

__all__ = ["OrderedRequests", "RequestsByIdentity", "answer_layout", "ask_layout"]


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


class _Order(NamedTuple):
    """Whether a place is free, and which; whether an answer is shown, and from which place."""

    free: Value
    next_: Value
    shown: Value
    first: Value


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
        answered = Signal(entries)
        shapes = {"values": self.link.width, "notes": Shape.cast(self.note).width}
        memories = {
            name: Memory(shape=width, depth=entries, init=[]) for name, width in shapes.items()
        }
        for name, memory in memories.items():
            m.submodules[name] = memory
        write = {name: memory.write_port() for name, memory in memories.items()}
        read = {name: memory.read_port(domain="comb") for name, memory in memories.items()}

        asked = Signal()
        taken = Signal()
        free, next_, shown, first = self._order(m, answered, asked, taken)
        tag, row, _ = self.words.place(m, "word", asks.payload.word)
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
            answers.valid.eq(shown),
            answers.payload.value.eq(read["values"].data),
            answers.payload.note.eq(read["notes"].data),
            taken.eq(answers.valid & answers.ready),
        ]
        with m.If(taken):
            m.d.sync += answered.bit_select(first, 1).eq(0)
        with m.If(asked & asks.payload.skip):
            m.d.sync += answered.bit_select(next_, 1).eq(1)
        with m.If(reply.valid):
            m.d.sync += answered.bit_select(reply.payload.identity, 1).eq(1)
        return m

    def _order(self, m: Module, answered: Signal, asked: Signal, taken: Signal) -> _Order:
        entries = len(answered)
        first = Signal(self.link.identity)
        next_ = Signal(self.link.identity)
        waiting = Signal(range(entries + 1))
        m.d.sync += [
            waiting.eq(waiting + asked - taken),
            next_.eq(next_ + asked),
            first.eq(first + taken),
        ]
        return _Order(waiting != entries, next_, answered.bit_select(first, 1), first)


class RequestsByIdentity(OrderedRequests):
    """The same, of which answers of different identities may overtake each other.

    An identity is the `id` of a note. The answers of each are shown in the order of its requests.
    Requests from one with `last` to the next are a burst, of one identity; its answers follow each
    other, and no others come between. Bursts whose next answer has arrived take turns
    (`RoundRobin`).

    A request takes the first place that is free, so that one whose answer is late keeps no other
    waiting while there are places.

    Parameters
    ----------
    link, words
        As in `OrderedRequests`.
    note : data.StructLayout
        What is kept with a request: `id` and `last` (1 bit), and what else is needed.

    Members
    -------
    asks, answers, o
        As in `OrderedRequests`.
    """

    def _order(self, m: Module, answered: Signal, asked: Signal, taken: Signal) -> _Order:
        note, reply = self.asks.payload.note, self.o.reply
        entries = len(answered)

        def places(name: str, init: int = 0) -> Signal:
            return Signal(entries, name=name, init=init)

        # Of each place: it is in use; its answer is shown; no later request has its identity; an
        # earlier one has, of the place `before`; it begins a burst.
        used, showing = places("used", 1), places("showing")
        newest, blocked, begins = places("newest"), places("blocked"), places("begins")
        identities, before = (
            Array(Signal(len(like), name=f"{name}_{entry}") for entry in range(entries))
            for name, like in (("id", note.id), ("before", reply.payload.identity))
        )

        # The place whose answer is shown is chosen a cycle ahead: in a burst the following one, and
        # else one whose turn it is, `next_head`, or if there is none, a new one or the following.
        shown = Signal()
        first = Signal(self.link.identity)
        half_shown = Signal()
        whole = Signal()
        next_head, arriving, following, choice = (
            places(name) for name in ("next_head", "arriving", "following", "choice")
        )
        arrived, opened = answered | arriving, ~blocked & ~showing
        m.submodules.turns = turns = RoundRobin(entries)
        m.d.comb += [
            following.eq(blocked & shown.replicate(entries) & Cat(b == first for b in before)),
            whole.eq(Mux(shown, self.answers.payload.note.last, ~half_shown)),
            turns.request.eq(answered & opened & begins & ~next_head),
        ]
        with m.If(reply.valid):
            m.d.comb += arriving.bit_select(reply.payload.identity, 1).eq(1)
        with m.If(~whole):
            m.d.comb += choice.eq(arrived & (following | opened & ~begins))
        with m.Elif(next_head.any()):
            m.d.comb += choice.eq(next_head)
        with m.Elif((arriving & opened & begins).any()):
            m.d.comb += choice.eq(arriving & opened & begins)
        with m.Else():
            m.d.comb += choice.eq(arrived & following)
        with m.If(taken):
            m.d.sync += half_shown.eq(~whole)
        with m.If(taken | ~shown):
            m.d.sync += [showing.eq(choice), first.eq(number_of(choice)), shown.eq(choice.any())]
        with m.If(~next_head.any() | (whole & (taken | ~shown))):
            m.d.comb += turns.taken.eq(1)
            m.d.sync += next_head.eq(turns.granted)

        # The place of the next request, which is in use beforehand.
        place = Signal(self.link.identity)
        has_place = Signal(init=1)
        added, gone, same = places("added"), places("gone"), places("same")
        m.d.comb += [
            added.eq(asked << place),
            gone.eq(showing & taken.replicate(entries)),
            same.eq(newest & Cat(identity == note.id for identity in identities)),
        ]
        m.d.sync += [
            used.eq(used & ~gone),
            newest.eq(newest & ~gone & ~(same & asked.replicate(entries)) | added),
            blocked.eq(blocked & ~(following & taken.replicate(entries))),
        ]
        with m.If(asked | ~has_place):
            m.d.sync += has_place.eq(~used.all() | taken)
            with m.If(used.all()):
                m.d.sync += [place.eq(first), used.eq(used)]
            with m.Else():
                m.d.sync += [
                    place.eq(number_of(lowest(~used))),
                    used.eq(used & ~gone | lowest(~used)),
                ]
        inside = Signal()
        with m.If(asked):
            m.d.sync += inside.eq(~note.last)
        for entry in range(entries):
            with m.If(added[entry]):
                m.d.sync += [
                    identities[entry].eq(note.id),
                    before[entry].eq(number_of(same)),
                    blocked[entry].eq((same & ~gone).any()),
                    begins[entry].eq(~inside),
                ]
        return _Order(has_place, place, shown, first)
