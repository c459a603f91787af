"""Checks that constructors share, so that the same mistake always gives the same message."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from .errors import InvalidType, InvalidValue, TooLarge

__all__ = [
    "MOST_RADIX",
    "check_delay",
    "check_field",
    "check_flag",
    "check_integer",
    "check_kind",
    "check_limit",
    "check_number",
    "check_path",
    "check_power_of_two",
    "check_radix",
    "check_seed",
    "check_several",
    "check_word",
    "nearest",
    "shown",
]

MOST_RADIX = 2**12
"""Most inputs or outputs of a switch: more than any network has."""

_LONGEST = 80
"""Characters of a value that a message shows."""


def shown(value: object) -> str:
    """A value as a message shows it: in one line, and not all of one that is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more than 4,300 digits
        text = "a number of thousands of digits"
    except Exception:  # an object that can't tell what it is
        text = f"an object of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def check_integer(what: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Check an integer of any type, such as one of NumPy's, and return it as a Python `int`.

    Raises
    ------
    InvalidType
        If it is not an integer; `True` and `False` are not accepted.
    InvalidValue
        If it is out of range.
    """
    # To ask whether it is an `Integral` takes longer than all the rest, and most are Python's own.
    if type(value) is not int and (type(value) is bool or not isinstance(value, Integral)):
        raise InvalidType(f"{what} must be an integer, not {shown(value)}")
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise InvalidValue(f"{what} must be {allowed}, not {shown(number)}")
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
        raise InvalidType(f"{what} must be a number, not {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidValue(f"{what} must be a number that is less, not {shown(value)}") from None


def check_kind(what: str, value: Any, kind: Any, words: str) -> None:
    """Raise InvalidType if a value is of no such kind, which `words` describe."""
    if not isinstance(value, kind):
        raise InvalidType(f"{what} must be {words}, not {shown(value)}")


def check_flag(what: str, value: object) -> None:
    """Raise InvalidType if a value is neither true nor false."""
    check_kind(what, value, bool, "True or False")


def check_word(what: str, value: object, allowed: Iterable[str]) -> None:
    """Raise InvalidValue if a value is none of the words that are allowed."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise InvalidValue(
            f"{what} must be one of {', '.join(words)}, not {shown(value)}{nearest(value, words)}"
        )


def check_several(what: str, values: Any, words: str) -> list[Any]:
    """The values of something that has several, which `words` describe; or InvalidType."""
    if not isinstance(values, str | bytes | Mapping):
        try:
            return list(values)
        except TypeError:
            pass
    raise InvalidType(f"{what} must be a sequence of {words}, not {shown(values)}")


def check_path(what: str, path: object) -> None:
    """Raise an error if a value can't be the path of a file."""
    check_kind(what, path, str | os.PathLike, "a path")
    text = os.fspath(path)  # type: ignore[call-overload]
    try:
        wrong = not text or "\0" in text or not os.fsencode(text)
    except UnicodeEncodeError:
        wrong = True
    if wrong:
        raise InvalidValue(f"{what} must be a path, not {shown(text)}")


def check_limit(what: str, value: int, maximum: int) -> None:
    """Raise ValueError if a number is so large that the work it asks for would never finish."""
    if value > maximum:
        raise TooLarge(f"{what} must be at most {maximum}, not {shown(value)}")


def check_radix(radix: object) -> int:
    """Check a radix: the number of inputs and of outputs of a switch."""
    number = check_integer("Radix", radix, 2)
    check_limit("Radix", number, MOST_RADIX)
    return number


def check_power_of_two(what: str, number: int) -> None:
    """Raise InvalidValue if a positive number is no power of two."""
    if number & (number - 1):
        raise InvalidValue(f"{what} must be a power of two, not {number}")


def check_seed(seed: object) -> int:
    """Check the seed of random numbers."""
    return check_integer("Seed", seed, 0)


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
    written = word.lower() if isinstance(word, str) else ""
    begun = (each for each in allowed if written and each.startswith(written))
    found = get_close_matches(written, allowed, n=1) or [
        *begun,
        *(each for each in allowed if each and written.startswith(each)),
    ]
    return f"; did you mean {allowed[found[0]]!r}?" if found else ""
