"""Discarding of packets whose header has not moved for some time."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream

__all__ = ["discarding"]


def discarding(
    m: Module, name: str, head: stream.Interface, arrived: Value, timeout: int
) -> tuple[Value, Value]:
    """Whether the flits of a queue are swallowed, and whether that begins after this cycle.

    It begins when a header has been at the head of the queue for `timeout` cycles, and ends with
    the tail of its packet. Costs a counter and two flip-flops.

    Parameters
    ----------
    m : Module
    name : str
        A suffix for the names of signals.
    head : stream.Interface
        The head of the queue: flits of packets, as `payload.flit`. `ready` must be 1 while flits
        are swallowed.
    arrived : Value
        Whether the header at the head is at its destination. It is not discarded then.
    timeout : int
        In cycles, at least 1.
    """
    inside, swallows, begins, stands = (
        Signal(name=f"{each}_{name}") for each in ("inside", "swallows", "begins", "stands")
    )
    stood = Signal(range(timeout), name=f"stood_{name}")
    m.d.comb += [
        stands.eq(head.valid & ~head.ready & ~inside & ~arrived),
        begins.eq(stands & (stood == timeout - 1)),
    ]
    m.d.sync += stood.eq(Mux(stands & ~begins, stood + 1, 0))
    with m.If(head.valid & head.ready):
        m.d.sync += [
            inside.eq(~head.payload.flit.last),
            swallows.eq(swallows & ~head.payload.flit.last),
        ]
    with m.If(begins):
        m.d.sync += swallows.eq(1)
    return swallows, begins
