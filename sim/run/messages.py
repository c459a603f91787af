"""Messages with values, and what comes of sending them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Copies", "CopyRun", "Message", "MessageRun"]


class Message(NamedTuple):
    """A value sent from one terminal to another.

    Attributes
    ----------
    source, destination : int
        Terminals, which may be the same.
    value : int
        In the range of the network's payload shape.

    Examples
    --------
    >>> from multicube.sim import Message
    >>> Message(source=0, destination=3, value=10)
    Message(source=0, destination=3, value=10)
    """

    source: int
    destination: int
    value: int


class Copies(NamedTuple):
    """A value sent from one terminal to several others.

    Attributes
    ----------
    source : int
        The terminal that has the value.
    destinations : Sequence[int]
        The terminals that get it.
    value : int
        An unsigned number that fits into a packet.
    """

    source: int
    destinations: Sequence[int]
    value: int


@dataclass(frozen=True)
class MessageRun:
    """The result of sending messages at the same time.

    Attributes
    ----------
    engine : str
        The engine that was used.
    operation : str
        The operation that combined values.
    cycles : int
        From the first offer to the last delivery: h + 2 for one message over h wires of a
        `ConnectionMachine` with word-wide wires, 0 if there were no messages.
    sent, delivered : int
        Messages sent, and messages delivered.
    combined : int
        Messages that were combined into others: those sent minus those delivered.
    referred : int
        How many times the network deflected a message (sent it away from its destination) because
        a node had no room for it.
    values : list[int | None]
        By terminal: the value of its messages, folded; None if it received none.
    deliveries : list[int]
        Number of messages delivered, by terminal.
    """

    engine: str
    operation: str
    cycles: int
    sent: int
    delivered: int
    combined: int
    referred: int
    values: list[int | None]
    deliveries: list[int]

    def __repr__(self) -> str:
        done = f"{self.combined} combined, {self.delivered} delivered, {self.referred} referred"
        return f"<MessageRun of {self.sent} messages: {done}, in {self.cycles} cycles>"


@dataclass(frozen=True)
class CopyRun:
    """The result of copying values.

    Attributes
    ----------
    rounds : list[MessageRun]
        The messages of each round.
    values : list[int | None]
        By terminal: its own value if it is a source, its copy if it received one, or None.
    """

    rounds: list[MessageRun]
    values: list[int | None]

    def __repr__(self) -> str:
        return f"<CopyRun of {len(self.rounds)} rounds in {self.cycles} cycles>"

    @property
    def cycles(self) -> int:
        """Cycles of all rounds together."""
        return sum(run.cycles for run in self.rounds)
