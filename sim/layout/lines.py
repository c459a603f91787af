"""Nodes in rows and columns, with links along each row and along each column."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from ...hdl.fabric.errors import InvalidValue
from .left_edge import left_edge
from .wire_grid import Layout, Point, Square, Wire

__all__ = ["lines"]


def lines(places: Sequence[tuple[int, int]], links: Sequence[tuple[int, int]]) -> Layout:
    """A layout of nodes in rows and columns, whose links are between nodes of one row or column.

    Each row has a channel of horizontal tracks above it, and each column one of vertical tracks on
    its right: collinear layouts, with as few tracks as possible (`left_edge`). The side of all
    nodes is the largest number of wires at one.

    Parameters
    ----------
    places : Sequence[tuple[int, int]]
        For each node its column and its row, from 0.
    links : Sequence[tuple[int, int]]
        The two nodes of each wire.

    Returns
    -------
    Layout
        Its wires are in the order of the links.

    Raises
    ------
    ValueError
        If two nodes have one place, or a link is not along a row or column.
    """
    if len(set(places)) < len(places):
        raise InvalidValue("Places of the nodes must differ")
    for node, peer in links:
        if sum(a == b for a, b in zip(places[node], places[peer])) != 1:
            raise InvalidValue(
                f"Link from {node} to {peer} must be along a row or column, not from "
                f"{places[node]} to {places[peer]}"
            )
    count = [0] * len(places)
    for pair in links:
        for node in pair:
            count[node] += 1
    side = max(1, *count)
    # Offsets of the ends at the nodes' upper and right sides, and tracks: by axis, 0 along rows.
    offsets = [_offsets(places, links, axis) for axis in (0, 1)]
    tracks: list[dict[int, int]] = [{}, {}]
    for axis in (0, 1):
        spans: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        for link, ends in offsets[axis].items():
            # Positions in the order of the nodes; channels between them don't matter.
            at = sorted(
                places[node][axis] * side + offset for node, offset in zip(links[link], ends)
            )
            spans[places[links[link][0]][1 - axis]][link] = (at[0], at[1])
        for found in spans.values():
            tracks[axis] |= zip(found, left_edge(list(found.values())))
    across, up = (_starts(places, links, axis, side, tracks[1 - axis]) for axis in (0, 1))

    squares = tuple(Square(across[column], up[row], side) for column, row in places)
    wires = []
    for link, (node, peer) in enumerate(links):
        one, other = squares[node], squares[peer]
        points: tuple[Point, ...]
        if link in offsets[0]:
            first, last = one.x + offsets[0][link][0], other.x + offsets[0][link][1]
            edge = one.y + side
            track = edge + tracks[0][link]
            points = ((first, edge - 1), (first, track), (last, track), (last, edge - 1))
        else:
            first, last = one.y + offsets[1][link][0], other.y + offsets[1][link][1]
            edge = one.x + side
            track = edge + tracks[1][link]
            points = ((edge - 1, first), (track, first), (track, last), (edge - 1, last))
        wires.append(Wire(node, peer, points))
    return Layout(squares, tuple(wires))


def _offsets(
    places: Sequence[tuple[int, int]], links: Sequence[tuple[int, int]], axis: int
) -> dict[int, tuple[int, int]]:
    """For each link along an axis, where its ends are on the nodes' sides.

    At a node those to lower places come first, so that they don't overlap with the others.
    """
    ends: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for link, pair in enumerate(links):
        if places[pair[0]][1 - axis] == places[pair[1]][1 - axis]:
            for end in (0, 1):
                ends[pair[end]].append((places[pair[1 - end]][axis], link, end))
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for there in ends.values():
        for offset, (_, link, end) in enumerate(sorted(there)):
            found[link][end] = offset
    return {link: (one, other) for link, (one, other) in found.items()}


def _starts(
    places: Sequence[tuple[int, int]],
    links: Sequence[tuple[int, int]],
    axis: int,
    side: int,
    tracks: dict[int, int],
) -> list[int]:
    """Where the columns (axis 0) or rows (axis 1) begin, each with its channel behind it."""
    width = [0] * (max(place[axis] for place in places) + 1)
    for link, track in tracks.items():
        at = places[links[link][0]][axis]
        width[at] = max(width[at], track + 1)
    return [0, *accumulate(side + more for more in width)]
