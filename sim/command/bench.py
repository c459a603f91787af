"""`multicube bench`: how fast each engine is on this machine."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .shared_arguments import INTERRUPTED, network_arguments, network_from, refuse_option
from .terminal_table import print_table

if TYPE_CHECKING:
    from ..run.engine_timings import Timing

__all__ = ["bench"]


@click.command()
@network_arguments
@click.option("--load", default=0.5, show_default=True, help="Packets per terminal per cycle.")
@click.option("--runs", default=8, show_default=True, help="Parallel runs, compiled engine.")
@click.option("--seconds", default=5.0, show_default=True, help="Length of each measurement.")
@click.option(
    "--verilator-limit",
    default=300.0,
    show_default=True,
    help="Seconds allowed for Verilator's compilation.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="Time this engine alone: amaranth, compiled or verilator; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    network: str,
    parameters: tuple[str, ...],
    load: float,
    runs: int,
    seconds: float,
    verilator_limit: float,
    engines: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the engines on a network, under uniform traffic."""
    from ..run.engine_timings import ENGINES, time_engines

    built = network_from(network, parameters)
    if engines and "verilator" not in engines:
        why = "it is of its compilation"
        refuse_option("verilator_limit", "Without --engine verilator there is", why)
    timings = []
    interrupted = False
    try:
        for timing in time_engines(
            built,
            load=load,
            engines=engines or ENGINES,
            side_by_side=runs,
            seconds=seconds,
            verilator_limit=verilator_limit,
        ):
            timings.append(timing)
            click.echo(f"{timing.engine} x {timing.runs}: done", err=True)
    except KeyboardInterrupt:
        if not timings:
            raise
        interrupted = True
    if as_json:
        click.echo(json.dumps({"timings": [timing.to_json() for timing in timings]}))
    else:
        _print(timings)
    if interrupted:
        sys.exit(INTERRUPTED)


def _print(timings: "Sequence[Timing]") -> None:
    reference = timings[0]
    heads = [*_COLUMNS[:3], f"x {reference.engine}", *_COLUMNS[3:]]
    rows = (
        [timing.engine, str(timing.runs), *_figures(timing, reference)]
        for timing in timings
        if not timing.note
    )
    print_table(heads, rows, whole=len(heads), least=_WIDTH)
    for timing in timings:
        if timing.note:
            click.echo(f"{timing.engine} x {timing.runs}: {timing.note}")


_COLUMNS = (*("engine", "runs", "cycles/s"), *("ns/cell/cycle", "hops/s", "setup s", "peak MB"))
_WIDTH = 110
"""Width of the table on a narrower terminal, so that no figure is truncated."""


def _figures(timing: "Timing", reference: "Timing") -> list[str]:
    ratio = "-"
    if reference.cycles_per_second:
        ratio = f"{timing.cycles_per_second / reference.cycles_per_second:,.0f}"
    return [
        f"{timing.cycles_per_second:,.0f}",
        ratio,
        f"{timing.nanoseconds:,.2f}",
        f"{timing.hops_per_second:,.0f}",
        f"{timing.setup_seconds:.1f}",
        f"{timing.memory / 1e6:.0f}",
    ]
