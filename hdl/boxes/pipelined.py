"""A packet switch with registers between its arbiters, its crossbar and its links."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..primitives.arbiters import least_recent
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.interchange_box import InterchangeBox
from ..primitives.packet import Packet, forwarded
from ..primitives.request_queue import RequestQueue
from ..primitives.round_robin import number_of
from ..topology.tags import Routing
from .packet_switches import PacketSwitch

__all__ = ["PipelinedSwitch"]


class PipelinedSwitch(PacketSwitch):
    """An input-queued switch for a faster clock, of one or two more cycles.

    The output of a packet is found as it enters its queue (`RequestQueue`), so arbiters begin with
    registers. Each output grants one of the packets at the heads that request it in every cycle
    in which it has room: the one of the input that it served longest ago, so that a packet waits
    for at most one other from each input. A granted packet never waits again before its output.

    *pipeline=1*: the crossbar is set in the cycle of the grant, and each output has a register.
    A packet leaves two cycles after it arrived, if no other is before it.

    *pipeline=2*: the grants and the packets at the heads are in registers before the crossbar. So
    a packet leaves three cycles after it arrived; and since one may be on its way when the output
    stops, an output has two registers. It grants while it has credit: one for each of these.

    Every output carries one packet per cycle. `o` comes from registers, and so does `i[*].ready`:
    the only path from `o[*].ready` is to the grants.

    Parameters, members and errors are those of `InputQueuedSwitch`, without `refill`, bundles and
    broadcasts, and with a depth of at least 2; and `pipeline`, which is 1 or 2.
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
        check_integer(f"Depth with pipeline={pipeline}", depth, 2)
        if packet.broadcast:
            raise InvalidValue(f"Packets must have no broadcast mask with pipeline={pipeline}")
        super().__init__(packet, radix=radix, depth=depth, routing=routing, outputs=outputs)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, outputs = range(self.radix), range(self.outputs)
        m.submodules.box = box = InterchangeBox(self.radix, self.packet, self.outputs)
        queues = [self._queue(m, i) for i in inputs]
        heads = [queue.payload for queue in queues]
        # The packet that each output gets next, if any; used only if the output has room for it.
        requests = [Cat(queue.request[j] for queue in queues) for j in outputs]
        room = Signal(self.outputs)
        first = [least_recent(m, f"arbiter_{j}", requests[j], room[j]) for j in outputs]
        for i, queue in enumerate(queues):
            m.d.comb += queue.taken.eq((Cat(granted[i] for granted in first) & room).any())
        select = [number_of(granted) for granted in first]
        if self.pipeline == 2:
            heads = [self._delayed(m, f"head_{i}", heads[i]) for i in inputs]
            select = [self._delayed(m, f"select_{j}", select[j]) for j in outputs]
        for entry, head in zip(box.i, heads):
            m.d.comb += entry.eq(forwarded(head, self.digit_bits))
        box.set(m, select, ~0)
        drive = self._register if self.pipeline == 1 else self._credits
        for j, output in enumerate(self.o):
            m.d.comb += room[j].eq(drive(m, j, requests[j].any() & room[j], box.o[j], output))
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
        credits = Signal(range(_CREDITS + 1), init=_CREDITS, name=f"credits_{j}")
        credit = Signal(init=1, name=f"credit_{j}")
        left = Signal(range(_CREDITS + 1), name=f"credits_left_{j}")
        m.d.comb += [
            left.eq(credits - granted + (output.valid & output.ready)),
            queue.i[0].valid.eq(comes),
            queue.i[0].payload.eq(packet),
        ]
        m.d.sync += [comes.eq(granted), credits.eq(left), credit.eq(left != 0)]
        return credit


_CREDITS = 3
"""Cycles from a grant until its packet, which does not wait, has left and given its credit back."""
