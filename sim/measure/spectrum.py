"""The smallest eigenvalues of a graph's Laplacian."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh

__all__ = ["lowest_modes", "second_eigenvalue"]

_DENSE = 500
"""Most nodes of graphs whose matrix is stored in full."""
_TOLERANCE = 1e-9


def lowest_modes(
    weights: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest eigenvalues of the Laplacian, from 0 up, and their vectors as columns.

    Parameters
    ----------
    weights : (nodes, nodes) array
        Symmetric: links between two nodes.
    count : int
        How many; fewer if there are fewer nodes.
    """
    nodes = len(weights)
    count = min(count, nodes)
    degrees = weights.sum(axis=1).astype(float)
    if nodes <= _DENSE:
        laplacian = np.diag(degrees) - weights
        values, vectors = eigh(laplacian, subset_by_index=[0, count - 1])
        return values, vectors
    sparse = (diags_array(degrees) - csr_array(weights.astype(float))).tocsc()
    start = np.random.default_rng(1).random(nodes)
    values, vectors = eigsh(sparse, count, sigma=-0.01, v0=start, tol=_TOLERANCE)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def second_eigenvalue(weights: NDArray[np.int64]) -> float:
    """The second-smallest eigenvalue: 0 if the graph is in several parts."""
    if len(weights) < 2:
        return 0.0
    return max(0.0, float(lowest_modes(weights, 2)[0][1]))
