"""The bound on latency: by hand where that is easy, and never exceeded where traffic is worst."""

import json
import pickle
from typing import Any

import pytest
from click.testing import CliRunner
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.sim import delay_bounds, simulate
from multicube.sim.command.bound_command import bound as command
from refusals import refusals


def network(words: str) -> PacketNetwork:
    built = build(words)
    assert isinstance(built, PacketNetwork)
    return built


def test_two_nodes_by_hand() -> None:
    """Packets of one flit, queues of four.

    At an exit two inputs take turns, so a queue there sends a packet within 2 cycles. A header is
    behind four others in the queue of its terminal, whose packets each leave within 2 cycles as
    well: at its own exit by turns, and to the other node because one place there is free within 2
    cycles, and a flit takes one more over the link. There it is behind three more.
    """
    bounds = delay_bounds(network("mesh k=2 n=1"))
    assert bounds.of(0, 0).cycles == 1 + (5 * 3 + 1)
    assert pickle.loads(pickle.dumps(bounds)).of(0, 0) == bounds.of(0, 0)
    assert bounds.of(0, 1).cycles == 1 + (5 * 3 + 1) + (4 * 2 + 1)
    assert bounds.worst.cycles == 26


def test_a_link_of_three_cycles_by_hand() -> None:
    """A packet finds a place of four within 2 cycles and those of a flit and a credit on the wires,
    4 in all, and takes one more onto the link; it comes after 3."""
    bounds = delay_bounds(network("mesh k=2 n=1 latency=3"))
    assert bounds.of(0, 1).cycles == 1 + (5 * (2 + 4 + 1) + 3) + (4 * 2 + 1)


CASES = [
    "cube ports=4 switch=wormhole length=2 classes=2 arbiter=weighted",
    "mesh k=3 n=1 length=1:4 depth=1",
    "crossbar ports=3 switch=wormhole length=1:3 depth=1 refill=no",
    long("mesh k=3 n=2"),
    long("mesh k=4 n=2 depth=2"),
    long("torus k=4 n=2 depth=2"),
    long("torus k=4 n=2 classes=2 length=2:3"),
    long("hypercube n=3 length=3 switch=cut-through"),
    long("graph classes=2 length=2"),
    long("cube ports=8 switch=input-queued depth=1"),
    long("cube ports=9 radix=3 switch=cut-through length=1:3"),
    "cube ports=4 depth=2",
    long("cube ports=16"),
    long("cube ports=8 depth=1 refill=no"),
    long("omega ports=16 radix=4 depth=1"),
    long("cube ports=8 depth=3 refill=yes"),
    long("crossbar ports=16 switch=output-queued"),
    long("cube ports=8 switch=store-and-forward length=2:4"),
    "mesh k=3 n=1 switch=packet length=3",
    long("mesh k=3 switch=packet depth=1"),
    long("hypercube n=3 switch=packet length=1:4"),
    long("complete nodes=5 switch=packet length=2 depth=2"),
    long("mesh k=2 n=2 length=3 decision=3 refill=yes"),
    long("mesh k=3 n=1 length=2 switch=store-and-forward classes=2 arbiter=priority"),
    "mesh k=3 n=1 latency=6 depth=1",
    "complete nodes=5 pipeline=1 depth=1",
    "fat-tree k=5 n=1 pipeline=2 depth=2 length=32",
    long("hypercube n=3 pipeline=2"),
    "crossbar ports=5 switch=wormhole pipeline=2 depth=3 length=32",
    "crossbar ports=4 switch=cut-through queues=crosspoint length=2 depth=6",
    long("cube ports=8 switch=store-and-forward queues=crosspoint length=1:3 depth=4"),
    long("cube ports=8 switch=cut-through pipeline=1 length=2"),
    long("omega ports=9 radix=3 switch=input-queued pipeline=2 depth=2"),
    long("torus k=3 pipeline=2 length=3 switch=cut-through"),
    long("mesh k=3 pipeline=1 depth=2 classes=2"),
    long("torus k=4 n=2 latency=3 length=2"),
    long("cube ports=8 switch=wormhole latency=4 length=1:3 depth=2"),
    long("omega ports=9 radix=3 switch=cut-through latency=5 length=2 depth=8 classes=2"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", CASES)
def test_no_run_exceeds_it(words: str) -> None:
    """All terminals send to one as fast as they can, or to any."""
    built = network(words)
    bounds = delay_bounds(built)
    terminals = built.ports // built.classes
    for traffic in (f"hotspot:1:{terminals - 1}", "uniform"):
        result = simulate(built, traffic=f"{traffic}+interval:0", cycles=2500, warmup=500)
        parts = result.classes or [result]
        for own, part in enumerate(parts):
            flows = [flow for flow in bounds.all() if flow.source % built.classes == own]
            most = max(flow.cycles or 0 for flow in flows)
            assert (part.network_latency.max or 0) <= most or None in {f.cycles for f in flows}


@pytest.mark.long
@pytest.mark.parametrize("words", ["mesh k=3 n=2", long("torus k=4 n=2")])
def test_it_is_near_what_happens(words: str) -> None:
    """With packets of one flit all to one terminal, some take more than half of it."""
    built = network(words)
    result = simulate(built, traffic="hotspot:1:0+interval:0", cycles=5000, warmup=500)
    most = max(delay_bounds(built).of(source, 0).cycles or 0 for source in range(built.ports))
    assert most / 2 < (result.network_latency.max or 0) <= most


@pytest.mark.parametrize(("words", "cycles"), [("depth=1", 8 - 1 + 4 + 2 + 1), ("depth=3", 28)])
def test_it_is_reached(words: str, cycles: int) -> None:
    """Boxes of 2 x 2 with output queues that refill: a packet in the last stage leaves at once, in
    the stages before within 2 and 4 cycles, and has entered the network within 8."""
    built = network(f"cube ports=8 refill=yes {words}")
    result = simulate(built, traffic="hotspot:1:0+interval:0", cycles=2500, warmup=500)
    assert result.network_latency.max == delay_bounds(built).of(5, 0).cycles == cycles


def test_classes_without_a_bound() -> None:
    """A class that others go before has none; the first class does not see the others' wires."""
    first = delay_bounds(network("mesh k=3 n=1 classes=2 arbiter=priority"))
    alone = delay_bounds(network("mesh k=3 n=1"))
    assert first.of(1, 5).cycles is None
    assert first.worst.cycles is None
    assert first.of(0, 4).cycles == alone.of(0, 2).cycles


def test_the_command_lists_all_flows() -> None:
    done = CliRunner().invoke(command, ["mesh", "k=2", "n=1", "--json"])
    flows: list[dict[str, Any]] = json.loads(done.output)["flows"]
    assert [flow["cycles"] for flow in flows] == [17, 26, 26, 17]
    done = CliRunner().invoke(command, ["mesh", "k=2", "n=1", "--flow", "1:0"])
    assert "from 1 to 0: at most 26 cycles" in done.output


test_bounds_are_refused = refusals(
    lambda words: delay_bounds(network(words)),
    (
        "hypercube routing=adaptive",
        "Latency has ... not in hypercube: multicube prove may prove one",
    ),
    ("mesh arbiter=fixed", "Arbiter must be ... for a bound on latency, not fixed"),
    ("torus channels=1 allow_deadlock=1 k=8 n=1", "Latency has no bound in torus: its packets ..."),
    ("cube ports=8 switch=unbuffered", "Switch must be ... for a bound on latency, not unbuffered"),
    ("deflection", "Latency has a bound only in networks of queues with fair arbiters, not..."),
)
