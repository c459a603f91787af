"""`multicube compare`: load sweeps of several networks, in one table and one figure."""

import json
import sys
from typing import Any

import click

from ...hdl.support.output_file import output_format
from ..measure.units import PER
from ..report.formats import FORMATS
from .shared_arguments import (
    INTERRUPTED,
    check_outputs,
    chosen_loads,
    chosen_look,
    figure_options,
    given,
    messages,
    refuse_idle_limit,
    run_options,
    sweep_options,
    written,
)

__all__ = ["compare"]


@click.command()
@click.argument("networks", nargs=-1, required=True, metavar="'NETWORK [NAME=VALUE]...'...")
@click.option(
    "--per",
    default="terminal",
    show_default=True,
    help=f"What rates are divided by: {', '.join(PER)}. By wire and bisection they count flits.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="TEXT",
    help="Name of a network in the figure, one for each network. Default: its words.",
)
@sweep_options
@figure_options
@run_options
def compare(
    networks: tuple[str, ...],
    loads: str | None,
    clip: bool,
    output: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate several networks at many loads, and draw them in one figure.

    Each network with its parameters is one argument, in quotes: multicube compare "cube ports=64"
    "torus k=8 n=2" -o all.svg
    """
    from ..report.save import save_comparison
    from ..run.comparing import compare as run_comparison
    from ..run.sweeps import LoadsLost
    from .result_tables import print_comparison

    refuse_idle_limit(options["cycles"], options["precision"])
    check_outputs([*output, *given(options["resume"])], as_json)
    for path in output:
        output_format(path, FORMATS)
    look = chosen_look(options, output)
    failure: LoadsLost | None = None
    try:
        comparison = run_comparison(networks, **chosen_loads(loads, clip), progress=True, **options)
    except LoadsLost as error:
        if error.comparison is None or not error.comparison.drawn.sweeps:
            raise
        comparison, failure = error.comparison, error
    paths, trouble = written(output, lambda path: save_comparison(comparison.drawn, path, look))
    if as_json:
        click.echo(json.dumps(comparison.to_json()))
    else:
        with messages(output):
            print_comparison(comparison)
            if comparison.partial:
                click.echo("PARTIAL: the comparison was interrupted")
            for path in paths:
                click.echo(f"wrote {path}")
    if first := failure or trouble:
        raise first
    if comparison.partial:
        sys.exit(INTERRUPTED)
