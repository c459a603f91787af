"""Combinations that switches refuse, whatever they are part of."""

from ..fabric.errors import InvalidValue

__all__ = ["check_room"]


def check_room(depth: int, longest: int, reason: str = "") -> None:
    """Raise ValueError if a queue has no room for the longest packet.

    A header that waits for this room would wait for ever; with copies, packets could wait for each
    other.

    Parameters
    ----------
    depth, longest : int
        Flits that fit into the queue, and those of the longest packet.
    reason : str
        What needs the room, as the end of the message says it: "with broadcast=1".
    """
    if depth < longest:
        because = f" {reason}" if reason else ""
        raise InvalidValue(
            f"Depth must be at least the length of {longest} flits{because}, not {depth}"
        )
