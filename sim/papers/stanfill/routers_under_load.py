"""Hypercube routers under load: the Connection Machine's, e-cube and minimal adaptive.

Stanfill, 3.10: a hypercube of 2^d nodes has a communication time of d. Messages have many routes,
which is an advantage if the routing can use them.
"""

from collections.abc import Iterator
from typing import Any

from ....hdl.families.connection_machine.connection_machine_graph import Hypercube
from ....hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from ....hdl.families.hypercube.hypercube_network import HypercubeNetwork
from ....hdl.networks.packet_network import PacketNetwork
from ...measure.result import Result
from ...run.run import Run
from ...run.sweeps import ZERO_LOAD
from ...workload.traffic import Pattern, pattern
from ..item import Item, Options, Row
from ..panels import Lines, Panel, Plot
from . import SOURCE

__all__ = ["DIMENSIONS", "HYPERCUBE", "TRAFFIC", "three_routers"]

TRAFFIC = ("uniform", "transpose", "bit-reversal", "complement", "hotspot:0.02")
DIMENSIONS = (4, 6, 8, 10, 12)
_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_SLOTS = 400_000
"""Terminals times cycles of each measurement, which has from `_WINDOW` to `_MOST` cycles."""
_WINDOW = 200
_MOST = 2000


def three_routers(n: int) -> Iterator[tuple[str, PacketNetwork, int]]:
    """Name, network, and cycles of an unblocked packet that crosses no wire."""
    yield "CM", ConnectionMachine(n, schedule="parallel"), 2
    yield "e-cube", HypercubeNetwork(n, routing="ecube"), 1
    yield "adaptive", HypercubeNetwork(n, routing="adaptive"), 1


def _distance(n: int, traffic: Pattern) -> float:
    """Mean number of wires that a packet has to cross: d/2 if destinations are uniform."""
    plan = Hypercube(n)
    favourite = (
        sum(plan.distance(x, y) for x, y in enumerate(traffic.where.favourites)) / plan.terminals
    )
    bias = traffic.where.bias
    return bias * favourite + (1 - bias) * n / 2


def _crossed(result: Result) -> float | None:
    """Mean number of wires that packets crossed: traffic of the wires over that of terminals."""
    wires = sum(use for name, use in result.links.items() if _joins_nodes(name))
    ports = 1 << result.parameters["n"]
    return wires / (result.throughput * ports) if result.throughput else None


def _joins_nodes(link: str) -> bool:
    """Whether a link joins two nodes; the others lead to terminals."""
    return " -> terminal " not in link


def _rows(options: Options) -> Iterator[Row]:
    loads = (0.3, 1.0) if options.quick else _LOADS
    for n in (2,) if options.quick else DIMENSIONS:
        window = max(_WINDOW, min(_MOST, _SLOTS >> n))
        cycles = options.cycles or (_WINDOW if options.quick else window)
        for router, network, overhead in three_routers(n):
            patterns = [pattern(name, network.ports) for name in TRAFFIC]
            runs = [
                Run(traffic, load, cycles, 100 if options.quick else 200, options.seed, 16)
                for traffic in patterns
                for load in (ZERO_LOAD, *loads)
            ]
            results = options.simulated(network, runs, bins=2)
            for traffic in patterns:
                own = [result for result in results if result.traffic == traffic.name]
                distance = _distance(n, traffic)
                zero_load, *points = own
                yield {
                    "n": n,
                    "router": router,
                    "traffic": traffic.name,
                    "distance": distance,
                    "crossed": _crossed(zero_load),
                    "predicted": distance + overhead,
                    "measured": zero_load.network_latency.mean,
                    "most": max(point.throughput for point in points),
                    "full": points[-1].throughput,
                    "loads": [point.offered_load for point in points],
                    "throughputs": [point.throughput for point in points],
                    "latencies": [point.network_latency.mean for point in points],
                }


def _curve(key: str) -> Lines:
    """What was measured at each load; the more dimensions, the darker and wider."""
    return Lines(
        lambda row: dict(zip(row["loads"], row[key])).get,
        "-",
        "{router}",
        grid=lambda row: row["loads"],
        look=lambda row: {
            "alpha": 0.35 + 0.065 * (row["n"] - 2),
            "linewidth": 0.3 + 0.15 * (row["n"] - 2),
        },
    )


def _panel(key: str, ylabel: str, **words: Any) -> Panel:
    return Panel(
        "loads",
        [_curve(key)],
        ["n", "router"],
        ylabel=ylabel,
        colour=lambda row: ("CM", "e-cube", "adaptive").index(row["router"]),
        legend=None,
        **words,
    )


HYPERCUBE = Item(
    "stanfill-hypercube",
    "Distance, latency and throughput of three routers for hypercubes of d dimensions",
    f"{SOURCE}, 3.10",
    columns="n = d | router | traffic | distance : .2f | crossed : .2f"
    " | predicted = latency : .2f | measured : .2f | most : .3f | full = at 1 : .3f",
    rows=_rows,
    draw=Plot(
        [
            _panel(
                "throughputs",
                "throughput (packets per terminal per cycle)",
                title="{traffic}",
                ylim=(0, 1.02),
            ),
            _panel("latencies", "latency in the network (cycles)", xlabel="offered load", ylog=10),
        ],
        by="traffic",
        size=(3.4, 3.2),
        legend={"title": "darker lines for larger d", "fontsize": "medium"},
    ),
    notes=(
        "Hypercubes of 2^d nodes with one terminal each; packets of one flit. CM: the "
        "Connection Machine's router, all dimensions at once, 4 buffers per node. E-cube and "
        "adaptive: wormhole routers, queues of 4 flits (adaptive has two channels per wire).",
        "Distance: mean number of wires between source and destination (d/2 for uniform "
        f"traffic). Crossed: measured at load {ZERO_LOAD}.",
        "Latency in the network, in cycles. Predicted: without load (distance + 2, or + 1 "
        f"for wormhole routers). Measured: at load {ZERO_LOAD}.",
        "Throughput in packets per terminal per cycle: the highest at any load, and at load 1. "
        "A terminal can send and accept 1; hotspot:0.02 is limited by one terminal's output.",
    ),
)
