"""What wormhole routers of static networks share: worms that hold outputs, wires of links."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer
from ..packet import Packet
from .arrival_queue import ArrivalQueue
from .round_robin import RoundRobin

__all__ = ["WormRouter", "check_worms", "decided"]


def check_worms(packet: Packet, tag: int, network: str) -> None:
    """Raise ValueError if packets are not of flits, or their tag does not fit a network."""
    if not packet.flits:
        raise ValueError("Packet must be of flits")
    if packet.members["tag"] != tag:
        raise ValueError(
            f"Tag of a packet must have {tag} bits in a {network}, not {packet.members['tag']}"
        )


def decided(m: Module, name: str, head: stream.Interface, cycles: int) -> Value:
    """Whether the header that a queue shows has stood there for some cycles, this one included."""
    if cycles == 1:
        return Const(1)
    waited = Signal(range(cycles), name=f"waited_{name}")
    with m.If(head.valid & head.ready):
        m.d.sync += waited.eq(0)
    with m.Elif(head.valid & (waited != cycles - 1)):
        m.d.sync += waited.eq(waited + 1)
    return waited == cycles - 1


class WormRouter(wiring.Component, ABC):
    """A queue of flits at each input, an output lent to one worm at a time.

    A header leaves one cycle after it came in, if nothing waits before it and an output that it
    wants is free. That output is the worm's until its tail has passed, and takes the next header in
    the cycle after it. Worms get an output in turn (`RoundRobin`). A header is not changed.

    A header that may take several outputs requests all of them. Of those that it gets in the same
    cycle it takes the one that `_choice` says; the others stay unused in this cycle and go on to
    the next worm.

    Two outputs that are channels of one link share its wires: one flit a cycle, of each in turn if
    both have one that can go. So `valid` of a channel comes with `ready` only.

    Only the turns that the routing can make have wires.

    `i[*].ready` depends on registers only, so that no path leads around a cycle of nodes; that is
    why a queue of depth 1 has half the throughput. `o[*].valid` and `.payload` depend on registers
    and memories; where channels share wires, or headers have a choice, also on `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        Of flits.
    count : int
        Number of inputs, and of outputs.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    members : Mapping[str, wiring.Member]
        Ports besides `i` and `o`.

    Members
    -------
    i : In(stream.Signature(packet)).array(count)
    o : Out(stream.Signature(packet)).array(count)
    """

    def __init__(
        self, packet: Packet, *, count: int, depth: int, members: Mapping[str, wiring.Member]
    ) -> None:
        check_integer("Depth", depth, 1)
        if packet.broadcast:
            raise ValueError("Packet of several flits must not have a broadcast mask")
        self.packet = packet
        self.count = count
        self.depth = depth
        ports = stream.Signature(packet)
        super().__init__({**members, "i": In(ports).array(count), "o": Out(ports).array(count)})

    @abstractmethod
    def entries(self, output: int) -> list[int]:
        """The inputs whose worms can leave by an output."""

    @abstractmethod
    def links(self) -> Sequence[tuple[int, ...]]:
        """The outputs by the link whose channels they are: one or two each."""

    @abstractmethod
    def _wanted(self, m: Module, i: int, queue: ArrivalQueue) -> Value:
        """The outputs that the header at the head of input i's queue may take, a bit each."""

    def _choice(self, granted: Value, readies: Value) -> Value:
        """The output that a header takes of those that it was granted, if any, a bit each."""
        return granted

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

            # Once a worm has an output, it keeps it until the tail has left.
            bound = Signal(name=f"bound_{i}")
            kept = Signal(self.count, name=f"kept_{i}")
            wanted = Signal(self.count, name=f"wanted_{i}")
            m.d.comb += [
                wanted.eq(self._wanted(m, i, queue)),
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
        for number, link in enumerate(self.links()):
            if len(link) == 1:
                wiring.connect(m, offers[link[0]], wiring.flipped(self.o[link[0]]))
            else:
                self._share(m, number, [offers[j] for j in link], [self.o[j] for j in link])
        return m

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
