# amaranth: UnusedElaboratable=no
"""Routers in random irregular networks against an independent model, flit for flit."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import networkx as nx
import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from hypothesis import given, settings
from hypothesis import strategies as st
from multicube.hdl import GraphNetwork
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.graph import Channel, Graph, Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.links.packet import Packet
from multicube.sim.engines.compiled import CompiledEngine
from worm_model import Flit, Moved, WormModel

CYCLES = 240
PERIOD = 16
"""Terminals are ready in some cycles of this many, the same ones again and again."""


class UpDown(Relation):
    """Up to lower numbers as long as needed, and then down only (Autonet), on shortest such ways.

    With `adaptive`, channels from 1 on are no escape channels: they lead nearer to the destination
    in any way, for headers that have not yet taken a channel 0. Otherwise a packet may take any
    channel, if `spread`, or that of its destination's number.
    """

    def __init__(self, graph: Graph, *, adaptive: bool, spread: bool) -> None:
        self.plain, self.adaptive, self.spread = graph, adaptive, spread
        self.ordered = not adaptive and not spread
        # A state is a node, and whether a header may still go up there.
        self.ways: nx.DiGraph = nx.DiGraph()
        self.lengths = nx.DiGraph()
        for link in graph.links():
            up = link.peer < link.node
            self.lengths.add_edge(link.node, link.peer)
            self.ways.add_edge((link.node, True), (link.peer, up))
            if not up:
                self.ways.add_edge((link.node, False), (link.peer, False))

    @property
    def graph(self) -> Graph:
        return self.plain

    def is_escape(self, channel: Channel) -> bool:
        return not self.adaptive or channel.number == 0

    @cached_property
    def far(self) -> dict[Any, dict[Any, int]]:
        return dict(nx.all_pairs_shortest_path_length(self.ways))

    @cached_property
    def near(self) -> dict[int, dict[int, int]]:
        return dict(nx.all_pairs_shortest_path_length(self.lengths))

    def left(self, state: tuple[int, bool], home: int) -> int:
        known = self.far.get(state, {})
        return min((known[home, way] for way in (True, False) if (home, way) in known), default=999)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        home = self.graph.homes[destination]
        if node == home:
            return
        free = came is None or (self.adaptive and came.number > 0)
        may_go_up = free or (came is not None and node < came.node)
        best = self.left((node, may_go_up), home)
        for channel in self.graph.leaving(node):
            peer = self.graph.link_of(channel).peer
            up = peer < node
            on_way = (may_go_up or not up) and self.left((peer, up), home) == best - 1
            if self.adaptive and channel.number > 0:
                if free and self.near[peer].get(home, 999) == self.near[node][home] - 1:
                    yield channel
            elif (on_way and self.adaptive) or (on_way and self.spread):
                yield channel
            elif on_way and channel.number == destination % self.graph.link_of(channel).channels:
                yield channel
                return


@dataclass(frozen=True)
class Case:
    """A network, and what its terminals do."""

    network: GraphNetwork
    offers: list[list[tuple[int, Flit]]]
    ready: list[list[bool]]


@st.composite
def graphs(draw: st.DrawFn) -> ListedGraph:
    """Irregular graphs: a tree and more links, with 0 to 2 terminals at each node."""
    nodes = draw(st.integers(8, 20))
    number = st.integers(0, nodes - 1)
    tree = [(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)]
    more = draw(st.lists(st.tuples(number, number), max_size=nodes))
    edges = dict.fromkeys([*tree, *((min(pair), max(pair)) for pair in more if len({*pair}) == 2)])
    homes = [node for node in range(nodes) for _ in range(draw(st.sampled_from((1, 0, 2))))]
    homes += draw(st.lists(number, min_size=2, max_size=3))
    channels = draw(st.integers(2, 3))
    outputs, inputs, links = [0] * nodes, [0] * nodes, []
    for one, other in draw(st.permutations(list(edges))):
        latency = draw(st.sampled_from((1, 2, 3)))
        for here, there in ((one, other), (other, one)):
            links.append(Link(here, outputs[here], there, inputs[there], channels, latency))
            outputs[here] += 1
            inputs[there] += 1
    return ListedGraph(nodes, links, homes)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    form = draw(st.sampled_from(("ordered", "adaptive", "spread")))
    graph = draw(graphs())
    relation = UpDown(graph, adaptive=form == "adaptive", spread=form == "spread")
    depth = draw(st.sampled_from((3, 1, 2, 6)))
    network = GraphNetwork(graph=relation, depth=depth, payload=24, length=9)
    load = draw(st.sampled_from((0.4, 0.1, 1.0)))
    random = draw(st.randoms(use_true_random=False, note_method_calls=False))
    offers = []
    for source in range(network.ports):
        flits: list[tuple[int, Flit]] = []
        cycle = 4
        for number in range(20):
            cycle += random.randrange(int(8 / load))
            length, destination = random.choice((1, 2, 4, 9)), random.randrange(network.ports)
            for index in range(length):
                flits.append((cycle, Flit(source, destination, number, index, index == length - 1)))
        offers.append(flits)
    ready = [
        [random.random() < share for _ in range(PERIOD)]
        for share in random.choices((0.3, 0.8, 1.0), k=network.ports)
    ]
    return Case(network, offers, ready)


# The hardware.


class Player(wiring.Component):
    """Offers each flit of its script from its cycle on, and takes flits in some cycles only."""

    def __init__(self, packet: Packet, rows: int, script: Sequence[int] = ()) -> None:
        self.packet, self.rows = packet, rows
        self.script = Memory(shape=16 + packet.size, depth=rows, init=script)
        ports = stream.Signature(packet)
        super().__init__({"o": Out(ports), "i": In(ports), "pattern": In(PERIOD)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.script = self.script
        read = self.script.read_port(domain="comb")
        clock, sent = Signal(16), Signal(range(self.rows + 1))
        taken = self.o.valid & self.o.ready
        m.d.sync += [clock.eq(clock + 1), sent.eq(sent + taken)]
        m.d.comb += [
            read.addr.eq(sent),
            self.o.valid.eq((sent != self.rows) & (clock >= read.data[:16])),
            Value.cast(self.o.payload).eq(read.data[16:]),
            self.i.ready.eq(self.pattern.bit_select(clock % PERIOD, 1)),
        ]
        return m


def word(network: GraphNetwork, flit: Flit) -> int:
    tag = network.tags.tag(0, flit.destination)
    payload = flit.source | flit.number << 8 | flit.index << 16
    fields = {"tag": tag, "payload": payload, "last": flit.last}
    return network.packet.const(fields).as_value().value


def in_hardware(case: Case) -> list[Moved]:
    """All flits that leave routers."""
    network = case.network
    words = {word(network, flit): flit for own in case.offers for _, flit in own}
    fabric = Fabric({})
    terminals = network.place(fabric)
    rows = max(map(len, case.offers))
    kind = CellType(Player, packet=network.packet, rows=rows)
    for terminal, own in enumerate(case.offers):
        name = f"player_{terminal}"
        script = [cycle | word(network, flit) << 16 for cycle, flit in own]
        script += [0xFFFF] * (rows - len(own))
        pattern = sum(bit << at for at, bit in enumerate(case.ready[terminal]))
        fabric.place(Cell(name, kind, {"pattern": pattern}, {"script": tuple(script)}))
        fabric.link(Pin(name, ("o",)), terminals.inputs[terminal])
        fabric.link(terminals.outputs[terminal], Pin(name, ("i",)))
    pins = {
        Channel(node, *output.end): [
            Pin(f"router_{node}", ("o", j, port)) for port in ("valid", "ready", "payload")
        ]
        for node, shape in enumerate(network.shapes)
        for j, output in enumerate(shape.outputs)
    }
    moved = []
    with CompiledEngine(fabric) as engine:
        for cycle in range(CYCLES):
            for channel, (valid, ready, payload) in pins.items():
                if engine.get(valid) and engine.get(ready):
                    moved.append(Moved(cycle, channel, words[engine.get(payload)]))
            engine.step(1)
    return moved


# The model.


def in_model(case: Case) -> list[Moved]:
    model = WormModel(case.network.relation, case.network.parameters.depth)
    scripts = [deque(own) for own in case.offers]
    found = []
    for cycle in range(CYCLES):
        offered = [own[0][1] if own and own[0][0] <= cycle else None for own in scripts]
        accepted, moved = model.step(offered, [one[cycle % PERIOD] for one in case.ready])
        found += moved
        for own, taken in zip(scripts, accepted):
            if taken:
                own.popleft()
    return found


def compare(case: Case) -> None:
    expected, found = in_model(case), in_hardware(case)
    for cycle, both in groupby(
        sorted([*((one, "model") for one in expected), *((one, "hardware") for one in found)]),
        key=lambda pair: pair[0].cycle,
    ):
        sides: dict[str, list[Moved]] = {"model": [], "hardware": []}
        for one, side in both:
            sides[side].append(one)
        assert sides["hardware"] == sides["model"], cycle
    assert found


@given(cases())
@settings(max_examples=1, derandomize=True, deadline=None, database=None)
def test_model_and_hardware_agree(case: Case) -> None:
    compare(case)


@pytest.mark.long
@given(cases())
@settings(max_examples=10, derandomize=True, deadline=None, database=None)
def test_model_and_hardware_agree_in_ten_networks(case: Case) -> None:
    compare(case)
