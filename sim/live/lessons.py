"""Lessons: a network, its traffic, and a few steps that a page shows with a text."""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...hdl.fabric.checks import check_word

if TYPE_CHECKING:  # the help of the command lists lessons: it loads no network
    from ...hdl.networks.network import Network

__all__ = [
    "lesson_beside",
    "lesson_names",
    "lesson_network",
    "lesson_titles",
    "lessons_for",
    "patterns_of",
]


@cache
def _lessons() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("lessons.json").read_text("utf-8")
    return json.loads(text)


def lesson_names() -> tuple[str, ...]:
    """The names of all lessons.

    Returns
    -------
    tuple[str, ...]
        The names, which `LivePage` takes as `lesson`.

    Examples
    --------
    >>> from multicube.sim.live import lesson_names
    >>> len(lesson_names()) > 2
    True
    """
    return tuple(_lessons())


def lesson_network(name: str) -> "Network":
    """The network of a lesson.

    Parameters
    ----------
    name : str
        The name of the lesson.

    Returns
    -------
    Network
        The network that it is about.

    Raises
    ------
    ValueError
        If there is no such lesson.

    Examples
    --------
    >>> from multicube.sim.live import lesson_names, lesson_network
    >>> all(lesson_network(name).ports for name in lesson_names()[:2])
    True
    """
    check_word("Lesson", name, _lessons())
    from ...hdl.catalogue.catalogue import build

    return build(_lessons()[name]["network"])


def lesson_beside(name: str) -> str:
    """The parameters of the network beside that of a lesson, as words; empty if there is none."""
    return str(_lessons()[name].get("beside", ""))


def lesson_titles() -> dict[str, str]:
    """The titles of all lessons, by name."""
    return {name: about["title"] for name, about in _lessons().items()}


def lessons_for(network: "Network") -> dict[str, dict[str, Any]]:
    """The lessons whose network this is, by name."""
    from ...hdl.catalogue.catalogue import build

    return {
        name: about | {"steps": [_step(network, step) for step in about["steps"]]}
        for name, about in _lessons().items()
        if about["network"].split()[0] == network.family
        and str(build(about["network"])) == str(network)
    }


def _step(network: "Network", step: dict[str, Any]) -> dict[str, Any]:
    """A step with what the library computes for it: the routing tables that lead around the links
    that it breaks, or by which the packets of its pattern go as it sets the boxes."""
    if "set" in step:
        return step | _boxes_set(network, step["set"], step["setting"]["pattern"])
    if not step.get("reroute"):
        return step
    dead = [
        pin for line in network.diagram.lines if line.link in step["break"] for pin in line.drivers
    ]
    return step | {"tables": network.tables_around(dead)}


def _boxes_set(network: "Network", how: str, permutation: str) -> dict[str, Any]:
    """Tables of a network whose boxes are set for a permutation, and what each box connects, in the
    order in which they are set: by the looping algorithm, or straight in the stages of a choice."""
    from ...hdl.families.clos.clos_network import RearrangeableNetwork
    from ...hdl.graphs.schedules.looping import benes_loops
    from ..workload.traffic import pattern

    assert isinstance(network, RearrangeableNetwork)
    graph = network.routing
    destinations = pattern(permutation, network.ports).destinations(network.code)
    assert destinations is not None
    settings = network.rearranged(destinations)
    order = [graph.columns[stage][box] for loop in benes_loops(destinations) for stage, box in loop]
    if how == "straight":
        choices = settings[: len(settings) // 2]
        settings = [[tuple(range(len(box))) for box in column] for column in choices]
        order = [node for column in graph.columns for node in column]
    pairs: dict[int, list[list[int]]] = {node: [] for node in order}
    for source, destination in enumerate(destinations):
        assert destination is not None
        for node, entry, exit_ in graph.passages(source, destination, settings):
            pairs[node].append([entry, exit_])
    return {
        "tables": network.tables_set(destinations, settings),
        "boxes": [[f"node {graph.name(node)}", sorted(own)] for node, own in pairs.items()],
    }


def patterns_of(lessons: dict[str, dict[str, Any]]) -> list[str]:
    """The traffic that lessons use."""
    steps = (step for about in lessons.values() for step in about["steps"])
    return [step["setting"]["pattern"] for step in steps if "pattern" in step.get("setting", {})]
