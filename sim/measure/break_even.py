"""Where one of two networks becomes the better one, as both grow."""

import math
from collections.abc import Sequence

__all__ = ["break_even"]


def break_even(sizes: Sequence[int], ratios: Sequence[float]) -> float | None:
    """The size from which a ratio stays below 1.

    It is interpolated between two sizes: the logarithm of the ratio over that of the size.

    Parameters
    ----------
    sizes : Sequence[int]
        Growing.
    ratios : Sequence[float]
        One of each size.

    Returns
    -------
    float or None
        The first size if all ratios are below 1; None if the last one is not.

    Examples
    --------
    >>> break_even([16, 64], [4, 0.25])
    32.0
    >>> break_even([16, 64], [0.5, 2]) is None
    True
    """
    worse = [i for i, ratio in enumerate(ratios) if ratio >= 1]
    if not worse:
        return float(sizes[0])
    last = worse[-1]
    if last == len(sizes) - 1:
        return None
    one, two = math.log(ratios[last]), math.log(ratios[last + 1])
    low, high = math.log2(sizes[last]), math.log2(sizes[last + 1])
    return 2 ** (low + (high - low) * one / (one - two))
