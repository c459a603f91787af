"""Parameters shared by networks of flits: the length of packets, queues, the decision time."""

from typing import Any

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..core.parameters import integer, word

__all__ = [
    "LONGEST",
    "REFILLS",
    "decision_time",
    "flit_queue",
    "packet_length",
    "parse_lengths",
    "queue_refill",
]

REFILLS = ("no", "yes")

LONGEST = 1024
"""Most flits of a packet."""


def packet_length(
    description: str = "flits of a packet", form: str = "LOW:HIGH", plain: int | None = None
) -> Any:
    """The field for the length of a network's packets."""
    return integer(1, description, least=1, most=LONGEST, form=form, plain=plain)


def parse_lengths(length: int | str) -> tuple[int, int]:
    """Fewest and most flits of a packet, from a number or `LOW:HIGH`.

    Raises
    ------
    TypeError, ValueError
        If it is neither, or not from 1 to 1,024, or the bounds are in the wrong order.
    """
    words: list[int] = []
    if isinstance(length, str):
        try:
            words = [int(word) for word in length.split(":")]
        except ValueError:
            words = []
        if len(words) not in (1, 2):
            raise InvalidValue(f"Length must be a number of flits or LOW:HIGH, not {length!r}")
    else:
        words = [length]
    for number in words:
        number = check_integer("Length", number, 1, LONGEST)
    low, high = words[0], words[-1]
    if low > high:
        raise InvalidValue(f"Length must be LOW:HIGH with LOW at most HIGH, not {length!r}")
    return low, high


def flit_queue() -> Any:
    """The field for the number of flits that fit into each queue of a router."""
    return integer(4, "flits that fit into each queue", least=1, most=2**16)


def queue_refill() -> Any:
    """The field that says whether queues accept a flit in the cycle in which their head leaves."""
    return word("no", "a slot freed in a cycle can be filled in the same one", REFILLS, plain="no")


def decision_time(description: str) -> Any:
    """The field for the decision time of a router or a multiplexer, in cycles per header."""
    return integer(1, description, least=1, most=2**10, title="Decision time")
