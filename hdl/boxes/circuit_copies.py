"""The ends of a replicated circuit-switching network: one of several copies for each circuit.

Siegel et al. 1989, sections VI-A and VI-C.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer
from ..links.circuit_link import CircuitLink
from ..links.packet import Packet
from ..primitives.random_bits import RandomBits
from ..primitives.round_robin import RoundRobin
from .circuit import Policy, check_policy, reject

__all__ = ["CircuitDistributor", "CircuitMerger"]

_DRAW_BITS = 16


class CircuitDistributor(wiring.Component):
    """Sends each request to one of the copies of a network, chosen at random.

    Combinational in both directions. The choice is made anew while there is no request. So a
    rejected request meets any copy at its next attempt.

    Parameters
    ----------
    packet : Packet
    copies : int
        At least 1. If not a power of two, the probabilities of the copies are equal within 2^-16.

    Members
    -------
    seed : In(32)
        Seed of the choice, as in `RandomBits`. Constant.
    i : In(CircuitLink(packet))
    o : Out(CircuitLink(packet)).array(copies)
    """

    def __init__(self, packet: Packet, copies: int) -> None:
        copies = check_integer("Copies", copies, 1)
        self.packet = packet
        self.copies = copies
        link = CircuitLink(packet)
        super().__init__({"seed": In(32), "i": In(link), "o": Out(link).array(copies)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = random = RandomBits(_DRAW_BITS)
        choice = Signal(range(self.copies))
        m.d.comb += random.seed.eq(self.seed)
        with m.If(~self.i.request):
            m.d.sync += choice.eq(random.value * self.copies >> _DRAW_BITS)
        for copy, port in enumerate(self.o):
            m.d.comb += port.payload.eq(self.i.payload)
            with m.If(choice == copy):
                m.d.comb += [
                    port.request.eq(self.i.request),
                    port.valid.eq(self.i.valid),
                    self.i.ready.eq(port.ready),
                    self.i.grant.eq(port.grant),
                    self.i.reject.eq(port.reject),
                ]
        return m


class CircuitMerger(wiring.Component):
    """Connects the copies of a network to a terminal, one circuit at a time.

    Combinational in both directions: a request that finds the terminal free is passed on in the
    same cycle. It keeps the terminal until it is released, and the next request is passed on one
    cycle later, so that the terminal sees no request between two circuits. Copies are served in
    turn (`RoundRobin`). A request that finds the terminal in use is refused: it waits or is
    rejected, by the same policies as in `CircuitBox`.

    Parameters
    ----------
    packet : Packet
    copies : int
        At least 1.
    policy, hold_limit
        As in `CircuitBox`.

    Members
    -------
    i : In(CircuitLink(packet)).array(copies)
    o : Out(CircuitLink(packet))
    dropped : Out(copies)
        Bit c: the request of copy c is rejected here, in this cycle. One pulse per attempt.
    """

    def __init__(
        self, packet: Packet, copies: int, *, policy: Policy = "hold", hold_limit: int = 16
    ) -> None:
        copies = check_integer("Copies", copies, 1)
        check_policy(policy)
        self.packet = packet
        self.copies = copies
        self.policy = policy
        self.hold_limit = check_integer("Hold limit", hold_limit, 1)
        self.meters = () if policy == "hold" else (Meter("dropped", "dropped", "pulses"),)
        link = CircuitLink(packet)
        super().__init__({"i": In(link).array(copies), "o": Out(link), "dropped": Out(copies)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self.copies)
        held = Signal(self.copies)  # the copy whose circuit has the terminal
        chosen = Signal(self.copies)
        requests = Cat(port.request for port in self.i)
        m.d.comb += [
            arbiter.request.eq(Mux(held.any(), 0, requests)),
            arbiter.taken.eq(1),
            chosen.eq(Mux(held.any(), held, arbiter.granted)),
            self.o.payload.eq(self.i[0].payload),
        ]
        m.d.sync += held.eq(chosen & requests)
        for copy, port in enumerate(self.i):
            refused = Signal(name=f"refused_{copy}")
            m.d.comb += refused.eq(port.request & ~chosen[copy])
            reject(m, str(copy), refused, self.dropped[copy], self.policy, self.hold_limit)
            m.d.comb += port.reject.eq(self.dropped[copy])
            with m.If(chosen[copy]):
                m.d.comb += [
                    self.o.request.eq(port.request),
                    self.o.payload.eq(port.payload),
                    self.o.valid.eq(port.valid),
                    port.ready.eq(self.o.ready),
                    port.grant.eq(self.o.grant),
                    port.reject.eq(self.o.reject),
                ]
        return m
