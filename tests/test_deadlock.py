# amaranth: UnusedElaboratable=no
"""Deadlock: cycles of channels are found where there are some, in every wormhole network."""

import itertools
import json
from operator import call
from typing import Any

import pytest
from click.testing import CliRunner
from multicube.hdl import HypercubeNetwork, PacketNetwork, TorusNetwork, build
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.families.hypercube.hypercube_routing import HYPERCUBE_ROUTINGS
from multicube.hdl.graphs.plans.named_plans import PLANS
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle, dependencies, dependency_cycle
from multicube.sim.command.deadlock_command import deadlock as command
from refusals import refusals


def test_dependencies_of_fixed_paths() -> None:
    """Channels wait for what follows them on the way to any destination."""
    moves = [{"a": ["b"], "b": []}, {"a": ["c"], "c": ["b"], "b": []}]
    waits = dependencies(moves)
    assert waits == {"a": {"b", "c"}, "b": set(), "c": {"b"}}
    assert dependency_cycle(waits) is None
    cycle = dependency_cycle(dependencies([*moves, {"b": ["a"], "a": []}]))
    assert cycle is not None
    assert cycle[0] == cycle[-1]


def test_dependencies_of_escape_channels() -> None:
    """By way of any number of others; cycles of others don't matter, nor hang the search."""
    moves = {"E": ["x", "F"], "x": ["y", "F"], "y": ["x", "G"], "F": [], "G": []}
    assert dependencies([moves], str.isupper) == {"E": {"F", "G"}, "F": set(), "G": set()}
    back = {"G": ["x", "F"], "x": ["E"], "E": [], "F": []}
    assert dependency_cycle(dependencies([moves, back], str.isupper)) is not None


def wormhole_networks() -> list[tuple[str, dict[str, Any]]]:
    """Every kind of wormhole network that the library has."""
    worms = {"switch": "wormhole", "length": 4}
    cases: list[tuple[str, dict[str, Any]]] = [
        *((plan, {"ports": 16, **worms}) for plan in PLANS),
        ("cube", {"ports": 27, "radix": 3, **worms}),
        ("omega", {"ports": 16, **worms, "replication": 2}),
        *(("hypercube", {"n": 4, "routing": routing}) for routing in HYPERCUBE_ROUTINGS),
    ]
    sizes = ((2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (5, 2), (8, 1), (3, 3))
    for family, (k, n) in itertools.product(("torus", "mesh", "ring", "dcsh"), sizes):
        cases.append((family, {"k": k, "n": n}))
    return cases


@pytest.mark.parametrize(("family", "parameters"), wormhole_networks())
def test_wormhole_networks_are_free_of_deadlock(family: str, parameters: dict[str, Any]) -> None:
    network = build(family, **parameters)
    assert isinstance(network, PacketNetwork)
    assert deadlock_cycle(network) is None


def test_channels_of_a_torus_are_those_of_its_paths() -> None:
    """What the network works out faster is what all its paths say."""
    for family in ("torus", "mesh", "ring"):
        network = build(family, k=4, n=2)
        assert isinstance(network, PacketNetwork)
        for destination in range(network.ports):
            found = {pin: set(after) for pin, after in network.moves(destination).items()}
            assert found == PacketNetwork.moves(network, destination)


def test_channels_of_a_hypercube_lie_on_its_paths() -> None:
    network = HypercubeNetwork(3)
    for source, destination in itertools.product(range(8), repeat=2):
        *channels, _ = network.path(source, destination)
        moves = network.moves(destination)
        assert all(after in moves[before] for before, after in itertools.pairwise(channels))


@pytest.mark.long
def test_a_torus_of_1024_nodes_is_free_of_deadlock() -> None:
    assert deadlock_cycle(TorusNetwork(32, 2)) is None
    assert deadlock_cycle(TorusNetwork(32, 2, channels=1, allow_deadlock=1)) is not None


@pytest.mark.parametrize(
    ("k", "n", "directions", "free"),
    [
        (5, 1, 2, False),
        (6, 1, 2, False),
        (8, 2, 2, False),
        (3, 1, 1, False),
        (4, 2, 1, False),
        # No path leads over two links of a ring, or no two such paths share a link: no cycle.
        (2, 2, 2, True),
        (3, 2, 2, True),
        (4, 2, 2, True),
    ],
)
def test_torus_with_one_channel(k: int, n: int, directions: int, free: bool) -> None:
    """Circles are rings: all channels of one dimension and way, each waiting for the next."""
    if not free:
        with pytest.raises(ValueError, match=rf"^Routing can deadlock: worms on {k} channels may "):
            TorusNetwork(k, n, directions=directions, channels=1)
    network = TorusNetwork(k, n, directions=directions, channels=1, allow_deadlock=int(not free))
    cycle = deadlock_cycle(network)
    assert (cycle is None) == free
    if cycle is not None:
        assert len(cycle) == k + 1
        assert cycle[0] == cycle[-1]
        assert all(isinstance(pin, Pin) for pin in cycle)
        assert len({pin.path for pin in cycle}) == 1
        waits = dependencies(map(network.moves, range(network.ports)))
        assert all(before in waits[after] for before, after in itertools.pairwise(cycle))


@pytest.mark.parametrize(
    ("words", "cycle"),
    [
        ("torus k=5 n=1 channels=1 allow_deadlock=1", ["0", "1", "2", "3", "4"]),
        ("mesh k=3 n=2", None),
        ("dcsh k=3 n=2 broadcast=1", None),
        ("omega ports=8 switch=wormhole length=4", None),
    ],
)
def test_command(words: str, cycle: list[str] | None) -> None:
    """The command says how many channels there are, and which of them form a cycle, if any."""
    family, *parameters = words.split()
    network = build(family, **dict(word.split("=") for word in parameters))
    assert isinstance(network, PacketNetwork)
    waits = dependencies(map(network.moves, range(network.ports)), network.is_escape)
    said = CliRunner().invoke(command, [*words.split(), "--json"], catch_exceptions=False)
    record = json.loads(said.output)
    assert record["channels"] == len(waits)
    assert record["dependencies"] == sum(map(len, waits.values()))
    assert record["free"] == (None if network.broadcasts else cycle is None)
    assert said.exit_code == (cycle is not None)
    assert build(record["network"], **record["parameters"]).parameters == network.parameters
    text = CliRunner().invoke(command, words.split(), catch_exceptions=False).output
    if cycle is None:
        assert record["cycle"] is None
        # The graph has no worms with several branches, so nothing is said about them.
        free = "packets to one terminal are free" if network.broadcasts else "free"
        assert f"no cycle of channels: {free} of deadlock" in text
        assert ("not examined: packets with a broadcast mask" in text) == network.broadcasts
        assert (record["not_examined"] is not None) == network.broadcasts
    else:
        names = [name.split("_")[1].split(".")[0] for name in record["cycle"]]
        assert names[0] == names[-1]
        assert sorted(names[1:]) == cycle
        assert "it can deadlock" in text
        assert all(f"  {name}\n" in text for name in record["cycle"])


test_refuses = refusals(
    call,
    (
        lambda: dependencies([{"x": ["y"], "y": ["E"], "E": []}], str.isupper),
        "Channel x leads to no escape channel",
    ),
    (
        lambda: deadlock_cycle(ConnectionMachine(2)),
        "A network that deflects messages has no channels that...",
    ),
    (
        lambda: CliRunner().invoke(command, ["combining"], catch_exceptions=False),
        "Deadlock can be checked for packet networks only, not...",
    ),
)
