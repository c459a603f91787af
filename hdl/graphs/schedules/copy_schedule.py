"""Copies that don't meet: a tree for a broadcast or a reduction, computed for the paths of a network.

A list of who sends to whom, as a binomial tree, knows nothing of links, so two of its messages may
need the same link at the same time. Here every copy reserves the links of its path for the time of
its flits: with one cycle per link, flit i of a copy that begins in cycle t is on link j of its path
in cycle t + i + j. The next copy is always sent by a terminal that can begin first.
"""

from collections.abc import Callable, Hashable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

__all__ = ["Copy", "copy_schedule"]

Paths = Callable[[int, int], Sequence[Hashable]]


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


def copy_schedule(paths: Paths, count: int, flits: int) -> list[Copy]:
    """Copies from rank 0 to all others, in the order of their beginnings.

    Two rules choose the receiver among those that can get a copy first: the nearest one, which lets
    the copies spread like a wave, or the one that is farthest from all that have it, which leaves
    later copies short and apart. The schedule that ends first is taken.

    Parameters
    ----------
    paths : callable
        The links from one rank to another.
    count : int
        Ranks, at least 2.
    flits : int
        Length of a copy, at least 1.
    """
    links = {
        (one, other): tuple(paths(one, other))
        for one in range(count)
        for other in range(count)
        if one != other
    }
    tries = [_scheduled(links, count, flits, spread=spread) for spread in (True, False)]
    return min(tries, key=lambda copies: max(copy.end for copy in copies))


def _scheduled(
    links: dict[tuple[int, int], tuple[Hashable, ...]], count: int, flits: int, *, spread: bool
) -> list[Copy]:
    missing = set(range(1, count))
    apart = {rank: len(links[0, rank]) for rank in missing}
    busy: dict[Hashable, int] = {}
    senders = [(0, 0)]
    copies: list[Copy] = []
    while missing:
        now, sender = heappop(senders)
        starts = {
            rank: max(
                (busy.get(link, 0) - at for at, link in enumerate(links[sender, rank])), default=0
            )
            for rank in missing
        }

        def cost(rank: int) -> tuple[int, int, int]:
            start = max(now, starts[rank])  # noqa: B023
            length = len(links[sender, rank])  # noqa: B023
            return (start, -apart[rank], rank) if spread else (start + length, length, rank)

        receiver = min(missing, key=cost)
        start = max(now, starts[receiver])
        if start > now:
            # All its paths are taken: others that have the copy may find free ones before.
            later = max(senders[0][0], now + 1) if senders else start
            if later < start:
                heappush(senders, (later, sender))
                continue
        path = links[sender, receiver]
        for at, link in enumerate(path):
            busy[link] = start + at + flits
        end = start + len(path) + flits
        copies.append(Copy(sender, receiver, start, end))
        missing.remove(receiver)
        heappush(senders, (start + flits, sender))
        heappush(senders, (end, receiver))
        for rank in missing:
            apart[rank] = min(apart[rank], len(links[receiver, rank]))
    return sorted(copies, key=lambda copy: copy.start)
