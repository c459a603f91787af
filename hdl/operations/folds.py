"""Folds: associative operations that merge values, taken from those on words of memory."""

from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Cat, Const, Shape, ShapeLike, Value, ValueLike

from ..fabric.checks import check_word
from .memory import Operation, find_operation

__all__ = ["FOLDS", "Fold"]

FOLDS: dict[str, Operation] = {
    "add": find_operation("fetch-and-add"),
    "or": find_operation("fetch-and-or"),
    "max": find_operation("fetch-and-max"),
    "overwrite": find_operation("store"),
}
"""The operations that can merge two values: a word in memory and an operand, so to speak."""


@dataclass(frozen=True)
class Fold:
    """Merges values pairwise, earlier values before later ones.

    Sums are modulo 2^width, the maximum is signed if the shape is, and `overwrite` keeps the later
    value. All operations are associative; the order of the values matters only for `overwrite`.

    Attributes
    ----------
    name : str
        One of `FOLDS`.
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
        check_word("Operation", name, FOLDS)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "shape", Shape.cast(shape))

    @cached_property
    def operation(self) -> Operation:
        return FOLDS[self.name]

    def build(self, first: ValueLike, second: ValueLike) -> Value:
        """Merge two values into one, in hardware."""
        # The operations work on signed words; an unsigned one gets a 0 as its sign bit.
        sign = Const(0, 0 if self.shape.signed else 1)
        words = [Cat(Value.cast(value), sign) for value in (first, second)]
        return self.operation.build(*words)[: self.shape.width]

    def perform(self, first: int, second: int) -> int:
        """Merge two values into one. All are integers that the shape can hold."""
        width = self.shape.width + (not self.shape.signed)
        word = self.operation.perform(first % (1 << width), second % (1 << width), width)
        word %= 1 << self.shape.width
        return word - (word >> self.shape.width - 1 << self.shape.width) * self.shape.signed
