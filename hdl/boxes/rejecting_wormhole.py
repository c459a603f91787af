"""Wormhole routing with drops: a blocked header is rejected at once (Siegel et al., VII-C).

The BBN GP1000 and TC2000 switch like this. The boxes hold no packets, only one flit per link. The
source keeps its packet until it knows its fate (`multicube.hdl.terminals.retry`).
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import MOST_RADIX
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..links.rejecting_link import RejectingLink
from ..primitives.interchange_box import InterchangeBox
from ..primitives.round_robin import RoundRobin
from ..primitives.routing_tags import forwarded, output_port
from .box_parameters import BoxParameters

__all__ = ["RejectingWormholeSwitch"]


class RejectingWormholeSwitch(BoxParameters, wiring.Component):
    """A wormhole switch without queues: a header that finds its output taken is rejected.

    There is one register per output. A header moves to it in one cycle if no other packet's path
    uses this output and its register has room. If several request the same output, one is chosen in
    turn (`RoundRobin`). All others are rejected in this cycle: `reject` travels combinationally
    back along the path to the source, and every switch on it forgets the packet. So a header never
    waits: within n cycles it has arrived or is rejected. An output that a path releases accepts
    another header in the next cycle, so no cycle is lost between packets.

    Once a header has arrived, its packet can't be rejected any more, but may wait: while the
    destination is not ready, the whole path stops, and nothing is lost.

    `o[*].payload`, `.valid` and `.close` come from registers. `i[*].ready` depends combinationally
    on `i[*]` and `o[*].ready`, and `i[*].reject` on these and `o[*].reject`: through n switches,
    the backward signals pass through n times a few gates.

    Parameters
    ----------
    packet : Packet
        With flits. The top digit of the header's tag names the output. A header whose digit names
        no output (radix 3, for example, has two-bit digits) is rejected.
    radix : int
        Number of inputs and of outputs, at least 2.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.

    Members
    -------
    i : In(RejectingLink(packet)).array(radix)
    o : Out(RejectingLink(packet)).array(radix)
    dropped : Out(radix)
        Bit i: the header at input i is rejected here, in this cycle.

    Raises
    ------
    ValueError
        If the packet has a broadcast mask, or a tag narrower than a
        digit.
    """

    meters = (Meter("dropped", "dropped", "pulses"),)

    def __init__(self, packet: Packet, *, radix: int, routing: Routing = "destination") -> None:
        self._set_up(packet, radix, routing, flits=True, most=MOST_RADIX)
        if packet.broadcast:
            raise InvalidValue("Packet that may be rejected must not have a broadcast mask")
        self.packet = packet
        ports = RejectingLink(packet)
        super().__init__(
            {"i": In(ports).array(radix), "o": Out(ports).array(radix), "dropped": Out(radix)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = range(self.radix)
        m.submodules.box = box = InterchangeBox(self.radix, self.packet)
        arbiters = [RoundRobin(self.radix) for _ in ports]

        # A path uses output j while taken[j], and comes from input owner[j].
        taken = Signal(self.radix)
        owner = [Signal(range(self.radix), name=f"owner_{j}") for j in ports]
        chosen = [Mux(taken[j], owner[j], arbiters[j].grant) for j in ports]
        moves = [~port.valid | port.ready for port in self.o]

        for i, source in enumerate(self.i):
            # Bit j: output j is on the path from this input, or (carried) is granted to its header.
            path = Signal(self.radix, name=f"path_{i}")
            carried = Signal(self.radix, name=f"carried_{i}")
            header = Signal(name=f"header_{i}")
            target = Signal(self.digit_bits, name=f"target_{i}")
            m.d.comb += [
                path.eq(Cat(taken[j] & (owner[j] == i) for j in ports)),
                header.eq(source.valid & ~path.any()),
                target.eq(output_port(source.payload.tag, self.radix, self.routing, i)),
                box.i[i].eq(forwarded(source.payload, self.digit_bits)),
            ]
            for j, arbiter in enumerate(arbiters):
                request = arbiter.request[i]
                m.d.comb += [
                    request.eq(header & (target == j) & ~taken[j] & moves[j]),
                    carried[j].eq(path[j] | (request & (arbiter.grant == i))),
                ]
            backward = Cat(port.reject for port in self.o)
            m.d.comb += [
                self.dropped[i].eq(header & ~carried.any()),
                source.ready.eq((carried & Cat(moves)).any()),
                source.reject.eq(self.dropped[i] | (path & backward).any()),
            ]

        for j, (arbiter, output) in enumerate(zip(arbiters, self.o)):
            m.submodules[f"arbiter_{j}"] = arbiter
            m.d.comb += arbiter.taken.eq(1)
            valid, close = Signal(name=f"valid_{j}"), Signal(name=f"close_{j}")
            with m.Switch(chosen[j]):
                for i, source in enumerate(self.i):
                    with m.Case(i):
                        m.d.comb += [
                            valid.eq(source.valid & (taken[j] | arbiter.request[i])),
                            close.eq(source.close),
                        ]
            with m.If(moves[j]):
                m.d.sync += output.valid.eq(valid)
                with m.If(valid):
                    m.d.sync += [
                        output.payload.eq(box.o[j]),
                        output.close.eq(close),
                        taken[j].eq(~close),
                        owner[j].eq(chosen[j]),
                    ]
            with m.If(output.reject):
                m.d.sync += [output.valid.eq(0), taken[j].eq(0)]
        box.set(m, chosen, ~0)
        return m
