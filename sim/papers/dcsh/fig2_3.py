"""Figures 2 and 3: DCSH and torus at equal cost, by the model and on the hardware."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ....hdl.catalogue.catalogue import build
from ....hdl.support.counted import counted
from ...run.run import Run
from ...theory.dcsh_torus import (
    Locality,
    crossing_load,
    dcsh_latency,
    equal_torus_width,
    saturation_load,
    torus_latency,
)
from ...workload.traffic import pattern
from ..item import Item, Options, Row, finite, mean_of
from ..panels import Lines, Panel, Plot, dots
from . import SOURCE

__all__ = ["FIG2", "FIG3", "Latency"]

_K = 32
_LENGTH = 64
"""Flits per message in the DCSH."""
_TORUS_SIDE = 8
"""Nodes in a sphere of the torus, along a row."""
_DEPTHS = (4, 1)
"""Flits that fit into a queue. Queues of one flit are refilled, as wormhole theory assumes."""
_STEP = 0.0015
_DCSH_POINTS, _TORUS_POINTS, _LAST = 7, 7, 0.024
"""Both networks are measured at multiples of `_STEP`, the torus then at every second one to the
last load."""
_CYCLES = 2000
_WARMUP = 1500
_SOURCE_DEPTH = 32
_BETAS = (0.75, 0.5, 0.2)
"""Parts of the traffic that are local."""

Latency = Callable[[float], float]


def _setting(network: str, k: int, beta: float, decision: int) -> Locality:
    """The parameters of the model, which are also those of the hardware."""
    length, side = _LENGTH, k
    if network == "torus":
        length, side = length // equal_torus_width(k, 1), min(_TORUS_SIDE, k // 4)
    return Locality(k, 2, side, 1, beta, length, decision)


def _model(network: str, setting: Locality, whole_rings: bool = False) -> Latency:
    if network == "dcsh":
        return partial(dcsh_latency, setting)
    return partial(torus_latency, setting, whole_rings=whole_rings)


def _side(options: Options) -> int:
    return _K // 4 if options.quick else _K


def _measure(
    network: str, depth: int, points: Sequence[tuple[Locality, float]], options: Options
) -> Iterator[Row]:
    """Model and hardware at some loads, with settings that differ only in beta."""
    setting, _ = points[0]
    built = build(
        network,
        k=setting.k,
        n=setting.n,
        length=setting.length,
        decision=setting.decision,
        depth=depth,
        refill="yes" if depth == 1 else "no",
    )
    cycles = options.cycles or (_CYCLES // 4 if options.quick else _CYCLES)
    runs = [
        Run(
            pattern(f"sphere:{setting.beta}:{setting.sphere}", built.ports),
            load,
            cycles,
            _WARMUP,
            options.seed,
            _SOURCE_DEPTH,
        )
        for setting, load in points
    ]
    for (setting, load), result in zip(points, options.simulated(built, runs, bins=4096)):
        whole = finite(_model(network, setting, whole_rings=True)(load))
        yield {
            "beta": setting.beta,
            "network": network,
            "depth": depth,
            "load": load,
            "predicted": finite(_model(network, setting)(load)),
            "corrected": whole if network == "torus" else None,
            "measured": mean_of(result.latency),
            "ci99": result.latency.ci99,
            "throughput": result.throughput,
            "saturated": result.saturated,
            "setting": setting,
        }


def _loads(network: str, depth: int, quick: bool) -> list[float]:
    """The loads to measure: beyond saturation, so that the highest throughput is among them."""
    if quick:
        return [_STEP, 4 * _STEP]
    steps = [*range(1, (_DCSH_POINTS if network == "dcsh" else _TORUS_POINTS) + 1)]
    if network == "torus":
        # Queues of one flit saturate before three quarters of the last load.
        last = round(_LAST / _STEP * (1 if depth > 1 else 0.75))
        steps += range(_TORUS_POINTS + 1, last + 1, 2)
    return [round(step * _STEP, 5) for step in steps]


def _crossing(rows: Sequence[dict[str, Any]]) -> float | None:
    """The lowest load measured at which only the torus was saturated, or it was slower."""
    by_load: dict[float, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_load.setdefault(row["load"], {})[row["network"]] = row
    for load, found in sorted(by_load.items()):
        dcsh, torus = found.get("dcsh"), found["torus"]
        if dcsh is None or dcsh["saturated"]:
            return None
        if torus["saturated"] or (torus["measured"] or 0) > (dcsh["measured"] or 0):
            return load
    return None


def _rows(decision: int, options: Options) -> list[Row]:
    rows: list[Row] = []
    for name, depth in product(("dcsh", "torus"), _DEPTHS):
        settings = [_setting(name, _side(options), beta, decision) for beta in _BETAS]
        points = list(product(settings, _loads(name, depth, options.quick)))
        rows += _measure(name, depth, points, options)
    return sorted(rows, key=lambda row: _BETAS.index(row["beta"]))


def _notes(decision: int, rows: Sequence[Row], options: Options) -> Iterator[str]:
    k = _side(options)
    yield (
        "Latency in cycles, from generation of a message to delivery of its tail; loads in "
        f"messages per node per cycle. DCSH {k} x {k}: {_LENGTH} flits per message, a sphere is a "
        f"cluster. Torus {k} x {k}: channels {equal_torus_width(k, 1)} times as wide (31), messages"
        f" shorter by that factor, a sphere is {_setting('torus', k, 1, 1).sphere} nodes of a row. "
        "Queues of one flit are refilled in the cycle in which it leaves."
    )
    for beta in _BETAS:
        dcsh, torus = (_setting(name, k, beta, decision) for name in ("dcsh", "torus"))
        words = []
        for what, whole in (("as printed", False), ("with whole rings", True)):
            models = _model("dcsh", dcsh), _model("torus", torus, whole)
            words.append(f"model {what}: {_slower(crossing_load(*models))}")
        for depth in _DEPTHS:
            own = [row for row in rows if (row["beta"], row["depth"]) == (beta, depth)]
            words.append(
                f"RTL with queues of {depth}: {_slower(_crossing(own))}, highest throughput DCSH "
                f"{_most(own, 'dcsh')}, torus {_most(own, 'torus')} messages per node per cycle"
            )
        yield f"{beta:.0%} local, {'; '.join(words)}."


def _slower(load: float | None) -> str:
    if load is None:
        return "the torus is never slower while the DCSH is not saturated"
    return f"the torus is slower from a load of {load:.4f} on"


def _most(rows: Sequence[dict[str, Any]], network: str) -> str:
    """The highest throughput of a network at any load."""
    return f"{max(row['throughput'] for row in rows if row['network'] == network):.4f}"


def _curve(network: str, whole: bool, style: str, label: str) -> Lines:
    def model(row: Row) -> Latency:
        return _model(network, row["setting"], whole)

    return Lines(
        model,
        style,
        label,
        grid=lambda row: np.linspace(0, saturation_load(model(row)), 400)[:-1],
        only=lambda row: bool(row["network"] == network and row["depth"] == _DEPTHS[0]),
        look={"linewidth": 1.2},
    )


def _points(depth: int, style: str, **look: Any) -> Lines:
    return dots(
        lambda row: (
            f"{'DCSH' if row['network'] == 'dcsh' else 'torus'}, RTL, queues of {row['depth']}"
        ),
        style=style,
        only=lambda row: bool(row["depth"] == depth and not row["saturated"]),
        look={"markersize": 5} | look,
    )


def _figure(number: int, decision: int) -> Item:
    return Item(
        f"dcsh-fig{number}",
        f"Latency of DCSH and torus with locality, decision time {counted(decision, 'cycle')}",
        SOURCE,
        columns="beta = local : .0% | network | depth | load = m : .5f"
        " | predicted = as printed : .2f | corrected = whole rings : .2f"
        " | measured = latency, RTL : .2f | ci99 = ± 99 % : .2f | throughput : .5f"
        " | saturated",
        rows=partial(_rows, decision),
        draw=Plot(
            [
                Panel(
                    "load",
                    [
                        _curve("dcsh", False, "-", "DCSH, model"),
                        _curve("torus", False, ":", "torus, model as printed"),
                        _curve("torus", True, "-", "torus, model with whole rings"),
                        _points(4, "o"),
                        _points(1, "s", markerfacecolor="white"),
                        lambda axes, rows: axes.locator_params("x", nbins=5),
                    ],
                    ["network", "depth"],
                    title=f"{{beta:.0%}} local, decision time {decision}",
                    xlabel="offered load (messages per node per cycle)",
                    ylabel="mean latency (cycles)",
                    xlim=(0, None),
                    ylim=(0, 6 * _LENGTH),
                    colour=lambda row: int(row["network"] == "torus"),
                    legend=None,
                )
            ],
            by="beta",
            size=(4.6, 5.2),
            legend={"ncols": 4},
        ),
        notes=partial(_notes, decision),
    )


FIG2 = _figure(2, 1)
FIG3 = _figure(3, 2)
