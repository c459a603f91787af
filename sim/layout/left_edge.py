"""Tracks of a channel, by the left-edge algorithm (A. Hashimoto and J. Stevens, 1971)."""

from collections.abc import Sequence
from heapq import heappop, heappush

__all__ = ["left_edge"]


def left_edge(intervals: Sequence[tuple[int, int]]) -> list[int]:
    """For each interval a track from 0 on, such that the intervals of a track are disjoint.

    The intervals are taken by their left ends, each into a track whose last interval has ended, if
    there is one. So there are as many tracks as intervals have a point in common: no assignment has
    fewer.

    Parameters
    ----------
    intervals : Sequence[tuple[int, int]]
        Both ends, which belong to the interval, the lower one first.

    Examples
    --------
    >>> left_edge([(0, 2), (2, 5), (3, 4)])
    [0, 1, 0]
    """
    tracks = [0] * len(intervals)
    used = 0
    busy: list[tuple[int, int]] = []
    for index in sorted(range(len(intervals)), key=intervals.__getitem__):
        first, last = intervals[index]
        if busy and busy[0][0] < first:
            _, track = heappop(busy)
        else:
            track, used = used, used + 1
        tracks[index] = track
        heappush(busy, (last, track))
    return tracks
