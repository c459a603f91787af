"""What the time of a packet depends on in a network of queues and channels, for bounds on it."""

from collections.abc import Callable
from dataclasses import dataclass

from ..fabric.pins import Pin
from ..primitives.class_arbiter import ClassArbiter

__all__ = ["FAIR", "ChannelModel", "cycles_of_flit"]

FAIR = ("round-robin", "least-recent")
"""Arbiters with which a packet waits for at most one other of each input."""


@dataclass(frozen=True)
class ChannelModel:
    """A queue of each channel, and an arbiter before it that lets inputs go in turn.

    Attributes
    ----------
    depth : int
        Flits that fit into each queue, and at the output before it.
    lengths : tuple[int, int]
        Fewest and most flits of a packet.
    cycles : Callable[[Pin], int or None]
        Most cycles that a flit which finds room takes over a channel: others share its wires. None
        if it may wait forever.
    latency : Callable[[Pin], int]
        Cycles of a channel's link. If they are several, a flit finds room when a credit for it has
        come back.
    slow : bool
        Whether a queue takes a cycle more after a flit has left it: that of one flit, without
        refill, or one too short for the stages of its router.
    decision : int
        Cycles that a header spends at the head of a queue, at least.
    store : bool
        Whether a header leaves only when its whole packet has arrived.
    at_outputs : bool
        Whether queues are at the outputs that drive the channels, and not behind the channels.
        Their words are whole packets, and `cycles` those that a link needs for a packet.
    late : int
        With queues at outputs: cycles after a packet has left until another one is accepted.
    """

    depth: int
    lengths: tuple[int, int]
    cycles: Callable[[Pin], int | None]
    latency: Callable[[Pin], int] = lambda pin: 1
    slow: bool = False
    decision: int = 1
    store: bool = False
    at_outputs: bool = False
    late: int = 0


def cycles_of_flit(
    channels: int, own: int, between: ClassArbiter | None, *, slow: bool
) -> int | None:
    """Most cycles of a flit over one of several channels that share wires; None for no bound.

    Parameters
    ----------
    channels : int
        Of all classes.
    own : int
        The class of this one.
    between : ClassArbiter or None
    slow : bool
        As in `ChannelModel`, of the queue behind the channel.
    """
    count: int | None = channels
    if between is not None:
        others = between.longest_wait(own)
        count = None if others is None else (others + 1) * (channels // between.classes)
    return None if count is None else count + slow
