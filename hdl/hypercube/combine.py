"""Combine: messages to the same processor become one on their way (Stanfill, 4.2: fan-in)."""

from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Shape, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer
from ..combining.operations import Operation, find_operation
from ..errors import InvalidValue
from .message import Message, Slot, chosen, earliest, ones

__all__ = ["FOLDS", "Combine", "Fold"]

FOLDS: dict[str, Operation] = {
    "add": find_operation("fetch-and-add"),
    "or": find_operation("fetch-and-or"),
    "max": find_operation("fetch-and-max"),
    "overwrite": find_operation("store"),
}
"""What can be made of two values, as of a word in memory and an operand."""


@dataclass(frozen=True)
class Fold:
    """How values become one: two by two, those that come first before those that come later.

    Sums are modulo 2^width, the maximum is that of signed numbers if the shape is signed, and what
    overwrites is the value that comes later. All operations are associative; the order of the
    values matters only where they overwrite each other.

    Attributes
    ----------
    name : str
        One of `FOLDS`.
    shape : Shape
        Of a value.

    Raises
    ------
    ValueError
        If there is no such operation.
    """

    name: str
    shape: Shape

    def __init__(self, name: str, shape: ShapeLike) -> None:
        if name not in FOLDS:
            raise InvalidValue(f"Operation must be one of {', '.join(FOLDS)}, not {name!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "shape", Shape.cast(shape))

    @cached_property
    def operation(self) -> Operation:
        return FOLDS[self.name]

    def build(self, first: ValueLike, second: ValueLike) -> Value:
        """One value of two, in hardware."""
        # The operations know signed words only; one that has no sign gets a 0 for it.
        sign = Const(0, 0 if self.shape.signed else 1)
        words = [Cat(Value.cast(value), sign) for value in (first, second)]
        return self.operation.build(*words)[: self.shape.width]

    def perform(self, first: int, second: int) -> int:
        """One value of two. All are integers that the shape can hold."""
        width = self.shape.width + (not self.shape.signed)
        word = self.operation.perform(first % (1 << width), second % (1 << width), width)
        word %= 1 << self.shape.width
        return word - (word >> self.shape.width - 1 << self.shape.width) * self.shape.signed


class Combine(wiring.Component):
    """Makes one message of two that have the same destination, of as many pairs as there are.

    In the order of `Seniority` the first two messages to a processor are a pair, the next two are
    another, and so on: of m messages to it in this node, half of m, rounded up, are left. The first
    one of a pair stays where it is, and what it is, but for its payload; the other vanishes. So no
    message comes to be before one that it was not before. Combinational.

    Parameters
    ----------
    fold : Fold
        Makes one payload of two.
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
        Messages that vanish.
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
        # The others with the same destination, of each message.
        fellows = [Signal(self.places, name=f"fellows_{i}") for i in range(self.places)]
        for i, a in enumerate(self.i):
            for j, b in enumerate(self.i[:i]):
                alike = Signal(name=f"alike_{i}_{j}")
                m.d.comb += [
                    alike.eq(a.valid & b.valid & self._same_destination(a.message, b.message)),
                    fellows[i][j].eq(alike),
                    fellows[j][i].eq(alike),
                ]
        payloads = [slot.message.payload for slot in self.i]
        vanishes = Signal(self.places)
        for i, (entry, exit_) in enumerate(zip(self.i, self.o)):
            behind = Signal(self.places, name=f"behind_{i}")
            partner = earliest(behind, self.before)
            second = Signal.like(payloads[i], name=f"second_{i}")
            m.d.comb += [
                second.eq(chosen(partner, payloads)),
                vanishes[i].eq((fellows[i] & self.before[i]).xor()),
                behind.eq(fellows[i] & ~self.before[i]),
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
