"""The port of a communication controller, and the wires of its links."""

from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = ["ControllerPort", "Lane"]


class Lane(data.StructLayout):
    """One direction of a link in a cycle: a word, if it is `valid`."""

    def __init__(self, word: ShapeLike) -> None:
        super().__init__({"valid": 1, "word": word})


class ControllerPort(wiring.Signature):
    """The side of the processor, which controls its communication controller.

    Members
    -------
    send : Out(Lane(word))
        The word to send, if it is valid.
    output : Out(index)
        Number of the link that it is sent on.
    receives : Out(1)
        A word is received in this cycle.
    input : Out(index)
        Number of the link that it is received on.
    received : In(Lane(word))
        What comes on this link; not valid if nothing does, or nothing is to be received.
    clash : In(1)
        A word comes on the link that one is sent on.
    missed : In(1)
        A word comes on a link that is not received.
    """

    def __init__(self, word: ShapeLike, *, links: int) -> None:
        links = check_integer("Links", links, 1)
        self.word = word
        self.links = links
        index = max(1, (links - 1).bit_length())
        super().__init__(
            {
                "send": Out(Lane(word)),
                "output": Out(index),
                "receives": Out(1),
                "input": Out(index),
                "received": In(Lane(word)),
                "clash": In(1),
                "missed": In(1),
            }
        )
