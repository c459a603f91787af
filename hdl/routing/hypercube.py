"""Routing in a hypercube: which dimensions a header may cross next, and why no worms deadlock.

Node a of a hypercube of dimension n has a link to each node whose address differs in one bit. Bit i
of a ^ d, the *relative address*, says whether a packet in node a for node d still has to cross
dimension i. A *minimal* routing crosses just those; the routings here differ in their order.

All are proved free of deadlock in the words of `next_dimensions`; `topology.deadlock` looks for
circles of channels without them.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from ..core.errors import InvalidValue

__all__ = [
    "HYPERCUBE_ROUTINGS",
    "Channel",
    "HypercubeRouting",
    "channel_moves",
    "dimension_path",
    "next_channels",
    "next_dimensions",
]

HypercubeRouting = Literal["ecube", "pcube", "adaptive"]
HYPERCUBE_ROUTINGS: tuple[HypercubeRouting, ...] = ("ecube", "pcube", "adaptive")

Channel = tuple[int, int, int]
"""A node, the dimension in which a link leaves it, and which of the link's channels: 0, or 1."""


def _bits(word: int) -> list[int]:
    return [bit for bit in range(word.bit_length()) if word >> bit & 1]


def next_dimensions(routing: HypercubeRouting, node: int, destination: int) -> list[int]:
    """The dimensions that a header in a node may cross next, lowest first; none: it has arrived.

    - `ecube` crosses them in order, the lowest first: one path for each pair. A channel waits for
      those of higher dimensions only, so there is no circle.
    - `pcube` (Glass and Ni, 1992) crosses, in any order, first those in which the header goes from
      1 to 0, then those from 0 to 1. Of the h! shortest paths over k dimensions down and h - k up
      it allows k! (h - k)!. A channel down waits for channels up, and for those down from an
      address with fewer ones; one up only for those up from an address with more ones. So there is
      no circle, without virtual channels.
    - `adaptive` (after Duato, 1993) crosses any, in any order. Each link has two channels. The
      *escape* channel may be asked for in the lowest dimension only, as with `ecube`; the other one
      in all dimensions, but only while its queue is empty, so that no header waits in it behind
      another worm. A header at the head of a queue always waits for an escape channel too. One that
      has passed an escape channel has crossed all dimensions up to that one, so whatever it crosses
      next, it asks for escape channels of higher dimensions only: these have no circle among
      them. Those of the highest dimension empty, and so those of the next, and all that wait.

    Raises
    ------
    ValueError
        If there is no such routing.
    """
    differing = node ^ destination
    if routing == "ecube":
        return _bits(differing)[:1]
    if routing == "pcube":
        return _bits(differing & node or differing)
    if routing == "adaptive":
        return _bits(differing)
    raise InvalidValue(f"Routing must be one of {', '.join(HYPERCUBE_ROUTINGS)}, not {routing!r}")


def dimension_path(routing: HypercubeRouting, source: int, destination: int) -> list[int]:
    """The dimensions that a header crosses one after the other if nothing hinders it."""
    crossed: list[int] = []
    node = source
    while choices := next_dimensions(routing, node, destination):
        crossed.append(choices[0])
        node ^= 1 << choices[0]
    return crossed


def next_channels(routing: HypercubeRouting, node: int, destination: int) -> list[Channel]:
    """The channels that a header in a node may take next; 0 are the escape channels."""
    dimensions = next_dimensions(routing, node, destination)
    if routing != "adaptive":
        return [(node, i, 0) for i in dimensions]
    return [(node, i, 0) for i in dimensions[:1]] + [(node, i, 1) for i in dimensions]


def channel_moves(
    dimension: int, relation: Callable[[int, int], Iterable[Channel]], destination: int
) -> dict[Channel, list[Channel]]:
    """For each channel that a header for a destination may come by: those that it may take next.

    Parameters
    ----------
    dimension : int
        Of the hypercube.
    relation : Callable
        The channels that a header in a node (first) for a destination (second) may take next.
    destination : int
    """
    return {
        channel: list(relation(node ^ 1 << channel[1], destination))
        for node in range(1 << dimension)
        for channel in relation(node, destination)
    }
