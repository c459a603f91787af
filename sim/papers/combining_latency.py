"""N simultaneous fetch-and-adds on one word, with and without combining (Siegel et al., IV-B).

The paper claims that combining satisfies a large number of requests for one word in about the time
of a single request. Without combining the memory answers them one after another.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from matplotlib.figure import Figure

from ...hdl.networks import CombiningNetwork
from ...hdl.operations.memory import find_operation
from ..run.simulation import whole_run
from .item import Column, Item, Options, PaperResult, deviation
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_LARGEST = 1024
_KINDS: tuple[tuple[int, str, Literal["pairwise", "unlimited"]], ...] = (
    (2, "none", "pairwise"),
    (2, "all", "pairwise"),
    (4, "none", "pairwise"),
    (4, "all", "pairwise"),
    (4, "all", "unlimited"),
)
"""Radix of the boxes, which operations combine, and with how many others a request combines."""


def _predicted(ports: int, stages: int, combine: str, merge: str) -> int:
    """Cycles to the last reply: one per box in each direction, and one per request in the memory.

    Boxes of even radix halve the number of requests if they combine pairwise.
    """
    if combine == "none":
        return 2 * stages + ports
    return 2 * stages + (1 if merge == "unlimited" else ports // 2**stages)


def _measure(options: Options) -> Iterator[dict[str, Any]]:
    known = (find_operation("fetch-and-add"),) if options.quick else "all"
    for radix, combine, merge in _KINDS:
        ports = radix
        while ports <= (4 if options.quick else _LARGEST):
            network = CombiningNetwork(
                ports, radix=radix, combine=combine, merge=merge, rows=1, operations=known
            )
            result = whole_run(
                network,
                traffic="all-to-one",
                seed=options.seed,
                engine=options.engine,
                progress=options.progress,
                bins=16,
                history=1,
            )
            assert result.round_trip is not None
            predicted = _predicted(ports, network.stages, combine, merge)
            yield {
                "ports": ports,
                "radix": radix,
                "combine": combine,
                "merge": "" if combine == "none" else merge,
                "stages": network.stages,
                "predicted": predicted,
                "measured": result.round_trip.max,
                "deviation": deviation(result.round_trip.max, predicted),
                "mean": result.round_trip.mean,
                "shares": result.statistics["combined"],
                "by_stage": " ".join(f"{share:.3f}" for share in result.statistics["combined"]),
                "serializable": result.serializable,
            }
            ports *= radix


def simultaneous(options: Options) -> PaperResult:
    """Time until the last of N simultaneous fetch-and-adds is answered."""
    rows = list(_measure(options))
    return PaperResult(
        columns=(
            Column("radix", "k"),
            Column("combine"),
            Column("merge"),
            Column("ports", "N", ","),
            Column("stages", "n"),
            Column("predicted", "predicted", ","),
            Column("measured", "last reply", ","),
            Column("deviation", "deviation", "+.1%"),
            Column("mean", "mean", ".1f"),
            Column("by_stage", "combined, by stage"),
            Column("serializable"),
        ),
        rows=rows,
        draw=lambda: _draw(rows),
        notes=(
            "Cycles from the offer of all N requests to the last reply. Predicted: 2 n, plus one "
            "per request that reaches the memory. These are N without combining, one if all "
            "requests that meet in a box combine, and N / 2^n if they combine in pairs.",
            "Combined, by stage: requests that were absorbed there, as a share of all N.",
            "Serializable: some order of the N additions explains the replies and the final value "
            "of the word.",
        ),
    )


def _label(radix: int, combine: str, merge: str) -> str:
    boxes = f"{radix} x {radix}"
    return f"{boxes}, no combining" if combine == "none" else f"{boxes}, {merge}"


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    time, share = figure.subplots(1, 2)
    kinds = list(dict.fromkeys((row["radix"], row["combine"], row["merge"]) for row in rows))
    bars = [kind for kind in kinds if kind[1] != "none"]
    for colour, kind in enumerate(kinds):
        points = [row for row in rows if (row["radix"], row["combine"], row["merge"]) == kind]
        sizes = [row["ports"] for row in points]
        look = {"color": f"C{colour}", "label": _label(*kind)}
        time.plot(sizes, [row["measured"] for row in points], "o", markersize=4, **look)
        predicted = [row["predicted"] for row in points]
        time.plot(sizes, predicted, "--", color=f"C{colour}", linewidth=1)
        if kind in bars:
            shares = points[-1]["shares"]
            width = 0.8 / len(bars)
            at = [
                stage + (bars.index(kind) - (len(bars) - 1) / 2) * width
                for stage in range(len(shares))
            ]
            share.bar(at, shares, width, **look)
    largest = max(row["ports"] for row in rows)
    time.set(
        xscale="log",
        yscale="log",
        xlabel="N (processors)",
        ylabel="cycles to the last reply",
        title="N simultaneous fetch-and-adds; dashed: predicted",
    )
    share.set(
        xlabel="stage",
        ylabel="share of the requests absorbed there",
        title=f"Requests combined, N = {largest:,}",
    )
    for axes in (time, share):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "combining-latency",
        "Time for N simultaneous fetch-and-adds on one word, against N and log N",
        f"{SOURCE}, IV-B",
        simultaneous,
    ),
)
