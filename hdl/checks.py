"""Checks that constructors share: one wording for one kind of mistake."""

from amaranth.hdl import Shape, ShapeLike

__all__ = [
    "check_decision",
    "check_delay",
    "check_integer",
    "check_limit",
    "check_payload",
    "check_queue",
    "check_radix",
]


def check_integer(what: str, value: object, minimum: int, maximum: int | None = None) -> None:
    """Raise TypeError if `value` is not an integer, ValueError if it is out of its range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be an integer, not {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{what} must be {allowed}, not {value}")


def check_limit(what: str, value: int, maximum: int) -> None:
    """Raise ValueError if a number is so large that nobody can wait for what it asks for."""
    if value > maximum:
        raise ValueError(f"{what} must be at most {maximum}, not {value}")


def check_payload(payload: ShapeLike) -> None:
    """Check a payload's shape, or its width if it is given as a number of bits: from 1 to 4,096."""
    if isinstance(payload, int):
        check_integer("Payload", payload, 1)
        check_limit("Payload", payload, 2**12)
        return
    try:
        Shape.cast(payload)
    except TypeError:
        raise TypeError(f"Payload must be a shape or an integer, not {payload!r}") from None


def check_queue(depth: int) -> None:
    """Check how many packets or flits fit into each queue of a network: from 1 to 65,536."""
    check_integer("Depth", depth, 1)
    check_limit("Depth", depth, 2**16)


def check_decision(cycles: int) -> None:
    """Check the decision time of a network's routers: from 1 to 1,024 cycles."""
    check_integer("Decision time", cycles, 1)
    check_limit("Decision time", cycles, 2**10)


def check_radix(radix: object) -> None:
    """Check the number of inputs and outputs of a switch."""
    check_integer("Radix", radix, 2)


def check_delay(delay: int) -> None:
    """Check the longest delay of another attempt: a power of two, or 0 for none."""
    check_integer("Delay", delay, 0)
    if delay & (delay - 1):
        raise ValueError(f"Delay must be 0 or a power of two, not {delay}")
