"""The Connection Machine with more processors per node, which use its wires better (4.1)."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..item import Item, Options, Row
from ..panels import Layer, Lines, Panel, Plot
from . import SOURCE
from .full_size import one_message_each

__all__ = ["PER_NODE"]

_DIMENSIONS = (6, 10)
_PER_NODE = (1, 2, 4, 8, 16, 32)


def _seeds(options: Options) -> int:
    return 2 if options.quick else 5


def _rows(options: Options) -> Iterator[Row]:
    sizes = product((2,) if options.quick else _DIMENSIONS, ("dimension", "parallel"))
    for n, schedule in sizes:
        before = None
        for processors in (1, 2) if options.quick else _PER_NODE:
            words: dict[str, Any] = {"n": n, "processors": processors, "schedule": schedule}
            results = one_message_each(options, _seeds(options), **words)
            steps, uses = (
                [result.statistics[name] for result in results]
                for name in ("router_steps", "wire_use")
            )
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
                "wire_use": float(np.mean(uses)),
            }
            before = mean


def _panel(y: str, title: str, ylabel: str, *layers: Layer, ylog: int = 0) -> Panel:
    return Panel(
        "per_node",
        [Lines(y, "-o", "n = {n}, {schedule}"), *layers],
        ["n", "schedule"],
        title=title,
        xlabel="processors per node",
        ylabel=ylabel,
        xlog=2,
        ylog=ylog,
        ticks=True,
    )


def _draw_twice(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axhline(2, color="black", linestyle="--", linewidth=1, label="twice")


PER_NODE = Item(
    "stanfill-processors-per-node",
    "Time of a message from each processor, against processors per node",
    f"{SOURCE}, 4.1",
    columns="n | schedule | per_node = processors per node | processors : ,"
    " | measured = steps : .1f | least | most | ratio = factor : .2f"
    " | wire_use = wire use : .2f",
    rows=_rows,
    draw=Plot(
        [
            _panel("measured", "one message from each processor", "steps", ylog=10),
            _panel("ratio", "factor for doubling", "steps / those of half as many", _draw_twice),
        ]
    ),
    notes=lambda rows, options: (
        "One message from each processor to a random one; mean, least and most steps of "
        f"{_seeds(options)} runs.",
        "Factor: steps compared with half as many processors per node. The paper says "
        "that it is less than two, because the wires are used better.",
    ),
    ignores=("cycles",),
)
