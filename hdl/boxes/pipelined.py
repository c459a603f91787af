"""A packet switch with registers between its arbiters, its crossbar and its links."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing
from ..links.packet import Packet
from ..primitives.arbiters import least_recent
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.multiplexer import one_of, one_of_next
from ..primitives.places import Places
from ..primitives.request_queue import RequestQueue
from ..primitives.routing_tags import forwarded
from .packet_switches import PacketSwitch

__all__ = ["MOST_PIPELINED", "PipelinedSwitch"]

MOST_PIPELINED = 64
"""Most packets that fit into a queue, whose level has a bit for each."""


class PipelinedSwitch(PacketSwitch):
    """An input-queued switch for a faster clock, with one or two cycles more.

    The output of a packet is found as it enters its queue (`RequestQueue`), so arbiters begin with
    registers. In every cycle each output that has room takes one of the packets at the heads that
    request it: that of the input which it served longest ago. So of each other input at most one
    packet goes first. A packet that has been granted is not blocked by packets for other outputs.

    *pipeline=1*: the crossbar is set in the cycle of the grant, and each output has a register.
    A packet is shown two cycles after it arrived, if no other is before it.

    *pipeline=2*: grants and the packets at the heads are in registers before the crossbar, and each
    output has a queue, in which a granted packet always finds room: an output grants only while
    it has credit. A packet is shown three cycles after it arrived, if no other is before it.

    Every output carries one packet per cycle. `o` and `i[*].ready` come from registers and
    memories. With pipeline=1 grants depend on `o[*].ready`; with 2 only counters do.

    Parameters, members and errors are those of `InputQueuedSwitch`, without `refill`, bundles and
    broadcasts; `depth` is from 2 to 64, and `pipeline` 1 or 2. At an output there is room for
    another packet, or for three more with pipeline=2.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        radix: int,
        depth: int,
        pipeline: int,
        routing: Routing = "destination",
        outputs: int | None = None,
    ) -> None:
        self.pipeline = check_integer("Pipeline", pipeline, 1, 2)
        check_integer(f"Depth with pipeline={pipeline}", depth, 2, MOST_PIPELINED)
        if packet.broadcast:
            raise InvalidValue(f"Packets must have no broadcast mask with pipeline={pipeline}")
        super().__init__(packet, radix=radix, depth=depth, routing=routing, outputs=outputs)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, outputs = range(self.radix), range(self.outputs)
        queues = [self._queue(m, i) for i in inputs]
        heads = [queue.payload for queue in queues]
        # The packet that each output gets next, if any; used only if the output has room for it.
        requests = [Cat(queue.request[j] for queue in queues) for j in outputs]
        room = Signal(self.outputs)
        first = [least_recent(m, f"arbiter_{j}", requests[j], room[j]) for j in outputs]
        for i, queue in enumerate(queues):
            m.d.comb += queue.taken.eq((Cat(granted[i] for granted in first) & room).any())
        choose, drive = one_of, self._register
        if self.pipeline == 2:
            heads = [self._delayed(m, f"head_{i}", heads[i]) for i in inputs]
            choose, drive = one_of_next, self._credits
        words = [forwarded(head, self.digit_bits) for head in heads]
        for j, output in enumerate(self.o):
            # What is shown without a grant does not matter, so of two inputs one bit tells which.
            granted = [~first[j][1], first[j][1]] if self.radix == 2 else list(first[j])
            chosen = choose(m, platform, f"output_{j}", granted, words)
            m.d.comb += room[j].eq(drive(m, j, requests[j].any() & room[j], chosen, output))
        return m

    def _delayed(self, m: Module, name: str, value: Any) -> Any:
        """A value in the next cycle; of no meaning after reset."""
        register = Signal(value.shape(), reset_less=True, name=name)
        m.d.sync += register.eq(value)
        return register

    def _queue(self, m: Module, i: int) -> RequestQueue:
        """The queue of an input."""
        queue = RequestQueue(self.packet, outputs=self.outputs, depth=self.depth)
        m.submodules[f"queue_{i}"] = queue
        wiring.connect(m, wiring.flipped(self.i[i]), queue.i)
        target = self._target(self.i[i].payload, i)
        m.d.comb += queue.wanted.eq(Cat(target == j for j in range(self.outputs)))
        return queue

    def _register(
        self, m: Module, j: int, granted: Value, packet: Value, output: stream.Interface
    ) -> Value:
        """The register of an output; return whether it has room for a packet."""
        room = ~output.valid | output.ready
        shown = Signal(self.packet, reset_less=True, name=f"shown_{j}")
        m.d.comb += output.payload.eq(shown)
        m.d.sync += output.valid.eq(granted | output.valid & ~output.ready)
        with m.If(room):
            m.d.sync += shown.eq(packet)
        return room

    def _credits(
        self, m: Module, j: int, granted: Value, packet: Value, output: stream.Interface
    ) -> Value:
        """The queue of an output; return whether there is credit for one more packet.

        A grant takes a credit, which is back two cycles after the packet is shown: so with three
        an output never rests, and a packet always finds room in the queue.
        """
        queue = ArrivalQueue(self.packet, depth=_CREDITS)
        m.submodules[f"output_{j}"] = queue
        wiring.connect(m, wiring.flipped(output), queue.o)
        comes = Signal(name=f"comes_{j}")
        credits = Places(m, f"credits_{j}", _CREDITS, output.valid & output.ready, granted)
        m.d.comb += [queue.i[0].valid.eq(comes), queue.i[0].payload.eq(packet)]
        m.d.sync += comes.eq(granted)
        return credits.free()


_CREDITS = 3
"""Cycles from a grant until its packet, which does not wait, has left and given its credit back."""
