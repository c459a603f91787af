"""Nodes in columns, with channels of vertical tracks between them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

from ...hdl.fabric.errors import InvalidValue
from .left_edge import left_edge
from .wire_grid import Layout, Point, Square, Wire

__all__ = ["Connection", "Side", "columns"]


class Side(IntEnum):
    """The side of a node where a wire ends."""

    LEFT = 0
    RIGHT = 1


class Connection(NamedTuple):
    """What a wire connects: a side of a node with a side of a node."""

    node: int
    side: Side
    peer: int
    peer_side: Side


def columns(order: Sequence[Sequence[int]], connections: Sequence[Connection]) -> Layout:
    """A layout with columns of nodes, from left to right.

    Channels of vertical tracks are between the columns, before the first and behind the last. If
    both ends of a wire face one channel, it has a part in a track there. Otherwise it has one in
    the channel of each end, and passes the columns between in a row of its own, which no node
    covers. Each channel has as few tracks as possible (`left_edge`).

    A node has a row for each wire: even ones for those on its left, odd ones for those on its
    right. So no two wires leave a channel in the same row, and all tracks can be chosen freely. The
    side of a node is twice the number of wires on its left or right, whichever is larger; or 2, if
    it has none.

    Parameters
    ----------
    order : Sequence[Sequence[int]]
        For each column its nodes, from the bottom up. Together they are the numbers from 0 to the
        number of nodes less 1, each once.
    connections : Sequence[Connection]

    Returns
    -------
    Layout
        Its wires are in the order of the connections.

    Raises
    ------
    ValueError
        If a node is in no column or twice, a column is empty, or a connection is of another node.
    """
    count = sum(map(len, order))
    if not all(order) or {node for column in order for node in column} != {*range(count)}:
        given = sorted(node for column in order for node in column)
        raise InvalidValue(
            f"Columns must have the nodes from 0 to {count - 1}, each once, and none may be empty, "
            f"not {len(order)} columns with the nodes {given[:8]}{' ...' if count > 8 else ''}"
        )
    for index, connection in enumerate(connections):
        for node in (connection.node, connection.peer):
            if node not in range(count):
                raise InvalidValue(
                    f"Connection {index} must join nodes from 0 to {count - 1}, not {node}"
                )
    column_of = {node: c for c, column in enumerate(order) for node in column}
    ends = _ends(order, connections)
    sides = [2 * max(1, *(len(ends[node, side]) for side in Side)) for node in range(count)]
    heights = [[sides[node] for node in column] for column in order]
    # Channel c is before column c.
    channels = [
        (column_of[node] + side, column_of[peer] + peer_side)
        for node, side, peer, peer_side in connections
    ]
    passing = [index for index, (one, other) in enumerate(channels) if one != other]
    rows = _Rows(heights, len(passing))
    bottom = {
        node: rows.place(start)
        for column, found in zip(order, heights)
        for node, start in zip(column, accumulate([0, *found]))
    }
    row = [[0, 0] for _ in connections]
    for (node, side), found in ends.items():
        for k, (index, end) in enumerate(found):
            row[index][end] = bottom[node] + 2 * k + side
    passing.sort(key=lambda index: sum(row[index]))
    free = dict(zip(passing, rows.free))

    parts: list[dict[int, tuple[int, int]]] = [{} for _ in range(len(order) + 1)]
    for index, (one, other) in enumerate(channels):
        here, there = row[index]
        if index in free:
            parts[one][index] = _interval(here, free[index])
            parts[other][index] = _interval(there, free[index])
        else:
            parts[one][index] = _interval(here, there)
    tracks = [dict(zip(part, left_edge(list(part.values())))) for part in parts]

    # Where each channel and each column begins.
    widths = [0] * (2 * len(order) + 1)
    widths[::2] = [max(part.values(), default=-1) + 1 for part in tracks]
    widths[1::2] = [max(found) for found in heights]
    starts = [0, *accumulate(widths)]
    squares = [
        Square(starts[2 * column_of[node] + 1], bottom[node], side)
        for node, side in enumerate(sides)
    ]

    def track(index: int, channel: int) -> int:
        return starts[2 * channel] + tracks[channel][index]

    def edge(node: int, side: Side) -> int:
        return squares[node].x + (sides[node] - 1) * side

    wires = []
    for index, (node, side, peer, peer_side) in enumerate(connections):
        (here, there), (one, other) = row[index], channels[index]
        first, last = track(index, one), track(index, other)
        points: list[Point] = [(edge(node, side), here), (first, here)]
        if index in free:
            points += [(first, free[index]), (last, free[index])]
        points += [(last, there), (edge(peer, peer_side), there)]
        wires.append(Wire(node, peer, tuple(points)))
    return Layout(tuple(squares), tuple(wires))


def _ends(
    order: Sequence[Sequence[int]], connections: Sequence[Connection]
) -> dict[tuple[int, Side], list[tuple[int, int]]]:
    """For each side of each node the ends there, as index and 0 or 1, from the bottom up.

    They are sorted by where the other ends are, so that few wires cross.
    """
    height = {node: k / len(column) for column in order for k, node in enumerate(column)}
    found: dict[tuple[int, Side], list[tuple[float, int, int]]] = defaultdict(list)
    for index, (node, side, peer, peer_side) in enumerate(connections):
        found[node, side].append((height[peer], index, 0))
        found[peer, peer_side].append((height[node], index, 1))
    return defaultdict(
        list,
        {place: [(index, end) for _, index, end in sorted(ends)] for place, ends in found.items()},
    )


def _interval(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


class _Rows:
    """The rows of nodes, and the free ones, which no node covers.

    Free rows are spread evenly over the places where a node begins or ends in every column.

    Parameters
    ----------
    heights : Sequence[Sequence[int]]
        For each column the heights of its nodes, from the bottom up.
    free : int
        How many rows are free.

    Attributes
    ----------
    free : list[int]
        The free rows, in ascending order.
    """

    def __init__(self, heights: Sequence[Sequence[int]], free: int) -> None:
        edges = (set(accumulate([0, *column])) for column in heights)
        self._gaps = sorted(set.intersection(*edges))
        count = len(self._gaps)
        self._below = [free * (k + 1) // count for k in range(count)]
        self.free = [
            gap + row
            for gap, first, last in zip(self._gaps, [0, *self._below], self._below)
            for row in range(first, last)
        ]

    def place(self, row: int) -> int:
        """Where a row of nodes is, given its number without the free rows."""
        return row + self._below[bisect_right(self._gaps, row) - 1]
