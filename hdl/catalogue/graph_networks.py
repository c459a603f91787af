"""The networks of families that are no more than a graph: `CompleteNetwork` of `Complete`."""

from typing import Any

from ..graphs.graph import Graph
from ..networks.any_routing import AnyRoutingNetwork
from ..networks.family import GraphFamily
from .discovery import ENTRIES

__all__ = ["graph_network"]


def _network_of(family: GraphFamily) -> type[AnyRoutingNetwork]:
    graph, description = family.graph, family.description
    about = {
        "__doc__": f"{description[:1].upper()}{description[1:]} (`{graph.__name__}`).",
        "__module__": __name__,
        "description": graph,
        "family": family.name,
    }
    return type(f"{graph.__name__}Network", (AnyRoutingNetwork,), about)


_MADE = {each.graph: _network_of(each) for each in ENTRIES if isinstance(each, GraphFamily)}


def graph_network(graph: type[Graph]) -> type[AnyRoutingNetwork]:
    """The network of a graph that is a family."""
    return _MADE[graph]


def __getattr__(name: str) -> Any:
    for network in _MADE.values():
        if network.__name__ == name:
            return network
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
