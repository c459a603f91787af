"""Routing in a hypercube: the dimensions that a header may cross next, and why worms can't
deadlock.

Node a of a hypercube of dimension n has a link to each node whose address differs in one bit. Bit i
of a ^ d, the *relative address*, says whether a packet in node a for node d still has to cross
dimension i. A *minimal* routing algorithm crosses only those; the algorithms here differ in the
order in which they cross them.

`next_dimensions` states why each of them is free of deadlock. `graphs.routing.deadlock` checks the
same by a search for cycles of channels, without these arguments.
"""

from typing import Literal

from ...fabric.errors import InvalidValue
from ...graphs.graph import Channel

__all__ = ["HYPERCUBE_ROUTINGS", "HypercubeRouting", "next_channels", "next_dimensions"]

HypercubeRouting = Literal["ecube", "pcube", "adaptive"]
HYPERCUBE_ROUTINGS: tuple[HypercubeRouting, ...] = ("ecube", "pcube", "adaptive")


def _bits(word: int) -> list[int]:
    return [bit for bit in range(word.bit_length()) if word >> bit & 1]


def next_dimensions(routing: HypercubeRouting, node: int, destination: int) -> list[int]:
    """The dimensions that a header in a node may cross next, lowest first; empty if it has arrived.

    - `ecube` crosses them in order, the lowest first: one path per pair. A channel depends only on
      channels of higher dimensions, so the dependencies have no cycle.
    - `pcube` (Glass and Ni, 1992) first crosses, in any order, the dimensions in which the header
      goes from 1 to 0, then those from 0 to 1. If k of h dimensions are down (1 to 0), it allows
      k! (h - k)! of the h! shortest paths. A channel down depends on channels up, and on channels
      down from addresses with fewer ones; a channel up depends only on channels up from addresses
      with more ones. So the dependencies have no cycle, without virtual channels.
    - `adaptive` (after Duato, 1993) crosses any, in any order. Each link has two channels. A header
      may request the *escape* channel only in the lowest dimension, as with `ecube`. It may request
      the other channel in all dimensions, but only while the queue of that channel is empty, so
      that no header waits in it behind another worm. A header at the head of a queue always
      requests an escape channel too. After an escape channel, a header has crossed all dimensions
      up to that one, so it requests only escape channels of higher dimensions, and these have no
      cycle. The escape channels of the highest dimension always drain, so do those of the next
      lower one, and so on; hence every header that waits can proceed.

    Raises
    ------
    ValueError
        If the routing algorithm does not exist.
    """
    differing = node ^ destination
    if routing == "ecube":
        return _bits(differing)[:1]
    if routing == "pcube":
        return _bits(differing & node or differing)
    if routing == "adaptive":
        return _bits(differing)
    raise InvalidValue(f"Routing must be one of {', '.join(HYPERCUBE_ROUTINGS)}, not {routing!r}")


def next_channels(routing: HypercubeRouting, node: int, destination: int) -> list[Channel]:
    """The channels that a header in a node may take next; the port of a link is its dimension.

    With `adaptive`, channel 0 of each link is the escape channel.
    """
    dimensions = next_dimensions(routing, node, destination)
    if routing != "adaptive":
        return [Channel(node, i) for i in dimensions]
    return [Channel(node, i, 0) for i in dimensions[:1]] + [Channel(node, i, 1) for i in dimensions]
