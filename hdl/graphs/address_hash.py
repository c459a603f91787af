"""Linear hashing of addresses, which spreads the words of a shared memory over its modules."""

from functools import cached_property

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue

__all__ = ["AddressHash"]


class AddressHash:
    """The module of a word is its address, as a polynomial over GF(2), modulo an irreducible one.

    Bit i of an address is the coefficient of x^i. The lowest bits are those of the module without
    hashing, the others the row. Hashing adds a linear function of the row to the module, bit by
    bit, and does not change the row, so no two words have one place. For any power of two S, N
    consecutive words of S, 2 S, 3 S, ... that start at a multiple of N S are in N different modules
    (B. R. Rau, "Pseudo-randomly interleaved memory", ISCA 1991).

    Parameters
    ----------
    modules : int
        N, a power of two of at least 2.
    rows : int
        Words in each module, at least 1.

    Attributes
    ----------
    polynomial : int
        The first irreducible polynomial of degree log2 N with a constant term.
    columns : tuple[int, ...]
        For each bit of a row: what it adds to the module.

    Examples
    --------
    >>> hashed = AddressHash(4, 4)
    >>> [hashed.module(word) for word in range(0, 16, 4)]
    [0, 3, 1, 2]
    """

    def __init__(self, modules: int, rows: int) -> None:
        modules = check_integer("Modules", modules, 2)
        rows = check_integer("Rows", rows, 1)
        if modules & (modules - 1):
            raise InvalidValue(f"Modules must be a power of two to hash, not {modules}")
        self.modules = modules
        self.rows = rows
        self.bits = modules.bit_length() - 1

    @cached_property
    def polynomial(self) -> int:
        return next(
            candidate
            for candidate in range(self.modules + 1, 2 * self.modules, 2)
            if all(_remainder(candidate, d) for d in range(2, 1 << self.bits // 2 + 1))
        )

    @cached_property
    def columns(self) -> tuple[int, ...]:
        row_bits = (self.rows - 1).bit_length()
        return tuple(_remainder(self.modules << bit, self.polynomial) for bit in range(row_bits))

    def module(self, word: int) -> int:
        """The module of a word, whose row is word // modules."""
        return _remainder(word, self.polynomial)


def _remainder(value: int, divisor: int) -> int:
    """Of a division of polynomials over GF(2)."""
    while (shift := value.bit_length() - divisor.bit_length()) >= 0:
        value ^= divisor << shift
    return value
