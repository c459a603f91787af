"""`multicube steps`: communication in steps, run on the controllers of a graph's nodes."""

import json
from typing import Any

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import engine_option, network_and, network_from, refuse_option

__all__ = ["steps"]

_OPERATIONS = ("add", "or", "max")


@click.command()
@network_and("task")
@click.option(
    "--operation",
    type=click.Choice(_OPERATIONS),
    default="add",
    show_default=True,
    help="How a concentration combines values.",
)
@click.option("--tries", default=16, show_default=True, help="Number of schedules to try.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random numbers.")
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the schedule.")
def steps(
    network: str,
    parameters: tuple[str, ...],
    task: str,
    operation: str,
    tries: int,
    seed: int,
    engine: str,
    as_json: bool,
) -> None:
    """Schedule a broadcast, a concentration or a permutation, and run it on hardware.

    In a step each node sends one word to a neighbour and receives one from another. The routers of
    NETWORK are not used, only its nodes and links. TASK is broadcast (from the node for which it
    takes longest), concentration (to that node), or a permutation, written as for --traffic.
    """
    from ...hdl.graphs.schedules.communication_steps import concentration_of, one_message
    from ...hdl.graphs.schedules.permutation_steps import StepRouter
    from ..measure.fan_out import fan_out
    from ..run.communication import broadcast_task, concentration_task, permutation_task, run_tasks
    from ..run.progress import phase
    from ..workload.traffic import pattern

    built = network_from(network, parameters)
    if built.relation is None:
        raise InvalidValue(
            f"Network must be one of nodes and links, for steps, not {built.family!r}"
        )
    graph = built.relation.graph
    if [*graph.homes] != [*range(graph.nodes)]:
        raise InvalidValue(
            "Network must have one terminal at each node, in the order of the nodes, for steps; it "
            f"has {len(graph.homes)} terminals and {graph.nodes} nodes"
        )
    record: dict[str, Any] = {"network": built.family, "parameters": built.chosen, "task": task}
    if task != "concentration":
        refuse_option("operation", f"Task {task} takes", "it combines nothing")
    if task in ("broadcast", "concentration"):
        refuse_option("tries", f"Task {task} takes", "its schedule is computed")
    with phase("looking for a schedule"):
        if task in ("broadcast", "concentration"):
            found = fan_out(graph, seed=seed)
            schedule = one_message(found.steps)
            least, root = int(found.time.lower), found.source
            record["root"] = root
            if task == "broadcast":
                planned = broadcast_task(graph, schedule, root)
            else:
                if any(back is None and one.node != one.peer for one, back in graph.edges):
                    raise InvalidValue("Links must be two-way for a concentration")
                schedule = concentration_of(schedule)
                planned = concentration_task(graph, schedule, root, operation)
                record["operation"] = operation
        else:
            destinations = pattern(task, built.ports).destinations(built.tags.code)
            if destinations is None:
                raise InvalidValue(
                    "Task must be broadcast, concentration, or a permutation, which gives each "
                    f"terminal one destination, not {task}"
                )
            router = StepRouter(graph)
            schedule = router.schedule(destinations, tries=tries, seed=seed)
            least = router.bound(destinations).steps
            planned = permutation_task(graph, schedule, destinations)
    if not schedule:
        raise InvalidValue(f"Task {task} moves no word: each is where it is to be")
    (run,) = run_tasks(graph, [planned], engine=engine)
    record |= {"steps": run.steps, "least": least, "words": run.words, "rows": run.rows}
    if as_json:
        click.echo(json.dumps({**record, "schedule": schedule, "engine": run.engine}))
        return
    click.echo(f"{built.family} of {graph.nodes} nodes: {task}")
    for number, transfers in enumerate(schedule, 1):
        click.echo(f"step {number}: " + " ".join(f"{one}>{to}" for one, to, _ in transfers))
    proved = "no schedule has fewer" if run.steps == least else f"at least {least} are needed"
    click.echo(
        f"{run.steps} steps on the hardware ({proved}); {run.words} words; "
        f"a node stores up to {run.rows} on their way"
    )
