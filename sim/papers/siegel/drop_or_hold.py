"""Drop or hold in circuit-switched networks under heavy traffic, by length of message (VI-C)."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...run.run import Run
from ...workload.traffic import pattern
from ..item import Item, Options, Row, grouped, throughput_of
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["CIRCUIT"]

_PORTS = 64
_SLOTS = 2_560_000
"""Terminals times cycles of each measurement."""
_POLICIES: tuple[dict[str, Any], ...] = (
    {"policy": "hold"},
    *({"policy": "drop", "resubmit": delay} for delay in (1, 8, 16, 64)),
    {"policy": "modified-hold", "resubmit": 8},
)


def _measured(options: Options) -> Iterator[Row]:
    lengths = (1, 16) if options.quick else (1, 4, 8, 10, 12, 16, 32, 64)
    policies = _POLICIES[:3:2] if options.quick else _POLICIES
    for length, words in product(lengths, policies):
        network = MultistageNetwork(_PORTS, switch="circuit", length=length, **words)
        cycles = options.window(_SLOTS, _PORTS, least=200)
        warmup = min(2000, cycles)
        run = Run(pattern("uniform", _PORTS), 1.0, cycles, warmup, options.seed)
        (result,) = options.simulated(network, [run], bins=32)
        ci99 = result.throughput_ci99
        yield {
            "length": length,
            "policy": words["policy"],
            "delay": words.get("resubmit"),
            "name": f"{words['policy']} {words.get('resubmit', '')}".strip(),
            "measured": throughput_of(result) * length,
            "ci99": None if ci99 is None else ci99 * length,
            "attempts": result.attempts,
        }


def _rows(options: Options) -> Iterator[Row]:
    for rows in grouped(_measured(options), "length").values():
        hold = next(row["measured"] for row in rows if row["policy"] == "hold")
        yield from (row | {"ratio": row["measured"] / hold} for row in rows)


CIRCUIT = Item(
    "siegel-circuit",
    "Drop or hold in circuit-switched networks under heavy traffic",
    f"{SOURCE}, VI-C",
    columns="length = words | policy | delay = R | measured = words per cycle : .4f"
    " | ci99 = ± 99 % : .4f | ratio = of hold : .3f | attempts : .2f",
    rows=_rows,
    draw=Panel(
        "length",
        [Lines("measured", "-o", "{name}", error="ci99")],
        ["name"],
        title="64 terminals, 2 x 2 boxes, all sources busy",
        xlabel="words of a message",
        ylabel="words per terminal and cycle",
        ylim=(0, None),
        xlog=2,
        ticks=True,
    ),
    notes=(
        "The paper, after simulations of others: drop is better than hold for transfers that "
        "take more than about ten cycles. R: a dropped request is repeated after 1 to R cycles. "
        "Modified hold waits for 16 cycles, and then drops.",
    ),
)
