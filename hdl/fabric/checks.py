"""Checks that constructors share, so that the same mistake always gives the same message."""

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from .errors import InvalidType, InvalidValue

__all__ = [
    "check_delay",
    "check_field",
    "check_integer",
    "check_kind",
    "check_limit",
    "check_number",
    "check_radix",
    "nearest",
]


def check_integer(what: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Check an integer of any type, such as one of NumPy's, and return it as a Python `int`.

    Raises
    ------
    InvalidType
        If it is not an integer; `True` and `False` are not accepted.
    InvalidValue
        If it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidType(f"{what} must be an integer, not {value!r}")
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise InvalidValue(f"{what} must be {allowed}, not {number}")
    return number


def check_field(
    owner: object, name: str, what: str, minimum: int, maximum: int | None = None
) -> None:
    """Check an integer field of a frozen dataclass, and store it as a Python `int`."""
    number = check_integer(what, getattr(owner, name), minimum, maximum)
    object.__setattr__(owner, name, number)


def check_number(what: str, value: Any) -> float:
    """A real number of any type, such as one of numpy's, as Python's own; or InvalidType."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidType(f"{what} must be a number, not {value!r}")
    return float(value)


def check_kind(what: str, value: Any, kind: type | tuple[type, ...], words: str) -> None:
    """Raise InvalidType if a value is of no such kind, which `words` describe."""
    if not isinstance(value, kind):
        raise InvalidType(f"{what} must be {words}, not {value!r}")


def check_limit(what: str, value: int, maximum: int) -> None:
    """Raise ValueError if a number is so large that the work it asks for would never finish."""
    if value > maximum:
        raise InvalidValue(f"{what} must be at most {maximum}, not {value}")


def check_radix(radix: object) -> int:
    """Check a radix: the number of inputs and of outputs of a switch."""
    return check_integer("Radix", radix, 2)


def check_delay(delay: int) -> int:
    """Check the longest delay before a retry: a power of two, or 0 for no delay."""
    delay = check_integer("Delay", delay, 0)
    if delay & (delay - 1):
        raise InvalidValue(f"Delay must be 0 or a power of two, not {delay}")
    return delay


def nearest(word: object, words: Iterable[str]) -> str:
    """The end of a message about an unknown word: "; did you mean 'torus'?", or nothing.

    Capitals don't matter. Nothing is suggested if no allowed word is similar, begins with this one,
    or is its beginning.
    """
    allowed = {each.lower(): each for each in words}
    written = str(word).lower()
    begun = (each for each in allowed if written and each.startswith(written))
    found = get_close_matches(written, allowed, n=1) or [
        *begun,
        *(each for each in allowed if each and written.startswith(each)),
    ]
    return f"; did you mean {allowed[found[0]]!r}?" if found else ""
