# amaranth: UnusedElaboratable=no
"""Networks whose routing can be chosen: their own, or an algorithm for any graph."""

from dataclasses import dataclass
from typing import Any, Literal

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer, word
from ..graphs.graph import Graph
from ..graphs.listed_graph import check_graph
from ..graphs.routing.algorithms import ALGORITHMS, relation_for
from ..graphs.routing.relation import Relation
from .network_records import Readings, Window
from .routed import RoutedNetwork
from .router_parameters import RouterParameters

__all__ = ["AnyRoutingNetwork", "AnyRoutingParameters"]

_ROUTINGS = {
    "auto": "own, if there is one; else layered, or up-down if tables are rewritable",
    "own": "the network's own",
} | {name: about for name, (_, about) in ALGORITHMS.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyRoutingParameters(RouterParameters):
    """The parameters of `AnyRoutingNetwork`."""

    routing: str = word("auto", "the network's own routing, or one for any graph", _ROUTINGS)
    channels: int | str = integer(
        "auto",
        "virtual channels of each link; auto: those of the graph, at least as many as needed",
        least=1,
        most=64,
        choices=("auto",),
    )
    weight: str = word(
        "auto",
        "with a routing for any graph: what makes a path short",
        {
            "auto": "latency if the graph is a list of anynet, else hops",
            "hops": "few links",
            "latency": "a small sum of the latencies of links",
        },
        plain="hops",
    )
    tables: Literal["fixed", "rewritable"] = word(
        "fixed",
        "routing tables",
        {
            "fixed": "they stay, and inputs share them",
            "rewritable": "they can be replaced in a run, to lead around dead links",
        },
        plain="fixed",
    )


class AnyRoutingNetwork(RoutedNetwork):
    """A network with a routing of its own, or with an algorithm for any graph (`ALGORITHMS`).

    The description may be any `Graph`; if it is no `RoutedGraph`, `routing` is not "own".
    """

    parameters_type = AnyRoutingParameters

    def _relation(self) -> Relation:
        given, described = self.parameters, self._described()
        if isinstance(described, Graph):
            described = described.routed()
        own = described if isinstance(described, Relation) else None
        graph = described.graph if isinstance(described, Relation) else described
        check_graph(graph)
        rewritable = given.tables == "rewritable"
        if given.routing == "auto":
            general = "up-down" if rewritable else "layered"
            given._resolve(routing=general if own is None or rewritable else "own")
        if given.routing == "own":
            if own is None:
                raise InvalidValue("Routing must not be own in a graph that has none")
            if given.weight == "latency":
                raise InvalidValue("Weight must be hops with the network's own routing")
            given._resolve(weight="hops")
            if rewritable:
                raise InvalidValue("Routing must not be own if tables are rewritable")
            if given.channels not in ("auto", getattr(own, "channels", "auto")):
                raise InvalidValue(
                    f"Channels must be auto with the network's own routing, not {given.channels}"
                )
            most = max((link.channels for link in graph.links()), default=1)
            if given.channels != "auto" and given.channels > most:
                raise InvalidValue(
                    f"Channels must be auto or at most {most} with the network's own routing, "
                    f"not {given.channels}"
                )
            return own
        channels = None if given.channels == "auto" else given.channels
        if given.weight == "auto":
            given._resolve(weight=graph.metric)
        relation = relation_for(
            graph,
            given.routing,
            channels=channels,
            rewritable=rewritable,
            weight=given.weight,
        )
        found = {link.channels for link in relation.graph.links()}
        if len(found) == 1:
            given._resolve(channels=found.pop())
        return relation

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """The number of virtual layers, if the network has found it, and the statistics of its
        routers.

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and packets that they were counted in.

        Returns
        -------
        dict[str, Any]
            `layers`, and with recovery `discarded`, `resent` and `repeated`.
        """
        layers = {} if self.parameters.routing == "own" else {"layers": self.relation.layers}
        return layers | super().statistics(readings, window)
