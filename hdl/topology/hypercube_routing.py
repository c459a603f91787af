"""Routing in a hypercube: which dimensions a header may cross next, and why no worms dead-lock.

Node a of a hypercube of dimension n has a link to each node whose address differs in one bit. Bit i
of a ^ d, the *relative address*, says whether a packet in node a for node d still has to cross
dimension i. A *minimal* routing crosses just those; the routings here differ in their order.

Worms dead-lock when each of some worms holds a channel (a link in one direction) and waits for one
that the next holds, in a circle. So a routing by which no channel can wait for another in a circle
has no dead-lock (Dally and Seitz, 1987): `dependencies` says which waits for which, and
`dependency_cycle` looks for a circle. All routings are proved free of them without it, too.
"""

from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Literal

__all__ = [
    "HYPERCUBE_ROUTINGS",
    "Channel",
    "HypercubeRouting",
    "dependencies",
    "dependency_cycle",
    "dimension_path",
    "escape_dependencies",
    "next_dimensions",
]

HypercubeRouting = Literal["ecube", "pcube", "adaptive"]
HYPERCUBE_ROUTINGS: tuple[HypercubeRouting, ...] = ("ecube", "pcube", "adaptive")

Channel = tuple[int, int]
"""A node, and the dimension in which a link leaves it."""


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
    raise ValueError(f"Routing must be one of {', '.join(HYPERCUBE_ROUTINGS)}, not {routing!r}")


def dimension_path(routing: HypercubeRouting, source: int, destination: int) -> list[int]:
    """The dimensions that a header crosses one after the other if nothing hinders it."""
    crossed: list[int] = []
    node = source
    while choices := next_dimensions(routing, node, destination):
        crossed.append(choices[0])
        node ^= 1 << choices[0]
    return crossed


def dependencies(
    dimension: int, relation: Callable[[int, int], Iterable[int]]
) -> dict[Channel, set[Channel]]:
    """The channels that a worm in each channel may wait for.

    Parameters
    ----------
    dimension : int
        Of the hypercube.
    relation : Callable
        The dimensions that a header in a node (first) for a destination (second) may cross next.
    """
    nodes = range(1 << dimension)
    waits: dict[Channel, set[Channel]] = {(a, i): set() for a in nodes for i in range(dimension)}
    for destination in nodes:
        for node in nodes:
            for i in relation(node, destination):
                beyond = node ^ 1 << i
                waits[node, i].update((beyond, j) for j in relation(beyond, destination))
    return waits


def escape_dependencies(dimension: int) -> dict[Channel, set[Channel]]:
    """The escape channels that a worm in each escape channel may wait for, with `adaptive`.

    Directly, or after it has crossed further dimensions over other channels: then, too, it holds
    the escape channel behind it.
    """
    nodes = range(1 << dimension)
    waits: dict[Channel, set[Channel]] = {(a, i): set() for a in nodes for i in range(dimension)}
    for destination in nodes:
        for node in nodes:
            for i in next_dimensions("ecube", node, destination):
                left = node ^ destination ^ 1 << i
                # All nodes on shortest paths from here: any of the dimensions left may be crossed.
                for done in nodes:
                    if done & ~left == 0:
                        later = node ^ 1 << i ^ done
                        next_ = next_dimensions("ecube", later, destination)
                        waits[node, i].update((later, j) for j in next_)
    return waits


def dependency_cycle(waits: Mapping[Channel, Iterable[Channel]]) -> list[Channel] | None:
    """Channels of which each may wait for the one before it, the first again at the end, if any.

    >>> dependency_cycle(dependencies(4, lambda a, d: next_dimensions("ecube", a, d)))
    """
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        cycle: list[Channel] = error.args[1]
        return cycle
    return None
