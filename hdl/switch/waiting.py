"""What is at the head of an input's queue."""

from typing import NamedTuple, Protocol

from amaranth.hdl import Const, Signal, Value
from amaranth.lib import data, stream

from ..primitives.arrival_queue import ArrivalQueue

__all__ = ["Replay", "Replayed", "Waiting"]


class Replay(Protocol):
    """A queue whose first packet can be read again: two members of `ReplayQueue`."""

    stays: Signal
    last: Signal


class Replayed:
    """Stands for a queue whose first packet can be read again."""

    def __init__(self, name: str) -> None:
        self.stays, self.last = (Signal(name=f"{each}_{name}") for each in ("replays", "tail"))


class Waiting(NamedTuple):
    """What is at the head of an input's queue.

    Attributes
    ----------
    head : stream.Interface
        `valid` and `ready` of its flits.
    word : Value
        The flit as it leaves.
    last : Value
        Whether it is a tail.
    header : data.View
        As it came.
    stored : Value
        Its outputs, one bit for each that the input leads to, if they were found as it arrived.
    decided : Value
        Whether a header may go on over a link.
    queue : Replay or None
        The queue, if its packets can be read again.
    merged : Value
        Whether the flit is taken to be merged.
    begun : Signal or None
        Set by the switch: whether the packet has an output, or has left by one and stays.
    goes_on : Signal or None
        Set by the switch: whether the same is so in the next cycle.
    begins : Signal or None
        Whether its current or next flit is a header, if that is known.
    ahead : ArrivalQueue or None
        The queue, if it shows what will be first.
    """

    head: stream.Interface
    word: Value
    last: Value
    header: data.View
    stored: Value
    decided: Value
    queue: Replay | None = None
    merged: Value = Const(0)
    begun: Signal | None = None
    goes_on: Signal | None = None
    begins: Signal | None = None
    ahead: ArrivalQueue | None = None
