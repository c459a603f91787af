"""Numbers in texts: all that read words and files read them here, and take the same ones.

They have ASCII digits. Python's `int` also takes `1_0`, which may be a slip of the pen, and digits
of all scripts; and what `str.isdigit` accepts it may refuse.
"""

from .errors import InvalidValue

__all__ = ["integer_of", "is_natural", "number_of"]

_MOST_DIGITS = 4300
"""Digits of the longest number that Python reads, if nobody has set another limit."""


def integer_of(text: str) -> int:
    """The integer that a text is, such as 12 or -3; spaces around it don't matter.

    Raises
    ------
    ValueError
        If it is none. The caller says what is allowed.

    Examples
    --------
    >>> integer_of(" -12")
    -12
    """
    return int(_plain(text))


def number_of(text: str) -> float:
    """The number that a text is, such as 0.5 or 1e-3; spaces around it don't matter.

    Raises
    ------
    ValueError
        If it is none. The caller says what is allowed.

    Examples
    --------
    >>> number_of("1e-3")
    0.001
    """
    return float(_plain(text))


def is_natural(text: str) -> bool:
    """Whether a text is an integer from 0 on, and nothing else.

    Examples
    --------
    >>> [is_natural(each) for each in ("16", "-1", "1_6", "²", "")]
    [True, False, False, False, False]
    """
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise InvalidValue("Digits must be ASCII, without underscores")
    return text
