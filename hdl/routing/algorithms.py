"""The routing algorithms for any graph, by name."""

from collections.abc import Callable
from typing import Any

from ..core.errors import InvalidValue
from ..topology.graph import Graph
from .relation import Relation
from .shortest import Shortest
from .up_down import UpDown

__all__ = ["ALGORITHMS", "relation_for"]

ALGORITHMS: dict[str, tuple[Callable[..., Relation], str]] = {
    "shortest": (Shortest, "shortest paths, spread over the links; may deadlock"),
    "up-down": (UpDown, "first up, then down, from a root"),
}
"""For each name, what makes the relation from a graph, and its description."""


def relation_for(graph: Graph, routing: str, **options: Any) -> Relation:
    """A routing algorithm in a graph.

    The graph of the relation is the given one, whose links have as many channels as the algorithm
    needs, if they have fewer.

    Raises
    ------
    ValueError
        If there is no such algorithm, or it finds no way between two terminals.
    """
    if routing not in ALGORITHMS:
        raise InvalidValue(f"Routing must be one of {', '.join(ALGORITHMS)}, not {routing!r}")
    return ALGORITHMS[routing][0](graph, **options)
