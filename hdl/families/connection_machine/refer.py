"""Refer: "sending a message over a random wire when buffer space is exhausted"."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import ones

__all__ = ["Refer"]


class Refer(wiring.Component):
    """Deflects the messages for which there is no buffer, over wires that they do not want.

    Deflect is the usual term; Stanfill calls this refer. The messages that come first stay, as many
    as there are buffers. The others take the free wires in order: the message in the lowest place
    takes the wire of the lowest dimension. Combinational.

    There are always enough wires, because the number of all wires, used or free, is the largest
    number of messages that can exceed the buffers.

    Parameters
    ----------
    places, wires : int
        Places of the node where a message can be, and wires that can take one in a step. The
        difference is the number of buffers.

    Members
    -------
    left : In(places)
        Places whose messages are neither delivered nor routed.
    free : In(wires)
        Wires that are not used.
    before : In(places).array(places)
        As in `Seniority`.
    sent : Out(places).array(wires)
        For each wire: the place whose message is deflected over it, if any.
    referred : Out(range(wires + 1))
        Number of messages deflected in this step.
    """

    def __init__(self, *, places: int, wires: int) -> None:
        wires = check_integer("Wires", wires, 1)
        places = check_integer("Places", places, wires + 1)
        self.places = places
        self.wires = wires
        self.buffers = places - wires
        super().__init__(
            {
                "left": In(places),
                "free": In(wires),
                "before": In(places).array(places),
                "sent": Out(places).array(wires),
                "referred": Out(range(wires + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        refer = Signal(self.places)
        for i in range(self.places):
            ahead = ones(self.left & self.before[i])
            m.d.comb += refer[i].eq(self.left[i] & (ahead >= self.buffers))
        # At most as many messages are deflected as there are wires.
        number = [Signal(range(self.wires + 1), name=f"number_{i}") for i in range(self.places + 1)]
        for i in range(self.places):
            m.d.comb += number[i + 1].eq(number[i] + refer[i])
        m.d.comb += self.referred.eq(number[-1])
        wire = [Signal(range(self.wires + 1), name=f"wire_{w}") for w in range(self.wires + 1)]
        for w, sent in enumerate(self.sent):
            m.d.comb += [
                wire[w + 1].eq(wire[w] + self.free[w]),
                sent.eq(
                    Cat(
                        self.free[w] & refer[i] & (number[i] == wire[w]) for i in range(self.places)
                    )
                ),
            ]
        return m
