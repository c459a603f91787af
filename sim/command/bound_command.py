"""`multicube bound`: the longest latency that a packet can have, whatever is sent."""

import json

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from .shared_arguments import network_arguments, network_from

__all__ = ["bound"]


def _read_flow(text: str) -> tuple[int, int]:
    words = text.split(":")
    if len(words) != 2 or not all(map(is_natural, words)):
        raise InvalidValue(f"Flow must be SOURCE:DESTINATION, such as 0:5, not {text!r}")
    return int(words[0]), int(words[1])


@click.command()
@network_arguments
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="SOURCE:DESTINATION",
    help="A flow; may be given several times. Default: the flow of the highest bound.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, by default with all flows."
)
def bound(network: str, parameters: tuple[str, ...], flows: tuple[str, ...], as_json: bool) -> None:
    """Bound the latency of each flow of a network.

    The bound is on the cycles from the offer of a packet's header to the delivery of its tail,
    whatever all terminals send. Terminals must take a flit per cycle.
    """
    from ...hdl.networks.packet_network import PacketNetwork
    from ..measure.delay_bound import delay_bounds

    wanted = [_read_flow(each) for each in flows]
    built = network_from(network, parameters)
    if not isinstance(built, PacketNetwork):
        raise InvalidValue(f"Latency has a bound in packet networks only, not in {built.family}")
    bounds = delay_bounds(built)
    if wanted:
        found = [bounds.of(*flow) for flow in wanted]
    else:
        found = [*bounds.all()] if as_json else [bounds.worst]
    if as_json:
        record = {
            "network": built.family,
            "parameters": built.chosen,
            "flows": [flow._asdict() for flow in found],
        }
        click.echo(json.dumps(record))
        return
    click.echo(str(built))
    for source, destination, cycles in found:
        most = "no bound" if cycles is None else f"at most {cycles} cycles"
        click.echo(f"from {source} to {destination}: {most}")
    if not wanted:
        click.echo("no flow has a higher bound")
