"""Reliability gained by dilation and replication (Siegel et al., VI-A).

Links between boxes, or boxes, are broken at random, each with the same probability. A pair is
connected if there is a path without a broken part. That is what the wires allow: boxes and
terminals must know what is broken.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy import stats

from ....hdl.graphs.plans.named_plans import multistage_plan
from ..item import Item, Options, Row, grouped
from ..panels import Lines, Panel, Text
from . import SOURCE

__all__ = [
    "RELIABILITY",
    "Parts",
    "connected",
    "paths",
    "probability_of_a_pair",
    "probability_of_all",
]

_PORTS = 64
_TRIALS = 2000
_CHUNK = 100
"""Trials that are computed at a time."""
_RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
_FACTOR = 2

Parts = npt.NDArray[np.int64]
_CASES = [
    (parts, kind) for parts in ("links", "boxes") for kind in ("basic", "dilated", "replicated")
]


@cache
def paths(ports: int) -> dict[str, Parts]:
    """The links between boxes, and the boxes, on the path of each pair, by number."""
    plan = multistage_plan("cube", ports)
    hops = [plan.path(s, d) for s in range(ports) for d in range(ports)]
    links = [
        [hop.stage * ports + plan.line(hop.stage, hop.box, hop.output) for hop in path[:-1]]
        for path in hops
    ]
    boxes = [[hop.stage * plan.boxes + hop.box for hop in path] for path in hops]
    return {"links": np.array(links), "boxes": np.array(boxes)}


def connected(
    parts: str, kind: str, ports: int, broken: Callable[[int], npt.NDArray[np.bool_]]
) -> npt.NDArray[np.bool_]:
    """For each trial and pair, whether the pair is connected.

    `broken` draws for a number of parts which are broken, one row per trial.
    """
    own = paths(ports)[parts]
    count = int(own.max()) + 1

    def copy(links: int) -> npt.NDArray[np.bool_]:
        """A network in which so many links stand for each."""
        gone = broken(count)
        for _ in range(links - 1):
            gone &= broken(count)
        return np.asarray(~gone[:, own].any(axis=2))

    if kind == "replicated":
        return copy(1) | copy(1)
    return copy(_FACTOR if (kind, parts) == ("dilated", "links") else 1)


def probability_of_a_pair(parts: str, kind: str, ports: int, rate: float) -> float:
    """The probability that two given terminals are connected."""
    passed = paths(ports)[parts].shape[1]
    if kind == "dilated" and parts == "links":
        return float((1 - rate**_FACTOR) ** passed)
    path = (1 - rate) ** passed
    return float(1 - (1 - path) ** _FACTOR if kind == "replicated" else path)


def probability_of_all(parts: str, kind: str, ports: int, rate: float) -> float | None:
    """The probability that all pairs are connected; None where no formula is known.

    Each part is on the path of some pair, so in a network with one path none may be broken.
    """
    count = int(paths(ports)[parts].max()) + 1
    if kind == "replicated":
        return None
    lost = rate**_FACTOR if (kind, parts) == ("dilated", "links") else rate
    return float((1 - lost) ** count)


def _trials(
    case: tuple[str, str], ports: int, rate: float, trials: int, seed: int
) -> Iterator[npt.NDArray[np.bool_]]:
    generator = np.random.default_rng([seed, _CASES.index(case), round(1e6 * rate)])
    for first in range(0, trials, _CHUNK):
        draw = partial(_draw_broken, generator, rate, min(_CHUNK, trials - first))
        yield connected(*case, ports, draw)


def _draw_broken(
    generator: np.random.Generator, rate: float, trials: int, count: int
) -> npt.NDArray[np.bool_]:
    return np.asarray(generator.random((trials, count)) < rate)


def _interval(successes: int, trials: int) -> tuple[float, float]:
    """The 99 % interval of Clopper and Pearson for a probability."""
    interval = stats.binomtest(successes, trials).proportion_ci(0.99)
    return float(interval.low), float(interval.high)


def _size(options: Options) -> tuple[int, int]:
    """Terminals and trials."""
    return (16, 200) if options.quick else (_PORTS, _TRIALS)


def _rows(options: Options) -> Iterator[Row]:
    ports, trials = _size(options)
    for case, rate in product(_CASES, _RATES):
        found = [*_trials(case, ports, rate, trials, options.seed)]
        shares = np.concatenate([pairs.mean(axis=1) for pairs in found])
        whole = int(sum(pairs.all(axis=1).sum() for pairs in found))
        low, high = _interval(whole, trials)
        width = float(stats.t.ppf(0.995, trials - 1) * shares.std(ddof=1) / math.sqrt(trials))
        yield {
            "ports": ports,
            "parts": case[0],
            "network": case[1],
            "rate": rate,
            "pair": float(shares.mean()),
            "pair_ci99": width,
            "pair_predicted": probability_of_a_pair(*case, ports, rate),
            "measured": whole / trials,
            "low": low,
            "high": high,
            "predicted": probability_of_all(*case, ports, rate),
        }


def _formula(
    formula: Callable[[str, str, int, float], float | None], style: Text, label: Text = ""
) -> Lines:
    return Lines(
        lambda row: partial(formula, row["parts"], row["network"], row["ports"]),
        style,
        label,
        grid=np.geomspace(_RATES[0], _RATES[-1], 200),
        look=lambda row: {"linewidth": 2 if row["network"] == "dilated" else 1},
    )


def _draw_intervals(axes: Axes, rows: Sequence[Row]) -> None:
    for number, ((kind,), own) in enumerate(grouped(rows, "network").items()):
        axes.errorbar(
            [row["rate"] for row in own],
            [row["measured"] for row in own],
            [
                [row["measured"] - row["low"] for row in own],
                [row["high"] - row["measured"] for row in own],
            ],
            fmt="os^"[number] + f"C{number}",
            markersize=4,
            capsize=2,
            label=f"{kind}: all pairs",
        )


def _line(row: Row) -> str:
    return ":" if row["network"] == "dilated" else "-"


RELIABILITY = Item(
    "siegel-reliability",
    "Connection of terminals if links or boxes are broken at random",
    f"{SOURCE}, VI-A",
    columns="parts = broken | network | rate = f : g | pair = a pair, sampled : .5f"
    " | pair_ci99 = ± 99 % : .5f | pair_predicted = exact : .5f"
    " | measured = all, sampled : .4f | low = 99 % from : .4f | high = to : .4f"
    " | predicted = exact : .4f",
    rows=_rows,
    draw=Panel(
        "rate",
        [
            _formula(probability_of_a_pair, "--", "{network}: a pair"),
            _formula(probability_of_all, _line),
            _draw_intervals,
        ],
        ["network"],
        title="broken {parts}, N = {ports}",
        xlabel="probability that one of the {parts} is broken",
        ylabel="probability of being connected",
        ylim=(-0.02, 1.02),
        xlog=10,
        by="parts",
        size=(5.5, 4.6),
    ),
    notes=lambda rows, options: (
        f"Probability that a pair, or all pairs, of N = {rows[0]['ports']} terminals are "
        "connected, 2 x 2 boxes, dilation and replication by 2. f: probability that a part is "
        "broken.",
        "Links: those between boxes. Boxes: whole boxes. There is no exact value for all pairs "
        f"of the replicated network. {_size(options)[1]:,} trials, seed {options.seed}.",
    ),
    ignores=("cycles", "engine"),
)
