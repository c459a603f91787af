"""The switch with queues at its outputs, for packets that are single words."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring

from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.lane_queue import LaneQueue
from .entry import OutputQueue
from .route import RouteLogic
from .routed_switch import RoutedSwitch
from .selection import Selection
from .shape import RouterShape

__all__ = ["OutputQueued"]


class OutputQueued(RoutedSwitch):
    """A queue at each output, which packets from several inputs can enter in a cycle.

    So no packet waits for one that leaves by another output. A packet leaves in the cycle after it
    came, if no other is before it. If its queue is full, it waits outside.

    *Packets with a length* stand for as many flits: one is on a link for its length times the
    link's `interval` cycles, in which it is at the head of the queue, and enters the next switch in
    the last of them. Another one can follow at once. It leaves to a terminal without delay.

    *Bundles* (`shape.lanes`) have a `LaneQueue` at each output: its free lanes show the next
    packets.

    A header that may take several outputs enters the queue of one of them, by its `selection`.

    `o` depends on registers and memories only. `i[*].ready` depends on the valid signals, the tags
    and the registers of this switch, and with `refill` on `o[*].ready` (not in bundles).

    Parameters
    ----------
    packet, shape, selection, weights
        As in `RoutedSwitch`. Links have one channel each. The selection must not be "first-free" if
        headers have a choice.
    route : RouteLogic or None
        None if outputs are looked up outside.
    entry : OutputQueue

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.

    Raises
    ------
    ValueError
        If the choices do not go together.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        route: RouteLogic | None,
        entry: OutputQueue,
        selection: Selection = "first-free",
        weights: int = 1,
    ) -> None:
        if any(len(link) > 1 for link in shape.links):
            raise InvalidValue("Links must have one channel each")
        if shape.choice and selection == "first-free":
            raise InvalidValue("Selection must not be first-free if headers have a choice")
        self.entry = entry
        super().__init__(
            packet, shape, logic=route, selection=selection, weights=weights, members={}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = self.shape.outputs
        requested = self._selected(m)
        # By output and input, where packets may enter.
        arrivals: dict[int, dict[int, stream.Interface]] = {}
        left: list[Value] = [Const(0)] * len(outputs)
        for j, output in enumerate(outputs):
            if output.inputs:
                entries, left[j] = self._queue(m, j, len(output.inputs))
                arrivals[j] = dict(zip(output.inputs, entries))
        for i, source in enumerate(self.i):
            own = {j: arrivals[j][i] for j in self._exits(i)}
            wanted: Value = requested[i]
            if self.packet.broadcast:
                ready = Cat(own[j].ready if j in own else Const(0) for j in range(len(outputs)))
                wanted = self._copies(m, i, source, wanted, ready)
            else:
                taken = [wanted[j] & arrival.ready for j, arrival in own.items()]
                # In a bundle the sender shows a packet with `valid` only once it can go.
                offered = source.valid if self.shape.lanes == 1 else 1
                m.d.comb += source.ready.eq(offered & Cat(taken).any())
            for j, arrival in own.items():
                m.d.comb += [
                    arrival.valid.eq(source.valid & wanted[j]),
                    arrival.payload.eq(self._forwarded(source.payload)),
                ]
        if self.selection != "first-free":
            # The selector counts what leaves, whichever input it came by.
            m.d.comb += m.submodules.selector.left[0].eq(Cat(left))
        return m

    def _selected(self, m: Module) -> list[Value]:
        """The outputs whose queues the packet at each input is to enter, one bit each."""
        requested = [self._requested(m, i, one.payload) for i, one in enumerate(self.i)]
        selector = self._selector(m)
        if selector is None:
            return requested
        for i, source in enumerate(self.i):
            accepted = source.valid & source.ready
            m.d.comb += [selector.offered[i].eq(requested[i]), selector.accepted[i].eq(accepted)]
        return list(selector.exits)

    def _queue(self, m: Module, j: int, writers: int) -> tuple[Sequence[stream.Interface], Value]:
        """The arrivals of an output's queue, and whether a packet leaves it."""
        entry = self.entry
        size: dict[str, Any] = {"writers": writers, "depth": entry.depth, "refill": entry.refill}
        if self.shape.lanes > 1:
            m.submodules[f"queue_{j}"] = bundle = LaneQueue(
                self.packet, lanes=self.shape.lanes, **size
            )
            first = j * self.shape.lanes
            for output, lane in zip(self.o[first : first + self.shape.lanes], bundle.o):
                wiring.connect(m, wiring.flipped(output), lane)
            return bundle.i, Const(0)
        m.submodules[f"queue_{j}"] = queue = ArrivalQueue(
            self.packet, separate=entry.separate, **size
        )
        done = self._served(m, j, queue.o)
        m.d.comb += [
            self.o[j].valid.eq(queue.o.valid & done),
            self.o[j].payload.eq(queue.o.payload),
            queue.o.ready.eq(self.o[j].ready & done),
        ]
        return queue.i, queue.o.valid & queue.o.ready

    def _served(self, m: Module, j: int, head: stream.Interface) -> Value:
        """Whether the packet at the head of an output's queue is in its last cycle on the link."""
        output = self.shape.outputs[j]
        if output.is_terminal or not self.packet.length:
            return Const(1)
        spent = Signal(self.packet.length + 6, name=f"spent_{j}")
        done = Signal(name=f"done_{j}")
        m.d.comb += done.eq(spent + 1 >= head.payload.length * output.interval)
        with m.If(head.valid & head.ready):
            m.d.sync += spent.eq(0)
        with m.Elif(head.valid & ~done):
            m.d.sync += spent.eq(spent + 1)
        return done
