"""Figures 2 and 3 of Ould-Khaoua and Sotudeh: DCSH and torus at equal cost, model and hardware."""

from collections.abc import Callable, Sequence
from functools import partial
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
from .item import Column, Item, Options, PaperResult, deviation, mean_of

__all__ = ["ITEMS"]

_SOURCE = "Ould-Khaoua and Sotudeh, section III-C"
_K = 32
_LENGTH = 64
"""Flits per message in the DCSH."""
_TORUS_SIDE = 8
"""Nodes in a sphere of the torus, along a row."""
_POINTS = 10
_BEYOND, _REACH = 6, 4
"""The torus is measured at further loads, up to this many times the highest load of the DCSH."""
_CYCLES = 4000
_WARMUP = 3000
_SOURCE_DEPTH = 32

Latency = Callable[[float], float]


def _setting(network: str, k: int, beta: float, decision: int) -> Locality:
    """The parameters of the model, which are also those of the hardware."""
    length, side = _LENGTH, k
    if network == "torus":
        length, side = length // equal_torus_width(k, 1), min(_TORUS_SIDE, k // 4)
    return Locality(k, 2, side, 1, beta, length, decision)


def _model(network: str, setting: Locality) -> Latency:
    return partial(dcsh_latency if network == "dcsh" else torus_latency, setting)


def _measure(
    network: str, points: Sequence[tuple[Locality, float]], options: Options
) -> list[dict[str, Any]]:
    """Model and hardware at some loads, with settings that differ only in beta."""
    setting, _ = points[0]
    built = build(
        network, k=setting.k, n=setting.n, length=setting.length, decision=setting.decision
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
        predicted = _model(network, setting)(load)
        row: dict[str, Any] = {
            "beta": setting.beta,
            "network": network,
            "load": load,
            "predicted": predicted if np.isfinite(predicted) else None,
            "measured": mean_of(result.latency),
            "ci99": result.latency.ci99,
            "throughput": result.throughput,
            "saturated": result.saturated,
        }
        rows.append({**row, "deviation": deviation(row["measured"], row["predicted"])})
    return rows


def _loads(dcsh: Locality, quick: bool) -> dict[str, list[float]]:
    """The loads to measure: the DCSH to just below its model's saturation, the torus far beyond."""
    limit = 0.9 * saturation_load(_model("dcsh", dcsh))
    common = np.linspace(0, limit, 3 if quick else _POINTS + 1)[1:]
    further = np.linspace(limit, _REACH * limit, _BEYOND + 1)[1:]
    beyond = [] if quick else further.tolist()
    return {
        "dcsh": np.round(common, 5).tolist(),
        "torus": np.round([*common, *beyond], 5).tolist(),
    }


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
    points: dict[str, list[tuple[Locality, float]]] = {"dcsh": [], "torus": []}
    for beta in betas:
        for name, loads in _loads(_setting("dcsh", k, beta, decision), options.quick).items():
            points[name] += [(_setting(name, k, beta, decision), load) for load in loads]
    rows = [row for name, own in points.items() for row in _measure(name, own, options)]
    rows.sort(key=lambda row: betas.index(row["beta"]))
    notes = [
        "Latency in cycles, from generation of a message to delivery of its tail; loads in "
        f"messages per node per cycle. DCSH {k} x {k}: {_LENGTH} flits per message, a sphere is a "
        f"cluster. Torus {k} x {k}: channels {equal_torus_width(k, 1)} times as wide (31), messages"
        f" shorter by that factor, a sphere is {_setting('torus', k, 1, 1).sphere} nodes of a row.",
    ]
    for beta in betas:
        models = [_model(name, _setting(name, k, beta, decision)) for name in ("dcsh", "torus")]
        own = [row for row in rows if row["beta"] == beta]
        notes.append(
            f"{beta:.0%} local, model: {_slower(crossing_load(*models))}; "
            f"RTL: {_slower(_crossing(own))}. Highest throughput: DCSH {_most(own, 'dcsh')}, "
            f"torus {_most(own, 'torus')} messages per node per cycle."
        )
    return PaperResult(
        columns=(
            Column("beta", "local", ".0%"),
            Column("network"),
            Column("load", "m", ".5f"),
            Column("predicted", "latency, model", ".2f"),
            Column("measured", "latency, RTL", ".2f"),
            Column("ci99", "± 99 %", ".2f"),
            Column("deviation", format="+.1%"),
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
    return f"the torus is slower from a load of {load:.5f} on"


def _most(rows: Sequence[dict[str, Any]], network: str) -> str:
    """The highest throughput of a network at any load."""
    return f"{max(row['throughput'] for row in rows if row['network'] == network):.4f}"


def _draw(rows: Sequence[dict[str, Any]], k: int, decision: int, betas: Sequence[float]) -> Figure:
    figure = Figure(figsize=(4.6 * len(betas), 4.4), layout="constrained")
    for axes, beta in zip(figure.subplots(1, len(betas), squeeze=False)[0], betas):
        for colour, name in enumerate(("dcsh", "torus")):
            model = _model(name, _setting(name, k, beta, decision))
            grid = np.linspace(0, saturation_load(model), 400)[:-1]
            label = "DCSH" if name == "dcsh" else name
            axes.plot(
                grid, [*map(model, grid)], f"-C{colour}", linewidth=1, label=f"{label}, model"
            )
            points = [
                row
                for row in rows
                if (row["beta"], row["network"]) == (beta, name) and not row["saturated"]
            ]
            axes.errorbar(
                [row["load"] for row in points],
                [row["measured"] for row in points],
                [row["ci99"] or 0 for row in points],
                fmt=f"oC{colour}",
                markersize=4,
                capsize=2,
                label=f"{label}, RTL",
            )
        axes.set(
            xlabel="load (messages per node per cycle)",
            ylabel="mean latency (cycles)",
            xlim=(0, None),
            ylim=(0, 6 * _LENGTH),
            title=f"{beta:.0%} local, decision time {decision}",
        )
        axes.locator_params("x", nbins=5)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
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
