"""The use of links by wire: names that people can read, and counts that paths explain."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import GraphNetwork, PacketNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.sim import Run, Trace, TracePacket, simulate
from multicube.sim.workload.traffic import pattern

Uses = Iterator[tuple[str, int | None]]
"""The links that a packet crosses: the name, and the number of the channel if there are several."""


def along_ring(here: int, there: int, k: int, form: str) -> Iterator[tuple[int, str, bool]]:
    """The steps from one position of a ring of odd k to another: the next position, the direction,
    and whether the rest of the way, with this step, leads around the end."""
    up, down = (there - here) % k, (here - there) % k
    if form == "mesh":
        up, down = (up, k) if there > here else (k, down)
    sign = 1 if form == "ring" or up < down else -1
    while here != there:
        around = here > there if sign > 0 else here < there
        here = (here + sign) % k
        yield here, "+" if sign > 0 else "-", around


def grid(form: str, k: int, n: int) -> Callable[[int, int], Uses]:
    def path(source: int, destination: int) -> Uses:
        node = source
        for dimension in reversed(range(n)):
            step = k**dimension
            here, there = node // step % k, destination // step % k
            for place, sign, around in along_ring(here, there, k, form):
                before, node = node, node + (place - node // step % k) * step
                channel = None if form == "mesh" else int(around)
                yield f"node {before} -> node {node}, {sign}{'xyz'[dimension]}", channel
        yield f"node {node} -> terminal {destination}", None

    return path


def cube(source: int, destination: int, ports: int = 8) -> Uses:
    """The path through a Generalized Cube: the line takes one bit of the destination per stage."""
    line, bits = source, ports.bit_length() - 1
    boxes = []
    for bit in reversed(range(bits)):
        line = line & ~(1 << bit) | destination & 1 << bit
        boxes.append(line >> bit + 1 << bit | line & (1 << bit) - 1)
    for stage, (box, after) in enumerate(itertools.pairwise(boxes)):
        yield f"stage {stage}, box {box} -> stage {stage + 1}, box {after}", None
    yield f"stage {bits - 1}, box {boxes[-1]} -> terminal {destination}", None


def cube_of_channels(source: int, destination: int) -> Uses:
    """The same path; a packet that is alone takes the first channel of the links of a stage."""
    for link, _ in cube(source, destination):
        yield link, None if "terminal" in link else 0


def hypercube(channel: int | None) -> Callable[[int, int], Uses]:
    def path(source: int, destination: int) -> Uses:
        node = source
        for bit in range((source ^ destination).bit_length()):
            if (source ^ destination) >> bit & 1:
                yield f"node {node} -> node {node ^ 1 << bit}, dimension {bit}", channel
                node ^= 1 << bit
        yield f"node {node} -> terminal {destination}", None

    return path


def dcsh(k: int, n: int) -> Callable[[int, int], Uses]:
    def path(source: int, destination: int) -> Uses:
        node = source
        for dimension in reversed(range(n)):
            step = k**dimension
            move = destination // step % k - node // step % k
            if move:
                yield f"node {node} -> channel of dimension {dimension}", None
                node += move * step
                yield f"multiplexer of dimension {dimension} -> node {node}", None
        yield f"node {node} -> terminal {destination}", None

    return path


CASES: list[Any] = [
    long("torus k=5 n=1 length=3", grid("torus", 5, 1)),
    ("torus k=3 n=2", grid("torus", 3, 2)),
    long("mesh k=3 n=2 length=2", grid("mesh", 3, 2)),
    long("ring k=3 n=2", grid("ring", 3, 2)),
    long("hypercube n=3 length=2", hypercube(None)),
    long("hypercube n=3 routing=adaptive", hypercube(1)),
    ("connection-machine n=3 schedule=parallel", hypercube(None)),
    ("dcsh k=3 n=2 length=4", dcsh(3, 2)),
    ("cube ports=8", cube),
    long("cube ports=8 switch=wormhole length=3", cube),
    ("cube ports=8 switch=wormhole channels=2", cube_of_channels),
]


def network_of(words: str) -> PacketNetwork:
    name, *pairs = words.split()
    network = build(name, **dict(pair.split("=") for pair in pairs))
    assert isinstance(network, PacketNetwork)
    return network


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("words", "path"), CASES)
def test_use_of_links_is_that_of_the_paths(words: str, path: Callable[[int, int], Uses]) -> None:
    """A packet for each pair of terminals, each alone; paths are worked out here by addresses."""
    network = network_of(words)
    pairs = list(itertools.product(range(network.ports), repeat=2))
    length, apart = network.lengths[0], 40
    packets = [TracePacket(apart * turn, *pair, length) for turn, pair in enumerate(pairs)]
    result = simulate(network, traffic=Trace("pairs", tuple(packets)), bins=2, engine="compiled")
    links: Counter[str] = Counter()
    channels: Counter[tuple[str, int | None]] = Counter()
    for pair in pairs:
        for link, channel in path(*pair):
            links[link] += length
            channels[link, channel] += length
    measured = {link: round(use * result.cycles) for link, use in result.links.items()}
    assert {link: flits for link, flits in measured.items() if flits} == dict(links)
    for link, uses in result.channels.items():
        for number, use in enumerate(uses):
            assert round(use * result.cycles) == channels[link, number], (link, number)
    assert {link for link, channel in channels if channel is not None} <= result.channels.keys()


@pytest.mark.parametrize(
    ("words", "count", "some"),
    [
        # A link in each direction, and one to each terminal.
        ("torus k=4 n=2", 64 + 16, {"node 3 -> node 0, +x", "node 0 -> node 12, -y"}),
        ("torus k=2 n=4", 64 + 16, {"node 0 -> node 8, +dimension 3"}),
        # Nothing leaves the edge.
        ("mesh k=3 n=1", 4 + 3, {"node 1 -> node 2, +x", "node 1 -> node 0, -x"}),
        ("hypercube n=2 routing=adaptive", 8 + 4, {"node 3 -> node 1, dimension 1"}),
        ("dcsh k=3 n=1", 9, {"node 2 -> channel of dimension 0"}),
        (
            "cube ports=4 dilation=2 switch=unbuffered",
            8 + 4,
            {"stage 0, box 1 -> stage 1, box 0, link 1", "stage 1, box 0 -> terminal 1"},
        ),
        (
            "cube ports=4 channels=3 switch=wormhole",
            4 + 4,
            {"stage 0, box 1 -> stage 1, box 0", "stage 1, box 0 -> terminal 1"},
        ),
        ("cube ports=4 channels=2 switch=wormhole latency=2", 2 * 4 + 4, set()),
        ("cube ports=4 replication=2", 28, {"copy 1, stage 0, box 1 -> copy 1, stage 1, box 0"}),
        ("cube ports=4 extra_stage=1", 36, {"stage 2, box 1 -> stage 2, bypass 3"}),
        (
            "combining ports=4",
            20,
            {
                "stage 0, box 1 -> stage 1, box 0",
                "stage 1, box 0 -> stage 0, box 1",
                "stage 1, box 1 -> memory 3",
                "memory 3 -> stage 1, box 1",
                "stage 0, box 1 -> processor 3",
            },
        ),
    ],
)
def test_names(words: str, count: int, some: set[str]) -> None:
    name, *pairs = words.split()
    network = build(name, **dict(pair.split("=") for pair in pairs))
    bench = bench_for(network, Run(pattern("uniform", network.ports)).sources(network), bins=2)
    links = {wire.link for wire in bench.wires.values()}
    assert len(links) == count
    assert some <= links
    assert len(set(bench.wires.values())) == len(bench.wires), "each channel has one output"


def test_channels_of_all_classes_share_the_link_of_two_stages() -> None:
    network = build("cube", ports=4, classes=2, channels=2, switch="wormhole")
    channels: dict[str, set[int]] = {}
    for wire in network.wires.values():
        channels.setdefault(wire.link, set()).add(wire.channel)
    between = {link: found for link, found in channels.items() if "terminal" not in link}
    assert len(between) == network.link_counts.total == 4
    assert all(found == {0, 1, 2, 3} for found in between.values())
    assert all(channels[link] == {0} for link in channels.keys() - between.keys())
    assert len(channels) == 4 + 8


def test_parallel_links_with_unequal_channels() -> None:
    """Channels of one link have one name, however many the links beside it have."""
    counts = (2, 1, 3)
    links = [Link(0, port, 1, port, channels=count) for port, count in enumerate(counts)]
    network = GraphNetwork(ListedGraph(2, [*links, Link(1, 0, 0, 0)]), allow_deadlock=1)
    channels: dict[str, list[int]] = {}
    for wire in network.wires.values():
        if "terminal" not in wire.link:
            channels.setdefault(wire.link, []).append(wire.channel)
    assert channels == {
        **{f"node 0 -> node 1, link {n}": [*range(count)] for n, count in enumerate(counts)},
        "node 1 -> node 0": [0],
    }


@pytest.mark.parametrize("words", ["torus k=3 n=2", "cube ports=4 parity=byte", "dcsh k=3 n=1"])
def test_network_names_links_as_its_bench_does(words: str) -> None:
    network = network_of(words)
    bench = bench_for(network, Run(pattern("uniform", network.ports)).sources(network), bins=2)
    assert network.wires == bench.wires


@pytest.mark.long
def test_use_is_at_most_one() -> None:
    """Both channels of a link share its wires."""
    network = build("torus", k=4, n=1, length=4)
    result = simulate(network, load=0.25, cycles=1000, warmup=200)
    for link, uses in result.channels.items():
        assert result.links[link] == pytest.approx(sum(uses))
    assert 0.5 < max(result.links.values()) <= 1
