"""`multicube booksim`: configurations of BookSim2."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from .shared_arguments import INTERRUPTED, engine_option

__all__ = ["booksim"]


@click.command()
@click.argument("file", metavar="FILE.cfg")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--cycles",
    type=int,
    help="Length of the window. Default: as long as the results need, at most "
    "sample_period times max_samples.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def booksim(
    file: str, words: tuple[str, ...], cycles: int | None, as_json: bool, **options: Any
) -> None:
    """Run a configuration file of BookSim2.

    The network runs as hardware, and the results have BookSim2's names. Settings without a
    counterpart are named. Words NAME=VALUE override the file.
    """
    from ...hdl.support.input_file import read_text
    from ..run.booksim_counterpart import booksim_counterpart, booksim_results
    from ..run.simulation import simulate
    from ..workload.booksim_config import read_booksim

    config = read_booksim(read_text("File", file), words)
    found = booksim_counterpart(config, Path(file).parent)
    result = simulate(
        found.network,
        traffic=found.traffic,
        load=found.load,
        seed=found.seed,
        cycles=cycles,
        limit=found.limit,
        progress=True,
        **options,
    )
    values = booksim_results(result, found.hops)
    if as_json:
        record = {
            "network": str(found.network),
            "notes": dict(found.notes),
            "further_cycles": found.further_cycles,
            "booksim": values,
            "result": result.to_json(),
        }
        click.echo(json.dumps(record))
    else:
        click.echo(f"{found.network}")
        for what, why in found.notes:
            click.echo(f"left out: {what} ({why})")
        for name, value in values.items():
            click.echo(f"{name} = {'not known' if value is None else f'{value:.6g}'}")
        click.echo(
            f"BookSim2's routers, of {found.cycles_per_hop} cycles per hop, take "
            f"{found.further_cycles:.4g} cycles more at zero load"
        )
        click.echo(result.verdict)
        if result.ended == "limit":
            click.echo(
                f"the window ended at sample_period max_samples = {found.limit} cycles, before "
                f"the results were within 5 %"
            )
    if result.partial:
        sys.exit(INTERRUPTED)
