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

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import MOST_RADIX, check_integer, check_radix
from ..graphs.tags import Routing, check_routing
from ..links.packet import Packet, check_tag
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.lane_queue import LaneQueue
from ..primitives.routing_tags import check_outputs, forwarded, output_port, requested_outputs
from ..switch.entry import InputQueue
from ..switch.held import Head, hold
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
        size: dict[str, Any] = {"writers": len(self.i), "depth": self.depth, "refill": self.refill}
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
        entry = InputQueue(self.depth, self.refill)
        queues, heads = [], []
        served = [Signal(self.outputs, name=f"served_{i}") for i in range(len(self.i))]
        for i, source in enumerate(self.i):
            queue = entry.place(m, f"{i}", self.packet, source, flits=False)
            m.d.comb += queue.i[0].payload.eq(source.payload)
            first = queue.o
            word = forwarded(first.payload, self.digit_bits)
            if self.packet.broadcast:
                aims = [first.valid & bit for bit in self._copies(m, i, first, served[i])]
            else:
                target = Signal(self.digit_bits, name=f"target_{i}")
                m.d.comb += target.eq(self._target(first.payload, i))
                aims = [target == j for j in ports]
            by_output = dict(enumerate(aims))
            heads.append(Head(word, first.valid, first.valid, by_output, self.packet.broadcast))
            queues.append(queue)
        hold(m, platform, heads, self.o, worms=False, lanes=self.dilation_out)
        for queue, head, taken in zip(queues, heads, served):
            if self.packet.broadcast:
                m.d.comb += taken.eq(Cat(head.served[j] for j in ports))
            else:
                m.d.comb += queue.o.ready.eq(head.leaves)
        return m
