"""The wires between a core and what sends and receives its messages."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MessagePorts"]


class MessagePorts(wiring.Signature):
    """Words that a core sends and receives, as the core sees it.

    Members
    -------
    sends : Out(1)
        A word is offered. It stays until it is taken.
    destination : Out(16)
        For which core.
    sent : Out(32)
    taken : In(1)
        The word is taken in this cycle, if one is offered.
    arrived : In(1)
        There is a word.
    sender : In(16)
        Which core sent it.
    received : In(32)
    takes : Out(1)
        It is received in this cycle.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "sends": Out(1),
                "destination": Out(16),
                "sent": Out(32),
                "taken": In(1),
                "arrived": In(1),
                "sender": In(16),
                "received": In(32),
                "takes": Out(1),
            }
        )
