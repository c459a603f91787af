"""Lessons: a network, its traffic, and a few steps that a page shows with a text."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network

__all__ = ["lesson_names", "lesson_network", "lessons_for"]


@cache
def _lessons() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("lessons.json").read_text(encoding="utf-8")
    return json.loads(text)


def lesson_names() -> tuple[str, ...]:
    """The names of all lessons."""
    return tuple(_lessons())


def lesson_network(name: str) -> Network:
    """The network of a lesson.

    Raises
    ------
    ValueError
        If there is no such lesson.
    """
    if name not in _lessons():
        raise InvalidValue(f"Lesson must be one of {', '.join(_lessons())}, not {name!r}")
    return build(_lessons()[name]["network"])


def lessons_for(network: Network) -> dict[str, dict[str, Any]]:
    """The lessons whose network this is, by name."""
    return {
        name: about
        for name, about in _lessons().items()
        if about["network"].split()[0] == network.family
        and str(build(about["network"])) == str(network)
    }
