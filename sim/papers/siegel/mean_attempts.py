"""How often a packet is issued in unbuffered networks (VI-B): tau, and packets on the RTL."""

from collections.abc import Iterator

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...run.run import Run
from ...theory.unbuffered_bandwidth import (
    attempts,
    attempts_by_recurrence,
    returned_rate,
    survival,
    unbuffered_throughput,
)
from ...workload.traffic import pattern
from ..item import Item, Options, Row, deviation
from ..panels import Lines, Panel, dots
from . import SOURCE

__all__ = ["ATTEMPTS"]

_PORTS, _STAGES = 64, 6
_SLOTS = 1_600_000
"""Terminals times cycles of each measurement."""


def _rows(options: Options) -> Iterator[Row]:
    highest = unbuffered_throughput(1.0, 2, _STAGES)
    shares = (0.5, 0.9) if options.quick else (0.2, 0.4, 0.6, 0.8, 0.9)
    for delay in (16,) if options.quick else (64, 16, 4, 1):
        network = MultistageNetwork(_PORTS, switch="unbuffered", resubmit=delay)
        cycles = options.window(_SLOTS, _PORTS, least=200)
        uniform = pattern("uniform", _PORTS)
        loads = [share * highest for share in shares]
        runs = [Run(uniform, load, cycles, 1000, options.seed) for load in loads]
        for share, load, result in zip(
            shares, loads, options.simulated(network, runs, bins=1024), strict=True
        ):
            published = attempts(load, 2, _STAGES)
            yield {
                "delay": delay,
                "share": share,
                "load": load,
                "returned": returned_rate(load, 2, _STAGES),
                "survival": survival(load, 2, _STAGES),
                "published": published,
                "predicted": attempts_by_recurrence(load, 2, _STAGES),
                "measured": result.attempts,
                "published_deviation": deviation(published, result.attempts),
            }


ATTEMPTS = Item(
    "siegel-attempts",
    "How often a packet is issued in unbuffered networks: tau, recurrence (1) and RTL",
    f"{SOURCE}, VI-B",
    columns="delay = R | share = of the highest : .1f | load = p : .4f | returned = q : .4f"
    " | survival = s : .4f | published = tau : .3f | predicted = by (1) : .3f"
    " | measured = RTL : .3f | deviation = RTL against (1) : +.1%"
    " | published_deviation = tau against RTL : +.1%",
    rows=_rows,
    draw=Panel(
        "load",
        [
            dots("R = {delay}", error="", style="-o"),
            Lines("predicted", "--", look={"color": "black"}),
            Lines("published", ":", look={"color": "black"}),
        ],
        ["delay"],
        title="64 terminals, 2 x 2 boxes; dashed: by (1), dotted: tau",
        xlabel="p (new packets per terminal and cycle)",
        ylabel="attempts per packet",
        ylim=(1, None),
    ),
    notes=(
        "Uniform traffic. A dropped packet is sent again 1 to R cycles after its source knows, "
        "which is 2 log2 N cycles after it was sent.",
        "q, s and tau are the paper's, from the closed form (2). It calls tau slightly "
        "optimistic. By (1): the load at which the throughput is p, divided by p.",
    ),
)
