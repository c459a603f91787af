"""Where a drawing shows nodes whose addresses are digits."""

from collections.abc import Sequence

__all__ = ["grid_position"]

_GAP = 0.8
"""Room between two grids side by side, in steps of a grid."""

_SLANT = 0.5
"""How far a grid is shifted against the one beside it, so that their links don't cover others."""


def grid_position(digits: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
    """Digit 0 leads to the right and digit 1 up. Any two further ones do so with whole grids.

    Examples
    --------
    >>> grid_position((3, 1), (4, 4))
    (3.0, 1.0)
    """
    place, step, shift = [0.0, 0.0], [1.0, 1.0], 0.0
    for i, (digit, size) in enumerate(zip(digits, sizes)):
        place[i % 2] += digit * step[i % 2]
        place[1 - i % 2] += digit * shift
        if i % 2:
            step[1] = size * step[1] + _GAP
            shift += _SLANT
        else:
            step[0] = size * step[0] + _GAP
    return place[0], place[1]
