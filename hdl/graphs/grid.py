"""Where a drawing shows nodes whose addresses are digits."""

from collections.abc import Sequence
from math import hypot

__all__ = ["cube_position", "grid_position", "wrap_around"]

Point = tuple[float, float]

_DEPTH = 0.75, 0.5
"""How far across and up a step of the third dimension leads."""

_SPARE = 0.55
"""Room between the last node of the third dimension and the next one of the first two."""

_GAP = 0.8
"""Room between two grids side by side."""

_SLANT = -0.3
"""How far a grid is shifted against the one beside it, so that their links don't cover others."""

_CUBE = (1.7, 0.0), (0.0, 1.3), (0.8, 0.55), (0.87, 3.59), (5.28, 1.81), (3.08, -4.71)
"""Where six dimensions lead: straight lines of all links pass the nodes at a distance."""

_AROUND = 1.5
"""Room between two cubes of six dimensions."""

_AWAY = 0.5, 0.37
"""How far from a row its wrap-around link leads: at its ends, and beside it."""


def grid_position(digits: Sequence[int], sizes: Sequence[int]) -> Point:
    """Digit 0 leads to the right, digit 1 up, and digit 2 back.

    Further digits lead to copies of the whole, to the right and up in turn.

    Examples
    --------
    >>> grid_position((3, 1), (4, 4))
    (3.0, 1.0)
    """
    place, extent = [0.0, 0.0], [0.0, 0.0]
    for i, (digit, size) in enumerate(zip(digits, sizes)):
        if i == 2:
            place = [at + digit * step for at, step in zip(place, _DEPTH)]
            extent = [most + (size - 1) * step for most, step in zip(extent, _DEPTH)]
            continue
        axis = i % 2 if i < 2 else 1 - i % 2
        step = extent[axis] + 1 + _GAP
        if i < 2:
            step = 1.0 if len(sizes) < 3 else sizes[2] * _DEPTH[axis] + _SPARE
        else:
            place[1 - axis] += digit * _SLANT
        place[axis] += digit * step
        extent[axis] += (size - 1) * step
    return round(place[0], 6), round(place[1], 6)


def cube_position(node: int, dimensions: int) -> Point:
    """The place of a node of a hypercube: an orthographic view of up to six dimensions.

    Further ones lead to copies of the whole, to the right and up in turn.

    Parameters
    ----------
    node : int
        Bit i is its digit of dimension i.
    dimensions : int

    Examples
    --------
    >>> cube_position(5, 3)
    (2.5, 0.55)
    """
    place, steps = [0.0, 0.0], [*_CUBE[:dimensions]]
    extent = [sum(abs(step[axis]) for step in steps) for axis in range(2)]
    for i in range(len(steps), dimensions):
        axis = i % 2
        ahead = extent[axis] + _AROUND
        extent[axis] += ahead
        steps.append((_SLANT, ahead) if axis else (ahead, _SLANT))
    for i, step in enumerate(steps):
        if node >> i & 1:
            place = [at + by for at, by in zip(place, step)]
    return round(place[0], 6), round(place[1], 6)


def wrap_around(first: Point, last: Point, away: Point = _AWAY) -> list[Point]:
    """The corners of a link from the last node of a row to the first, on the left of the row.

    `away` is how far from the row it leads at its ends, and beside it.

    Examples
    --------
    >>> wrap_around((0, 0), (4, 0), (0.5, 0.4))
    [(4.5, 0.0), (4.5, 0.4), (-0.5, 0.4), (-0.5, 0.0)]
    """
    across, up = last[0] - first[0], last[1] - first[1]
    length = hypot(across, up)
    ahead = away[0] * across / length, away[0] * up / length
    side = -away[1] * up / length, away[1] * across / length
    corners = [(last, 1, 0), (last, 1, 1), (first, -1, 1), (first, -1, 0)]
    return [
        (
            round(x + on * ahead[0] + beside * side[0], 6),
            round(y + on * ahead[1] + beside * side[1], 6),
        )
        for (x, y), on, beside in corners
    ]
