"""The routing algorithms for any graph, by name."""

from collections.abc import Callable

from ...fabric.checks import check_word
from ...fabric.errors import InvalidValue
from ..altered_graph import ChanneledGraph, MeasuredGraph
from ..graph import Graph
from .adaptive import Adaptive
from .layered import Layered
from .minimal import Minimal
from .relation import Relation
from .rewritable import Rewritable
from .shortest import Shortest
from .up_down import UpDown
from .valiant import Ugal, Valiant

__all__ = ["ALGORITHMS", "relation_for"]

ALGORITHMS: dict[str, tuple[Callable[..., Relation], str]] = {
    "shortest": (Shortest, "shortest paths, spread over the links; may deadlock"),
    "minimal": (Minimal, "any shortest path; may deadlock"),
    "layered": (Layered, "shortest paths in virtual layers without cycles of channels"),
    "up-down": (UpDown, "first up, then down, from a root"),
    "adaptive": (Adaptive, "any shortest path; escape channels in layers"),
    "valiant": (Valiant, "by way of a random terminal"),
    "ugal": (Ugal, "directly or by way of a random terminal: what seems to take less time"),
}
"""For each name, what makes the relation from a graph, and its description."""


_BY_LINKS = ("minimal", "adaptive")
"""Those to which a path is short if it has few links, whatever the `metric`."""


def relation_for(
    graph: Graph,
    routing: str,
    *,
    channels: int | None = None,
    rewritable: bool = False,
    weight: str | None = None,
) -> Relation:
    """A routing algorithm in a graph.

    Parameters
    ----------
    graph : Graph
    routing : str
        One of `ALGORITHMS`.
    channels : int or None
        Virtual channels of each link; None for those of the graph, or as many as the algorithm
        needs if that is more.
    rewritable : bool
        Whether its tables can be replaced while the network runs.
    weight : str or None
        What makes a path short, one of `METRICS`; None for that of the graph.

    Raises
    ------
    ValueError
        If there is no such algorithm, it finds no way between two terminals, or it needs more
        channels, or leads packets along more than one path and is to be rewritable.
    """
    check_word("Routing", routing, ALGORITHMS)
    if channels is not None:
        graph = ChanneledGraph(graph, channels, channels)
    if weight is not None and weight != graph.metric:
        graph = MeasuredGraph(graph, weight)
    if graph.metric != "hops" and routing in _BY_LINKS:
        raise InvalidValue(f"Weight must be hops with routing={routing}, not {graph.metric}")
    algorithm = ALGORITHMS[routing][0]
    relation = Rewritable(algorithm, graph) if rewritable else algorithm(graph)
    needed = max((link.channels for link in relation.graph.links()), default=1)
    if channels is not None and needed > channels:
        raise InvalidValue(
            f"Channels must be at least {needed} with routing={routing} in this graph, "
            f"not {channels}"
        )
    return relation
