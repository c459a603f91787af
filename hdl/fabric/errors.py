"""Errors that this library raises when the user or the machine that it runs on is at fault.

Any other exception is a bug in the library; the command then prints its traceback.
"""

__all__ = ["InvalidType", "InvalidValue", "MulticubeError", "TooLarge"]


class MulticubeError(Exception):
    """Base of all errors that this library raises for its users; each message is one line.

    Attributes
    ----------
    status : int
        Exit status of the command after this error.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl import MulticubeError
    >>> try:
    ...     build("torus", k=1)
    ... except MulticubeError as error:
    ...     print(error)
    Radix k must be at least 2, not 1
    """

    status: int = 2

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class InvalidValue(MulticubeError, ValueError):
    """A value is not one of those allowed.

    Examples
    --------
    >>> from multicube import build
    >>> build("torus", k=1)
    Traceback (most recent call last):
    ...
    multicube.hdl.fabric.errors.InvalidValue: Radix k must be at least 2, not 1
    """


class TooLarge(InvalidValue):
    """A number is so large that the work it asks for would never finish, or not fit in memory.

    Examples
    --------
    >>> from multicube import build
    >>> build("kautz", d=9, n=9)
    Traceback (most recent call last):
    ...
    multicube.hdl.fabric.errors.TooLarge: Nodes must be at most 65536, not 430467210
    """


class InvalidType(MulticubeError, TypeError):
    """A value has a type that is not allowed.

    Examples
    --------
    >>> from multicube import build
    >>> build("torus", k=2.5)
    Traceback (most recent call last):
    ...
    multicube.hdl.fabric.errors.InvalidType: Radix k must be an integer, not 2.5
    """
