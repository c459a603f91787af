"""Small parts of the test bench: the common timer, meters, and records of latencies."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = [
    "COUNT_BITS",
    "SUM_BITS",
    "EventMeter",
    "LevelMeter",
    "LinkMeter",
    "Timer",
    "WindowAges",
    "latency_members",
    "record_latency",
    "window_members",
]

COUNT_BITS = 32
"""Width of a counter of events, at most one per cycle: runs have fewer than 2^32 cycles."""

SUM_BITS = 64
"""Width of a sum of latencies: fewer than 2^32 of them, each shorter than the run."""


class Timer(wiring.Component):
    """Counts cycles; the first cycle after reset is number 0.

    Members
    -------
    now : Out(32)
    """

    def __init__(self) -> None:
        super().__init__({"now": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.now.eq(self.now + 1)
        return m


class WindowAges(wiring.Component):
    """The latencies at which a packet that arrives now was born in the measurement window.

    The window is the span of cycles in which `measure` is 1, the first such span after reset. The
    packet was generated in it if its latency is from `least` to `most`; before the window `least`
    is the greater of the two. `most` stops at its largest value.

    Parameters
    ----------
    time : int
        Width of latencies.

    Members
    -------
    measure : In(1)
    least, most : Out(time)
    """

    def __init__(self, time: int) -> None:
        self.time = time
        super().__init__(
            {"measure": In(1), "least": Out(time, init=(1 << time) - 1), "most": Out(time)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begun = Signal()
        with m.If(begun):
            m.d.sync += self.most.eq(self.most + ~self.most.all())
            with m.If(~self.measure):
                m.d.sync += self.least.eq(self.least + ~self.least.all())
        with m.Elif(self.measure):
            m.d.sync += [begun.eq(1), self.least.eq(0)]
        return m


class LinkMeter(wiring.Component):
    """Counts the packets that cross links while `measure` is 1, without affecting them.

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
        Packets counted so far.
    """

    def __init__(self, links: int) -> None:
        links = check_integer("Links", links, 1)
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


class EventMeter(wiring.Component):
    """Counts events that a component signals: packets dropped, requests combined.

    Parameters
    ----------
    width : int
        Width of `events`, at least 1.
    number : bool
        Whether `events` is their number in this cycle, or has one bit per event.

    Members
    -------
    measure : In(1)
    events : In(width)
    total : Out(32 + c)
        Events so far; c is the smallest number for which 2^c is at least the largest number of
        events per cycle.
    measured : Out(32 + c)
        Events while `measure` was 1.
    """

    def __init__(self, width: int, *, number: bool = False) -> None:
        width = check_integer("Width", width, 1)
        self.number = number
        count = COUNT_BITS + (width if number and width > 1 else (width - 1).bit_length())
        super().__init__(
            {"measure": In(1), "events": In(width), "total": Out(count), "measured": Out(count)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now = self.events if self.number else sum(self.events, start=0)
        m.d.sync += self.total.eq(self.total + now)
        with m.If(self.measure):
            m.d.sync += self.measured.eq(self.measured + now)
        return m


class LevelMeter(wiring.Component):
    """Records the sum and maximum of the level of a queue while `measure` is 1.

    Parameters
    ----------
    width : int
        Width of `level`, at least 1.

    Members
    -------
    measure : In(1)
    level : In(width)
        Items in the queue in this cycle.
    sum : Out(32 + width)
        Sum of the levels of all cycles.
    max : Out(width)
    """

    def __init__(self, width: int) -> None:
        width = check_integer("Width", width, 1)
        super().__init__(
            {
                "measure": In(1),
                "level": In(width),
                "sum": Out(COUNT_BITS + width),
                "max": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.measure):
            m.d.sync += self.sum.eq(self.sum + self.level)
            with m.If(self.level > self.max):
                m.d.sync += self.max.eq(self.level)
        return m


def window_members(time: int) -> dict[str, wiring.Member]:
    """The members of a component that records the latencies of packets born in the window."""
    return {"least": In(time), "most": In(time), "timed": Out(COUNT_BITS)}


def latency_kinds(network: bool) -> tuple[str, ...]:
    """The kinds of latency that are recorded: always total, and within the network if asked for."""
    return ("total", "network") if network else ("total",)


def latency_members(kind: str, time: int) -> dict[str, wiring.Member]:
    """The members of a component that records latencies of a kind: their sum and maximum."""
    return {f"{kind}_sum": Out(SUM_BITS), f"{kind}_max": Out(time)}


def record_latency(
    m: Module, component: wiring.Component, kind: str, latency: Signal, recorded: Signal
) -> None:
    """Add latencies of a kind to a component's sum, maximum and histogram.

    The component has `latency_members(kind)`, and a memory `{kind}_histogram` with one count per
    bin, which becomes its submodule of this name. The last bin also counts all longer latencies.

    Parameters
    ----------
    latency : Signal
        Valid in the cycle *before* the one in which `recorded` is 1.
    """
    histogram = m.submodules[f"{kind}_histogram"] = getattr(component, f"{kind}_histogram")
    update = histogram.write_port()
    count = histogram.read_port(transparent_for=[update])
    bins = histogram.depth
    bin_ = Signal(range(bins), name=f"{kind}_bin")
    held = Signal.like(latency, name=f"{kind}_held")
    m.d.comb += [
        count.addr.eq(Mux(latency < bins, latency, bins - 1)),
        update.addr.eq(bin_),
        update.data.eq(count.data + 1),
        update.en.eq(recorded),
    ]
    m.d.sync += [bin_.eq(count.addr), held.eq(latency)]
    total, longest = getattr(component, f"{kind}_sum"), getattr(component, f"{kind}_max")
    with m.If(recorded):
        m.d.sync += total.eq(total + held)
        with m.If(held > longest):
            m.d.sync += longest.eq(held)
