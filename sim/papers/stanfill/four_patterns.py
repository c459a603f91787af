"""The four patterns of communication of section 2.1, on five networks of the survey."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from math import isqrt

import numpy as np

from ....hdl.catalogue.catalogue import build
from ...run.run import Run
from ...workload.trace import Trace, TracePacket
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["PATTERNS", "PATTERNS_OF_2_1"]

Pairs = list[tuple[int, int]]

_BITS = (2, 4, 6)
"""A crossbar has at most 2^6 terminals."""

_FAN = 8
"""Messages of a processor where many send to many."""


def _local(processors: int, random: np.random.Generator) -> Pairs:
    side = isqrt(processors)
    near = product(range(side), range(side), ((0, 1), (1, 0), (0, -1), (-1, 0)))
    return [
        (side * y + x, side * (y + up) + x + across)
        for y, x, (up, across) in near
        if 0 <= y + up < side and 0 <= x + across < side
    ]


def _regular(processors: int, random: np.random.Generator) -> Pairs:
    return [(child, (child - 1) // 2) for child in range(1, processors)]


def _arbitrary(processors: int, random: np.random.Generator) -> Pairs:
    return list(enumerate(random.permutation(processors).tolist()))


def _many(processors: int, random: np.random.Generator) -> Pairs:
    return [pair for _ in range(_FAN) for pair in _arbitrary(processors, random)]


PATTERNS_OF_2_1: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "local: four neighbours in a grid": _local,
    "regular: children to parents": _regular,
    "arbitrary: a permutation": _arbitrary,
    f"fan-out and fan-in of {_FAN}": _many,
}
"""The messages of N processors."""


def _networks(bits: int) -> dict[str, str]:
    """In the words of `build`, for 2^bits terminals."""
    return {
        "grid": f"mesh k={1 << bits // 2} n=2",
        "fat tree": f"fat-tree k=4 n={bits // 2}",
        "omega": f"omega ports={1 << bits} switch=wormhole",
        "hypercube": f"hypercube n={bits}",
        "crossbar": f"crossbar ports={1 << bits} switch=wormhole",
    }


def _rows(options: Options) -> Iterator[Row]:
    for bits in _BITS[:1] if options.quick else _BITS:
        random = np.random.default_rng(options.seed)
        patterns = {name: pairs(1 << bits, random) for name, pairs in PATTERNS_OF_2_1.items()}
        for name, words in _networks(bits).items():
            network = build(words)
            for pattern, pairs in patterns.items():
                packets = tuple(TracePacket(0, *pair) for pair in pairs)
                (result,) = options.simulated(network, [Run(Trace(pattern, packets))], bins=2)
                ends = [Counter(own) for own in zip(*pairs)]
                yield {
                    "pattern": pattern,
                    "network": name,
                    "terminals": network.ports,
                    "messages": len(pairs),
                    "predicted": max(max(end.values()) for end in ends),
                    "measured": result.latency.max,
                }


PATTERNS = Item(
    "stanfill-patterns",
    "Local, regular and arbitrary patterns, and fan-out with fan-in, on five networks",
    f"{SOURCE}, 2.1",
    columns="pattern | network | terminals = N : , | messages : , | predicted = at least : .0f"
    " | measured = last packet : .0f",
    rows=_rows,
    draw=Panel(
        "terminals",
        [Lines("measured", "-o", "{network}")],
        ["network"],
        title="{pattern}",
        xlabel="N",
        ylabel="cycles to the last packet",
        by="pattern",
        size=(3.6, 4),
        xlog=2,
        ylog=10,
        ticks=True,
    ),
    notes=(
        "All messages are offered in cycle 0, packets of one flit; cycles until the last one is "
        "delivered. At least: the most messages of a source or a sink. Processors of the grid "
        "pattern have the same numbers in all networks, row by row.",
    ),
    ignores=("cycles",),
)
