# amaranth: UnusedElaboratable=no
"""The deflection torus: in lock step with a model of whole packets; flights and latencies."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import call

import pytest
from amaranth.lib.wiring import In, Out
from multicube.hdl import build
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.deflection.deflection_network import DeflectionTorus
from multicube.hdl.families.deflection.deflection_router import DeflectionRouter
from multicube.hdl.links.packet import Packet
from multicube.sim import simulate
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals

SEED = 26
Node = tuple[int, int]
Flying = tuple[int, Node]
"""The number and the destination of a packet."""


@dataclass
class Model:
    """The rules in words, of packets that know where they go: no tags, no bits found out ahead.

    A node is (x, y). Packets go up along y, turn, and go along x.
    """

    columns: int
    rows: int
    over_y: dict[Node, Flying | None] = field(default_factory=dict)
    over_x: dict[Node, Flying | None] = field(default_factory=dict)
    shown: dict[Node, Flying | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = [(x, y) for y in range(self.rows) for x in range(self.columns)]
        self.over_y = self.over_x = self.shown = dict.fromkeys(self.nodes)

    def step(self, offers: dict[Node, Flying | None], ready: dict[Node, bool]) -> dict[Node, bool]:
        """One cycle; returns which offers have entered."""
        up, along, shown = {}, {}, {}
        for x, y in self.nodes:
            from_y, from_x = self.over_y[x, y], self.over_x[x, y]
            if from_y is not None and from_y[1][1] == y:
                from_y, from_x = from_x, from_y
            shown[x, y] = None if ready[x, y] else self.shown[x, y]
            if from_x is not None and from_x[1][0] == x and shown[x, y] is None:
                shown[x, y], from_x = from_x, None
            up[x, (y + 1) % self.rows], along[(x + 1) % self.columns, y] = from_y, from_x
        entered = {node: offers[node] is not None and up[node] is None for node in self.nodes}
        self.over_y = {node: offers[node] if entered[node] else up[node] for node in self.nodes}
        self.over_x, self.shown = along, shown
        return entered


def flat(network: DeflectionTorus) -> Fabric:
    """The network, with ports that an engine can set one by one."""
    ports: dict[str, In | Out] = {}
    for number in range(network.ports):
        ports |= {f"{name}_{number}": In(1) for name in ("offered", "taken")}
        ports[f"sent_{number}"] = In(network.packet)
    fabric = Fabric(ports)
    for number, (entry, exit_) in enumerate(zip(*network.place(fabric))):
        for name, pin, leaf in (
            ("offered", entry, "valid"),
            ("sent", entry, "payload"),
            ("taken", exit_, "ready"),
        ):
            fabric.link(Pin(None, (f"{name}_{number}",)), Pin(pin.cell, (*pin.path, leaf)))
    return fabric


def play(
    k: str,
    destination: Callable[[random.Random, Node], Node],
    *,
    cycles: int,
    load: float = 1.0,
    patience: float = 1.0,
) -> list[int]:
    """Run network and model side by side, then until both are empty.

    Terminals take what is offered with probability `patience`, until no more is sent. Returns the
    flights of all packets: cycles from that in which each enters to that in which it is taken.
    """
    print("seed", SEED)
    draw = random.Random(SEED)
    network = DeflectionTorus(k, payload=16)
    model = Model(*network.relation.sizes)
    nodes = model.nodes
    tags = network.tags
    exits = [f"router_{number}" for number in range(network.ports)]
    numbers, waiting = itertools.count(1), dict.fromkeys(nodes)
    begun: dict[int, int] = {}
    flights: list[int] = []
    with CompiledEngine(flat(network)) as engine:
        cycle = 0
        while cycle < cycles or len(flights) < len(begun) or any(waiting.values()):
            assert cycle < 8 * cycles, "packets never arrive"
            calm = cycle >= cycles
            for number, node in enumerate(nodes):
                if waiting[node] is None and not calm and draw.random() < load:
                    waiting[node] = (next(numbers), destination(draw, node))
                offer = waiting[node]
                engine.set(f"offered_{number}", offer is not None)
                if offer is not None:
                    tag = tags.tag(number, nodes.index(offer[1]))
                    word = network.packet.const({"tag": tag, "payload": offer[0]})
                    engine.set(f"sent_{number}", word.as_value().value)
            ready = {node: calm or draw.random() < patience for node in nodes}
            for number, node in enumerate(nodes):
                engine.set(f"taken_{number}", ready[node])
            for number, node in enumerate(nodes):
                packet = model.shown[node]
                assert engine.get(Pin(exits[number], ("o", "valid"))) == (packet is not None)
                if packet is not None:
                    bits = engine.get(Pin(exits[number], ("o", "payload")))
                    assert network.packet.from_bits(bits).payload == packet[0]
                    assert packet[1] == node
                    if ready[node]:
                        flights.append(cycle - begun[packet[0]])
            entered = model.step(waiting, ready)
            for number, node in enumerate(nodes):
                if waiting[node] is not None:
                    assert engine.get(Pin(exits[number], ("i", "ready"))) == entered[node]
                if entered[node]:
                    begun[waiting[node][0]] = cycle
                    waiting[node] = None
            engine.step(1)
            cycle += 1
    assert len(flights) == len(begun) == next(numbers) - 1
    return flights


def anywhere(k: str) -> Callable[[random.Random, Node], Node]:
    columns, rows = map(int, k.split("x"))
    return lambda draw, node: (draw.randrange(columns), draw.randrange(rows))


def longest(k: str) -> int:
    """From the definition: packets that are deflected in each node of the second ring."""
    columns, rows = map(int, k.split("x"))
    cycles = 1 + rows - 1  # into the router, and up to the row
    for _ in range(columns - 1):
        cycles += 1  # to the next node, where something turns;
        cycles += rows  # so once around, to turn there
    return cycles + 1  # into the register of the terminal


@pytest.mark.one_in(3)
@pytest.mark.parametrize("k", ["2x2", "3x4", "5x2"])
def test_moves_as_the_model(k: str) -> None:
    """Also while terminals refuse packets; all arrive when they no longer do."""
    flights = play(k, anywhere(k), cycles=250, load=0.5, patience=0.4)
    assert len(flights) > 100


@pytest.mark.one_in(4)
@pytest.mark.parametrize("k", ["2x2", "3x3", "4x2", "2x4"])
def test_no_flight_takes_longer_than_the_bound(k: str) -> None:
    """At full load; and in the smallest ones a flight takes as long."""
    flights = play(k, anywhere(k), cycles=300)
    assert max(flights) <= longest(k)
    if k == "2x2":
        assert max(flights) == longest(k)


@pytest.mark.long
@pytest.mark.parametrize("k", ["4x4", "3x5"])
def test_no_flight_takes_longer_if_all_send_to_one_column_or_terminal(k: str) -> None:
    columns, rows = map(int, k.split("x"))
    corner = play(k, lambda draw, node: (columns - 1, rows - 1), cycles=200)
    edge = play(k, lambda draw, node: (columns - 1, draw.randrange(rows)), cycles=200)
    assert max(corner + edge) <= longest(k)


@pytest.mark.parametrize("k", [4, "2x5"])
def test_a_packet_alone_takes_a_cycle_per_link_and_two(k: int | str) -> None:
    network = build("deflection", k=k)
    columns = network.relation.sizes[0]
    rows = network.ports // columns
    worst = 0
    for source, destination in itertools.product(range(network.ports), repeat=2):
        (x, y), (to_x, to_y) = (divmod(node, columns)[::-1] for node in (source, destination))
        links = (to_x - x) % columns + (to_y - y) % rows
        assert len(network.path(source, destination)) == links + 1
        worst = max(worst, links)
    assert (network.stages, network.zero_load_cycles) == (worst + 1, worst + 2)


def test_latency_at_hardly_any_load_is_that_of_single_packets() -> None:
    """Mean distance 1.5 + 1.5 links in 4 x 4, and two cycles."""
    result = simulate("deflection k=4", load=0.005, cycles=20_000, seed=SEED)
    assert result.latency.mean == pytest.approx(5, abs=0.3)
    assert result.statistics["deflections"] < result.injected / 10
    assert result.statistics["missed_exits"] == 0


test_refuses = refusals(
    call,
    (
        lambda: DeflectionRouter(Packet(3, 8), digit=2),
        "Tag of a packet must have 4 bits with digit=2, not 3",
    ),
    (
        lambda: DeflectionRouter(Packet(4, 8, flits=True), digit=2),
        "Packets of a deflection router must be single flits...",
    ),
    (lambda: DeflectionTorus("2x2x2"), "Radix k must be a number, or two ..., not '2x2x2'"),
)


def test_packets_that_have_left_change_nothing() -> None:
    """Their bits went around the second rings for ever: more of them per flit, the fewer came."""

    def changes(load: float) -> float:
        result = simulate(build("deflection k=4"), load=load, cycles=1500, activity=True)
        assert result.activity is not None
        router, _ = result.activity.types
        return router.payload / result.activity.flits

    assert changes(0.02) < 1.5 * changes(0.2)
