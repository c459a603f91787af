"""Networks that are described in words, as parts of another network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..fabric.errors import InvalidValue
from ..fabric.parameters import pairs
from ..graphs.plans.multistage_graph import MultistageGraph
from ..graphs.routing.relation import Relation
from ..networks.family import Family
from ..networks.routed import RoutedNetwork

__all__ = ["FORM", "named_network", "named_relation"]

FORM = "NETWORK[:NAME=VALUE,...]"

_PART = re.compile(r"(?:\[[^]]*\]|[^],[])+")
"""What is between commas, of which those in brackets do not count."""


def named_network(title: str, words: str, **routers: Any) -> RoutedNetwork:
    """The network of routers that words describe: "hypercube:n=3" or "torus:k=8,n=1".

    They have a name and parameters of its description, its `routing` and its `channels`. A value
    that has commas is in brackets: "hierarchical:level1=[torus:k=3,n=1]".

    Parameters
    ----------
    title : str
        What it is, for messages.
    words : str
    **routers : Any
        Parameters of its routers.

    Raises
    ------
    ValueError
        If there is no such network, or it is not described as nodes and links.
    """
    with _described(title, words):
        family, given = _read(words)
        if not issubclass(family.component, RoutedNetwork):
            raise _not_described(family)
        network = family.build(**given, **routers)
        assert isinstance(network, RoutedNetwork)
        return network


def named_relation(title: str, words: str) -> Relation:
    """As `named_network`, its routing only; so it may also be the boxes of a multistage network."""
    with _described(title, words):
        family, given = _read(words)
        network = family.build(**given)
        if network.relation is not None:
            return network.relation
        if network.wiring_plan is not None and not network.has_memory:
            return MultistageGraph(network.wiring_plan)
        raise _not_described(family)


@contextmanager
def _described(title: str, words: str) -> Iterator[None]:
    """Refusals say what the words are for, and how they are written."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{title} must be written as {FORM}, not {words!r}: {error}") from None


def _not_described(family: Family) -> InvalidValue:
    return InvalidValue(f"Network must be described as nodes and links, not {family.name!r}")


def _read(words: str) -> tuple[Family, dict[str, str]]:
    """A family, and the parameters of one of its networks, none of which are those of switches."""
    from ..catalogue.catalogue import find  # imports the modules that import this one

    name, _, rest = words.partition(":")
    family, given = find(name), pairs(_parts(rest))
    record = family.component.parameters_type
    asked = {record.aliases.get(word.lower(), word.lower()) for word in given}
    if misplaced := record.of_switch & asked:
        raise InvalidValue(f"Parameter {min(misplaced)} must be that of the whole network")
    return family, given


def _parts(words: str) -> list[str]:
    """What commas part, without the brackets around a value."""
    parts = _PART.findall(words)
    if ",".join(parts) != words:
        raise InvalidValue(f"Parameters must be parted by commas, not {words!r}")
    return [re.sub(r"=\[(.*)\]$", r"=\1", part) for part in parts]
