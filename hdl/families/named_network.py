"""Networks of nodes and links that are described in words, as parts of another network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..fabric.errors import InvalidValue
from ..fabric.parameters import pairs
from ..graphs.plans.multistage import equal_ports
from ..graphs.routing.relation import Relation
from ..networks.network import Network
from ..networks.routed import RoutedNetwork
from .graph_network import GraphNetwork

__all__ = ["FORM", "apart", "named_network", "named_relation"]

FORM = "NETWORK[:NAME=VALUE,...]"


def named_relation(title: str, words: str) -> Relation:
    """The routing, and its graph, of the network that words describe: "hypercube:n=3".

    They have a name and parameters of its description, its `routing` and its `channels`. A value
    that has commas is in brackets: "hierarchical:level1=[torus:k=3,n=1]".

    Parameters
    ----------
    title : str
        What it is, for messages.
    words : str

    Raises
    ------
    ValueError
        If there is no such network, or it is not described as nodes and links.
    """
    with _written(title, words):
        return _relation(_built(words))


def named_network(title: str, words: str, **routers: Any) -> RoutedNetwork:
    """As `named_relation`, with the routers that packets would have.

    Parameters
    ----------
    title, words
        As in `named_relation`.
    **routers : Any
        Parameters of its routers.
    """
    with _written(title, words):
        network = _built(words, **routers)
        if isinstance(network, RoutedNetwork):
            return network
        return GraphNetwork(graph=_relation(network), **routers)


@contextmanager
def _written(title: str, words: str) -> Iterator[None]:
    """Refusals say what the words are for, and how they are written."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{title} must be written as {FORM}, not {words!r}: {error}") from None


def _built(words: str, **routers: Any) -> Network:
    from ..catalogue.catalogue import find  # imports the modules that import this one

    name, _, rest = words.partition(":")
    family, given = find(name), pairs(_parts(rest))
    record = family.component.parameters_type
    asked = {record.aliases.get(word.lower(), word.lower()) for word in given}
    if misplaced := record.of_switch & asked:
        raise InvalidValue(f"Parameter {min(misplaced)} must be that of the whole network")
    if not issubclass(family.component, RoutedNetwork):
        routers = {}
    return family.build(**given, **routers)


def _relation(network: Network) -> Relation:
    if network.described is not None and not network.has_memory:
        equal_ports(network.sources, network.sinks)
        return network.described
    raise InvalidValue(f"Network must be described as nodes and links, not {network.family!r}")


def apart(rule: str, words: str, mark: str) -> list[str]:
    """What is between marks, of which those in brackets do not count; the rule says so."""
    parts = re.findall(rf"(?:\[[^]]*\]|[^][{mark}])+", words)
    if mark.join(parts) != words:
        raise InvalidValue(f"{rule}, not {words!r}")
    return parts


def _parts(words: str) -> list[str]:
    """What commas part, without the brackets around a value."""
    parts = apart("Parameters must be parted by commas", words, ",")
    return [re.sub(r"=\[(.*)\]$", r"=\1", part) for part in parts]
