"""Checks that constructors share: one wording for one kind of mistake."""

__all__ = ["check_delay", "check_integer", "check_limit", "check_radix"]


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


def check_radix(radix: object) -> None:
    """Check the number of inputs and outputs of a switch."""
    check_integer("Radix", radix, 2)


def check_delay(delay: int) -> None:
    """Check the longest delay of another attempt: a power of two, or 0 for none."""
    check_integer("Delay", delay, 0)
    if delay & (delay - 1):
        raise ValueError(f"Delay must be 0 or a power of two, not {delay}")
