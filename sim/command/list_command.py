"""`multicube list`: what can be built."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from .terminal_table import console

if TYPE_CHECKING:
    from rich.table import Table

    from ...hdl.networks.family import Family

__all__ = ["list_"]


@click.command("list")
@click.argument("network", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(network: str | None, as_json: bool) -> None:
    """Show all networks, or the parameters of one.

    With NETWORK: its parameters with their defaults, limits and meanings.
    """
    from ...hdl.catalogue.catalogue import FAMILIES, find
    from ..engines.engine_selection import ENGINES
    from ..workload.traffic import TRAFFIC

    families = list(FAMILIES.values()) if network is None else [find(network)]
    if as_json:
        record = {"networks": list(map(_record, families)), "traffic": TRAFFIC, "engines": ENGINES}
        click.echo(json.dumps(record))
    elif network is None:
        _print_all()
    else:
        _print_one(families[0])


def _record(family: "Family") -> dict[str, Any]:
    """A network and its parameters, as JSON."""
    return {
        "name": family.name,
        "aliases": list(family.aliases),
        "preset": family.preset is not None,
        "description": family.description,
        "parameters": [
            {
                "name": parameter.name,
                "default": parameter.default,
                "least": parameter.least,
                "most": parameter.most,
                "choices": parameter.words,
                "description": parameter.description,
            }
            for parameter in family.parameters
        ],
    }


def _print_all() -> None:
    from ...hdl.catalogue.catalogue import FAMILIES
    from ..engines.engine_selection import ENGINES
    from ..workload.traffic import TRAFFIC

    terminal = console()
    for preset, heading in ((False, "Networks:"), (True, "\nNetworks of machines:")):
        click.echo(heading)
        rows = [
            (family.name, f"{family.description}{_also(family)}")
            for family in FAMILIES.values()
            if (family.preset is not None) == preset
        ]
        terminal.print(_plain_table(rows))
    for what, words in (("\nTraffic", TRAFFIC), ("Engines", ENGINES)):
        terminal.print(f"{what}: {', '.join(words)}", markup=False, emoji=False)
    click.echo("multicube list NETWORK shows the parameters of a network.")


def _also(family: "Family") -> str:
    return f" (also {', '.join(family.aliases)})" if family.aliases else ""


def _print_one(family: "Family") -> None:
    from ...hdl.catalogue.catalogue import summary

    terminal = console()
    terminal.print(f"{family.name}: {family.description}{_also(family)}")
    if family.preset is not None:
        terminal.print(f"preset of {summary(family.preset.family, family.preset.defaults)}")
    rows = [
        (
            parameter.name,
            str(parameter.default),
            "see below" if parameter.meanings else parameter.values,
            parameter.description,
        )
        for parameter in family.parameters
    ]
    terminal.print(_plain_table(rows, "parameter", "default", "values", "meaning"))
    for parameter in family.parameters:
        if parameter.meanings:
            click.echo()
            terminal.print(_plain_table(parameter.meanings.items(), parameter.name, "meaning"))


def _plain_table(rows: Iterable[tuple[str, ...]], *heads: str) -> "Table":
    """A table without lines, as short as it can be; without `heads` it has no first row."""
    from rich.table import Table

    table = Table(*heads, box=None, show_header=bool(heads), pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    table.columns[0].no_wrap = True
    return table
