"""Where a drawing shows nodes on a circle."""

from math import cos, pi, sin

__all__ = ["circle_position"]


def circle_position(index: int, count: int) -> tuple[float, float]:
    """One of several places around a circle, clockwise from the top; neighbours are one apart.

    Examples
    --------
    >>> circle_position(0, 6)
    (0.0, 1.0)
    """
    turn, radius = 2 * pi * index / count, 0.5 / sin(pi / max(count, 2))
    return round(radius * sin(turn), 6), round(radius * cos(turn), 6)
