"""Deliver: "removing a message which has reached its destination ... and placing it in a
processor"."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...links.packet import Packet
from .message import Message, Slot, chosen, earliest

__all__ = ["Deliver"]


class Deliver(wiring.Component):
    """Passes messages that have arrived to their processors, one per processor and step.

    A message has arrived when its relative address is 0. Each processor has a register, which takes
    the first of its messages if the register is empty or is being emptied in this cycle; the others
    are treated like messages that get no wire. `o` comes from registers and the address; `taken`
    depends combinationally on `i`, `before`, `step` and `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        Its tag holds the destination: the node number above the processor number.
    message : Message
    places : int
        Places of the node where a message can be.
    processors : int

    Members
    -------
    address : In(dimensions)
        Address of the node. Constant.
    step : In(1)
        Messages move in this cycle.
    i : In(Slot(message)).array(places)
    before : In(places).array(places)
        As in `Seniority`.
    taken : Out(places)
        Places whose messages are delivered in this step.
    given : Out(places).array(processors)
        For each processor: the place whose message it takes in this step, if any.
    o : Out(stream.Signature(packet)).array(processors)
    """

    def __init__(self, packet: Packet, message: Message, *, places: int, processors: int) -> None:
        places = check_integer("Places", places, 1)
        processors = check_integer("Processors", processors, 1)
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
                "given": Out(places).array(processors),
                "o": Out(stream.Signature(packet)).array(processors),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        members = self.message.members
        bits = members.get("processor", 0)
        messages = [slot.message for slot in self.i]
        owners = [message.processor if bits else Const(0, 0) for message in messages]
        free = Signal(self.processors)
        m.d.comb += free.eq(Cat(self.step & (~o.valid | o.ready) for o in self.o))
        waiting = Signal(self.places)
        for place, (slot, owner) in enumerate(zip(self.i, owners)):
            here = slot.valid & (slot.message.relative == 0)
            m.d.comb += waiting[place].eq(here & free.bit_select(owner, 1))
        # A message waits for those before it that are for the same processor.
        rivals = [Signal(self.places, name=f"rivals_{place}") for place in range(self.places)]
        for i in range(self.places):
            for j in range(i):
                same = Signal(name=f"same_{i}_{j}")
                m.d.comb += [
                    same.eq(owners[i] == owners[j]),
                    rivals[i][j].eq(same & self.before[i][j]),
                    rivals[j][i].eq(same & self.before[j][i]),
                ]
        m.d.comb += self.taken.eq(Cat(earliest(waiting, rivals)))

        for p, output in enumerate(self.o):
            flags = self.given[p]
            m.d.comb += [
                flags.eq(self.taken & Cat(owner == p for owner in owners)),
                # This processor's own address, which need not be stored.
                output.payload.tag.eq(Cat(Const(p, bits), self.address)),
            ]
            with m.If(output.ready):
                m.d.sync += output.valid.eq(0)
            with m.If(flags.any()):
                payload = chosen(flags, [message.payload for message in messages])
                m.d.sync += [output.valid.eq(1), Value.cast(output.payload.payload).eq(payload)]
        return m
