"""The order of the messages in a node."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from .message import Message

__all__ = ["PRIORITIES", "Seniority"]

PRIORITIES = ("oldest", "fixed")
"""What the order of messages depends on: their age, or their place in the node."""


class Seniority(wiring.Component):
    """Orders the messages in a node. Combinational.

    If messages carry their time of injection, older ones come first. Of those injected in the same
    step, anywhere in the machine, the message with the higher destination address comes first. Of
    those with the same destination (which a router can't tell apart), the message in the place with
    the lower number comes first. Without the time of injection, only the places decide.

    Parameters
    ----------
    message : Message
    places : int
        Places of the node where a message can be.

    Members
    -------
    address : In(dimensions)
        Address of the node. Constant. Only if messages have an age.
    now : In(age)
        Number of this step. Only if messages have an age.
    i : In(message).array(places)
    before : Out(places).array(places)
        Bit j of `before[i]` is 1 if place j comes before place i.
    """

    def __init__(self, message: Message, *, places: int) -> None:
        places = check_integer("Places", places, 1)
        self.message = message
        self.places = places
        members = message.members
        self.ages = "born" in members
        aged = {"address": In(members["relative"]), "now": In(members.get("born", 0))}
        super().__init__(
            {
                **(aged if self.ages else {}),
                "i": In(message).array(places),
                "before": Out(places).array(places),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        keys = []
        if self.ages:
            for index, message in enumerate(self.i):
                age = Signal(len(message.born), name=f"age_{index}")
                m.d.comb += age.eq(self.now - message.born)
                processor = message.processor if "processor" in self.message.members else Cat()
                keys.append(Cat(processor, message.relative ^ self.address, age))
        for i in range(self.places):
            for j in range(i + 1, self.places):
                first = Signal(init=1, name=f"first_{i}_{j}")
                if keys:
                    m.d.comb += first.eq(keys[i] >= keys[j])
                else:
                    m.d.comb += first.eq(1)
                m.d.comb += [self.before[i][j].eq(~first), self.before[j][i].eq(first)]
        return m
