"""Protocol deadlock: terminals that take a message only when they can send another one.

A memory, for example, takes a request only while it has room for the reply. Then what arrives waits
for what is to be sent, and channels wait for each other by way of terminals, too. Whether they do
so in a cycle depends on the classes of messages: replies that never wait for requests, because they
have channels of their own, end every wait.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from ...fabric.errors import InvalidValue
from ...fabric.numerals import is_natural
from .deadlock import WormNetwork

__all__ = ["ClassNetwork", "Replying", "parse_reply"]

Channel = TypeVar("Channel", bound=Hashable)


class ClassNetwork(WormNetwork[Channel], Protocol):
    """The channels of a network whose messages have classes, as `PacketNetwork` describes them.

    Attributes
    ----------
    sinks : int
        Endpoints: number t * classes + k is that of class k at terminal t.
    classes : int
    """

    classes: int

    def starts(self, source: int, destination: int) -> Collection[Channel]:
        """The channels that a header may take first."""


class Replying(Generic[Channel]):
    """A network whose terminals take a message of one class only when they can send one of another.

    What waits at a terminal waits for the first channel of what it causes, which may be for any
    other terminal. `deadlock_cycle` of this looks for a cycle.

    Parameters
    ----------
    network : ClassNetwork
    replies : Iterable[tuple[int, int]]
        Pairs of classes: a message of the first one causes one of the second.

    Raises
    ------
    ValueError
        If there is no such class.
    """

    def __init__(self, network: ClassNetwork[Channel], replies: Iterable[tuple[int, int]]) -> None:
        self._network = network
        self._replies = [*replies]
        self.sinks = network.sinks
        for one in {one for pair in self._replies for one in pair}:
            if one not in range(network.classes):
                raise InvalidValue(
                    f"Classes of a reply must be from 0 to {network.classes - 1} in this network, "
                    f"not {one}"
                )

    def is_escape(self, channel: Channel) -> bool:
        return self._network.is_escape(channel)

    def moves(self, destination: int) -> Mapping[Channel, Collection[Channel]]:
        """As in `WormNetwork`; a reply comes from the channel by which its cause arrives."""
        network, count = self._network, self._network.classes
        moves = {before: [*after] for before, after in network.moves(destination).items()}
        terminal, own = divmod(destination, count)
        for cause, effect in self._replies:
            if effect != own:
                continue
            for replier in range(self.sinks // count):
                if replier != terminal:
                    came = self._exits[replier * count + cause]
                    moves[came] = [*network.starts(replier * count + own, destination)]
        return moves

    @cached_property
    def _exits(self) -> list[Channel]:
        """The channel to each endpoint."""
        found = []
        for endpoint in range(self.sinks):
            (last,) = (each for each, after in self._network.moves(endpoint).items() if not after)
            found.append(last)
        return found


def parse_reply(text: str) -> tuple[int, int]:
    """A pair of classes from a text.

    >>> parse_reply("0:1")
    (0, 1)

    Raises
    ------
    ValueError
        If it is not CLASS:CLASS.
    """
    words = text.split(":")
    if len(words) != 2 or not all(map(is_natural, words)):
        raise InvalidValue(f"Reply must be CLASS:CLASS, such as 0:1, not {text!r}")
    return int(words[0]), int(words[1])
