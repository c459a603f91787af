"""`multicube measure`: measures of a network's graph."""

import json
from dataclasses import asdict

import click

from ...hdl.core.errors import InvalidValue
from .words import network_arguments, network_from

__all__ = ["measure"]


@click.command()
@network_arguments
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def measure(network: str, parameters: tuple[str, ...], as_json: bool) -> None:
    """Print distances and degrees of a network of nodes and links.

    Distances are in links, on shortest paths; the mean is that of uniform traffic, over all pairs
    of terminals, each with itself too.
    """
    from ..measure.graph_measures import graph_measures

    built = network_from(network, parameters)
    if built.relation is None:
        raise InvalidValue(
            f"Only networks of nodes and links can be measured, not {built.family!r}"
        )
    found = graph_measures(built.relation.graph)
    if as_json:
        record = {"network": built.family, "parameters": built.chosen, **asdict(found)}
        click.echo(json.dumps(record))
        return
    degrees = f"{found.least_degree} to {found.most_degree}, mean {found.mean_degree:.4g}"
    one_way = f" ({found.one_way_links} of them one-way)" if found.one_way_links else ""
    same = found.least_degree == found.most_degree
    rows = {
        "nodes": found.nodes,
        "terminals": found.terminals,
        "links": f"{found.links}{one_way}",
        "virtual channels": found.channels,
        "degree": found.most_degree if same else degrees,
        "diameter": found.diameter,
        "mean distance": f"{found.mean_distance:.4f}",
    }
    click.echo(built.family)
    for title, value in rows.items():
        click.echo(f"  {title:<18}{value}")
