"""Shortest paths in any graph, without regard to deadlock."""

from ..graph import Graph
from .trees import TreeRelation, spread_trees

__all__ = ["Shortest"]


class Shortest(TreeRelation):
    """Each terminal has a tree of shortest paths; together they spread over the links.

    It is free of deadlock in trees and other graphs that happen to be so; elsewhere see `Layered`.

    Parameters
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, spread_trees(graph))
