# amaranth: UnusedElaboratable=no
"""What gets through multistage networks with faults that they know of."""

import itertools
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

from multicube.hdl.bench import PacketBench
from multicube.hdl.graphs.plans.extra_stage import Fault
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.sim import Trace, TracePacket
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.workload.faults import inject, places
from multicube.sim.workload.injection import Injection


def told(bench: PacketBench, faults: str) -> PacketBench:
    """The same bench around a network that is set for these faults."""
    other = copy(bench)
    other.cells = dict(bench.cells)
    for name, cell in bench.network.altered(faults=faults).fabric.cells.items():
        other.cells[name] = replace(bench.cells[name], straps=cell.straps)
    return other


def deliveries(
    network: PacketNetwork, cases: Iterable[tuple[str | None, Sequence[Fault]]], cycles: int
) -> list[tuple[int, int]]:
    """(packets sent, packets delivered as they should be) of all pairs, for each case.

    A case is the faults that the network is told of, and those boxes and links that are dead.
    """
    ports = network.ports
    bench = PacketBench(network, all_pairs(ports).sources(network), bins=2)
    bench = inject(bench, network.plan, [], spare=places(network.plan))
    benches = [
        inject(
            bench if faults is None else told(bench, faults),
            network.plan,
            [Injection(fault) for fault in dead],
        )
        for faults, dead in cases
    ]
    results = []
    with CompiledEngine(benches) as engine:
        engine.set("send", 1)
        engine.step(cycles)
        for run in range(len(benches)):
            good = sum(engine.read(bench.sinks, "delivered", run))
            for wrong in ("misrouted", "duplicated", "reordered"):
                assert not any(engine.read(bench.sinks, wrong, run)), wrong
            results.append((sum(engine.read(bench.sources, "injected", run)), good))
    return results


def all_pairs(ports: int) -> Trace:
    """In cycle k, every S sends to S plus k."""
    pairs = itertools.product(range(ports), repeat=2)
    return Trace("all", tuple(TracePacket(k, s, (s + k) % ports) for k, s in pairs))
