"""How near packets come to the bound of their network's certificate, in 13 networks.

    python examples/bound_tightness.py        # a million cycles in all
    python examples/bound_tightness.py 1.3e9  # 20 minutes

Each network runs under full load with random traffic, hot spots, and permutations that collide,
with as many seeds as there are cycles for. No packet may be inside for longer than the bound.
"""

import sys

from multicube.hdl import build
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.sim import Run, pattern, simulate_runs
from multicube.sim.proofs.certificate import certificate

NETWORKS = (
    "cube ports=8",
    "omega ports=16",
    "cube ports=16 radix=4",
    "cube ports=8 switch=input-queued",
    "torus k=4 n=2",
    "torus k=4 n=2 length=1:3",
    "hypercube n=3",
    "hypercube n=4 arbiter=least-recent",
    "complete nodes=8",
    "graph file=petersen",
    "fat-tree k=4 n=2",
    "benes ports=8",
    "hypercube n=3 routing=adaptive",
)
TRAFFIC = ("uniform", "hotspot:1", "hotspot:0.5", "bit-reversal", "complement")
RUN = 1_000_000
"""Most cycles with one seed."""

SEEDS = 8
"""Seeds that run side by side."""


def longest(network: PacketNetwork, cycles: int) -> tuple[int, str, int]:
    """The most cycles that a packet was inside, the traffic with which it was, and cycles run."""
    binary = network.sinks & (network.sinks - 1) == 0
    traffics = TRAFFIC if binary else TRAFFIC[:3]
    worst, by, ran = 0, "", 0
    for traffic in traffics:
        sent = pattern(traffic, network.sources)
        left, seed = cycles // len(traffics), 1
        while left > 0:
            now, seeds = min(-(-left // SEEDS), RUN), range(seed, seed + SEEDS)
            runs = [Run(sent, 1.0, cycles=now, warmup=0, seed=each) for each in seeds]
            for run in simulate_runs(network, runs, threads=1):
                if run.network_latency.max > worst:
                    worst, by = int(run.network_latency.max), traffic
            left, seed, ran = left - now * SEEDS, seed + SEEDS, ran + now * SEEDS
    return worst, by, ran


def main() -> None:
    total = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    ran = 0
    print("| network | bound | longest | of it | by | cycles |\n|---|---|---|---|---|---|")
    for words in NETWORKS:
        network = build(words)
        assert isinstance(network, PacketNetwork)
        most = certificate(network, limit=0)["bounds"]["most"]
        worst, by, cycles = longest(network, total // len(NETWORKS))
        ran += cycles
        share = f"{worst / most:.0%}"
        print(f"| `{words}` | {most} | {worst} | {share} | {by} | {cycles:,} |", flush=True)
        if worst > most:
            sys.exit(f"{words}: a packet was inside for {worst} cycles, more than {most}")
    print(f"{ran:,} cycles in all")


if __name__ == "__main__":
    main()
