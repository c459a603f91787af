"""The networks that the library can build, by name. Each network module names its families."""

from dataclasses import replace

from ..core.errors import InvalidValue
from . import combining, connection_machine, dcsh, hypercube, torus
from .family import Family
from .multistage import network as multistage
from .multistage import stage_sequenced
from .network import Network
from .presets import PRESETS, Preset

__all__ = ["FAMILIES", "build", "find"]

_MODULES = (
    multistage,
    stage_sequenced,
    combining,
    hypercube,
    torus,
    connection_machine,
    dcsh,
)

_NETWORKS: dict[str, Family] = {
    family.name: family for module in _MODULES for family in module.FAMILIES
}


def _of_preset(name: str, preset: Preset) -> Family:
    base = _NETWORKS[preset.family]
    return replace(
        base,
        name=name,
        description=preset.description,
        example=preset.example,
        aliases=(),
        preset=preset,
    )


FAMILIES: dict[str, Family] = _NETWORKS | {
    name: _of_preset(name, preset) for name, preset in PRESETS.items()
}
"""All families by name, with the presets last."""


def find(name: str) -> Family:
    """The family with this name or alias.

    Raises
    ------
    ValueError
        If there is no such family.
    """
    for family in FAMILIES.values():
        if name == family.name or name in family.aliases:
            return family
    raise InvalidValue(f"Network must be one of {', '.join(FAMILIES)}, not {name!r}")


def build(name: str, **parameters: object) -> Network:
    """A network from its name or alias, with parameters as values or as text.

    Raises
    ------
    TypeError, ValueError
        If the network or a parameter does not exist, or a value does not fit.
    """
    return find(name).build(**parameters)
