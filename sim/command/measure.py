"""`multicube measure`: measures of a network's graph."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import network_arguments, network_from, refuse_option
from .terminal_table import print_table

if TYPE_CHECKING:
    from ...hdl.networks.network import Network
    from ..measure.bisection import Bisection
    from ..measure.bounds import Bounds
    from ..measure.graph_measures import CommunicationMeasures, GraphMeasures

__all__ = ["measure"]


@click.command()
@network_arguments
@click.option("--alpha", default=0.5, show_default=True, help="Share of F in L, from 0 to 1.")
@click.option(
    "--limit",
    default=10.0,
    show_default=True,
    help="Seconds of processor time for the search of F, and of the bisection.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of the heuristics.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def measure(
    network: str, parameters: tuple[str, ...], alpha: float, limit: float, seed: int, as_json: bool
) -> None:
    """Print distances, fan-out time and bisection of a network of nodes and links.

    Distances are in links, on shortest paths. The mean is over all pairs of terminals, including
    each with itself, as in uniform traffic. In a multistage network the boxes are the nodes, and F
    is not looked for. A bus is two nodes and the link between them, to which the links of its
    members are added; `compare --per wire` takes it for one link. The other measures are those of
    Ginosar and Egozi (1989). A number that is not found exactly within the limit is shown as two
    bounds, each with its method.
    """
    from ..measure.bisection import bisection
    from ..measure.graph_measures import (
        communication_measures,
        graph_measures,
        unsearched,
        unspread,
    )

    built = network_from(network, parameters)
    if built.described is None:
        raise InvalidValue(
            f"Only networks of nodes and links can be measured, not {built.family!r}"
        )
    graph = built.described.graph
    found, halves, unlooked = None, None, unsearched(graph)
    if why := unlooked or unspread(graph):
        for name in ("alpha", "limit", "seed") if unlooked else ("alpha",):
            refuse_option(name, f"This {built.family} takes", why)
    if unlooked is None:
        found = None if why else communication_measures(graph, alpha, limit, seed)
        halves = bisection(graph, limit, seed) if found is None else found.bisection
    basic = graph_measures(graph) if found is None else found.graph
    stated = None if graph.bisection is None else graph.bisection / 2
    formulas = _formulas(built, basic, found)
    if as_json:
        record: dict[str, Any] = {
            "network": built.family,
            "parameters": built.chosen,
            **asdict(basic),
            "stated_bisection": stated,
        }
        if halves is not None:
            record["bisection"] = _bounds(halves.width) | {"side": sorted(halves.side)}
        if found is not None:
            record |= _record(found)
        click.echo(json.dumps({**record, "formulas": formulas}))
        return
    click.echo(built.family)
    for title, value in _rows(basic, halves, found, stated).items():
        click.echo(f"  {title:<18}{value}")
    if why:
        click.echo(why)
    if formulas:
        _print_formulas(formulas)


def _rows(
    basic: "GraphMeasures",
    halves: "Bisection | None",
    found: "CommunicationMeasures | None",
    stated: float | None,
) -> dict[str, object]:
    rows = _basic_rows(basic)
    if found is not None:
        rows["fan-out time F"] = _with_methods(found.fan_out.time)
    if halves is not None:
        width, agrees = halves.width, ""
        if stated is not None and not width.lower <= stated <= width.upper:
            agrees = f"; the network states {stated:g}"
        rows["bisection e"] = _with_methods(width) + agrees
    elif stated is not None:
        rows["bisection e"] = f"{stated:g} (stated by the network)"
    return rows if found is None else rows | _derived_rows(found)


def _basic_rows(found: "GraphMeasures") -> dict[str, object]:
    degrees = f"{found.least_degree} to {found.most_degree}, mean {found.mean_degree:.4g}"
    kinds = {"one-way": found.one_way_links, "between a node and a bus": found.bus_links}
    counts = ", ".join(f"{number} of them {kind}" for kind, number in kinds.items() if number)
    same = found.least_degree == found.most_degree
    equal = found.terminals == found.sinks
    return {
        "nodes": found.nodes,
        "terminals": found.terminals if equal else f"{found.terminals} send, {found.sinks} receive",
        "links": f"{found.links} ({counts})" if counts else found.links,
        "virtual channels": found.channels,
        "degree": found.most_degree if same else degrees,
        "diameter": found.diameter,
        "mean distance": f"{found.mean_distance:.4f}",
    }


def _derived_rows(found: "CommunicationMeasures") -> dict[str, object]:
    return {
        "disconnectivity D": str(found.disconnectivity),
        "looseness L": f"{found.looseness} (alpha {found.alpha:g})",
        "connectivity C": f"{found.connectivity:.4g}",
        "L C": str(found.cost_effectiveness),
        "links per node": f"{found.cost:.4g}",
        "spectral gap": f"{found.spectral_gap:.4f}",
    }


def _with_methods(bounds: "Bounds") -> str:
    """A number, with the methods of its bounds if it is not exact."""
    if bounds.exact is not None:
        return str(bounds)
    return f"{bounds} (at least: {bounds.lower_method}; at most: {bounds.upper_method})"


def _bounds(bounds: "Bounds") -> dict[str, Any]:
    return {"exact": bounds.exact, **asdict(bounds)}


def _record(found: "CommunicationMeasures") -> dict[str, Any]:
    record: dict[str, Any] = {"alpha": found.alpha}
    for name, bounds in (
        ("fan_out", found.fan_out.time),
        ("disconnectivity", found.disconnectivity),
        ("looseness", found.looseness),
        ("cost_effectiveness", found.cost_effectiveness),
    ):
        record[name] = _bounds(bounds)
    record["fan_out"] |= {"source": found.fan_out.source, "steps": found.fan_out.steps}
    for name in ("connectivity", "cost", "spectral_gap"):
        record[name] = getattr(found, name)
    return record


def _formulas(
    built: "Network", basic: "GraphMeasures", found: "CommunicationMeasures | None"
) -> list[dict[str, Any]]:
    """The paper's formulas for the network, beside what was found; empty if it has none."""
    from ..theory.static_comparison import compared
    from ..theory.static_families import static_network

    known = static_network(built.family, built.parameters)
    if known is None:
        return []
    # The paper's L and LC are for alpha = 1/2.
    ranges = {"d": (basic.diameter,) * 2} if found is None else found.at(0.5).ranges()
    return [asdict(row) for row in compared(*known, ranges)]


def _print_formulas(formulas: list[dict[str, Any]]) -> None:
    def shown(value: float | None, form: str = ".5g") -> str:
        return "-" if value is None else format(value, form)

    def between(lower: float | None, upper: float | None) -> str:
        return shown(lower) if lower == upper else f"{shown(lower)} to {shown(upper)}"

    heads = ["measure", "in the paper", "printed", "corrected", "computed", "deviation"]
    rows = (
        (
            row["measure"],
            f"{row['printed']} ({row['source']})",
            shown(row["value"]),
            shown(row["corrected"]),
            between(row["lower"], row["upper"]),
            shown(row["deviation"], "+.1%"),
        )
        for row in formulas
    )
    print_table(heads, rows, least=100)
    for row in formulas:
        if row["why"] and row["deviation"]:
            click.echo(f"{row['measure']}: {row['why']}")
