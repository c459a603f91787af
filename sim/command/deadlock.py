"""`multicube deadlock`: looks for a cycle in a network's channel dependency graph."""

import json

import click
from tqdm import tqdm

from ...hdl.routing.deadlock import dependencies, dependency_cycle
from ..run.progress import phase
from .words import network_arguments, network_from

__all__ = ["deadlock"]


@click.command()
@network_arguments
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deadlock(network: str, parameters: tuple[str, ...], as_json: bool) -> None:
    """Check the routing of a network for deadlock.

    Deadlock needs a cycle of channels that wait for each other.
    """
    built = network_from(network, parameters)
    with tqdm(range(built.ports), unit="destinations", disable=None, leave=False) as destinations:
        waits = dependencies(map(built.moves, destinations), built.is_escape)
    with phase("looking for a cycle of channels"):
        cycle = dependency_cycle(waits)
    pairs = sum(map(len, waits.values()))
    if as_json:
        record = {
            "network": built.family,
            "parameters": built.chosen,
            "channels": len(waits),
            "dependencies": pairs,
            "free": cycle is None,
            "cycle": None if cycle is None else list(map(str, cycle)),
        }
        click.echo(json.dumps(record))
        return
    click.echo(f"{built.family}: {len(waits)} channels, {pairs} dependencies between them")
    if cycle is None:
        click.echo("no cycle of channels: free of deadlock, as long as terminals take what arrives")
    else:
        click.echo("a cycle of channels, each waiting for the one before it: it can deadlock")
        for pin in cycle:
            click.echo(f"  {pin}")
