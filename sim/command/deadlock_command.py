"""`multicube deadlock`: looks for a cycle in a network's channel dependency graph."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import network_arguments, network_from

if TYPE_CHECKING:
    from ...hdl.networks.network import PacketNetwork

__all__ = ["deadlock"]


@click.command()
@network_arguments
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="ROOT:MEMBERS",
    help="A group of terminals: 0:all, 5:0-7,12. May be repeated.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["multicast", "reduce", "all-reduce"]),
    help="What packets of groups do; default: all of these.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deadlock(
    network: str,
    parameters: tuple[str, ...],
    groups: tuple[str, ...],
    kinds: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the routing of a network for deadlock.

    Deadlock needs a cycle of channels that wait for each other. The status is 1 if there is one.
    Packets with a broadcast mask are not examined; those of groups are, beside those for one
    terminal, if groups are given.
    """
    from tqdm import tqdm

    from ...hdl.graphs.routing.deadlock import dependencies, dependency_cycle
    from ..run.progress import phase

    built = network_from(network, parameters)
    with tqdm(range(built.sinks), unit="destinations", disable=None, leave=False) as destinations:
        waits = dependencies(map(built.moves, destinations), built.is_escape)
    with phase("looking for a cycle of channels"):
        pins = dependency_cycle(waits)
    cycle: Sequence[object] | None = pins
    if cycle is None and (groups or kinds):
        cycle = _group_cycle(built, groups, kinds)
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


def _group_cycle(
    network: "PacketNetwork", groups: tuple[str, ...], kinds: tuple[str, ...]
) -> "list[str] | None":
    """A cycle of channels, as that of packets for one terminal: each waits for the one before."""
    from ...hdl.graphs.routing.group_tree import Kind, parse_group

    if not groups:
        raise InvalidValue("Kind needs a group: --group ROOT:MEMBERS")
    found = {number: parse_group(words, network.sinks) for number, words in enumerate(groups)}
    chosen = [Kind[kind.upper().replace("-", "_")] for kind in kinds] or [*Kind][1:]
    cycle = network.group_cycle(found, chosen)
    return None if cycle is None else [*cycle, cycle[0]][::-1]
