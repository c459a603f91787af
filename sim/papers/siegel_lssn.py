"""A loop structured switching network beside multistage networks, by request interval (Siegel et
al., VIII-C).

All have the same packets of one flit, queues of the same depth at the inputs of 2 x 2 boxes, and
closed-loop sources. The request interval begins when the network has taken a packet: the paper
speaks of transmission by one processor, and of reception by the other. If the interval began at the
delivery, the printed ratios could not all hold. Without an interval, N processors would have N
packets on their way, so throughput times delay would be N. A fourth of the throughput of 64 ports
would mean four times their delay. The printed delay is three times that of 16 ports, so 64 ports
would have a shorter delay than 16.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from ...hdl.networks import Network, build
from ..run.run import Run
from ..run.simulation import whole_runs
from ..workload.traffic import pattern
from .item import Column, Item, Options, PaperResult, mean_of
from .siegel_structure import SOURCE

__all__ = ["ITEMS"]

_DEPTH = 4
_INTERVALS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
_QUICK_INTERVALS = (0, 16, 64)
_CYCLES, _QUICK_CYCLES = 20_000, 1000
_WARMUP = 1000
_CLOSE = 0.01
"""Throughputs that differ by less are the same."""

_SMALL, _LSSN, _LARGE = "baseline 16", "LSSN 64", "baseline 64"


def _networks() -> dict[str, Network]:
    boxes = {"switch": "input-queued", "depth": _DEPTH}
    return {
        _SMALL: build("baseline", ports=16, **boxes),
        _LSSN: build("lssn", stages=4, depth=_DEPTH),
        _LARGE: build("baseline", ports=64, **boxes),
    }


def _compared(options: Options) -> PaperResult:
    """Throughput and delay of all three networks."""
    intervals = _QUICK_INTERVALS if options.quick else _INTERVALS
    cycles = options.cycles or (_QUICK_CYCLES if options.quick else _CYCLES)
    rows: list[dict[str, Any]] = []
    for name, network in _networks().items():
        runs = [
            Run(
                pattern(f"uniform+interval:{interval}", network.ports),
                cycles=cycles,
                warmup=_WARMUP,
                seed=options.seed,
            )
            for interval in intervals
        ]
        results = whole_runs(
            network, runs, engine=options.engine, bins=256, progress=options.progress
        )
        for interval, result in zip(intervals, results):
            ci99 = result.throughput_ci99
            rows.append(
                {
                    "network": name,
                    "interval": interval,
                    "throughput": result.throughput * network.ports,
                    "throughput_ci99": None if ci99 is None else ci99 * network.ports,
                    "each": result.throughput,
                    "offered": result.offered_load,
                    "delay": mean_of(result.latency),
                    "delay_ci99": result.latency.ci99,
                }
            )
    rows.sort(key=lambda row: row["interval"])
    return PaperResult(
        columns=(
            Column("interval"),
            Column("network"),
            Column("throughput", "throughput", ".3f"),
            Column("throughput_ci99", "± 99 %", ".3f"),
            Column("each", "of each", ".4f"),
            Column("offered", "offered", ".4f"),
            Column("delay", "delay", ".2f"),
            Column("delay_ci99", "± 99 %", ".2f"),
        ),
        rows=rows,
        draw=partial(_draw, rows),
        notes=_findings(rows, cycles),
    )


class _Point(NamedTuple):
    """What was measured of a network at an interval."""

    throughput: float
    delay: float


def _findings(rows: Sequence[dict[str, Any]], cycles: int) -> tuple[str, ...]:
    """The paper's claims, and what was measured."""
    found = {
        (row["network"], row["interval"]): _Point(row["throughput"], row["delay"]) for row in rows
    }
    intervals = sorted({row["interval"] for row in rows})
    small, lssn, large = (found[name, intervals[0]] for name in (_SMALL, _LSSN, _LARGE))

    def since(holds: Callable[[_Point, _Point], bool]) -> str:
        """The shortest interval from which on LSSN and 64 ports are so."""
        after = None
        for each in reversed(intervals):
            if not holds(found[_LSSN, each], found[_LARGE, each]):
                break
            after = each
        return "at no interval" if after is None else f"from an interval of {after} on"

    return (
        f"One-flit packets, queues of {_DEPTH} at inputs, uniform traffic, {cycles:,} cycles. "
        "Throughput: packets per cycle of all processors, and of each; offered: of each, if it "
        "never waited. The interval begins when the network has taken a packet. Delay: cycles from "
        "generation to delivery.",
        f"Interval {intervals[0]}: the LSSN has {lssn.throughput / small.throughput:.2f} of the "
        f"throughput of 16 ports (paper: about 1) and {lssn.throughput / large.throughput:.2f} of "
        f"that of 64 (about 1/4), and {lssn.delay / small.delay:.2f} times the delay of 16 ports "
        "(about 3).",
        f"Its throughput is within {_CLOSE:.0%} of that of 64 ports "
        f"{since(lambda a, b: abs(a.throughput / b.throughput - 1) <= _CLOSE)}; its delay is at "
        f"most that of 64 ports {since(lambda a, b: a.delay <= b.delay)} (paper: both approach it "
        "at moderate and long intervals).",
    )


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, name in enumerate((_SMALL, _LSSN, _LARGE)):
        own = [row for row in rows if row["network"] == name]
        for axes, what in ((left, "throughput"), (right, "delay")):
            axes.errorbar(
                [row["interval"] for row in own],
                [row[what] for row in own],
                [row[f"{what}_ci99"] or 0 for row in own],
                fmt=f"-{'so^'[number]}C{number}",
                markersize=4,
                linewidth=1,
                capsize=2,
                label=name,
            )
    left.set_ylabel("throughput (packets per cycle)")
    right.set_ylabel("mean delay (cycles)")
    for axes in (left, right):
        intervals = sorted({row["interval"] for row in rows})
        axes.set_xscale("symlog", base=2, linthresh=1)
        axes.set_yscale("log", base=2)
        axes.set_xticks(intervals, [str(interval) for interval in intervals])
        axes.set_xlabel("request interval (cycles)")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
    left.legend(fontsize="small")
    return figure


ITEMS = (
    Item(
        "siegel-lssn",
        "LSSN and baseline networks by request interval",
        f"{SOURCE}, VIII-C",
        _compared,
    ),
)
