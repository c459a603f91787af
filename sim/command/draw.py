"""`multicube draw`: a picture of a network."""

import json

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import is_natural
from .shared_arguments import check_outputs, messages, network_arguments, network_from

__all__ = ["draw"]


@click.command()
@network_arguments
@click.option("--path", "ends", metavar="S:D", help="Show the path between two terminals.")
@click.option(
    "--group",
    metavar="ROOT:MEMBERS",
    help="Show the tree by which copies go to a group: 0:all, 5:0-7,12.",
)
@click.option(
    "--heat",
    metavar="RESULT.json",
    help="Colour the links by their use in a run: what multicube sim --json printed.",
)
@click.option("-o", "--output", required=True, help="Picture to write: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(
    network: str,
    parameters: tuple[str, ...],
    ends: str | None,
    group: str | None,
    heat: str | None,
    output: str,
    as_json: bool,
) -> None:
    """Draw a network.

    --path shows the way of a packet when all channels are free. In a network with memory it is that
    of a request from a processor to a memory module.
    """
    from ...hdl.graphs.routing.group_tree import parse_group
    from ..report.drawing import caption
    from ..report.drawing import draw as draw_network
    from ..report.heat import read_heat

    check_outputs([output], as_json)
    built = network_from(network, parameters)
    used = None if heat is None else read_heat(heat, built)
    if ends is not None and group is not None:
        raise InvalidValue("A path and the tree of a group can't be shown together")
    tree = None if group is None else parse_group(group, built.sinks)
    draw_network(built, output, paths=_pairs(ends), group=tree, heat=used)
    diagram = built.diagram
    if as_json:
        counts = {"nodes": len(diagram.nodes), "terminals": [built.sources, built.sinks]}
        click.echo(json.dumps({"output": output, **counts, "links": diagram.links}))
    else:
        with messages([output]):
            click.echo(f"{output}: {caption(diagram)}")


def _pairs(ends: str | None) -> list[tuple[int, int]]:
    """The terminals of a path S:D, if there is one."""
    if ends is None:
        return []
    source, separator, destination = ends.partition(":")
    if not (separator and is_natural(source) and is_natural(destination)):
        raise InvalidValue(f"Path must be two terminals S:D, not {ends!r}")
    return [(int(source), int(destination))]
