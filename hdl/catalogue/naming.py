"""Functions that take a network, or its name and its parameters beside their own arguments."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..fabric.checks import nearest
from ..fabric.errors import InvalidType, InvalidValue
from ..networks.network import Network
from .catalogue import build, described

__all__ = ["field_names", "takes_fields", "takes_names"]

Rest = ParamSpec("Rest")
Answer = TypeVar("Answer")


def field_names(record: type, *without: str) -> list[str]:
    """The names of the fields of a dataclass, without some of them."""
    return [each.name for each in fields(record) if each.name not in without]


def takes_fields(*records: type) -> Callable[[Callable[Rest, Answer]], Callable[Rest, Answer]]:
    """Show and check the arguments that a function takes as `**` for the fields of dataclasses.

    Those that have the name of another argument are left out: the function makes them of it.
    """

    def decorate(function: Callable[Rest, Answer]) -> Callable[Rest, Answer]:
        signature = inspect.signature(function)
        known = {
            name: each
            for name, each in signature.parameters.items()
            if each.kind is not each.VAR_KEYWORD
        }
        for field in (each for record in records for each in fields(record)):
            if field.name not in known:
                known[field.name] = inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=field.default,
                    annotation=field.type,
                )

        @wraps(function)
        def wrapped(*arguments: Rest.args, **given: Rest.kwargs) -> Answer:
            for name in given:
                if name not in known:
                    called = f"{getattr(function, '__name__', function)}()"
                    raise InvalidType(f"{called} has no argument {name!r}{nearest(name, known)}")
            return function(*arguments, **given)

        shown = signature.replace(parameters=list(known.values()))
        wrapped.__signature__ = shown  # type: ignore[attr-defined]
        return wrapped

    return decorate


def takes_names(
    *others: str,
) -> Callable[
    [Callable[Concatenate[Network, Rest], Answer]],
    Callable[Concatenate[Network | str, Rest], Answer],
]:
    """Let a function of a network also take its name.

    `simulate("torus", k=8, load=0.3)` and `simulate("torus k=8", load=0.3)` are then
    `simulate(build("torus", k=8), load=0.3)`. A name that both the function and the network know is
    refused, unless the text has it: in the text, all names are the network's.

    Parameters
    ----------
    *others : str
        Names that the function takes besides those of its signature.
    """

    def decorate(
        function: Callable[Concatenate[Network, Rest], Answer],
    ) -> Callable[Concatenate[Network | str, Rest], Answer]:
        called = f"{getattr(function, '__name__', function)}()"
        parameters = inspect.signature(function).parameters.values()
        own = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD} | {*others}

        @wraps(function)
        def wrapped(
            network: Network | str, /, *arguments: Rest.args, **given: Rest.kwargs
        ) -> Answer:
            of_network: list[str] = []
            if isinstance(network, str):
                family, words = described(network)
                of_network = [about.name for about in family.parameters]
                for name in of_network:
                    if name in given and name in own and name not in words:
                        raise InvalidValue(
                            f"{called} and {family.name} both have an argument {name}: write "
                            f"{network + f' {name}=...'!r} for the network's, or build it first"
                        )
            for name in given:
                if name not in own and name.lower() not in of_network:
                    known = [*own, *of_network]
                    raise InvalidType(f"{called} has no argument {name!r}{nearest(name, known)}")
            if isinstance(network, str):
                chosen = {name: given.pop(name) for name in list(given) if name not in own}
                network = build(network, **chosen)
            return function(network, *arguments, **given)

        return wrapped

    return decorate
