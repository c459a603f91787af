"""New tables lead around dead links, in a network that is running."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import GraphNetwork, build
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.layered import Layered
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.graphs.routing.rewritable import Rewritable, graph_without
from multicube.hdl.graphs.routing.shortest import Shortest
from multicube.hdl.graphs.routing.up_down import UpDown
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.sim import Result, SimulationError, rerun, simulate
from multicube.sim.command import main
from multicube.sim.workload.random_faults import network_links

END = tuple[int, int]


def network_of(algorithm: Callable[..., Relation] = UpDown, length: int = 1) -> RoutedNetwork:
    return GraphNetwork(graph=Rewritable(algorithm, Torus(3, 2)), length=length)


def walked(network: RoutedNetwork, tables: Mapping, source: int, destination: int) -> list[END]:
    """The links that a packet takes through tables, as the routers read them."""
    graph, taken = network.relation.graph, []
    node = graph.homes[source]
    entry = next(i for i, one in enumerate(network.shapes[node].inputs) if one.is_terminal)
    while True:
        exits = tables[f"table_{node}"][f"rows_{entry}"][destination]
        output = network.shapes[node].outputs[exits.bit_length() - 1]
        assert exits.bit_count() == 1
        if output.is_terminal:
            assert node == graph.exit_homes[destination]
            return taken
        link = graph.by_output[node, output.end[0]]
        taken.append((node, output.end[0]))
        node = link.peer
        entry = network.shapes[node].input((link.peer_port, output.end[1]))


@pytest.mark.parametrize("algorithm", [UpDown, Layered])
def test_new_tables_lead_all_pairs_around_dead_links(algorithm: Callable[..., Relation]) -> None:
    network = network_of(algorithm)
    generator = random.Random(2)
    print("seed 2")
    links = network_links(network)
    for _ in range(5):
        pins = generator.sample(links, 3)
        dead = {network.link_end(pin) for pin in pins}
        tables = network.tables_around(pins)
        for source in range(9):
            for destination in range(9):
                assert dead.isdisjoint(walked(network, tables, source, destination))


def test_links_are_removed_in_both_directions() -> None:
    graph = Torus(3, 2)
    before, after = ({*one.by_output} for one in (graph, graph_without(graph, [(0, 0)])))
    gone = before - after
    assert len(gone) == 2
    assert (0, 0) in gone
    (back,) = gone - {(0, 0)}
    assert graph.by_output[back].peer == 0
    assert graph.by_output[0, 0].peer == back[0]


def test_what_can_not_be_rerouted_is_refused() -> None:
    network = network_of()
    own = [pin for pin in network_links(network) if network.link_end(pin)[0] == 4]
    with pytest.raises(
        ValueError, match=r"^Without the severed links: There is no way from node 0 to terminal 4"
    ):
        network.tables_around(own)
    with pytest.raises(ValueError, match=r"^Network must have tables=rewritable, which 'torus' ha"):
        build("torus", k=3).tables_around(own)
    with pytest.raises(ValueError, match=r"^Packets can't be led around router_0.o.8: it is not"):
        network.tables_around([Pin("router_0", ("o", 8))])


def test_new_tables_that_can_deadlock_are_refused() -> None:
    """Without its diagonals, a complete graph is a ring."""
    links = [
        Link(node, port, (node + port + 1) % 5, 3 - port) for node in range(5) for port in range(4)
    ]
    for allowed in (0, 1):
        graph = Rewritable(Shortest, ListedGraph(5, links))
        network = GraphNetwork(graph=graph, allow_deadlock=allowed)
        dead = [pin for pin in network_links(network) if network.link_end(pin)[1] in (1, 2)]
        if allowed:
            assert network.tables_around(dead)
        else:
            with pytest.raises(
                ValueError, match=r"^Routing around dead links can deadlock: worms o"
            ):
                network.tables_around(dead)


def test_new_tables_may_use_links_that_were_unused() -> None:
    """Also with refill, which leaves out the links that carry nothing."""
    ways = [Link(0, 0, 1, 0), Link(0, 1, 2, 0), Link(1, 0, 3, 0), Link(2, 0, 3, 1)]
    graph = ListedGraph(5, [*ways, Link(4, 0, 0, 0)], homes=[4, 4], exit_homes=[3, 4])
    cells = {}
    for refill in ("yes", "no"):
        cells[refill] = GraphNetwork(graph=Rewritable(Shortest, graph), refill=refill).fabric.cells
    assert cells["yes"].keys() == cells["no"].keys()


@pytest.mark.parametrize("latency", [1, 3])
def test_link_ends_are_the_links_of_outputs(latency: int) -> None:
    graph = Rewritable(UpDown, Torus(3, 2, latency=latency))
    network = GraphNetwork(graph=graph)
    for k, one in enumerate(network.shapes[4].outputs):
        end = None if one.is_terminal else (4, one.end[0])
        assert network.link_end(Pin("router_4", ("o", k))) == end
        if end is not None and latency > 1:
            assert network.link_end(Pin(f"link_4_{end[1]}", ("o", one.end[1]))) == end
    assert network.link_end(Pin("table_4", ("exits", 0))) is None
    if latency > 1:
        with pytest.raises(ValueError, match=r"^Packets can't be led around link_4_0.o.0: what"):
            network.tables_around([Pin("link_4_0", ("o", 0))])


# As part of any run

TREE = "fat-tree k=2 n=2 tables=rewritable"
SEVERED = "link:router_0.o.0:severed:from=150"
NONE_SEVERED = "Reroute needs a link that is severed for ever"


@pytest.mark.parametrize("engine", ["compiled", long("amaranth")])
def test_a_run_is_led_around_severed_links(engine: str) -> None:
    """Packets are lost until the sources stop, and none after it; books and record say so."""
    options: dict[str, Any] = {"load": 0.4, "cycles": 600, "warmup": 50, "bins": 16}
    lost = {}
    for reroute in (None, 30):
        with pytest.raises(SimulationError) as raised:
            simulate(TREE, faults=[SEVERED], reroute=reroute, engine=engine, **options)
        found = raised.value.result
        assert isinstance(found, Result)
        lost[reroute] = found.lost
        assert (found.misrouted, found.duplicated) == (0, 0)
        assert found.run["reroute"] == reroute
        assert ("rerouting_cycles" in found.statistics) == (reroute is not None)
        again = rerun(found.to_json())
        assert again.to_json() == found.to_json()
    assert 0 < lost[30] < lost[None] / 4
    assert found.throughput > 0.35


@pytest.mark.parametrize("length", [1, *[long(4)]])
def test_nothing_is_lost_after_the_new_tables(length: int) -> None:
    """A longer run loses no more; with the old tables it does."""
    network = network_of(length=length)
    faults = [f"link:{network_links(network)[k]}:severed:from=150" for k in (2, 20)]
    lost: dict[int | None, list[int]] = {100: [], None: []}
    for reroute, found in lost.items():
        for cycles in (400, 600):
            with pytest.raises(SimulationError) as raised:
                simulate(
                    network,
                    load=0.5 / length,
                    warmup=50,
                    cycles=cycles,
                    faults=faults,
                    reroute=reroute,
                )
            assert isinstance(raised.value.result, Result)
            found.append(raised.value.result.lost)
    assert 5 < lost[100][0] == lost[100][1]
    assert lost[100][0] < lost[None][0] < lost[None][1] - 10


AROUND = "Reroute leads around severed links of cells, as link:router_0.o.0:severed, not around"


@pytest.mark.parametrize(
    ("network", "faults", "reroute", "message"),
    [
        (TREE, "link:router_0.o.0", 5, f"{AROUND} link:router_0.o.0, which is dead for ever"),
        (TREE, f"{SEVERED} cell:router_1:severed", 5, f"{AROUND} cell:router_1, which is severed"),
        (
            TREE,
            "link:router_0.o.0:severed:for=9",
            5,
            f"{NONE_SEVERED}, as link:router_0.o.0:severed",
        ),
        (TREE, SEVERED, -1, "Reroute must be at least 0, not -1"),
        (TREE, SEVERED, "x", "Reroute must be an integer"),
        ("fat-tree k=2 n=2", SEVERED, 5, "Network must have tables=rewritable, which 'fat-tree'"),
        (f"{TREE} routing=own", SEVERED, 5, "Routing must not be own if tables are rewritable"),
        (f"{TREE} routing=minimal", SEVERED, 5, "Tables to be rewritten must lead each packet"),
        (f"{TREE} switch=packet", SEVERED, 5, "Tables must be fixed with switch=packet"),
    ],
)
def test_runs_that_can_not_be_rerouted(
    network: str, faults: str, reroute: Any, message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}"):
        simulate(network, faults=faults.split(), reroute=reroute, cycles=10)


@pytest.mark.long
def test_the_command_reroutes(capsys: pytest.CaptureFixture) -> None:
    words = [*TREE.split(), "--load", "0.4", "--cycles", "400", "--warmup", "50", "--fault"]
    with pytest.raises(SystemExit) as end:
        main(["sim", *words, SEVERED, "--reroute", "10"])
    assert end.value.code == 1
    out, err = capsys.readouterr()
    assert "\nrerouting_cycles: " in out
    assert err.startswith("multicube: The books do not balance: ")
