"""The base of wormhole routers of static networks: worms that hold outputs, and shared links."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.packet import Packet
from ..primitives.round_robin import RoundRobin

__all__ = ["WormRouter", "check_worms", "decided"]


def check_worms(packet: Packet, tag: int, network: str) -> None:
    """Raise ValueError if packets have no flits, or their tag does not fit a network."""
    if not packet.flits:
        raise InvalidValue("Packet must have flits")
    if packet.members["tag"] != tag:
        raise InvalidValue(
            f"Tag of a packet must have {tag} bits in a {network}, not {packet.members['tag']}"
        )


def decided(m: Module, name: str, head: stream.Interface, cycles: int) -> Value:
    """Whether a header has been at the head of a queue for `cycles` cycles, including this one."""
    if cycles == 1:
        return Const(1)
    waited = Signal(range(cycles), name=f"waited_{name}")
    with m.If(head.valid & head.ready):
        m.d.sync += waited.eq(0)
    with m.Elif(head.valid & (waited != cycles - 1)):
        m.d.sync += waited.eq(waited + 1)
    return waited == cycles - 1


class WormRouter(wiring.Component, ABC):
    """A queue of flits at each input, and each output held by one worm at a time.

    A header leaves one cycle after it arrived, if no flit is before it and an output that it
    requests is free. This output belongs to the worm until its tail has passed, and can take the
    next header in the cycle after it. Worms get an output in turn (`RoundRobin`). Headers do not
    change.

    The outputs that a header may take are computed when it arrives, and are stored with it in the
    queue. So this logic is on the path into the queue's memory, and not on the longer path out of
    it, through the arbiters and back to the queues.

    A header that may take several outputs requests all of them. Of those granted in the same cycle,
    it takes the one that `_choice` selects; the others are unused in this cycle, and their arbiters
    advance to the next worm.

    Two outputs that are channels of one link share its wires: one flit per cycle, in turn if both
    have a flit that can go. So `valid` of such a channel is 1 only if `ready` is.

    Only the turns that the routing algorithm can make have wires.

    `i[*].ready` depends only on registers, so that no combinational path leads around a cycle of
    nodes; hence a queue of depth 1 has half the throughput. `o[*].valid` and `.payload` depend on
    registers and memories; if channels share wires, or headers have a choice, also on `o[*].ready`.

    *With `refill`* a queue accepts a flit in the cycle in which its head leaves, so depth 1 has the
    full throughput, as wormhole theory assumes. `i[p].ready` then depends on `o[q].ready` where a
    worm can turn from p to q: these paths follow the channel dependencies, which have no cycle if
    the routing is free of deadlock. A link's first channel must not wait for the second one's
    `ready`, which may depend on it. It gives way in its turn only if the second was ready in the
    cycle before and sent nothing, since then it still is. Headers must not have a choice.

    Parameters
    ----------
    packet : Packet
        With flits.
    count : int
        Number of inputs, and of outputs.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer.
    choice : bool
        Whether headers may have a choice of outputs.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.
    members : Mapping[str, wiring.Member]
        Members other than `i` and `o`.

    Members
    -------
    i : In(stream.Signature(packet)).array(count)
    o : Out(stream.Signature(packet)).array(count)
    """

    def __init__(
        self,
        packet: Packet,
        *,
        count: int,
        depth: int,
        choice: bool,
        refill: bool = False,
        members: Mapping[str, wiring.Member],
    ) -> None:
        depth = check_integer("Depth", depth, 1)
        if packet.broadcast:
            raise InvalidValue("Packet of several flits must not have a broadcast mask")
        if refill and choice:
            raise InvalidValue("Refill must be off if headers have a choice of outputs")
        self.packet = packet
        self.count = count
        self.depth = depth
        self.choice = choice
        self.refill = refill
        ports = stream.Signature(packet)
        super().__init__({**members, "i": In(ports).array(count), "o": Out(ports).array(count)})

    @abstractmethod
    def entries(self, output: int) -> list[int]:
        """The inputs whose worms can leave by an output."""

    @abstractmethod
    def links(self) -> Sequence[tuple[int, ...]]:
        """For each link, the outputs that are its channels: one or two."""

    @abstractmethod
    def _route(self, m: Module, i: int, tag: Value) -> Value:
        """The outputs that a header with this tag may take from input i, one bit each."""

    def _open(self, m: Module, i: int, queue: ArrivalQueue) -> Value:
        """The outputs that the header at the head of input i's queue may request, one bit each."""
        return ~Const(0, self.count)

    def _choice(self, m: Module, i: int, granted: Value, readies: Value) -> Value:
        """The output that a header takes of those that it was granted, if any, one bit each.

        Only called if there is a choice.
        """
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = range(self.count)
        entries = [self.entries(j) for j in ports]
        # For each input, with one bit per output: what its header requests, is granted and takes,
        # and what its worm holds and uses.
        requests, grants, takes, kept, uses = (
            [Signal(self.count, name=f"{name}_{i}") for i in ports]
            for name in ("request", "granted", "takes", "kept", "uses")
        )
        # Bit by bit: linters take a chain of partly used words for a combinational loop.
        readies = [output.ready for output in self.o]
        passed = [Signal(name=f"passed_{j}") for j in ports]
        held = Signal(self.count)
        m.d.comb += held.eq(Cat(Cat(one[j] for one in kept).any() for j in ports))
        heads: list[stream.Interface] = []
        for i in ports:
            exits = [j for j in ports if i in entries[j]]
            queue, asked = self._receive(m, i, exits)
            head = queue.o
            heads.append(head)
            header = head.valid & ~kept[i].any()
            m.d.comb += [
                requests[i].eq(Mux(header, asked & self._open(m, i, queue) & ~held, 0)),
                takes[i].eq(
                    self._choice(m, i, grants[i], Cat(readies)) if self.choice else grants[i]
                ),
                uses[i].eq(kept[i] | takes[i]),
                head.ready.eq(Cat(uses[i][j] & passed[j] for j in exits).any()),
            ]
            # Once a worm has an output, it keeps it until the tail has left.
            m.d.sync += kept[i].eq(uses[i])
            with m.If(head.valid & head.ready & head.payload.flit.last):
                m.d.sync += kept[i].eq(0)

        # Without a choice, a requested output is always used, so `valid` need not await the
        # arbiter.
        new = takes if self.choice else requests
        offered = Signal(self.count)
        for j in ports:
            m.submodules[f"arbiter_{j}"] = arbiter = RoundRobin(len(entries[j]))
            m.d.comb += [
                arbiter.request.eq(Cat(requests[i][j] for i in entries[j])),
                # If a granted output is not taken, the turn still passes to the next worm.
                arbiter.taken.eq(1),
                Cat(grants[i][j] for i in entries[j]).eq(arbiter.granted),
                offered[j].eq(
                    Cat(kept[i][j] & heads[i].valid | new[i][j] for i in entries[j]).any()
                ),
            ]
        for number, link in enumerate(self.links()):
            turns = self._turns(m, number, [(offered[j], readies[j]) for j in link])
            payload: Value = Const(0)
            for i in sorted({i for j in link for i in entries[j]}):
                sends = Cat(uses[i][j] & turn for j, turn in zip(link, turns)).any()
                flit = heads[i].payload.flit.as_value()
                payload |= Mux(sends, flit, 0)
            for j, turn in zip(link, turns):
                m.d.comb += [
                    passed[j].eq(readies[j] & turn),
                    self.o[j].valid.eq(offered[j] & (passed[j] if len(link) > 1 else 1)),
                    self.o[j].payload.eq(payload),
                ]
        return m

    def _receive(self, m: Module, i: int, exits: Sequence[int]) -> tuple[ArrivalQueue, Signal]:
        """The queue of an input, which stores a bit for each of its exits with every flit; and the
        outputs that the header at its head may take, one bit each."""
        queue = ArrivalQueue(
            StructLayout({"flit": self.packet, "exits": len(exits)}),
            depth=self.depth,
            refill=self.refill,
        )
        m.submodules[f"queue_{i}"] = queue
        source, arrival = self.i[i], queue.i[0]
        route, asked = (Signal(self.count, name=f"{name}_{i}") for name in ("route", "asked"))
        m.d.comb += [
            route.eq(self._route(m, i, source.payload.tag)),
            arrival.payload.flit.eq(source.payload),
            arrival.payload.exits.eq(Cat(route[j] for j in exits)),
            arrival.valid.eq(source.valid),
            source.ready.eq(arrival.ready),
            *(asked[j].eq(bit) for j, bit in zip(exits, queue.o.payload.exits)),
        ]
        return queue, asked

    def _turns(self, m: Module, link: int, channels: Sequence[tuple[Value, Value]]) -> list[Value]:
        """Which channel of a link uses the wires in this cycle.

        For each channel, whether it has a flit, and whether its receiver is ready.
        """
        if len(channels) == 1:
            return [Const(1)]
        goes = [offered & ready for offered, ready in channels]
        turn = Signal(name=f"turn_{link}")
        first, second = (Signal(name=f"{name}_{link}") for name in ("first", "second"))
        yields = turn & goes[1]
        if self.refill:
            # Nothing was sent to a ready receiver, so it is still ready.
            sure = Signal(name=f"sure_{link}")
            m.d.sync += sure.eq(channels[1][1] & ~second)
            yields = turn & sure & channels[1][0]
        m.d.comb += [first.eq(goes[0] & ~yields), second.eq(goes[1] & ~first)]
        with m.If(goes[0] | goes[1]):
            m.d.sync += turn.eq(~second)
        return [first, second]
