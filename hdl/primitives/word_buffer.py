# amaranth: UnusedElaboratable=no
"""A buffer of messages that counts words, on a link of processor and memory."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.memory_link import Direction, MemoryLink, check_link
from .arrival_queue import ArrivalQueue
from .pacing import Lengths, Pacer, check_lengths, message_length, shortest_message

__all__ = ["WordBuffer", "check_room"]


class WordBuffer(wiring.Component):
    """A first-in first-out buffer of messages whose capacity is counted in words.

    A message is accepted when there is room for all its words, and the room is then reserved for
    it. If no other is before it, it is shown `delay` cycles later. There is one read port: a
    message leaves word by word (`Pacer`), and each word becomes free in the cycle after it left.
    The next message is shown when all words are out. Throughput is one word per cycle if `depth` is
    at least the words of the longest message plus `delay`.

    `o` comes from registers and memories. `i.ready` comes from registers; if there are messages of
    two lengths, it depends combinationally on `i.payload`.

    Parameters
    ----------
    link : MemoryLink
    direction : "request" or "reply"
        Which of the link's two streams it buffers.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request.
    depth : int
        Words that fit, at least those of the longest message.
    delay : int
        Cycles until a message is shown, at least 1. The message is in the buffer during these.

    Members
    -------
    i : In(stream.Signature(layout))
        The layout is `link.request_layout` or `link.reply_layout`.
    o : Out(stream.Signature(layout))
    """

    def __init__(
        self,
        link: MemoryLink,
        direction: Direction,
        *,
        lengths: Lengths = (1, 1),
        depth: int,
        delay: int = 1,
    ) -> None:
        check_link(link)
        check_lengths(lengths)
        check_room(depth, lengths)
        delay = check_integer("Delay", delay, 1)
        self.link = link
        self.direction = direction
        self.lengths = lengths
        self.depth = depth
        self.delay = delay
        ports = stream.Signature(link.layout(direction))
        super().__init__({"i": In(ports), "o": Out(ports)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self.depth // shortest_message(self.link, self.direction, self.lengths)
        m.submodules.queue = queue = ArrivalQueue(self.link.layout(self.direction), depth=most)
        entry, head = queue.i[0], queue.o
        m.d.comb += entry.payload.eq(self.i.payload)
        accepted = self.i.valid & self.i.ready
        if not Pacer.needed(self.direction, self.lengths):
            m.d.comb += [entry.valid.eq(self.i.valid), self.i.ready.eq(entry.ready)]
            exit_ = wiring.flipped(self.o)
        else:
            m.submodules.pacer = pacer = Pacer(self.link, self.direction, lengths=self.lengths)
            wiring.connect(m, wiring.flipped(self.o), pacer.o)
            exit_ = pacer.i
            # Capacity is counted in words, so there is always a free row in the queue as well.
            words = Signal(range(self.depth + 1))
            length = message_length(self.link, self.direction, self.lengths, self.i.payload)
            leaving = (self.o.valid & self.o.ready) | pacer.resting
            m.d.comb += [self.i.ready.eq(words + length <= self.depth), entry.valid.eq(accepted)]
            with m.If(accepted):
                m.d.sync += words.eq(words + length - leaving)
            with m.Else():
                m.d.sync += words.eq(words - leaving)
        m.d.comb += [
            exit_.valid.eq(self._visible(m, accepted, head)),
            exit_.payload.eq(head.payload),
            head.ready.eq(exit_.valid & exit_.ready),
        ]
        return m

    def _visible(self, m: Module, accepted: Value, head: stream.Interface) -> Value:
        """Whether the queue's head has been there for long enough: only the fact of its arrival is
        delayed, not the message."""
        if self.delay == 1:
            return head.valid
        news = Signal(self.delay - 1)
        visible = Signal(range(self.depth + 1))
        m.d.sync += [
            news.eq(Cat(accepted, news)),
            visible.eq(visible + news[-1] - (head.valid & head.ready)),
        ]
        return visible != 0


def check_room(depth: int, lengths: Lengths) -> None:
    """Raise TypeError or ValueError if a buffer of `depth` words can't hold the longest message."""
    check_integer("Depth", depth, 1)
    if depth < lengths[1]:
        raise InvalidValue(
            f"Depth of an input buffer must be at least {lengths[1]}, "
            f"the words of the longest message, not {depth}"
        )
