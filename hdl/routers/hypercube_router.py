"""The wormhole router of a node of a hypercube: e-cube, p-cube or minimal adaptive."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.packet import Packet
from ..primitives.round_robin import lowest
from ..routing.hypercube import HYPERCUBE_ROUTINGS, HypercubeRouting
from .worm_router import WormRouter, check_worms

__all__ = ["HypercubeRouter"]


class HypercubeRouter(WormRouter):
    """A wormhole router with a link in each dimension, and one to its own terminal.

    Input and output i are the link in dimension i; input and output `dimension` are the terminal.
    With `adaptive` routing each link has a second channel, number `dimension` + 1 + i. Queues,
    outputs and the sharing of a link's wires are as in `WormRouter`. Over h links, an unblocked
    packet of c flits passes h + 1 routers, in h + c cycles.

    All nodes have this same module. With `ecube` the tag is the relative address, source ^
    destination. Dimensions are crossed in order, so the input of a header says which bits of the
    tag are done: all up to this dimension. The lowest of the remaining ones is the next. With the
    other algorithms the input does not determine this: the tag is the destination, and the
    dimensions left are its difference from the node's own address, a strap. `routing.hypercube`
    says where each algorithm may send a header, and why it is free of deadlock.

    Of the outputs granted in the same cycle, a header takes one whose receiver is ready, if there
    is any; preferably not an escape channel; and the lowest of these. It may enter the second
    channel of a link only while the queue behind it is empty, which `vacant` tells.

    `empty` depends on registers only. `o[*].valid` and `.payload` depend on registers and memories
    at the terminal and with `ecube`; otherwise those of links also depend on `ready` of all links.

    Parameters
    ----------
    packet : Packet
        With flits, and a tag of as many bits as the hypercube has dimensions.
    dimension : int
        Dimension of the hypercube, at least 1.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    routing : "ecube", "pcube" or "adaptive"
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle (`WormRouter`). Only
        with `ecube`.

    Members
    -------
    address : In(dimension)
        Address of the node. Constant. Not with `ecube`.
    vacant : In(1).array(dimension)
        Adaptive only: `empty` of the node behind each link.
    empty : Out(1).array(dimension)
        Adaptive only: the queue of each link's second channel is empty.
    i : In(stream.Signature(packet)).array(count)
        `count` is `dimension` + 1, or 2 `dimension` + 1 with adaptive routing.
    o : Out(stream.Signature(packet)).array(count)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        dimension: int,
        depth: int,
        routing: HypercubeRouting = "ecube",
        refill: bool = False,
    ) -> None:
        dimension = check_integer("Dimension", dimension, 1)
        if routing not in HYPERCUBE_ROUTINGS:
            allowed = ", ".join(HYPERCUBE_ROUTINGS)
            raise InvalidValue(f"Routing must be one of {allowed}, not {routing!r}")
        check_worms(packet, dimension, f"hypercube of dimension {dimension}")
        self.dimension = dimension
        self.routing = routing
        members = {} if routing == "ecube" else {"address": In(dimension)}
        if routing == "adaptive":
            members["vacant"] = In(1).array(dimension)
            members["empty"] = Out(1).array(dimension)
        count = dimension + 1 + (dimension if routing == "adaptive" else 0)
        super().__init__(
            packet,
            count=count,
            depth=depth,
            choice=routing != "ecube",
            refill=refill,
            members=members,
        )

    def link_of(self, port: int) -> int:
        """The dimension of the link of an input or output; `dimension` for the terminal."""
        return port if port <= self.dimension else port - self.dimension - 1

    def links(self) -> list[tuple[int, ...]]:
        """As in `WormRouter`."""
        if self.routing != "adaptive":
            return [(j,) for j in range(self.count)]
        second = self.dimension + 1
        return [*((j, second + j) for j in range(self.dimension)), (self.dimension,)]

    def entries(self, output: int) -> list[int]:
        """As in `WormRouter`."""
        link, inputs = self.link_of(output), range(self.count)
        if link == self.dimension:
            return list(inputs)
        if self.routing == "ecube":
            return [*range(link), self.dimension]
        return [i for i in inputs if self.link_of(i) != link]

    def _route(self, m: Module, i: int, tag: Value) -> Value:
        if self.routing == "ecube":
            first = 0 if i == self.dimension else i + 1
            return Cat((0,) * first, lowest(tag[first:]), ~tag[first:].any())
        left = Signal(self.dimension, name=f"left_{i}")
        m.d.comb += left.eq(tag ^ self.address)
        if self.routing == "pcube":
            down = left & self.address
            return Cat(Mux(down.any(), down, left), ~left.any())
        return Cat(lowest(left), ~left.any(), left)

    def _open(self, m: Module, i: int, queue: ArrivalQueue) -> Value:
        if self.routing != "adaptive":
            return super()._open(m, i, queue)
        if i > self.dimension:
            m.d.comb += self.empty[self.link_of(i)].eq(queue.level == 0)
        return Cat(~Const(0, self.dimension + 1), self.vacant)

    def _choice(self, m: Module, i: int, granted: Value, readies: Value) -> Value:
        """One of the outputs granted to a header: if possible, a ready one that is no escape
        channel.

        The terminal has no alternative, and its flits do not wait for it to be ready.
        """
        n = self.dimension
        links, free = (Cat(bits[:n], bits[n + 1 :]) for bits in (granted, readies))
        ready, best = (Signal(2 * n, name=f"{name}_{i}") for name in ("ready", "best"))
        m.d.comb += [ready.eq(links & free), best.eq(Mux(ready.any(), ready, links))]
        first, second = best[:n], best[n:]
        return Cat(Mux(second.any(), 0, lowest(first)), granted[n], lowest(second))
