# amaranth: UnusedElaboratable=no
"""Messages of several words, one word per cycle on a link, with cut-through (Siegel et al., IV-A).

The words of a message are carried side by side in one cycle, and timed as if they followed one
another: a box passes a message on in the cycle after its *head* came, whatever its length, and
after each message the link is idle for as long as the other words would take. (In RP3 a request is
"for two or three words", in the Ultracomputer it uses "two or four network words": VII-E and F.)
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_word
from ..fabric.errors import InvalidType, InvalidValue
from ..links.memory_link import Direction, MemoryLink, check_link
from ..operations.memory import Operation

__all__ = [
    "Lengths",
    "Pacer",
    "check_lengths",
    "message_length",
    "paced",
    "request_length",
    "shortest_message",
]

Lengths = tuple[int, int]
"""Words of a short message (a load, or a reply) and of a long one (any other request)."""


def check_lengths(lengths: object) -> None:
    """Raise TypeError or ValueError if these are not the lengths of short and long messages."""
    if not isinstance(lengths, tuple) or len(lengths) != 2:
        raise InvalidType(f"Lengths must be a pair of integers, not {lengths!r}")
    for length in lengths:
        check_integer("Length", length, 1)
    short, long = lengths
    if short > long:
        raise InvalidValue(f"Lengths must be in order, shorter first, not {short} and {long}")


def request_length(operation: Operation, lengths: Lengths) -> int:
    """Words of a request: a load has no operand, and is short; all others are long."""
    return lengths[operation.kind != "load"]


def shortest_message(link: MemoryLink, direction: Direction, lengths: Lengths) -> int:
    """Number of words of the shortest message of this direction."""
    if direction == "reply":
        return lengths[0]
    return min(request_length(operation, lengths) for operation in link.operations)


def message_length(
    link: MemoryLink, direction: Direction, lengths: Lengths, payload: data.View
) -> Value:
    """Words of a message, in hardware: a constant if all messages of this direction are equal."""
    if direction == "reply":
        return Const(lengths[0])
    codes = [code for code, operation in enumerate(link.operations) if operation.kind == "load"]
    if lengths[0] == lengths[1] or not codes:
        return Const(lengths[1])
    return Mux(Value.cast(payload.operation).matches(*codes), *map(Const, lengths))


class Pacer(wiring.Component):
    """Delays the messages on a link according to their number of words.

    A message passes at once, all words side by side. Then the link is idle for its length less one
    cycles: `o.valid` and `i.ready` are 0. So throughput is one word per cycle, and the head is not
    delayed. `o.valid` and `o.payload` depend combinationally on `i`, and `i.ready` on `o.ready`.

    If all messages have one word, no pacer is needed (`needed`), and it should be left out.

    Parameters
    ----------
    link : MemoryLink
    direction : "request" or "reply"
        Which of the link's two streams it paces.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request: each at least 1, the shorter first.

    Members
    -------
    i : In(stream.Signature(layout))
        The layout is `link.request_layout` or `link.reply_layout`.
    o : Out(stream.Signature(layout))
    resting : Out(1)
        The link carries a later word of a message. From a register.
    """

    def __init__(self, link: MemoryLink, direction: Direction, *, lengths: Lengths) -> None:
        check_link(link)
        check_word("Direction", direction, ("request", "reply"))
        check_lengths(lengths)
        self.link = link
        self.direction = direction
        self.lengths = lengths
        ports = stream.Signature(link.layout(direction))
        super().__init__({"i": In(ports), "o": Out(ports), "resting": Out(1)})

    @staticmethod
    def needed(direction: Direction, lengths: Lengths) -> bool:
        """Whether a message of this direction may have several words."""
        return lengths[direction == "request"] > 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        length = message_length(self.link, self.direction, self.lengths, self.i.payload)
        rest = Signal(range(self.lengths[self.direction == "request"]))
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            self.resting.eq(rest != 0),
            self.o.valid.eq(self.i.valid & ~self.resting),
            self.i.ready.eq(self.o.ready & ~self.resting),
        ]
        with m.If(self.resting):
            m.d.sync += rest.eq(rest - 1)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += rest.eq(length - 1)
        return m


def paced(
    m: Module, name: str, direction: Direction, lengths: Lengths, port: wiring.PureInterface
) -> wiring.PureInterface:
    """The stream through which a component sends in one direction of its own port, paced: the input
    of a new pacer, or the port's stream itself if no pacer is needed."""
    output = wiring.flipped(getattr(port, direction))
    if not Pacer.needed(direction, lengths):
        return output
    m.submodules[name] = pacer = Pacer(port.signature, direction, lengths=lengths)
    wiring.connect(m, output, pacer.o)
    return pacer.i
