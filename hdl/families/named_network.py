"""Networks of routers that are described in words, as parts of another network."""

from dataclasses import fields
from typing import Any

from ..fabric.errors import InvalidValue
from ..fabric.parameters import pairs
from ..networks.routed import RoutedNetwork
from ..networks.router_parameters import RouterParameters

__all__ = ["FORM", "named_network"]

FORM = "NETWORK[:NAME=VALUE,...]"


def named_network(title: str, words: str, **routers: Any) -> RoutedNetwork:
    """The network that words describe: "hypercube:n=3" or "torus:k=8,n=1".

    They have a name and parameters of its description, its `routing` and its `channels`.

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
        family, given = find(name), pairs(rest.split(",") if rest else ())
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
