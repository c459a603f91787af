"""The operations of memory behind a bus: loads, stores of some bytes, and read-modify-writes.

A word of memory has a bit for each of its bytes above its data, as the 36-bit words of block RAMs
do. In an operand these bits are the strobes: a *masked store* changes the bytes whose strobe is 1.
Two masked stores have the effect of a third, whose strobes are those of both; so masked stores are
associative, and combining boxes combine them as they combine fetch-and-adds.
"""

from functools import lru_cache

from amaranth.hdl import Cat, Mux, Value

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from .memory import LOAD, Operation, find_operation

__all__ = [
    "ALL_WINDOWS",
    "WINDOWS",
    "bus_operations",
    "check_data_bits",
    "row_bits",
    "window_codes",
]

WINDOWS = ("masked-store", "fetch-and-add", "fetch-and-and", "fetch-and-or")
"""What a write does in each quarter of a bus's addresses."""

ALL_WINDOWS = (*WINDOWS, "fetch-and-xor", "fetch-and-store", "fetch-and-min", "fetch-and-max")
"""The same, in each eighth, of a bus that has all operations. Words are signed."""

_XOR = Operation("fetch-and-xor", lambda x, e: x ^ e)


def check_data_bits(bits: object) -> int:
    """The width of a bus's data: 8, 16, 32 or 64.

    Raises
    ------
    TypeError, ValueError
        If it is not.
    """
    bits = check_integer("Data width", bits, 8, 64)
    if bits & (bits - 1):
        raise InvalidValue(f"Data width must be 8, 16, 32 or 64 bits, not {bits}")
    return bits


def row_bits(data: int) -> int:
    """Bits of a word of memory: its data, and one for each byte."""
    return data + data // 8


@lru_cache
def bus_operations(data: int, windows: tuple[str, ...] = WINDOWS) -> tuple[Operation, ...]:
    """The operations of memory behind a bus whose data have so many bits.

    Load, masked store, fetch-and-add, -and, -or and -xor, and of minimum and maximum those that the
    windows name; their operands are `row_bits(data)` wide. All replies carry the old value.
    """
    size = check_data_bits(data) // 8

    def store(x: int, e: int) -> int:
        strobes = e >> data
        mask = sum(0xFF << 8 * byte for byte in range(size) if strobes >> byte & 1)
        kept = (1 << data) - 1 & ~mask
        return (x | e) >> data << data | x & kept | e & mask

    def build(x: Value, e: Value) -> Value:
        x, e = x.as_unsigned(), e.as_unsigned()
        strobes = e[data:]
        written = (Mux(strobes[n], e.word_select(n, 8), x.word_select(n, 8)) for n in range(size))
        return Cat(*written, x[data:] | strobes)

    others = [find_operation(name) for name in WINDOWS[1:]]
    extremes = [each for each in _extremes(data) if each.name in windows]
    return (LOAD, Operation(WINDOWS[0], store, build), *others, _XOR, *extremes)


def _extremes(data: int) -> tuple[Operation, Operation]:
    """Minimum and maximum of the data, without the strobes above them."""

    def number(x: int) -> int:
        x &= (1 << data) - 1
        return x - (x >> data - 1 << data)

    def below(x: Value, e: Value) -> Value:
        return x[:data].as_signed() < e[:data].as_signed()

    return (
        Operation(
            "fetch-and-min",
            lambda x, e: x if number(x) < number(e) else e,
            ones=lambda x, e: (below(x, e), ~below(x, e)),
        ),
        Operation(
            "fetch-and-max",
            lambda x, e: e if number(x) < number(e) else x,
            ones=lambda x, e: (~below(x, e), below(x, e)),
        ),
    )


def window_codes(data: int, windows: tuple[str, ...]) -> list[int]:
    """The codes of what a write does in each window; a fetch-and-store is a store of all bytes."""
    names = [operation.name for operation in bus_operations(data, windows)]
    return [names.index(WINDOWS[0] if name == "fetch-and-store" else name) for name in windows]
