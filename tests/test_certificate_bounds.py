"""No packet is inside a network for more cycles than its certificate says."""

from collections import Counter
from typing import Any

import pytest
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.sim import simulate
from multicube.sim.proofs.certificate import certificate
from multicube.sim.proofs.latency_bound import Hop, Lengths, turns

NETWORKS = [
    "cube ports=4 depth=2 payload=4",
    long("cube ports=8"),
    long("omega ports=16"),
    long("cube ports=16 radix=4"),
    long("cube ports=8 switch=input-queued"),
    long("torus k=3 n=2"),
    long("torus k=4 n=2 length=1:3"),
    long("hypercube n=3"),
    long("hypercube n=4 arbiter=least-recent"),
    long("complete nodes=8"),
    long("graph file=petersen"),
    long("torus k=4 n=2 pipeline=1"),
    long("dragonfly pipeline=1"),
    long("complete nodes=8 pipeline=1 depth=1"),
    "fat-tree k=2 n=2 depth=2 payload=4",
    long("fat-tree k=4 n=2"),
    long("fat-tree k=2 n=3 length=1:3"),
    long("benes ports=8"),
    long("clos"),
    long("hypercube n=3 routing=pcube"),
    long("hypercube n=3 routing=adaptive"),
]

TRAFFIC = ("uniform", "hotspot:1", "hotspot:0.5", "bit-reversal", "complement")


@pytest.mark.parametrize("words", NETWORKS)
def test_no_packet_takes_longer_than_its_bound(words: str) -> None:
    network = build(words)
    assert isinstance(network, PacketNetwork)
    most = certificate(network, limit=0)["bounds"]["most"]
    cycles = 2_000 if network.sinks == 4 else 100_000
    binary = network.sinks & (network.sinks - 1) == 0
    worst = {
        traffic: simulate(
            network, traffic=traffic, load=1.0, cycles=cycles, warmup=0, seed=1
        ).network_latency.max
        for traffic in (TRAFFIC if binary else TRAFFIC[:3])
    }
    longest = max(worst.values())
    print(f"{words}: {longest} cycles of {most}, by {max(worst, key=lambda one: worst[one])}")
    assert 0 < longest <= most


def test_the_bound_counts_from_acceptance() -> None:
    """In one box it is nearly reached; a run's latency begins before, at the head of a queue."""
    network = build("crossbar ports=4 depth=2")
    assert isinstance(network, PacketNetwork)
    taken: list[list[int]] = [[] for _ in range(4)]
    delivered: Counter[int] = Counter()
    waits = []

    async def all_to_one(ctx: Any) -> None:
        for source, each in enumerate(network.i):
            ctx.set(each.payload.tag, network.tags.tag(0, 0))
            ctx.set(each.payload.payload, source)
            ctx.set(each.valid, 1)
        ctx.set(network.o[0].ready, 1)
        for cycle in range(200):
            for each, cycles in zip(network.i, taken):
                if ctx.get(each.ready):
                    cycles.append(cycle)
            if ctx.get(network.o[0].valid):
                source = ctx.get(network.o[0].payload.payload)
                waits.append(cycle - taken[source][delivered[source]])
                delivered[source] += 1
            await ctx.tick()

    exercise(network, all_to_one)
    most = certificate(network, limit=0)["bounds"]["most"]
    assert len(waits) > 190
    assert most - 3 < max(waits) <= most


def test_the_bound_is_that_of_a_count_by_hand() -> None:
    # Two channels one after the other, each with one rival: the last is emptied in each cycle.
    hops = {"a": Hop(2, 1, 4, False, True), "b": Hop(2, 1, 4, True, True)}
    assert turns(hops, "ab", {"a": "b", "b": ""}, Lengths(1, 1, 2)) == {"b": 1, "a": 4}
    # At inputs: the first waits for two packets to cross, each of which has the terminal at once.
    hops = {"a": Hop(3, 2, 4, False, False), "b": Hop(2, 1, 4, True, False)}
    assert turns(hops, "ab", {"a": "b", "b": ""}, Lengths(1, 1, 2)) == {"b": 0, "a": 2}
    # With a choice: a header waits for its escape channel, and five cycles are lost by trying.
    hops |= {"b": Hop(2, 1, 4, True, False, tries=5), "c": Hop(9, 9, 4, False, False, escape=False)}
    nexts = {"c": "b", "a": "bc", "b": ""}
    assert turns(hops, "cab", nexts, Lengths(1, 1, 2)) == {"b": 0, "a": 7, "c": 7}
