"""Packets that are stored whole at each box: the paper's base case, with service n c (VI-D)."""

from typing import Any

import pytest
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.sim import Trace, TracePacket, simulate


def network(
    ports: int, length: int, switch: str = "store-and-forward", **more: Any
) -> MultistageNetwork:
    return MultistageNetwork(ports, switch=switch, length=length, **more)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("length", "queues"),
    [(1, "input"), (5, "crosspoint"), long(2, "input"), long(5, "input"), long(2, "crosspoint")],
)
def test_a_lone_packet_takes_n_c_cycles(length: int, queues: str) -> None:
    """The header leaves each box but the first c cycles after it left the one before."""
    packets = (TracePacket(0, 1, 2, length), TracePacket(30, 3, 3, length))
    dut = network(4, length, queues=queues)
    result = simulate(dut, traffic=Trace("two", packets), engine="amaranth")
    assert result.delivered == 2
    assert result.latency.p50 == result.latency.max == 2 * length


def test_a_stream_of_packets_has_no_gaps() -> None:
    """Room for two packets is enough for full throughput; room for one is not."""
    packets = tuple(TracePacket(0, 2, 5, 4) for _ in range(10))
    for depth, ends in ((8, 3 * 4 + 9 * 4), (4, None)):
        result = simulate(network(8, 4, depth=depth), traffic=Trace("ten", packets), bins=512)
        assert result.delivered == 10
        assert result.latency.max == ends if ends else result.latency.max > 3 * 4 + 9 * 4


@pytest.mark.long
@pytest.mark.parametrize(("ports", "length", "load"), [(8, 3, 0.2), long(64, 4, 0.125)])
def test_packets_wait_as_long_as_with_cut_through(ports: int, length: int, load: float) -> None:
    """With packets of one length and queues that are never full, both do the same at each box, c-1
    cycles later: the difference is that of the service times n c and n + c - 1."""
    records = []
    for switch in ("cut-through", "store-and-forward"):
        dut = network(ports, length, switch, queues="crosspoint", depth=16 * length)
        stages = dut.stages
        traffic = simulate(dut, load=load, cycles=1500, warmup=200, seed=4)
        service = stages * length if switch == "store-and-forward" else stages + length - 1
        records.append((traffic.injected, traffic.latency.mean - service))
    print(records)
    assert records[0][1] > 0.1
    assert records[1][1] == pytest.approx(records[0][1], rel=0.02)
    assert traffic.predicted["latency_mean"] == pytest.approx(traffic.latency.mean, rel=0.05)
