"""Buffered packet switches: k x k boxes for single-flit packets (Siegel et al., IV-A).

With a broadcast mask (III-B, III-C), a packet may be for several outputs. Each output takes its
copy when it has room, independently of the others, and in turn with all other packets that request
it. The packet leaves its input when the last output has its copy. No copy waits for another one, so
a broadcast can no more deadlock or starve than the same number of one-to-one packets.
"""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer, check_radix
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.interchange_box import InterchangeBox
from ..primitives.packet import (
    Packet,
    check_outputs,
    check_tag,
    forwarded,
    output_port,
    requested_outputs,
)
from ..primitives.round_robin import RoundRobin
from ..topology.tags import Routing, check_routing
from .broadcast import CopyTracker

__all__ = ["InputQueuedSwitch", "OutputQueuedSwitch"]


class _PacketSwitch(wiring.Component):
    """Parameters, checks and ports shared by the packet switches."""

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        outputs: int | None = None,
    ) -> None:
        radix = check_radix(radix)
        outputs = check_outputs(radix, outputs, routing)
        depth = check_integer("Depth", depth, 1)
        check_routing(routing, radix)
        self.packet = packet
        self.radix = radix
        self.outputs = outputs
        self.depth = depth
        self.routing = routing
        self.refill = depth == 1 if refill is None else refill
        ports = stream.Signature(packet)
        check_tag(packet, outputs)
        super().__init__({"i": In(ports).array(radix), "o": Out(ports).array(outputs)})

    @property
    def digit_bits(self) -> int:
        """Width of the digit of the tag that this switch uses."""
        return (self.outputs - 1).bit_length()

    def _copies(self, m: Module, i: int, source: stream.Interface, taken: Value) -> Value:
        """Bit j: the broadcast at input i is to be offered to output j.

        The packet leaves `source` with its last copy. `taken` says, one bit per output, which
        outputs take what they are offered in this cycle.
        """
        m.submodules[f"copies_{i}"] = copies = CopyTracker(self.outputs)
        m.d.comb += [
            copies.valid.eq(source.valid),
            copies.requested.eq(requested_outputs(source.payload, self.outputs, self.routing, i)),
            copies.taken.eq(taken),
            source.ready.eq(copies.done),
        ]
        return copies.left


class OutputQueuedSwitch(_PacketSwitch):
    """A switch with a queue at each output that accepts arrivals from all inputs in one cycle.

    This is the switch of the paper's analysis (VI-D). A packet leaves one cycle after it arrived,
    if no other is before it; every output carries one packet per cycle. `o` comes from registers
    and memories. `i[*].ready` depends combinationally on `i[*]` (packets compete in turn for the
    last free slots of a queue; see `ArrivalQueue`) and, with `refill`, on `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        The tag's top digit names the output. A digit that names no output (radix 3, for example,
        has two-bit digits) is never taken, and so blocks its input: tags must come from a
        `TagScheme`. With a mask, the tag names all outputs for which its digit would differ only
        where the mask's top bits are 1.
    radix : int
        Number of inputs, at least 2, and of outputs.
    depth : int
        Packets that fit into each queue, at least 1.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.
    refill : bool, optional
        Whether a slot freed in a cycle can be filled in the same cycle. Only depth 1 needs this for
        full throughput, and there it is the default; otherwise the default is the shorter path.
    outputs : int, optional
        Number of outputs, at least 2, if there are not as many as inputs. Tags must then be
        destination tags.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix)
    o : Out(stream.Signature(packet)).array(outputs)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above, or the packet's tag is narrower than a digit.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues = []
        for j, output in enumerate(self.o):
            queue = ArrivalQueue(
                self.packet, writers=self.radix, depth=self.depth, refill=self.refill
            )
            m.submodules[f"queue_{j}"] = queue
            wiring.connect(m, wiring.flipped(output), queue.o)
            queues.append(queue)
        for i, source in enumerate(self.i):
            ready = [queue.i[i].ready for queue in queues]
            if self.packet.broadcast:
                wanted = self._copies(m, i, source, Cat(ready))
            else:
                target = output_port(source.payload.tag, self.outputs, self.routing, i)
                wanted = [target == j for j in range(self.outputs)]
                m.d.comb += source.ready.eq(Cat(r & w for r, w in zip(ready, wanted)).any())
            for queue, wants in zip(queues, wanted):
                m.d.comb += [
                    queue.i[i].valid.eq(source.valid & wants),
                    queue.i[i].payload.eq(forwarded(source.payload, self.digit_bits)),
                ]
        return m


class InputQueuedSwitch(_PacketSwitch):
    """A switch with a queue at each input; only the packets at the heads compete.

    A packet leaves one cycle after it arrived, if no other is before it. Each output takes packets
    from the inputs in turn (`RoundRobin`) and holds a choice until the packet is taken; a packet
    that waits blocks those behind it. `o[*].valid` and `.payload` depend only on registers and
    memories, and so does `i[*].ready`, except with `refill`, when it depends on `o[*].ready`.

    Parameters, members and errors are those of `OutputQueuedSwitch`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = range(self.outputs)
        m.submodules.box = box = InterchangeBox(self.radix, self.packet, self.outputs)
        arbiters = [RoundRobin(self.radix) for _ in ports]
        taken = [port.ready & port.valid for port in self.o]
        for i, source in enumerate(self.i):
            queue = ArrivalQueue(self.packet, depth=self.depth, refill=self.refill)
            m.submodules[f"queue_{i}"] = queue
            wiring.connect(m, wiring.flipped(source), queue.i[0])
            head = queue.o
            m.d.comb += box.i[i].eq(forwarded(head.payload, self.digit_bits))
            if self.packet.broadcast:
                served = [(arbiter.grant == i) & flag for arbiter, flag in zip(arbiters, taken)]
                wanted = self._copies(m, i, head, Cat(served))
            else:
                target = Signal(self.digit_bits, name=f"target_{i}")
                port = output_port(head.payload.tag, self.outputs, self.routing, i)
                m.d.comb += target.eq(port)
                wanted = [target == j for j in ports]
                for wants, arbiter, flag in zip(wanted, arbiters, taken):
                    with m.If(wants & (arbiter.grant == i)):
                        m.d.comb += head.ready.eq(flag)
            for wants, arbiter in zip(wanted, arbiters):
                m.d.comb += arbiter.request[i].eq(head.valid & wants)
        for j, (arbiter, output) in enumerate(zip(arbiters, self.o)):
            m.submodules[f"arbiter_{j}"] = arbiter
            m.d.comb += [
                output.valid.eq(arbiter.request.any()),
                output.payload.eq(box.o[j]),
                arbiter.taken.eq(output.ready),
            ]
        box.set(m, [arbiter.grant for arbiter in arbiters], ~0)
        return m
