"""The wires between nodes, and the transfer of messages over them."""

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import Message, Slot, chosen

__all__ = ["Wires"]


class Wires(wiring.Component):
    """Both ends of a node's wires: in each step it sends and receives a message over each.

    A word wire carries a message in one cycle, and every cycle is a step. It is a stream without
    back-pressure: `ready` is always 1, and is ignored. A serial wire is a single bit: a step takes
    as many cycles as a message has bits, plus one for a leading bit that says whether there is a
    message. All nodes step together, since all start in the first cycle after reset.

    A message sent in one step arrives in the next. `o_wire` and `step` come from registers,
    `arrived` depends on `i_wire` and registers.

    If each step serves one dimension, all wires share one register, and one bit of `turn` is 1:
    that of each dimension in turn, lowest first.

    Parameters
    ----------
    message : Message
    dimensions : int
        Number of wires.
    shared : bool
        Each step serves one dimension.
    serial : bool
    least : int
        Fewest cycles of a step on serial wires; they are idle after a shorter message.

    Members
    -------
    turn : In(dimensions)
        The dimension that is served in this step. Only with `shared`.
    sent : In(Slot(message)).array(dimensions)
        The messages that leave in this step; only one with `shared`.
    arrived : Out(Slot(message)).array(dimensions)
        The messages that the neighbours sent in the last step; only one with `shared`.
    step : Out(1)
        Messages move in this cycle.
    i_wire : In(stream.Signature(message)).array(dimensions), or In(1).array(dimensions)
    o_wire : Out(stream.Signature(message)).array(dimensions), or Out(1).array(dimensions)

    Attributes
    ----------
    cycles : int
        Cycles per step.
    """

    def __init__(
        self, message: Message, *, dimensions: int, shared: bool, serial: bool, least: int = 1
    ) -> None:
        dimensions = check_integer("Dimensions", dimensions, 1)
        self.message = message
        self.dimensions = dimensions
        self.shared = shared
        self.serial = serial
        slot = Slot(message)
        self.cycles = max(Shape.cast(slot).width, least) if serial else 1
        messages = 1 if shared else dimensions
        members = wire_members(message, dimensions, serial=serial)
        super().__init__(
            {
                **({"turn": In(dimensions)} if shared else {}),
                "sent": In(slot).array(messages),
                "arrived": Out(slot).array(messages),
                "step": Out(1),
                **members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        selected: Value = Const(1)
        if self.shared:
            # The message in the register is from the step before, which served another dimension.
            selected = self.turn.rotate_right(1)
        if self.serial:
            self._serial(m, selected)
        else:
            self._words(m, selected)
        return m

    def _words(self, m: Module, selected: Value) -> None:
        m.d.comb += self.step.eq(1)
        registers = []
        for w, sent in enumerate(self.sent):
            register = Signal.like(sent, name=f"register_{w}")
            m.d.sync += register.eq(sent)
            registers.append(register)
        for k, (entry, exit_) in enumerate(zip(self.i_wire, self.o_wire)):
            register = registers[0 if self.shared else k]
            enable = selected[k] if self.shared else Const(1)
            m.d.comb += [
                exit_.valid.eq(register.valid & enable),
                exit_.payload.eq(register.message),
                entry.ready.eq(1),
            ]
        slots: list[Value] = [Cat(entry.valid, entry.payload) for entry in self.i_wire]
        if self.shared:
            slots = [chosen([entry.valid for entry in self.i_wire], slots)]
        for arrived, slot in zip(self.arrived, slots):
            m.d.comb += arrived.eq(slot)

    def _serial(self, m: Module, selected: Value) -> None:
        phase = Signal(range(self.cycles))
        m.d.comb += self.step.eq(phase == self.cycles - 1)
        m.d.sync += phase.eq(Mux(self.step, 0, phase + 1))
        outputs = []
        for w, sent in enumerate(self.sent):
            shifter = Signal(self.cycles, name=f"out_{w}")
            m.d.sync += shifter.eq(Mux(self.step, sent, shifter >> 1))
            outputs.append(shifter[0])
        for k, wire in enumerate(self.o_wire):
            bit = outputs[0] & selected[k] if self.shared else outputs[k]
            m.d.comb += wire.eq(bit)
        bits = [Cat(self.i_wire).any()] if self.shared else list(self.i_wire)
        for w, (arrived, bit) in enumerate(zip(self.arrived, bits)):
            # All bits but the last, which is on the wire at the end of the step.
            shifter = Signal(self.cycles - 1, name=f"in_{w}")
            m.d.sync += shifter.eq(Cat(shifter, bit)[1:])
            m.d.comb += arrived.eq(Cat(shifter, bit)[: len(Value.cast(arrived))])


def wire_members(message: Message, dimensions: int, *, serial: bool) -> dict[str, wiring.Member]:
    """The members of a component for a node's wires."""
    wire = 1 if serial else stream.Signature(message)
    return {"i_wire": In(wire).array(dimensions), "o_wire": Out(wire).array(dimensions)}
