"""Families: entries of the catalogue, each for networks that differ only in parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..fabric.checks import nearest
from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import Parameter
from ..graphs.graph import Graph
from .preset import Preset

if TYPE_CHECKING:  # descriptions of graphs name their family, and load no Amaranth
    from .network import Network

__all__ = ["Family", "GraphFamily", "Group"]


class Group(Enum):
    """What families are listed together, in the order of the catalogue."""

    MULTISTAGE = "Multistage cubes"
    RECTANGULAR = "Boxes that are not square, crossbars"
    CENTRAL = "Networks with central control"
    MEMORY = "Processors and memory"
    HYPERCUBES = "Hypercubes"
    TORI = "Tori, meshes, rings"
    DEFLECTION = "Deflection"
    HYPERMESHES = "Hypermeshes"
    LARGE = "Trees, dragonflies, and other networks of large machines"
    STATIC = "Static networks"
    SINGLE_STAGE = "Single-stage cubes"
    CLOS = "Clos networks and the bus"
    HIERARCHIES = "Hierarchies"
    GRAPHS = "Any graph"
    MACHINES = "Machines"


@dataclass(frozen=True)
class GraphFamily:
    """A family whose networks need no more than their graph: routers look up their tables.

    The catalogue makes the class of its networks, `CompleteNetwork` of `Complete`.

    Attributes
    ----------
    name, description, group, example, aliases, papers
        As in `Family`.
    graph : type[Graph]
        A frozen dataclass, whose fields describe parameters.
    """

    name: str
    description: str
    graph: type[Graph]
    group: Group
    example: dict[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Networks that differ only in parameters.

    Attributes
    ----------
    name : str
        The name in `build` and in the command.
    description : str
        What these networks are, in a line.
    component : type[Network]
        The class of its networks.
    group : Group
        Where the catalogue lists it.
    fixed : dict[str, Any]
        Arguments of the component that make it this family.
    example : dict[str, Any]
        Parameters of a small network of 4 to 16 terminals, if the defaults are larger: for tests.
    aliases : tuple[str, ...]
        Other names of it.
    papers : tuple[str, ...]
        The works that it is from, as docs/generate/networks.toml calls them; those of its whole
        group are said there.
    preset : Preset or None
        The machine whose network this is.
    """

    name: str
    description: str
    component: "type[Network]"
    group: Group
    fixed: dict[str, Any] = field(default_factory=dict)
    example: dict[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    preset: Preset | None = None

    def __repr__(self) -> str:
        return f"<Family {self.name}>"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments that can be chosen, with this family's defaults."""
        defaults = {} if self.preset is None else self.preset.defaults
        return tuple(
            replace(about, default=defaults.get(about.name, about.default))
            for about in self.component.parameters_type.described()
            if about.listed
        )

    def build(self, **parameters: Any) -> "Network":
        """A network of this family, with parameters as values or as text.

        Capitals don't matter in the names of parameters and choices.

        Raises
        ------
        TypeError, ValueError
            If a parameter does not exist or is given twice, or a value does not fit.
        """
        defaults = {about.name: about.default for about in self.parameters}
        return self.component(family=self.name, **self.fixed, **defaults | self.values(parameters))

    def values(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The values of parameters by their own names, as `build` reads them.

        Raises
        ------
        TypeError, ValueError
            If a parameter does not exist or is given twice, or a value does not fit.
        """
        known = {about.name: about for about in self.parameters}
        chosen: dict[str, Any] = {}
        for word, value in parameters.items():
            name = self.component.parameters_type.aliases.get(word.lower(), word.lower())
            if name not in known:
                allowed = ", ".join(known)
                raise InvalidValue(
                    f"Parameter of {self.name} must be one of {allowed}, not {word!r}"
                    f"{nearest(word, known)}"
                )
            if name in chosen:
                raise InvalidValue(f"Parameter {name} is given twice")
            chosen[name] = known[name].parse(value) if isinstance(value, str) else value
        return chosen
