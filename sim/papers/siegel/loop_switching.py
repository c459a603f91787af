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
from typing import Any, NamedTuple

from ....hdl.catalogue.catalogue import build
from ....hdl.networks.network import Network
from ...run.run import Run
from ...workload.traffic import pattern
from ..item import Item, Options, Row, mean_of
from ..panels import Lines, Panel, Plot
from . import SOURCE

__all__ = ["LSSN"]

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


def _window(options: Options) -> int:
    return options.cycles or (_QUICK_CYCLES if options.quick else _CYCLES)


def _rows(options: Options) -> list[Row]:
    intervals = _QUICK_INTERVALS if options.quick else _INTERVALS
    rows: list[Row] = []
    for name, network in _networks().items():
        runs = [
            Run(
                pattern(f"uniform+interval:{interval}", network.ports),
                cycles=_window(options),
                warmup=_WARMUP,
                seed=options.seed,
            )
            for interval in intervals
        ]
        for interval, result in zip(intervals, options.simulated(network, runs, bins=256)):
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
    return sorted(rows, key=lambda row: row["interval"])


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


def _panel(what: str, label: str, **legend: Any) -> Panel:
    return Panel(
        "interval",
        [
            Lines(
                what,
                lambda row: "-" + {_SMALL: "s", _LSSN: "o", _LARGE: "^"}[row["network"]],
                "{network}",
                error=f"{what}_ci99",
            ),
            lambda axes, rows: axes.set_xscale("symlog", base=2, linthresh=1),
            lambda axes, rows: axes.set_yscale("log", base=2),
            lambda axes, rows: axes.yaxis.set_major_formatter("{x:g}"),
        ],
        ["network"],
        xlabel="request interval (cycles)",
        ylabel=label,
        ticks=True,
        legend=legend or None,
    )


LSSN = Item(
    "siegel-lssn",
    "LSSN and baseline networks by request interval",
    f"{SOURCE}, VIII-C",
    columns="interval | network | throughput : .3f | throughput_ci99 = ± 99 % : .3f"
    " | each = of each : .4f | offered : .4f | delay : .2f | delay_ci99 = ± 99 % : .2f",
    rows=_rows,
    draw=Plot(
        [
            _panel("throughput", "throughput (packets per cycle)", fontsize="small"),
            _panel("delay", "mean delay (cycles)"),
        ],
        size=(5.25, 4.4),
    ),
    notes=lambda rows, options: _findings(rows, _window(options)),
)
