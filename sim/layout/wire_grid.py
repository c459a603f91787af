"""A layout: nodes as squares, and wires along the lines of a grid with two layers.

The model is Thompson's (C. D. Thompson, A Complexity Theory for VLSI, 1980). Grid lines are one
unit apart. Horizontal parts of wires are on one layer, vertical ones on the other, and a wire
changes the layer where it bends. So wires may cross, but two never share a point of one layer. A
node of side s covers s x s grid points, and no wire passes over it.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Layout", "Point", "Square", "Wire"]

Point = tuple[int, int]
"""Across and up, in units of the grid."""


class Square(NamedTuple):
    """The grid points of a node: from `x`, `y` to `x + side - 1`, `y + side - 1`."""

    x: int
    y: int
    side: int


class Wire(NamedTuple):
    """A wire from `node` to `peer`.

    Attributes
    ----------
    node, peer : int
        Positions in `Layout.nodes`.
    points : tuple[tuple[int, int], ...]
        Its two ends, which are points of the nodes, and its bends between them.
    """

    node: int
    peer: int
    points: tuple[Point, ...]

    @property
    def length(self) -> int:
        """Units of the grid from end to end."""
        return sum(abs(a - x) + abs(b - y) for (a, b), (x, y) in pairwise(self.points))


@dataclass(frozen=True)
class Layout:
    """Nodes and wires with their coordinates.

    Attributes
    ----------
    nodes : tuple[Square, ...]
    wires : tuple[Wire, ...]
    """

    nodes: tuple[Square, ...]
    wires: tuple[Wire, ...]

    @cached_property
    def _box(self) -> tuple[int, int, int, int]:
        """The least and greatest coordinates: across, then up."""
        points = [point for wire in self.wires for point in wire.points]
        for x, y, side in self.nodes:
            points += [(x, y), (x + side - 1, y + side - 1)]
        across, up = zip(*points)
        return min(across), max(across), min(up), max(up)

    @property
    def width(self) -> int:
        """Vertical grid lines that the layout covers."""
        return self._box[1] - self._box[0] + 1

    @property
    def height(self) -> int:
        """Horizontal grid lines that the layout covers."""
        return self._box[3] - self._box[2] + 1

    @property
    def area(self) -> int:
        """Grid points of the smallest rectangle that holds everything."""
        return self.width * self.height

    @cached_property
    def longest(self) -> Wire:
        """The longest wire, the first if there are several."""
        return max(self.wires, key=lambda wire: wire.length)

    @property
    def wire_length(self) -> int:
        """Length of all wires together."""
        return sum(wire.length for wire in self.wires)
