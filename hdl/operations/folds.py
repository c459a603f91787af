# amaranth: UnusedElaboratable=no
"""Folds: associative operations that merge values, taken from those on words of memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import count
from typing import TypeVar

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_word
from ..fabric.errors import InvalidValue
from .memory import Operation, find_operation

__all__ = ["FOLDS", "REDUCTIONS", "ComponentFold", "Fold", "fold_of", "fold_some", "is_component"]

_T = TypeVar("_T")

FOLDS: dict[str, Operation] = {
    "add": find_operation("fetch-and-add"),
    "or": find_operation("fetch-and-or"),
    "max": find_operation("fetch-and-max"),
    "overwrite": find_operation("store"),
}
"""The operations that can merge two values: a word in memory and an operand, so to speak."""

REDUCTIONS = {
    "add": "the sum modulo 2^width",
    "add-saturating": "the sum, which stays at the least or the greatest value",
    "or": "bit by bit",
    "and": "bit by bit",
    "max": "the greatest",
    "min": "the least",
}
"""The operations that can merge any number of values in any order."""

_OPERATIONS = FOLDS | {
    "add-saturating": FOLDS["add"],
    "and": find_operation("fetch-and-and"),
    "min": find_operation("fetch-and-min"),
}


@dataclass(frozen=True)
class Fold:
    """Merges values pairwise, earlier values before later ones.

    Sums are modulo 2^width or saturate, the maximum is signed if the shape is, and `overwrite`
    keeps the later value. All operations are associative; the order of the values matters only for
    `overwrite`, and for signed sums that saturate on the way.

    Attributes
    ----------
    name : str
        One of `FOLDS` or `REDUCTIONS`.
    shape : Shape
        Shape of a value.

    Raises
    ------
    ValueError
        If there is no such operation.
    """

    name: str
    shape: Shape

    def __init__(self, name: str, shape: ShapeLike) -> None:
        check_word("Operation", name, _OPERATIONS)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "shape", Shape.cast(shape))

    @cached_property
    def operation(self) -> Operation:
        return _OPERATIONS[self.name]

    @property
    def _bounds(self) -> tuple[int, int]:
        """The least and the greatest value."""
        least = -(1 << self.shape.width - 1) if self.shape.signed and self.shape.width else 0
        return least, least + (1 << self.shape.width) - 1

    @property
    def identity(self) -> int:
        """The value that changes no other one; not of `overwrite`."""
        least, greatest = self._bounds
        if self.name == "and":
            return -1 if self.shape.signed else greatest
        return {"max": least, "min": greatest}.get(self.name, 0)

    def build(self, first: ValueLike, second: ValueLike) -> Value:
        """Merge two values into one, in hardware."""
        # The operations work on signed words; an unsigned one gets a 0 as its sign bit.
        sign = Const(0, 0 if self.shape.signed else 1)
        words = [Cat(Value.cast(value), sign) for value in (first, second)]
        if self.name == "add-saturating":
            least, greatest = self._bounds
            total = words[0].as_signed() + words[1].as_signed()
            kept = Mux(total > greatest, greatest, Mux(total < least, least, total))
            return kept[: self.shape.width]
        return self.operation.build(*words)[: self.shape.width]

    def perform(self, first: int, second: int) -> int:
        """Merge two values into one. All are integers that the shape can hold."""
        if self.name == "add-saturating":
            least, greatest = self._bounds
            return min(max(first + second, least), greatest)
        width = self.shape.width + (not self.shape.signed)
        word = self.operation.perform(first % (1 << width), second % (1 << width), width)
        word %= 1 << self.shape.width
        return word - (word >> self.shape.width - 1 << self.shape.width) * self.shape.signed

    def build_some(self, m: Module, values: Sequence[ValueLike], taken: Value) -> Value:
        """Merge those of several values whose bit of `taken` is 1, in hardware: in pairs, then
        pairs of pairs. At least one bit must be 1."""
        identity = Const(self.identity % (1 << self.shape.width), self.shape.width)
        words = [
            Mux(taken[at], Value.cast(value).as_unsigned(), identity)
            for at, value in enumerate(values)
        ]
        numbers = count()

        def merge(first: Value, second: Value) -> Value:
            # The greatest of two reads them bit by bit: without a signal, each bit would repeat all
            # that they are made of.
            merged = Signal(self.shape.width, name=f"merged_{next(numbers)}")
            m.d.comb += merged.eq(self.build(first, second))
            return merged

        return _in_pairs(words, merge)


@dataclass(frozen=True)
class ComponentFold:
    """Merges values by components of a user's, such as floating-point adders.

    They are combinational, and so often in a row as the logarithm of the number of values says.
    Values meet as `fold_some` says, so that each time the result is the same, also of an operation
    that is not associative.

    Attributes
    ----------
    component : type[wiring.Component]
        Its constructor takes the width of a value, and its members are `a : In(width)`,
        `b : In(width)` and `o : Out(width)`. Benches of packets for one terminal have payloads of
        other widths. Collectives are checked by its static method `perform`, a function of two
        integers.
    width : int

    Raises
    ------
    ValueError
        If it has other members.
    """

    component: type[wiring.Component]
    width: int

    def __post_init__(self) -> None:
        wanted = {"a": In(self.width), "b": In(self.width), "o": Out(self.width)}
        if self.component(self.width).signature != wiring.Signature(wanted):
            raise InvalidValue(
                f"Reduction {self.component.__name__} must have the members a and b, In, and o, "
                f"Out, of {self.width} bits, and no others"
            )

    @property
    def name(self) -> str:
        return self.component.__name__

    def perform(self, first: int, second: int) -> int:
        """Merge two values into one, by the component's own function; the width truncates it.

        Raises
        ------
        ValueError
            If it has none.
        """
        function = getattr(self.component, "perform", None)
        if function is None:
            raise InvalidValue(
                f"Reduction {self.name} must have a static method perform(first, second), by which "
                "results are checked"
            )
        return int(function(first, second)) & ((1 << self.width) - 1)

    def build_some(self, m: Module, values: Sequence[ValueLike], taken: Value) -> Value:
        """As `Fold.build_some`; a component has no identity, so single values pass by."""
        numbers = count()

        def merge(one: tuple[Value, Value], other: tuple[Value, Value]) -> tuple[Value, Value]:
            (first, here), (second, there), number = one, other, next(numbers)
            m.submodules[f"operation_{number}"] = unit = self.component(self.width)
            merged = Signal(self.width, name=f"merged_{number}")
            m.d.comb += [
                unit.a.eq(first),
                unit.b.eq(second),
                merged.eq(Mux(here & there, unit.o, Mux(here, first, second))),
            ]
            return merged, here | there

        return _in_pairs(zip(map(Value.cast, values), taken), merge)[0]


def fold_some(perform: Callable[[int, int], int], values: Sequence[int | None]) -> int:
    """Merge those of several values that are there, as `build_some` does it in hardware: in pairs,
    then pairs of pairs. One must be there."""

    def merge(one: int | None, other: int | None) -> int | None:
        if one is None or other is None:
            return other if one is None else one
        return perform(one, other)

    found = _in_pairs(values, merge)
    assert found is not None
    return found


def _in_pairs(values: Iterable[_T], merge: Callable[[_T, _T], _T]) -> _T:
    """Merge values in pairs, then pairs of pairs."""
    left = [*values]
    while len(left) > 1:
        left = [reduce(merge, left[at : at + 2]) for at in range(0, len(left), 2)]
    return left[0]


def is_component(reduction: object) -> bool:
    """Whether it is a component of a user's, and no name of an operation."""
    return isinstance(reduction, type) and issubclass(reduction, wiring.Component)


def fold_of(reduction: str | type[wiring.Component], shape: ShapeLike) -> Fold | ComponentFold:
    """What merges values by an operation of this name, or by components of this class."""
    if isinstance(reduction, str):
        return Fold(reduction, shape)
    return ComponentFold(reduction, Shape.cast(shape).width)
