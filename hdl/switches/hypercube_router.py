"""The wormhole router of a node of a hypercube: e-cube, p-cube or minimal adaptive."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer
from ..packet import Packet
from ..topology.hypercube_routing import HYPERCUBE_ROUTINGS, HypercubeRouting
from .arrival_queue import ArrivalQueue
from .round_robin import RoundRobin

__all__ = ["HypercubeRouter"]


class HypercubeRouter(wiring.Component):
    """A wormhole router with a link in each dimension, and one to its own terminal.

    Port i is the link in dimension i, and port `dimension` is the terminal. With `adaptive` routing
    each link has a second channel: port `dimension` + 1 + i. There is a queue of flits at each
    input. A header leaves one cycle after it came in, if nothing waits before it and an output that
    it wants is free. That output is the worm's until its tail has passed, and takes the next header
    in the cycle after it. Worms get an output in turn (`RoundRobin`). Over h links an unhindered
    packet of c flits passes h + 1 routers, in h + c cycles.

    All nodes have this one module, and none changes a header: it arrives as it was sent. With
    `ecube` the tag is the relative address, source ^ destination. Dimensions are crossed in order,
    so the port that a header came in by says which of its bits are done: all up to this one. The
    lowest of the rest is the next. Otherwise a header's way is not known from its port: the tag is
    the destination, and what is left to do is its difference from the node's own address, a strap.
    `topology.hypercube_routing` says where each routing may send a header, and why none dead-locks.

    A header that may take several outputs requests all of them. Of those that it gets in the same
    cycle it takes one whose receiver is ready, if there is any, rather not an escape channel, and
    the lowest of these; the others stay unused in this cycle and go on to the next worm.

    The two channels of a link share its wires: one flit a cycle, of each in turn if both have one
    that can go. So `valid` of a channel comes with `ready` only. A header may enter the second
    channel only while the queue behind it is empty: `vacant` tells.

    Only the turns that the routing can make have wires: fewer than half of a full crossbar's with
    `ecube`.

    `i[*].ready` and `empty` depend on registers only, so that no path leads around a cycle of
    nodes; that is why a queue of depth 1 has half the throughput. `o[*].valid` and `.payload`
    depend on registers and memories with `ecube`, else also on `ready` of all outputs.

    Parameters
    ----------
    packet : Packet
        Of flits, with a tag of as many bits as the hypercube has dimensions.
    dimension : int
        Of the hypercube, at least 1.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    routing : "ecube", "pcube" or "adaptive"

    Members
    -------
    address : In(dimension)
        The node's own. Constant. Not with e-cube.
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
        self, packet: Packet, *, dimension: int, depth: int, routing: HypercubeRouting = "ecube"
    ) -> None:
        check_integer("Dimension", dimension, 1)
        check_integer("Depth", depth, 1)
        if routing not in HYPERCUBE_ROUTINGS:
            allowed = ", ".join(HYPERCUBE_ROUTINGS)
            raise ValueError(f"Routing must be one of {allowed}, not {routing!r}")
        if not packet.flits:
            raise ValueError("Packet must be of flits")
        if packet.broadcast:
            raise ValueError("Packet of several flits must not have a broadcast mask")
        if packet.members["tag"] != dimension:
            raise ValueError(
                f"Tag of a packet must have {dimension} bits in a hypercube of dimension "
                f"{dimension}, not {packet.members['tag']}"
            )
        self.packet = packet
        self.dimension = dimension
        self.depth = depth
        self.routing = routing
        self.count = dimension + 1 + (dimension if routing == "adaptive" else 0)
        ports = stream.Signature(packet)
        members = {} if routing == "ecube" else {"address": In(dimension)}
        if routing == "adaptive":
            members["vacant"] = In(1).array(dimension)
            members["empty"] = Out(1).array(dimension)
        super().__init__(
            {**members, "i": In(ports).array(self.count), "o": Out(ports).array(self.count)}
        )

    def link_of(self, port: int) -> int:
        """The dimension of a port's link; `dimension` for the terminal."""
        return port if port <= self.dimension else port - self.dimension - 1

    def entries(self, output: int) -> list[int]:
        """The inputs whose worms can leave by an output."""
        link, inputs = self.link_of(output), range(self.count)
        if link == self.dimension:
            return list(inputs)
        if self.routing == "ecube":
            return [*range(link), self.dimension]
        return [i for i in inputs if self.link_of(i) != link]

    def _wanted(self, i: int, tag: Value) -> Value:
        """The outputs that a header from input i may take, a bit each."""
        if self.routing == "ecube":
            first = 0 if i == self.dimension else i + 1
            return Cat((0,) * first, _lowest(tag[first:]), ~tag[first:].any())
        left = tag ^ self.address
        if self.routing == "pcube":
            down = left & self.address
            return Cat(Mux(down.any(), down, left), ~left.any())
        return Cat(_lowest(left), ~left.any(), left & Cat(self.vacant))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = range(self.count)
        # Where a flit may go, and where one does if a worm wants it to.
        readies, passed = Signal(self.count), Signal(self.count)
        m.d.comb += readies.eq(Cat(output.ready for output in self.o))

        heads: list[stream.Interface] = []
        requests, grants, choices = (
            [Signal(self.count, name=f"{name}_{i}") for i in ports]
            for name in ("request", "granted", "chosen")
        )
        for i, source in enumerate(self.i):
            m.submodules[f"queue_{i}"] = queue = ArrivalQueue(self.packet, depth=self.depth)
            wiring.connect(m, wiring.flipped(source), queue.i[0])
            head, chosen = queue.o, choices[i]
            heads.append(head)
            if i > self.dimension:
                m.d.comb += self.empty[self.link_of(i)].eq(queue.level == 0)

            # Once a worm has an output, it keeps it until the tail has left.
            bound = Signal(name=f"bound_{i}")
            kept = Signal(self.count, name=f"kept_{i}")
            wanted = Signal(self.count, name=f"wanted_{i}")
            m.d.comb += [
                wanted.eq(self._wanted(i, head.payload.tag)),
                requests[i].eq(Mux(bound, kept, wanted & head.valid.replicate(self.count))),
                chosen.eq(Mux(bound, kept, self._choice(grants[i], readies))),
                head.ready.eq((chosen & passed).any()),
            ]
            left = head.valid & head.ready & head.payload.last
            m.d.sync += [bound.eq(chosen.any() & ~left), kept.eq(chosen)]

        offers = [stream.Signature(self.packet).create(path=(f"offer_{j}",)) for j in ports]
        for j, offer in enumerate(offers):
            entries = self.entries(j)
            m.submodules[f"arbiter_{j}"] = arbiter = RoundRobin(len(entries))
            used = Cat(choices[i][j] for i in entries).any()
            m.d.comb += [
                arbiter.request.eq(Cat(requests[i][j] for i in entries)),
                *(
                    grants[i][j].eq(requests[i][j] & (arbiter.grant == index))
                    for index, i in enumerate(entries)
                ),
                offer.valid.eq(Cat(choices[i][j] & heads[i].valid for i in entries).any()),
                passed[j].eq(offer.ready),
                # An output that is given, but not taken, goes on to the next worm.
                arbiter.taken.eq(~used | (offer.valid & offer.ready & offer.payload.last)),
            ]
            with m.Switch(arbiter.grant):
                for index, i in enumerate(entries):
                    with m.Case(index):
                        m.d.comb += offer.payload.eq(heads[i].payload)
        for j, (offer, output) in enumerate(zip(offers, self.o)):
            if self.routing != "adaptive" or j == self.dimension:
                wiring.connect(m, offer, wiring.flipped(output))
            elif j < self.dimension:
                second = j + self.dimension + 1
                self._share(m, j, (offer, offers[second]), (output, self.o[second]))
        return m

    def _choice(self, granted: Value, readies: Value) -> Value:
        """One of the outputs that a header has got: a ready one, no escape channel, if it can."""
        if self.routing == "ecube":
            return granted
        ready = granted & readies
        best = Mux(ready.any(), ready, granted)
        first, second = best[: self.dimension + 1], best[self.dimension + 1 :]
        first &= (~second.any()).replicate(self.dimension + 1)
        return Cat(_lowest(first), _lowest(second))

    def _share(
        self,
        m: Module,
        link: int,
        offers: Sequence[stream.Interface],
        outputs: Sequence[stream.Interface],
    ) -> None:
        """Send flits of both channels of a link over the same wires."""
        turn = Signal(name=f"turn_{link}")
        can = [offer.valid & output.ready for offer, output in zip(offers, outputs)]
        second = Signal(name=f"second_{link}")
        m.d.comb += second.eq(can[1] & (turn | ~can[0]))
        with m.If(can[0] | can[1]):
            m.d.sync += turn.eq(~second)
        payload = Mux(second, offers[1].payload.as_value(), offers[0].payload.as_value())
        for offer, output, goes in zip(offers, outputs, (can[0] & ~second, second)):
            m.d.comb += [
                output.valid.eq(goes),
                output.payload.eq(payload),
                offer.ready.eq(goes),
            ]


def _lowest(bits: Value) -> Value:
    """Only the lowest 1 of some bits."""
    return Cat(bits[at] & ~bits[:at].any() for at in range(len(bits)))
