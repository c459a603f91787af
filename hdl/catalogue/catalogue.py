"""The networks that the library can build, by name."""

from collections.abc import Mapping
from dataclasses import replace
from inspect import cleandoc
from textwrap import wrap
from typing import Any

from ..fabric.checks import check_kind, nearest
from ..fabric.errors import InvalidValue
from ..fabric.parameters import Parameters, pairs, words_in
from ..families.machines import PRESETS
from ..networks.family import Family, GraphFamily, Group
from ..networks.network import Network
from ..networks.preset import Preset
from .discovery import ENTRIES
from .graph_networks import graph_network

__all__ = ["FAMILIES", "build", "described", "find", "summary"]


def _completed(entry: Family | GraphFamily) -> Family:
    """A family with the class of its networks."""
    if isinstance(entry, Family):
        return entry
    return Family(
        entry.name,
        entry.description,
        graph_network(entry.graph),
        entry.group,
        example=entry.example,
        aliases=entry.aliases,
        papers=entry.papers,
    )


_NETWORKS: dict[str, Family] = {
    entry.name: _completed(entry) for group in Group for entry in ENTRIES if entry.group is group
}


def _of_preset(name: str, preset: Preset) -> Family:
    base = _NETWORKS[preset.family]
    return replace(
        base,
        name=name,
        description=preset.description,
        group=Group.MACHINES,
        example=preset.example,
        aliases=(),
        papers=preset.papers,
        preset=preset,
    )


FAMILIES: dict[str, Family] = _NETWORKS | {
    name: _of_preset(name, preset) for name, preset in PRESETS.items()
}
"""All families by name: by group, and the presets last."""


def find(name: str) -> Family:
    """The family with this name or alias; capitals don't matter.

    Raises
    ------
    TypeError, ValueError
        If there is no such family.
    """
    check_kind("Network", name, str, "the name of a network")
    names = {
        each: family for family in FAMILIES.values() for each in (family.name, *family.aliases)
    }
    if name.lower() not in names:
        raise InvalidValue(
            f"Network must be one of {', '.join(FAMILIES)}, not {name!r}{nearest(name, names)}"
        )
    return names[name.lower()]


def build(name: str, **parameters: Any) -> Network:
    """Build a network from its name or alias, with parameters as values or as text.

    `build("torus", k=8, n=2)` and `build("torus k=8 n=2")` are the same. Capitals don't matter.

    Parameters
    ----------
    name : str
        The name, such as "torus", or name and parameters, such as "torus k=8 n=2".
    **parameters : Any
        The parameters of this network, by name; the others have their defaults.

    Returns
    -------
    Network
        The network, an Amaranth component.

    Raises
    ------
    TypeError, ValueError
        If the network or a parameter does not exist, or a value does not fit.

    Examples
    --------
    >>> from multicube import build
    >>> build("torus", k=4).ports
    16
    """
    family, words = described(name)
    if twice := words.keys() & parameters.keys():
        raise InvalidValue(f"Parameter {min(twice)} is given twice")
    return family.build(**words, **parameters)


def described(text: str) -> tuple[Family, dict[str, str]]:
    """The family and the parameters that a text such as "torus k=8 n=2" describes.

    Raises
    ------
    TypeError, ValueError
        If it begins with no name of a network, or another word is not NAME=VALUE.
    """
    check_kind("Network", text, str, "the name of a network")
    name, *words = words_in(text) or [""]
    return find(name), pairs(words)


def summary(name: str, parameters: Mapping[str, Any]) -> str:
    """A name and parameters as words; for a network, without those that a summary leaves out."""
    record = FAMILIES[name].component.parameters_type if name in FAMILIES else Parameters
    return f"{name} {record.summary(parameters)}".rstrip()


def _listing() -> str:
    """All networks with their parameters and defaults; those of equal parameters together."""
    same: dict[str, list[str]] = {}
    for family in FAMILIES.values():
        settings = {each.name: each.default for each in family.parameters}
        base = ""
        if family.preset is not None:
            base, settings = f"{family.preset.family} ", family.preset.defaults
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        same.setdefault(base + words, []).append(family.name)
    lines = ["Notes", "-----", "The networks, with the defaults of their parameters:", ""]
    for about, names in same.items():
        lines += [", ".join(names), *wrap(about, 80, initial_indent=_STEP, subsequent_indent=_STEP)]
    return "\n".join(lines)


_STEP = 4 * " "

if build.__doc__:  # Python leaves out docstrings if it is asked to.
    _about, _, _examples = cleandoc(build.__doc__).partition("Examples\n")
    build.__doc__ = f"{_about}{_listing()}\n\nExamples\n{_examples}"
