"""What is behind the outputs of a switch."""

from dataclasses import dataclass

from ..fabric.checks import check_field, check_word
from ..primitives.class_arbiter import ClassArbiter
from .shape import SWITCHINGS, Switching

__all__ = ["Exit"]


@dataclass(frozen=True)
class Exit:
    """What is behind the outputs.

    Attributes
    ----------
    buffer : int
        Flits that fit into a buffer at each output; 0 for none.
    switching : "wormhole", "cut-through" or "store-and-forward"
        Whether a header goes over a link only while its whole packet fits into the queue behind it.
    longest : int
        Flits of the longest packet; not for wormhole switching.
    arbiter : ClassArbiter, optional
        Which channel of a link uses its wires, if they are of several classes of messages: by
        default, all go in turn.
    """

    buffer: int = 0
    switching: Switching = "wormhole"
    longest: int = 1
    arbiter: ClassArbiter | None = None

    def __post_init__(self) -> None:
        check_field(self, "buffer", "Output depth", 0)
        check_word("Switching", self.switching, SWITCHINGS)
