"""Copies that don't meet: a tree for a broadcast or a reduction, computed for a network's paths.

A list of who sends to whom, as a binomial tree, knows nothing of links, so two of its messages may
need the same link at the same time. Here every copy reserves the links of its path for the time of
its flits: with one cycle per link, flit i of a copy that begins in cycle t is on link j of its path
in cycle t + i + j. Several trees are tried, and the one that ends first is taken:

- a binomial tree in the order of the ranks;
- a *wave*: a terminal that can send does so to the one that can get a copy first;
- *parts*: a terminal divides those it has to reach into two parts that are close in themselves, and
  sends to the middle of the other one, which then does the same. How large the parts are follows
  from the time after which either can send (R. M. Karp, A. Sahay, E. E. Santos and K. E. Schauser,
  "Optimal broadcast and summation in the LogP model", SPAA 1993).
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .collective_draft import binomial_pairs

__all__ = ["Copy", "copy_schedule"]

_GRAIN = 32
"""Steps of time in a copy, from which the sizes of parts are computed."""

_Links = Mapping[tuple[int, int], Sequence[Hashable]]
_Children = Mapping[int, Sequence[int]]


class Copy(NamedTuple):
    """A copy of a schedule.

    Attributes
    ----------
    sender, receiver : int
        Ranks.
    start, end : int
        The first cycle of the copy, and the cycle in which the receiver can send it on.
    """

    sender: int
    receiver: int
    start: int
    end: int


def copy_schedule(
    path: Callable[[int, int], Sequence[Hashable]], count: int, flits: int
) -> list[Copy]:
    """Copies from rank 0 to all others, in the order of their beginnings.

    Parameters
    ----------
    path : callable
        The links from one rank to another.
    count : int
        Ranks, at least 2.
    flits : int
        Length of a copy, at least 1.
    """
    ranks = range(count)
    links = {(x, y): tuple(path(x, y)) for x in ranks for y in ranks if x != y}
    apart = np.zeros((count, count), int)
    for ends, way in links.items():
        apart[ends] = len(way)
    binomial: dict[int, list[int]] = defaultdict(list)
    for sender, receiver in binomial_pairs(count):
        binomial[sender].append(receiver)
    tries = [_Timing(links, flits).tree(binomial), _Timing(links, flits).wave(count)]
    tries.append(_Timing(links, flits).tree(_parts(apart, flits)))
    return min(tries, key=lambda copies: max(copy.end for copy in copies))


class _Timing:
    """The copies so far, and the time from which each link is free."""

    def __init__(self, links: _Links, flits: int) -> None:
        self._links = links
        self._flits = flits
        self._free: dict[Hashable, int] = {}
        self._senders = [(0, 0)]
        self._copies: list[Copy] = []

    def _start(self, now: int, sender: int, receiver: int) -> int:
        """The first cycle from now on in which a copy meets no other on its path."""
        way = enumerate(self._links[sender, receiver])
        return max(now, *(self._free.get(link, 0) - at for at, link in way), 0)

    def _send(self, sender: int, receiver: int, start: int) -> None:
        way = self._links[sender, receiver]
        for at, link in enumerate(way):
            self._free[link] = start + at + self._flits
        end = start + len(way) + self._flits
        self._copies.append(Copy(sender, receiver, start, end))
        heappush(self._senders, (start + self._flits, sender))
        heappush(self._senders, (end, receiver))

    @property
    def _sorted(self) -> list[Copy]:
        return sorted(self._copies, key=lambda copy: copy.start)

    def tree(self, children: _Children) -> list[Copy]:
        """The copies of a tree whose nodes send to their children in this order."""
        left: dict[int, Iterator[int]] = {node: iter(each) for node, each in children.items()}
        while self._senders:
            now, sender = heappop(self._senders)
            receiver = next(left.get(sender, iter(())), None)
            if receiver is not None:
                self._send(sender, receiver, self._start(now, sender, receiver))
        return self._sorted

    def wave(self, count: int) -> list[Copy]:
        """Copies that each go to the rank that can have it first."""
        missing = set(range(1, count))
        while missing:
            now, sender = heappop(self._senders)
            starts = {rank: self._start(now, sender, rank) for rank in missing}
            ends = ((at + len(self._links[sender, rank]), rank) for rank, at in starts.items())
            receiver = min(ends)[1]
            if starts[receiver] > now:
                # Others that have the copy may find a free path before.
                heappush(self._senders, (starts[receiver], sender))
            else:
                missing.remove(receiver)
                self._send(sender, receiver, now)
        return self._sorted


def _parts(apart: NDArray[np.int64], flits: int) -> dict[int, list[int]]:
    """The tree of parts: for each rank those to which it sends."""
    children: dict[int, list[int]] = defaultdict(list)
    tasks = [(0, np.arange(1, len(apart)))]
    for sender, others in tasks:
        while len(others):
            away = apart[sender, others]
            latency = flits + round(float(away.mean()))
            size = _share(len(others) + 1, flits, latency)
            farthest = others[away.argmax()]
            nearer = np.argsort(apart[farthest, others] - away, kind="stable")
            part, others = others[nearer[:size]], others[nearer[size:]]
            reach = apart[np.ix_(part, part)].max(axis=1)
            middle = int(part[(apart[sender, part] + reach).argmin()])
            children[sender].append(middle)
            tasks.append((middle, part[part != middle]))
    return children


def _share(count: int, gap: int, latency: int) -> int:
    """How many of so many ranks the first receiver should reach, itself included.

    In t cycles one that has the copy reaches f(t) ranks: f(t - gap) by those that it sends to later
    and f(t - latency) by the first of them.
    """
    scale = max(1, gap // _GRAIN)
    gap, latency = gap // scale, latency // scale
    reached: list[int] = []
    while not reached or reached[-1] < count:
        time = len(reached)
        reached.append(1 if time < latency else reached[-gap] + reached[-latency])
    return min(count - 1, max(1, reached[-1 - latency]))
