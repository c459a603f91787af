"""The Connection Machine's router at full size (Stanfill, section 4).

One message from each of 65,536 processors takes 800 microseconds (4.2); more processors per node
use its wires better (4.1). The time of the machine follows from the steps of the routers: in
each, a message crosses a serial wire at one bit per clock cycle. The paper gives no clock
frequency.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.networks import ConnectionMachine
from ..measure.result import Result
from ..run.messages import Message, send_messages
from ..run.run import Run
from ..run.simulation import whole_runs
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "SOURCE"]

SOURCE = "Stanfill 1987"

CLOCK_MHZ = 4
"""An assumption: the paper does not give the clock frequency."""
PUBLISHED_US = 800
"""Published time for 65,536 messages of 32 bits (4.2)."""
_PROCESSORS = 16
_LARGEST = 12
_SERIAL = 6
"""Largest dimension for which serial wires are simulated too."""
_DIMENSIONS = (6, 10)
_PER_NODE = (1, 2, 4, 8, 16, 32)
_LEAST = _PROCESSORS * _LARGEST // 2
"""Fewest dimension cycles in which a node's messages can cross n/2 wires."""


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
        kinds = [("dimension", "oldest"), ("parallel", "oldest")]
        if n == _LARGEST:
            kinds += [("dimension", "fixed"), ("parallel", "fixed")]
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
            # Pipelined, messages make the same steps, but these are shorter.
            for timing in (schedule,) if schedule == "parallel" else ("dimension", "pipelined"):
                serial = ConnectionMachine(**{**parameters, "schedule": timing, "links": "serial"})
                cycles = (told["router_steps"] + serial.parts) * serial.step
                yield {
                    "n": n,
                    "processors": processors,
                    "schedule": timing,
                    "priority": priority,
                    "router": f"{timing}, {priority}",
                    "predicted": per_node * n / 2 / served,
                    "measured": told["router_steps"],
                    "wire_use": told["wire_use"],
                    "referred": told["referred"] / processors,
                    "stored": told["buffer_occupancy"]["mean"],
                    "bits": serial.step,
                    "microseconds": cycles / CLOCK_MHZ,
                    "serial": _serial(serial, options) if n <= _SERIAL else None,
                    "published": PUBLISHED_US if n == _LARGEST else None,
                }


def _serial(network: ConnectionMachine, options: Options) -> float:
    """Microseconds from the first offer to the last delivery, over serial wires."""
    destinations = np.random.default_rng(options.seed).integers(network.ports, size=network.ports)
    messages = [Message(*pair, 1) for pair in enumerate(destinations.tolist())]
    return send_messages(network, messages, engine=options.engine).cycles / CLOCK_MHZ


def one_message_each(options: Options) -> PaperResult:
    """Time for a message from every processor to a random one, up to the size of the machine."""
    rows = list(_full_size(options))
    return PaperResult(
        columns=(
            Column("processors", "N", ","),
            Column("router"),
            Column("predicted", "at least", ".0f"),
            Column("measured", "steps", ","),
            Column("wire_use", "wire use", ".2f"),
            Column("referred", "referred", ".2f"),
            Column("stored", "stored", ".2f"),
            Column("bits"),
            Column("microseconds", "us at 4 MHz", ",.0f"),
            Column("serial", "serial", ",.0f"),
            Column("published", "paper"),
        ),
        rows=rows,
        draw=lambda: _draw_full_size(rows),
        notes=(
            "2^n nodes of P = 16 processors (2 with --quick), 4 buffers per node. Steps: of the "
            "routers; each serves one dimension (dimension, pipelined) or all (parallel).",
            "At least: the mean distance is n/2, so a node's P messages cross P n/2 wires, of "
            "which it serves one or n per step. Wire use: the share of the wires served that "
            "carried a message.",
            "N: processors. Referred: mean deflections per message. Stored: mean messages in a "
            "node.",
            "Bits: clock cycles of a step on serial wires. For a whole message a valid bit of 1, "
            "then its relative address, processor, 32 bits of payload, and with priority oldest "
            "its step of birth; pipelined, only what is before the payload, which follows.",
            f"Microseconds: steps times bits at {CLOCK_MHZ} MHz, an assumption, and pipelined the "
            "steps in which the last payload follows. Serial: measured with serial wires, other "
            "random destinations.",
            f"One dimension at a time takes at least {_LEAST} steps, if no wire is ever idle: "
            f"{_LEAST * 49 / CLOCK_MHZ:,.0f} us with whole messages of 49 bits, "
            f"{_LEAST * 17 / CLOCK_MHZ:,.0f} us with the 17 before the payload.",
        ),
    )


def _draw_full_size(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    steps, time = figure.subplots(1, 2)
    for colour, schedule in enumerate(("dimension", "parallel", "pipelined")):
        for priority, mark in (("oldest", "o"), ("fixed", "x")):
            points = [
                row for row in rows if (row["schedule"], row["priority"]) == (schedule, priority)
            ]
            sizes = [row["processors"] for row in points]
            look = {"color": f"C{colour}", "label": f"{schedule}, {priority}"}
            style = "-" if priority == "oldest" else ""
            if schedule != "pipelined":
                steps.plot(sizes, [row["measured"] for row in points], f"{style}{mark}", **look)
            time.plot(sizes, [row["microseconds"] for row in points], f"{style}{mark}", **look)
            if priority == "oldest" and schedule != "pipelined":
                steps.plot(
                    sizes, [row["predicted"] for row in points], "--", color=f"C{colour}", lw=1
                )
    published = [row for row in rows if row["published"]]
    if published:
        time.plot(
            published[0]["processors"],
            PUBLISHED_US,
            "k*",
            markersize=16,
            markerfacecolor="none",
            label="published",
        )
    steps.set(ylabel="steps", title="one message from each; dashed: at least")
    time.set(ylabel=f"microseconds at {CLOCK_MHZ} MHz, bit-serial", title="time of the machine")
    for axes in (steps, time):
        axes.set(xscale="log", yscale="log", xlabel="processors")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


def _per_node(options: Options) -> Iterator[dict[str, Any]]:
    seeds = 2 if options.quick else 5
    for n in (2,) if options.quick else _DIMENSIONS:
        for schedule in ("dimension", "parallel"):
            before = None
            for processors in (1, 2) if options.quick else _PER_NODE:
                results = _one_each(options, seeds, n=n, processors=processors, schedule=schedule)
                steps = [result.statistics["router_steps"] for result in results]
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
            Column("measured", "steps", ".1f"),
            Column("least", "least"),
            Column("most", "most"),
            Column("ratio", "factor", ".2f"),
            Column("wire_use", "wire use", ".2f"),
        ),
        rows=rows,
        draw=lambda: _draw_per_node(rows),
        notes=(
            "One message from each processor to a random one; mean, least and most steps of "
            f"{2 if options.quick else 5} runs.",
            "Factor: steps compared with half as many processors per node. The paper says "
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
    steps.set(ylabel="steps", yscale="log", title="one message from each processor")
    factor.set(ylabel="steps / those of half as many", title="factor for doubling")
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
        "A message from each of 65,536 processors: steps, and time beside 800 microseconds",
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
