"""The assignment problem: the permutation of the greatest gain."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["best_permutation"]


def best_permutation(gains: NDArray[np.number]) -> list[int]:
    """The destinations, by source, whose gains have the greatest sum.

    Parameters
    ----------
    gains : (terminals, terminals) array
        The gain of each source (row) and destination.

    Examples
    --------
    >>> best_permutation(np.array([[3, 1, 0], [2, 1, 0], [0, 0, 5]]))
    [0, 1, 2]
    """
    return [int(to) for to in linear_sum_assignment(gains, maximize=True)[1]]
