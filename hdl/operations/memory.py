# amaranth: UnusedElaboratable=no
"""Operations of processors on a memory word.

Every operation is a map of the word. With operand e it replaces the value x by `function(x, e)` in
one indivisible step, and its reply is the old value x. Another operation needs only a name and its
function; `combining_rules` says which requests can be combined.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from amaranth.hdl import Value, ValueLike

from ..fabric.checks import check_word, nearest
from ..fabric.errors import InvalidType, InvalidValue

__all__ = [
    "DOUBLE",
    "LOAD",
    "OPERATIONS",
    "OPERATION_SETS",
    "Operation",
    "check_operations",
    "find_operation",
    "operation_bits",
    "overwritten",
    "parts_per_row",
    "select_ones",
    "words_per_row",
]

_SIZES = (0.25, 0.5, 1, 2)


@dataclass(frozen=True)
class Operation:
    """An operation on a word of memory. Words are signed, in two's complement.

    Attributes
    ----------
    name : str
        Its name in results and in the command, such as "fetch-and-add".
    function : Callable[[int, int], int]
        The new value, from the old one and the operand; associative. Its result is truncated to the
        width of a word.
    hardware : Callable[[Value, Value], Value], optional
        The same for signed Amaranth values. By default `function`, which works if it uses only
        operators that integers and Amaranth values share. Ignored if `ones` is given.
    kind : "update", "load" or "store"
        Whether the new value depends on both, on the old value only (the word is not changed), or
        on the operand only.
    fetching : str
        For an operation whose reply carries no value, such as a store: the name of the operation
        with the same function whose reply carries one. Empty if its own reply does.
    ones : Callable[[Value, Value], tuple[ValueLike, ValueLike]], optional
        For an operation that keeps each bit in which word and operand agree: whether the new value
        is 1 where only the word has a 1, and where only the operand has a 1. These operations share
        their hardware, one look-up table per bit.
    size : float
        Words that it reads and writes: 1; 2, for a double word; or 0.5 or 0.25, for a half-word or
        a byte (a quarter of a word). A double word is two words from an even one on.

    Raises
    ------
    ValueError
        If there is no such size or kind.
    """

    name: str
    function: Callable[[int, int], int]
    hardware: Callable[[Value, Value], Value] | None = None
    kind: Literal["update", "load", "store"] = "update"
    fetching: str = ""
    ones: Callable[[Value, Value], tuple[ValueLike, ValueLike]] | None = None
    size: float = 1

    def __post_init__(self) -> None:
        if self.size not in _SIZES:
            raise InvalidValue(f"Size must be 0.25, 0.5, 1 or 2 words, not {self.size!r}")
        check_word("Kind", self.kind, ("update", "load", "store"))

    @property
    def replies(self) -> bool:
        """Whether the reply carries the old value."""
        return not self.fetching

    def perform(self, value: int, operand: int, width: int) -> int:
        """The new value of a word of this width, or of the part that the operation changes.

        All arguments are integers from 0 to 2^width - 1.
        """
        result = self.function(_signed(value, width), _signed(operand, width))
        return result & ((1 << width) - 1)

    def build(self, value: Value, operand: Value) -> Value:
        """The new value of a word, in hardware."""
        chosen = self.choose(value, operand)
        if chosen is not None:
            return select_ones(value, operand, *chosen)
        build = self.hardware or self.function
        return build(value.as_signed(), operand.as_signed())

    def choose(self, value: Value, operand: Value) -> tuple[ValueLike, ValueLike] | None:
        """The result of `ones`, or None."""
        return self.ones and self.ones(value.as_signed(), operand.as_signed())

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"


def select_ones(value: Value, operand: Value, of_value: Value, of_operand: Value) -> Value:
    """The ones that value and operand share, and those that only one has if it is selected."""
    width = len(value)
    return (
        (value & operand)
        | (value & Value.cast(of_value)[0].replicate(width))
        | (operand & Value.cast(of_operand)[0].replicate(width))
    )


def _signed(value: int, width: int) -> int:
    return value - (value >> (width - 1) << width)


def overwritten(_: Any, operand: Any) -> Any:
    """The function of all stores: the operand, whatever the value was."""
    return operand


def _ones_of_second(_: object, __: object) -> tuple[int, int]:
    return 0, 1


LOAD = Operation("load", lambda x, e: x, kind="load")

OPERATIONS: tuple[Operation, ...] = (
    LOAD,
    Operation("store", overwritten, None, "store", "fetch-and-store", _ones_of_second),
    Operation("fetch-and-store", overwritten, None, "store", "", _ones_of_second),
    Operation("fetch-and-add", lambda x, e: x + e),
    Operation("fetch-and-min", min, ones=lambda x, e: (x < e, ~(x < e))),
    Operation("fetch-and-max", max, ones=lambda x, e: (~(x < e), x < e)),
    Operation("fetch-and-or", lambda x, e: x | e, ones=lambda x, e: (1, 1)),
    Operation("fetch-and-and", lambda x, e: x & e, ones=lambda x, e: (0, 0)),
    Operation(
        "fetch-and-store-if-zero", lambda x, e: x or e, ones=lambda x, e: (x != 0, ~(x != 0))
    ),
    Operation(
        "fetch-and-store-if-nonnegative",
        lambda x, e: e if x >= 0 else x,
        ones=lambda x, e: (x[-1], ~x[-1]),
    ),
)
"""The operations of RP3 and of the Ultracomputer on words (Siegel et al., VII-E and F)."""

DOUBLE: tuple[Operation, ...] = (
    Operation("load-double", lambda x, e: x, kind="load", size=2),
    Operation(
        "store-double",
        overwritten,
        None,
        "store",
        "fetch-and-store-double",
        _ones_of_second,
        size=2,
    ),
)
_PARTIAL: tuple[Operation, ...] = tuple(
    Operation(
        f"store-{part}",
        overwritten,
        None,
        "store",
        f"fetch-and-store-{part}",
        _ones_of_second,
        size,
    )
    for part, size in (("half", 0.5), ("byte", 0.25))
)

_ONLY_RP3 = {"fetch-and-min", "fetch-and-max"}
_ONLY_ULTRACOMPUTER = {"fetch-and-store-if-nonnegative"}
_ULTRACOMPUTER = tuple(op for op in OPERATIONS if op.name not in _ONLY_RP3)

OPERATION_SETS: dict[str, tuple[Operation, ...]] = {
    "all": OPERATIONS,
    "rp3": tuple(op for op in OPERATIONS if op.name not in _ONLY_ULTRACOMPUTER),
    "ultracomputer": _ULTRACOMPUTER,
    "ultracomputer-sizes": (*_ULTRACOMPUTER, *DOUBLE, *_PARTIAL),
}
"""The operations that the boxes and memories of each machine implement.

`ultracomputer` has those on words, `ultracomputer-sizes` also loads and stores of double words, and
stores of half-words and bytes.
"""


def words_per_row(operations: tuple[Operation, ...]) -> int:
    """Words in a row of memory: two if there are operations on double words."""
    return max(1, *(int(operation.size) for operation in operations))


def parts_per_row(operations: tuple[Operation, ...]) -> int:
    """How many parts of a row have addresses: as many as the smallest operation makes of it."""
    return int(words_per_row(operations) / min(operation.size for operation in operations))


def operation_bits(operation: Operation, operations: tuple[Operation, ...], width: int) -> int:
    """Bits that an operation reads and writes in a row of this width.

    Raises
    ------
    ValueError
        If they are not a whole number.
    """
    parts = words_per_row(operations) / operation.size
    if width % parts:
        raise InvalidValue(
            f"Width of a row must be a multiple of {parts:g} for {operation.name}, not {width}"
        )
    return int(width // parts)


def find_operation(name: str, operations: tuple[Operation, ...] = OPERATIONS) -> Operation:
    """The operation of this name.

    Raises
    ------
    ValueError
        If there is no such operation.
    """
    for operation in operations:
        if operation.name == name:
            return operation
    names = [operation.name for operation in operations]
    raise InvalidValue(
        f"Operation must be one of {', '.join(names)}, not {name!r}{nearest(name, names)}"
    )


def check_operations(operations: object) -> None:
    """Check a tuple of operations."""
    if not isinstance(operations, tuple) or not all(
        isinstance(operation, Operation) for operation in operations
    ):
        raise InvalidType(f"Operations must be a tuple of operations, not {operations!r}")
    names = [operation.name for operation in operations]
    if not names:
        raise InvalidValue("At least one operation is needed")
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"Operations must have distinct names, not {name!r} twice")
