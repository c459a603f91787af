"""`multicube compare`: load sweeps of several networks, in one table and one figure."""

import json
import sys
from typing import Any, Literal

import click

from ...hdl.support.output_file import output_format
from ..measure.units import PER
from ..report.formats import FORMATS
from .shared_arguments import INTERRUPTED, check_outputs, messages, run_options, sweep_options

__all__ = ["compare"]


@click.command()
@click.argument("networks", nargs=-1, required=True, metavar="'NETWORK [NAME=VALUE]...'...")
@click.option(
    "--per",
    default="terminal",
    show_default=True,
    help=f"Divide rates by: {', '.join(PER)}. Per wire and bisection they are in flits per link.",
)
@sweep_options
@run_options
def compare(
    networks: tuple[str, ...],
    per: str,
    loads: str,
    output: tuple[str, ...],
    unit: Literal["packets", "flits"],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate several networks at many loads, and draw them in one figure.

    Each network with its parameters is one argument, in quotes: multicube compare "cube ports=64"
    "torus k=8 n=2" -o all.svg
    """
    from ...hdl.catalogue.catalogue import build
    from ..measure.comparison import rate_factor
    from ..measure.curve import Sweep
    from ..report.save import comparison_record, save_sweeps
    from ..run.sweeps import LoadsLost, parse_loads, sweep
    from .printed_tables import print_comparison

    check_outputs(output, as_json)
    for path in output:
        output_format(path, FORMATS)
    built = [build(text) for text in networks]
    for network in built:
        rate_factor(network, per)  # raises an error if it is not known
    asked = parse_loads(loads)
    sweeps: list[Sweep] = []
    failure: LoadsLost | None = None
    for network in built:
        try:
            sweeps.append(sweep(network, asked, unit=unit, progress=True, **options))
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
        save_sweeps(drawn, path, per=per, unit=unit)
    if as_json:
        click.echo(json.dumps({"partial": interrupted, **comparison_record(sweeps, per, unit)}))
    else:
        with messages(output):
            print_comparison(sweeps, per, unit)
            if interrupted:
                click.echo("PARTIAL: the comparison was interrupted")
            for path in output:
                click.echo(f"wrote {path}")
    if failure is not None:
        raise failure
    if interrupted:
        sys.exit(INTERRUPTED)
