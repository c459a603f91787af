"""How evenly flows between all terminals can be spread over the links of a graph.

If one unit flows between each two terminals, and no link carries more than c of it, then a cut with
a and b terminals on its two sides has at least a b / c links: the flow bound of Leighton and Rao
(1999) with a routing that is given.
"""

import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

__all__ = ["congestion"]

_CLOSE = 0.002
"""The routing is no longer improved if it gets better by less than this in `_PATIENCE` rounds."""
_PATIENCE = 15
_SHARPNESS = 12.0
"""How fast the length of a link grows with its load."""


def congestion(
    capacity: NDArray[np.int64], terminals: NDArray[np.int64], limit: float, enough: float = 0.0
) -> float:
    """The flow on the busiest link, per unit of capacity, if one unit joins each two terminals.

    The first routing is over all shortest paths equally. Then, in rounds, a part of the flow moves
    to the shortest paths where the length of a link grows exponentially with its load.

    Parameters
    ----------
    capacity : (nodes, nodes) array
        Symmetric: capacity of the link between two nodes, 0 if there is none.
    terminals : (nodes,) array
        Terminals of each node.
    limit : float
        Seconds of processor time that it may take to improve the first routing.
    enough : float
        Once the busiest link carries at most this, the routing is not improved.

    Returns
    -------
    float
        Infinite if there is no way between two terminals.
    """
    end = time.thread_time() + limit
    tails, heads = np.nonzero(capacity)
    room = capacity[tails, heads].astype(float)
    load = _equal_paths(capacity, terminals, tails, heads)
    if load is None:
        return np.inf
    # An edge of the cut is in both directions here, and carries what flows in both.
    number = {pair: i for i, pair in enumerate(zip(tails.tolist(), heads.tolist()))}
    back = np.array([number[head, tail] for tail, head in number])
    flow = (load + load[back]) / 2
    best = float((flow / room).max())
    patience, reference = _PATIENCE, best
    for turn in range(10**6):
        if best <= enough or patience == 0 or time.thread_time() > end:
            break
        relative = flow / room / (flow / room).max()
        length = np.exp(_SHARPNESS * (1 + turn / 50) * (relative - 1)) / room + 1e-9
        moved = _shortest_paths(capacity.shape, terminals, tails, heads, length)
        moved = (moved + moved[back]) / 2
        share = 2 / (turn + 8)
        shares = [share, share / 4]
        tries = [(1 - part) * flow + part * moved for part in shares]
        flow = min(tries, key=lambda each: float((each / room).max()))
        best = min(best, float((flow / room).max()))
        patience -= 1
        if best < reference * (1 - _CLOSE):
            patience, reference = _PATIENCE, best
    return best


def _equal_paths(
    capacity: NDArray[np.int64],
    terminals: NDArray[np.int64],
    tails: NDArray[np.int64],
    heads: NDArray[np.int64],
) -> NDArray[np.float64] | None:
    """The flow on each link if all shortest paths between two nodes carry equal parts.

    Brandes' accumulation (2001), from all sources at once.
    """
    away = dijkstra(csr_array(capacity > 0), unweighted=True)
    sources = np.flatnonzero(terminals)
    away = away[sources]
    if not np.isfinite(away[:, sources]).all():
        return None
    near = csr_array((capacity > 0).astype(float))
    levels = int(away[np.isfinite(away)].max())
    paths = (away == 0).astype(float)
    for level in range(1, levels + 1):
        paths += (away == level) * ((paths * (away == level - 1)) @ near)
    own = terminals[sources][:, None] * terminals[None, :]
    through = np.zeros_like(paths)
    coming = np.zeros_like(paths)  # flow that ends in a node or passes it, per shortest path to it
    for level in range(levels, 0, -1):
        here = away == level
        coming[here] = (own + through)[here] / paths[here]
        through += (away == level - 1) * paths * ((coming * here) @ near)
    load = np.zeros(len(tails))
    for some in np.array_split(np.arange(len(tails)), len(tails) * len(sources) // 2**21 + 1):
        start, stop = tails[some], heads[some]
        on_path = away[:, stop] == away[:, start] + 1
        load[some] = (on_path * paths[:, start] * coming[:, stop]).sum(axis=0)
    return load


def _shortest_paths(
    shape: tuple[int, ...],
    terminals: NDArray[np.int64],
    tails: NDArray[np.int64],
    heads: NDArray[np.int64],
    length: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The flow on each link if one shortest path of given lengths carries all of it."""
    nodes = shape[0]
    sources = np.flatnonzero(terminals)
    away, before = dijkstra(
        csr_array((length, (tails, heads)), shape=shape), indices=sources, return_predecessors=True
    )
    flow = terminals[sources][:, None] * terminals[None, :].astype(float)
    rows = np.arange(len(sources))[:, None]
    load = np.zeros(shape)
    # Nodes far from the source pass their flow on before nearer ones.
    order = np.argsort(away, axis=1)[:, ::-1]
    for column in range(nodes - 1):
        node = order[:, column]
        prior = before[rows[:, 0], node]
        some = prior >= 0
        row, prior, node = rows[some, 0], prior[some], node[some]
        flow[row, prior] += flow[row, node]
        np.add.at(load, (prior, node), flow[row, node])
    return load[tails, heads]
