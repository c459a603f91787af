"""The communication controller of a node: switches of one send port and one receive port."""

from amaranth.hdl import Cat, Module, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..links.controller_port import ControllerPort, Lane

__all__ = ["CommunicationController", "SilentLane"]


class CommunicationController(wiring.Component):
    """Connects a processor's send port to one of its links, and its receive port to another.

    This is the controller of Ginosar and Egozi (1989, section 3, Fig. 1): in each cycle it switches
    the whole rate of the send port to one link, and that of another link to the receive port. It
    stores nothing. A link has a lane for each direction. Their links pass words in one direction at
    a time, so only one of the two lanes may be used in a cycle; `clash` shows if both are.

    Combinational: a word goes from the sender's processor to that of the receiver in one cycle. No
    path leads from a received word to one that is sent.

    Parameters
    ----------
    word : ShapeLike
        Shape of a word.
    links : int
        At least 1.

    Members
    -------
    processor : In(ControllerPort(word, links=links))
    i : In(Lane(word)).array(links)
    o : Out(Lane(word)).array(links)
        All have the word that is sent; it is valid on one.
    """

    def __init__(self, word: ShapeLike, *, links: int) -> None:
        port = ControllerPort(word, links=links)
        self.word = word
        self.links = links
        super().__init__(
            {
                "processor": In(port),
                "i": In(Lane(word)).array(links),
                "o": Out(Lane(word)).array(links),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.processor
        came = Cat(lane.valid for lane in self.i)
        heard = Cat(port.receives & (port.input == link) for link in range(self.links))
        sent = Cat(port.send.valid & (port.output == link) for link in range(self.links))
        for link, lane in enumerate(self.o):
            m.d.comb += [lane.valid.eq(sent[link]), lane.word.eq(port.send.word)]
        with m.Switch(port.input):
            for link, lane in enumerate(self.i):
                with m.Case(link):
                    m.d.comb += port.received.word.eq(lane.word)
        m.d.comb += [
            port.received.valid.eq((came & heard).any()),
            port.clash.eq((came & sent).any()),
            port.missed.eq((came & ~heard).any()),
        ]
        return m


class SilentLane(wiring.Component):
    """The missing direction of a one-way link: no word ever comes.

    Parameters
    ----------
    word : ShapeLike

    Members
    -------
    o : Out(Lane(word))
    """

    auxiliary = True

    def __init__(self, word: ShapeLike) -> None:
        super().__init__({"o": Out(Lane(word))})

    def elaborate(self, platform: object) -> Module:
        return Module()
