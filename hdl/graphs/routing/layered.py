"""Shortest paths in virtual layers, none of which can deadlock (LASH)."""

from collections.abc import Iterable
from itertools import pairwise

from ..graph import Graph, Link
from .acyclic import AcyclicGraph
from .trees import Tree, TreeRelation, spread_trees

__all__ = ["Layered"]


class Layered(TreeRelation):
    """Shortest paths, spread over the links, and over as few virtual layers as are found to keep
    the channel dependencies of each layer free of cycles.

    A packet is in one layer on its whole path; source and destination determine which. One
    destination after another, each path is put into the first layer in which it closes no cycle
    with those before it (LASH: Skeie, Lysne and Theiss, 2002). The least number of layers is
    NP-hard to find (DFSSSP: Domke, Hoefler and Nagel, 2011).

    Parameters
    ----------
    graph : Graph
    sources : Iterable[int] or None
        The nodes at which packets enter; by default those that have terminals.
    """

    deadlock_free = True

    def __init__(self, graph: Graph, sources: Iterable[int] | None = None) -> None:
        trees = spread_trees(graph)
        if sources is None:
            sources = [node for node, own in enumerate(graph.terminals) if own]
        numbers = {link: number for number, link in enumerate(graph.links())}
        layers: list[AcyclicGraph[int]] = [AcyclicGraph()]
        self._layer: dict[tuple[int, int], int] = {}
        known: dict[tuple[int, ...], int] = {}
        for terminal, tree in enumerate(trees):
            for start in sources:
                path = tuple(numbers[link] for link in _path(tree, start))
                if path not in known:
                    turns = list(pairwise(path))
                    fits = (layer for layer, own in enumerate(layers) if own.add(turns))
                    known[path] = next(fits, len(layers))
                    if known[path] == len(layers):
                        layers.append(AcyclicGraph())
                        layers[-1].add(turns)
                self._layer[start, terminal] = known[path]
        super().__init__(graph, trees, len(layers))

    def first_layer(self, node: int, destination: int) -> int:
        return self._layer[node, destination]


def _path(tree: Tree, node: int) -> list[Link]:
    """The links from a node to the terminal of a tree."""
    path = []
    while (node, 0) in tree:
        path.append(tree[node, 0])
        node = path[-1].peer
    return path
