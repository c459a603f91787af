"""`multicube deadlock`: looks for a cycle in a network's channel dependency graph."""

import json
import sys

import click

from .shared_arguments import network_arguments, network_from

__all__ = ["deadlock"]


@click.command()
@network_arguments
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deadlock(network: str, parameters: tuple[str, ...], as_json: bool) -> None:
    """Check the routing of a network for deadlock.

    Deadlock needs a cycle of channels that wait for each other. The status is 1 if there is one.
    Packets with a broadcast mask are not examined.
    """
    from tqdm import tqdm

    from ...hdl.graphs.routing.deadlock import dependencies, dependency_cycle
    from ..run.progress import phase

    built = network_from(network, parameters)
    with tqdm(range(built.sinks), unit="destinations", disable=None, leave=False) as destinations:
        waits = dependencies(map(built.moves, destinations), built.is_escape)
    with phase("looking for a cycle of channels"):
        cycle = dependency_cycle(waits)
    pairs = sum(map(len, waits.values()))
    # The graph does not show that packets to several terminals hold several channels.
    unexamined = "packets with a broadcast mask" if built.broadcasts else None
    if as_json:
        record = {
            "network": built.family,
            "parameters": built.chosen,
            "channels": len(waits),
            "dependencies": pairs,
            "free": False if cycle else None if unexamined else True,
            "not_examined": unexamined,
            "cycle": None if cycle is None else list(map(str, cycle)),
        }
        click.echo(json.dumps(record))
    else:
        click.echo(f"{built.family}: {len(waits)} channels, {pairs} dependencies between them")
        if cycle is not None:
            click.echo("a cycle of channels, each waiting for the one before it: it can deadlock")
            for pin in cycle:
                click.echo(f"  {pin}")
        else:
            whose = "packets to one terminal are free" if unexamined else "free"
            click.echo(
                f"no cycle of channels: {whose} of deadlock, as long as terminals take what arrives"
            )
        if unexamined:
            click.echo(f"not examined: {unexamined}, which hold several channels at the same time")
    if cycle is not None:
        sys.exit(1)
