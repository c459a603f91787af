"""Checks that constructors share: one wording for one kind of mistake."""

from numbers import Integral
from typing import Any

from amaranth.hdl import Shape, ShapeLike

from .errors import InvalidType, InvalidValue

__all__ = [
    "check_delay",
    "check_field",
    "check_integer",
    "check_limit",
    "check_payload",
    "check_radix",
]


def check_integer(what: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """An integer of any type, such as one of numpy's, as Python's own.

    Raises
    ------
    InvalidType
        If it is no integer; truth values are none.
    InvalidValue
        If it is out of its range.
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
    """Check an integer of a frozen dataclass, and keep it as Python's own."""
    number = check_integer(what, getattr(owner, name), minimum, maximum)
    object.__setattr__(owner, name, number)


def check_limit(what: str, value: int, maximum: int) -> None:
    """Raise ValueError if a number is so large that nobody can wait for what it asks for."""
    if value > maximum:
        raise InvalidValue(f"{what} must be at most {maximum}, not {value}")


def check_payload(payload: ShapeLike) -> ShapeLike:
    """A shape, if it is one."""
    try:
        Shape.cast(payload)
    except TypeError:
        raise InvalidType(f"Payload must be a number of bits or a shape, not {payload!r}") from None
    return payload


def check_radix(radix: int) -> int:
    """Check the number of inputs and outputs of a switch."""
    return check_integer("Radix", radix, 2)


def check_delay(delay: int) -> int:
    """Check the longest delay of another attempt: a power of two, or 0 for none."""
    delay = check_integer("Delay", delay, 0)
    if delay & (delay - 1):
        raise InvalidValue(f"Delay must be 0 or a power of two, not {delay}")
    return delay
