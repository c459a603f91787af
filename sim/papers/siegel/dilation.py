"""Bandwidth of dilated networks against size, and beside replicated ones (VI-B)."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from matplotlib.axes import Axes

from ...theory.unbuffered_bandwidth import dilated_stages, dilated_throughput, replicated_throughput
from ..item import Item, Options, Row, throughput_row
from ..panels import Lines, Panel, Plot, dots
from . import SOURCE
from .fig9 import at_full_load

__all__ = ["DILATION", "EQUAL_COST", "Rate", "crosspoints"]

_DILATIONS = (1, 2, 3, 4)
_MEASURED = (2, 4, 6, 8, 10)
"""Stages of the networks that are simulated."""
_STAGES = (2, 4, 6, 8, 10, 24, 100, 1000, 10_000)
"""Stages of all networks. With 24 there are 2^24 terminals; more only show the limit."""


def _growth(options: Options) -> Iterator[Row]:
    largest = _STAGES[-2] if options.quick else _STAGES[-1]
    simulated = _MEASURED[: 2 if options.quick else None]
    for dilation in _DILATIONS:
        rates = list(islice(dilated_stages(1, 2, dilation), largest + 1))
        parameters = {"dilation": dilation} if dilation > 1 else {}
        for stages in (stages for stages in _STAGES if stages <= largest):
            result = at_full_load(2**stages, 2, stages in simulated, options, **parameters)
            predicted = dilated_throughput(1, 2, stages, dilation) if stages <= 24 else None
            yield throughput_row(result, predicted) | {
                "dilation": dilation,
                "stages": stages,
                "links": rates[stages - 1],
                "scaled": rates[stages - 1] * stages ** (1 / dilation),
                "slope": dilation * stages * math.log(rates[stages - 1] / rates[stages]),
            }


_XLABEL = "log N, number of stages"

DILATION = Item(
    "siegel-dilation",
    "Bandwidth of dilated networks against (log N)^(1/d)",
    f"{SOURCE}, VI-B",
    columns="dilation = d | stages = log N : , | measured = RTL : .4f | ci99 = ± 99 % : .4f"
    " | predicted = recurrence : .4f | deviation : +.2% | links = d links : .4f"
    " | scaled = x (log N)^(1/d) : .3f | slope = power x d : .3f",
    rows=_growth,
    draw=Plot(
        [
            Panel(
                "stages",
                [Lines("links", "-", "d = {dilation}"), dots(), Lines("predicted", ":")],
                ["dilation"],
                title="dots: RTL; dotted: terminals accept one packet",
                xlabel=_XLABEL,
                ylabel="bandwidth per processor",
                xlog=10,
                ylog=10,
            ),
            Panel(
                "stages",
                [Lines("scaled", "-", "d = {dilation}")],
                ["dilation"],
                title="a constant, if the order is right",
                xlabel=_XLABEL,
                ylabel="bandwidth x (log N)^(1/d)",
                ylim=(0, None),
                xlog=10,
            ),
        ]
    ),
    notes=(
        "Packets per terminal per cycle, p = 1, 2 x 2 boxes. RTL and recurrence: a terminal "
        "accepts one packet per cycle. d links: it accepts d, as in the paper.",
        "x (log N)^(1/d): what the paper's order leaves, which must tend to a constant. Power: "
        "by which d links falls from log N to log N + 1; times d it must tend to 1.",
    ),
)

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


def _at_equal_cost(options: Options) -> Iterator[Row]:
    simulated = _SIMULATED[: 1 if options.quick else None]
    for dilation in (2,) if options.quick else (2, 3):
        for stages in _SIZES:
            for kind, rate, parameters, factor in _networks(dilation):
                wanted = stages in simulated
                result = at_full_load(2**stages, 2, wanted, options, **parameters)
                yield throughput_row(result, rate(stages)) | {
                    "dilation": dilation,
                    "stages": stages,
                    "network": f"{factor}-{kind}",
                    "links": factor * (stages - 1),
                    "crosspoints": crosspoints(kind, stages, factor),
                    "ratio": rate(stages) / _dilated(dilation)(stages),
                }


def _mark_largest(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axvline(24, color="grey", linestyle=":", linewidth=1)
    axes.annotate("N = 2^24", (24, 0.02), xytext=(3, 0), textcoords="offset points")


EQUAL_COST = Item(
    "siegel-equal-cost",
    "Dilation beside replication with as many links or crosspoints",
    f"{SOURCE}, VI-B",
    columns="dilation = d | stages = log N : , | network | links : , | crosspoints : ,"
    " | measured = RTL : .4f | ci99 = ± 99 % : .4f | predicted = formula : .4f"
    " | deviation : +.1% | ratio = / dilated : .3f",
    rows=_at_equal_cost,
    draw=Panel(
        "stages",
        [Lines("predicted", "-", "{network}"), dots(), _mark_largest],
        ["network"],
        title="{dilation}-dilated, and as many links or crosspoints",
        xlabel="log N, number of stages",
        ylabel="bandwidth per processor (packets per cycle)",
        ylim=(0, 0.7),
        xlog=10,
        by="dilation",
    ),
    notes=(
        "Packets per terminal per cycle, p = 1, 2 x 2 boxes; links between stages and "
        "crosspoints per terminal. d copies have as many links as the d-dilated network, d^2 "
        "copies have about as many crosspoints.",
    ),
)
