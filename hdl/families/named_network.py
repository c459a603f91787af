"""Networks of nodes and links that are described in words, as parts of another network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..fabric.errors import InvalidValue
from ..fabric.parameters import pairs
from ..graphs.plans.multistage import equal_ports
from ..graphs.routing.relation import Relation
from ..networks.network import Network
from ..networks.routed import RoutedNetwork
from .graph_network import GraphNetwork

__all__ = ["FORM", "Recipe", "apart", "named_network", "named_part"]

FORM = "NETWORK[:NAME=VALUE,...]"


class Recipe(NamedTuple):
    """How a network was built, to build it again: here or in another process, with the same files.

    A parameter of a network has it beside the words that describe a part. A file that changes does
    then not change the network, nor its copies; and as another network it is another run.

    Attributes
    ----------
    kind : type[Network]
    family : str
    parameters : tuple[tuple[str, Any], ...]
        All by name, with what was read of files.
    """

    kind: type[Network]
    family: str
    parameters: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, network: Network) -> "Recipe":
        """That of a network."""
        return cls(type(network), network.family, tuple(network.parameters.items()))

    def build(self) -> Network:
        """The network."""
        return self.kind(family=self.family, **dict(self.parameters))

    @property
    def relation(self) -> Relation:
        """The routing of the network, and its graph.

        Raises
        ------
        ValueError
            If it is not described as nodes and links.
        """
        return _relation(self.build())


def named_part(title: str, words: str) -> Recipe:
    """The network of nodes and links that words describe: "hypercube:n=3".

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
        network = _built(words)
        _relation(network)
        return Recipe.of(network)


def named_network(title: str, words: str, **routers: Any) -> Recipe:
    """As `named_part`, with the routers that packets would have.

    Parameters
    ----------
    title, words
        As in `named_part`.
    **routers : Any
        Parameters of its routers.
    """
    with _written(title, words):
        network = _built(words, **routers)
        if not isinstance(network, RoutedNetwork):
            network = GraphNetwork(graph=_relation(network), **routers)
        return Recipe.of(network)


@contextmanager
def _written(title: str, words: str) -> Iterator[None]:
    """Refusals say what the words are for."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{title} {words!r}: {error}") from None


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
