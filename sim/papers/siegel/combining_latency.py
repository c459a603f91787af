"""N simultaneous fetch-and-adds on one word, with and without combining (Siegel et al., IV-B).

The paper claims that combining satisfies a large number of requests for one word in about the time
of a single request. Without combining the memory answers them one after another.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from matplotlib.axes import Axes

from ....hdl.families.combining_network import CombiningNetwork
from ....hdl.operations.memory import find_operation
from ...run.simulation import whole_run
from ..item import Item, Options, Row, grouped
from ..panels import Lines, Panel, Plot
from . import SOURCE

__all__ = ["LATENCY"]

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


def _rows(options: Options) -> Iterator[Row]:
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
                "mean": result.round_trip.mean,
                "shares": result.statistics["combined"],
                "by_stage": " ".join(f"{share:.3f}" for share in result.statistics["combined"]),
                "serializable": result.serializable,
            }
            ports *= radix


_KIND = ("radix", "combine", "merge")


def _label(row: Row) -> str:
    return f"{row['radix']} x {row['radix']}, {row['merge'] or 'no combining'}"


def _draw_shares(axes: Axes, rows: Sequence[Row]) -> None:
    """Bars for the largest network of each kind that combines, stage by stage."""
    kinds = [own[-1] for own in grouped(rows, *_KIND).values()]
    shown = [(number, row) for number, row in enumerate(kinds) if row["merge"]]
    width = 0.8 / len(shown)
    for place, (number, row) in enumerate(shown):
        shift = (place - (len(shown) - 1) / 2) * width
        at = [stage + shift for stage in range(len(row["shares"]))]
        axes.bar(at, row["shares"], width, color=f"C{number}", label=_label(row))
    axes.set_title(f"Requests combined, N = {max(row['ports'] for row in rows):,}")


LATENCY = Item(
    "combining-latency",
    "Time for N simultaneous fetch-and-adds on one word, against N and log N",
    f"{SOURCE}, IV-B",
    columns="radix = k | combine | merge | ports = N : , | stages = n | predicted : ,"
    " | measured = last reply : , | deviation : +.1% | mean : .1f"
    " | by_stage = combined, by stage | serializable",
    rows=_rows,
    draw=Plot(
        [
            Panel(
                "ports",
                [Lines("measured", "o", _label), Lines("predicted", "--")],
                _KIND,
                title="N simultaneous fetch-and-adds; dashed: predicted",
                xlabel="N (processors)",
                ylabel="cycles to the last reply",
                xlog=10,
                ylog=10,
            ),
            Panel(
                "stages",
                [_draw_shares],
                xlabel="stage",
                ylabel="share of the requests absorbed there",
            ),
        ],
        size=(5.5, 4.6),
    ),
    notes=(
        "Cycles from the offer of all N requests to the last reply. Predicted: 2 n, plus one "
        "per request that reaches the memory. These are N without combining, one if all "
        "requests that meet in a box combine, and N / 2^n if they combine in pairs.",
        "Combined, by stage: requests that were absorbed there, as a share of all N.",
        "Serializable: some order of the N additions explains the replies and the final value "
        "of the word.",
    ),
    ignores=("cycles",),
)
