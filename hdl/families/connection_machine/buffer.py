"""Buffer: "temporarily storing a message when a wire is being used"."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import Message, Slot, chosen, ones

__all__ = ["Buffer"]


class Buffer(wiring.Component):
    """Slots for messages. A message stays in its slot until it leaves.

    Messages that enter take the free slots in order. `o` comes from registers; `room` depends
    combinationally on `stay` and `arrived[*].valid`.

    Parameters
    ----------
    message : Message
    buffers : int
        Number of slots.
    arrivals, injections : int
        Messages that can enter in one step, from wires and from processors.
    rewrites : bool
        Whether the payload of messages that stay can be replaced.

    Members
    -------
    step : In(1)
        Messages move in this cycle.
    stay : In(buffers)
        Slots whose message stays.
    payload : In(message.members["payload"]).array(buffers)
        New payloads of the messages that stay. Only with `rewrites`.
    arrived : In(Slot(message)).array(arrivals)
        Messages from wires that must be stored. There must be free slots for all of them.
    injected : In(Slot(message)).array(injections)
        Messages from processors, no more than there is `room` for.
    room : Out(range(buffers + 1))
        Slots that remain for messages from processors.
    level : Out(range(buffers + 1))
        Messages in the slots.
    entered : Out(arrivals + injections).array(buffers)
        For each slot: which message takes it in this step, if any.
    o : Out(Slot(message)).array(buffers)
    """

    def __init__(
        self,
        message: Message,
        *,
        buffers: int,
        arrivals: int,
        injections: int,
        rewrites: bool = False,
    ) -> None:
        buffers = check_integer("Buffers", buffers, 1)
        arrivals = check_integer("Arrivals", arrivals, 1)
        injections = check_integer("Injections", injections, 1)
        self.message = message
        self.buffers = buffers
        self.arrivals = arrivals
        self.injections = injections
        self.rewrites = rewrites
        slot = Slot(message)
        payload = In(message.members["payload"]).array(buffers)
        super().__init__(
            {
                "step": In(1),
                "stay": In(buffers),
                **({"payload": payload} if rewrites else {}),
                "arrived": In(slot).array(arrivals),
                "injected": In(slot).array(injections),
                "room": Out(range(buffers + 1)),
                "level": Out(range(buffers + 1)),
                "entered": Out(arrivals + injections).array(buffers),
                "o": Out(slot).array(buffers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self.buffers + 1
        free = ~self.stay
        m.d.comb += self.level.eq(ones(slot.valid for slot in self.o))
        stored = Signal(range(most))
        m.d.comb += [
            stored.eq(ones(slot.valid for slot in self.arrived)),
            self.room.eq(ones(free) - stored),
        ]

        entering = [*self.arrived, *self.injected]
        ranks: list[Signal] = []
        for e in range(len(entering)):
            rank = Signal(range(most), name=f"rank_{e}")
            if e == self.arrivals:
                m.d.comb += rank.eq(stored)
            elif e:
                m.d.comb += rank.eq(ranks[-1] + entering[e - 1].valid)
            ranks.append(rank)
        for b, slot in enumerate(self.o):
            number = Signal(range(most), name=f"number_{b}")
            m.d.comb += number.eq(ones(free[:b]))
            flags = [entry.valid & (rank == number) for entry, rank in zip(entering, ranks)]
            m.d.comb += self.entered[b].eq(Cat(flags) & free[b].replicate(len(flags)))
            with m.If(self.step & free[b]):
                m.d.sync += [
                    slot.valid.eq(Cat(flags).any()),
                    slot.message.eq(chosen(flags, [entry.message for entry in entering])),
                ]
            if self.rewrites:
                with m.If(self.step & ~free[b]):
                    m.d.sync += slot.message.payload.eq(self.payload[b])
        return m
