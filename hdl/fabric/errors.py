"""Errors that this library raises when the user or the machine that it runs on is at fault.

Any other exception is a bug in the library; the command then prints its traceback.
"""

from typing import ClassVar

__all__ = ["InvalidType", "InvalidValue", "MulticubeError", "TooLarge"]


class MulticubeError(Exception):
    """Base of all errors that this library raises for its users; each message is one line.

    Attributes
    ----------
    status : int
        Exit status of the command after this error.
    """

    status: ClassVar[int] = 2

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class InvalidValue(MulticubeError, ValueError):
    """A value is not one of those allowed."""


class TooLarge(InvalidValue):
    """A number is so large that the work it asks for would never finish, or not fit in memory."""


class InvalidType(MulticubeError, TypeError):
    """A value has a type that is not allowed."""
