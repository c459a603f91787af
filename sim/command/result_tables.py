"""What `sim`, `sweep` and `compare` print."""

import click

from ...hdl.catalogue.catalogue import find, summary
from ...hdl.support.counted import counted
from ..measure.activity import Activity
from ..measure.comparison import Comparison, is_square, rate_factors
from ..measure.curve import Sweep
from ..measure.latency import Latency
from ..measure.result import Result
from ..measure.units import unit_name, units_in_packet
from ..workload.pattern import short_name
from .terminal_table import print_table

__all__ = ["print_comparison", "print_result", "print_sweep"]


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _latency_row(latency: Latency, beyond: str = "beyond the histogram") -> list[str]:
    exact = [
        beyond if value is None and latency.mean is not None else _number(value, 0)
        for value in (latency.p50, latency.p95, latency.p99, latency.max)
    ]
    return [str(latency), *exact]


_ENDED = {
    "given": "its length was given",
    "precise": "it grew until the results were precise",
    "late": "it grew until the results were precise, but its last packets made them less so",
    "saturated": "it grew until saturation was certain",
    "limit": "it grew to its limit before the results were precise",
    "finite": "",
    "interrupted": "",
}
"""What is said about the end of a window, by `Result.ended`."""


def _reached(result: Result) -> str:
    """The relative half widths of the intervals, as text."""
    known = (
        ("latency", result.latency.mean, result.latency.ci99),
        ("throughput", result.throughput, result.throughput_ci99),
    )
    widths = [
        f"{what} ± {100 * width / value:.2g} %" for what, value, width in known if value and width
    ]
    if not result.uncorrelated:
        widths.append("perhaps more, as its parts are correlated")
    return f" ({', '.join(widths)})" if widths else ""


def _rated(network: str, unit: str) -> str:
    """What rates count: in a network with memory, packets are requests."""
    memory = find(network).component.has_memory
    return "requests" if memory and unit == "packets" else unit


def print_result(result: Result, unit: str = "packets") -> None:
    """Print the result of a run, its rates in "packets" or "flits"."""
    memory = result.round_trip is not None
    square = len(result.terminals["injected"]) == len(result.terminals["delivered"])
    packet, terminal = (
        ("request", "processor") if memory else ("packet", "terminal" if square else "source")
    )
    click.echo(summary(result.network, result.parameters))
    click.echo(
        f"{short_name(result.traffic)} traffic, "
        f"{result.warmup} + {result.cycles} + {result.drain} cycles (warm-up, window, drain) "
        f"on engine {result.engine}"
    )
    inside = "in the network" if result.round_trip is None else "round trip"
    rows = [
        ["latency", *_latency_row(result.latency)],
        [inside, *_latency_row(result.network_latency)],
    ]
    if result.predicted["latency_mean"] is not None:
        rows.append(["predicted", _number(result.predicted["latency_mean"])])
    print_table(["cycles", "mean", "p50", "p95", "p99", "max"], rows)
    per, rated = units_in_packet(unit, result.packet_length), _rated(result.network, unit)
    ci99 = result.throughput_ci99
    spread = "" if ci99 is None else f" ± {per * ci99:.4f}"
    predicted = result.predicted["throughput"]
    theory = "" if predicted is None else f", predicted {per * predicted:.4f}"
    busiest = max(result.links, key=result.links.__getitem__, default=None)
    units = "requests or replies" if memory else "flits"
    click.echo(
        f"throughput {per * result.throughput:.4f}{spread} {rated} per {terminal} per cycle "
        f"(offered {per * result.offered_load:.4f}{theory});\n"
        + ("" if square else f"{per * result.sink_throughput:.4f} {rated} per sink per cycle;\n")
        + f"least served: {terminal} {result.least_served['terminal']} with "
        f"{per * result.least_served['throughput']:.4f}"
    )
    if busiest is not None and result.links[busiest]:
        click.echo(f"busiest link: {busiest} with {result.links[busiest]:.4f} {units} per cycle")
    click.echo(
        f"{packet}s: {result.generated} generated, {result.rejected} rejected, {result.unsent} "
        f"unsent, {result.injected} injected, {result.delivered} delivered;\n"
        f"{_count(result.lost)} lost, {result.misrouted} misrouted, "
        f"{_count(result.duplicated)} duplicated, {_count(result.reordered)} reordered"
    )
    _print_classes(result, per)
    for line in find(result.network).component.statistics_lines(result.statistics):
        click.echo(line)
    if result.dropped:
        attempts = _number(result.attempts)
        predicted = result.predicted["attempts"]
        theory = "" if predicted is None else f", predicted {_number(predicted)}"
        click.echo(f"{result.dropped} dropped; {attempts} attempts per packet{theory}")
    if memory:
        verdict = {
            True: "serializable (a serial order of the operations explains them)",
            False: "NOT serializable (no serial order of the operations explains them)",
            None: "order not checked",
        }
        click.echo(f"replies: {verdict[result.serializable]}")
    if result.background_latency is not None:
        click.echo(
            f"round trip of requests not for the hot spot: {result.background_latency:.2f} cycles"
        )
    if result.corrupted:
        click.echo(f"{result.corrupted} corrupted, and discarded")
    if result.damaged:
        click.echo(f"{result.damaged} damaged flits")
    if result.activity is not None:
        _print_activity(result.activity)
    click.echo(result.verdict)
    if result.untimed:
        missing = f"{result.untimed} {packet}s born in the window did not arrive"
        click.echo(f"{missing}: latencies leave them out")
    if _ENDED[result.ended]:
        click.echo(f"window: {_ENDED[result.ended]}{_reached(result)}")
    if result.partial:
        click.echo("PARTIAL: the run was interrupted")


def _print_classes(result: Result, per: float) -> None:
    """Print what each class of messages got, if there are several."""
    if not result.classes:
        return
    heads = ["class", "throughput", "least served", "mean", "p99", "max", "in the network"]
    rows = []
    for number, each in enumerate(result.classes):
        row = _latency_row(each.latency)
        rates = (f"{per * rate:.4f}" for rate in (each.throughput, each.least_served))
        inside = _latency_row(each.network_latency)[0]
        rows.append([str(number), *rates, row[0], row[3], row[4], inside])
    print_table(heads, rows)


def _print_activity(activity: Activity) -> None:
    """Print what switched in each type of cell per flit, and the energy of a flit."""
    click.echo(f"changes of bits per flit, in {activity.cycles} cycles and {activity.flits} flits:")
    energy, per = activity.energy_per_flit(), max(activity.flits, 1)
    rows = []
    for each in activity.types:
        counts = (each.payload, each.control, each.registers, each.memory)
        changes = (f"{count / per:.2f}" for count in counts)
        spent = "-" if energy is None else f"{energy[each.type]:.2f}"
        rows.append([each.type, str(each.cells), *changes, spent])
    print_table(["cells", "", "payload", "control", "registers", "memory", "energy"], rows)
    if energy is not None:
        total = sum(energy.values())
        click.echo(f"energy {total:.2f} per flit, where a change of a wire between cells is 1")


def print_sweep(curve: Sweep, unit: str) -> None:
    """Print the points of a sweep, their rates in "packets" or "flits", and where it saturates."""
    (per,) = rate_factors([curve], unit=unit)
    rows = []
    for point in curve.points:
        both = (f"{per * rate:.4f}" for rate in (point.offered_load, point.throughput))
        latency = _latency_row(point.latency, beyond="beyond")
        predicted, verdict = point.predicted["latency_mean"], point.verdict.partition(":")[0]
        rows.append([*both, latency[0], latency[3], _number(predicted), verdict])
    print_table(["load", "throughput", "mean", "p99", "predicted", "verdict"], rows, whole=5)
    click.echo(f"zero-load latency: {_number(curve.zero_load_latency)} cycles")
    if curve.saturation_interval is None:
        click.echo("saturation: not reached")
    else:
        rated = _rated(curve.network.family, unit)
        low, high = (per * load for load in curve.saturation_interval)
        rates = unit_name("terminal", rated, square=is_square([curve]))
        click.echo(f"saturation begins between loads {low:.4f} and {high:.4f};")
        click.echo(f"highest throughput: {per * (curve.saturation_throughput or 0):.4f} {rates}")
        if curve.sustained_throughput is not None:
            last = per * curve.points[-1].offered_load
            click.echo(
                f"sustained throughput: {per * curve.sustained_throughput:.4f}, at load {last:.4f}"
            )
    undecided = sum(point.saturated is None for point in curve.points)
    if undecided:
        click.echo(
            f"{counted(undecided, 'point')} undecided: longer windows (--cycles, "
            "--limit) or more --seeds\nwould tell whether they are saturated"
        )
    if curve.partial:
        click.echo("PARTIAL: the sweep was interrupted")


def print_comparison(comparison: Comparison) -> None:
    """Print where each sweep saturates, its rates converted."""
    sweeps, per = comparison.sweeps, comparison.per
    rated = dict.fromkeys(_rated(each.network.family, comparison.unit) for each in sweeps)
    heads = ["network", "zero-load latency", "saturates at load", "highest throughput", "sustained"]
    rows = []
    for each, label, factor in zip(sweeps, comparison.labels, comparison.factors):
        interval = [f"{load * factor:.4f}" for load in each.saturation_interval or ()]
        rates = (each.saturation_throughput, each.sustained_throughput)
        shown = ("-" if rate is None else f"{rate * factor:.4f}" for rate in rates)
        begins = " to ".join(interval) or "not reached"
        rows.append([label, _number(each.zero_load_latency), begins, *shown])
    click.echo(
        f"{short_name(sweeps[0].traffic)} traffic; "
        f"rates in {unit_name(per, ' or '.join(rated), square=is_square(sweeps))}, "
        "latencies in cycles"
    )
    print_table(heads, rows)
