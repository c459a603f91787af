"""Parameters shared by networks of flits: the length of packets, queues, the decision time."""

import re
from typing import Any

from amaranth.hdl import Shape, ShapeLike

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.numerals import integer_of, is_natural
from ..fabric.parameter_fields import integer, word

__all__ = [
    "LONGEST",
    "REFILLS",
    "decision_time",
    "flit_queue",
    "flits_of",
    "geometric_mean",
    "packet_length",
    "parse_lengths",
    "queue_refill",
]

REFILLS = ("no", "yes")

LONGEST = 1024
"""Most flits of a packet."""

_CUT = 16
"""Multiple of their mean up to which geometric lengths always reach."""

_GEOMETRIC = "geometric:"

_BITS = re.compile(
    r"bits:(?:(?P<header>[0-9]{1,9})\+)?(?P<low>[0-9]{1,9})(?::(?P<high>[0-9]{1,9}))?"
)


def packet_length(
    description: str = "flits of a packet; also geometric:MEAN",
    form: str = "LOW:HIGH",
    plain: int | None = None,
) -> Any:
    """The field for the length of a network's packets."""
    return integer(1, description, least=1, most=LONGEST, form=form, plain=plain)


def parse_lengths(length: int | str, *, geometric: bool = True) -> tuple[int, int]:
    """Fewest and most flits of a packet, from a number, `LOW:HIGH` or `geometric:MEAN`.

    Geometric lengths are cut off at the least power of two that is at least 16 times their mean.
    Fewer than 2 packets in 10^7 would be longer.

    Parameters
    ----------
    length : int or str
    geometric : bool
        Whether lengths may be geometric.

    Raises
    ------
    TypeError, ValueError
        If it is none of these, or not from 1 to 1,024, or the bounds are in the wrong order.

    Examples
    --------
    >>> parse_lengths("2:5"), parse_lengths("geometric:16")
    ((2, 5), (1, 256))
    """
    if geometric and (mean := geometric_mean(length)):
        return 1, 1 << (_CUT * mean - 1).bit_length()
    words: list[int] = []
    if isinstance(length, str):
        try:
            words = [integer_of(word) for word in length.split(":")]
        except ValueError:
            words = []
        if len(words) not in (1, 2):
            form = ", LOW:HIGH or geometric:MEAN" if geometric else " or LOW:HIGH"
            raise InvalidValue(f"Length must be a number of flits{form}, not {length!r}")
    else:
        words = [length]
    for number in words:
        number = check_integer("Length", number, 1, LONGEST)
    low, high = words[0], words[-1]
    if low > high:
        raise InvalidValue(f"Length must be LOW:HIGH with LOW at most HIGH, not {length!r}")
    return low, high


def flits_of(length: int | str, payload: ShapeLike) -> int | str:
    """A length in bits as one in flits of this payload; any other length as it is.

    A length in bits is `bits:DATA`, `bits:LOW:HIGH` or `bits:HEADER+LOW:HIGH`. A packet has as many
    flits as its header and its data fill, side by side; the last may be filled in part.

    Parameters
    ----------
    length : int or str
    payload : ShapeLike
        What a flit carries.

    Raises
    ------
    ValueError
        If it begins with `bits:`, but is none of these.

    Examples
    --------
    >>> flits_of("bits:42+16:256", 4), flits_of("bits:64", 8), flits_of("2:5", 8)
    ('15:75', '8', '2:5')
    """
    if not isinstance(length, str) or not length.startswith("bits:"):
        return length
    form = _BITS.fullmatch(length)
    if form is None:
        raise InvalidValue(f"Length in bits must be bits:HEADER+LOW:HIGH, not {length!r}")
    header, width = int(form["header"] or 0), Shape.cast(payload).width
    bits = [int(each) for each in (form["low"], form["high"]) if each]
    return ":".join(str(max(1, -(-(header + each) // width))) for each in bits)


def geometric_mean(length: int | str) -> int:
    """The mean number of flits if the length is geometric (`geometric:MEAN`); otherwise 0.

    Raises
    ------
    ValueError
        If the mean is not an integer from 2 to 64.
    """
    if not isinstance(length, str) or not length.startswith(_GEOMETRIC):
        return 0
    text = length.removeprefix(_GEOMETRIC)
    most = LONGEST // _CUT
    if not is_natural(text) or not 2 <= int(text) <= most:
        raise InvalidValue(f"Mean of geometric lengths must be from 2 to {most}, not {text!r}")
    return int(text)


def flit_queue() -> Any:
    """The field for the number of flits that fit into each queue of a router."""
    return integer(4, "flits that fit into each queue", least=1, most=2**16)


def queue_refill() -> Any:
    """The field that says whether queues accept a flit in the cycle in which their head leaves."""
    return word("no", "a slot freed in a cycle can be filled in the same one", REFILLS, plain="no")


def decision_time(description: str) -> Any:
    """The field for the decision time of a router or a multiplexer, in cycles per header."""
    return integer(1, description, least=1, most=2**10, title="Decision time", plain=1)
