"""A queue that costs no cycle while nothing waits."""

from amaranth.hdl import Module, Mux, ShapeLike, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from .arrival_queue import ArrivalQueue

__all__ = ["OutputBuffer"]


class OutputBuffer(wiring.Component):
    """A first-in first-out queue that what arrives passes in the same cycle if the queue is empty.

    It stores only what the receiver does not take. `i.ready` comes from registers, so it ends the
    combinational path from `o.ready`; `o` depends combinationally on `i`. Throughput is one payload
    per cycle with a `depth` of 2 or more. With 1, a payload that had to wait is followed by a cycle
    in which nothing is accepted.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Number of payloads that fit, at least 1.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    """

    def __init__(self, shape: ShapeLike, *, depth: int) -> None:
        depth = check_integer("Depth", depth, 1)
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = ArrivalQueue(self.shape, depth=self.depth)
        entry, head = queue.i[0], queue.o
        m.d.comb += [
            self.i.ready.eq(entry.ready),
            self.o.valid.eq(head.valid | self.i.valid),
            Value.cast(self.o.payload).eq(
                Mux(head.valid, Value.cast(head.payload), Value.cast(self.i.payload))
            ),
            head.ready.eq(self.o.ready),
            entry.payload.eq(self.i.payload),
            entry.valid.eq(self.i.valid & (head.valid | ~self.o.ready)),
        ]
        return m
