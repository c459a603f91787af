"""The most cycles that a packet is in a network, counted along the order of its channels.

Each channel has a queue: behind it, at the input of the next switch, or before it, at the output
that it leaves. A *turn* of a queue is the most cycles from when a packet is first in it until its
tail has left. The turn of a queue follows from those of the queues that its packets go to, which
come later in the order:

- A packet that waits for a channel lets at most as many packets go first as there are other inputs
  (the contract of its switch): so it waits for k holds of the channel, its own included.
- A header with a choice does so at each of its channels, until it takes one. Then it waits for no
  other: a hold of the channel that it takes is the last one. There are a few cycles more, its
  *tries*, in which it could take a channel and does not. Not all that it may take need come later,
  but its escape channel does. Others are taken if they are empty, so a packet of one flit does not
  wait for them.
- A hold of a channel is the time in which its queue frees as many places as a packet has flits. If
  packets are single flits this is one turn of the queue, and the cycles in which other channels use
  the wires. Otherwise the places are those of flits of some packets, a turn each; and in the cycles
  in which there is a place, the flits behind come nearer, so these cycles are at most twice the
  flits and hops, times the cycles for which wires are in use by others.

With B the most packets that fit into a queue, a packet leaves it within 1 + B turns. All of this
holds if terminals take what arrives at once, and offer the rest of a packet that they have begun.

In a switch with stages a word takes a cycle more for each, and `wires` has the cycles in which a
credit, and the word that it is for, are on their way. There it is a bound for single flits only.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Hop", "Lengths", "hold", "packets_in", "turns", "waits"]

Channel = TypeVar("Channel", bound=Hashable)


@dataclass(frozen=True)
class Hop:
    """A channel.

    Attributes
    ----------
    rivals : int
        Inputs from which packets go to it; if its queue is before it, all inputs of the queue.
    wires : int
        Most cycles in which a flit that has a place waits for the wires, and for a decision; 1 if
        it never waits.
    depth : int
        Places of its queue.
    last : bool
        Whether it leads to a terminal.
    before : bool
        Whether its queue is before it.
    stages : int
        Cycles that a word takes in the stages of its switch.
    tries : int
        Most cycles in which a header that may take it could take a channel and does not.
    escape : bool
        Whether it is an escape channel: only for these are packets said to wait.
    """

    rivals: int
    wires: int
    depth: int
    last: bool
    before: bool
    stages: int = 0
    tries: int = 0
    escape: bool = True


@dataclass(frozen=True)
class Lengths:
    """Fewest and most flits of a packet, and most channels on a path."""

    fewest: int
    most: int
    hops: int


def packets_in(depth: int, lengths: Lengths) -> int:
    """Most packets of which something is in a queue into which a header has just come."""
    if lengths.most == 1:
        return depth
    return 1 + (1 + (depth - 2) // lengths.fewest if depth > 1 else 0)


def hold(hop: Hop, turn: int, wires: int, lengths: Lengths) -> int:
    """Most cycles for which a packet has a channel whose queue has this turn.

    `wires` are those of the channel in the network for which they are the most.
    """
    if lengths.most == 1:
        return turn + hop.wires
    touched = 1 + -(-(lengths.most - 1) // lengths.fewest)
    return touched * turn + 2 * wires * (lengths.most + lengths.hops)


def turns(
    hops: Mapping[Channel, Hop],
    order: Iterable[Channel],
    nexts: Mapping[Channel, Iterable[Channel]],
    lengths: Lengths,
) -> dict[Channel, int]:
    """The turn of the queue of each channel, from the last in the order to the first."""
    wires = max((hop.wires for hop in hops.values()), default=1)
    found: dict[Channel, int] = {}
    for channel in reversed([*order]):
        hop = hops[channel]
        if hop.last:
            found[channel] = int(hop.before)
        else:
            found[channel] = waits(nexts[channel], hops, found, wires, lengths)
    return found


def waits(
    nexts: Iterable[Channel],
    hops: Mapping[Channel, Hop],
    found: Mapping[Channel, int],
    wires: int,
    lengths: Lengths,
) -> int:
    """Most cycles until a packet has left for one of some channels."""
    return max(
        hops[after].tries + hops[after].rivals * hold(hops[after], found[after], wires, lengths)
        for after in nexts
        if hops[after].escape
    )
