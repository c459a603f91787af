"""`multicube permute`: whether a network passes a permutation, and in how many passes."""

import json
from typing import TYPE_CHECKING, Any

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import network_and, network_from
from .terminal_table import print_table

if TYPE_CHECKING:
    from ...hdl.graphs.permutations import Permutation
    from ...hdl.graphs.plans.multistage import MultistagePlan
    from ...hdl.graphs.schedules.looping import BoxSettings
    from ...hdl.graphs.tags import TagScheme
    from ...hdl.networks.network import Network

__all__ = ["permute"]


@click.command()
@network_and("permutation")
@click.option(
    "--passes", is_flag=True, help="Show passes that perform the permutation, with settings."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def permute(
    network: str, parameters: tuple[str, ...], permutation: str, passes: bool, as_json: bool
) -> None:
    """Show how a network passes a permutation, or which of its paths conflict.

    PERMUTATION is written as for --traffic: a name (bit-reversal, shift:3), the destinations of all
    terminals separated by commas (3,0,2,1), with x for a terminal that sends nothing, or file:FILE.
    """
    from ...hdl.graphs.schedules.decomposition import decompose, direct_passes
    from ...hdl.graphs.schedules.passes import conflicts
    from ..run.progress import phase
    from ..workload.traffic import pattern

    built = network_from(network, parameters)
    plan = None if built.rearrangeable else built.single_paths()
    destinations = pattern(permutation, built.ports).destinations(built.code)
    if destinations is None:
        raise InvalidValue(
            f"Permutation must give each terminal one destination, not {permutation}"
        )
    if plan is None:
        with phase("looking for settings"):
            settings = built.rearranged(destinations)
        _show_rearranged(built, permutation, destinations, settings, passes, as_json)
        return
    tags = built.tags
    with phase("looking for conflicts"):
        found = conflicts(plan, destinations)
    record: dict[str, Any] = {
        "network": built.family,
        "parameters": built.chosen,
        "permutation": permutation,
        "passable": not found,
        "conflicts": [conflict._asdict() for conflict in found],
        **_pass(plan, tags, destinations, set_=not found),
    }
    if passes:
        with phase("looking for passes through intermediate terminals"):
            record["passes"] = [_pass(plan, tags, one) for one in decompose(plan, destinations)]
        with phase("looking for passes straight to the destinations"):
            record["direct_passes"] = [
                _pass(plan, tags, one) for one in direct_passes(built.plan, destinations)
            ]
    if as_json:
        click.echo(json.dumps(record))
        return
    click.echo(f"{built.family} ports={built.ports} radix={plan.radix_text}")
    if found:
        more = f" (and {len(found) - 1} more such links)" if len(found) > 1 else ""
        click.echo(f"{permutation} does not pass: {found[0]}{more}")
    else:
        click.echo(f"{permutation} passes, with these settings:")
        _print_settings(record)
    for kind, words in (
        ("passes", "through intermediate terminals"),
        ("direct_passes", "straight to the destinations"),
    ):
        own = record.get(kind, [])
        # The settings of a permutation that passes have already been shown.
        for number, one in enumerate(own if found else [], 1):
            click.echo(f"pass {number} of {len(own)} {words}: {_arrows(one['destinations'])}")
            _print_settings(one)


def _show_rearranged(
    built: "Network",
    permutation: str,
    destinations: "Permutation",
    settings: "BoxSettings",
    passes: bool,
    as_json: bool,
) -> None:
    """Show the settings of a network that passes every permutation, which takes one pass."""
    record: dict[str, Any] = {
        "network": built.family,
        "parameters": built.chosen,
        "permutation": permutation,
        "passable": True,
        "conflicts": [],
    }
    one = {"destinations": list(destinations), "settings": settings}
    record |= one
    if passes:
        record |= {"passes": [one], "direct_passes": [one]}
    if as_json:
        click.echo(json.dumps(record))
        return
    click.echo(str(built))
    click.echo(f"{permutation} passes, as every permutation, with these settings:")
    _print_settings(record)


def _pass(
    plan: "MultistagePlan", tags: "TagScheme", destinations: "Permutation", set_: bool = True
) -> dict[str, Any]:
    """A pass as plain lists: the destination and tag of each source, and the boxes' settings."""
    from ...hdl.graphs.schedules.passes import settings

    return {
        "destinations": list(destinations),
        "tags": [
            None if destination is None else tags.tag(source, destination)
            for source, destination in enumerate(destinations)
        ],
        "settings": settings(plan, destinations) if set_ else None,
    }


def _arrows(destinations: "Permutation") -> str:
    return " ".join(f"{x}>{to}" for x, to in enumerate(destinations) if to is not None)


def _print_settings(record: dict[str, Any]) -> None:
    from itertools import zip_longest

    from ...hdl.graphs.schedules.passes import state_name

    columns = record["settings"]
    heads = ["box", *(f"stage {stage}" for stage in range(len(columns)))]
    # Not all stages of a Clos network have as many boxes.
    rows = (
        [str(box), *("" if one is None else state_name(one) for one in row)]
        for box, row in enumerate(zip_longest(*columns))
    )
    wanted = 8 + sum(max(8, *(len(state_name(box)) for box in column)) + 3 for column in columns)
    print_table(heads, rows, whole=len(heads), least=wanted)
