"""Networks of routers that are described in words, as parts of another network."""

import re
from dataclasses import fields
from typing import Any

from ..fabric.errors import InvalidValue
from ..fabric.parameters import pairs
from ..networks.routed import RoutedNetwork
from ..networks.router_parameters import RouterParameters

__all__ = ["FORM", "named_network"]

FORM = "NETWORK[:NAME=VALUE,...]"

_PART = re.compile(r"(?:\[[^]]*\]|[^],[])+")
"""What is between commas, of which those in brackets do not count."""


def named_network(title: str, words: str, **routers: Any) -> RoutedNetwork:
    """The network that words describe: "hypercube:n=3" or "torus:k=8,n=1".

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
    from ..catalogue.catalogue import find  # imports the modules that import this one

    name, _, rest = words.partition(":")
    try:
        family, given = find(name), pairs(_parts(rest))
        if not issubclass(family.component, RoutedNetwork):
            raise InvalidValue(f"Network must be described as nodes and links, not {name!r}")
        of_routers = {each.name for each in fields(RouterParameters)}
        if misplaced := of_routers & {word.lower() for word in given}:
            raise InvalidValue(f"Parameter {min(misplaced)} must be that of the whole network")
        network = family.build(**given, **routers)
        assert isinstance(network, RoutedNetwork)
        return network
    except InvalidValue as error:
        raise InvalidValue(f"{title} must be written as {FORM}, not {words!r}: {error}") from None


def _parts(words: str) -> list[str]:
    """What commas part, without the brackets around a value."""
    parts = _PART.findall(words)
    if ",".join(parts) != words:
        raise InvalidValue(f"Parameters must be parted by commas, not {words!r}")
    return [re.sub(r"=\[(.*)\]$", r"=\1", part) for part in parts]
