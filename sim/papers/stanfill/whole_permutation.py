"""Time of a whole permutation on three routers for hypercubes, against log N (3.10)."""

from collections.abc import Iterator

from ....hdl.families.connection_machine.connection_machine_graph import Hypercube
from ...run.run import Run
from ...workload.traffic import pattern
from ..item import Item, Options, Row
from ..panels import Lines, Panel, having
from . import SOURCE
from .routers_under_load import DIMENSIONS, TRAFFIC, three_routers

__all__ = ["PERMUTATION"]


def _rows(options: Options) -> Iterator[Row]:
    for n in (2,) if options.quick else (2, *DIMENSIONS):
        for router, network, overhead in three_routers(n):
            patterns = [pattern(f"one-each:{name}", network.ports) for name in TRAFFIC[1:4]]
            runs = [Run(each, seed=options.seed) for each in patterns]
            results = options.simulated(network, runs, bins=2)
            plan = Hypercube(n)
            for each, result in zip(patterns, results):
                pairs = enumerate(each.where.favourites)
                least = max(plan.distance(x, y) for x, y in pairs) + overhead
                last = result.network_latency.max
                yield {
                    "n": n,
                    "terminals": network.ports,
                    "router": router,
                    "permutation": each.name.split(":")[1],
                    "predicted": least,
                    "measured": last,
                    "ratio": last and last / least,
                    "mean": result.network_latency.mean,
                }


PERMUTATION = Item(
    "stanfill-permutation",
    "Time of a whole permutation, against log N",
    f"{SOURCE}, 3.10",
    columns="n = log2 N | terminals = N : , | router | permutation | predicted = at least : .0f"
    " | measured = last packet : .0f | ratio = times : .2f | mean : .2f",
    rows=_rows,
    draw=Panel(
        "n",
        [
            Lines("measured", "-o", "{router}"),
            Lines(
                "predicted",
                "--",
                "adaptive, at least",
                only=having(router="adaptive"),
                look={"color": "black"},
            ),
        ],
        ["router"],
        title="{permutation}",
        xlabel="log2 N",
        ylabel="cycles to the last packet",
        by="permutation",
        size=(3.8, 4),
    ),
    notes=(
        "One packet from every terminal, all in the same cycle; cycles until the last one "
        "is delivered, and on average. At least: the longest path without conflicts.",
    ),
    ignores=("cycles",),
)
