"""Figure 9 and formulas (1) and (2) of Siegel et al.: the bandwidth of unbuffered networks."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from ...hdl.networks import MultistageNetwork
from ..measure.result import Result
from ..run.run import Run
from ..run.simulation import whole_runs
from ..theory.multistage_cube import (
    crossbar_throughput,
    unbuffered_throughput,
    unbuffered_throughput_approximation,
)
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, deviation, dots
from .siegel_structure import SOURCE

__all__ = ["ITEMS", "measure_unbuffered"]

RADICES = (2, 4, 8)

LARGEST = 4096
"""Ports of the largest network that is simulated."""

CROSSBARS = (2, 4, 8, 16, 32, 64)
"""Ports of the crossbars that are simulated: of all that a single box can be."""

_SLOTS = 400_000
"""Terminals times cycles of a measurement, which gives a standard error below 0.001."""


def measure_unbuffered(
    ports: int, radix: int, loads: Sequence[float], options: Options, **parameters: Any
) -> list[Result]:
    """Throughput of an unbuffered network on the RTL, uniform traffic, at each load.

    Without buffers the network is steady once the first packets have passed all stages.
    """
    network = MultistageNetwork(ports, radix=radix, switch="unbuffered", **parameters)
    slots = _SLOTS // 10 if options.quick else _SLOTS
    cycles = options.cycles or max(500, slots // ports)
    uniform = pattern("uniform", ports)
    runs = [Run(uniform, load, cycles, 2 * network.stages, options.seed, 16) for load in loads]
    return whole_runs(network, runs, engine=options.engine, bins=32, progress=options.progress)


def _stages(ports: int, radix: int) -> int | None:
    """The n for which ports = radix^n, if there is one."""
    n = 1
    while radix**n < ports:
        n += 1
    return n if radix**n == ports else None


def _sizes(radix: int, options: Options) -> list[int]:
    """The numbers of ports of the simulated networks."""
    if options.quick:
        return [radix, 64]
    powers = (radix**n for n in range(1, 13))
    return [ports for ports in powers if ports <= LARGEST]


def _measured(result: Result | None, predicted: float) -> dict[str, Any]:
    if result is None:
        return {"predicted": predicted}
    return {
        "measured": result.throughput,
        "ci99": result.throughput_ci99,
        "predicted": predicted,
        "deviation": deviation(result.throughput, predicted),
    }


# --- Figure 9 ---------------------------------------------------------------------------------

_TOP = 24
"""log2 of the largest N of the figure."""


def figure_9(options: Options) -> PaperResult:
    """Bandwidth per processor against N: formula up to 2^24, RTL up to 4,096."""
    rows = []
    for radix in RADICES:
        measured = {
            ports: measure_unbuffered(ports, radix, [1.0], options)[0]
            for ports in _sizes(radix, options)
        }
        for exponent in range(1, _TOP + 1):
            ports = 2**exponent
            stages = _stages(ports, radix)
            if stages is not None:
                predicted = unbuffered_throughput(1, radix, stages)
                rows.append(
                    {"boxes": f"{radix}x{radix}", "ports": ports}
                    | _measured(measured.get(ports), predicted)
                )
    crossbars = CROSSBARS[:3] if options.quick else CROSSBARS
    measured = {n: measure_unbuffered(n, n, [1.0], options)[0] for n in crossbars}
    rows += [
        {"boxes": "crossbar", "ports": 2**exponent}
        | _measured(measured.get(2**exponent), crossbar_throughput(1, 2**exponent))
        for exponent in range(1, _TOP + 1)
    ]
    return PaperResult(
        columns=(
            Column("boxes"),
            Column("ports", "N", ","),
            Column("measured", "RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "formula (1)", ".4f"),
            Column("deviation", format="+.2%"),
        ),
        rows=rows,
        draw=lambda: _draw_bandwidth(rows),
        notes=(
            "Packets per processor per cycle at p = 1. The paper gives no numbers for this figure.",
            "Its limit for the crossbar is 1 - 1/e = 0.6321.",
        ),
    )


def _draw_bandwidth(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    kinds = dict.fromkeys(row["boxes"] for row in rows)
    for number, kind in enumerate(reversed(kinds)):
        points = [row for row in rows if row["boxes"] == kind]
        ports = [row["ports"] for row in points]
        name = "N x N crossbar" if kind == "crossbar" else f"{kind.replace('x', ' x ')} boxes"
        axes.plot(ports, [row["predicted"] for row in points], f"-C{number}", label=name)
        seen = [row for row in points if row.get("measured") is not None]
        dots(axes, seen, "ports", number)
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**exponent for exponent in range(0, _TOP + 1, 4)])
    axes.set(
        xlabel="N, number of processors",
        ylabel="bandwidth per processor (packets per cycle)",
        ylim=(0, 0.8),
        title="Unbuffered networks at p = 1: lines are formula (1), dots measured on the RTL",
    )
    axes.title.set_fontsize("medium")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


# --- Formulas (1) and (2) ---------------------------------------------------------------------

_LOADS = (0.5, 1.0)


def equation_1(options: Options) -> PaperResult:
    """Throughput by recurrence (1), by its approximation (2), and on the RTL."""
    rows = []
    for radix in RADICES:
        for ports in _sizes(radix, options):
            stages = _stages(ports, radix)
            assert stages is not None
            results = measure_unbuffered(ports, radix, _LOADS, options)
            for load, result in zip(_LOADS, results):
                row: dict[str, Any] = {"boxes": f"{radix}x{radix}", "ports": ports}
                row |= {"stages": stages, "load": load}
                row |= _measured(result, unbuffered_throughput(load, radix, stages))
                row["approximation"] = unbuffered_throughput_approximation(load, radix, stages)
                row["approximation_deviation"] = deviation(row["measured"], row["approximation"])
                rows.append(row)
    rows.sort(key=lambda row: (row["load"], row["boxes"], row["ports"]))
    return PaperResult(
        columns=(
            Column("load", "p"),
            Column("boxes"),
            Column("ports", "N", ","),
            Column("stages"),
            Column("measured", "RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "recurrence (1)", ".4f"),
            Column("deviation", format="+.2%"),
            Column("approximation", "formula (2)", ".4f"),
            Column("approximation_deviation", "deviation", "+.2%"),
        ),
        rows=rows,
        draw=lambda: _draw_recurrence(rows),
        notes=(
            "Packets delivered per terminal per cycle, uniform traffic.",
            "(1) is exact under its assumptions, (2) is an upper bound of (1).",
        ),
    )


def _draw_recurrence(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, load in zip(figure.subplots(1, 2), _LOADS):
        for number, radix in enumerate(RADICES):
            colour = f"C{number}"
            points = [
                row for row in rows if row["load"] == load and row["boxes"] == f"{radix}x{radix}"
            ]
            most = _stages(LARGEST, radix)
            assert most is not None
            stages = range(1, most + 1)
            ports = [radix**n for n in stages]
            exact = [unbuffered_throughput(load, radix, n) for n in stages]
            closed = [unbuffered_throughput_approximation(load, radix, n) for n in stages]
            axes.plot(ports, exact, f"-{colour}", linewidth=1, label=f"k = {radix}, recurrence (1)")
            axes.plot(ports, closed, f":{colour}", linewidth=1, label=f"k = {radix}, formula (2)")
            dots(axes, points, "ports", number, label=f"k = {radix}, RTL")
        axes.set_xscale("log", base=2)
        axes.set(
            xlabel="N, number of terminals",
            ylabel="throughput (packets per terminal per cycle)",
            ylim=(0, None),
            title=f"p = {load:g}",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "siegel-fig9",
        "Bandwidth per processor of 2x2, 4x4, 8x8 boxes and crossbars, N up to 2^24",
        f"{SOURCE}, VI-B",
        figure_9,
    ),
    Item(
        "siegel-eq1",
        "Throughput of unbuffered networks: recurrence (1), formula (2) and RTL",
        f"{SOURCE}, VI-B",
        equation_1,
    ),
)
