# amaranth: UnusedElaboratable=no
"""Networks that are described as a graph with a routing relation: the base of all of them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, fields, make_dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_kind, check_limit
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.layout import Layout
from ..fabric.pins import Pin
from ..fabric.wires import Lane
from ..graphs.graph import MOST_NODES, Channel, End, Graph, Link
from ..graphs.listed_graph import check_graph
from ..graphs.partitions import Partition
from ..graphs.routing.classed import Classed
from ..graphs.routing.group_tree import GroupTree, Kind, checked_group, group_tree
from ..graphs.routing.relation import Relation
from ..links.packet import Packet
from ..primitives.random_bits import scattered_seed
from ..routers.detour import detoured
from ..routers.packet_router import PacketRouter
from ..routers.pipelined_router import PipelinedRouter
from ..routers.route_table import RouteTable
from ..routers.worm_router import WormRouter
from ..switch.route import ClassedRoute, RouteLogic
from ..switch.shape import OutputChannel, RouterShape
from ..terminals.retransmission import LONGEST_WAIT, acknowledged, clearing_cycles
from .channel_model import ChannelModel, cycles_of_flit
from .detours import place_detours
from .graph_layout import graph_layout
from .group_tables import (
    Missing,
    check_inside,
    group_cycle,
    group_rows,
    group_total,
    missing,
    place_group_tables,
)
from .network_records import LinkCounts, Readings, Terminals, Window
from .packet_network import PacketNetwork
from .recovery import place_retransmission
from .route_tables import table_memories, weight_bits
from .router_links import RouterLinks, link_name, spare_links
from .router_parameters import RouterParameters
from .router_shapes import router_shapes

__all__ = ["RoutedNetwork"]

_MOST_TURNS = 2**16 - 2**12
"""A table answers each input of a router with a bit for each output, and the inputs of a component
have at most 2^16 bits together."""

_SHOWN = 6
"""Most channels of a cycle that a message names."""


class RoutedNetwork(PacketNetwork):
    """A network of routers (`WormRouter`), which is described by a graph and a routing relation.

    Node v is the cell `router_{v}`. Its outputs are numbered by port and by channel, and then come
    its terminals (`RouterShape`). Nodes with equal ports have the same module. If the relation has
    no logic, the cell `table_{v}` tells the router where headers may go. A link of more than one
    cycle is a cell `link_{v}_{p}`, after the node and the port that it leaves.

    With `switch="packet"` each router is a `PacketRouter`, and packets are single words. Each
    link has one channel then, and an interval: the cycles that it needs for a flit.

    An unblocked packet of c flits over h links of latency 1 takes h D_t + c cycles, from the cycle
    in which its header is offered to the cycle in which its tail is taken.

    A subclass names a `description`: a frozen dataclass that is a `RoutedGraph`, whose fields
    describe parameters (`fabric.parameters`). They come first among the parameters of the network,
    before those of `RouterParameters`. Values that the description has resolved ("auto") are taken
    over. A subclass may also make the relation itself; then the description may be any `Graph`.

    Attributes
    ----------
    routing : Relation
        The routing of one class of messages.
    relation : Relation
        That of all classes (`Classed`), and its `graph`. Terminals are endpoints of one class.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, or the routing can deadlock and `allow_deadlock` is
        0.
    """

    parameters_type = RouterParameters
    parameters: Any
    routing: Relation
    relation: Relation
    description: ClassVar[type[Graph]]
    flits = True

    def __init_subclass__(cls, **options: Any) -> None:
        if "description" in cls.__dict__:
            own = [
                (each.name, each.type, field(default=each.default, metadata=each.metadata))
                for each in fields(cls.description)  # type: ignore[arg-type]
            ]
            record: Any = make_dataclass(
                f"{cls.description.__name__}Parameters",
                own,
                bases=(cls.parameters_type,),
                frozen=True,
                eq=False,
            )
            cls.parameters_type = record
        super().__init_subclass__(**options)

    def _described(self) -> Graph | Relation:
        """The description, from `parameters`."""
        names = [each.name for each in fields(self.description)]  # type: ignore[arg-type]
        described = self.description(**{name: self.parameters[name] for name in names})
        check_limit("Nodes", described.nodes, MOST_NODES)
        self.parameters._resolve(**{name: getattr(described, name) for name in names})
        return described

    def _relation(self) -> Relation:
        """The routing of the graph that is described."""
        described = self._described()
        if not isinstance(described, Relation):
            raise InvalidType(f"Description must have a routing, not {described!r}")
        check_graph(described.graph, MOST_NODES)  # a bus has all at one node
        return described

    def _logic(self) -> RouteLogic | None:
        """The gates of `routing`, or None if routers look up tables."""
        return None

    def _gates(self) -> RouteLogic | None:
        """Those of `relation`."""
        logic = self._logic()
        if logic is None or self.classes == 1:
            return logic
        return ClassedRoute(logic, self.classes, self.tags.tag_code.widths[0])

    def _set_up(self) -> None:
        given = self.parameters
        self.routing = routing = self._relation()
        self.classes = given.classes
        if self.classes > 1:
            given.check_classes(routing)
        self.relation = relation = routing if self.classes == 1 else Classed(routing, self.classes)
        self.lengths = given.lengths
        self.ports = relation.ports
        self.tags = relation.tags
        self.ordered = relation.ordered
        self.holds_links = given.holds_links
        self.flits = not self.holds_links
        self.groups = given.group_entries
        self.recovers = given.recovers
        self._check_deadlock("Routing", relation)
        self._check_nodes()
        given.check(relation, self.shapes)
        links = relation.diameter
        self.stages = links + 1
        waits = links * (given.decision - 1 + relation.graph.latency - 1)
        if given.pipeline:
            waits += (links + 1) * (given.pipeline + 1)
        stored = self.lengths[1] if given.switch == "store-and-forward" else 1
        self.zero_load_cycles = waits + stored * (links + 1) + self.relation.senses
        if self.holds_links:
            self.zero_load_cycles = links * self.lengths[1] * relation.graph.longest_interval + 1
        if self.recovers:
            self.zero_load_cycles += 2
            self.longest_delay = LONGEST_WAIT * self._delay
            self.reset_cycles = clearing_cycles(self.packet, self.tags) + 1
        self.path_is_fixed = relation.phases is None and not self.parameters.selects

    def _check_deadlock(self, what: str, relation: Relation) -> None:
        if self.recovers or self.parameters.allow_deadlock:
            return
        cycle = relation.deadlock()
        if cycle is None:
            return
        shown = ", ".join(map(self.named, cycle[:0:-1][:_SHOWN]))
        more = ", ..." if len(cycle) - 1 > _SHOWN else ""
        raise InvalidValue(
            f"{what} can deadlock: worms on {len(cycle) - 1} channels may wait for each other, "
            f"each for the next: {shown}{more} (allow_deadlock=1 builds it all the same)"
        )

    def _check_nodes(self) -> None:
        for node, shape in enumerate(self.shapes):
            for way, channels in (("into", shape.inputs), ("out of", shape.outputs)):
                if not channels:
                    name = self.relation.graph.name(node)
                    raise InvalidValue(f"Node {name} must have a link or a terminal {way} it")

    @property
    def _delay(self) -> int:
        """Fewest cycles after which a terminal sends a packet again: a power of two."""
        given = self.parameters
        return 1 << (2 * (given.timeout + self.stages + self.lengths[1]) - 1).bit_length()

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """With recovery, how many packets were discarded and sent again in the window.

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and packets that they were counted in.

        Returns
        -------
        dict[str, Any]
            `discarded` by routers (packets and acknowledgements), `resent`, and `repeated`: those
            of them that had arrived before.
        """
        if not self.recovers:
            return super().statistics(readings, window)
        return {
            name: sum(counts["measured"] for counts in readings.get(name, {}).values())
            for name in ("discarded", "resent", "repeated")
        }

    def named(self, channel: Channel) -> str:
        """A channel in words.

        Parameters
        ----------
        channel : Channel
            The channel.

        Returns
        -------
        str
            The nodes, direction and number of it.
        """
        graph = self.relation.graph
        link = graph.link_of(channel)
        words = [f"node {graph.name(link.node)} to {graph.name(link.peer)}"]
        words += [about] if (about := graph.direction(link)) else []
        words += [f"channel {channel.number}"] if link.channels > 1 else []
        return " ".join(words)

    @property
    def link_counts(self) -> LinkCounts:
        graph = self.relation.graph
        links = sum(not graph.is_attachment(link) for link in graph.links())
        return LinkCounts(links, graph.bisection)

    # The hardware.

    @cached_property
    def shapes(self) -> list[RouterShape]:
        """The shape of each node's router."""
        return router_shapes(
            self.relation,
            classes=self.classes,
            pipelined=self.parameters.pipeline > 0,
            groups=self.groups > 0,
            every=self._logic() is None,
        )

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        outer = packet or self.packet
        packet = outer if self.relation.phases is None else detoured(outer)
        if self.recovers:
            packet = acknowledged(outer, self.tags.code.width)
        depth = self.parameters.depth
        self.place_routers(
            fabric,
            lambda shape, logic: self._router_type(
                {"packet": packet, "shape": shape, "logic": logic, "depth": depth}
            ),
        )
        if self.groups:
            rows = self._first_groups
            place_group_tables(fabric, self.shapes, self.parameters.grouped, rows)
        links = self.all_links
        router_links = RouterLinks(self.relation, self.shapes, self.parameters, self.lengths[1])
        for link in links:
            router_links.place(fabric, packet, link)
        terminals = self.terminals
        if self.recovers:
            return place_retransmission(
                fabric,
                outer,
                self.tags,
                terminals,
                window=self.parameters.window,
                longest=self.lengths[1],
                delay=self._delay,
            )
        if self.relation.phases is None:
            return terminals
        levels = {
            (link.node, self.shapes[link.node].output((link.port, c))): self._level(link, c)
            for link in links
            for c in range(link.channels)
        }
        return place_detours(fabric, self.relation, self.shapes, outer, terminals, levels, depth)

    @cached_property
    def _weights(self) -> int:
        """Bits of the weights in tables."""
        if self.parameters.selection != "random" or self._logic() is not None:
            return 1
        return weight_bits(self.relation)

    def _level(self, link: Link, number: int) -> Pin:
        """The number of flits in the queue behind a channel."""
        if link.latency > 1:
            return Pin(link_name(link), ("level", number))
        entry = self.shapes[link.peer].input((link.peer_port, number))
        return Pin(f"router_{link.peer}", ("level", entry))

    @property
    def terminals(self) -> Terminals:
        """The inputs and outputs of routers at which terminals are."""
        graph = self.relation.graph
        entries = [self.shapes[one.node].input((one.port, one.number)) for one in graph.entries]
        exits = [self.shapes[one.node].output((one.port, one.number)) for one in graph.exits]
        return Terminals(
            [Pin(f"router_{one.node}", ("i", n)) for one, n in zip(graph.entries, entries)],
            [Pin(f"router_{one.node}", ("o", n)) for one, n in zip(graph.exits, exits)],
        )

    @property
    def all_links(self) -> list[Link]:
        """The links of the graph, and those of ports that lead nowhere."""
        graph = self.relation.graph
        return [*graph.links(), *(spare_links(graph, self.shapes) if graph.same_router else ())]

    def place_routers(
        self, fabric: Fabric | Scope, router: Callable[[RouterShape, RouteLogic | None], CellType]
    ) -> None:
        """Add a router to each node, `router_{v}`, and beside it its table if it needs one.

        Parameters
        ----------
        fabric : Fabric or Scope
            The fabric.
        router : Callable[[RouterShape, RouteLogic | None], CellType]
            Makes the routers of a shape. Without logic they have the ports `tag` and `exits`.

        Raises
        ------
        ValueError
            If a router is too wide for a table.
        """
        given, logic = self.parameters, self._gates()
        if logic is None:
            turns = [len(shape.inputs) * len(shape.outputs) for shape in self.shapes]
            widest = self.relation.graph.name(turns.index(max(turns)))
            check_limit(f"Inputs times outputs of node {widest}", max(turns), _MOST_TURNS)
        types: dict[RouterShape, CellType] = {}
        for node, shape in enumerate(self.shapes):
            if shape not in types:
                types[shape] = router(shape, logic)
            straps = {}
            if logic is not None and logic.address:
                straps["address"] = logic.position(node)
            if given.arbiter == "random" or given.selects:
                straps["seed"] = scattered_seed(node)
            title = f"node {self.relation.graph.name(node)}"
            fabric.place(Cell(f"router_{node}", types[shape], straps, title=title))
        if logic is None:
            self._place_tables(fabric)

    def _router_type(self, common: dict[str, Any]) -> CellType:
        """The routers of a shape."""
        given = self.parameters
        selecting: dict[str, Any] = {}
        if given.selects:
            selecting = {"selection": given.selection, "weights": self._weights}
        if self.holds_links:
            return CellType(PacketRouter, **common, **selecting)
        common |= {
            "switching": given.switch,
            "longest": self.lengths[1],
            "arbiter": given.inner_arbiter,
        }
        if given.pipeline:
            return CellType(PipelinedRouter, **common, pipeline=given.pipeline)
        return CellType(
            WormRouter,
            **common,
            decision=given.decision,
            refill=given.refill == "yes",
            levels=self.relation.senses,
            timeout=given.timeout if self.recovers else 0,
            **({"groups": given.grouped} if self.groups else {}),
            **({"between": given.between} if given.between else {}),
            **({"single": True} if self._single else {}),
            **selecting,
        )

    def _place_tables(self, fabric: Fabric | Scope) -> None:
        """A table beside each router: rows of outputs, by tag."""
        width = self.tags.code.width
        readers, vias, memories = table_memories(self.relation, tuple(self.shapes), self._weights)
        types: dict[RouterShape, CellType] = {}
        for node, (shape, contents) in enumerate(zip(self.shapes, memories)):
            if shape not in types:
                types[shape] = CellType(
                    RouteTable,
                    tag=width,
                    outputs=len(shape.outputs) * self._weights,
                    readers=readers[shape],
                    via=vias.get(shape, ()),
                )
            fabric.place(Cell(f"table_{node}", types[shape], contents=contents))
            for i in range(len(shape.inputs)):
                here, there = f"router_{node}", f"table_{node}"
                fabric.link(Pin(here, ("tag", i)), Pin(there, ("tag", i)))
                fabric.link(Pin(there, ("exits", i)), Pin(here, ("exits", i)))

    @property
    def layout(self) -> Layout:
        return graph_layout(self.relation.graph, self._drivers, lambda node: f"router_{node}")

    def _drivers(self, link: Link) -> list[Pin]:
        """The pins that drive what comes in at the other end of a link."""
        if link.latency > 1:
            return [Pin(link_name(link), ("o", c)) for c in range(link.channels)]
        return [self._pin(channel) for channel in link.each_channel()]

    # The paths of packets.

    def _path(self, source: int, destination: int) -> list[Pin]:
        return [self._pin(channel) for channel in self.relation.path(source, destination)]

    def channels(self, source: int, destination: int) -> list[Pin]:
        return [self._pin(channel) for channel in self.relation.reached(source, destination)]

    @property
    def channel_model(self) -> ChannelModel:
        given = self.parameters
        plain = {"recovery": "none", "group_entries": 0}
        given.check_bounded(plain, ("wormhole", "cut-through", "store-and-forward", "packet"))
        if self.relation.phases is not None:
            return super().channel_model
        slow = given.depth < given.full_rate_depth and given.refill == "no"

        def cycles(pin: Pin) -> int | None:
            found = self._link_channel(pin)
            if found is None:
                return 1
            link, number = found
            if self.holds_links:
                return self.lengths[1] * link.interval
            count, own = link.channels, number % self.classes
            waits = slow or (given.refill == "yes" and count > 1)
            return cycles_of_flit(count, own, given.between, slow=waits)

        def latency(pin: Pin) -> int:
            found = self._link_channel(pin)
            return 1 if found is None else given.link_cycles(found[0].latency)

        return ChannelModel(
            given.depth + (given.pipeline == 2),
            self.lengths,
            cycles,
            latency,
            slow,
            given.header_cycles,
            store=given.switch == "store-and-forward",
            at_outputs=self.holds_links,
            late=int(self.holds_links),
        )

    def starts(self, source: int, destination: int) -> Collection[Pin]:
        relation = self.relation
        home, exit_ = relation.graph.homes[source], relation.graph.exits[destination]
        found = (
            relation.choices(home, None, one) or [exit_] for one in relation.headers(destination)
        )
        return [*dict.fromkeys(self._pin(channel) for own in found for channel in own)]

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        return {
            self._pin(channel): [self._pin(after) for after in nexts]
            for channel, nexts in self.relation.moves(destination).items()
        }

    def is_escape(self, channel: Pin) -> bool:
        found = self._router_output(channel)
        return found is not None and found[1].escape

    def link_end(self, output: Pin) -> End | None:
        """The node and the port that the link of an output leaves; None if it is no link's.

        Parameters
        ----------
        output : Pin
            The output of a router, or of a link of several cycles.

        Returns
        -------
        End or None
            Node and port.
        """
        found = self._link_channel(output)
        return None if found is None else (found[0].node, found[0].port)

    def tables_around(self, dead: Collection[Pin]) -> Mapping[str, Mapping[str, Sequence[int]]]:
        if not self.relation.rewritable:
            return super().tables_around(dead)
        ends = {pin: self.link_end(pin) for pin in dead}
        for pin, end in ends.items():
            if end is None:
                raise InvalidValue(f"Packets can't be led around {pin}: it is not between routers")
            if not self.joins_switches(pin):
                raise InvalidValue(
                    f"Packets can't be led around {pin}: what is lost behind a link of several "
                    "cycles takes its credits with it, and the network would not become empty"
                )
        relation = self.relation.without({end for end in ends.values() if end is not None})
        self._check_deadlock("Routing around dead links", relation)
        memories = table_memories(relation, tuple(self.shapes), 1).contents
        return {f"table_{node}": rows for node, rows in enumerate(memories)}

    def _tree(self, root: int, members: Iterable[int]) -> GroupTree:
        """The tree of a group, made once."""
        group = checked_group(self.relation, root, members)
        if group not in self._trees:
            self._trees[group] = group_tree(self.relation, *group)
        return self._trees[group]

    @cached_property
    def _trees(self) -> dict[tuple[int, tuple[int, ...]], GroupTree]:
        return {}

    @cached_property
    def _first_groups(self) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """The tables of groups as they are built."""
        everyone = range(self.ports)
        return self.group_tables({one: (one % self.ports, everyone) for one in range(self.groups)})

    def group_tables(
        self, groups: Mapping[int, tuple[int, Iterable[int]]], partition: Partition | None = None
    ) -> Mapping[str, Mapping[str, Sequence[int]]]:
        if not self.groups:
            return super().group_tables(groups)
        trees = {number: self._tree(*group) for number, group in groups.items()}
        if partition is not None:
            check_kind("Partition", partition, Partition, "a partition of the terminals")
            if (count := partition.code.count) != self.ports:
                raise InvalidValue(f"Partition must be of {self.ports} terminals, not {count}")
            for number, tree in trees.items():
                check_inside(self.relation, number, tree, partition.of(tree.root))
        return group_rows(trees, self.shapes, self.parameters.grouped)

    def group_cycle(
        self, groups: Mapping[int, tuple[int, Iterable[int]]], kinds: Collection[Kind]
    ) -> list[str] | None:
        trees = {number: self._tree(*group) for number, group in groups.items()}
        passes = self.parameters.switch != "wormhole"
        kinds = [kind for kind in kinds if not self._unmerged(kind)]
        return group_cycle(self.relation, trees, kinds, passes=passes, named=self.named)

    def _unmerged(self, kind: Kind) -> bool:
        return kind is not Kind.MULTICAST and self.parameters.reduction == "none"

    def group_refusal(self, kind: Kind, root: int, members: Iterable[int]) -> str | None:
        if self._unmerged(kind):
            return "Reduction must not be none for packets that are to be merged"
        if kind is not Kind.ALL_REDUCE:
            return None
        return self._tree(root, members).no_turn

    def group_pins(self, root: int, members: Iterable[int]) -> tuple[list[Pin], list[Pin]]:
        tree = self._tree(root, members)
        exits = self.terminals.outputs

        def driver(channel: Channel) -> Pin:
            return self._drivers(self.relation.graph.link_of(channel))[channel.number]

        copies = [driver(channel) for channel in tree.copied if channel.port >= 0]
        merges = [driver(channel) for channel in tree.merged]
        copies += [Pin(None, ("i", tree.root)), *(exits[member] for member in tree.members)]
        merges += [*(Pin(None, ("i", member)) for member in tree.members), exits[tree.root]]
        return copies, merges

    def group_total(
        self, root: int, words: Mapping[int, int], perform: Callable[[int, int], int]
    ) -> int:
        return group_total(self._tree(root, list(words)), self.shapes, words, perform)

    def missing(self, signal: Callable[[str, str], int]) -> list[Missing]:
        merges = self.groups and self.parameters.grouped.merges
        return missing(self.relation.graph, self.shapes, signal) if merges else []

    @property
    def levels(self) -> Sequence[tuple[str, str]]:
        return [
            (f"router_{node}", f"queue_{number}.level")
            for node, shape in enumerate(self.shapes)
            for number in range(len(shape.inputs))
        ]

    def lane(self, output: Pin) -> Lane:
        found = self._link_channel(output)
        return Lane() if found is None else Lane(self.relation.graph.direction(found[0]), found[1])

    def joins_switches(self, output: Pin) -> bool:
        found = self._router_output(output)
        return found is not None and not found[1].is_terminal

    def _link_channel(self, output: Pin) -> tuple[Link, int] | None:
        """The link and the channel that an output belongs to, of a router or of the link itself."""
        kind, *numbers = str(output.cell).split("_")
        if kind == "link":
            (node, port), number = map(int, numbers), int(output.path[1])
        elif found := self._router_output(output):
            node, (port, number) = found[0], found[1].end
        else:
            return None
        link = self.relation.graph.by_output.get((node, port))
        return None if link is None else (link, number)

    def _router_output(self, output: Pin) -> tuple[int, OutputChannel] | None:
        """The node of a router's output, and what it is; None if it is no such output."""
        kind, _, node = str(output.cell).partition("_")
        if kind != "router" or output.path[0] != "o":
            return None
        return int(node), self.shapes[int(node)].outputs[int(output.path[1])]

    def _output(self, channel: Channel) -> int:
        """The number of its router's output for a channel."""
        return self.shapes[channel.node].output((channel.port, channel.number))

    def _pin(self, channel: Channel) -> Pin:
        return Pin(f"router_{channel.node}", ("o", self._output(channel)))
