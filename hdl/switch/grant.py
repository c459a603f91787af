"""Who gets an output of a switch: the arbiter, the selection, and for how long a header waits."""

from dataclasses import dataclass

from ..fabric.checks import check_field
from .selection import Selection

__all__ = ["Grant"]


@dataclass(frozen=True)
class Grant:
    """How headers get an output.

    Attributes
    ----------
    arbiter : str
        One of `primitives.arbiters.ARBITERS`.
    decision : int
        Cycles that a header which goes on over a link spends at the head of its queue, at least 1.
    selection, weights
        As in `RoutedSwitch`.
    timeout : int
        Cycles after which a header that does not move is discarded with its packet; 0 for never.
    """

    arbiter: str = "round-robin"
    decision: int = 1
    selection: Selection = "first-free"
    weights: int = 1
    timeout: int = 0

    def __post_init__(self) -> None:
        check_field(self, "decision", "Decision time", 1)
        check_field(self, "timeout", "Timeout", 0)
