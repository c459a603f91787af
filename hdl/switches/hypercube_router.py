"""The wormhole router of a node of a hypercube: e-cube or minimal adaptive."""

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

    Port i is the link in dimension i, and port `dimension` is the terminal. There is a queue of
    flits at each input. A header leaves one cycle after it came in, if nothing waits before it and
    an output that it wants is free. That output is the worm's until its tail has passed, and takes
    the next header in the cycle after it. Worms get an output in turn (`RoundRobin`). Over h links
    an unhindered packet of c flits passes h + 1 routers, in h + c cycles.

    All nodes have this one module, and none changes a header: it arrives as it was sent. With
    `ecube` the tag is the relative address, source ^ destination. Dimensions are crossed in order,
    so the port that a header came in by says which of its bits are done: all up to this one. The
    lowest of the rest is the next. With `adaptive` a header's way is not known from its port. The
    tag is the destination, and what is left to do is its difference from the node's own address,
    a strap: first, in any order, the dimensions from 1 to 0, then those from 0 to 1
    (`topology.hypercube_routing`, where it is shown that neither can dead-lock).

    A header that may take several outputs requests all of them. Of those that it gets in the same
    cycle it takes one whose receiver is ready, if there is any, and the lowest of these; the others
    stay unused in this cycle and go on to the next worm.

    Only the turns that the routing can make have wires: fewer than half of a full crossbar's with
    `ecube`.

    `i[*].ready` depends on registers only, so that no path leads around a cycle of nodes; that is
    why a queue of depth 1 has half the throughput. `o[*].valid` and `.payload` depend on registers
    and memories with `ecube`, and on `ready` of the other outputs with `adaptive`.

    Parameters
    ----------
    packet : Packet
        Of flits, with a tag of as many bits as the hypercube has dimensions.
    dimension : int
        Of the hypercube, at least 1.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    routing : "ecube" or "adaptive"

    Members
    -------
    address : In(dimension)
        The node's own. Constant. Adaptive only.
    i : In(stream.Signature(packet)).array(dimension + 1)
    o : Out(stream.Signature(packet)).array(dimension + 1)

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
            allowed = " or ".join(HYPERCUBE_ROUTINGS)
            raise ValueError(f"Routing must be {allowed}, not {routing!r}")
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
        ports = stream.Signature(packet)
        strap = {"address": In(dimension)} if routing == "adaptive" else {}
        super().__init__(
            {
                **strap,
                "i": In(ports).array(dimension + 1),
                "o": Out(ports).array(dimension + 1),
            }
        )

    def entries(self, output: int) -> list[int]:
        """The inputs whose worms can leave by an output."""
        if output == self.dimension:
            return list(range(self.dimension + 1))
        links = range(output) if self.routing == "ecube" else range(self.dimension)
        return [*(link for link in links if link != output), self.dimension]

    def _wanted(self, i: int, tag: Value) -> Value:
        """The outputs that a header from input i may take, a bit each."""
        if self.routing == "adaptive":
            left = tag ^ self.address
            down = left & self.address
            return Cat(Mux(down.any(), down, left), ~left.any())
        first = 0 if i == self.dimension else i + 1
        bits = [tag[bit] & ~tag[first:bit].any() for bit in range(first, self.dimension)]
        return Cat((0,) * first, *bits, ~tag[first:].any())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = self.dimension + 1
        readies = Signal(outputs)
        m.d.comb += readies.eq(Cat(output.ready for output in self.o))

        heads: list[stream.Interface] = []
        requests, grants, choices = (
            [Signal(outputs, name=f"{name}_{i}") for i in range(outputs)]
            for name in ("request", "granted", "chosen")
        )
        for i, source in enumerate(self.i):
            m.submodules[f"queue_{i}"] = queue = ArrivalQueue(self.packet, depth=self.depth)
            wiring.connect(m, wiring.flipped(source), queue.i[0])
            head, chosen = queue.o, choices[i]
            heads.append(head)

            # Once a worm has an output, it keeps it until the tail has left.
            bound = Signal(name=f"bound_{i}")
            kept = Signal(outputs, name=f"kept_{i}")
            wanted = Signal(outputs, name=f"wanted_{i}")
            m.d.comb += [
                wanted.eq(self._wanted(i, head.payload.tag)),
                requests[i].eq(Mux(bound, kept, wanted & head.valid.replicate(outputs))),
                chosen.eq(Mux(bound, kept, self._choice(grants[i], readies))),
                head.ready.eq((chosen & readies).any()),
            ]
            left = head.valid & head.ready & head.payload.last
            m.d.sync += [bound.eq(chosen.any() & ~left), kept.eq(chosen)]

        for j, output in enumerate(self.o):
            entries = self.entries(j)
            offers = [heads[i] for i in entries]
            m.submodules[f"arbiter_{j}"] = arbiter = RoundRobin(len(entries))
            used = Cat(choices[i][j] for i in entries).any()
            m.d.comb += [
                arbiter.request.eq(Cat(requests[i][j] for i in entries)),
                *(
                    grants[i][j].eq(requests[i][j] & (arbiter.grant == index))
                    for index, i in enumerate(entries)
                ),
                output.valid.eq(Cat(choices[i][j] & heads[i].valid for i in entries).any()),
                # An output that is given, but not taken, goes on to the next worm.
                arbiter.taken.eq(~used | (output.valid & output.ready & output.payload.last)),
            ]
            self._show(m, arbiter.grant, offers, output)
        return m

    def _choice(self, granted: Value, readies: Value) -> Value:
        """One of the outputs that a header has got: a ready one if there is any."""
        if self.routing == "ecube":
            return granted
        ready = granted & readies
        best = Mux(ready.any(), ready, granted)
        return best & (-best)[: len(best)]

    def _show(
        self,
        m: Module,
        grant: Value,
        offers: Sequence[stream.Interface],
        output: stream.Interface,
    ) -> None:
        """Let an output show the flit of the worm that it is given to."""
        with m.Switch(grant):
            for index, offer in enumerate(offers):
                with m.Case(index):
                    m.d.comb += output.payload.eq(offer.payload)
