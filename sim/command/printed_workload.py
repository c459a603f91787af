"""What `multicube sim --workload` prints."""

import click

from ...hdl.catalogue.catalogue import summary
from ...hdl.support.counted import counted
from ..measure.critical_path import PathPart, WorkloadRun

__all__ = ["print_workload"]

_MOST = 12
"""Messages of the critical path that are listed."""


def print_workload(run: WorkloadRun) -> None:
    """Print the length of a workload, and its critical path."""
    computations = sum(times.message.is_computation for times in run.messages)
    what = counted(len(run.messages) - computations, "message")
    if computations:
        what += f" and {counted(computations, 'computation')}"
    click.echo(summary(run.network, run.parameters))
    click.echo(f"workload {run.workload}: {what} in {run.cycles} cycles on engine {run.engine}")
    shares = [f"{kind} {cycles}" for kind, cycles in run.shares.items()]
    path = run.critical_path
    click.echo(f"critical path of {len(path)}: {', '.join(shares)} cycles")
    known = {times.message.id: times for times in run.messages}
    shown = [*path[: _MOST // 2], *path[-_MOST // 2 :]] if len(path) > _MOST else path
    for number, part in enumerate(shown):
        if len(path) > _MOST and number == _MOST // 2:
            click.echo("  ...")
        message = known[part.id].message
        name = f"message {part.id}, {message.source} to {message.destination}"
        did = "arrived"
        if message.is_computation:
            name, did = f"computation {part.id}, at {message.source}", "ended"
        click.echo(f"  {name}: {_parts(part)}; {did} in cycle {known[part.id].arrived}")


def _parts(part: PathPart) -> str:
    kinds = {kind: cycles for kind, cycles in vars(part).items() if kind != "id" and cycles}
    return ", ".join(f"{kind} {cycles}" for kind, cycles in kinds.items())
