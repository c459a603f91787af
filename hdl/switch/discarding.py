"""Discarding of packets whose header has not moved for some time."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream

__all__ = ["discarding"]


def discarding(
    m: Module, name: str, head: stream.Interface, last: Value, arrived: Value, timeout: int
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
        The head of the queue. `ready` must be 1 while flits are swallowed.
    last : Value
        Whether the flit at the head is a tail.
    arrived : Value
        Whether the header at the head is at its destination. It is not discarded then.
    timeout : int
        In cycles, at least 1.
    """
    inside, swallows, begins = (
        Signal(name=f"{each}_{name}") for each in ("inside", "swallows", "begins")
    )
    stood = Signal(range(timeout), name=f"stood_{name}")
    late = stood == timeout - 1
    moves = head.valid & head.ready
    m.d.comb += begins.eq(late & head.valid & ~head.ready & ~inside & ~arrived)
    with m.If(moves):
        m.d.sync += [stood.eq(0), inside.eq(~last)]
        with m.If(last):
            m.d.sync += swallows.eq(0)
    with m.Elif(begins):
        m.d.sync += [stood.eq(0), swallows.eq(1)]
    with m.Elif(head.valid & ~inside & ~arrived):
        m.d.sync += stood.eq(stood + 1)
    return swallows, begins
