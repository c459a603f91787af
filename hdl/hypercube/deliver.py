"""Deliver: "removing a message which has reached its destination ... and placing it in a
processor"."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer
from ..packet import Packet
from .message import Message, Slot, chosen, earliest

__all__ = ["Deliver"]


class Deliver(wiring.Component):
    """Gives messages that have arrived to their processors, one a processor and step.

    A message has arrived when its relative address is all 0. Each processor has a register, which
    takes the first of its messages if it is empty or is emptied in this cycle; the others are
    treated like all messages that find no wire. `o` comes from registers and the address; `taken`
    depends combinationally on `i`, `before`, `step` and `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        Its tag holds the destination: the number of a processor, above it that of a node.
    message : Message
    places : int
        Places of the node where a message can be.
    processors : int

    Members
    -------
    address : In(dimensions)
        Of the node. Constant.
    step : In(1)
        Messages move in this cycle.
    i : In(Slot(message)).array(places)
    before : In(places).array(places)
        As in `Seniority`.
    taken : Out(places)
        Places whose messages are delivered in this step.
    o : Out(stream.Signature(packet)).array(processors)
    """

    def __init__(self, packet: Packet, message: Message, *, places: int, processors: int) -> None:
        check_integer("Places", places, 1)
        check_integer("Processors", processors, 1)
        self.packet = packet
        self.message = message
        self.places = places
        self.processors = processors
        super().__init__(
            {
                "address": In(message.members["relative"]),
                "step": In(1),
                "i": In(Slot(message)).array(places),
                "before": In(places).array(places),
                "taken": Out(places),
                "o": Out(stream.Signature(packet)).array(processors),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        members = self.message.members
        bits = members.get("processor", 0)
        taken = []
        for p, output in enumerate(self.o):
            free = self.step & (~output.valid | output.ready)
            waiting = Signal(self.places, name=f"waiting_{p}")
            for place, slot in enumerate(self.i):
                here = slot.valid & (slot.message.relative == 0)
                if bits:
                    here &= slot.message.processor == p
                m.d.comb += waiting[place].eq(here & free)
            flags = earliest(waiting, self.before)
            taken.append(Cat(flags))
            with m.If(output.ready):
                m.d.sync += output.valid.eq(0)
            with m.If(waiting.any()):
                message = chosen(flags, [slot.message for slot in self.i])
                m.d.sync += [
                    output.valid.eq(1),
                    output.payload.payload.eq(self.message(message).payload),
                ]
            # Where the output is: no need to store it.
            m.d.comb += output.payload.tag.eq(Cat(Const(p, bits), self.address))
        delivered = taken[0]
        for flags in taken[1:]:
            delivered |= flags
        m.d.comb += self.taken.eq(delivered)
        return m
