"""`multicube collective`: broadcasts, reductions and exchanges of a group of terminals."""

import json
from typing import TYPE_CHECKING, Any

import click

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.counted import counted
from .shared_arguments import (
    check_outputs,
    engine_option,
    given,
    messages,
    network_arguments,
    network_from,
    refuse_option,
)

if TYPE_CHECKING:
    from ...hdl.networks.network import Network
    from ..run.collective import CollectiveRun

__all__ = ["collective"]


@click.command()
@click.argument("kind")
@network_arguments
@click.option(
    "--root",
    type=int,
    help="The terminal that has, or gets, all words. Default: the first; for barrier and "
    "allreduce, one in the middle.",
)
@click.option(
    "--group",
    metavar="LIST",
    help="The members in the order of their ranks, such as 0,3,8-15, or all, the default.",
)
@click.option(
    "--flits",
    default=1,
    show_default=True,
    help="Words of the vector, or of each member for each other member.",
)
@click.option(
    "--algorithm",
    default="auto",
    show_default=True,
    help="direct, tree, ring, doubling, halving, schedule, network, or auto: the fastest of all.",
)
@click.option(
    "--operation",
    default="add",
    show_default=True,
    help="What a reduction does: add, add-saturating, or, and, max or min.",
)
@click.option(
    "--page",
    metavar="FILE.html",
    help="With --algorithm network: write a page in which it runs, too.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def collective(
    kind: str,
    network: str,
    parameters: tuple[str, ...],
    root: int | None,
    group: str | None,
    flits: int,
    algorithm: str,
    operation: str,
    page: str | None,
    engine: str,
    as_json: bool,
) -> None:
    """Run a collective of a group of terminals, and check every word of its result.

    KIND is broadcast, reduce, allreduce, gather, scatter, alltoall or barrier.
    """
    from ...hdl.graphs.routing.group_tree import parse_members
    from ...hdl.graphs.schedules.collectives import KINDS
    from ..run.collective_run import run_collective

    if kind in KINDS and kind not in ("reduce", "allreduce"):
        refuse_option("operation", f"Kind {kind} takes", "it combines nothing")
    if kind == "barrier":
        refuse_option("flits", "Kind barrier takes", "it carries no data")
    if kind == "alltoall":
        refuse_option("root", "Kind alltoall takes", "all members are alike")
    check_outputs(given(page), as_json)
    if page is not None and algorithm != "network":
        raise InvalidValue(f"Option --page needs --algorithm network, not {algorithm}")
    built = network_from(network, parameters)
    members = None if group is None else parse_members(group, built.sinks)
    what: dict[str, Any] = {"root": root, "group": members, "flits": flits, "operation": operation}
    run = run_collective(built, kind, **what, algorithm=algorithm, engine=engine)
    if page is not None:
        _write_page(page, built, kind, what)
    with messages(given(page)):
        if as_json:
            click.echo(json.dumps(run.to_json()))
        else:
            _print(run)


def _write_page(path: str, network: "Network", kind: str, what: dict[str, Any]) -> None:
    from ..live.collective_page import CollectivePage
    from ..run.progress import phase

    with phase("compiling the network to WebAssembly"):
        CollectivePage(network, kind, **what).save(path)


def _print(run: "CollectiveRun") -> None:
    from ...hdl.catalogue.catalogue import summary

    click.echo(summary(run.network, run.parameters))
    of = "" if run.kind == "barrier" else f" of {counted(run.flits, 'flit')}"
    click.echo(
        f"{run.kind}{of}, {counted(len(run.group), 'member')}, root {run.root}, "
        f"by {run.algorithm}: {run.cycles} cycles on engine {run.engine}"
    )
    if run.tried:
        click.echo("tried: " + ", ".join(f"{name} {cycles}" for name, cycles in run.tried.items()))
    hops = "uncounted flits" if run.flit_hops is None else counted(run.flit_hops, "flit")
    click.echo(
        f"at least {run.bound} cycles are needed; {counted(run.messages, 'message')}, "
        f"{hops} over links; "
        f"all words are {'right' if run.correct else 'NOT right'}"
    )
