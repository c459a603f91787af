# amaranth: UnusedElaboratable=no
"""A box that does not combine, with buffers at its inputs, as in RP3 (Siegel et al., VII-E)."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer, check_radix
from ...links.memory_link import Direction, MemoryLink, check_link, check_tag
from ...primitives.interchange_box import InterchangeBox
from ...primitives.pacing import Lengths, check_lengths, paced
from ...primitives.round_robin import RoundRobin
from ...primitives.word_buffer import WordBuffer, check_room

__all__ = ["InputBufferedBox"]


class InputBufferedBox(wiring.Component):
    """A k x k box that carries requests forward and replies back, with buffers at its inputs.

    There is a buffer (`WordBuffer`) at each input from the processors' side for requests, and one
    at each input from the memories' side for replies. The messages at the heads of the buffers
    compete for the outputs, and each output takes them in turn (`RoundRobin`); a message that waits
    blocks those behind it. This is "easier to build", with "increased congestion" (VII-E). The link
    and tags are the same as with `CombiningBox`, but nothing combines.

    The head of a message leaves `delay` cycles after it arrived, if nothing blocks it. Each buffer
    and each output is then busy for the length of the message.

    Requests wait only for requests before them, and replies only for replies. So if the processors
    accept their replies and the memories can send theirs, every request is answered.

    `o[*].request` and `i[*].reply` come from registers and memories. So do `i[*].request.ready` and
    `o[*].reply.ready`, but with requests of two lengths the former depends combinationally on
    `i[*].request.payload` of the same port.

    Parameters
    ----------
    link : MemoryLink
        The top digit of a tag must name an output.
    radix : int
        Number of inputs and of outputs, at least 2.
    depth : int
        Words that fit into each buffer, at least those of the longest message. A message is
        accepted when there is room for all its words. (RP3's held "nominally eight words".)
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`).
    delay : int
        Cycles that a head takes through the box, at least 1; RP3's box took 2.

    Members
    -------
    i : In(link).array(radix)
    o : Out(link).array(radix)

    Raises
    ------
    ValueError
        If the link's tag is narrower than a digit.
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        radix: int = 2,
        depth: int = 4,
        lengths: Lengths = (1, 1),
        delay: int = 1,
    ) -> None:
        check_link(link)
        radix = check_radix(radix)
        check_lengths(lengths)
        check_room(depth, lengths)
        delay = check_integer("Delay", delay, 1)
        check_tag(link, radix)
        self.link = link
        self.radix = radix
        self.depth = depth
        self.lengths = lengths
        self.delay = delay
        super().__init__({"i": In(link).array(radix), "o": Out(link).array(radix)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        digit = (self.radix - 1).bit_length()
        rest = self.link.tag - digit

        def forward(tag: Value, port: int) -> tuple[Value, Value]:
            return tag[rest:], Cat(Const(port, digit), tag[:rest])

        def back(tag: Value, port: int) -> tuple[Value, Value]:
            return tag[:digit], Cat(tag[digit:], Const(port, digit))

        self._carry(m, "request", self.i, self.o, forward)
        self._carry(m, "reply", self.o, self.i, back)
        return m

    def _carry(
        self,
        m: Module,
        direction: Direction,
        entries: Sequence[wiring.PureInterface],
        exits: Sequence[wiring.PureInterface],
        step: Callable[[Value, int], tuple[Value, Value]],
    ) -> None:
        """Carry the messages of one direction.

        `step` returns the output that a tag names, and the tag behind the box, from the tag before
        it and the number of the input.
        """
        layout = self.link.layout(direction)
        m.submodules[f"{direction}_box"] = box = InterchangeBox(self.radix, layout)
        outputs = [
            paced(m, f"{direction}_pacer_{j}", direction, self.lengths, port)
            for j, port in enumerate(exits)
        ]
        arbiters = []
        for j, output in enumerate(outputs):
            m.submodules[f"{direction}_arbiter_{j}"] = arbiter = RoundRobin(self.radix)
            arbiters.append(arbiter)
            m.d.comb += [
                output.valid.eq(arbiter.request.any()),
                output.payload.eq(box.o[j]),
                arbiter.taken.eq(output.ready),
            ]
        for i, entry in enumerate(entries):
            buffer = WordBuffer(
                self.link, direction, lengths=self.lengths, depth=self.depth, delay=self.delay
            )
            m.submodules[f"{direction}_buffer_{i}"] = buffer
            wiring.connect(m, wiring.flipped(getattr(entry, direction)), buffer.i)
            head = buffer.o
            target, tag = step(head.payload.tag, i)
            m.d.comb += [box.i[i].eq(head.payload), box.i[i].tag.eq(tag)]
            for j in range(self.radix):
                m.d.comb += arbiters[j].request[i].eq(head.valid & (target == j))
                with m.If((target == j) & (arbiters[j].grant == i)):
                    m.d.comb += head.ready.eq(outputs[j].ready)
        box.set(m, [arbiter.grant for arbiter in arbiters], ~0)
