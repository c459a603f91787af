"""Throughput of unbuffered, single-buffered and queued networks (Siegel et al., IV-A, VI-D, E).

The paper's analysis assumes unlimited queues; here they are limited. A slot that is freed in a
cycle can be filled in the same cycle (`refill`) or not, which gives *full* two meanings.
"""

from collections.abc import Iterator
from itertools import product

from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ...run.run import Run
from ...workload.traffic import pattern
from ..item import Item, Options, Row, throughput_row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["DEPTH"]

_SLOTS = 200_000
"""Terminals times cycles of each measurement."""
_WARMUP = 400
"""Cycles until a network of these sizes has filled up."""
_OWN = {("input-queued", 1): "yes", ("output-queued", 1): "yes"}
"""The default of a switch: refill at depth 1, which would otherwise halve its throughput, and no
refill at larger depths, which keeps the path from `ready` to `ready` short."""


def _cases(options: Options) -> Iterator[Row]:
    for ports in (64,) if options.quick else (64, 1024):
        yield {"ports": ports, "switch": "unbuffered", "depth": 1}
        for switch, depth, refill in product(
            ("input-queued", "output-queued"),
            (1, 2) if options.quick else (1, 2, 4, 8, 16),
            ("yes", "no"),
        ):
            case = {"ports": ports, "switch": switch, "depth": depth, "refill": refill}
            yield case | {"own": _OWN.get((switch, depth), "no") == refill}


def _rows(options: Options) -> Iterator[Row]:
    for case in _cases(options):
        words = {name: case[name] for name in ("switch", "depth", "refill") if name in case}
        network = MultistageNetwork(case["ports"], **words)
        cycles = options.window(_SLOTS, network.ports, least=200)
        uniform = pattern("uniform", network.ports)
        run = Run(uniform, 1.0, cycles, _WARMUP, options.seed, 16)
        (result,) = options.simulated(network, [run], bins=32)
        yield case | throughput_row(result, None)


DEPTH = Item(
    "siegel-depth",
    "Saturation throughput by kind and depth of queues, for both meanings of full",
    f"{SOURCE}, IV-A and VI-D",
    columns="ports = N : , | switch | depth | refill | own"
    " | measured = saturation throughput : .4f | ci99 = ± 99 % : .4f",
    rows=_rows,
    draw=Panel(
        "depth",
        [
            Lines(
                "measured",
                lambda row: "-o" if row["refill"] == "yes" else "--s",
                lambda row: (
                    f"{row['switch']}, {'refill' if row['refill'] == 'yes' else 'no refill'}"
                ),
                error="ci99",
                only=lambda row: "refill" in row,
            ),
            lambda axes, rows: axes.axhline(
                rows[0]["measured"], color="grey", linestyle=":", label="unbuffered"
            ),
        ],
        ["switch", "refill"],
        colour=lambda row: int(row["switch"] == "output-queued"),
        title="N = {ports:,}",
        xlabel="depth of a queue (packets)",
        ylabel="saturation throughput (packets per terminal per cycle)",
        ylim=(0, 1),
        xlog=2,
        ticks=True,
        by="ports",
    ),
    notes=(
        "Packets per terminal per cycle at load 1, uniform traffic, 2 x 2 boxes. The "
        "input-queued switch of depth 1 is the single-buffered switch.",
        "Refill: a slot freed in a cycle can be filled in the same cycle. Own: the default of "
        "a switch. At depth 1 it refills (otherwise every link idles in every other cycle). "
        "At larger depths it does not, so `ready` is not a chain through all stages.",
    ),
)
