"""Switches for packets of several flits: wormhole and virtual cut-through (Siegel et al., IV-A).

The flits of a packet follow each other through the network like a *worm*. The header requests an
output; once granted, the output belongs to the worm until the tail has passed. So the flits of two
packets never mix on a link, and the flits behind the header need no tag.

With a broadcast mask (III-B, III-C) a worm may be for several outputs. Each output takes its own
copy of it, from header to tail, as soon as it is free, and no copy waits for another one. That
needs room for the whole packet in each switch: if the flits behind the header could not enter while
one copy waits, the other copies would wait for them, each holding an output. Then packets could
wait for each other in a circle, even in one switch. With this room a switch passes on all flits of
a header that it has passed on, whatever its other outputs do; so, from the last stage back to the
first, all packets arrive.
"""

from typing import Any, Literal

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from ..fabric.checks import MOST_RADIX, check_word
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import forwarded, output_port, requested_outputs
from ..switch.broadcast import ReplicatingQueue
from ..switch.entry import InputQueue, at_header
from ..switch.exit import Exit
from ..switch.held import Head, hold
from ..switch.switch import Switch
from .box_parameters import BoxParameters

__all__ = ["CutThroughSwitch", "WormholeSwitch"]


def _begins(m: Module, name: str, flits: stream.Interface) -> Signal:
    """Whether the current or next flit of a stream is a header."""
    return at_header(m, name, flits.valid & flits.ready, flits.payload.last)


class _FlitSwitch(BoxParameters, Switch):
    """Parameters and checks shared by the flit switches, and several queues at each input."""

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        outputs: int | None,
        routing: Routing,
        entry: InputQueue,
        output_depth: int = 0,
    ) -> None:
        shape, route = self._set_up(packet, radix, routing, outputs, flits=True, most=MOST_RADIX)
        self.depth, self.refill = entry.depth, entry.refill
        super().__init__(packet, shape, route=route, entry=entry, exit=Exit(output_depth))

    def _merge_all(self, m: Module, platform: object, rows: list[list[stream.Interface]]) -> None:
        """Connect each output to the queues of all inputs for it: `rows` has a list per input."""
        heads = [
            Head(
                copy.payload.as_value(),
                copy.valid,
                copy.valid | ~_begins(m, f"queue_{i}_{j}", copy),
                {j: Const(1)},
            )
            for i, row in enumerate(rows)
            for j, copy in enumerate(row)
        ]
        outputs = [self._output(m, j) for j in range(self.outputs)]
        hold(m, platform, heads, outputs, worms=True)
        for copy, head in zip((copy for row in rows for copy in row), heads):
            m.d.comb += copy.ready.eq(head.leaves)

    def _replicating_queue(self, m: Module, i: int) -> tuple[ReplicatingQueue, list[Any]]:
        """A queue for the packets of input i, and the streams of their copies for each output."""
        queue = ReplicatingQueue(
            self.packet, readers=self.radix, depth=self.depth, refill=self.refill
        )
        m.submodules[f"queue_{i}"] = queue
        wanted = requested_outputs(queue.head, self.radix, self.routing, i)
        m.d.comb += queue.wanted.eq(wanted)
        arrives = queue.i.valid & queue.i.ready & queue.i.payload.last
        shown = self.entry.whole(m, f"queue_{i}", arrives, queue.done)
        copies = []
        for j, port in enumerate(queue.o):
            copy = stream.Signature(self.packet).create(path=(f"copy_{i}_{j}",))
            m.d.comb += [
                copy.valid.eq(port.valid & shown),
                copy.payload.eq(forwarded(port.payload, self.digit_bits)),
                port.ready.eq(copy.ready & shown),
            ]
            copies.append(copy)
        return queue, copies


class WormholeSwitch(_FlitSwitch):
    """A wormhole switch: a queue of flits at each input, and each output held by one worm at a
    time.

    A header leaves one cycle after it arrived, if no flit is before it and the output is free. In
    the cycle after a tail has left an output, the next header can follow, so no cycle is lost
    between worms of any inputs. Worms get an output in turn (`RoundRobin`); no flit waits for more
    than `radix` - 1 worms of other inputs. A header that waits stops all flits behind it, in this
    switch and, when its queue is full, in the switches before it; the outputs that its worm holds
    there stay blocked. Through n switches, an unblocked packet of c flits takes n + c - 1 cycles.

    `o[*].valid` and `.payload` depend only on registers and memories, and so does `i[*].ready`,
    except with `refill`, when it depends on `o[*].ready`.

    Parameters
    ----------
    packet : Packet
        With flits. The top digit of the header's tag names the output. A digit that names no output
        (radix 3, for example, has two-bit digits) is never taken, and so blocks its input: tags
        must come from a `TagScheme`. With a mask, the tag names all outputs for which its digit
        would differ only where the mask's top bits are 1.
    radix : int
        Number of inputs, at least 2, and of outputs.
    depth : int
        Flits that fit into each queue, at least 1. Packets may be longer, except with a mask:
        longer ones can then deadlock.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.
    refill : bool, optional
        Whether a slot freed in a cycle can be filled in the same cycle. Only depth 1 needs this for
        full throughput, and there it is the default; otherwise the default is the shorter path.
    output_depth : int
        Flits that fit into a buffer at each output, in addition to the queue at each input; 0 for
        none. Flits pass an empty buffer in the same cycle. With a buffer, `ready` of the outputs
        only matters to the buffers, so `i[*].ready` does not depend on it.
    outputs : int, optional
        Number of outputs, at least 2, if there are not as many as inputs. Tags must then be
        destination tags.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix)
    o : Out(stream.Signature(packet)).array(outputs)

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        routing: Routing = "destination",
        refill: bool | None = None,
        output_depth: int = 0,
        outputs: int | None = None,
    ) -> None:
        self.output_depth = output_depth
        super().__init__(
            packet,
            radix=radix,
            outputs=outputs,
            routing=routing,
            entry=InputQueue(depth, depth == 1 if refill is None else refill),
            output_depth=output_depth,
        )

    def elaborate(self, platform: object) -> Module:
        if not self.packet.broadcast:
            return super().elaborate(platform)
        m = Module()
        rows = []
        for i, source in enumerate(self.i):
            copying, row = self._replicating_queue(m, i)
            wiring.connect(m, wiring.flipped(source), copying.i)
            rows.append(row)
        self._merge_all(m, platform, rows)
        return m


class CutThroughSwitch(_FlitSwitch):
    """A virtual cut-through switch: it accepts a header only if there is room for a whole packet.

    It differs from `WormholeSwitch` in one point: a header enters only while its queue has room for
    the longest packet, and all flits behind it are then accepted at once. So a packet whose header
    waits is buffered completely in the switch that the header is in, and blocks no link before it.

    With `depth` equal to `length` a queue holds one packet at a time, except that the next header
    enters while the last tail leaves (`refill`). Packets that meet no conflict still follow each
    other without a gap, but none can wait in the queue behind another. To let one more packet wait
    there, `depth` must be 2 x `length`.

    *Crosspoint queues* make this the switch of the paper's analysis (VI-D), in which the queue of
    an output accepts arrivals from all inputs at once. There is a queue for each pair of input and
    output, so no packet waits for one with another output, and an output is never idle while a
    packet for it is in the switch. `i[*].ready` then depends combinationally on the offered header.

    With `store`, a header leaves only when the tail of its packet is in the queue: the base case of
    that analysis, in which the whole packet takes its c cycles at each box. The tail of a packet of
    c flits that is never blocked leaves 2 c - 1 cycles after the header arrived.

    Otherwise latency, throughput, fairness and combinational paths are those of `WormholeSwitch`.

    Parameters
    ----------
    packet, radix, routing, outputs
        As in `WormholeSwitch`.
    depth : int
        Flits that fit into each queue, at least `length`.
    length : int
        Flits of the longest packet, at least 1. The rest of a longer one waits outside, as a worm;
        with a mask, or with `store`, it can then deadlock.
    queues : "input" or "crosspoint"
        Whether there is one queue at each input, or one for each pair of input and output.
    refill : bool, optional
        Whether a header enters in the same cycle in which a flit that leaves makes room for it.
        Full throughput needs this if `depth` is `length`, and there it is the default.
    store : bool
        Whether a packet is stored whole before its header leaves (*store-and-forward*). Full
        throughput then needs a `depth` of two packets.

    Members
    -------
    i : In(stream.Signature(packet)).array(radix)
    o : Out(stream.Signature(packet)).array(outputs)

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        length: int,
        routing: Routing = "destination",
        queues: Literal["input", "crosspoint"] = "input",
        refill: bool | None = None,
        store: bool = False,
        outputs: int | None = None,
    ) -> None:
        check_word("Queues", queues, ("input", "crosspoint"))
        self.length, self.queues, self.store = length, queues, store
        super().__init__(
            packet,
            radix=radix,
            outputs=outputs,
            routing=routing,
            entry=InputQueue(depth, depth == length if refill is None else refill, length, store),
        )

    def elaborate(self, platform: object) -> Module:
        if self.queues == "input" and not self.packet.broadcast:
            return super().elaborate(platform)
        m = Module()
        if self.queues == "input":
            rows = []
            for i, source in enumerate(self.i):
                copying, row = self._replicating_queue(m, i)
                begins = _begins(m, f"input_{i}", source)
                room = self.entry.has_room(copying.level, copying.freed)
                m.d.comb += [
                    copying.i.valid.eq(source.valid & source.ready),
                    copying.i.payload.eq(source.payload),
                    source.ready.eq(copying.i.ready & (~begins | room)),
                ]
                rows.append(row)
        else:
            queues = [[self._queue() for _ in self.o] for _ in self.i]
            for i, (source, row) in enumerate(zip(self.i, queues)):
                begins = _begins(m, f"input_{i}", source)
                if self.packet.broadcast:
                    self._copy(m, i, source, row, begins)
                    continue
                target = self._target(m, i, source, begins)
                for j, queue in enumerate(row):
                    m.submodules[f"queue_{i}_{j}"] = queue
                    m.d.comb += queue.i[0].payload.eq(forwarded(source.payload, self.digit_bits))
                    with m.If(target == j):
                        m.d.comb += [
                            queue.i[0].valid.eq(source.valid & source.ready),
                            source.ready.eq(self._admits(queue, begins)),
                        ]
            rows = [
                [self._stored(m, f"queue_{i}_{j}", queue) for j, queue in enumerate(row)]
                for i, row in enumerate(queues)
            ]
        self._merge_all(m, platform, rows)
        return m

    def _target(self, m: Module, i: int, flits: stream.Interface, begins: Value) -> Signal:
        """The output for the current flit of input i: the one that its header requested."""
        wanted = output_port(flits.payload.tag, self.outputs, self.routing, i)
        kept = Signal(self.digit_bits, name=f"kept_{i}")
        target = Signal(self.digit_bits, name=f"target_{i}")
        with m.If(begins):
            m.d.sync += kept.eq(wanted)
        m.d.comb += target.eq(Mux(begins, wanted, kept))
        return target

    def _queue(self) -> ArrivalQueue:
        return ArrivalQueue(self.packet, depth=self.depth, refill=self.refill)

    def _copy(
        self, m: Module, i: int, source: stream.Interface, row: list[ArrivalQueue], begins: Value
    ) -> None:
        """Let flits enter the queues of all outputs that their packet is for, all at once.

        No other input fills these queues, so a header that waits for one finds room in the others.
        """
        wanted = Signal(self.radix, name=f"wanted_{i}")
        kept = Signal(self.radix, name=f"kept_{i}")
        requested = requested_outputs(source.payload, self.radix, self.routing, i)
        m.d.comb += wanted.eq(Mux(begins, requested, kept))
        m.d.sync += kept.eq(wanted)
        admitted = Cat(self._admits(queue, begins) for queue in row)
        m.d.comb += source.ready.eq(wanted.any() & (wanted & ~admitted == 0))
        for j, queue in enumerate(row):
            m.submodules[f"queue_{i}_{j}"] = queue
            m.d.comb += [
                queue.i[0].payload.eq(forwarded(source.payload, self.digit_bits)),
                queue.i[0].valid.eq(source.valid & source.ready & wanted[j]),
            ]

    def _stored(self, m: Module, name: str, queue: ArrivalQueue) -> stream.Interface:
        """The flits that may leave a queue: with `store`, those of packets that are in it whole."""
        if not self.entry.store:
            return queue.o
        head = stream.Signature(self.packet).create(path=("stored", name))
        arrival = queue.i[0]
        enters = arrival.valid & arrival.ready & arrival.payload.last
        leaves = head.valid & head.ready & head.payload.last
        shown = self.entry.whole(m, name, enters, leaves)
        m.d.comb += [
            head.payload.eq(queue.o.payload),
            head.valid.eq(queue.o.valid & shown),
            queue.o.ready.eq(head.ready & shown),
        ]
        return head

    def _admits(self, queue: ArrivalQueue, begins: Value) -> Value:
        """Whether a flit may enter a queue: a header needs room for the longest packet."""
        room = self.entry.has_room(queue.level, queue.o.valid & queue.o.ready)
        return queue.i[0].ready & (~begins | room)
