"""Whole numbers modulo a prime: the fields that graphs of small diameter are built on."""

from math import isqrt

from ..fabric.errors import InvalidValue

__all__ = ["check_prime", "powers"]


def check_prime(what: str, value: int, odd: bool = False) -> int:
    """Check that an integer of at least 2 is a prime, and return it.

    Raises
    ------
    ValueError
        If it is none, or `odd` is asked for and it is 2.
    """
    if any(value % divisor == 0 for divisor in range(2, isqrt(value) + 1)) or (odd and value == 2):
        raise InvalidValue(f"{what} must be {'an odd' if odd else 'a'} prime, not {value}")
    return value


def powers(q: int) -> list[int]:
    """The powers 0 to q - 2 of the least primitive element modulo q: all numbers but 0.

    Examples
    --------
    >>> powers(7)
    [1, 3, 2, 6, 4, 5]
    """
    found = ([pow(element, i, q) for i in range(q - 1)] for element in range(1, q))
    return next(each for each in found if len(set(each)) == q - 1)
