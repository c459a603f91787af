"""The node model of Ginosar and Egozi, and the three that they reject (3), for Table II's networks.

Words take whole steps of the adopted model: the time in which a link at full speed passes one. The
adopted model and the link-limited one are run as hardware; so is the one that divides a node's
bandwidth among its links, whose words have as many flits as a node has links.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.sparse.csgraph import dijkstra

from ....hdl.catalogue.catalogue import build
from ....hdl.graphs.graph import Graph
from ....hdl.graphs.permutations import Permutation, random_permutation
from ....hdl.graphs.schedules.communication_steps import successors
from ....hdl.graphs.schedules.permutation_steps import StepRouter
from ...run.communication import permutation_task, run_tasks
from ...run.run import Run
from ...run.simulation import whole_runs
from ...workload.traffic import Trace, TracePacket
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE
from .nine_networks import measured, three

__all__ = ["MODELS", "divided_fan_out"]


def divided_fan_out(graph: Graph, *, divided: bool = True) -> int:
    """Steps of a broadcast from the worst node, if a node uses all its links at once.

    A link is as slow as the slower of its ends: a node of C links needs C steps for a word on each
    of them; or if it is not `divided`, one.
    """
    near = successors(graph)
    takes = np.zeros((graph.nodes, graph.nodes))
    for node, peers in enumerate(near):
        for peer in peers:
            takes[node, peer] = max(len(peers), len(near[peer])) if divided else 1
    homes = sorted(set(graph.homes))
    return int(dijkstra(takes, indices=homes)[:, homes].max())


def _steps(graph: Graph, destinations: Permutation, options: Options) -> int:
    """Steps of a permutation in the adopted model, on the hardware."""
    schedule = StepRouter(graph).schedule(destinations)
    task = permutation_task(graph, schedule, destinations)
    (run,) = run_tasks(graph, [task], engine=options.engine)
    return run.steps


def _cycles(words: str, length: int, destinations: list[int], options: Options) -> int:
    """Cycles until the last packet of a permutation has come, with full routers, less those that a
    packet of one flit takes besides its links."""
    network = build(f"{words} length={length}")
    packets = [TracePacket(0, x, y, length) for x, y in enumerate(destinations)]
    run = Run(Trace("permutation", tuple(packets)))
    (result,) = whole_runs(network, [run], engine=options.engine, bins=16)
    assert result.latency.max is not None
    return result.latency.max - 1


def _rows(options: Options) -> Iterator[Row]:
    for n in (3,) if options.quick else (4, 6):
        for title, (family, graph) in three(n).items():
            each = measured(family, graph, options)
            links = max(Counter(link.node for link in graph.links()).values())
            size = {"hypercube": f"n={n}", "psnn": f"n={n}", "tree": f"nodes={1 << n}"}[family]
            to = random_permutation(1 << n, options.seed)
            least, most = each.found.fan_out.time.range
            yield {
                "network": title,
                "nodes": 1 << n,
                "links": links,
                "adopted": most,
                "exact": least == most,
                "tied": most / 2,
                "divided": divided_fan_out(graph),
                "link_limited": divided_fan_out(graph, divided=False),
                "steps": _steps(graph, to, options),
                "divided_cycles": _cycles(f"{family} {size}", links, to, options),
                "link_cycles": _cycles(f"{family} {size}", 1, to, options),
            }


MODELS = Item(
    "ginosar-models",
    "Broadcast and a permutation by the node model of the paper, and by the three it rejects",
    f"{SOURCE}, 3",
    columns="network | nodes = N | links = C | adopted = F | tied = F, model 1 : .1f"
    " | divided = F, model 2 | link_limited = F, model 3 | steps = permutation"
    " | divided_cycles = permutation, model 2 | link_cycles = permutation, model 3",
    rows=_rows,
    draw=Panel(
        "nodes",
        [Lines("adopted", "-o", "{network}"), Lines("divided", "--s"), Lines("link_limited", ":x")],
        ["network"],
        title="solid: the paper's model; dashed: model 2; dotted: model 3",
        xlabel="N (nodes)",
        ylabel="steps of a broadcast",
        xlog=2,
        ticks=True,
    ),
    notes=(
        "The paper's model: a node sends one word and receives one in a step. 1: it may tie both "
        "ports together, and send, or receive, twice as fast: in a broadcast no node does both at "
        "once, so F is halved, whatever the network. 2: its bandwidth is divided among its C "
        "links: a word takes C steps on a link, but all links are used at once. 3: each link has "
        "the bandwidth, and all are used at once.",
        "Permutation: a random one; steps of the paper's model on its hardware, and cycles of the "
        "last packet on wormhole routers, less one for the way out of the network. In model 2 "
        "words have C flits, which follow each other.",
    ),
    ignores=("cycles",),
)
