"""The networks that the library can build, by name, and their parameters."""

import inspect
from dataclasses import dataclass
from typing import Any

from ..topology import multistage
from ..topology.tags import ROUTINGS
from .multistage import SWITCHES, MultistageNetwork
from .network import Network

__all__ = ["FAMILIES", "Family", "Parameter", "build", "find"]


@dataclass(frozen=True)
class Parameter:
    """A word `name=value` of the command line.

    Attributes
    ----------
    name : str
    default : Any
        Its type is the type of the parameter.
    description : str
    choices : tuple[str, ...]
        Allowed values; empty for numbers.
    """

    name: str
    default: Any
    description: str
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> Any:
        """The value that a text stands for.

        Raises
        ------
        ValueError
            If the text is no integer where one is needed, or is none of the choices.
        """
        if isinstance(self.default, int):
            try:
                return int(text)
            except ValueError:
                raise ValueError(
                    f"Parameter {self.name} must be an integer, not {text!r}"
                ) from None
        if text not in self.choices:
            allowed = ", ".join(self.choices)
            raise ValueError(f"Parameter {self.name} must be one of {allowed}, not {text!r}")
        return text


@dataclass(frozen=True)
class Family:
    """Networks that differ only in parameters.

    Attributes
    ----------
    name : str
    description : str
    component : type[Network]
    fixed : dict[str, Any]
        Arguments of the component that make it this family.
    parameters : tuple[Parameter, ...]
        The arguments that are left to choose.
    aliases : tuple[str, ...]
    """

    name: str
    description: str
    component: type[Network]
    fixed: dict[str, Any]
    parameters: tuple[Parameter, ...]
    aliases: tuple[str, ...] = ()


_MULTISTAGE_PARAMETERS = {
    "ports": ("terminals, a power of the radix", ()),
    "radix": ("inputs and outputs of a box", ()),
    "switch": ("where a box keeps packets that wait", tuple(SWITCHES)),
    "depth": ("packets that fit into each queue", ()),
    "payload": ("width of the payload in bits", ()),
    "routing": ("what the tag holds", ROUTINGS),
}


def _multistage(name: str, description: str) -> Family:
    defaults = inspect.signature(MultistageNetwork).parameters
    return Family(
        name,
        description,
        MultistageNetwork,
        {"wiring": name},
        tuple(
            Parameter(word, defaults[word].default, text, choices)
            for word, (text, choices) in _MULTISTAGE_PARAMETERS.items()
        ),
        tuple(alias for alias, plan in multistage.ALIASES.items() if plan == name),
    )


FAMILIES: dict[str, Family] = {
    name: _multistage(name, description) for name, (_, description) in multistage.PLANS.items()
}
"""All families by name."""


def find(name: str) -> Family:
    """The family of a name or alias.

    Raises
    ------
    ValueError
        If there is none.
    """
    for family in FAMILIES.values():
        if name == family.name or name in family.aliases:
            return family
    raise ValueError(f"Network must be one of {', '.join(FAMILIES)}, not {name!r}")


def build(name: str, **parameters: str | int) -> Network:
    """A network from its name or alias, and parameters as values or as text.

    Raises
    ------
    TypeError, ValueError
        If there is no such network or parameter, or a value does not fit.
    """
    family = find(name)
    known = {parameter.name: parameter for parameter in family.parameters}
    values = {}
    for word, value in parameters.items():
        if word not in known:
            allowed = ", ".join(known)
            raise ValueError(f"Parameter of {family.name} must be one of {allowed}, not {word!r}")
        values[word] = known[word].parse(value) if isinstance(value, str) else value
    return family.component(**family.fixed, **values)
