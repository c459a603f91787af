"""What `multicube prove` says of many networks: cubes, tori, hypercubes, fat trees, random graphs.

    python examples/certified_networks.py              # all, with ten minutes for a proof
    python examples/certified_networks.py 60 dragonfly # one minute, those with this word

Each network is tried with and without a pipeline. Proofs that were found before are not searched
again; the table has the seconds of that search, and those of processor time for the rest.
"""

import sys
import time

import networkx as nx
from multicube.hdl import build
from multicube.hdl.families.graph_network import GraphNetwork
from multicube.hdl.networks.packet_network import PacketNetwork
from multicube.sim.proofs.certificate import certificate

NAMED = (
    "cube ports=64",
    "torus k=4 n=2",
    "torus k=8 n=2",
    "hypercube n=6",
    "fat-tree k=4 n=3",
    "fat-tree k=4 n=3 ascent=fixed",
    "dragonfly",
    "graph file=petersen",
)
RANDOM = range(10)
"""Seeds of random regular graphs of degree 3."""


def network_of(words: str, pipeline: int) -> PacketNetwork:
    kind, *rest = words.split()
    if kind == "random":
        seed = int(rest[0])
        graph = nx.random_regular_graph(3, 8 + 2 * (seed % 3), seed=seed)
        return GraphNetwork(graph=graph, pipeline=pipeline)
    network = build(f"{words} pipeline={pipeline}" if pipeline else words)
    assert isinstance(network, PacketNetwork)
    return network


def row(words: str, pipeline: int, limit: float) -> str:
    """A line of the table."""
    began = time.process_time()
    try:
        network = network_of(words, pipeline)
        found = certificate(network, limit=limit)
    except ValueError as error:
        return f"refused: {error} | | |"
    rest = time.process_time() - began
    proofs = [proof for one in found["contracts"].values() for proof in one["proofs"]]
    searched = sum(proof.get("seconds", limit) for proof in proofs)
    open_ = {one["unproved"] for one in found["contracts"].values() if "unproved" in one}
    verdict = f"if {', '.join(sorted(open_))}" if open_ else "certified"
    most = found["bounds"]["most"] if found["bounds"] else "none"
    return f"{verdict} | {most} | {searched:.0f} | {rest:.0f} |"


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    every = [*NAMED, *(f"random {seed}" for seed in RANDOM)]
    chosen = [words for words in every if not sys.argv[2:] or sys.argv[2] in words]
    print("| network | verdict | T | proofs (s) | the rest (s) |\n|---|---|---|---|---|")
    for words in chosen:
        for pipeline in (0, 1):
            name = f"{words} pipeline=1" if pipeline else words
            print(f"| `{name}` | {row(words, pipeline, limit)}", flush=True)


if __name__ == "__main__":
    main()
