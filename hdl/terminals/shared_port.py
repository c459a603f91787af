# amaranth: UnusedElaboratable=no
"""A port of a network that several processors and memory modules share (Siegel et al., VII-E).

In RP3 "each port is connected to four PMEs through a multiplexer and a demultiplexer".
"""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.memory_link import MemoryLink, check_link
from ..primitives.pacing import Lengths, check_lengths, paced
from ..primitives.round_robin import RoundRobin

__all__ = ["MemoryDemultiplexer", "ProcessorMultiplexer"]


class ProcessorMultiplexer(wiring.Component):
    """Sends the requests of several processors to one port, and the replies back to them.

    The processors take turns (`RoundRobin`): one request per cycle, or per length of the last one.
    On the port, the upper bits of the identity of a request are the number of its processor, by
    which the reply is returned. Takes no cycle: `o.request` depends combinationally on all
    `i[*].request`, and `i[*].reply` on `o.reply`.

    Parameters
    ----------
    link : MemoryLink
        The links of the processors.
    processors : int
        At least 2.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`).

    Attributes
    ----------
    shared : MemoryLink
        The link of the port: its identities are wider by the bits of a processor's number.

    Members
    -------
    i : In(link).array(processors)
    o : Out(shared)
    """

    def __init__(self, link: MemoryLink, *, processors: int, lengths: Lengths = (1, 1)) -> None:
        check_link(link)
        self.processors = check_integer("Processors", processors, 2)
        check_lengths(lengths)
        self.link = link
        self.lengths = lengths
        self.shared = shared_link(link, processors)
        super().__init__({"i": In(link).array(processors), "o": Out(self.shared)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        output = paced(m, "pacer", "request", self.lengths, self.o)
        grant = _merge(m, [port.request for port in self.i], output)
        for number, port in enumerate(self.i):
            with m.If(grant == number):
                identity = Cat(port.request.payload.identity, Const(number, len(grant)))
                for name, _ in self.link.request_layout:
                    m.d.comb += output.payload[name].eq(
                        identity if name == "identity" else port.request.payload[name]
                    )
        reply = self.o.reply
        target = reply.payload.identity[self.link.identity :]
        for number, port in enumerate(self.i):
            m.d.comb += [
                port.reply.valid.eq(reply.valid & (target == number)),
                port.reply.payload.tag.eq(reply.payload.tag),
                port.reply.payload.identity.eq(reply.payload.identity[: self.link.identity]),
                port.reply.payload.value.eq(reply.payload.value),
            ]
            with m.If(port.reply.valid):
                m.d.comb += reply.ready.eq(port.reply.ready)
        return m


class MemoryDemultiplexer(wiring.Component):
    """Sends the requests that arrive at one port to several memory modules, and their replies back.

    The top digit of the tag of a request names the module, and stays there. The modules take turns
    with their replies (`RoundRobin`). Takes no cycle: combinational in both directions.

    Parameters
    ----------
    link : MemoryLink
    modules : int
        At least 2.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`).

    Members
    -------
    i : In(link)
    o : Out(link).array(modules)

    Raises
    ------
    ValueError
        If the link's tag is narrower than a module's number.
    """

    def __init__(self, link: MemoryLink, *, modules: int, lengths: Lengths = (1, 1)) -> None:
        check_link(link)
        self.modules = check_integer("Modules", modules, 2)
        check_lengths(lengths)
        self.digit_bits = (modules - 1).bit_length()
        if link.tag < self.digit_bits:
            raise InvalidValue(
                f"Tag of a link must have at least {self.digit_bits} bits "
                f"for {modules} modules, not {link.tag}"
            )
        self.link = link
        self.lengths = lengths
        super().__init__({"i": In(link), "o": Out(link).array(modules)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.i.request
        target = request.payload.tag[self.link.tag - self.digit_bits :]
        for number, port in enumerate(self.o):
            m.d.comb += [
                port.request.valid.eq(request.valid & (target == number)),
                port.request.payload.eq(request.payload),
            ]
            with m.If(port.request.valid):
                m.d.comb += request.ready.eq(port.request.ready)
        output = paced(m, "pacer", "reply", self.lengths, self.i)
        grant = _merge(m, [port.reply for port in self.o], output)
        for number, port in enumerate(self.o):
            with m.If(grant == number):
                m.d.comb += output.payload.eq(port.reply.payload)
        return m


def shared_link(link: MemoryLink, processors: int) -> MemoryLink:
    """The link of a port that these processors share: identities hold their number as well."""
    return MemoryLink(
        tag=link.tag,
        identity=link.identity + (processors - 1).bit_length(),
        address=link.address,
        width=link.width,
        operations=link.operations,
    )


def _merge(
    m: Module, streams: Sequence[wiring.PureInterface], output: wiring.PureInterface
) -> Value:
    """Pass one of several streams on, in turn, but for the payload; return its number."""
    m.submodules.arbiter = arbiter = RoundRobin(len(streams))
    m.d.comb += [
        arbiter.request.eq(Cat(stream.valid for stream in streams)),
        arbiter.taken.eq(output.ready),
        output.valid.eq(arbiter.request.any()),
    ]
    for stream, granted in zip(streams, arbiter.granted):
        m.d.comb += stream.ready.eq(granted & output.ready)
    return arbiter.grant
