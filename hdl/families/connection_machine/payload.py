"""Payloads that follow their messages bit by bit, a step behind."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import chosen

__all__ = ["Moves", "PayloadPart"]


class Moves(data.StructLayout):
    """What becomes of the messages in a node in one step, one bit for each possibility.

    `wire` is the dimension whose wire carries messages in this step. `sent` says which place's
    message leaves over the wire that is served; `entered`, for each buffer, the message that it
    takes: the one from a wire, or that of a processor; `given`, for each processor, the place whose
    message it takes; `payload` is what processors inject.
    """

    def __init__(
        self, *, dimensions: int, places: int, buffers: int, processors: int, payload: int
    ) -> None:
        super().__init__(
            {
                "wire": dimensions,
                "sent": places,
                "entered": data.ArrayLayout(1 + processors, buffers),
                "given": data.ArrayLayout(places, processors),
                "payload": data.ArrayLayout(payload, processors),
            }
        )


class PayloadPart(wiring.Component):
    """A part of the payload of all messages in a node. It does what they did a step before.

    A part has as many bits as a step has cycles, or fewer. While a message crosses a wire, each
    part of its payload crosses the wire that the part before crossed in the last step. So in each
    step only the header of a message must have arrived, and not its payload. The wires of different
    dimensions thus carry parts of several messages at a time; those of a message are in consecutive
    steps on the same wire, and it must not be served again before the last one.

    Parameters
    ----------
    cycles : int
        Cycles per step.
    dimensions, buffers, processors : int
    payload : int
        Bits of the payload that this part and those behind it carry.

    Members
    -------
    step : In(1)
        Last cycle of a step.
    moves : In(Moves(...))
        Those of the messages, or of the part before, in this step.
    later : Out(Moves(...))
        Those of this part, without its share of the payload.
    i_wire, o_wire : In(dimensions), Out(dimensions)
        A bit for each wire.
    o : Out(bits).array(processors)
        What each processor got last. From registers.
    done : Out(processors)
        Which processors get it in this cycle.

    Attributes
    ----------
    bits : int
        Width of this part.
    """

    def __init__(
        self, *, cycles: int, dimensions: int, buffers: int, processors: int, payload: int
    ) -> None:
        cycles = check_integer("Cycles", cycles, 2)
        payload = check_integer("Payload", payload, 1)
        self.cycles = cycles
        self.bits = min(cycles, payload)
        size = {
            "dimensions": dimensions,
            "places": buffers + 1,
            "buffers": buffers,
            "processors": processors,
        }
        self.buffers = buffers
        self.processors = processors
        super().__init__(
            {
                "step": In(1),
                "moves": In(Moves(**size, payload=payload)),
                "later": Out(Moves(**size, payload=payload - self.bits)),
                "i_wire": In(dimensions),
                "o_wire": Out(dimensions),
                "o": Out(self.bits).array(processors),
                "done": Out(processors),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now = Signal.like(self.moves, name="now")
        with m.If(self.step):
            m.d.sync += now.eq(self.moves)
        for name in ("wire", "sent", "entered", "given"):
            m.d.comb += self.later[name].eq(now[name])
        processors = range(self.processors)
        payloads = [Value.cast(now.payload[p]) for p in processors]
        for p, payload in enumerate(payloads):
            m.d.comb += self.later.payload[p].eq(payload[self.bits :])

        # All bits but the last, which is on the wire at the end of the step.
        received = Signal(self.cycles - 1)
        bit = Signal()
        arrived = Cat(received, bit)[: self.bits]
        m.d.comb += bit.eq((self.i_wire & now.wire).any())
        m.d.sync += received.eq(Cat(received, bit)[1:])

        slots = [Signal(self.bits, name=f"slot_{b}") for b in range(self.buffers)]
        places = [*slots, arrived]
        for slot, flags in zip(slots, now.entered):
            with m.If(self.step & flags.any()):
                m.d.sync += slot.eq(
                    chosen(list(flags), [arrived, *(payload[: self.bits] for payload in payloads)])
                )
        for p, (output, flags) in enumerate(zip(self.o, now.given)):
            m.d.comb += self.done[p].eq(self.step & flags.any())
            with m.If(self.done[p]):
                m.d.sync += output.eq(chosen(list(flags), places))

        shifter = Signal(self.cycles)
        sent = Signal(self.bits)
        m.d.comb += [
            sent.eq(chosen(list(now.sent), places)),
            self.o_wire.eq(now.wire & shifter[0].replicate(len(now.wire))),
        ]
        m.d.sync += shifter.eq(Mux(self.step, sent, shifter >> 1))
        return m
