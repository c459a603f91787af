"""Route: "switching a message to a wire"."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import earliest

__all__ = ["Route"]


class Route(wiring.Component):
    """Gives each wire the first of the messages that it brings closer to their destination.

    The wires choose one after the other, lowest dimension first, each from the messages that have
    no wire yet. So the first message of all gets a wire if it wants any, and a message that gets
    none finds no free wire that it wants. Combinational.

    Parameters
    ----------
    places, wires : int
        Places of the node where a message can be, and wires that can take one in a step.

    Members
    -------
    wanted : In(wires).array(places)
        For each place: the wires that its message wants; none if there is no message to send.
    before : In(places).array(places)
        As in `Seniority`.
    sent : Out(places).array(wires)
        For each wire: the place whose message it takes, if any. At most one bit is 1.
    """

    def __init__(self, *, places: int, wires: int) -> None:
        places = check_integer("Places", places, 1)
        wires = check_integer("Wires", wires, 1)
        self.places = places
        self.wires = wires
        super().__init__(
            {
                "wanted": In(wires).array(places),
                "before": In(places).array(places),
                "sent": Out(places).array(wires),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(self.places, init=-1, name="left_0")
        m.d.comb += left.eq(~0)
        for w, sent in enumerate(self.sent):
            wanting = Signal(self.places, name=f"wanting_{w}")
            for i, wanted in enumerate(self.wanted):
                m.d.comb += wanting[i].eq(wanted[w] & left[i])
            for i, flag in enumerate(earliest(wanting, self.before)):
                m.d.comb += sent[i].eq(flag)
            rest = Signal(self.places, name=f"left_{w + 1}")
            m.d.comb += rest.eq(left & ~sent)
            left = rest
        return m
