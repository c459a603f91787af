"""Where a drawing shows nodes whose addresses are digits."""

from collections.abc import Sequence

__all__ = ["grid_position"]

_DEPTH = 0.9, 0.6
"""How far across and up the third dimension leads, in steps of the grid."""

_GAP = 0.8
"""Room between two grids side by side, in steps of the grid."""

_SLANT = -0.3
"""How far a grid is shifted against the one beside it, so that their links don't cover others."""


def grid_position(digits: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
    """Digit 0 leads to the right, digit 1 up, and digit 2 back, so that each step has its nodes.

    Further digits lead to copies of the whole, to the right and up in turn.

    Examples
    --------
    >>> grid_position((3, 1), (4, 4))
    (3.0, 1.0)
    """
    place, width = [0.0, 0.0], [1.0, 1.0]
    for i, (digit, size) in enumerate(zip(digits, sizes)):
        if i == 2:
            place = [at + digit * depth / size for at, depth in zip(place, _DEPTH)]
            continue
        axis = i % 2 if i < 2 else 1 - i % 2
        place[axis] += digit * width[axis]
        if i > 2:
            place[1 - axis] += digit * _SLANT
        width[axis] = size * width[axis] + _GAP
    return place[0], place[1]
