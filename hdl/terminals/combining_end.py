"""The end of a processor's link at a network whose requests take their way back with them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..links.memory_link import MemoryLink, check_link

__all__ = ["CombiningEnd", "way_link"]


def way_link(link: MemoryLink, way: int) -> MemoryLink:
    """A processor's link with so many bits above its tags, for the way back."""
    return MemoryLink(
        tag=link.tag + way,
        identity=link.identity,
        address=link.address,
        width=link.width,
        operations=link.operations,
    )


class CombiningEnd(wiring.Component):
    """Sends a processor's requests with an empty way back, and takes their replies. Combinational.

    Parameters
    ----------
    link : MemoryLink
        The processor's.
    way : int
        Bits above its tags in the network (`way_link`), at least 1.

    Members
    -------
    i : In(link)
    o : Out(way_link(link, way))
    """

    def __init__(self, link: MemoryLink, *, way: int) -> None:
        check_link(link)
        way = check_integer("Way", way, 1)
        self.link = link
        self.way = way
        super().__init__({"i": In(link), "o": Out(way_link(link, way))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, reply = self.o.request, self.i.reply
        m.d.comb += [
            request.valid.eq(self.i.request.valid),
            self.i.request.ready.eq(request.ready),
            reply.valid.eq(self.o.reply.valid),
            self.o.reply.ready.eq(reply.ready),
        ]
        for name in self.link.request_layout.members:
            m.d.comb += request.payload[name].eq(self.i.request.payload[name])
        for name in self.link.reply_layout.members:
            m.d.comb += reply.payload[name].eq(self.o.reply.payload[name])
        return m
