"""`multicube deadlock`: looks for a cycle in a network's channel dependency graph."""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import network_arguments, network_from

if TYPE_CHECKING:
    from ...hdl.networks.packet_network import PacketNetwork

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
    help="What packets of groups do. Default: all of these.",
)
@click.option(
    "--reply",
    "replies",
    multiple=True,
    metavar="CLASS:CLASS",
    help="Terminals only take messages of the first class when they can send one of the "
    "second: 0:1 with classes=2, or 0:0. May be repeated, for chains.",
)
@click.option(
    "--run",
    "cycles",
    type=int,
    metavar="CYCLES",
    help="With one --reply: let terminals send requests for this many cycles, in hardware, "
    "and check that all are answered.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deadlock(
    network: str,
    parameters: tuple[str, ...],
    groups: tuple[str, ...],
    kinds: tuple[str, ...],
    replies: tuple[str, ...],
    cycles: int | None,
    as_json: bool,
) -> None:
    """Check the routing of a network for deadlock.

    Deadlock needs a cycle of channels that wait for each other. The status is 1 if there is one.
    Packets with a broadcast mask are not examined. With --group, packets of groups are examined
    as well as packets for one terminal.
    """
    from tqdm import tqdm

    from ...hdl.graphs.routing.deadlock import dependencies, dependency_cycle
    from ...hdl.graphs.routing.group_tree import parse_group
    from ...hdl.graphs.routing.replying import Replying, parse_reply
    from ..run.progress import phase
    from ..run.reply_run import run_replies

    built = network_from(network, parameters)
    chains = [parse_reply(words) for words in replies]
    found = {number: parse_group(words, built.sinks) for number, words in enumerate(groups)}
    if kinds and not found:
        raise InvalidValue("Kind needs a group: --group ROOT:MEMBERS")
    if cycles is not None and len(chains) != 1:
        raise InvalidValue(f"A run needs one --reply, not {len(chains)}")
    examined = Replying(built, chains) if chains else built
    with tqdm(range(built.sinks), unit="destinations", disable=None, leave=False) as destinations:
        waits = dependencies(map(examined.moves, destinations), examined.is_escape)
    with phase("looking for a cycle of channels"):
        pins = dependency_cycle(waits)
    cycle: Sequence[object] | None = pins
    if cycle is None and found:
        cycle = _group_cycle(built, found, kinds)
    shown = None if cycles is None else run_replies(built, chains[0], cycles=cycles)
    pairs = sum(map(len, waits.values()))
    # The graph does not show that packets to several terminals hold several channels.
    unexamined = "packets with a broadcast mask" if built.broadcasts else None
    if as_json:
        record = {
            "network": built.family,
            "parameters": built.chosen,
            "replies": chains,
            "groups": list(found.values()),
            "kinds": kinds,
            "run": None if shown is None else shown.to_json(),
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
                f"no cycle of channels: {whose} of deadlock, as long as {_TAKEN[bool(chains)]}"
            )
        if shown is not None:
            click.echo(shown)
        if unexamined:
            click.echo(f"not examined: {unexamined}, which hold several channels at the same time")
    if cycle is not None:
        sys.exit(1)


_TAKEN = {
    False: "terminals take what arrives",
    True: "terminals take what causes no reply, and all else when they can send the reply",
}
"""What terminals must do, without and with replies."""


def _group_cycle(
    network: "PacketNetwork",
    found: Mapping[int, tuple[int, list[int]]],
    kinds: tuple[str, ...],
) -> "list[str] | None":
    """A cycle of channels, as that of packets for one terminal: each waits for the one before."""
    from ...hdl.graphs.routing.group_tree import Kind

    chosen = [Kind[kind.upper().replace("-", "_")] for kind in kinds]
    for kind, group in product(chosen, found.values()):
        if why := network.group_refusal(kind, *group):
            raise InvalidValue(why)
    cycle = network.group_cycle(found, chosen or [*Kind][1:])
    return None if cycle is None else [*cycle, cycle[0]][::-1]
