"""Buffered packet switches: k x k boxes for single-flit packets (Siegel et al., IV-A).

With a broadcast mask (III-B, III-C), a packet may be for several outputs. Each output takes its
copy when it has room, independently of the others, and in turn with all other packets that request
it. The packet leaves its input when the last output has its copy. No copy waits for another one, so
a broadcast can no more deadlock or starve than the same number of one-to-one packets.

In a dilated network (VI-A) each link is a bundle of lanes to the same place. A packet takes any
free lane of the bundle that it wants, so packets of a flow may overtake each other.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import MOST_RADIX, check_integer, check_radix
from ..graphs.tags import Routing, check_routing
from ..links.packet import Packet, check_tag
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.interchange_box import InterchangeBox
from ..primitives.lane_queue import LaneQueue
from ..primitives.round_robin import RoundRobin
from ..primitives.routing_tags import check_outputs, forwarded, output_port, requested_outputs
from .broadcast import CopyTracker

__all__ = ["InputQueuedSwitch", "OutputQueuedSwitch", "PacketSwitch"]

T = TypeVar("T")


class PacketSwitch(wiring.Component):
    """Parameters, checks and ports shared by the packet switches."""

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        dilation_in: int = 1,
        dilation_out: int = 1,
        outputs: int | None = None,
    ) -> None:
        radix = check_radix(radix)
        outputs = check_outputs(radix, outputs, routing)
        depth = check_integer("Depth", depth, 1)
        dilation_in = check_integer("Dilation", dilation_in, 1)
        dilation_out = check_integer("Dilation", dilation_out, 1)
        check_integer("Input links of a switch", radix * dilation_in, 2, 64)
        check_integer("Output links of a switch", outputs * dilation_out, 2, MOST_RADIX)
        check_routing(routing, radix)
        self.packet = packet
        self.radix = radix
        self.outputs = outputs
        self.depth = depth
        self.routing = routing
        self.refill = depth == 1 if refill is None else refill
        self.dilation_in = dilation_in
        self.dilation_out = dilation_out
        check_tag(packet, outputs)
        ports = stream.Signature(packet)
        links = {
            "i": In(ports).array(radix * dilation_in),
            "o": Out(ports).array(outputs * dilation_out),
        }
        super().__init__(links)

    @property
    def digit_bits(self) -> int:
        """Width of the digit of the tag that this switch uses."""
        return (self.outputs - 1).bit_length()

    def _bundle(self, links: Sequence[T], number: int) -> Sequence[T]:
        """Those of the output links that lead to output `number`."""
        return links[number * self.dilation_out : (number + 1) * self.dilation_out]

    def _target(self, packet: data.View, i: int) -> Value:
        """The number of the output that a packet at input link i requests."""
        return output_port(packet.tag, self.outputs, self.routing, i // self.dilation_in)

    def _copies(self, m: Module, i: int, source: stream.Interface, taken: Value) -> Value:
        """Bit j: the broadcast at input link i is to be offered to output j.

        The packet leaves `source` with its last copy. `taken` says, one bit per output, which
        outputs take what they are offered in this cycle.
        """
        bundle = i // self.dilation_in
        m.submodules[f"copies_{i}"] = copies = CopyTracker(self.outputs)
        m.d.comb += [
            copies.valid.eq(source.valid),
            copies.requested.eq(
                requested_outputs(source.payload, self.outputs, self.routing, bundle)
            ),
            copies.taken.eq(taken),
            source.ready.eq(copies.done),
        ]
        return copies.left


class OutputQueuedSwitch(PacketSwitch):
    """A switch with a queue at each output that accepts arrivals from all inputs in one cycle.

    This is the switch of the paper's analysis (VI-D). A packet leaves one cycle after it arrived,
    if no other is before it; every output carries one packet per cycle. `o` comes from registers
    and memories. `i[*].ready` depends combinationally on `i[*]` (packets compete in turn for the
    last free slots of a queue; see `ArrivalQueue`) and, with `refill`, on `o[*].ready`.

    With `dilation_out` above 1 there is a `LaneQueue` for each output: its free lanes show the next
    packets, `i[*].ready` does not depend on `o[*].ready`, and each lane has room for one packet
    more.

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
    dilation_in, dilation_out : int
        Links in the bundle of each input and of each output, at least 1; link l of bundle b is
        number b * dilation + l. At most 64 input links are possible.
    outputs : int, optional
        Number of outputs, at least 2, if there are not as many as inputs. Tags must then be
        destination tags.
    separate : bool, optional
        Whether each input has memories of its own in each queue, as in `ArrivalQueue`. Only without
        `dilation_out`.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix * dilation_in)
    o : Out(stream.Signature(packet)).array(outputs * dilation_out)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above, or the packet's tag is narrower than a digit.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        dilation_in: int = 1,
        dilation_out: int = 1,
        outputs: int | None = None,
        separate: bool | None = None,
    ) -> None:
        super().__init__(
            packet,
            radix=radix,
            depth=depth,
            routing=routing,
            refill=refill,
            dilation_in=dilation_in,
            dilation_out=dilation_out,
            outputs=outputs,
        )
        self.separate = separate

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues: list[ArrivalQueue | LaneQueue] = []
        size: dict[str, Any] = {
            **{"writers": len(self.i), "depth": self.depth, "refill": self.refill}
        }
        for j in range(self.outputs):
            queue: ArrivalQueue | LaneQueue
            if self.dilation_out == 1:
                queue = ArrivalQueue(self.packet, separate=self.separate, **size)
                wiring.connect(m, wiring.flipped(self.o[j]), queue.o)
            else:
                queue = LaneQueue(self.packet, lanes=self.dilation_out, **size)
                for output, lane in zip(self._bundle(self.o, j), queue.o):
                    wiring.connect(m, wiring.flipped(output), lane)
            m.submodules[f"queue_{j}"] = queue
            queues.append(queue)
        for i, source in enumerate(self.i):
            ready = [queue.i[i].ready for queue in queues]
            if self.packet.broadcast:
                wanted = self._copies(m, i, source, Cat(ready))
            else:
                target = self._target(source.payload, i)
                wanted = [target == j for j in range(self.outputs)]
                m.d.comb += source.ready.eq(Cat(r & w for r, w in zip(ready, wanted)).any())
            for queue, wants in zip(queues, wanted):
                m.d.comb += [
                    queue.i[i].valid.eq(source.valid & wants),
                    queue.i[i].payload.eq(forwarded(source.payload, self.digit_bits)),
                ]
        return m


class InputQueuedSwitch(PacketSwitch):
    """A switch with a queue at each input link; only the packets at the heads compete.

    A packet leaves one cycle after it arrived, if no other is before it. Each output takes packets
    from the inputs in turn (`RoundRobin`) and holds a choice until the packet is taken; a packet
    that waits blocks those behind it. `o[*].valid` and `.payload` depend only on registers and
    memories, and so does `i[*].ready`, except with `refill`, when it depends on `o[*].ready`.

    The lanes of a bundle choose one after the other, each in turn among the packets that no other
    lane has: the first lane that shows no packet gets one first.

    Parameters, members and errors are those of `OutputQueuedSwitch`, without `separate`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = range(self.outputs)
        inputs = len(self.i)
        m.submodules.box = box = InterchangeBox(inputs, self.packet, len(self.o))
        arbiters = [RoundRobin(inputs) for _ in self.o]
        taken = [port.ready & port.valid for port in self.o]
        requests = [arbiter.request for arbiter in arbiters]
        if self.dilation_out > 1:
            requests = [Signal(inputs, name=f"request_{j}") for j in ports]
        for i, source in enumerate(self.i):
            queue = ArrivalQueue(self.packet, depth=self.depth, refill=self.refill)
            m.submodules[f"queue_{i}"] = queue
            wiring.connect(m, wiring.flipped(source), queue.i[0])
            head = queue.o
            m.d.comb += box.i[i].eq(forwarded(head.payload, self.digit_bits))
            if self.packet.broadcast:
                served = [(arbiter.grant == i) & flag for arbiter, flag in zip(arbiters, taken)]
                if self.dilation_out > 1:
                    flags = [arbiter.granted[i] & flag for arbiter, flag in zip(arbiters, taken)]
                    served = [Cat(self._bundle(flags, j)).any() for j in ports]
                wanted = self._copies(m, i, head, Cat(served))
            else:
                target = Signal(self.digit_bits, name=f"target_{i}")
                m.d.comb += target.eq(self._target(head.payload, i))
                wanted = [target == j for j in ports]
                for number, (arbiter, flag) in enumerate(zip(arbiters, taken)):
                    wants = wanted[number // self.dilation_out]
                    mine = arbiter.grant == i if self.dilation_out == 1 else arbiter.granted[i]
                    with m.If(wants & mine):
                        m.d.comb += head.ready.eq(flag)
            for wants, request in zip(wanted, requests):
                m.d.comb += request[i].eq(head.valid & wants)
        for number, (arbiter, output) in enumerate(zip(arbiters, self.o)):
            m.submodules[f"arbiter_{number}"] = arbiter
            m.d.comb += [
                output.valid.eq(arbiter.request.any()),
                output.payload.eq(box.o[number]),
                arbiter.taken.eq(output.ready),
            ]
        if self.dilation_out > 1:
            for j in ports:
                self._share(m, requests[j], self._bundle(arbiters, j), self._bundle(self.o, j))
        box.set(m, [arbiter.grant for arbiter in arbiters], ~0)
        return m

    def _share(
        self,
        m: Module,
        request: Signal,
        arbiters: Sequence[RoundRobin],
        lanes: Sequence[stream.Interface],
    ) -> None:
        """Let each lane of a bundle choose among the packets that no other lane shows."""
        kept = [Signal(len(request), name=f"kept_{lane}") for lane in range(len(lanes))]
        for lane, (arbiter, output) in enumerate(zip(arbiters, lanes)):
            others = [kept[x] for x in range(len(lanes)) if x != lane]
            others += [earlier.granted for earlier in arbiters[:lane]]
            free = request
            for other in others:
                free = free & ~other
            m.d.comb += arbiter.request.eq(free)
            m.d.sync += kept[lane].eq(Mux(output.ready, 0, arbiter.granted))
