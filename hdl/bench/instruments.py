"""Small parts of the bench: the clock that all parts read, and meters on links."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer

__all__ = ["COUNT_BITS", "DropMeter", "LinkMeter", "Timer"]

COUNT_BITS = 32


class Timer(wiring.Component):
    """Tells the number of the current cycle; the first after reset is 0.

    Members
    -------
    now : Out(32)
    """

    now: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.now.eq(self.now + 1)
        return m


class LinkMeter(wiring.Component):
    """Counts the packets that cross links while `measure` is 1, without touching them.

    Parameters
    ----------
    links : int
        Number of links, at least 1.

    Members
    -------
    measure : In(1)
    valid, ready : In(1).array(links)
        The handshakes of the links.
    crossed : Out(ArrayLayout(32, links))
        Packets so far.
    """

    def __init__(self, links: int) -> None:
        check_integer("Links", links, 1)
        self.links = links
        super().__init__(
            {
                "measure": In(1),
                "valid": In(1).array(links),
                "ready": In(1).array(links),
                "crossed": Out(data.ArrayLayout(COUNT_BITS, links)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for link in range(self.links):
            crosses = self.measure & self.valid[link] & self.ready[link]
            m.d.sync += self.crossed[link].eq(self.crossed[link] + crosses)
        return m


class DropMeter(wiring.Component):
    """Counts what a component drops.

    Parameters
    ----------
    width : int
        Width of `dropped`, at least 1.
    number : bool
        Whether `dropped` is a number, or a pulse in each of its bits.

    Members
    -------
    measure : In(1)
    dropped : In(width)
    total : Out(32)
        Packets so far.
    measured : Out(32)
        Those dropped while `measure` was 1.
    """

    def __init__(self, width: int, *, number: bool = False) -> None:
        check_integer("Width", width, 1)
        self.number = number
        super().__init__(
            {
                "measure": In(1),
                "dropped": In(width),
                "total": Out(COUNT_BITS),
                "measured": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now = self.dropped if self.number else sum(self.dropped, start=0)
        m.d.sync += self.total.eq(self.total + now)
        with m.If(self.measure):
            m.d.sync += self.measured.eq(self.measured + now)
        return m
