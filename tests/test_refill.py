# amaranth: UnusedElaboratable=no
"""Queues that accept a flit in the cycle in which their head leaves: rate, and no loop."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import HypercubeNetwork, PacketNetwork, build, write_verilog
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.dcsh.dcsh_multiplexer import ClusterMultiplexer
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.router_parameters import RouterParameters
from multicube.hdl.routers.worm_router import WormRouter
from multicube.sim import Run, Trace, TracePacket, pattern, simulate_runs
from multicube.sim.engines.compiled.compiled_errors import CombinationalLoop
from multicube.sim.engines.compiled.engine import CompiledEngine
from verilog_tools import assert_lint_free, check_with_yosys

SEED = 11
LENGTH = 6
SMALL: list[tuple[str, dict[str, int]]] = [
    ("torus", {"k": 5, "n": 1}),
    ("hypercube", {"n": 3}),
    ("dcsh", {"k": 2, "n": 2}),
]
LARGER: list[tuple[str, dict[str, int]]] = [
    ("torus", {"k": 3, "n": 2}),
    ("mesh", {"k": 3, "n": 2}),
    ("ring", {"k": 4, "n": 1}),
    ("dcsh", {"k": 3, "n": 2}),
    *(("torus", {"k": k, "n": 2, "decision": 1 + k % 2}) for k in (2, 4, 5, 6)),
    ("torus", {"k": 3, "n": 3}),
    ("mesh", {"k": 4, "n": 3}),
    ("ring", {"k": 2, "n": 2}),
    ("ring", {"k": 5, "n": 2}),
    ("hypercube", {"n": 5}),
    ("dcsh", {"k": 4, "n": 2, "decision": 3}),
    ("dcsh", {"k": 2, "n": 4}),
]
networks = pytest.mark.parametrize(
    ("family", "size"), [*SMALL, *(long(family, size) for family, size in LARGER)]
)
most_are_long = pytest.mark.parametrize(
    ("family", "size"), [SMALL[0], *(long(family, size) for family, size in SMALL[1:] + LARGER)]
)


def refilled(family: str, size: dict[str, int], **parameters: Any) -> PacketNetwork:
    return build(family, depth=1, refill="yes", **size, **{"length": LENGTH, **parameters})


@pytest.mark.long
@most_are_long
def test_depth_one_has_the_full_rate(family: str, size: dict[str, int]) -> None:
    """Without conflicts, one packet at a time: the latency of a network with deep queues."""

    def latency(dut: PacketNetwork) -> float:
        pairs = itertools.product(range(dut.ports), repeat=2)
        packets = [TracePacket(40 * at, *pair, LENGTH) for at, pair in enumerate(pairs)]
        run = Run(Trace("alone", tuple(packets)))
        [result] = simulate_runs(dut, [run], engine="compiled")
        assert result.delivered == len(packets)
        assert result.network_latency.mean is not None
        return result.network_latency.mean

    dut = refilled(family, size)
    deep = latency(dut.altered(depth=8, refill="no"))
    assert latency(dut) == deep
    assert latency(dut.altered(refill="no")) > deep + LENGTH / 2


@pytest.mark.long
@networks
def test_books_balance_under_full_load(family: str, size: dict[str, int]) -> None:
    """Everything that is sent arrives, in order, and more of it than without refill."""
    print("seed", SEED)
    delivered = []
    for refill in ("yes", "no"):
        dut = refilled(family, size, length="1:8").altered(refill=refill)
        runs = [
            Run(pattern(traffic, dut.ports), 0.4, 1500, 100, SEED, source_depth=4)
            for traffic in ("uniform", "hotspot:0.3")
        ]
        results = simulate_runs(dut, runs, bins=64, engine="compiled")
        for result in results:
            assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0,) * 4
            assert (result.reordered, result.injected) == (0, result.delivered)
        delivered.append(results[0].throughput)
    assert delivered[0] > 1.3 * delivered[1]


@pytest.mark.long
@most_are_long
def test_no_combinational_loop(tmp_path: Path, family: str, size: dict[str, int]) -> None:
    path = tmp_path / "network.v"
    dut = refilled(family, size)
    write_verilog(dut.fabric, path)
    assert_lint_free([path])
    check_with_yosys([path])
    with CompiledEngine(dut.fabric):
        pass


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("family", "k"), [("torus", 5), ("ring", 4)])
def test_a_ring_that_is_closed_has_a_loop(
    monkeypatch: pytest.MonkeyPatch, family: str, k: int
) -> None:
    """If also the channels that no packet takes are linked."""
    monkeypatch.setattr(Torus, "carries", lambda self, channel: True)
    with pytest.raises(ValueError, match=r"^Refill must be no, not 'yes': a combinational path"):
        refilled(family, {"k": k, "n": 1})
    monkeypatch.setattr(RouterParameters, "check_refill", lambda self, relation, shapes: None)
    with pytest.raises(CombinationalLoop, match=r"router_\d\.i\.\d\.ready"):
        CompiledEngine(refilled(family, {"k": k, "n": 1}).fabric)


@pytest.mark.parametrize("form", [{}, {"wrap": False, "channels": 1}, {"directions": 1}])
@pytest.mark.parametrize("k", range(2, 8))
def test_channels_that_carry_packets(form: dict[str, Any], k: int) -> None:
    """Those on the paths of all pairs."""
    torus = Torus(k, 2, **form)
    pairs = itertools.product(range(torus.nodes), repeat=2)
    taken = {channel for pair in pairs for channel in torus.path(*pair)[:-1]}
    ports, numbers = range(len(torus.sides)), range(int(torus.channels))
    every = itertools.starmap(Channel, itertools.product(range(torus.nodes), ports, numbers))
    assert set(filter(torus.carries, every)) == taken


def test_ends_of_links() -> None:
    """In each ring and direction: channel 0 of the wrap-around link, and those channels 1 from
    which no shortest path wraps around."""
    dut = refilled("ring", {"k": 4, "n": 1})
    ends = [name for name in dut.fabric.cells if name.startswith("end_")]
    assert ends == ["end_0_1", "end_3_0"]
    assert not any(name.startswith("end_") for name in dut.altered(refill="no").fabric.cells)
    assert dut.fabric.drivers[Pin("router_0", ("i", 0, "valid"))].cell == "end_3_0"


@pytest.mark.parametrize(
    ("family", "given", "message"),
    [
        (
            "torus",
            {"channels": 1},
            "Refill must be no, not 'yes': a combinational path would lead around a cycle of 4 "
            "channels",
        ),
        (
            "hypercube",
            {"routing": "pcube"},
            "Refill must be no if packets have a choice of channels, not 'yes'",
        ),
        (
            "hypercube",
            {"routing": "adaptive"},
            "Refill must be no if packets have a choice of channels, not 'yes'",
        ),
        ("dcsh", {"broadcast": 1}, "Refill must be no with broadcast=1, not 'yes'"),
        ("mesh", {"refill": "maybe"}, "Parameter refill must be one of no, yes, not 'maybe'"),
    ],
)
def test_network_rejects(family: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        build(family, **{"refill": "yes", **given})


def test_routers_reject() -> None:
    packet = Packet(3, 4, flits=True)
    with pytest.raises(
        ValueError, match=r"^Refill must be off if headers have a choice of outputs$"
    ):
        WormRouter(packet, HypercubeNetwork(3, "pcube").shapes[0], depth=1, refill=True)
    with pytest.raises(ValueError, match=r"^Refill must be off if packets are accepted whole$"):
        ClusterMultiplexer(packet, inputs=2, depth=4, length=4, refill=True)
