"""`multicube paper`: the papers' figures and formula checks."""

import json
from typing import TYPE_CHECKING

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.output_file import output_format
from ..report.formats import FORMATS
from .shared_arguments import check_outputs, engine_option, messages, refuse_option
from .terminal_table import print_table

if TYPE_CHECKING:
    from ..papers import Item, PaperResult

__all__ = ["paper"]


@click.command()
@click.argument("item", required=False)
@click.option(
    "-o",
    "--output",
    multiple=True,
    metavar="FILE",
    help="Picture (.svg, .png, .pdf) or table (.csv, .json) to write; - writes CSV to stdout. "
    "May be given several times. Default: ITEM.svg, or no file with --json.",
)
@click.option("--quick", is_flag=True, help="Small networks and short runs only.")
@click.option("--cycles", type=int, help="Length of each measurement. Default: the item's own.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random numbers.")
@engine_option
@click.option("--scheduler", metavar="ADDRESS", help="Run on the cluster of a Dask scheduler.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def paper(
    item: str | None,
    output: tuple[str, ...],
    quick: bool,
    cycles: int | None,
    seed: int,
    engine: str,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Regenerate a figure or formula of the papers. Without ITEM, list all items."""
    from ..papers import Options, find_item

    if item is None:
        for name in ("output", "quick", "cycles", "seed", "engine", "scheduler"):
            refuse_option(name, "Without ITEM there is", "it is of an item")
        _list(as_json)
        return
    chosen = find_item(item)
    files = output or (() if as_json else (f"{chosen.id}.svg",))
    check_outputs(files, as_json)
    for path in files:
        output_format(path, FORMATS)
    if scheduler is not None and not chosen.parallel:
        raise InvalidValue(f"Item {chosen.id} can't run on a cluster: it has no parallel jobs")
    result = chosen.run(Options(quick, cycles, seed, engine, True, scheduler))
    for path in files:
        chosen.save(result, path)
    if as_json:
        click.echo(json.dumps(chosen.to_json(result)))
        return
    with messages(files):
        _print(chosen, result)
        for path in files:
            click.echo(f"wrote {path}")


def _list(as_json: bool) -> None:
    from ..papers import ITEMS

    if as_json:
        items = [{"item": i.id, "title": i.title, "source": i.source} for i in ITEMS.values()]
        click.echo(json.dumps({"items": items}))
        return
    rows = ((item.id, item.title, item.source) for item in ITEMS.values())
    print_table(["item", "shows", "from"], rows, whole=1)


_WIDTH = 100
"""Width of a table on a narrower terminal, so that no figure is truncated."""


def _print(item: "Item", result: "PaperResult") -> None:
    click.echo(f"{item.title} ({item.source})")
    columns = result.columns
    rows = ([column.show(row.get(column.key)) for column in columns] for row in result.rows)
    print_table([column.heading or column.key for column in columns], rows, least=_WIDTH)
    for note in result.notes:
        click.echo(note)
