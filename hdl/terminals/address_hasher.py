# amaranth: UnusedElaboratable=no
"""A processor's link whose addresses are hashed."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..links.memory_link import MemoryLink, check_link

__all__ = ["AddressHasher"]


class AddressHasher(wiring.Component):
    """Sends each request to the module to which a linear hash maps its word.

    Each bit of the address of a request may change bits of its tag (exclusive or), so words of one
    row are permuted over the modules. Replies get the tag back that their requests had. It is kept
    in a memory, by the identity of the request. Combinational in both directions.

    Parameters
    ----------
    link : MemoryLink
    columns : tuple[int, ...]
        For each bit of an address, from the lowest: the bits of the tag that it changes. Bits
        beyond these change nothing.

    Members
    -------
    i : In(link)
        From the processor.
    o : Out(link)

    Raises
    ------
    TypeError, ValueError
        If `link` is not a MemoryLink, or there are more columns than bits of an address, or a
        column is wider than the tag.
    """

    def __init__(self, link: MemoryLink, *, columns: tuple[int, ...]) -> None:
        check_link(link)
        if len(columns) > link.address:
            raise InvalidValue(f"Columns must be at most {link.address}, not {len(columns)}")
        for column in columns:
            if not 0 <= column < 1 << link.tag:
                raise InvalidValue(f"Column must be from 0 to {(1 << link.tag) - 1}, not {column}")
        self.link = link
        self.columns = columns
        super().__init__({"i": In(link), "o": Out(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        request, reply = self.i.request, self.o.reply
        change = [
            Cat(request.payload.address[bit] for bit, c in enumerate(self.columns) if c >> at & 1)
            for at in range(self.link.tag)
        ]
        hashed = Signal(self.link.tag)
        m.d.comb += hashed.eq(request.payload.tag ^ Cat(bits.xor() for bits in change))
        m.submodules.tags = tags = Memory(
            shape=self.link.tag, depth=1 << self.link.identity, init=[]
        )
        write = tags.write_port()
        read = tags.read_port(domain="comb")
        m.d.comb += [
            self.o.request.payload.tag.eq(hashed),
            write.en.eq(request.valid & self.o.request.ready),
            write.addr.eq(request.payload.identity),
            write.data.eq(request.payload.tag),
            read.addr.eq(reply.payload.identity),
            self.i.reply.payload.tag.eq(read.data),
        ]
        return m
