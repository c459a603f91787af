"""The Connection Machine's router at full size (Stanfill, section 4).

One message from each of 65,536 processors takes 800 microseconds (4.2); more processors per node
use its wires better (4.1). The time of the machine follows from the petit cycles of the routers: in
each, a message crosses a serial wire at one bit per clock cycle.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.networks import ConnectionMachine
from ..measure.result import Result
from ..run.run import Run
from ..run.simulation import whole_runs
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "SOURCE"]

SOURCE = "Stanfill 1987"

CLOCK_MHZ = 4
"""Clock frequency of the Connection Machine CM-1."""
PUBLISHED_US = 800
"""Published time for 65,536 messages of 32 bits (4.2)."""
_PROCESSORS = 16
_LARGEST = 12
_DIMENSIONS = (6, 10)
_PER_NODE = (1, 2, 4, 8, 16, 32)
_LEAST = _PROCESSORS * _LARGEST // 2
"""Fewest petit cycles, of one dimension each, in which a node's messages can cross n/2 wires."""


def _one_each(options: Options, seeds: int, **parameters: Any) -> list[Result]:
    """One message from every processor to a random one, with several seeds in parallel."""
    network = ConnectionMachine(**parameters)
    traffic = pattern("one-each", network.ports)
    return whole_runs(
        network,
        [Run(traffic, seed=options.seed + number) for number in range(seeds)],
        engine=options.engine,
        bins=2,
        progress=options.progress,
    )


def _full_size(options: Options) -> Iterator[dict[str, Any]]:
    per_node = 2 if options.quick else _PROCESSORS
    for n in (2,) if options.quick else (4, 6, 8, 10, _LARGEST):
        kinds = [("petit", "oldest"), ("parallel", "oldest")]
        if n == _LARGEST:
            kinds += [("petit", "fixed"), ("parallel", "fixed")]
        for schedule, priority in kinds:
            parameters: dict[str, Any] = {
                "n": n,
                "processors": per_node,
                "payload": 32,
                "schedule": schedule,
                "priority": priority,
            }
            (result,) = _one_each(options, 1, **parameters)
            told = result.statistics
            processors = per_node << n
            # A message crosses n/2 wires on average; a node sends P messages over n wires or one.
            served = n if schedule == "parallel" else 1
            bits = ConnectionMachine(**parameters, links="serial").step
            yield {
                "n": n,
                "processors": processors,
                "schedule": schedule,
                "priority": priority,
                "router": f"{schedule}, {priority}",
                "predicted": per_node * n / 2 / served,
                "measured": told["petit_cycles"],
                "wire_use": told["wire_use"],
                "referred": told["referred"] / processors,
                "stored": told["buffer_occupancy"]["mean"],
                "bits": bits,
                "microseconds": told["petit_cycles"] * bits / CLOCK_MHZ,
                "published": PUBLISHED_US if n == _LARGEST else None,
            }


def one_message_each(options: Options) -> PaperResult:
    """Time for a message from every processor to a random one, up to the size of the machine."""
    rows = list(_full_size(options))
    return PaperResult(
        columns=(
            Column("processors", "N", ","),
            Column("router"),
            Column("predicted", "at least", ".0f"),
            Column("measured", "petit cycles", ","),
            Column("wire_use", "wire use", ".2f"),
            Column("referred", "referred", ".2f"),
            Column("stored", "stored", ".2f"),
            Column("bits"),
            Column("microseconds", "us at 4 MHz", ",.0f"),
            Column("published", "paper"),
        ),
        rows=rows,
        draw=lambda: _draw_full_size(rows),
        notes=(
            "2^n nodes of P = 16 processors (2 with --quick), 4 buffers per node. Petit cycles: "
            "steps of the routers, in which one dimension is served (petit) or all (parallel).",
            "At least: the mean distance is n/2, so a node's P messages cross P n/2 wires, of "
            "which it serves one or n per step. Wire use: the share of the wires served that "
            "carried a message.",
            "N: processors. Referred: mean deflections per message. Stored: mean messages in a "
            "node.",
            "Bits of a message on a serial wire: a valid bit of 1, then its relative address, "
            "processor, 32 bits of payload, and with priority oldest its step of birth. "
            f"Microseconds: petit cycles times bits at {CLOCK_MHZ} MHz.",
            f"One dimension at a time takes at least {_LEAST} petit cycles, if no wire is ever "
            f"idle: {_LEAST * 32 / CLOCK_MHZ:.0f} us for the 32 bits of data alone, and "
            f"{_LEAST * 49 / CLOCK_MHZ:,.0f} us with address and processor. The published "
            f"{PUBLISHED_US} us lie between what these routers take with one dimension at a time "
            "and with all at once.",
        ),
    )


def _draw_full_size(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    steps, time = figure.subplots(1, 2)
    for colour, schedule in enumerate(("petit", "parallel")):
        for priority, mark in (("oldest", "o"), ("fixed", "x")):
            points = [
                row for row in rows if (row["schedule"], row["priority"]) == (schedule, priority)
            ]
            sizes = [row["processors"] for row in points]
            look = {"color": f"C{colour}", "label": f"{schedule}, {priority}"}
            style = "-" if priority == "oldest" else ""
            steps.plot(sizes, [row["measured"] for row in points], f"{style}{mark}", **look)
            time.plot(sizes, [row["microseconds"] for row in points], f"{style}{mark}", **look)
            if priority == "oldest":
                steps.plot(
                    sizes, [row["predicted"] for row in points], "--", color=f"C{colour}", lw=1
                )
    published = [row for row in rows if row["published"]]
    if published:
        time.plot(published[0]["processors"], PUBLISHED_US, "k*", markersize=12, label="published")
    steps.set(ylabel="petit cycles", title="one message from each; dashed: at least")
    time.set(ylabel=f"microseconds at {CLOCK_MHZ} MHz, bit-serial", title="time of the machine")
    for axes in (steps, time):
        axes.set(xscale="log", yscale="log", xlabel="processors")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


def _per_node(options: Options) -> Iterator[dict[str, Any]]:
    seeds = 2 if options.quick else 5
    for n in (2,) if options.quick else _DIMENSIONS:
        for schedule in ("petit", "parallel"):
            before = None
            for processors in (1, 2) if options.quick else _PER_NODE:
                results = _one_each(options, seeds, n=n, processors=processors, schedule=schedule)
                steps = [result.statistics["petit_cycles"] for result in results]
                mean = float(np.mean(steps))
                yield {
                    "n": n,
                    "schedule": schedule,
                    "per_node": processors,
                    "processors": processors << n,
                    "measured": mean,
                    "least": min(steps),
                    "most": max(steps),
                    "ratio": before and mean / before,
                    "wire_use": float(
                        np.mean([result.statistics["wire_use"] for result in results])
                    ),
                }
                before = mean


def processors_per_node(options: Options) -> PaperResult:
    """The factor by which the time grows when the number of processors per node is doubled."""
    rows = list(_per_node(options))
    return PaperResult(
        columns=(
            Column("n"),
            Column("schedule"),
            Column("per_node", "processors per node"),
            Column("processors", "processors", ","),
            Column("measured", "petit cycles", ".1f"),
            Column("least", "least"),
            Column("most", "most"),
            Column("ratio", "factor", ".2f"),
            Column("wire_use", "wire use", ".2f"),
        ),
        rows=rows,
        draw=lambda: _draw_per_node(rows),
        notes=(
            "One message from each processor to a random one; mean, least and most petit cycles of "
            f"{2 if options.quick else 5} runs.",
            "Factor: petit cycles compared with half as many processors per node. The paper says "
            "that it is less than two, because the wires are used better.",
        ),
    )


def _draw_per_node(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    steps, factor = figure.subplots(1, 2)
    kinds = list(dict.fromkeys((row["n"], row["schedule"]) for row in rows))
    for colour, kind in enumerate(kinds):
        points = [row for row in rows if (row["n"], row["schedule"]) == kind]
        counts = [row["per_node"] for row in points]
        label = f"n = {kind[0]}, {kind[1]}"
        steps.plot(counts, [row["measured"] for row in points], "-o", label=label)
        factor.plot(
            counts[1:],
            [row["ratio"] for row in points[1:]],
            "-o",
            color=f"C{colour}",
            label=label,
        )
    factor.axhline(2, color="black", linestyle="--", linewidth=1, label="twice")
    steps.set(ylabel="petit cycles", yscale="log", title="one message from each processor")
    factor.set(ylabel="petit cycles / those of half as many", title="factor for doubling")
    for axes in (steps, factor):
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, counts)
        axes.set_xlabel("processors per node")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "stanfill-800us",
        "A message from each of 65,536 processors: petit cycles, and time beside 800 microseconds",
        f"{SOURCE}, 4.2",
        one_message_each,
    ),
    Item(
        "stanfill-processors-per-node",
        "Time of a message from each processor, against processors per node",
        f"{SOURCE}, 4.1",
        processors_per_node,
    ),
)
