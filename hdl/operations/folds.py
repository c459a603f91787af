"""How values that meet become one: associative operations, taken from those on words of memory."""

from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Cat, Const, Shape, ShapeLike, Value, ValueLike

from ..core.errors import InvalidValue
from .memory import Operation, find_operation

__all__ = ["FOLDS", "Fold"]

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
