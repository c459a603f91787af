"""A router of packets that are single words: a queue at each output, and links that take time."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..switch.route import RouteLogic
from ..switch.routed_switch import RoutedSwitch
from ..switch.selection import Selection
from ..switch.shape import RouterShape

__all__ = ["PacketRouter"]


class PacketRouter(RoutedSwitch):
    """Packet switching: each output has a queue of whole packets, which several inputs can enter in
    a cycle. So no packet waits for one that leaves by another output.

    A packet is one word; its `length` says how many flits it stands for. It is on a link for
    `length` times the link's `interval` cycles, in which it is at the head of the queue, and enters
    the next router in the last of them. Another one can follow at once. It leaves to a terminal in
    the cycle after it came. If a queue is full, its link or its source waits.

    A header that may take several outputs enters the queue of one of them, by its `selection`.

    `o` depends on registers and memories only. `i[*].ready` depends on the valid signals, the tags
    and the registers of this router.

    Parameters
    ----------
    packet, shape, logic, selection, weights
        As in `RoutedSwitch`. Packets have a length, links one channel each. The selection must not
        be "first-free" if headers have a choice.
    depth : int
        Packets that fit into each queue, at least 1.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        depth: int,
        selection: Selection = "first-free",
        weights: int = 1,
    ) -> None:
        self.depth = check_integer("Depth", depth, 1)
        if not packet.length:
            raise InvalidValue("Packet must have a length")
        if any(len(link) > 1 for link in shape.links):
            raise InvalidValue("Links must have one channel each")
        if shape.choice and selection == "first-free":
            raise InvalidValue("Selection must not be first-free if headers have a choice")
        super().__init__(
            packet, shape, logic=logic, selection=selection, weights=weights, members={}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        exits = [self._permitted(m, i, one.payload.tag) for i, one in enumerate(self.i)]
        left: list[Value] = [Const(0)] * len(shape.outputs)
        selector = self._selector(m)
        if selector is not None:
            for i, offered in enumerate(exits):
                accepted = self.i[i].valid & self.i[i].ready
                m.d.comb += [selector.offered[i].eq(offered), selector.accepted[i].eq(accepted)]
            exits = list(selector.exits)
        ready: list[list[Value]] = [[] for _ in shape.inputs]
        for j, output in enumerate(shape.outputs):
            if not output.inputs:
                continue
            queue = ArrivalQueue(self.packet, writers=len(output.inputs), depth=self.depth)
            m.submodules[f"queue_{j}"] = queue
            for i, arrival in zip(output.inputs, queue.i):
                m.d.comb += [
                    arrival.valid.eq(self.i[i].valid & exits[i][j]),
                    arrival.payload.eq(self.i[i].payload),
                ]
                ready[i].append(exits[i][j] & arrival.ready)
            done = Const(1) if output.is_terminal else self._served(m, j, queue.o)
            m.d.comb += [
                self.o[j].valid.eq(queue.o.valid & done),
                self.o[j].payload.eq(queue.o.payload),
                queue.o.ready.eq(self.o[j].ready & done),
            ]
            left[j] = queue.o.valid & queue.o.ready
        for i, own in enumerate(ready):
            m.d.comb += self.i[i].ready.eq(Cat(own).any())
        if selector is not None:
            # The selector counts what leaves, whichever input it came by.
            m.d.comb += selector.left[0].eq(Cat(left))
        return m

    def _served(self, m: Module, j: int, head: stream.Interface) -> Value:
        """Whether the packet at the head of an output's queue is in its last cycle on the link."""
        spent = Signal(self.packet.length + 6, name=f"spent_{j}")
        done = Signal(name=f"done_{j}")
        m.d.comb += done.eq(spent + 1 >= head.payload.length * self.shape.outputs[j].interval)
        with m.If(head.valid & head.ready):
            m.d.sync += spent.eq(0)
        with m.Elif(head.valid & ~done):
            m.d.sync += spent.eq(spent + 1)
        return done
