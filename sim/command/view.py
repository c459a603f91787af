"""`multicube view`: a page in which a network runs."""

import json
import os
from typing import TYPE_CHECKING

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.output_file import check_output, is_standard_output
from .shared_arguments import messages, network_from, refuse_option

if TYPE_CHECKING:
    from ..live.html_page import HtmlPage

__all__ = ["view"]


class _View(click.Command):
    """Its help lists the lessons."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from ..live.lessons import lesson_titles

        with formatter.section("Lessons"):
            formatter.write_dl(list(lesson_titles().items()))


@click.command(cls=_View)
@click.argument("network", required=False)
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Page to write, .html.  [default: the name of the lesson or network]",
)
@click.option("--lesson", metavar="NAME", help="Begin with a lesson, on its own network.")
@click.option(
    "--beside",
    metavar="'NAME=VALUE ...'",
    help="Show beside it the network with these parameters, under the same controls.",
)
@click.option("--traffic", default="uniform", show_default=True, help="The traffic at first.")
@click.option(
    "--load",
    default=0.3,
    show_default=True,
    help="The load at first, in packets per terminal and cycle.",
)
@click.option("--seed", default=1, show_default=True, help="The seed at first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def view(
    network: str | None,
    parameters: tuple[str, ...],
    output: str | None,
    lesson: str | None,
    beside: str | None,
    traffic: str,
    load: float,
    seed: int,
    as_json: bool,
) -> None:
    """Write a page in which the network runs, in any browser and without a server.

    NETWORK may also be FILE.py:NAME, a design of your own: a Network, a Fabric of any cells, a
    Design, or a function that returns one of these.

    With --lesson, NETWORK may be left out.
    """
    from ..run.progress import phase

    page, name = _page(network, parameters, lesson, beside, traffic, load, seed)
    if output is None:
        output = f"{name}.html"
    check_output(output)
    if as_json and is_standard_output(output):
        raise InvalidValue(f"Output {output} and --json would both go to standard output")
    with phase("compiling the network to WebAssembly"):
        page.save(output)
    size = len(page.html.encode())
    if as_json:
        record = {"output": os.fspath(output), "bytes": size, "lessons": list(page.lessons)}
        click.echo(json.dumps(record))
        return
    with messages((output,)):
        click.echo(f"{output}: {page.name}, {size / 1e6:.1f} MB")


def _page(
    network: str | None,
    parameters: tuple[str, ...],
    lesson: str | None,
    beside: str | None,
    traffic: str,
    load: float,
    seed: int,
) -> "tuple[HtmlPage, str]":
    """The page that is asked for, and the name of its file."""
    from ...hdl.catalogue.catalogue import FAMILIES, described
    from ...hdl.fabric.parameters import pairs, words_in
    from ...hdl.networks.network import Network
    from ..live import DesignPage, LivePage, LivePair, lesson_network
    from ..live.design_page import own_design
    from ..live.lessons import lesson_beside

    if network is not None and ".py:" in network:
        if parameters or lesson or beside:
            raise InvalidValue(f"A design of a file takes no parameters or lessons: {network}")
        own, name = own_design(network), network.rpartition(":")[2]
        if isinstance(own, Network):
            return LivePage(own, traffic, load=load, seed=seed), name
        for option in ("traffic", "load", "seed"):
            refuse_option(option, "A design that is no network takes", "it has no sources")
        return DesignPage(own), name
    if network is not None:
        built = network_from(network, parameters)
    elif lesson is not None:
        built = lesson_network(lesson)
    else:
        raise InvalidValue("A network or --lesson must be given")
    for option in ("traffic", "load", "seed") if lesson is not None else ():
        refuse_option(option, "A lesson takes", "it has its own")
    page = LivePage(built, traffic, load=load, seed=seed, lesson=lesson)
    name = lesson or built.family
    if beside is None and lesson is not None:
        beside = lesson_beside(lesson)
    if beside:
        # What was not given is chosen anew, such as the policy of another switch.
        family, given = FAMILIES[built.family], built.chosen
        if network is not None:
            family, words = described(network)
            given = family.values({**words, **pairs(parameters)})
        other = family.build(**given | family.values(pairs(words_in(beside))))
        return LivePair(page, LivePage(other, traffic, load=load, seed=seed)), name
    return page, name
