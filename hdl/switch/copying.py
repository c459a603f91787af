"""Packets for several exits at an input of a switch."""

from amaranth.hdl import Module, Mux, Signal, Value

from ..graphs.routing.group_tree import Kind
from .entry import at_header
from .waiting import Waiting

__all__ = ["Copying"]


class Copying:
    """Which exits the packet at an input still needs, if it may be for several.

    *At once*: the header takes exits as they are granted, and its worm holds them. Each exit takes
    a flit when it can; the next flit follows when all exits of the packet have taken this one.

    *In passes*, if the queue holds the whole packet: the header takes those exits that it is
    granted in the same cycle, and its worm leaves by these. If it needs others too, the packet
    stays, and then leaves by these. So it holds nothing while it waits.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    name : str
        A suffix for the names of signals.
    one : Waiting
        What is at the head of the queue.
    outputs : int

    Attributes
    ----------
    several : Signal
        It is the header of a multicast.
    given : Signal
        The outputs that have taken this flit already, one bit each.
    served : Signal
        In passes: those by which the packet has left already.
    """

    def __init__(self, m: Module, name: str, one: Waiting, outputs: int) -> None:
        self._head, self._last, self._queue = one.head, one.last, one.queue
        self.several = Signal(name=f"several_{name}")
        self.given, self.served = (
            Signal(outputs, name=f"{each}_{name}") for each in ("given", "served")
        )
        self._stays = Signal(name=f"stays_{name}")
        self._name = name
        begins = one.begins
        if begins is None:
            moves = one.head.valid & one.head.ready
            begins = at_header(m, f"copies_{name}", moves, one.last)
        self._begins = begins
        m.d.comb += self.several.eq(begins & (one.header.kind == Kind.MULTICAST))

    def wanted(self, asked: Value, kept: Value, choice: bool) -> Value:
        """The exits that a header may request, besides those that it has, of those it is for.

        `kept` are those that it has; with a `choice`, a packet for one terminal asks for no other.
        A header that is to be merged has no exits.
        """
        silent: Value = ~self._begins
        if self._queue is not None:
            silent, asked = silent | kept.any(), asked & ~self.served
        elif choice:
            silent = silent | (kept.any() & ~self.several)
        return Mux(silent, 0, asked)

    def ready(
        self,
        m: Module,
        asked: Value,
        takes: Value,
        kept: Value,
        uses: Value,
        passed: Value,
        choice: bool,
    ) -> Signal:
        """Whether the flit leaves its queue in this cycle, if it is valid.

        It does when the last exit takes it. `asked` are the exits that the header is for, `takes`
        those that it is granted, `kept` and `uses` those that it has before and with these, and
        `passed` those that take what they are shown. With a `choice`, a packet for one terminal
        leaves by one of those that it is for.
        """
        head = self._head
        taken, pending = (
            Signal(len(uses), name=f"{each}_{self._name}") for each in ("taken", "pending")
        )
        ready = Signal(name=f"all_taken_{self._name}")
        if self._queue is not None:
            target: Value = uses
        elif choice:
            target = uses | Mux(self.several, asked, 0)
        else:
            target = Mux(self._begins, asked, kept)
        m.d.comb += [
            taken.eq(self.given | (uses & passed)),
            pending.eq(target & ~taken),
            ready.eq(target.any() & ~pending.any()),
        ]
        with m.If(head.valid):
            m.d.sync += self.given.eq(Mux(ready, 0, taken))
        if self._queue is not None:
            stays = Signal(name=f"again_{self._name}")
            more = self.several & (asked & ~self.served & ~takes).any()
            m.d.comb += [
                stays.eq(Mux(kept.any(), self._stays, more)),
                self._queue.stays.eq(stays),
                self._queue.last.eq(self._last),
            ]
            m.d.sync += self._stays.eq(stays)
            with m.If(head.valid & ready & self._last):
                m.d.sync += self.served.eq(Mux(stays, self.served | uses, 0))
        return ready
