"""Combine: messages to the same processor are merged on their way (Stanfill, 4.2: fan-in)."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...operations.folds import Fold
from .message import Message, Slot, chosen, earliest, ones

__all__ = ["Combine"]


class Combine(wiring.Component):
    """Merges pairs of messages that have the same destination, as many pairs as there are.

    In the order of `Seniority`, the first two messages to a processor are a pair, the next two are
    another, and so on. Of m messages to it in this node, half of m remain, rounded up. The first
    message of a pair stays in its place and changes only its payload; the other vanishes. So no
    message moves ahead of one that it was behind. Combinational.

    Parameters
    ----------
    fold : Fold
        Merges two payloads.
    message : Message
    places : int
        Places of the node where a message can be.

    Members
    -------
    i : In(Slot(message)).array(places)
    before : In(places).array(places)
        As in `Seniority`.
    o : Out(Slot(message)).array(places)
    combined : Out(range(places // 2 + 1))
        Number of messages that vanish.
    """

    def __init__(self, fold: Fold, message: Message, *, places: int) -> None:
        places = check_integer("Places", places, 1)
        self.fold = fold
        self.message = message
        self.places = places
        super().__init__(
            {
                "i": In(Slot(message)).array(places),
                "before": In(places).array(places),
                "o": Out(Slot(message)).array(places),
                "combined": Out(range(places // 2 + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # For each message, the others with the same destination.
        companions = [Signal(self.places, name=f"companions_{i}") for i in range(self.places)]
        for i, a in enumerate(self.i):
            for j, b in enumerate(self.i[:i]):
                same = Signal(name=f"same_destination_{i}_{j}")
                m.d.comb += [
                    same.eq(a.valid & b.valid & self._same_destination(a.message, b.message)),
                    companions[i][j].eq(same),
                    companions[j][i].eq(same),
                ]
        payloads = [slot.message.payload for slot in self.i]
        vanishes = Signal(self.places)
        for i, (entry, exit_) in enumerate(zip(self.i, self.o)):
            behind = Signal(self.places, name=f"behind_{i}")
            partner = earliest(behind, self.before)
            second = Signal.like(payloads[i], name=f"second_{i}")
            m.d.comb += [
                second.eq(chosen(partner, payloads)),
                vanishes[i].eq((companions[i] & self.before[i]).xor()),
                behind.eq(companions[i] & ~self.before[i]),
                exit_.message.eq(entry.message),
                exit_.valid.eq(entry.valid & ~vanishes[i]),
            ]
            with m.If(behind.any()):
                m.d.comb += exit_.message.payload.eq(self.fold.build(payloads[i], second))
        m.d.comb += self.combined.eq(ones(vanishes))
        return m

    def _same_destination(self, a: Value, b: Value) -> Value:
        fields = [name for name in ("relative", "processor") if name in self.message.members]
        return Cat(a[name] for name in fields) == Cat(b[name] for name in fields)
