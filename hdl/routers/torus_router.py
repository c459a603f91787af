"""The wormhole router of a node of a torus or mesh, with dimension-order routing."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In

from ..core.checks import check_integer
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.packet import Packet
from ..topology.torus import Hop, Torus
from .worm_router import WormRouter, check_worms, decided

__all__ = ["TorusRouter"]


class TorusRouter(WormRouter):
    """A wormhole router with links in each dimension, and one to its own terminal.

    A header takes the channel that `Torus.route` names. A channel has the input and output
    `port_of(hop)`; the terminal has the last ones. A worm that entered by input p and continues in
    the same dimension, direction and channel leaves by output p. Queues, outputs and the sharing of
    a link's wires are as in `WormRouter`.

    *Decision time* (Ould-Khaoua and Sotudeh, III, D_t): a header that continues over a link leaves
    `decision` cycles after it arrived, if no flit is before it and the output is free. The decision
    is made while it is at the head of its queue, for one header at a time at each input, while
    other worms may use the output. No decision is needed at the destination: there a header leaves
    one cycle after it arrived, which is the cycle of its own flit. So over h links an unblocked
    packet of B flits takes h D_t + B cycles, as in equation (3), from the cycle in which its header
    is offered to the cycle in which its tail is taken.

    All nodes have this same module, even at the edge of a mesh. The tag is the code of the
    destination, and headers do not change.

    Only the turns that the routing algorithm can make have wires: from the terminal, from a higher
    dimension, and onward in the same direction, though never from channel 0 to 1.

    `o[*].valid` and `.payload` depend on registers and memories; with two channels, which share the
    wires of a link, also on `ready` of both.

    Parameters
    ----------
    packet : Packet
        With flits, and a tag as wide as an address code of the torus.
    plan : Torus
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    decision : int
        Decision time in cycles, at least 1.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle (`WormRouter`).

    Members
    -------
    address : In(width)
        Code of the address of the node. Constant.
    i : In(stream.Signature(packet)).array(count)
        `count` is the number of channels that leave a node, plus one.
    o : Out(stream.Signature(packet)).array(count)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    def __init__(
        self, packet: Packet, plan: Torus, *, depth: int, decision: int = 1, refill: bool = False
    ) -> None:
        width = plan.code.width
        check_worms(packet, width, f"{plan.k}-ary {plan.n}-cube")
        decision = check_integer("Decision time", decision, 1)
        self.plan = plan
        self.decision = decision
        self.hops = plan.hops()
        count = len(self.hops) + 1
        members = {"address": In(width)}
        super().__init__(
            packet, count=count, depth=depth, choice=False, refill=refill, members=members
        )

    def port_of(self, hop: Hop) -> int:
        """The number of the input and output of a channel."""
        return self.hops.index(hop)

    def links(self) -> list[tuple[int, ...]]:
        """As in `WormRouter`."""
        terminal, channels = len(self.hops), self.plan.channels
        ports = range(0, terminal, channels)
        return [*(tuple(range(first, first + channels)) for first in ports), (terminal,)]

    def entries(self, output: int) -> list[int]:
        """As in `WormRouter`."""
        inputs = range(self.count)
        if output == len(self.hops):
            return list(inputs)
        to = self.hops[output]

        def leads(came: Hop) -> bool:
            if came.dimension != to.dimension:
                return came.dimension > to.dimension
            return self.plan.reach > 1 and came.way == to.way and came.channel >= to.channel

        return [i for i in inputs if i == len(self.hops) or leads(self.hops[i])]

    def _route(self, m: Module, i: int, tag: Value) -> Value:
        came = self.hops[i] if i < len(self.hops) else None
        wanted: dict[Hop, Value] = dict.fromkeys(self.hops, Const(0))
        bits = self.plan.code.digit_bits
        # All digits of higher dimensions are correct.
        right: Value = Const(1)
        for dimension in reversed(range(self.plan.n if came is None else came.dimension + 1)):
            there = tag.word_select(dimension, bits)
            here = self.address.word_select(dimension, bits)
            on = came if came is not None and came.dimension == dimension else None
            goes = right & (here != there)
            for hop, takes in self._channels(dimension, here, there, on).items():
                wanted[hop] = goes & takes
            right &= here == there
        return Cat(*wanted.values(), right)

    def _open(self, m: Module, i: int, queue: ArrivalQueue) -> Value:
        ready = decided(m, f"{i}", queue.o, self.decision)
        return Cat(ready.replicate(len(self.hops)), 1)

    def _channels(
        self, dimension: int, here: Value, there: Value, came: Hop | None
    ) -> dict[Hop, Value]:
        """The next channel in a dimension, as in `Torus.route`, if the digits differ.

        `came` is the channel of this dimension by which a header entered, if any; then the header
        continues in the same direction.
        """
        plan = self.plan
        upward = there > here
        if came is not None:
            ways: dict[int, Value] = {came.way: Const(1)} if plan.reach > 1 else {}
            around = upward if came.way else ~upward
            if came.channel == 0:
                around = Const(0)
        else:
            around = self._around(here, there)
            up = upward ^ around
            ways = {0: Const(1)} if plan.ways == 1 else {0: up, 1: ~up}
        if plan.channels == 1:
            return {Hop(dimension, way, 0): takes for way, takes in ways.items()}
        return {
            Hop(dimension, way, channel): takes & (around if channel else ~around)
            for way, takes in ways.items()
            for channel in range(2)
        }

    def _around(self, here: Value, there: Value) -> Value:
        """Whether the path from one position to another uses the wrap-around link."""
        plan, upward = self.plan, there > here
        if not plan.wrap:
            return Const(0)
        if plan.ways == 1:
            return ~upward
        apart = Mux(upward, there - here, here - there)
        if plan.k % 2:
            return apart > plan.k // 2
        return (apart > plan.k // 2) | (apart == plan.k // 2) & (upward == here[0])
