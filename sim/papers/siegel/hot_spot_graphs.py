"""Hot spots in other networks than a multistage one, with and without combining (Siegel et al.,
IV-B).

The limit without combining, 1/(1 + h (N - 1)) requests per processor per cycle, is that of the
memory module of the hot word (`combining-hotspot`); so it holds in any network. Here routers of a
torus and of a dragonfly combine beside the boxes of a cube.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....hdl.catalogue.catalogue import build
from ...run.run import Run
from ...theory.hot_spot import hot_spot_limit
from ...workload.traffic import pattern
from ..item import Item, Options, Row, throughput_row
from ..panels import Lines, Panel, Plot, having
from . import SOURCE

__all__ = ["HOTSPOT_GRAPHS"]

_HOT = (0.0, 0.04, 0.16)
_LOADS = (0.1, 0.3, 1.0)
_CYCLES = 1500


class _Place(NamedTuple):
    """A network of the figure: its name there, and its words for `build`."""

    name: str
    words: str


_NETWORKS = (
    _Place("cube, 64", "combining ports=64"),
    _Place("8 x 8 torus", "combining-graph network=torus:k=8,n=2"),
    _Place("dragonfly, 72", "combining-graph network=dragonfly:h=2"),
)
_QUICK = (_Place("ring, 8", "combining-graph network=torus:k=8,n=1 width=8 operations=rp3"),)


def _rows(options: Options) -> Iterator[Row]:
    for name, words in _QUICK if options.quick else _NETWORKS:
        for combine in ("none", "all"):
            network = build(words, combine=combine)
            cases = [
                (hot, load)
                for hot in (_HOT[-1:] if options.quick else _HOT)
                for load in (_LOADS[-1:] if options.quick else _LOADS)
            ]
            cycles = options.cycles or (500 if options.quick else _CYCLES)
            runs = [
                Run(
                    pattern(f"hotspot:{hot}", network.ports),
                    load,
                    cycles,
                    500 + 4 * network.ports,
                    options.seed,
                    16,
                    history=0,
                )
                for hot, load in cases
            ]
            results = options.simulated(network, runs, bins=16)
            for (hot, load), result in zip(cases, results):
                limit = hot_spot_limit(network.ports, hot)
                limited = hot and combine == "none"
                waiting = result.statistics.get("waiting", {})
                yield throughput_row(result, min(load, limit) if limited else None) | {
                    "network": name,
                    "ports": network.ports,
                    "hot": hot,
                    "combine": combine,
                    "load": load,
                    "limit": limit,
                    "background": result.background_latency or result.network_latency.mean,
                    "combined": sum(result.statistics["combined"]),
                    "records": waiting.get("mean"),
                    "most": waiting.get("max"),
                }


def _colour(row: Row) -> int:
    return _HOT.index(row["hot"])


def _panel(what: str, **axes: Any) -> Panel:
    lines = [
        Lines(what, "-o", "h = {hot:.0%}", only=having(combine="all")),
        Lines(what, "--s", "", only=having(combine="none")),
    ]
    return Panel(
        "load",
        lines,
        ["hot", "combine"],
        colour=_colour,
        xlabel="offered (requests per processor per cycle)",
        **axes,
    )


HOTSPOT_GRAPHS = Item(
    "combining-graphs",
    "A hot spot in a cube, a torus and a dragonfly, with and without combining",
    f"{SOURCE}, IV-B",
    columns="network | hot = h : .0% | combine | load = offered : .1f | predicted : .4f"
    " | measured = accepted : .4f | ci99 = ± 99 % : .4f | deviation : +.1%"
    " | background = of the others : .1f | combined : .3f | records : .2f | most : ,",
    rows=_rows,
    draw=Plot(
        [
            _panel(
                "measured",
                title="{network}",
                ylabel="accepted (requests per processor per cycle)",
                ylim=(0, None),
            ),
            _panel(
                "background",
                ylabel="round trip of requests not for the hot word (cycles)",
                ylog=10,
                legend=None,
            ),
        ],
        by="network",
        size=(4.6, 4),
    ),
    notes=(
        "Requests per processor per cycle, of which all are fetch-and-adds, a "
        "fraction h for one word, the others uniform. 16 outstanding requests per processor; "
        "queues and wait buffers of 4. Solid: combining; dashed: none.",
        "Predicted, without combining: the load, but at most 1/(1 + h (N - 1)). "
        "Combined: the share of the requests that did not reach the memory themselves.",
        "Of the others: round trips in cycles of requests that were not for the hot word.",
        "Records: in all wait buffers of a router, the mean of all cycles and routers; most: the "
        "largest number. (Those of boxes are not counted.)",
    ),
)
