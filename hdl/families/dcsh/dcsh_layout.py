"""The layout of hypermeshes: a grid of nodes, and a track for each channel between its rows."""

from ...fabric.diagram import Node, Point, Port, Terminal
from ...fabric.layout import Layout, Route
from ...fabric.pins import Pin
from .dcsh_graph import DCSH

__all__ = ["hypermesh_layout"]

_TRACK = 0.12
"""Distance between tracks, and between the lines at a node."""

_MARGIN = 0.25
"""Distance of the tracks from nodes."""

_STUB = 0.12
"""Length of the lines of terminals."""

_SMALLEST = 0.55, 0.4
"""Smallest width and height of a node."""


def hypermesh_layout(plan: DCSH) -> Layout:
    """The layout of a hypermesh.

    Dimensions 0, 2, 4, ... lead to the right, with their channels below the rows; the others lead
    up, with their channels at the right of the columns. Each channel has a track as long as its
    cluster, to which all nodes of the cluster are joined.

    Node v is the cell `router_{v}`; wires are those of `DCSHNetwork`.
    """
    sides = [list(range(axis, plan.n, 2)) for axis in (0, 1)]
    # For each dimension: its first place along the edge of a node, and its first track.
    places, tracks = {}, {}
    rooms = []
    for own in sides:
        first = track = 0
        for rank, i in enumerate(own):
            places[i], tracks[i] = first, track
            first += plan.k
            # Clusters of lower dimensions of this direction lie side by side in one row.
            track += plan.k ** (rank + 1)
        rooms.append((first, track))
    sizes = [max(least, _TRACK * (room + 1)) for least, (room, _) in zip(_SMALLEST, rooms)]
    # Tracks of dimensions that lead right are between rows, and so part of the distance up.
    pitch = [
        size + 2 * _MARGIN + _TRACK * max(count - 1, 0)
        for size, (_, count) in zip(sizes, reversed(rooms))
    ]

    def index(node: int, axis: int) -> int:
        """The column or row of a node."""
        return sum(plan.position(node, i) * plan.k**rank for rank, i in enumerate(sides[axis]))

    def centre(node: int) -> Point:
        return index(node, 0) * pitch[0], index(node, 1) * pitch[1]

    def tap(node: int, i: int, slot: int) -> Point:
        """Where a channel meets a node, by the position of the channel's owner."""
        axis = i % 2
        along = (places[i] + slot - (rooms[axis][0] - 1) / 2) * _TRACK
        x, y = centre(node)
        if axis == 0:
            return x + along, y - sizes[1] / 2
        return x + sizes[0] / 2, y + along

    def rail(node: int, i: int) -> float:
        """The track of the channel that a node owns: a distance below its row, or right of its
        column."""
        axis = i % 2
        rank = sides[axis].index(i)
        number = tracks[i] + index(node, axis) % plan.k ** (rank + 1)
        away = sizes[1 - axis] / 2 + _MARGIN + number * _TRACK
        return centre(node)[1] - away if axis == 0 else centre(node)[0] + away

    nodes = []
    routes: dict[Pin, Route] = {}
    carried = {}
    ports: dict[int, list[Port]] = {node: [] for node in range(plan.nodes)}
    for owner, i, receivers in plan.channels():
        out, at = Pin(f"router_{owner}", ("o", i)), rail(owner, i)
        start = tap(owner, i, plan.position(owner, i))
        ports[owner].append(Port(out, *start))
        for slot, receiver in enumerate(receivers):
            carried[Pin(f"channel_{owner}_{i}", ("o_valid", slot))] = out
            entry = Pin(f"multiplexer_{receiver}_{i}", ("i", plan.slot(receiver, i, owner)))
            end = tap(receiver, i, plan.position(owner, i))
            ports[receiver].append(Port(entry, *end))
            way = ((start[0], at), (end[0], at)) if i % 2 == 0 else ((at, start[1]), (at, end[1]))
            routes[Pin(str(entry.cell), (*entry.path, "valid"))] = Route(way)
    for node in range(plan.nodes):
        x, y = centre(node)
        cells, taps = (f"router_{node}",), tuple(ports[node])
        nodes.append(
            Node(f"node {node}", cells, x, y, sizes[0], sizes[1], label=str(node), ports=taps)
        )
    terminals = [
        Terminal(
            number,
            node.x - node.width / 4,
            node.y + node.height / 2 + _STUB,
            (Pin(None, ("i", number)), Pin(None, ("o", number))),
            side="above",
        )
        for number, node in enumerate(nodes)
    ]
    return Layout(nodes, terminals, routes, unit=1.25, carried=carried)
