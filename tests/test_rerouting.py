"""New tables lead around dead links, in a network that is running."""

import random
from collections.abc import Callable, Sequence

import pytest
from long_runs import long
from multicube.hdl import GraphNetwork
from multicube.hdl.core.fabric import Pin
from multicube.hdl.networks import build
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.hdl.routing.layered import Layered
from multicube.hdl.routing.relation import Relation
from multicube.hdl.routing.rewritable import Rewritable, graph_without
from multicube.hdl.routing.up_down import UpDown
from multicube.hdl.topology.torus import Torus
from multicube.sim.run import rerouting
from multicube.sim.run.rerouting import dead_ends, run_rerouted, tables_without
from multicube.sim.workload.random_faults import network_links

END = tuple[int, int]


def network_of(algorithm: Callable[..., Relation] = UpDown, length: int = 1) -> RoutedNetwork:
    return GraphNetwork(graph=Rewritable(algorithm, Torus(3, 2)), length=length)


def walked(network: RoutedNetwork, tables: Sequence, source: int, destination: int) -> list[END]:
    """The links that a packet takes through tables, as the routers read them."""
    graph, taken = network.relation.graph, []
    node = graph.homes[source]
    entry = next(i for i, one in enumerate(network.shapes[node].inputs) if one.is_terminal)
    while True:
        exits = tables[node][f"rows_{entry}"][destination]
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
    ends = sorted(network.relation.graph.by_output)
    for _ in range(5):
        dead = generator.sample(ends, 3)
        tables = tables_without(network, dead)
        for source in range(9):
            for destination in range(9):
                assert not set(walked(network, tables, source, destination)) & set(dead)


@pytest.mark.parametrize("length", [1, *[long(4)]])
def test_nothing_is_lost_after_the_new_tables(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the old tables packets are lost all the time."""
    network = network_of(length=length)
    links = network_links(network)
    dead = [links[2], links[20]]
    options = {"load": 0.5 / length, "cycles": 200}
    result = run_rerouted(network, dead, **options)
    assert result.lost > 5
    assert result.lost_after == 0
    assert result.drain > 0
    assert result.after > 0.8 * result.before
    monkeypatch.setattr(rerouting, "write_tables", lambda engine, tables: None)
    without = run_rerouted(network, dead, **options)
    assert without.lost_after > 20
    assert without.lost - without.lost_after == result.lost


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
    own = [end for end in network.relation.graph.by_output if end[0] == 4]
    with pytest.raises(ValueError, match=r"^There is no way from node 0 to terminal 4"):
        tables_without(network, own)
    with pytest.raises(ValueError, match=r"^Routing must be Rewritable for tables that are"):
        tables_without(build("torus", k=3), [(0, 0)])


def test_dead_ends_are_the_links_of_outputs() -> None:
    network = network_of()
    outputs = {Pin("router_4", ("o", k)): one for k, one in enumerate(network.shapes[4].outputs)}
    for pin, one in outputs.items():
        assert dead_ends(network, [pin]) == {(4, one.end[0])}
