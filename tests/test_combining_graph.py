# amaranth: UnusedElaboratable=no
"""Requests that combine in routers of any graph, and replies that retrace their way."""

import json
import pickle
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import FAMILIES, CombiningGraphNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.boxes.combining import CombiningRouter
from multicube.hdl.fabric.cell import Cell
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.hdl.operations.memory import find_operation
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from multicube.sim import (
    Pause,
    ProgramsStuck,
    Request,
    Result,
    Run,
    pattern,
    run_programs,
    simulate,
)
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.measure.access_history import is_serializable
from refusals import refusals, refused

FEW = tuple(map(find_operation, ("load", "store", "fetch-and-add")))
SMALL: dict[str, Any] = {"width": 8, "rows": 2, "depth": 2, "wait": 1, "outstanding": 4}
EVERY = {
    "ring": "torus:k=5,n=1",
    "torus": "torus:k=4,n=2",
    "mesh": "mesh:k=3",
    "one-way ring": "ring:k=5,n=1",
    "hypercube": "hypercube:n=3",
    "fat tree": "fat-tree:k=2,n=3,ascent=fixed",
    "dragonfly": "dragonfly:h=1",
    "hierarchy": "hierarchical:level1=[hypercube:n=2],level2=[torus:k=3,n=1]",
    "clusters": "bh-bh:dimension=4,cluster=2",
    "tree": "tree:nodes=7",
    "multistage": "leiserson-fat-tree:levels=3",
    "shuffle": "de-bruijn",
    "boxes": "omega:ports=4",
    "spare rows": "dynamic-redundancy:ports=4",
}

SHORT = ("ring", "spare rows")  # the latter has routers to which nothing leads


ONE_WAY = (
    "Network must have a routing that leads all packets of a source and a destination one way, so "
    "that requests meet (routing=up-down does; in a fat tree ascent=fixed)"
)


def network_of(words: str, **changes: Any) -> CombiningGraphNetwork:
    return CombiningGraphNetwork(words, **{**SMALL, "operations": FEW, **changes})


@pytest.fixture(name="petersen")
def _petersen(tmp_path: Path) -> str:
    """A user's own graph, in a file."""
    file = tmp_path / "petersen.json"
    file.write_text(json.dumps(nx.node_link_data(nx.petersen_graph(), edges="links")))
    return f"graph:file={file}"


# Times


@pytest.mark.parametrize("words", ["torus:k=5,n=1", long("mesh:k=3"), long("graph"), long("bus")])
def test_round_trip_is_twice_the_routers_and_the_memory(words: str) -> None:
    """One request at a time, from each processor to each module."""
    network = network_of(words)

    def program(source: int) -> Iterator[Any]:
        yield Pause(source * 60 * network.ports)
        for word in range(network.ports):
            begin = yield Pause(0)
            yield Request("fetch-and-add", word, 1)
            yield Pause(60 - ((yield Pause(0)) - begin))

    run = run_programs(network, [program(source) for source in range(network.ports)], limit=9999)
    graph = network.relation.graph
    for word, history in run.history.items():
        for access in history:
            links = graph.distances[graph.exit_homes[word]][graph.homes[access.processor]]
            assert access.answered - access.sent == 2 * (links + 1) + 1


@pytest.mark.parametrize(
    ("words", "ports"), [("torus:k=5,n=1", 5), long("star:nodes=6", 6), long("tree", 15)]
)
def test_all_add_to_one_word_at_once(words: str, ports: int) -> None:
    """Each gets another number, whichever of them combine."""
    network = network_of(words)

    def program() -> Iterator[Any]:
        return (yield [Request("fetch-and-add", 1, 1)] * 4)

    run = run_programs(network, [program() for _ in range(ports)])
    assert sorted(chain(*run.results)) == list(range(4 * ports))
    assert all(result == sorted(result) for result in run.results)
    assert run.memory[1] == 4 * ports
    assert run.serializable
    assert run.memory_requests + sum(run.combined) == run.requests == 4 * ports
    assert run.combined[0] > 0


# Serial orders


def check(network: CombiningGraphNetwork, **changes: Any) -> Result:
    """Run more requests than the network takes, many of them for one word, and check what must
    hold whatever it does."""
    options = {"load": 0.9, "cycles": 250, "warmup": 0, "source_depth": 8, "bins": 64, "seed": 5}
    result = simulate(
        network, traffic="hotspot:0.5:1", operations=("all",), history=2048, **options, **changes
    )
    assert result.violations(ordered=True, finite=False) == ""
    assert result.serializable is True
    assert result.delivered == result.injected > 100
    combines = network.parameters["combine"] != "none"
    assert (sum(result.statistics["combined"]) > 0.05) == combines
    assert ("waiting" in result.statistics) == combines
    if combines:
        pairs = [cell.type.build().pairs for cell in network.fabric.cells.values() if _routes(cell)]
        waiting, most = result.statistics["waiting"], max(pairs) * network.parameters["wait"]
        assert 0 < waiting["mean"] <= waiting["max"] <= most
        # Little's law: what waits has been combined, and waits no longer than requests take.
        combined = sum(result.statistics["combined"]) * result.delivered
        assert result.network_latency.max is not None
        waited = waiting["mean"] * len(pairs) * result.cycles
        assert waited <= combined * result.network_latency.max
    return result


def _routes(cell: Cell) -> bool:
    return cell.type.component is CombiningRouter


@pytest.mark.parametrize("merge", ["pairwise", long("unlimited")])
@pytest.mark.parametrize("name", [name if name in SHORT else long(name) for name in EVERY])
def test_serial_order_in_every_family(name: str, merge: str) -> None:
    """Random operations, small queues, and memories that take a request every third cycle."""
    more = {"operations": "all", "memory_latency": 5, "memory_interval": 3}
    check(network_of(EVERY[name], merge=merge, **({} if name in SHORT else more)))


@pytest.mark.long
def test_serial_order_in_every_network_of_routers() -> None:
    """All that the catalogue has of nodes and links, if packets have one way."""
    for name, family in FAMILIES.items():
        if not issubclass(family.component, RoutedNetwork) or family.preset is not None:
            continue
        given = ",".join(
            f"{key}=[{value}]" if "," in str(value) else f"{key}={value}"
            for key, value in family.example.items()
        )
        words = f"{name}:{given}" if given else name
        if family.build(**family.example).relation.choice:
            with refused(ONE_WAY):
                network_of(words)
        elif (network := network_of(words)).ports <= 16:
            check(network)


@pytest.mark.parametrize("combine", [long("none"), long("rp3"), long("ultracomputer")])
def test_graph_of_a_user(petersen: str, combine: str) -> None:
    network = network_of(petersen, combine=combine)
    assert network.ports == 10
    check(network)


@pytest.mark.long
def test_orders_of_sized_operations() -> None:
    check(network_of("mesh:k=2", rows=4, operations="ultracomputer-sizes"))


def test_programs_find_what_they_stored() -> None:
    """Barriers by fetch-and-add, and words of one's own between them: what each reads is known."""
    network = network_of("torus:k=5,n=1")

    def program(own: int) -> Iterator[Any]:
        seen = []
        for turn in range(1, 4):
            yield Request("store", 2 + own, 10 * turn + own)
            yield Request("fetch-and-add", 0, 1)
            while (yield Request("load", 0)) < 5 * turn:
                pass
            seen.append((yield [Request("load", 2 + other) for other in range(5)]))
            yield Request("fetch-and-add", 1, 1)
            while (yield Request("load", 1)) < 5 * turn:
                pass
        return seen

    run = run_programs(network, [program(own) for own in range(5)])
    assert run.results == [[[10 * turn + own for own in range(5)] for turn in (1, 2, 3)]] * 5
    assert run.memory == [15, 15, *range(30, 35), 0, 0, 0]
    assert run.serializable
    assert sum(run.combined) > 0


@pytest.mark.long
@pytest.mark.parametrize("words", ["linear-array:nodes=2", long("mesh:k=2"), long("dragonfly:h=1")])
def test_engines_agree(words: str) -> None:
    """All ports of all cells, while requests come and when all are answered."""
    network = network_of(words)
    run = Run(
        pattern("hotspot:0.6:0", network.ports),
        load=0.8,
        seed=17,
        source_depth=4,
        operations=("all",),
        history=256,
    )
    bench = bench_for(network, run.sources(network), bins=32)
    with AmaranthEngine(bench) as reference, CompiledEngine(bench) as engine:
        for send, cycles in ((1, 70), (0, 80)):
            for each in (reference, engine):
                each.set("send", send)
                each.set("measure", 1)
                each.step(cycles)
            for cell in bench.cells.values():
                for path in cell.type.leaves:
                    pin = Pin(cell.name, path)
                    assert engine.get(pin) == reference.get(pin), pin
        assert sum(engine.read(bench.sources, "delivered")) > 50
        assert is_serializable(engine, bench)
        assert is_serializable(reference, bench)


# Deadlock


def flood(words: str, **options: Any) -> Any:
    """All send what goes two links around a ring, as fast as they can."""
    network = network_of(words, combine="none", outstanding=16, **options)

    def program(own: int) -> Iterator[Any]:
        ahead = (own + 2) % network.ports
        yield [Request("fetch-and-add", ahead, 1) for _ in range(24)]

    return run_programs(network, [program(own) for own in range(network.ports)], limit=200)


@pytest.mark.long
def test_requests_lock_up_in_a_ring_of_one_channel_and_not_of_two() -> None:
    network = network_of("torus:k=5,n=1,channels=1", allow_deadlock=1)
    cycle = deadlock_cycle(network)
    assert cycle is not None
    assert {pin.path[-1] for pin in cycle} in ({"request"}, {"reply"})
    with pytest.raises(ProgramsStuck):
        flood("torus:k=5,n=1,channels=1", allow_deadlock=1)
    assert flood("torus:k=5,n=1").memory == [24] * 5 + [0] * 5


@pytest.mark.parametrize("words", EVERY.values(), ids=list(EVERY))
def test_channels_of_requests_and_replies_have_no_cycle(words: str) -> None:
    """Both together, with what memory modules make wait for each other."""
    network = network_of(words)
    assert deadlock_cycle(network) is None
    found = {pin.path[-1] for to in range(network.ports) for pin in network.moves(to)}
    assert found == {"request", "reply"}
    # A memory module waits until replies can leave its router, by each way that requests come.
    exit_ = network.path(0, 1)[-1]
    sources = range(network.ports)
    last = {network.channels(source, 1)[-1] for source in sources}
    assert last <= set(network.moves(1)[exit_])
    assert {pin.path[-1] for pin in network.moves(1)[exit_]} == {"reply"}


def test_replies_wait_in_the_reverse_order_of_requests() -> None:
    network = network_of("mesh:k=3")
    for source in range(network.ports):
        both = network.channels(source, 5)
        links = len(both) // 2
        moves = network.moves(5)
        requests, replies = both[:links], both[links:]
        for one, after in zip([*requests, *replies[::-1]], [*requests[1:], *replies[::-1]]):
            assert after in moves[one]
        assert moves[replies[0]] == []


# What is refused, and what a network is


test_network_rejects = refusals(
    CombiningGraphNetwork,
    ("fat-tree", ONE_WAY),
    ("torus:k=4,channels=4", ONE_WAY),
    ("graph:routing=valiant", ONE_WAY),
    ("dragonfly:h=1,latency=3", "Latency of links must be 1 in a combining network, not 3"),
    ("bh-bh:interval=2", "Network ...: Interval must be 1 unless switch is packet, not 2 with ..."),
    ("combining:ports=8", "Network ...: Network must be described as nodes and links, ..."),
    ("torus:depth=3", "Network 'torus:depth=3': Parameter depth must be that of the whole network"),
    ("torus:k=4,,n=2", "Network ...: Parameters must be parted by commas, not 'k=4,,n=2'"),
    ("mesh:k=1", "Network 'mesh:k=1': Radix k must be at least 2, not 1"),
    ("torus:k=5,n=1,channels=1", "Network ...: Routing can deadlock: ..."),
    (
        "graph:file=nothing.json",
        "Network 'graph:file=nothing.json': File nothing.json can't be read: No such file...",
    ),
    (3, TypeError, "Network must be text, not 3"),
)


SHAPE = RouterShape(
    (InputChannel((0, 0)), InputChannel((-1, 0)), InputChannel((-2, 0))),
    (OutputChannel((0, 0), (1, 2)), OutputChannel((-1, 0), (0, 1, 2))),
)

test_router_rejects = refusals(
    lambda tag, module: CombiningRouter(
        MemoryLink(tag=tag, identity=1, address=1, width=2, operations=FEW), SHAPE, module=module
    ),
    (4, 3, "Tag of a link must have at least 5 bits for the module and an input, not 4"),
    (4, 0, "Module must be at least 1, not 0"),
)


def test_file_that_changes_does_not_change_the_network(petersen: str) -> None:
    network = network_of(petersen, operations="rp3")
    file = Path(petersen.partition("file=")[2])
    again = build("combining-graph", **network.chosen)
    assert again.digest == network.digest
    file.write_text(json.dumps(nx.node_link_data(nx.cycle_graph(4), edges="links")))
    copy = pickle.loads(pickle.dumps(network))
    assert (copy.ports, copy.digest) == (10, network.digest)
    assert network.altered(depth=3).ports == 10
    other = network_of(petersen, operations="rp3")
    assert other.ports == 4
    assert other.digest != network.digest
