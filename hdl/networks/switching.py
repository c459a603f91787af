"""The ways to run a multistage network: which parameters each has, and what they may be."""

from dataclasses import dataclass, field
from typing import Literal

from ..checks import check_integer, check_limit
from ..errors import InvalidValue
from ..switches.circuit import POLICIES

__all__ = [
    "NEUTRAL",
    "OPTIONS",
    "QUEUES",
    "REFILLS",
    "SWITCHES",
    "Switching",
    "parse_lengths",
    "resolve_depth",
]

REFILLS = ("auto", "yes", "no")
"""Whether a slot of a queue that is freed in a cycle can be filled in the same cycle."""


QUEUES = ("input", "crosspoint")
"""Where a cut-through switch has its queues."""


NEUTRAL: dict[str, int | str] = {
    "length": 1,
    "policy": "hold",
    "hold_limit": 16,
    "dilation": 1,
    "replication": 1,
    "resubmit": 0,
    "broadcast": 0,
    "refill": "auto",
    "queues": "input",
    "extra_stage": 0,
    "parity": "none",
    "faults": "",
}
"""Values that make a plain network: packets of one flit, which are never dropped."""


@dataclass(frozen=True)
class Switching:
    """What is special about one kind of switch.

    Attributes
    ----------
    description : str
    flits : bool
        Whether packets have several flits.
    depth : int or None
        The only depth of its queues; None if there is a choice.
    policies : tuple[str, ...]
        Those it can have; the first is its own.
    options : frozenset[str]
        Of the parameters `OPTIONS`, those that it takes.
    resubmit : int
        Its own value of the parameter, for the policies that drop.
    """

    description: str
    flits: bool = False
    depth: int | None = None
    policies: tuple[str, ...] = ("hold",)
    options: frozenset[str] = field(default_factory=frozenset)
    resubmit: int = 0


OPTIONS = ("dilation", "replication", "resubmit", "broadcast", "refill", "queues", "extra_stage")
"""Parameters that not all kinds of switch have."""

_QUEUED = frozenset({"replication", "broadcast", "refill", "extra_stage"})

SWITCHES: dict[str, Switching] = {
    "unbuffered": Switching(
        "one register a link; packets that lose a conflict are dropped",
        depth=1,
        policies=("drop",),
        options=frozenset({"dilation", "replication", "resubmit", "broadcast"}),
    ),
    "single-buffered": Switching("room for one packet at each input", depth=1, options=_QUEUED),
    "input-queued": Switching("a queue of packets at each input", options=_QUEUED),
    "output-queued": Switching(
        "a queue of packets at each output, which takes all arrivals at once", options=_QUEUED
    ),
    "wormhole": Switching(
        "a queue of flits at each input; a blocked packet waits wherever its flits are",
        flits=True,
        policies=("hold", "drop"),
        options=frozenset({"replication", "resubmit", "refill"}),
        resubmit=16,
    ),
    "cut-through": Switching(
        "as wormhole, but a blocked packet is taken in wholly where its header waits",
        flits=True,
        options=frozenset({"replication", "queues"}),
    ),
    "circuit": Switching(
        "no storage: a path is set up, held for a packet, and released",
        flits=True,
        depth=0,
        policies=POLICIES,
        options=frozenset({"resubmit", "extra_stage"}),
        resubmit=8,
    ),
}
"""The kinds of switch that a multistage network can be made of, by name."""


def parse_lengths(length: int | str) -> tuple[int, int]:
    """Fewest and most flits of a packet: of a number, or of `LOW:HIGH`.

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
        check_integer("Length", number, 1)
        check_limit("Length", number, 1024)
    low, high = int(words[0]), int(words[-1])
    if low > high:
        raise InvalidValue(f"Length must be LOW:HIGH with LOW at most HIGH, not {length!r}")
    return low, high


def resolve_depth(switch: str, depth: int | Literal["auto"], longest: int) -> int:
    """The depth of a switch's queues: as asked, or its own.

    Raises
    ------
    TypeError, ValueError
        If the switch can't have this depth.
    """
    only = SWITCHES[switch].depth
    if depth == "auto":
        if only is not None:
            return only
        return max(4, 2 * longest) if switch == "cut-through" else 4
    depth = check_integer("Depth", depth, 0)
    if only is not None:
        if depth != only:
            raise InvalidValue(f"Depth of switch {switch} must be {only}, not {depth}")
    elif depth < 1:
        raise InvalidValue(f"Depth must be at least 1, not {depth}")
    check_limit("Depth", depth, 2**16)
    return depth
