"""`multicube draw`: a picture of a network."""

import json

import click

from ...hdl.core.errors import InvalidValue
from .words import network_arguments, network_from

__all__ = ["draw"]


@click.command()
@network_arguments
@click.option("--path", "ends", metavar="S:D", help="Show the path between two terminals.")
@click.option("-o", "--output", required=True, help="Picture to write: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(
    network: str, parameters: tuple[str, ...], ends: str | None, output: str, as_json: bool
) -> None:
    """Draw a multistage network's wiring plan, or a network of nodes and links.

    The path is the one that a packet takes if all channels are free.
    """
    from ..report.drawing import draw as draw_network

    built = network_from(network, parameters)
    draw_network(built, output, paths=_pairs(ends))
    counts: dict[str, int | tuple[int, ...]] = (
        {"ports": built.ports}
        if built.sources == built.sinks
        else {"sources": built.sources, "sinks": built.sinks}
    )
    if built.wiring_plan is not None:
        plan = built.wiring_plan
        columns = sorted(set(plan.columns), reverse=True)
        counts["boxes"] = columns[0] if len(columns) == 1 else plan.columns
        shown = f"{len(plan.stages)} stages of {' or '.join(map(str, columns))} boxes"
    else:
        assert built.relation is not None  # it was drawn
        graph = built.relation.graph
        counts |= {"nodes": graph.nodes, "links": len(graph.edges)}
        shown = f"{graph.nodes} nodes, {len(graph.edges)} links"
    click.echo(json.dumps({"output": output, **counts}) if as_json else f"{output}: {shown}")


def _pairs(ends: str | None) -> list[tuple[int, int]]:
    """The terminals of a path S:D, if there is one."""
    if ends is None:
        return []
    source, separator, destination = ends.partition(":")
    if not (separator and source.isdecimal() and destination.isdecimal()):
        raise InvalidValue(f"Path must be two terminals S:D, not {ends!r}")
    return [(int(source), int(destination))]
