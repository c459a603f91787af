"""`multicube compare`: load sweeps of several networks, in one table and one figure."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from ...hdl.core.output_file import output_format
from ...hdl.networks import build
from ..measure.comparison import UNITS, distinct_labels, rate_factor
from ..measure.curve import Sweep
from ..report.save import FORMATS, save_sweeps
from ..run.sweeps import LoadsLost, parse_loads, sweep
from ..workload.traffic import short_name
from .words import INTERRUPTED, check_outputs, messages, run_options, sweep_options

__all__ = ["compare"]


@click.command()
@click.argument("networks", nargs=-1, required=True, metavar="'NETWORK [NAME=VALUE]...'...")
@click.option(
    "--per",
    default="terminal",
    show_default=True,
    help=f"Divide rates by: {', '.join(UNITS)}. Per wire and bisection they are in flits per link.",
)
@sweep_options
@run_options
def compare(
    networks: tuple[str, ...],
    per: str,
    loads: str,
    output: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate several networks at many loads, and draw them in one figure.

    Each network with its parameters is one argument, in quotes: multicube compare "cube ports=64"
    "torus k=8 n=2" -o all.svg
    """
    check_outputs(output, as_json)
    for path in output:
        output_format(path, FORMATS)
    built = [build(text) for text in networks]
    factors = [rate_factor(network, per) for network in built]
    asked = parse_loads(loads)
    sweeps: list[Sweep] = []
    failure: LoadsLost | None = None
    for network in built:
        try:
            sweeps.append(sweep(network, asked, progress=True, **options))
        except LoadsLost as error:
            sweeps.append(error.sweep)
            failure = error
        except KeyboardInterrupt:
            if not sweeps:
                raise
            break
        if failure or sweeps[-1].partial:
            break
    interrupted = failure is None and (len(sweeps) < len(built) or sweeps[-1].partial)
    drawn = [each for each in sweeps if each.points]
    if failure and not drawn:
        raise failure
    for path in output:
        save_sweeps(drawn, path, per=per)
    if as_json:
        records = [
            {"rate_factor": factor, **each.to_json()} for factor, each in zip(factors, sweeps)
        ]
        click.echo(json.dumps({"per": per, "partial": interrupted, "sweeps": records}))
    else:
        with messages(output):
            _print(sweeps, factors, per)
            if interrupted:
                click.echo("PARTIAL: the comparison was interrupted")
            for path in output:
                click.echo(f"wrote {path}")
    if failure is not None:
        raise failure
    if interrupted:
        sys.exit(INTERRUPTED)


def _print(sweeps: Sequence[Sweep], factors: Sequence[float], per: str) -> None:
    table = Table("network", "zero-load latency", "saturation", "begins at load")
    for each, label, factor in zip(sweeps, distinct_labels(sweeps), factors):
        latency, rate = each.zero_load_latency, each.saturation_throughput
        interval = each.saturation_interval
        table.add_row(
            label,
            "-" if latency is None else f"{latency:.2f}",
            "not reached" if rate is None else f"{rate * factor:.4f}",
            "-" if interval is None else " to ".join(f"{load * factor:.4f}" for load in interval),
        )
    click.echo(
        f"{short_name(sweeps[0].traffic)} traffic; rates in {UNITS[per]}, latencies in cycles"
    )
    Console().print(table)
