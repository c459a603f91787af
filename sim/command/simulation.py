"""`multicube sim` and `multicube sweep`: one run, or a curve."""

import json
import sys
from typing import Any, Literal

import click
from rich.console import Console
from rich.table import Table

from ...hdl.core.errors import InvalidValue
from ...hdl.core.output_file import output_format
from ...hdl.networks.catalogue import find
from ..measure.curve import Sweep
from ..measure.result import Latency, Result
from ..report.save import FORMATS, save_sweep
from ..run.simulation import simulate
from ..run.sweeps import LoadsLost, parse_loads
from ..run.sweeps import sweep as run_sweep
from ..workload.traffic import Pattern, Trace, pattern, read_trace, short_name
from .words import (
    INTERRUPTED,
    check_outputs,
    messages,
    network_arguments,
    network_from,
    run_options,
    sweep_options,
    told,
)

__all__ = ["print_result", "sim", "sweep"]


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _latency_row(latency: Latency) -> list[str]:
    exact = [
        "beyond the histogram" if value is None and latency.mean is not None else _number(value, 0)
        for value in (latency.p50, latency.p95, latency.p99, latency.max)
    ]
    return [str(latency), *exact]


_ENDED = {
    "given": "its length was given",
    "precise": "it grew until the results were precise",
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


def _rates(result: Result, unit: str) -> tuple[float, str]:
    """The factor of rates for a unit, and the name of the unit."""
    if unit == "flits":
        return result.packet_length, unit
    return 1, "packets" if result.round_trip is None else "requests"


def print_result(result: Result, unit: str = "packets") -> None:
    """Print the result of a run, its rates in "packets" or "flits"."""
    memory = result.round_trip is not None
    packet, terminal = ("request", "processor") if memory else ("packet", "terminal")
    click.echo(told(result.network, result.parameters))
    click.echo(
        f"{short_name(result.traffic)} traffic, "
        f"{result.warmup} + {result.cycles} + {result.drain} cycles (warm-up, window, drain) "
        f"on engine {result.engine}"
    )
    table = Table("cycles", "mean", "p50", "p95", "p99", "max")
    table.add_row("latency", *_latency_row(result.latency))
    if result.round_trip is None:
        table.add_row("in the network", *_latency_row(result.network_latency))
    else:
        table.add_row("round trip", *_latency_row(result.round_trip))
    if result.predicted["latency_mean"] is not None:
        table.add_row("predicted", _number(result.predicted["latency_mean"]))
    Console().print(table)
    per, counted = _rates(result, unit)
    ci99 = result.throughput_ci99
    spread = "" if ci99 is None else f" ± {per * ci99:.4f}"
    predicted = result.predicted["throughput"]
    theory = "" if predicted is None else f", predicted {per * predicted:.4f}"
    busiest = max(result.links, key=result.links.__getitem__, default=None)
    units = "requests or replies" if memory else "flits"
    click.echo(
        f"throughput {per * result.throughput:.4f}{spread} {counted} per {terminal} per cycle "
        f"(offered {per * result.offered_load:.4f}{theory});\n"
        f"least served: {terminal} {result.least_served['terminal']} with "
        f"{per * result.least_served['throughput']:.4f}"
    )
    if busiest is not None:
        click.echo(f"busiest link: {busiest} with {result.links[busiest]:.4f} {units} per cycle")
    click.echo(
        f"{packet}s: {result.generated} generated, {result.rejected} rejected, {result.unsent} "
        f"unsent, {result.injected} injected, {result.delivered} delivered;\n"
        f"{_count(result.lost)} lost, {result.misrouted} misrouted, "
        f"{_count(result.duplicated)} duplicated, {_count(result.reordered)} reordered"
    )
    for line in find(result.network).component.told(result.statistics):
        click.echo(line)
    if result.dropped:
        attempts = _number(result.attempts)
        predicted = result.predicted["attempts"]
        theory = "" if predicted is None else f", predicted {_number(predicted)}"
        click.echo(f"{result.dropped} dropped; {attempts} attempts per delivered packet{theory}")
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
    click.echo(result.verdict)
    if _ENDED[result.ended]:
        click.echo(f"window: {_ENDED[result.ended]}{_reached(result)}")
    if result.partial:
        click.echo("PARTIAL: the run was interrupted")


@click.command()
@network_arguments
@click.option(
    "--load", default=0.5, show_default=True, help="Packets (see --unit) per terminal per cycle."
)
@click.option("--trace", metavar="FILE", help="Replay cycle,source,destination lines instead.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="PLACE[:EFFECT]",
    help="Inject a fault: link:1:3, box:1:2:lossy, link:0:5:flip=7. May be given several times.",
)
@click.option("--vcd", metavar="FILE", help="Write all waveforms (engine amaranth); - is stdout.")
@run_options
def sim(
    network: str,
    parameters: tuple[str, ...],
    load: float,
    trace: str | None,
    vcd: str | None,
    faults: tuple[str, ...],
    traffic: str,
    unit: Literal["packets", "flits"],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a network at one load."""
    built = network_from(network, parameters)
    if trace is not None:
        for name in ("traffic", *_MEASURED, "seed", "source_depth"):
            _refuse(name, "A trace takes", "it lists every packet itself")
        packets: Pattern | Trace = read_trace(trace, built.ports)
    else:
        packets = pattern(traffic, built.ports)
        if packets.quota:
            why = "all packets are sent at once, and all measured"
            for name in _MEASURED:
                _refuse(name, f"Traffic {short_name(packets.name)} takes", why)
    outputs = () if vcd is None else (vcd,)
    check_outputs(outputs, as_json)
    result = simulate(
        built,
        traffic=packets,
        load=load,
        unit=unit,
        vcd=vcd,
        faults=faults,
        progress=True,
        **options,
    )
    if as_json:
        click.echo(json.dumps(result.to_json()))
    else:
        with messages(outputs):
            print_result(result, unit)
    if result.partial:
        sys.exit(INTERRUPTED)


_MEASURED = ("load", "cycles", "warmup", "precision", "limit", "seeds")
"""Options for traffic without end."""


def _refuse(name: str, whose: str, why: str) -> None:
    """Raise ValueError if an option was given that this traffic does not take."""
    source = click.get_current_context().get_parameter_source(name)
    if source != click.core.ParameterSource.DEFAULT:
        raise InvalidValue(f"{whose} no --{name.replace('_', '-')}: {why}")


def _print_sweep(curve: Sweep, unit: str) -> None:
    per, counted = _rates(curve.points[0], unit) if curve.points else (1.0, unit)
    table = Table("load", "throughput", "mean", "p99", "predicted", "verdict")
    for column in table.columns[:-1]:
        column.no_wrap = True
    for point in curve.points:
        table.add_row(
            f"{per * point.offered_load:.4f}",
            f"{per * point.throughput:.4f}",
            _latency_row(point.latency)[0],
            _latency_row(point.latency)[3],
            _number(point.predicted["latency_mean"]),
            point.verdict.partition(":")[0],
        )
    Console().print(table)
    click.echo(f"zero-load latency: {_number(curve.zero_load_latency)} cycles")
    if curve.saturation_interval is None:
        click.echo("saturation throughput: not reached")
    else:
        low, high = (per * load for load in curve.saturation_interval)
        click.echo(
            f"saturation throughput: {per * (curve.saturation_throughput or 0):.4f} {counted} per "
            f"terminal per cycle;\nsaturation begins between loads {low:.4f} and {high:.4f}"
        )
    undecided = sum(point.saturated is None for point in curve.points)
    if undecided:
        click.echo(
            f"{undecided} point{'s'[: undecided > 1]} undecided: longer windows (--cycles, "
            "--limit) or more --seeds\nwould tell whether they are saturated"
        )
    if curve.partial:
        click.echo("PARTIAL: the sweep was interrupted")


@click.command()
@network_arguments
@sweep_options
@run_options
def sweep(
    network: str,
    parameters: tuple[str, ...],
    loads: str,
    output: tuple[str, ...],
    unit: Literal["packets", "flits"],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a network at many loads, and draw latency and throughput."""
    check_outputs(output, as_json)
    for path in output:
        output_format(path, FORMATS)
    failure: LoadsLost | None = None
    try:
        curve = run_sweep(
            network_from(network, parameters),
            parse_loads(loads),
            unit=unit,
            progress=True,
            **options,
        )
    except LoadsLost as error:
        curve, failure = error.sweep, error
        if not curve.points:
            raise
    for path in output:
        save_sweep(curve, path)
    if as_json:
        click.echo(json.dumps(curve.to_json()))
    else:
        with messages(output):
            _print_sweep(curve, unit)
            for path in output:
                click.echo(f"wrote {path}")
    if failure is not None:
        raise failure
    if curve.partial:
        sys.exit(INTERRUPTED)
