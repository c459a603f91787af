"""Inject: "removing a message from a processor and placing it in the hypercube network"."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...links.packet import Packet
from .message import Message, Slot, ones

__all__ = ["Inject"]


class Inject(wiring.Component):
    """Accepts packets from processors while there is room, and turns them into messages.

    A message gets the address of its destination relative to this node, by exclusive or. If there
    is not enough room, the processors are served in turn, starting with the first that was refused.
    As long as some are served, a processor is overtaken at most `processors` - 1 times.

    Combinational, except for the turn. `i[*].ready` depends on `room`, `step` and `i[*].valid` of
    the other processors.

    Parameters
    ----------
    packet : Packet
        Its tag holds the destination: the node number above the processor number.
    message : Message
    processors : int
    buffers : int
        Largest possible value of `room`.

    Members
    -------
    address : In(dimensions)
        Address of the node. Constant.
    now : In(age)
        Number of this step. Only if messages have an age.
    step : In(1)
        Messages move in this cycle.
    room : In(range(buffers + 1))
        Buffers that can be filled in this step.
    i : In(stream.Signature(packet)).array(processors)
    o : Out(Slot(message)).array(processors)
        The message that each processor injects in this step.
    """

    def __init__(self, packet: Packet, message: Message, *, processors: int, buffers: int) -> None:
        processors = check_integer("Processors", processors, 1)
        buffers = check_integer("Buffers", buffers, 1)
        self.packet = packet
        self.message = message
        self.processors = processors
        members = message.members
        super().__init__(
            {
                "address": In(members["relative"]),
                **({"now": In(members["born"])} if "born" in members else {}),
                "step": In(1),
                "room": In(range(buffers + 1)),
                "i": In(stream.Signature(packet)).array(processors),
                "o": Out(Slot(message)).array(processors),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first = Signal(range(self.processors))
        members = self.message.members
        for p, source in enumerate(self.i):
            rank = Signal(range(self.processors), name=f"rank_{p}")
            earlier = [
                other.valid & ((first <= q) | (first > p) if q < p else (first > p) & (first <= q))
                for q, other in enumerate(self.i)
                if q != p
            ]
            m.d.comb += rank.eq(ones(earlier))
            slot, tag = self.o[p], source.payload.tag
            bits = len(tag) - members["relative"]
            m.d.comb += [
                source.ready.eq(self.step & (rank < self.room)),
                slot.valid.eq(source.valid & source.ready),
                slot.message.relative.eq(tag[bits:] ^ self.address),
                slot.message.payload.eq(source.payload.payload),
            ]
            if "processor" in members:
                m.d.comb += slot.message.processor.eq(tag[:bits])
            if "born" in members:
                m.d.comb += slot.message.born.eq(self.now)
            with m.If(self.step & source.valid & (rank == self.room)):
                m.d.sync += first.eq(p)
        return m
