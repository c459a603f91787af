# amaranth: UnusedElaboratable=no
"""Hierarchical networks: any networks joined, and those of Dandamudi and Eager."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...fabric.errors import InvalidValue
from ...fabric.numerals import integer_of
from ...fabric.parameter_fields import fixed, integer, text
from ...networks.any_routing import AnyRoutingNetwork, AnyRoutingParameters
from ...networks.family import Family, Group
from ..named_network import FORM, Recipe, apart, named_part
from .hierarchical_graph import Hierarchical

__all__ = [
    "FAMILIES",
    "CyclesNetwork",
    "CyclesParameters",
    "HierarchicalNetwork",
    "HierarchicalParameters",
    "TwoLevelNetwork",
    "TwoLevelParameters",
]


_FORM = f"{FORM}[+...]"
"""How a level is written."""


def _interval() -> Any:
    """The field for the cycles that links need for a flit."""
    return integer(
        1,
        "with switch=packet, cycles that links need for a flit: of all levels, or of each",
        least=1,
        most=64,
        form="LEVEL1:LEVEL2[:...]",
        plain=1,
    )


@dataclass(frozen=True, eq=False)
class HierarchicalParameters(AnyRoutingParameters):
    """The parameters of `HierarchicalNetwork`.

    `read` has the `Recipe` of each network of the levels, behind its words.
    """

    level1: str = text("hypercube:n=3", "the network of a cluster", _FORM)
    level2: str = text("hypercube:n=2", "the network of the clusters' interface nodes", _FORM)
    level3: str = text("none", "the network of the interface nodes of level 2; or none", _FORM)
    level4: str = text("none", "the network of the interface nodes of level 3; or none", _FORM)
    interface: int = integer(0, "terminal of each network that is its interface", least=0)
    replication: int = integer(1, "parallel links for each one above level 1", least=1, most=64)
    interval: int | str = _interval()
    read: tuple[tuple[str, Recipe], ...] | None = fixed(None, "the networks as they were built")

    def __post_init__(self) -> None:
        super().__post_init__()
        known = dict(self.read) if isinstance(self.read, tuple) else {}
        self._resolve(read=tuple(_recipes(self.levels, known).items()))

    @property
    def levels(self) -> list[str]:
        """The networks of all levels that there are."""
        words = [self.level1, self.level2, self.level3, self.level4]
        chosen = [word for word in words if word != "none"]
        if "none" in words[: max(len(chosen), 2)]:
            missing = words.index("none") + 1
            above = [f"level{i}" for i in range(missing + 1, 5) if words[i - 1] != "none"]
            raise InvalidValue(
                f"Level{missing} must be a network, not none, below "
                f"{' and '.join(f'{name}={self[name]}' for name in above) or 'all others'}"
            )
        return chosen


def _parts(number: int, words: str) -> list[str]:
    """The networks that take turns in a level."""
    return apart(f"Level{number} must be networks parted by +", words, "+")


def _recipes(levels: Sequence[str], known: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The networks of all levels by their words, but for those that are known built anew."""
    return {
        words: known.get(words) or named_part(f"Level{i}", words)
        for i, level in enumerate(levels, 1)
        for words in _parts(i, level)
    }


class _JoinedNetwork(AnyRoutingNetwork):
    """A network of several levels (`Hierarchical`), which are described in words."""

    def _words(self) -> list[str]:
        """The networks of the levels."""
        raise NotImplementedError

    def _described(self) -> Hierarchical:
        given, words = self.parameters, self._words()
        recipes = _recipes(words, dict(given.get("read", ())))
        levels = [
            [recipes[part].relation for part in _parts(i, level)]
            for i, level in enumerate(words, 1)
        ]
        described = Hierarchical(
            levels, given.get("interface", 0), given.replication, _intervals(given.interval)
        )
        self._sizes = sorted({len(cluster) for cluster in described.clusters})
        return described

    @property
    def sphere(self) -> int:
        """The terminals of a cluster.

        Raises
        ------
        ValueError
            If not all clusters have as many.
        """
        if len(self._sizes) > 1:
            raise InvalidValue(
                f"Sphere must have a size: clusters have from {self._sizes[0]} to "
                f"{self._sizes[-1]} terminals"
            )
        return self._sizes[0]


class HierarchicalNetwork(_JoinedNetwork):
    """A hierarchical network (`Hierarchical`) of networks of the catalogue.

    A level is the name of a network that is described as nodes and links, with parameters of its
    description, its `routing` and its `channels`: "hypercube:n=3" or "torus:k=8,n=1". It may also
    be a bus, a crossbar or a multistage network, whose boxes are then routers like the others:
    "bus:ports=4", "crossbar:ports=4", "omega:ports=8". Several with + between them take turns: with
    "hypercube:n=2+ring:k=3" every other cluster is a ring.
    """

    parameters_type = HierarchicalParameters
    family = "hierarchical"

    def _words(self) -> list[str]:
        return self.parameters.levels


def _intervals(text: int | str) -> list[int]:
    """The intervals of the levels."""
    try:
        return [integer_of(word) for word in str(text).split(":")]
    except ValueError:
        raise InvalidValue(
            f"Interval must be a number of cycles or LEVEL1:LEVEL2[:...], not {text!r}"
        ) from None


@dataclass(frozen=True, eq=False)
class TwoLevelParameters(AnyRoutingParameters):
    """The parameters of `TwoLevelNetwork`."""

    networks: str = fixed("bh-bh", "the networks of both levels")
    dimension: int = integer(5, "D: there are 2^D nodes", least=2, most=16, title="Dimension D")
    cluster: int = integer(
        3, "d: there are 2^d nodes in a cluster", least=1, most=15, title="Cluster d"
    )
    replication: int = integer(1, "parallel links for each one of level 2", least=1, most=64)
    interval: int | str = _interval()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster >= self.dimension:
            raise InvalidValue(
                f"Cluster d must be less than dimension D = {self.dimension}, not {self.cluster}"
            )


class TwoLevelNetwork(_JoinedNetwork):
    """A two-level network of Dandamudi and Eager, by the dimensions D and d of the paper."""

    parameters_type = TwoLevelParameters
    family = ""

    def _set_up(self) -> None:
        self.family = self.parameters.networks
        super()._set_up()

    def _words(self) -> list[str]:
        given = self.parameters
        low, high = given.networks.split("-")
        return [_of_size(low, given.cluster), _of_size(high, given.dimension - given.cluster)]


def _of_size(name: str, dimension: int) -> str:
    """A network of 2^dimension nodes."""
    if name == "bh":
        return f"hypercube:n={dimension}"
    if name == "br":
        return f"torus:k={1 << dimension},n=1"
    return f"complete:nodes={1 << dimension}"


@dataclass(frozen=True, eq=False)
class CyclesParameters(AnyRoutingParameters):
    """The parameters of `CyclesNetwork`."""

    cluster: int = integer(
        2, "d: there are 2^d nodes in a cluster", least=1, most=13, title="Cluster d"
    )
    cycles: int = integer(
        2, "D_c: there are D_c 2^D_c clusters", least=2, most=11, title="Cycles D_c"
    )
    replication: int = integer(1, "parallel links for each one of level 2", least=1, most=64)
    interval: int | str = _interval()


class CyclesNetwork(_JoinedNetwork):
    """BH/CCC of Dandamudi and Eager: hypercubes, joined by cube-connected cycles."""

    parameters_type = CyclesParameters
    family = "bh-ccc"

    def _words(self) -> list[str]:
        given = self.parameters
        return [f"hypercube:n={given.cluster}", f"cube-connected-cycles:dimension={given.cycles}"]


_SMALL = {"dimension": 4, "cluster": 2}

FAMILIES = (
    Family(
        "hierarchical",
        "clusters of one network, joined by another: any networks of nodes and links",
        HierarchicalNetwork,
        Group.HIERARCHIES,
        example={"level1": "hypercube:n=2", "level2": "torus:k=3,n=1"},
    ),
    *(
        Family(
            name,
            f"{below}, joined by {above}",
            TwoLevelNetwork,
            Group.HIERARCHIES,
            {"networks": name},
            _SMALL,
        )
        for name, below, above in (
            ("bh-bh", "hypercubes", "a hypercube"),
            ("bh-br", "hypercubes", "a ring in both directions"),
            ("bh-cc", "hypercubes", "a complete network"),
            ("cc-br", "complete networks", "a ring in both directions"),
        )
    ),
    Family(
        "bh-ccc",
        "hypercubes, joined by cube-connected cycles",
        CyclesNetwork,
        Group.HIERARCHIES,
        example={"cluster": 1, "cycles": 2},
    ),
)
