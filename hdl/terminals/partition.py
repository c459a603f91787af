"""The network interface that keeps a terminal inside its partition (Siegel et al., III-D)."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..graphs.partitions import check_partitionable
from ..graphs.routing.group_tree import Kind
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.routing_tags import digits_of

__all__ = ["PartitionInterface", "interface_members", "interface_ports"]


def interface_members(packet: Packet, address: int, mask: int) -> dict[str, Any]:
    """The members of an interface: those of `PartitionInterface`, for other widths."""
    ends = {"i": In(stream.Signature(packet)), "o": Out(stream.Signature(packet))}
    return {**ends, **interface_ports(address, mask)}


def interface_ports(address: int, mask: int) -> dict[str, Any]:
    """The members of an interface without its links."""
    return {
        "address": In(address),
        "mask": In(mask),
        "mask_member": In(mask),
        "mask_write": In(1),
        "in_force": Out(mask, init=(1 << mask) - 1),
    }


class PartitionInterface(wiring.Component):
    """Sends effective tags, so that no packet can leave the subnetwork of its sender.

    E = T AND M for XOR and difference tags, E = D AND M OR S AND NOT M for destination tags, and
    broadcast mask AND M; M has a 1 in each address bit in which the members of the subnetwork
    differ, and must be one that `graphs.partitions.check_mask` allows: with 2 x 2 boxes any, in
    base b one that fixes digits. The number G of a group becomes G AND M OR S AND NOT M: so a
    group has the address of a terminal of its subnetwork for its number. In packets of several
    flits only the header is changed. Nothing is stored: `o` depends combinationally on `i`, and
    `i.ready` on `o.ready`; latency 0, throughput one flit per cycle.

    M is a register that the *privileged port* writes: `mask`, `mask_member` and `mask_write`. Only
    the operating system may drive this port. `mask_member` is any member of the subnetwork. One
    port can serve all interfaces of a network, and one write makes a subnetwork: it applies to all
    terminals whose address agrees with `mask_member` where `mask` is 0. After a reset the whole
    network is one subnetwork: masks have to be written again.

    A write takes effect in the next cycle. The exception is a header that is offered to the network
    and not yet taken: it keeps the mask with which it was first offered, and the new mask takes
    effect behind it. `in_force` is the mask in effect.

    Parameters
    ----------
    packet : Packet
    tags : TagScheme
        Tags of a network that can be partitioned.
    single : bool
        Whether the switches of the network take each flit for a packet. Then the interface does so
        too, whatever `last` says.

    Members
    -------
    i : In(stream.Signature(packet))
        From the terminal.
    o : Out(stream.Signature(packet))
        To the network.
    address : In(width)
        Address of this terminal, in the code of `tags`. Constant.
    mask, mask_member : In(width)
        In the order of address bits.
    mask_write : In(1)
    in_force : Out(width)
        The mask that applies to headers in this cycle.

    Raises
    ------
    ValueError
        If the network can't be partitioned (`graphs.partitions.check_partitionable`), or its tags
        are not as wide as the packet's.
    """

    single = False

    def __init__(self, packet: Packet, tags: TagScheme, *, single: bool = False) -> None:
        check_partitionable(tags)
        width = tags.code.width
        if packet.members["tag"] != width:
            raise InvalidValue(
                f"Tag of a packet must have {width} bits for these addresses, "
                f"not {packet.members['tag']}"
            )
        self.packet = packet
        self.tags = tags
        self.single = single
        super().__init__(interface_members(packet, width, width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o, i = self._sent, self._arriving
        sent, arriving = o.payload, i.payload
        m.d.comb += [o.valid.eq(i.valid), i.ready.eq(o.ready), sent.eq(arriving)]

        fields = dict(iter(sent.shape()))
        header = Signal(init=1)
        if "last" in fields and not self.single:
            with m.If(i.valid & i.ready):
                m.d.sync += header.eq(arriving.last)
        else:
            m.d.comb += header.eq(1)

        with m.If(header):
            m.d.comb += sent.tag.eq(self.effective_tag(arriving.tag))
            if "kind" in fields:
                own = arriving.tag & self.in_force | self.address & ~self.in_force
                with m.If(arriving.kind != Kind.SINGLE):
                    m.d.comb += sent.tag.eq(own)
            if "mask" in fields:
                m.d.comb += sent.mask.eq(arriving.mask & self._in_stage_order(self.in_force))

        # A header that waits must not change, so a write meanwhile waits with it.
        written = Signal.like(self.in_force)
        latest = Mux(self.mask_write & self.is_written, self.mask, written)
        m.d.sync += written.eq(latest)
        with m.If(~(header & o.valid & ~o.ready)):
            m.d.sync += self.in_force.eq(latest)
        return m

    @property
    def _sent(self) -> Any:
        """The stream whose tags are effective."""
        return self.o

    @property
    def _arriving(self) -> Any:
        """The stream that it is made from."""
        return self.i

    def effective_tag(self, tag: Value) -> Value:
        """The tag that is sent in place of another one."""
        allowed = self._in_stage_order(self.in_force)
        relative = self.tags.routing != "destination"
        fixed = 0 if relative else self._in_stage_order(self.address)
        return tag & allowed | fixed & ~allowed

    @property
    def is_written(self) -> Value:
        """Whether a write applies to this terminal."""
        return ((self.address ^ self.mask_member) & ~self.mask) == 0

    def _in_stage_order(self, code: Value) -> Value:
        """Address digits in the order of a tag: the top one for stage 0."""
        digits = digits_of(code, self.tags.code)
        return Cat(digits[j] for j in reversed(self.tags.destination_digits))
