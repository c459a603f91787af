"""Network interfaces of a replicated network: several copies between the same terminals (VI-A)."""

from typing import Literal

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer, check_word
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..links.verdict_link import VerdictLink
from ..primitives.random_bits import RandomBits, RandomOrder
from ..primitives.round_robin import RoundRobin

__all__ = ["Distributor", "Merger"]

_DRAW_BITS = 16


def _is_tail(packet: Value) -> Value | int:
    """Whether a flit is the last of its packet."""
    return packet.last if packet.shape().flits else 1


class Distributor(wiring.Component):
    """Sends each packet to one of the copies of a network, chosen at random.

    Combinational in both directions; throughput is one flit per cycle. The choice is made before
    the packet arrives, and stays until its last flit is taken.

    With verdicts, a packet that is sent again is a new packet, with a new choice. Only one copy has
    a packet of this terminal at a time, and the others answer 0, so the verdict on it is the
    disjunction of theirs.

    Parameters
    ----------
    packet : Packet
    copies : int
        At least 1. If not a power of two, the probabilities of the copies are equal within 2^-16.
    verdicts : bool
        Whether the links of the copies are those of an unbuffered network with a reject signal.

    Members
    -------
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(packet)).array(copies)
        With `verdicts` all are `VerdictLink(packet)`.
    seed : In(32)
        Seed of the choice, as in `RandomBits`. Constant.
    """

    def __init__(self, packet: Packet, copies: int, *, verdicts: bool = False) -> None:
        copies = check_integer("Copies", copies, 1)
        self.packet = packet
        self.copies = copies
        self.verdicts = verdicts
        link = VerdictLink(packet) if verdicts else stream.Signature(packet)
        super().__init__({"i": In(link), "o": Out(link).array(copies), "seed": In(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = random = RandomBits(_DRAW_BITS)
        choice = Signal(range(self.copies))
        inside = Signal()
        moves = self.i.valid & self.i.ready
        tail = _is_tail(self.i.payload)
        m.d.comb += random.seed.eq(self.seed)
        with m.If(moves):
            m.d.sync += inside.eq(~tail)
        with m.If(Mux(self.i.valid, moves & tail, ~inside)):
            m.d.sync += choice.eq(random.value * self.copies >> _DRAW_BITS)
        for copy, port in enumerate(self.o):
            m.d.comb += port.payload.eq(self.i.payload)
            with m.If(choice == copy):
                m.d.comb += [port.valid.eq(self.i.valid), self.i.ready.eq(port.ready)]
        if self.verdicts:
            m.d.comb += self.i.accepted.eq(Cat(port.accepted for port in self.o).any())
        return m


class Merger(wiring.Component):
    """Merges the outputs of all copies of a network for one terminal.

    With the policy "fair" the copies are served in turn, and wait for their turn; packets of
    several flits stay whole. With "drop", for unbuffered networks, one of the packets that arrive
    in the same cycle is chosen at random with equal chances, and the others are dropped, as in a
    box of such a network.

    Combinational in both directions; throughput is one flit per cycle. A packet that is shown and
    not taken stays.

    Parameters
    ----------
    packet : Packet
        Single flits if the policy is "drop".
    copies : int
        At least 1; at most 64 if the policy is "drop".
    policy : "fair" or "drop"
    verdicts : bool
        With "drop" only: the links are those of a network with a reject signal, and the verdict on
        a packet that is dropped here is 0.

    Members
    -------
    i : In(stream.Signature(packet)).array(copies)
    o : Out(stream.Signature(packet))
        With `verdicts` all are `VerdictLink(packet)`.
    seed : In(32)
        With "drop" only: seed of the choice, as in `RandomBits`. Constant.
    dropped : Out(copies)
        With "drop" only: bit c is 1 in a cycle in which a packet of copy c is dropped.
    """

    def __init__(
        self,
        packet: Packet,
        copies: int,
        policy: Literal["fair", "drop"],
        *,
        verdicts: bool = False,
    ) -> None:
        check_word("Policy", policy, ("fair", "drop"))
        copies = check_integer("Copies", copies, 1, 64 if policy == "drop" else None)
        if policy == "drop" and packet.flits:
            raise InvalidValue("Packets that a merger may drop must be single flits")
        if policy == "fair" and verdicts:
            raise InvalidValue("Policy of a merger with verdicts must be drop, not 'fair'")
        self.packet = packet
        self.copies = copies
        self.policy = policy
        self.verdicts = verdicts
        self.meters = (Meter("dropped", "dropped", "pulses"),) if policy == "drop" else ()
        link = VerdictLink(packet) if verdicts else stream.Signature(packet)
        losses = {"seed": In(32), "dropped": Out(copies)} if policy == "drop" else {}
        super().__init__({"i": In(link).array(copies), "o": Out(link), **losses})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One bit of `chosen` is set if there is a packet; it stays until the packet is taken.
        chosen = Signal(self.copies)
        offered = Cat(port.valid for port in self.i)
        m.d.comb += [
            self.o.valid.eq((chosen & offered).any()),
            self.o.payload.eq(self.i[0].payload),
        ]
        for copy, port in enumerate(self.i):
            with m.If(chosen[copy]):
                m.d.comb += [self.o.payload.eq(port.payload), port.ready.eq(self.o.ready)]
        if self.policy == "fair":
            self._take_turns(m, chosen, offered)
        else:
            self._drop(m, chosen, offered)
        return m

    def _take_turns(self, m: Module, chosen: Signal, offered: Value) -> None:
        m.submodules.arbiter = arbiter = RoundRobin(self.copies)
        inside = Signal(self.copies)  # the copy whose packet has started and not ended
        m.d.comb += [
            arbiter.request.eq(offered & ~inside),
            arbiter.taken.eq(self.o.ready & ~inside.any()),
            chosen.eq(Mux(inside.any(), inside, 1 << arbiter.grant)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += inside.eq(Mux(_is_tail(self.o.payload), 0, chosen))

    def _drop(self, m: Module, chosen: Signal, offered: Value) -> None:
        m.submodules.order = order = RandomOrder(self.copies)
        held = Signal(self.copies)  # the copy whose packet was shown and not taken
        m.d.comb += order.seed.eq(self.seed)
        for copy, port in enumerate(self.i):
            ahead = Cat(other.valid & order.before[x][copy] for x, other in enumerate(self.i))
            m.d.comb += chosen[copy].eq(Mux(held.any(), held[copy], port.valid & ~ahead.any()))
            with m.If(~chosen[copy]):
                m.d.comb += [port.ready.eq(1), self.dropped[copy].eq(port.valid)]
        m.d.sync += held.eq(Mux(self.o.valid & ~self.o.ready, chosen, 0))
        if self.verdicts:
            for copy, port in enumerate(self.i):
                m.d.comb += port.accepted.eq(chosen[copy] & self.o.accepted)
