"""AXI4-Stream on the terminals' side, packets on the network's side (Arm IHI 0051)."""

from dataclasses import replace

from amaranth.hdl import Const, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..graphs.address_codes import AddressCode
from ..graphs.tags import TagScheme
from ..links.axi4_stream import AxiStream
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import TagDecoder, TagEncoder

__all__ = ["AxiStreamInput", "AxiStreamOutput", "input_stream", "output_stream"]


def _address(code: AddressCode) -> ShapeLike:
    """The number of a terminal, if that is its code; otherwise its digits side by side."""
    if code.is_plain:
        return code.width
    return data.StructLayout({f"digit_{i}": width for i, width in enumerate(code.widths)})


def _data(packet: Packet) -> ShapeLike:
    """Whole bytes: the payload in the low bits, and undefined bits above it."""
    payload = packet.members["payload"]
    width = Shape.cast(payload).width
    if width % 8 == 0:
        return width
    return data.FlexibleLayout(-(-width // 8) * 8, {"payload": data.Field(payload, 0)})


def input_stream(packet: Packet, tags: TagScheme) -> AxiStream:
    """The stream that a terminal sends.

    `tdest` is the destination. If packets have a broadcast mask, `tuser` is the bits of it in which
    the destinations differ. If they may be for groups, `tuser` is their `Kind`, and of those for a
    group `tdest` is its number. `tlast` is present if packets have flits.
    """
    address = _address(tags.code)
    user = address if packet.broadcast else packet.members["kind"] if packet.groups else None
    return AxiStream(data=_data(packet), destination=address, user=user, last=packet.flits)


def output_stream(packet: Packet, tags: TagScheme) -> AxiStream:
    """The stream that a terminal receives.

    `tdest` is the terminal itself. `tid` is the source; present if the tag contains the source:
    XOR and difference tags do, unless a broadcast mask hides some of their bits, or they may be the
    number of a group. If packets may be for groups, `tuser` of the first beat has their `kind`, and
    above it their `tag`. `tlast` is always present.
    """
    address = _address(tags.code)
    known = tags.routing != "destination" and not (packet.broadcast or packet.groups)
    members = packet.members
    return AxiStream(
        data=_data(packet),
        source=address if known else None,
        destination=address,
        user=data.StructLayout({name: members[name] for name in ("kind", "tag")})
        if packet.groups
        else None,
        last=True,
    )


class AxiStreamInput(wiring.Component):
    """Makes packets from the beats that a terminal sends; each beat becomes a flit.

    `tdest` and `tuser` of its first beat route a packet; those of later beats are sent in the place
    of the tag, where the network ignores them. A packet ends with `tlast`; without flits every beat
    is a packet.

    Latency 0, throughput one beat per cycle. `tready` comes from a register, with room for the beat
    in transit when the network stops. `o` depends combinationally on `axis`.

    Parameters
    ----------
    packet : Packet
    tags : TagScheme

    Members
    -------
    address : In(width)
        Address of this terminal, in the code of sources of `tags`. Constant.
    axis : In(input_stream(packet, tags))
    o : Out(stream.Signature(packet))
    """

    def __init__(self, packet: Packet, tags: TagScheme) -> None:
        self.packet = packet
        self.tags = tags
        super().__init__(
            {
                "address": In(tags.source_code.width),
                "axis": In(input_stream(packet, tags)),
                "o": Out(stream.Signature(packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axis, payload = self.axis, self.packet.members["payload"]
        arriving = Signal(self.packet)
        m.submodules.encoder = encoder = TagEncoder(self.tags)
        m.d.comb += [
            encoder.source.eq(self.address),
            encoder.destination.eq(axis.tdest),
            arriving.tag.eq(encoder.tag),
            Value.cast(arriving.payload).eq(Value.cast(axis.tdata)[: Shape.cast(payload).width]),
        ]
        if self.packet.broadcast:
            # A mask is in the order of the stages too, but is not a difference of two addresses.
            m.submodules.mask_encoder = mask = TagEncoder(replace(self.tags, routing="destination"))
            m.d.comb += [
                mask.source.eq(self.address),
                mask.destination.eq(axis.tuser),
                arriving.mask.eq(mask.tag),
            ]
        if self.packet.groups:
            number = Value.cast(axis.tdest)
            m.d.comb += [
                arriving.kind.eq(axis.tuser),
                arriving.tag.eq(Mux(axis.tuser.any(), number, encoder.tag)),
            ]
        if self.packet.flits:
            m.d.comb += arriving.last.eq(axis.tlast)

        full = Signal()
        kept = Signal(self.packet)
        m.d.comb += [
            axis.tready.eq(~full),
            self.o.valid.eq(axis.tvalid | full),
            self.o.payload.eq(Mux(full, kept.as_value(), arriving.as_value())),
        ]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        with m.If(~full):
            m.d.sync += kept.eq(arriving)
        return m


class AxiStreamOutput(wiring.Component):
    """Makes beats from the flits that a terminal receives.

    It is wires only, with latency 0; or with `queued` a queue of two flits, with latency 1, and
    `tvalid` then depends on no input. Throughput is one beat per cycle.

    Parameters
    ----------
    packet : Packet
    tags : TagScheme
    queued : bool

    Members
    -------
    address : In(width)
        Address of this terminal, in the code of `tags`. Constant.
    i : In(stream.Signature(packet))
    axis : Out(output_stream(packet, tags))
    """

    def __init__(self, packet: Packet, tags: TagScheme, *, queued: bool = False) -> None:
        self.packet = packet
        self.tags = tags
        self.queued = queued
        super().__init__(
            {
                "address": In(tags.code.width),
                "i": In(stream.Signature(packet)),
                "axis": Out(output_stream(packet, tags)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axis, source = self.axis, self.i
        if self.queued:
            m.submodules.queue = queue = ArrivalQueue(self.packet, depth=2)
            wiring.connect(m, wiring.flipped(source), queue.i[0])
            source = queue.o
        flit = source.payload
        m.d.comb += [
            axis.tvalid.eq(source.valid),
            source.ready.eq(axis.tready),
            Value.cast(axis.tdata).eq(Value.cast(flit.payload).as_unsigned()),
            Value.cast(axis.tdest).eq(self.address),
            axis.tlast.eq(flit.last if self.packet.flits else Const(1)),
        ]
        if "tid" in axis.signature.members:
            m.submodules.decoder = decoder = TagDecoder(self.tags)
            m.d.comb += [
                decoder.address.eq(self.address),
                decoder.tag.eq(flit.tag),
                Value.cast(axis.tid).eq(decoder.source),
            ]
        if self.packet.groups:
            m.d.comb += [axis.tuser.kind.eq(flit.kind), axis.tuser.tag.eq(flit.tag)]
        return m
