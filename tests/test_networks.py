# amaranth: UnusedElaboratable=no
"""Whole networks: every pair, every path, every connection of every box; and the catalogue."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from amaranth.hdl import Cat
from driving import transport
from long_runs import long
from multicube.hdl import FAMILIES, MultistageNetwork, PacketNetwork, build
from multicube.hdl.catalogue.catalogue import find
from multicube.hdl.graphs.plans.named_plans import PLANS
from multicube.hdl.networks.network_records import Window
from refusals import refusals

SWITCHES = ["output-queued", "input-queued"]
SIZES = [(2, 2), (4, 2), (8, 2), (4, 4), (8, 8), (27, 3), (64, 2), (64, 4), (64, 8)]
SLOW = [(8, 8, "output-queued"), (27, 3, "output-queued")]
RUNS = [
    (long if ports == 64 or (ports, radix, switch) in SLOW else pytest.param)(
        ports, radix, switch, id=f"{ports}-by-{radix}-{switch}"
    )
    for ports, radix in SIZES
    for switch in SWITCHES
]
LOADED = [
    (*network, *rest)
    for network in ((8, 2, "omega"), (9, 3, "butterfly"))
    for rest in itertools.product(SWITCHES, (1, 4), (0.1, 1.0))
]
QUICK_LOADED = [
    (8, 2, "omega", "output-queued", 1, 1.0),
    (8, 2, "omega", "input-queued", 4, 0.1),
    (9, 3, "butterfly", "output-queued", 4, 0.1),
    (9, 3, "butterfly", "input-queued", 1, 1.0),
]


def sum_of_digits(a: int, b: int, radix: int) -> int:
    """Digit by digit, without carry: for radix 2 the exclusive or."""
    total, weight = 0, 1
    while a or b:
        total += (a + b) % radix * weight
        a, b, weight = a // radix, b // radix, weight * radix
    return total


def packet(network: PacketNetwork, source: int, destination: int) -> int:
    """A packet that names its source and destination in its payload."""
    width = network.tags.code.width
    name = source * network.ports + destination
    return network.tags.tag(source, destination) | name << width


def name_of(network: PacketNetwork, word: int) -> tuple[int, int]:
    """Source and destination of a packet, wherever it is."""
    return divmod(word >> network.tags.code.width, network.ports)


def build_network(ports: int, radix: int, **parameters: Any) -> MultistageNetwork:
    payload = (ports * ports - 1).bit_length()
    return MultistageNetwork(ports, radix=radix, payload=payload, **parameters)


def outputs_of_boxes(network: PacketNetwork) -> Iterator[tuple[str, int]]:
    for cell in network.fabric.cells:
        for port in range(network.radix):
            yield cell, port


def fired(network: PacketNetwork, watched: int) -> dict[tuple[str, int], int]:
    """The packets that the boxes' outputs show in a cycle."""
    width = network.packet.size
    shown = {}
    for place in outputs_of_boxes(network):
        if watched & 1:
            shown[place] = watched >> 1 & (1 << width) - 1
        watched >>= width + 1
    assert watched == 0
    return shown


def watch_boxes(network: PacketNetwork) -> Callable[[], Cat]:
    return lambda: Cat(
        *(
            Cat(network.instances[cell].o[port].valid, network.instances[cell].o[port].payload)
            for cell, port in outputs_of_boxes(network)
        )
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("wiring", "switch", "routing"),
    [
        (wiring, *kind) if quick else long(wiring, *kind)
        for number, wiring in enumerate(PLANS)
        for kind, quick in (
            (("output-queued", "xor"), number % 4 == 0),
            (("input-queued", "destination"), number % 4 == 1),
        )
    ],
)
def test_each_pair_alone_takes_the_predicted_path(wiring: str, switch: str, routing: str) -> None:
    """8 ports: one packet at a time in the whole network; it is in one box output a cycle."""
    network = build_network(8, 2, wiring=wiring, switch=switch, routing=routing, depth=2)
    pairs = list(itertools.product(range(8), repeat=2))[::3]

    def offer(port: int, cycle: int) -> int | None:
        if cycle % 4 or pairs[cycle // 4][0] != port:
            return None
        return packet(network, *pairs[cycle // 4])

    trace = transport(network, cycles=4 * len(pairs), offer=offer, watch=watch_boxes(network))
    for number, cycle in enumerate(trace):
        source, destination = pairs[number // 4]
        seen = fired(network, cycle.watched)
        if number % 4 == 0:
            assert not seen
            continue
        pin = network.path(source, destination)[number % 4 - 1]
        assert [(cell, port) for cell, port in seen] == [(pin.cell, pin.path[1])]
        expected: list[int | None] = [None] * 8
        if number % 4 == 3:
            expected[destination] = packet(network, source, destination)
        assert cycle.shown == expected


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("ports", "radix", "switch"), RUNS)
def test_every_pair_takes_the_predicted_path(ports: int, radix: int, switch: str) -> None:
    """In cycle c every source S sends to S + c, digit by digit, which the cube passes unhindered.

    So every packet must show at the predicted box outputs, one a cycle, and leave at the right
    terminal after n cycles; and every box carries every input to every output.
    """
    # The slow runs take the two kinds of tags in turn.
    xor = radix != 3 and (switch == "input-queued") == (radix != 4)
    network = build_network(
        ports, radix, switch=switch, depth=2, routing="xor" if xor else "destination"
    )
    stages = network.stages
    trace = transport(
        network,
        cycles=ports + stages,
        offer=lambda port, cycle: (
            packet(network, port, sum_of_digits(port, cycle, radix)) if cycle < ports else None
        ),
        watch=watch_boxes(network),
    )
    expected: list[dict[tuple[str, int], tuple[int, int]]] = [{} for _ in trace]
    arrivals: list[list[int | None]] = [[None] * ports for _ in trace]
    connections = set()
    for sent, source in itertools.product(range(ports), repeat=2):
        destination = sum_of_digits(source, sent, radix)
        hops = network.plan.path(source, destination)
        for hop, pin in zip(hops, network.path(source, destination)):
            place = str(pin.cell), int(pin.path[1])
            expected[sent + hop.stage + 1][place] = source, destination
            connections.add((pin.cell, hop.input, hop.output))
        arrivals[sent + stages][destination] = packet(network, source, destination)
    for number, cycle in enumerate(trace):
        offered = [word is not None for word in cycle.offered]
        assert all(taken for taken, each in zip(cycle.accepted, offered) if each), number
        seen = {
            place: name_of(network, word) for place, word in fired(network, cycle.watched).items()
        }
        assert seen == expected[number], number
        assert cycle.shown == arrivals[number], number
    assert len(connections) == stages * ports // radix * radix**2


@pytest.mark.long
@pytest.mark.parametrize("ports", [8, long(16)])
@pytest.mark.parametrize("switch", SWITCHES)
def test_xor_and_destination_tags_deliver_alike(switch: str, ports: int) -> None:
    """The same traffic and waits give the same deliveries in the same cycles."""
    radix = {8: 2, 16: 4}[ports]
    runs = []
    for routing in ("destination", "xor"):
        network = build_network(ports, radix, switch=switch, depth=2, routing=routing)
        generator, waits = random.Random(7), random.Random(8)
        print("seeds 7, 8")
        trace = transport(
            network,
            cycles=120,
            offer=lambda port, cycle, network=network, generator=generator: (
                packet(network, port, generator.randrange(ports))
                if generator.random() < 0.5
                else None
            ),
            ready=lambda port, cycle, waits=waits: waits.random() < 0.8,
        )
        runs.append([[(j, name_of(network, word)) for j, word in cycle.moved()] for cycle in trace])
    assert runs[0] == runs[1]
    assert sum(map(len, runs[0])) > 25 * ports


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "wiring", "switch", "depth", "load"),
    [case if case in QUICK_LOADED else long(*case) for case in LOADED],
)
def test_network_loses_nothing(
    ports: int, radix: int, wiring: str, switch: str, depth: int, load: float
) -> None:
    """Random packets and waits, then a drain: all arrive once, in order, where they should."""
    network = MultistageNetwork(
        ports, radix=radix, wiring=wiring, switch=switch, depth=depth, payload=20
    )
    width = network.tags.code.width
    generator = random.Random(depth)
    print(f"seed {depth}")
    flows: Counter[tuple[int, int]] = Counter()

    def offer(port: int, cycle: int) -> int | None:
        if cycle >= 150 or generator.random() >= load:
            return None
        destination = generator.randrange(ports)
        flows[port, destination] += 1
        number = flows[port, destination]
        return network.tags.tag(port, destination) | (number << 4 | port) << width

    trace = transport(
        network,
        cycles=150 + 30 * depth,
        offer=offer,
        ready=lambda port, cycle: cycle >= 150 or generator.random() < 0.8,
    )
    arrived: dict[tuple[int, int], list[int]] = defaultdict(list)
    for cycle in trace:
        for j, word in cycle.moved():
            arrived[word >> width & 15, j].append(word >> width + 4)
    assert arrived == {flow: list(range(1, count + 1)) for flow, count in flows.items()}


def test_network_keeps_its_parameters() -> None:
    network = MultistageNetwork(16, radix=4, wiring="omega", switch="input-queued", depth=3)
    assert network.parameters == {
        "ports": 16,
        "radix": 4,
        "wiring": "omega",
        "switch": "input-queued",
        "depth": 3,
        "payload": 16,
        "routing": "destination",
        "length": 1,
        "policy": "hold",
        "hold_limit": 16,
        "dilation": 1,
        "replication": 1,
        "resubmit": 0,
        "broadcast": 0,
        "refill": "auto",
        "queues": "input",
        "memories": "auto",
        "pipeline": 0,
        "channels": 1,
        "latency": 1,
        "decision": 1,
        "arbiter": "round-robin",
        "classes": 1,
        "weights": "",
        "extra_stage": 0,
        "parity": "none",
        "faults": "",
    }
    assert (network.ports, network.radix, network.stages, network.ordered) == (16, 4, 2, True)
    other = network.altered(depth=5)
    assert other.parameters == network.parameters | {"depth": 5}
    assert other.packet == network.packet


def test_large_network_has_one_type_of_box() -> None:
    network = MultistageNetwork(1024)
    assert len(network.fabric.cells) == 5120
    assert len(network.fabric.types()) == 1


@pytest.mark.parametrize("name", PLANS)
def test_catalogue_builds_each_family(name: str) -> None:
    network = build(name, ports="16", radix="4", switch="input-queued", depth=2, payload="3")
    assert network.family == name
    assert network.parameters["wiring"] == name
    assert [network.parameters[word] for word in ("ports", "radix", "depth", "payload")] == [
        16,
        4,
        2,
        3,
    ]
    assert all(find(alias).name == name for alias in FAMILIES[name].aliases)


test_build_rejects = refusals(
    lambda name, parameters: build(name, **parameters),
    ("tours", {}, "Network must be one of cube, omega, baseline, indirect-cube, butterfly, ..."),
    ("cube", {"port": 8}, "Parameter of cube must be one of ports, radix, routing, policy, ..."),
    ("cube", {"ports": "many"}, "Parameter ports must be an integer or auto, not 'many'"),
    ("cube", {"ports": "0"}, "Ports must be from 2 to 65536, not 0"),
    ("cube", {"ports": 12}, "Ports must be a power of the radix 2, not 12"),
    ("cube", {"radix": 1}, "Radix must be from 2 to 64, not 1"),
    ("cube", {"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ("cube", {"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    (
        "cube",
        {"switch": "optical"},
        "Parameter switch must be one of unbuffered, single-buffered, input-queued, "
        "output-queued, wormhole, cut-through, store-and-forward, circuit, not 'optical'",
    ),
    (
        "fly",
        {"routing": "random"},
        "Parameter routing must be one of destination, xor, difference, not 'random'",
    ),
    (
        "cube",
        {"ports": 9, "radix": 3, "routing": "xor"},
        "XOR tags need a radix that is a power of two, not 3",
    ),
)


test_multistage_network_rejects = refusals(
    lambda parameters: MultistageNetwork(8, **parameters),
    (
        {"switch": "optical"},
        "Switch must be one of unbuffered, single-buffered, input-queued, output-queued, "
        "wormhole, cut-through, store-and-forward, circuit, not 'optical'",
    ),
    ({"wiring": "mesh"}, "Wiring must be one of cube, ..."),
    ({"routing": "random"}, "Routing must be one of destination, xor, difference, not 'random'"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
)


def test_what_meters_count_is_statistics() -> None:
    """Of a network that says nothing else; the accounting has its own."""
    counts = {"one": {"measured": 2, "total": 9}, "two": {"measured": 1, "total": 9}}
    readings = {"passed": counts, "dropped": counts, "stored": {"one": {"sum": 5, "max": 3}}}
    for network in (build("cube", ports=2), build("torus", k=2, n=1)):
        levels = {"mean": 0.5, "max": 3}
        found = network.statistics(readings, Window(10, 3, None))
        assert found == {"passed": 3, "stored": levels}
