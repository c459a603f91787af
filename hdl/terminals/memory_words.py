# amaranth: UnusedElaboratable=no
"""Requests to memory and replies as packets of words: the ends of two unidirectional networks.

A request is one word or more. The first holds the address and the code of the operation, the second
the operand; further words are sent, and not used. A reply is one word, the value. Beside each word
are control lines: the tag, the address of the sender, and the identity of the request.
"""

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.tags import TagScheme
from ..links.memory_link import MemoryLink, check_link
from ..links.packet import Packet
from ..operations.memory import Operation
from ..primitives.routing_tags import TagEncoder

__all__ = ["Lengths", "MemoryEnd", "ProcessorEnd", "header_bits", "request_words", "word_packet"]

Lengths = tuple[int, int, int]
"""Words of a load, of a store, and of any other request."""


def request_words(operation: Operation, lengths: Lengths) -> int:
    """Words of a request."""
    return lengths[{"load": 0, "store": 1}.get(operation.kind, 2)]


def header_bits(link: MemoryLink) -> int:
    """Bits of the first word of a request that are used: the address and the operation's code."""
    return link.address + _code_bits(link)


def word_packet(link: MemoryLink) -> Packet:
    """A word on the links of both networks, as wide as a word of memory, and its control lines."""
    return Packet(
        link.tag,
        data.StructLayout({"word": link.width, "sender": link.tag, "identity": link.identity}),
        flits=True,
    )


def _code_bits(link: MemoryLink) -> int:
    return link.request_layout["operation"].width


def _check(link: MemoryLink) -> None:
    """Raise TypeError or ValueError if this is no link, or a word has no room for a header."""
    check_link(link)
    if link.width < header_bits(link):
        raise InvalidValue(
            f"Width must be at least {header_bits(link)}, for an address of {link.address} bits "
            f"and an operation of {_code_bits(link)}, not {link.width}"
        )


class ProcessorEnd(wiring.Component):
    """Sends a processor's requests word by word, and takes its replies.

    `i.request.ready` is 1 in the cycle of the last word. All outputs are combinational; there is
    one register, the number of the current word.

    Parameters
    ----------
    link : MemoryLink
        Its width must be at least `header_bits(link)`.
    tags : TagScheme
        The destination tags of both networks.
    lengths : tuple[int, int, int]
        Words of a load, of a store, and of any other request. Only a load may have a single word.

    Members
    -------
    address : In(tags.code.width)
        The processor's address in the code of the tags. Constant.
    i : In(link)
    o : Out(stream.Signature(word_packet(link)))
        Requests, into one network.
    back : In(stream.Signature(word_packet(link)))
        Replies, from the other.
    """

    def __init__(self, link: MemoryLink, *, tags: TagScheme, lengths: Lengths) -> None:
        _check(link)
        for length, least in zip(lengths, (1, 2, 2)):
            check_integer("Words of a request", length, least)
        self.link = link
        self.tags = tags
        self.lengths = lengths
        packet = word_packet(link)
        super().__init__(
            {
                "address": In(tags.code.width),
                "i": In(link),
                "o": Out(stream.Signature(packet)),
                "back": In(stream.Signature(packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, flit = self.i.request, self.o.payload
        length = _length(self.link.operations, self.lengths, request.payload.operation)
        position = Signal(range(max(self.lengths)))
        header = Cat(request.payload.address, request.payload.operation)
        words: list[Value] = [header, request.payload.operand]
        words += [Const(0)] * (max(self.lengths) - 2)
        m.d.comb += [
            self.o.valid.eq(request.valid),
            flit.tag.eq(request.payload.tag),
            flit.payload.word.eq(Array(words)[position]),
            flit.payload.sender.eq(self.address),
            flit.payload.identity.eq(request.payload.identity),
            flit.last.eq(position == length - 1),
            request.ready.eq(request.valid & self.o.ready & flit.last),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += position.eq(Mux(flit.last, 0, position + 1))

        reply, word = self.i.reply, self.back.payload.payload
        m.submodules.encoder = encoder = TagEncoder(self.tags)
        m.d.comb += [
            encoder.destination.eq(word.sender),
            reply.valid.eq(self.back.valid),
            reply.payload.tag.eq(encoder.tag),
            reply.payload.identity.eq(word.identity),
            reply.payload.value.eq(word.word),
            self.back.ready.eq(reply.ready),
        ]
        return m


class MemoryEnd(wiring.Component):
    """Passes a request on to its memory module when its last word arrives, and sends the replies.

    The tag of a request at the memory module is the address of the processor, and so is the tag of
    its reply. All outputs are combinational; registers keep the first two words of a longer
    request. `i.ready` is always 1 for words that are not the last.

    Parameters
    ----------
    link, tags
        As in `ProcessorEnd`.

    Members
    -------
    address : In(tags.code.width)
        The memory module's address in the code of the tags. Constant.
    i : In(stream.Signature(word_packet(link)))
        Requests, from one network.
    back : Out(stream.Signature(word_packet(link)))
        Replies, into the other.
    o : Out(link)
    """

    def __init__(self, link: MemoryLink, *, tags: TagScheme) -> None:
        _check(link)
        self.link = link
        self.tags = tags
        packet = word_packet(link)
        super().__init__(
            {
                "address": In(tags.code.width),
                "i": In(stream.Signature(packet)),
                "back": Out(stream.Signature(packet)),
                "o": Out(link),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, word = self.o.request, self.i.payload.payload
        first = Signal(header_bits(self.link))
        second = Signal(self.link.width)
        position = Signal(2)  # 2: any word after the second
        header = Mux(position == 0, word.word, first)
        m.d.comb += [
            request.valid.eq(self.i.valid & self.i.payload.last),
            request.payload.tag.eq(word.sender),
            request.payload.identity.eq(word.identity),
            Cat(request.payload.address, request.payload.operation).eq(header),
            request.payload.operand.eq(Mux(position == 1, word.word, second)),
            self.i.ready.eq(request.ready | (self.i.valid & ~self.i.payload.last)),
        ]
        with m.If(self.i.valid & self.i.ready):
            with m.Switch(position):
                with m.Case(0):
                    m.d.sync += [first.eq(word.word), position.eq(1)]
                with m.Case(1):
                    m.d.sync += [second.eq(word.word), position.eq(2)]
            with m.If(self.i.payload.last):
                m.d.sync += position.eq(0)

        reply, flit = self.o.reply, self.back.payload
        m.submodules.encoder = encoder = TagEncoder(self.tags)
        m.d.comb += [
            encoder.destination.eq(reply.payload.tag),
            self.back.valid.eq(reply.valid),
            flit.tag.eq(encoder.tag),
            flit.payload.word.eq(reply.payload.value),
            flit.payload.sender.eq(self.address),
            flit.payload.identity.eq(reply.payload.identity),
            flit.last.eq(1),
            reply.ready.eq(self.back.ready),
        ]
        return m


def _length(operations: Sequence[Operation], lengths: Lengths, code: Value) -> Value:
    """Words of a request for an operation, by its code."""
    return Array([Const(request_words(each, lengths)) for each in operations])[code]
