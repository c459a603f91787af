"""The Connection Machine at full size: one message from each of 65,536 processors (4.2).

The paper says that it takes 800 microseconds. The time of the machine follows from the steps of the
routers: in each, a message crosses a serial wire at one bit per clock cycle. The paper gives no
clock frequency.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from ...measure.result import Result
from ...run.messages import Message
from ...run.messenger import send_messages
from ...run.run import Run
from ...run.simulation import whole_runs
from ...workload.traffic import pattern
from ..item import Item, Options, Row
from ..panels import Lines, Panel, Plot, having
from . import SOURCE

__all__ = ["CLOCK_MHZ", "FULL_SIZE", "PUBLISHED_US", "one_message_each"]


def one_message_each(options: Options, seeds: int, **parameters: Any) -> list[Result]:
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


CLOCK_MHZ = 4
"""An assumption: the paper does not give the clock frequency."""
PUBLISHED_US = 800
"""Published time for 65,536 messages of 32 bits (4.2)."""
_PROCESSORS = 16
_LARGEST = 12
_SERIAL = 6
"""Largest dimension for which serial wires are simulated too."""
_LEAST = _PROCESSORS * _LARGEST // 2
"""Fewest dimension cycles in which a node's messages can cross n/2 wires."""


def _rows(options: Options) -> Iterator[Row]:
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
            (result,) = one_message_each(options, 1, **parameters)
            statistics = result.statistics
            processors = per_node << n
            # A message crosses n/2 wires on average; a node sends P messages over n wires or one.
            served = n if schedule == "parallel" else 1
            # Pipelined, messages make the same steps, but these are shorter.
            for timing in (schedule,) if schedule == "parallel" else ("dimension", "pipelined"):
                serial = ConnectionMachine(**(parameters | {"schedule": timing, "links": "serial"}))
                cycles = (statistics["router_steps"] + serial.parts) * serial.step
                yield {
                    "processors": processors,
                    "schedule": timing,
                    "priority": priority,
                    "router": f"{timing}, {priority}",
                    "predicted": per_node * n / 2 / served,
                    "measured": statistics["router_steps"],
                    "wire_use": statistics["wire_use"],
                    "referred": statistics["referred"] / processors,
                    "stored": statistics["buffer_occupancy"]["mean"],
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


def _steps(row: Row) -> bool:
    """Pipelined, the steps are those of one dimension at a time."""
    return bool(row["schedule"] != "pipelined")


def _panel(title: str, ylabel: str, *layers: Lines) -> Panel:
    return Panel(
        "processors",
        layers,
        ["schedule", "priority"],
        title=title,
        xlabel="processors",
        ylabel=ylabel,
        xlog=10,
        ylog=10,
        colour=lambda row: ("dimension", "parallel", "pipelined").index(row["schedule"]),
    )


def _style(row: Row) -> str:
    return "-o" if row["priority"] == "oldest" else "x"


FULL_SIZE = Item(
    "stanfill-800us",
    "A message from each of 65,536 processors: steps, and time beside 800 microseconds",
    f"{SOURCE}, 4.2",
    columns="processors = N : , | router | predicted = at least : .0f | measured = steps : ,"
    " | wire_use = wire use : .2f | referred : .2f | stored : .2f | bits"
    " | microseconds = us at 4 MHz : ,.0f | serial : ,.0f | published = paper",
    rows=_rows,
    draw=Plot(
        [
            _panel(
                "one message from each; dashed: at least",
                "steps",
                Lines("measured", _style, "{router}", only=_steps),
                Lines(
                    "predicted", "--", only=lambda row: _steps(row) and row["priority"] == "oldest"
                ),
            ),
            _panel(
                "time of the machine",
                f"microseconds at {CLOCK_MHZ} MHz, bit-serial",
                Lines("microseconds", _style, "{router}"),
                Lines(
                    "published",
                    "*",
                    "published",
                    only=having(schedule="dimension", priority="oldest"),
                    look={"markersize": 16, "markerfacecolor": "none", "color": "black"},
                ),
            ),
        ],
        size=(5.5, 5.4),
    ),
    notes=(
        "2^n nodes of P = 16 processors (2 with --quick), 4 buffers per node. Steps: of the "
        "routers; each serves one dimension (dimension, pipelined) or all (parallel).",
        "At least: the mean distance is n/2, so a node's P messages cross P n/2 wires, of "
        "which it serves one or n per step. Wire use: the share of the wires served that "
        "carried a message.",
        "N: processors. Referred: mean deflections per message. Stored: mean messages in a node.",
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
    ignores=("cycles",),
)
