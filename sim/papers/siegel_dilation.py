"""Bandwidth of dilated networks against size, and beside replicated ones (Siegel et al., VI-B)."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from matplotlib.figure import Figure

from ..theory.multistage_cube import dilated_stages, dilated_throughput, replicated_throughput
from .item import Column, Item, Options, PaperResult, deviation, dots
from .siegel_bandwidth import measure_unbuffered
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_DILATIONS = (1, 2, 3, 4)

_MEASURED = (2, 4, 6, 8, 10)
"""Stages of the networks that are simulated."""

_STAGES = (2, 4, 6, 8, 10, 24, 100, 1000, 10_000)
"""Stages of all networks. With 24 there are 2^24 terminals; more only show the limit."""


def growth(options: Options) -> PaperResult:
    """Bandwidth per processor at p = 1, and how it falls with the number of stages."""
    largest = _STAGES[-2] if options.quick else _STAGES[-1]
    rows = []
    for dilation in _DILATIONS:
        rates = list(islice(dilated_stages(1, 2, dilation), largest + 1))
        for stages in _STAGES:
            if stages > largest:
                continue
            result = None
            if stages in _MEASURED[: 2 if options.quick else None]:
                parameters = {"dilation": dilation} if dilation > 1 else {}
                (result,) = measure_unbuffered(2**stages, 2, [1.0], options, **parameters)
            predicted = dilated_throughput(1, 2, stages, dilation) if stages <= 24 else None
            measured = result.throughput if result else None
            rows.append(
                {
                    "dilation": dilation,
                    "stages": stages,
                    "measured": measured,
                    "ci99": result.throughput_ci99 if result else None,
                    "predicted": predicted,
                    "deviation": deviation(measured, predicted),
                    "links": rates[stages - 1],
                    "scaled": rates[stages - 1] * stages ** (1 / dilation),
                    "slope": dilation * stages * math.log(rates[stages - 1] / rates[stages]),
                }
            )
    return PaperResult(
        columns=(
            Column("dilation", "d"),
            Column("stages", "log N", ","),
            Column("measured", "RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "recurrence", ".4f"),
            Column("deviation", format="+.2%"),
            Column("links", "d links", ".4f"),
            Column("scaled", "x (log N)^(1/d)", ".3f"),
            Column("slope", "power x d", ".3f"),
        ),
        rows=rows,
        draw=lambda: _draw_growth(rows),
        notes=(
            "Packets per terminal per cycle, p = 1, 2 x 2 boxes. RTL and recurrence: a terminal "
            "accepts one packet per cycle. d links: it accepts d, as in the paper.",
            "x (log N)^(1/d): what the paper's order leaves, which must tend to a constant. Power: "
            "by which d links falls from log N to log N + 1; times d it must tend to 1.",
        ),
    )


def _draw_growth(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, dilation in enumerate(_DILATIONS):
        points = [row for row in rows if row["dilation"] == dilation]
        stages = [row["stages"] for row in points]
        style = {"color": f"C{number}", "linewidth": 1}
        left.plot(stages, [row["links"] for row in points], label=f"d = {dilation}", **style)
        right.plot(stages, [row["scaled"] for row in points], label=f"d = {dilation}", **style)
        seen = [row for row in points if row["measured"] is not None]
        dots(left, seen, "stages", number)
        small = [row for row in points if row["predicted"] is not None]
        left.plot(
            [row["stages"] for row in small], [row["predicted"] for row in small], ":", **style
        )
    for axes, label, title in (
        (left, "bandwidth per processor", "dots: RTL; dotted: terminals accept one packet"),
        (right, "bandwidth x (log N)^(1/d)", "a constant, if the order is right"),
    ):
        axes.set_xscale("log")
        axes.set(xlabel="log N, number of stages", ylabel=label, title=title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    left.set_yscale("log")
    right.set_ylim(0, None)
    return figure


# --- Dilation and replication at equal cost ------------------------------------------------------

Rate = Callable[[int], float]
"""Bandwidth per processor as a function of the number of stages."""


def _replicated(copies: int) -> Rate:
    return lambda stages: replicated_throughput(1, 2, stages, copies)


def _dilated(dilation: int) -> Rate:
    return lambda stages: dilated_throughput(1, 2, stages, dilation)


def _networks(dilation: int) -> Iterator[tuple[str, Rate, dict[str, int], int]]:
    """The dilated network, and replicated ones with as many links or about as many crosspoints."""
    yield "dilated", _dilated(dilation), {"dilation": dilation}, dilation
    for copies in (dilation, dilation**2):
        yield "replicated", _replicated(copies), {"replication": copies}, copies


def crosspoints(kind: str, stages: int, factor: int) -> int:
    """Crosspoints per terminal: d x d for one in the middle of a dilated network, d at its ends."""
    if kind == "replicated":
        return 2 * stages * factor
    return 2 * (2 * factor + (stages - 2) * factor**2) if stages > 1 else 2


_SIZES = (3, 6, 8, 12, 16, 20, 24, 48, 100, 300, 1000)
_SIMULATED = (3, 6, 8)


def equal_cost(options: Options) -> PaperResult:
    """Bandwidth per processor of dilated and replicated networks with as many links or
    crosspoints."""
    rows = []
    for dilation in (2,) if options.quick else (2, 3):
        for stages in _SIZES:
            for kind, rate, parameters, factor in _networks(dilation):
                result = None
                if stages in _SIMULATED[: 1 if options.quick else None]:
                    (result,) = measure_unbuffered(2**stages, 2, [1.0], options, **parameters)
                predicted, measured = rate(stages), result.throughput if result else None
                rows.append(
                    {
                        "dilation": dilation,
                        "stages": stages,
                        "network": f"{factor}-{kind}",
                        "links": factor * (stages - 1),
                        "crosspoints": crosspoints(kind, stages, factor),
                        "measured": measured,
                        "ci99": result.throughput_ci99 if result else None,
                        "predicted": predicted,
                        "deviation": deviation(measured, predicted),
                        "ratio": predicted / _dilated(dilation)(stages),
                    }
                )
    return PaperResult(
        columns=(
            Column("dilation", "d"),
            Column("stages", "log N", ","),
            Column("network"),
            Column("links", "links", ","),
            Column("crosspoints", "crosspoints", ","),
            Column("measured", "RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "formula", ".4f"),
            Column("deviation", format="+.1%"),
            Column("ratio", "/ dilated", ".3f"),
        ),
        rows=rows,
        draw=lambda: _draw_cost(rows),
        notes=(
            "Packets per terminal per cycle, p = 1, 2 x 2 boxes; links between stages and "
            "crosspoints per terminal. d copies have as many links as the d-dilated network, d^2 "
            "copies have about as many crosspoints.",
        ),
    )


def _draw_cost(rows: Sequence[dict[str, Any]]) -> Figure:
    dilations = list(dict.fromkeys(row["dilation"] for row in rows))
    figure = Figure(figsize=(5.5 * len(dilations), 4.4), layout="constrained")
    for axes, dilation in zip(figure.subplots(1, len(dilations), squeeze=False)[0], dilations):
        own = [row for row in rows if row["dilation"] == dilation]
        for number, network in enumerate(dict.fromkeys(row["network"] for row in own)):
            points = [row for row in own if row["network"] == network]
            seen = [row for row in points if row["measured"] is not None]
            axes.plot(
                [row["stages"] for row in points],
                [row["predicted"] for row in points],
                f"-C{number}",
                linewidth=1,
                label=network,
            )
            dots(axes, seen, "stages", number)
        axes.axvline(24, color="grey", linestyle=":", linewidth=1)
        axes.annotate("N = 2^24", (24, 0.02), xytext=(3, 0), textcoords="offset points")
        axes.set_xscale("log")
        axes.set(
            xlabel="log N, number of stages",
            ylabel="bandwidth per processor (packets per cycle)",
            ylim=(0, 0.7),
            title=f"{dilation}-dilated, and as many links or crosspoints",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "siegel-dilation",
        "Bandwidth of dilated networks against (log N)^(1/d)",
        f"{SOURCE}, VI-B",
        growth,
    ),
    Item(
        "siegel-equal-cost",
        "Dilation beside replication with as many links or crosspoints",
        f"{SOURCE}, VI-B",
        equal_cost,
    ),
)
