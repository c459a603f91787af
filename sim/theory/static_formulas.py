"""What formulas for measures of static networks are made of: sizes, orders and corrections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor, log, log2, sqrt

from ...hdl.fabric.errors import InvalidValue

__all__ = ["MEASURES", "Formula", "Size", "StaticNetwork", "looseness", "odd_root"]


MEASURES = ("d", "F", "D", "L", "C", "LC")
"""The measures in the order of the paper's tables."""


def looseness(fan_out: float, disconnectivity: float, alpha: float = 0.5) -> float:
    """L = alpha F + (1 - alpha) D (5.4).

    Raises
    ------
    ValueError
        If alpha is not from 0 to 1.
    """
    if not 0 <= alpha <= 1:
        raise InvalidValue(f"Alpha must be from 0 to 1, not {alpha}")
    # Of an infinite measure no share, however small, is left out; but 0 times it is 0.
    return (alpha * fan_out if alpha else 0) + ((1 - alpha) * disconnectivity if alpha < 1 else 0)


@dataclass(frozen=True)
class Size:
    """The size of a network.

    Attributes
    ----------
    nodes : int
        N.
    dimensions : int
        n of a torus.
    branching : int
        b of a tree.
    """

    nodes: int
    dimensions: int = 1
    branching: int = 2

    @property
    def side(self) -> float:
        """Nodes of a row of a torus: k, the n-th root of N."""
        side = self.nodes ** (1 / self.dimensions)
        return round(side) if round(side) ** self.dimensions == self.nodes else side

    @property
    def bits(self) -> float:
        """log2 N, which is n of hypercubes and shuffles."""
        return log2(self.nodes)

    @property
    def levels(self) -> float:
        """m, links from the root of a tree to its leaves, by A.1 (2); a fraction if not all levels
        are full."""
        b = self.branching
        return log(self.nodes * (b - 1) + 1, b) - 1 if b > 1 else self.nodes - 1


Value = Callable[[Size], float]


@dataclass(frozen=True)
class Formula:
    """A formula of the paper.

    Attributes
    ----------
    printed : str
        As printed, without the scan's errors.
    value : callable or None
        Its value for a size; None if only its order is printed.
    source : str
        Table or section.
    corrected : callable or None
        The value that is right, if the printed one is not.
    why : str
        What is wrong.
    """

    printed: str
    value: Value | None = None
    source: str = "Table A"
    corrected: Value | None = None
    why: str = ""

    def best(self, size: Size) -> float | None:
        """The corrected value, or the printed one if that is not corrected."""
        chosen = self.corrected or self.value
        return None if chosen is None else chosen(size)


@dataclass(frozen=True)
class StaticNetwork:
    """A network of the paper.

    Attributes
    ----------
    name : str
        As in the paper's tables.
    exact : Mapping[str, Formula]
        By measure; L and LC are for alpha = 1/2.
    orders : Mapping[str, str]
        What Table I prints, by measure.
    growth : Mapping[str, callable]
        The same as functions.
    table_2 : Mapping[str, Formula]
        What Table II prints for N = 2^n nodes.
    """

    name: str
    exact: Mapping[str, Formula]
    orders: Mapping[str, str] = field(default_factory=dict)
    table_2: Mapping[str, Formula] = field(default_factory=dict)

    def growth(self, measure: str, size: Size) -> float:
        """The order of a measure, without its constant factor."""
        return _ORDERS[self.orders[measure]](size)


_ORDERS: dict[str, Value] = {
    "1": lambda s: 1,
    "1/N": lambda s: 1 / s.nodes,
    "N": lambda s: s.nodes,
    "log N": lambda s: s.bits,
    "log^2 N": lambda s: s.bits**2,
    "N log N": lambda s: s.nodes * s.bits,
    "sqrt N": lambda s: sqrt(s.nodes),
    "N^(1/n)": lambda s: s.side,
    "N^(1/n) log N": lambda s: s.side * s.bits,
    "N^(1/n) log^2 N": lambda s: s.side * s.bits**2,
}


def odd_root(nodes: int) -> int:
    """The odd chord nearest to sqrt N, the smaller one of two."""
    root = floor(sqrt(nodes))
    return min((root - 1, root, root + 1), key=lambda a: (a % 2 == 0, abs(a - sqrt(nodes)), a))
