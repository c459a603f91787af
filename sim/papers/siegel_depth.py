"""Throughput of unbuffered, single-buffered and queued networks (Siegel et al., IV-A, VI-D, E).

The paper's analysis assumes unlimited queues; here they are limited. A slot that is freed in a
cycle can be filled in the same cycle (`refill`) or not, which gives *full* two meanings.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...hdl.networks import MultistageNetwork
from ..run.run import Run
from ..run.simulation import whole_runs
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_SIZES = (64, 1024)
_DEPTHS = (1, 2, 4, 8, 16)
_SLOTS = 200_000
"""Terminals times cycles of each measurement."""
_WARMUP = 400
"""Cycles until a network of these sizes has filled up."""

_OWN = {("input-queued", 1): "yes", ("output-queued", 1): "yes"}
"""The default of a switch: refill at depth 1, which would otherwise halve its throughput, and no
refill at larger depths, which keeps the path from `ready` to `ready` short."""


def _cases(options: Options) -> Iterator[dict[str, Any]]:
    sizes = _SIZES[:1] if options.quick else _SIZES
    depths = (1, 2) if options.quick else _DEPTHS
    for ports in sizes:
        yield {"ports": ports, "switch": "unbuffered", "depth": 1}
        for switch in ("input-queued", "output-queued"):
            for depth in depths:
                for refill in ("yes", "no"):
                    own = _OWN.get((switch, depth), "no") == refill
                    yield {
                        "ports": ports,
                        "switch": switch,
                        "depth": depth,
                        "refill": refill,
                        "own": own,
                    }


def saturation(options: Options) -> PaperResult:
    """Throughput at load 1 under uniform traffic, 2 x 2 boxes."""
    rows = []
    for case in _cases(options):
        words = {name: case[name] for name in ("switch", "depth", "refill") if name in case}
        network = MultistageNetwork(case["ports"], **words)
        slots = _SLOTS // 10 if options.quick else _SLOTS
        cycles = options.cycles or max(200, slots // case["ports"])
        run = Run(pattern("uniform", case["ports"]), 1.0, cycles, _WARMUP, options.seed, 16)
        result = whole_runs(
            network, [run], engine=options.engine, bins=32, progress=options.progress
        )[0]
        rows.append(case | {"measured": result.throughput, "ci99": result.throughput_ci99})
    return PaperResult(
        columns=(
            Column("ports", "N", ","),
            Column("switch"),
            Column("depth"),
            Column("refill", "refill"),
            Column("own", "own"),
            Column("measured", "saturation throughput", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Packets per terminal per cycle at load 1, uniform traffic, 2 x 2 boxes. The "
            "input-queued switch of depth 1 is the single-buffered switch.",
            "Refill: a slot freed in a cycle can be filled in the same cycle. Own: the default of "
            "a switch. At depth 1 it refills (otherwise every link idles in every other cycle). "
            "At larger depths it does not, so `ready` is not a chain through all stages.",
        ),
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    sizes = list(dict.fromkeys(row["ports"] for row in rows))
    figure = Figure(figsize=(5.5 * len(sizes), 4.4), layout="constrained")
    for axes, ports in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes):
        for colour, switch in enumerate(("input-queued", "output-queued")):
            for refill, style in (("yes", "-o"), ("no", "--s")):
                points = [
                    row
                    for row in rows
                    if (row["ports"], row["switch"], row.get("refill")) == (ports, switch, refill)
                ]
                label = f"{switch}, {'refill' if refill == 'yes' else 'no refill'}"
                axes.errorbar(
                    [row["depth"] for row in points],
                    [row["measured"] for row in points],
                    [row["ci99"] or 0 for row in points],
                    fmt=f"{style}C{colour}",
                    markersize=4,
                    linewidth=1,
                    capsize=2,
                    label=label,
                )
        (base,) = (row for row in rows if (row["ports"], row["switch"]) == (ports, "unbuffered"))
        axes.axhline(base["measured"], color="grey", linestyle=":", label="unbuffered")
        depths = sorted({row["depth"] for row in rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(depths, [str(depth) for depth in depths])
        axes.set(
            xlabel="depth of a queue (packets)",
            ylabel="saturation throughput (packets per terminal per cycle)",
            ylim=(0, 1),
            title=f"N = {ports:,}",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "siegel-depth",
        "Saturation throughput by kind and depth of queues, for both meanings of full",
        f"{SOURCE}, IV-A and VI-D",
        saturation,
    ),
)
