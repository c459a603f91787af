# amaranth: UnusedElaboratable=no
"""Processors and memory at the terminals of any graph, whose routers combine requests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..boxes.combining import CombiningRouter
from ..boxes.combining.combining_router import way_digit
from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.layout import Layout
from ..fabric.parameter_fields import fixed, integer, text
from ..fabric.parameters import Parameters
from ..fabric.pins import Pin
from ..graphs.graph import Channel, Link
from ..graphs.isolation import check_isolated
from ..graphs.routing.addressed import Addressed
from ..graphs.routing.relation import Relation
from ..networks.family import Family, Group
from ..networks.graph_layout import graph_layout
from ..networks.memory_network import MemoryNetwork, tag_bits
from ..networks.memory_parameters import (
    combine_policy,
    interval_of_memory,
    latency_of_memory,
    memory_operations,
    merge_limit,
    module_rows,
    unanswered_requests,
    wait_records,
    word_width,
)
from ..networks.network_records import Confinement, LinkCounts, Readings, Window
from ..networks.routed import RoutedNetwork
from ..networks.router_links import link_ends
from ..operations.combining_rules import Policy
from ..operations.memory import Operation
from ..switch.route import RouteLogic
from ..switch.shape import RouterShape
from ..terminals.combining_end import CombiningEnd, way_link
from ..terminals.memory_module import MemoryModule
from .graph_network import GraphNetwork
from .named_network import FORM, named_network

__all__ = ["FAMILIES", "CombiningGraphNetwork", "CombiningGraphParameters"]


@dataclass(frozen=True, eq=False)
class CombiningGraphParameters(Parameters):
    """The parameters of `CombiningGraphNetwork`.

    `depth`, `wait` and `merge` are those of the routers (`CombiningRouter`). `combine` may also be
    a `Policy`, and `operations` a tuple of `Operation`. `read` is the `Recipe` of the network of
    routers, behind what it was built of.
    """

    network: str = text("torus:k=4,n=2", "the network of routers: nodes and links", FORM)
    depth: int = integer(4, "requests that fit into a queue", least=2, most=64)
    wait: int = wait_records()
    combine: str | Policy = combine_policy()
    merge: Literal["pairwise", "unlimited"] = merge_limit()
    width: int = word_width()
    rows: int = module_rows()
    outstanding: int = unanswered_requests()
    operations: str | tuple[Operation, ...] = memory_operations("routers and memories")
    memory_latency: int = latency_of_memory()
    memory_interval: int = interval_of_memory()
    allow_deadlock: int = integer(
        0, "1: build it even if its routing can deadlock", least=0, most=1, plain=0
    )
    read: tuple | None = fixed(None, "the network of routers as it was built")

    def __post_init__(self) -> None:
        super().__post_init__()
        words = self.network, self.allow_deadlock
        if not isinstance(self.read, tuple) or self.read[:1] != (words,):
            recipe = named_network("Network", self.network, allow_deadlock=self.allow_deadlock)
            self._resolve(read=(words, recipe))

    @property
    def routers(self) -> RoutedNetwork:
        """The network that `network` describes."""
        assert self.read is not None
        network = self.read[1].build()
        assert isinstance(network, RoutedNetwork)
        return network


class CombiningGraphNetwork(MemoryNetwork):
    """A processor and a memory module at each terminal of a network of routers that combine.

    The network may be any that is described as nodes and links, with its routing (`RoutedNetwork`);
    each router is a `CombiningRouter`. All requests for a word reach its module by a tree of links,
    and two that meet in a router may continue as one. A reply retraces the way of its request: each
    link has wires for requests in its direction, and wires for replies back. So links need not come
    in pairs. An unblocked request over h links is answered 2 (h + 1) cycles after it was taken (one
    per router and direction), and those of the memory.

    Each channel of a link has its own queue and its own wires. Requests only wait for requests, in
    the order of the routing; replies only wait for replies, in the reverse order; and a request at
    a memory module waits for its reply to leave. So requests and replies together are free of
    deadlock if the routing is (`moves`).

    Word a is row a // N of memory module a mod N. Requests of a processor for one word are
    performed in the order in which it sent them, and replies may arrive in any order.

    Node v is the cell `router_{v}`, with the cell `table_{v}` if it looks up its routes. Terminal t
    has the memory module `memory_{t}` and the end of the processor's link `end_{t}`, which takes no
    cycle.

    Attributes
    ----------
    relation : Relation
        The routing of requests, and its `graph`.
    router_link : MemoryLink
        The link of a router: tags of modules, and above them the way back.

    Members
    -------
    i : In(link).array(ports)
        The links of the processors.

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, the routing can deadlock or gives packets a choice,
        or links take longer than a cycle.
    """

    parameters_type = CombiningGraphParameters
    parameters: CombiningGraphParameters
    family = "combining-graph"
    relation: Relation

    def _set_up(self) -> None:
        given = self.parameters
        routers = given.routers
        _check_routing(routers.relation)
        if routers.relation.tags.routing != "destination":
            addressed = Addressed(routers.relation)
            routers = GraphNetwork(graph=addressed, allow_deadlock=given.allow_deadlock)
        self._routers = routers
        self.relation = relation = routers.relation
        self.ports = relation.ports
        self.tags = relation.tags
        self._code = relation.tags.code
        self.tag_bits = tag_bits(relation.tags)
        self.stages = relation.diameter + 1
        self._set_operations(given.operations)
        self.link = self._memory_link(len(self.tag_bits))
        digit = {False: 0, True: 0}
        for one in (output for shape in set(routers.shapes) for output in shape.outputs):
            digit[one.is_terminal] = max(digit[one.is_terminal], way_digit(one.inputs))
        self._way = max(1, relation.diameter * digit[False] + digit[True])
        self.router_link = way_link(self.link, self._way)

    def request_length(self, operation: Operation) -> int:
        return 1

    def place(self, fabric: Fabric | Scope) -> list[Pin]:
        self._routers.place_routers(fabric, self._router)
        for link in self._routers.all_links:
            here, there = f"router_{link.node}", f"router_{link.peer}"
            for leaves, comes in link_ends(self._routers.shapes, link):
                fabric.link(Pin(here, ("o", leaves)), Pin(there, ("i", comes)))
        end = CellType(CombiningEnd, link=self.link, way=self._way)
        module = CellType(
            MemoryModule,
            link=self.router_link,
            rows=self.memory_rows,
            latency=self.parameters.memory_latency,
            interval=self.parameters.memory_interval,
        )
        processors = []
        for number, (entry, exit_) in enumerate(zip(*self._routers.terminals)):
            first = fabric.place(Cell(f"end_{number}", end)).name
            memory = fabric.place(Cell(f"memory_{number}", module)).name
            fabric.link(Pin(first, ("o",)), entry)
            fabric.link(exit_, Pin(memory, ("i",)))
            processors.append(Pin(first, ("i",)))
        return processors

    def _router(self, shape: RouterShape, logic: RouteLogic | None) -> CellType:
        given = self.parameters
        return CellType(
            CombiningRouter,
            link=self.router_link,
            shape=shape,
            logic=logic,
            module=self.link.tag,
            depth=given.depth,
            wait=given.wait,
            policy=given.combine,
            merge=given.merge,
        )

    @property
    def layout(self) -> Layout:
        graph = self.relation.graph
        found = graph_layout(graph, self._drivers, lambda node: f"router_{node}")
        # Replies go back where their requests came.
        back = {
            reply: route.back
            for link in graph.links()
            for channel in link.each_channel()
            if (route := found.routes.get(self._request(channel)))
            for reply in self._replies(link.peer, channel)
        }
        # Packets leave at terminals, requests at memory modules.
        processors = [each for each in found.terminals if each.pins[0].path[0] == "i"]
        return replace(found, terminals=processors, routes={**found.routes, **back})

    def _drivers(self, link: Link) -> list[Pin]:
        """The pins that drive what comes in at the other end of a link."""
        return [self._request(channel) for channel in link.each_channel()]

    @property
    def link_counts(self) -> LinkCounts:
        """Each channel has wires of its own, and so counts as a link."""
        counts = self._routers.link_counts
        graph = self.relation.graph
        channels = [link.channels for link in graph.links() if not graph.is_attachment(link)]
        if counts.bisection is None or len(set(channels)) > 1:
            return LinkCounts(sum(channels))
        return LinkCounts(sum(channels), counts.bisection * channels[0])

    # The channels of requests and of replies.

    def _request(self, channel: Channel) -> Pin:
        output = self._routers.shapes[channel.node].output((channel.port, channel.number))
        return Pin(f"router_{channel.node}", ("o", output, "request"))

    def _replies(self, node: int, came: Channel | None) -> list[Pin]:
        """Where replies leave a node whose requests came by a channel, or from its terminals."""
        shape = self._routers.shapes[node]
        if came is None:
            entries = [n for n, entry in enumerate(shape.inputs) if entry.is_terminal]
        else:
            entries = [shape.input((self.relation.graph.link_of(came).peer_port, came.number))]
        return [Pin(f"router_{node}", ("i", entry, "reply")) for entry in entries]

    def _path(self, source: int, destination: int) -> list[Pin]:
        return [self._request(channel) for channel in self.relation.path(source, destination)]

    def channels(self, source: int, destination: int) -> list[Pin]:
        """The channels of requests from a processor to a memory module, and those of replies.

        Parameters
        ----------
        source : int
            The processor.
        destination : int
            The memory module.

        Returns
        -------
        list[Pin]
            The outputs of routers that drive them.
        """
        requests = self.relation.path(source, destination)
        graph = self.relation.graph
        ends = [(graph.link_of(came).peer, came) for came in requests[:-1]]
        found = [self._request(channel) for channel in requests]
        for node, came in ((graph.homes[source], None), *ends):
            found += self._replies(node, came)
        return found

    def moves(self, destination: int) -> Mapping[Pin, list[Pin]]:
        """The channels of requests for a memory module and of their replies, and those that each
        waits for.

        At the module, a request waits for the channels that its reply may take.

        Parameters
        ----------
        destination : int
            The memory module.

        Returns
        -------
        Mapping[Pin, list[Pin]]
            By the output of a cell, outputs of cells.
        """
        graph, exit_ = self.relation.graph, self.relation.graph.exits[destination]
        found: dict[Pin, list[Pin]] = {}
        for node, came, nexts in self.relation.steps(destination):
            back = self._replies(node, came)
            ahead = [self._request(channel) for channel in nexts or [exit_]]
            if came is None:
                found |= {pin: [] for pin in back}
            else:
                found[self._request(came)] = ahead
            for channel in nexts:
                for pin in self._replies(graph.link_of(channel).peer, channel):
                    found.setdefault(pin, []).extend(back)
            if not nexts:
                found.setdefault(self._request(exit_), []).extend(back)
        return found

    def confinement(self) -> Confinement:
        confinement = super().confinement()
        check_isolated(self, self.code)
        return confinement

    # What is counted.

    def combined(self) -> list[list[Pin]]:
        nodes = range(self.relation.graph.nodes)
        return [[Pin(f"router_{node}", ("combined",)) for node in nodes]]

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """The share of requests that were combined in the window, and what waited for their
        replies.

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and requests that they were counted in.

        Returns
        -------
        dict[str, Any]
            `combined`, the share; and `waiting`, the mean and the maximum of the records in all
            wait buffers of a router.
        """
        combined = sum(counts["measured"] for counts in readings.get("combined", {}).values())
        found: dict[str, Any] = {"combined": [combined / max(1, window.injected)]}
        if levels := readings.get("waiting", {}).values():
            found["waiting"] = window.levels(levels)
        return found

    @staticmethod
    def statistics_lines(statistics: Mapping[str, Any]) -> list[str]:
        lines = [f"combined: {sum(statistics['combined']):.3f} of the requests"]
        if waiting := statistics.get("waiting"):
            lines.append(
                f"records in the wait buffers of a router: mean {waiting['mean']:.2f}, "
                f"at most {waiting['max']}"
            )
        return lines


def _check_routing(relation: Relation) -> None:
    """Check that all requests from a terminal for a word take one way, a cycle for each link."""
    if relation.choice or relation.phases is not None:
        raise InvalidValue(
            "Network must have a routing that leads all packets of a source and a destination one "
            "way, so that requests meet (routing=up-down does; in a fat tree ascent=fixed)"
        )
    if (slowest := relation.graph.latency) > 1:
        raise InvalidValue(f"Latency of links must be 1 in a combining network, not {slowest}")


FAMILIES = (
    Family(
        "combining-graph",
        "processors and memory in any graph: routers combine requests for one word",
        CombiningGraphNetwork,
        Group.MEMORY,
        example={"network": "torus:k=4,n=1", "operations": "rp3", "width": 8},
    ),
)
