"""Figures 2 and 3 of Ould-Khaoua and Sotudeh: DCSH and torus at equal cost, model and hardware."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...hdl.networks import build
from ..run.run import Run
from ..run.simulation import whole_runs
from ..theory.dcsh_torus import (
    Locality,
    crossing_load,
    dcsh_latency,
    equal_torus_width,
    saturation_load,
    torus_latency,
)
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, finite, mean_of

__all__ = ["ITEMS"]

_SOURCE = "Ould-Khaoua and Sotudeh, section III-C"
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


def _measure(
    network: str, depth: int, points: Sequence[tuple[Locality, float]], options: Options
) -> list[dict[str, Any]]:
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
    results = whole_runs(built, runs, engine=options.engine, bins=4096, progress=options.progress)
    rows = []
    for (setting, load), result in zip(points, results):
        printed = finite(_model(network, setting)(load))
        whole = finite(_model(network, setting, whole_rings=True)(load))
        rows.append(
            {
                "beta": setting.beta,
                "network": network,
                "depth": depth,
                "load": load,
                "predicted": printed,
                "corrected": whole if network == "torus" else None,
                "measured": mean_of(result.latency),
                "ci99": result.latency.ci99,
                "throughput": result.throughput,
                "saturated": result.saturated,
            }
        )
    return rows


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


def _figure(options: Options, *, decision: int, betas: Sequence[float]) -> PaperResult:
    k = _K // 4 if options.quick else _K
    rows = []
    for name, depth in product(("dcsh", "torus"), _DEPTHS):
        settings = [_setting(name, k, beta, decision) for beta in betas]
        points = list(product(settings, _loads(name, depth, options.quick)))
        rows += _measure(name, depth, points, options)
    rows.sort(key=lambda row: betas.index(row["beta"]))
    notes = [
        "Latency in cycles, from generation of a message to delivery of its tail; loads in "
        f"messages per node per cycle. DCSH {k} x {k}: {_LENGTH} flits per message, a sphere is a "
        f"cluster. Torus {k} x {k}: channels {equal_torus_width(k, 1)} times as wide (31), messages"
        f" shorter by that factor, a sphere is {_setting('torus', k, 1, 1).sphere} nodes of a row. "
        "Queues of one flit are refilled in the cycle in which it leaves.",
    ]
    for beta in betas:
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
        notes.append(f"{beta:.0%} local, {'; '.join(words)}.")
    return PaperResult(
        columns=(
            Column("beta", "local", ".0%"),
            Column("network"),
            Column("depth"),
            Column("load", "m", ".5f"),
            Column("predicted", "as printed", ".2f"),
            Column("corrected", "whole rings", ".2f"),
            Column("measured", "latency, RTL", ".2f"),
            Column("ci99", "± 99 %", ".2f"),
            Column("throughput", format=".5f"),
            Column("saturated"),
        ),
        rows=rows,
        draw=lambda: _draw(rows, k, decision, betas),
        notes=tuple(notes),
    )


def _slower(load: float | None) -> str:
    if load is None:
        return "the torus is never slower while the DCSH is not saturated"
    return f"the torus is slower from a load of {load:.4f} on"


def _most(rows: Sequence[dict[str, Any]], network: str) -> str:
    """The highest throughput of a network at any load."""
    return f"{max(row['throughput'] for row in rows if row['network'] == network):.4f}"


def _draw(rows: Sequence[dict[str, Any]], k: int, decision: int, betas: Sequence[float]) -> Figure:
    figure = Figure(figsize=(4.6 * len(betas), 5.2), layout="constrained")
    grid = figure.subplots(1, len(betas), squeeze=False)[0]
    models = (
        ("dcsh", False, "-C0", "DCSH, model"),
        ("torus", False, ":C1", "torus, model as printed"),
        ("torus", True, "-C1", "torus, model with whole rings"),
    )
    for axes, beta in zip(grid, betas):
        for name, whole, style, label in models:
            model = _model(name, _setting(name, k, beta, decision), whole)
            loads = np.linspace(0, saturation_load(model), 400)[:-1]
            axes.plot(loads, [*map(model, loads)], style, linewidth=1.2, label=label)
        for (colour, name), depth in product(enumerate(("dcsh", "torus")), _DEPTHS):
            points = [
                row
                for row in rows
                if (row["beta"], row["network"], row["depth"]) == (beta, name, depth)
                and not row["saturated"]
            ]
            title = "DCSH" if name == "dcsh" else name
            axes.errorbar(
                [row["load"] for row in points],
                [row["measured"] for row in points],
                [row["ci99"] or 0 for row in points],
                fmt=f"{'s' if depth == 1 else 'o'}C{colour}",
                markerfacecolor="white" if depth == 1 else f"C{colour}",
                markersize=5,
                capsize=2,
                label=f"{title}, RTL, queues of {depth}",
            )
        axes.set(
            xlabel="offered load (messages per node per cycle)",
            ylabel="mean latency (cycles)",
            xlim=(0, None),
            ylim=(0, 6 * _LENGTH),
            title=f"{beta:.0%} local, decision time {decision}",
        )
        axes.locator_params("x", nbins=5)
        axes.grid(alpha=0.3)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure


ITEMS = (
    Item(
        "dcsh-fig2",
        "Latency of DCSH and torus with locality, decision time 1 cycle",
        _SOURCE,
        partial(_figure, decision=1, betas=(0.75, 0.5, 0.2)),
    ),
    Item(
        "dcsh-fig3",
        "Latency of DCSH and torus with locality, decision time 2 cycles",
        _SOURCE,
        partial(_figure, decision=2, betas=(0.75, 0.5, 0.2)),
    ),
)
