"""Nodes of a graph that look alike: those that an automorphism takes to each other."""

from collections.abc import Sequence

import numpy as np

__all__ = ["alike_nodes"]

_Colours = list[int]


def alike_nodes(to: Sequence[Sequence[int]], colours: Sequence[int]) -> list[list[int]]:
    """Classes of nodes, each of which some automorphism takes to any other of its class.

    Every automorphism is found by refinement of colours and then checked, so no class is too large.
    Classes can be smaller than those of all automorphisms, as no choice is taken back.

    Parameters
    ----------
    to : Sequence[Sequence[int]]
        For each node, those to which a link leads.
    colours : Sequence[int]
        An automorphism keeps the colour of each node.

    Examples
    --------
    A path of four nodes:

    >>> alike_nodes([[1], [0, 2], [1, 3], [2]], [0, 0, 0, 0])
    [[0, 3], [1, 2]]
    """
    nodes = range(len(to))
    froms: list[list[int]] = [[] for _ in nodes]
    for node in nodes:
        for peer in to[node]:
            froms[peer].append(node)
    links = {(node, peer) for node in nodes for peer in to[node]}
    both = _Refiner(to, froms)
    first = both.refined([*colours])
    chief = [*nodes]

    def found(node: int) -> int:
        while chief[node] != node:
            node = chief[node]
        return node

    for node in nodes:
        for other in sorted({found(n) for n in nodes if n < node and first[n] == first[node]}):
            if found(node) == other:
                break
            image = both.automorphism(first, other, node)
            if (
                image is not None
                and sorted(image) == [*nodes]
                and all(colours[n] == colours[image[n]] for n in nodes)
                and {(image[a], image[b]) for a, b in links} == links
            ):
                for n in nodes:
                    one, two = sorted((found(n), found(image[n])))
                    chief[two] = one
                break
    classes: dict[int, list[int]] = {}
    for node in nodes:
        classes.setdefault(found(node), []).append(node)
    return [*classes.values()]


class _Refiner:
    """Refines colours by those of neighbours, in two copies of a graph at once."""

    def __init__(self, to: Sequence[Sequence[int]], froms: Sequence[Sequence[int]]) -> None:
        self._count = len(to)
        self._ways = [_padded(to), _padded(froms)]
        self._weights = np.random.default_rng(1).integers(1, 2**62, 4 * len(to) + 4, np.int64)

    def refined(self, colours: _Colours) -> _Colours:
        """Colours that no neighbours' colours split any further, of one copy or of both."""
        now = np.array(colours)
        copies = len(now) // self._count
        kinds = len(np.unique(now))
        while True:
            parts = [now.astype(np.int64)]
            for way in self._ways:
                own = np.append(self._weights[now], 0)
                for copy in range(copies):
                    shifted = np.where(way < self._count, way + copy * self._count, len(now))
                    parts.append(own[shifted].sum(axis=1))
            rows = parts[0]
            out = np.concatenate(parts[1 : 1 + copies])
            into = np.concatenate(parts[1 + copies :])
            _, now = np.unique(np.stack([rows, out, into]), axis=1, return_inverse=True)
            now = now.reshape(-1)
            if (more := int(now.max()) + 1) == kinds:
                return now.tolist()
            kinds = more

    def automorphism(self, colours: _Colours, node: int, image: int) -> list[int] | None:
        """The images of all nodes, if the choices of refinement lead to any: not checked."""
        count = self._count
        pair = [*colours, *colours]
        while True:
            fresh = max(pair) + 1
            pair[node] = pair[count + image] = fresh
            pair = self.refined(pair)
            if sorted(pair[:count]) != sorted(pair[count:]):
                return None
            places: dict[int, int] = {}
            for n, colour in enumerate(pair[count:]):
                places.setdefault(colour, n)
            seen: dict[int, int] = {}
            for colour in pair[:count]:
                seen[colour] = seen.get(colour, 0) + 1
            wide = [n for n in range(count) if seen[pair[n]] > 1]
            if not wide:
                return [places[colour] for colour in pair[:count]]
            node = wide[0]
            image = places[pair[node]]


def _padded(lists: Sequence[Sequence[int]]) -> np.ndarray:
    """Lists as rows of equal length, filled up with the number of rows."""
    width = max((len(each) for each in lists), default=0)
    return np.array([[*each, *[len(lists)] * (width - len(each))] for each in lists], dtype=np.int64)
