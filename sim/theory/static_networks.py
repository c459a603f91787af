"""Formulas of Ginosar and Egozi (1989) for measures of static networks, printed and corrected.

The measures: d, the greatest distance; F, fan-out time; D = N / e, disconnectivity, with the
bisection width e; L = alpha F + (1 - alpha) D, looseness; C, links of a node; LC. Tables A, I and
II and the appendix (A.1 to A.3) state them for N nodes; log is to base 2. A formula is corrected
where computed values show that it is wrong, or right for some sizes only; `why` says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, isclose, log, log2, sqrt
from typing import Any

from ...hdl.fabric.errors import InvalidValue

__all__ = [
    "MEASURES",
    "NETWORKS",
    "Comparison",
    "Formula",
    "Range",
    "Size",
    "StaticNetwork",
    "compared",
    "looseness",
    "static_network",
]

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


def _orders(*texts: str) -> dict[str, str]:
    return dict(zip(MEASURES, texts))


def _torus_width(size: Size) -> float:
    """e of a torus: 2 N / k for even k. For odd k a cut through the middle of a row is uneven, and
    crosses a row of each lower dimension in turn: 2 (k^(n-1) + ... + 1)."""
    if size.side % 2 == 1:
        return 2 * (size.nodes - 1) / (size.side - 1)
    return 2 * size.nodes / size.side


def _torus_disconnectivity(size: Size) -> float:
    return size.nodes / _torus_width(size)


_ODD = "for odd k the halves are not layers: e = 2 (N - 1) / (k - 1)"
_ODD_FAN_OUT = "an upper bound: for odd k from 5 and n = 2 it is one too large (k = 5 and 7)"
_ROUNDED = "N need not be a power of 2"
_NODE_CUT = "the paper takes the node cut here, and says so (A.3.5); by 5.3 links are cut"
_SHUFFLE_WIDTH = (
    "e <= 2 N / log N - 1 is a bound, proved for PSE; for PSNN the paper leaves e open; "
    "the least cut is narrower"
)


def _psnn_disconnectivity(size: Size) -> float:
    return size.nodes / (2 * size.nodes / size.bits - 1)


_PSNN_DISTANCE = "one too large for n = 3 to 11: the most distant node needs fewer ring steps"
_PSNN_FAN_OUT = "an upper bound: the algorithm is one of PSE, and rings make PSNN faster"

NETWORKS: dict[str, StaticNetwork] = {
    "CCN": StaticNetwork(
        "CCN",
        {
            "d": Formula("1", lambda s: 1),
            "F": Formula("log N", lambda s: s.bits, "Table A", lambda s: ceil(s.bits), _ROUNDED),
            "D": Formula(
                "4/N",
                lambda s: 4 / s.nodes,
                "Table A",
                lambda s: s.nodes / (s.nodes**2 // 4),
                "for odd N, e = (N^2 - 1) / 4",
            ),
            "L": Formula("1/2 log N + 2/N", lambda s: s.bits / 2 + 2 / s.nodes),
            "C": Formula("N - 1", lambda s: s.nodes - 1),
            "LC": Formula(
                "(N - 1) (1/2 log N + 2/N)",
                lambda s: (s.nodes - 1) * (s.bits / 2 + 2 / s.nodes),
            ),
        },
        _orders("1", "log N", "1/N", "log N", "N", "N log N"),
    ),
    "Ring": StaticNetwork(
        "Ring, one-way",
        {
            "d": Formula("N - 1", lambda s: s.nodes - 1, "A.1.2"),
            "F": Formula("N - 1", lambda s: s.nodes - 1, "A.2.2"),
            "D": Formula("N", lambda s: s.nodes, "A.3.2"),
        },
        {"d": "N", "F": "N", "D": "N"},
    ),
    "NN_1": StaticNetwork(
        "NN_1",
        {
            "d": Formula("floor(N/2)", lambda s: s.nodes // 2),
            "F": Formula("ceil(N/2)", lambda s: ceil(s.nodes / 2)),
            "D": Formula("N/2", lambda s: s.nodes / 2),
            "L": Formula(
                "N/2",
                lambda s: s.nodes / 2,
                "Table A",
                lambda s: (ceil(s.nodes / 2) + s.nodes / 2) / 2,
                "for odd N, F is ceil(N/2)",
            ),
            "C": Formula("2", lambda s: 2),
            "LC": Formula(
                "N",
                lambda s: s.nodes,
                "Table A",
                lambda s: ceil(s.nodes / 2) + s.nodes / 2,
                "for odd N, F is ceil(N/2)",
            ),
        },
        _orders("N", "N", "N", "N", "1", "N"),
    ),
    "NN_2": StaticNetwork(
        "NN_2",
        {
            "d": Formula("2 floor(sqrt(N)/2)", lambda s: 2 * floor(s.side / 2)),
            "F": Formula(
                "2 ceil(sqrt(N)/2)", lambda s: 2 * ceil(s.side / 2), "Table A", None, _ODD_FAN_OUT
            ),
            "D": Formula(
                "sqrt(N)/2", lambda s: s.side / 2, "Table A", _torus_disconnectivity, _ODD
            ),
            "L": Formula("3 sqrt(N)/4", lambda s: 3 * s.side / 4),
            "C": Formula("4", lambda s: 4),
            "LC": Formula("3 sqrt(N)", lambda s: 3 * s.side),
        },
        _orders("sqrt N", "sqrt N", "sqrt N", "sqrt N", "1", "sqrt N"),
    ),
    "NN_n": StaticNetwork(
        "NN_n",
        {
            "d": Formula("n floor(N^(1/n)/2)", lambda s: s.dimensions * floor(s.side / 2)),
            "F": Formula(
                "n ceil(N^(1/n)/2)",
                lambda s: s.dimensions * ceil(s.side / 2),
                "Table A",
                None,
                _ODD_FAN_OUT,
            ),
            "D": Formula(
                "N^(1/n)/2", lambda s: s.side / 2, "Table A", _torus_disconnectivity, _ODD
            ),
            "L": Formula("(n + 1) N^(1/n)/4", lambda s: (s.dimensions + 1) * s.side / 4),
            "C": Formula("2n", lambda s: 2 * s.dimensions),
            "LC": Formula(
                "n (n + 1) N^(1/n)/2", lambda s: s.dimensions * (s.dimensions + 1) * s.side / 2
            ),
        },
        _orders(
            "N^(1/n) log N", "N^(1/n) log N", "N^(1/n)", "N^(1/n) log N", "log N", "N^(1/n) log^2 N"
        ),
    ),
    "Star": StaticNetwork(
        "Star",
        {
            "d": Formula("2", lambda s: 2),
            "F": Formula("N - 1", lambda s: s.nodes - 1),
            "D": Formula(
                "N", lambda s: s.nodes, "Table A", lambda s: s.nodes / (s.nodes // 2), _NODE_CUT
            ),
            "L": Formula(
                "N - 1/2",
                lambda s: s.nodes - 0.5,
                "Table A",
                lambda s: (s.nodes - 1 + s.nodes / (s.nodes // 2)) / 2,
                _NODE_CUT,
            ),
            "C": Formula(
                "N",
                lambda s: s.nodes,
                "Table A",
                lambda s: 2 - 2 / s.nodes,
                "N - 1 at the centre, 1 elsewhere: about 2 on average, as 4.1.5 says",
            ),
            "LC": Formula(
                "N^2 - 1/2 N",
                lambda s: s.nodes**2 - s.nodes / 2,
                "Table A",
                lambda s: (2 - 2 / s.nodes) * (s.nodes - 1 + s.nodes / (s.nodes // 2)) / 2,
                "from L and C; Table I has C = 1 and LC = N",
            ),
        },
        _orders("1", "N", "N", "N", "1", "N"),
    ),
    "Tree": StaticNetwork(
        "Tree",
        {
            "d": Formula("2 log_b(N (b - 1) + 1) - 2", lambda s: 2 * s.levels),
            "F": Formula(
                "(b + 1) (log_b(N (b - 1) + 1) - 1) - 1",
                lambda s: (s.branching + 1) * s.levels - 1,
            ),
            "D": Formula(
                "N",
                lambda s: s.nodes,
                "Table A",
                None,
                f"{_NODE_CUT}; for b = 2 and full levels both are 1",
            ),
            "L": Formula(
                "N/2 + 3/2 (log(N + 1) - 1) - 1/2",
                lambda s: (s.nodes + (s.branching + 1) * s.levels - 1) / 2,
            ),
            "C": Formula(
                "2 1/2",
                lambda s: 2.5,
                "Table A",
                lambda s: 2 - 2 / s.nodes,
                "a tree has N - 1 links, so the mean is 2 - 2/N, as in the star",
            ),
            "LC": Formula(
                "5/4 (N + 3 (log(N + 1) - 1) - 1)",
                lambda s: 5 / 4 * (s.nodes + (s.branching + 1) * s.levels - 1),
                "Table A",
                lambda s: (1 - 1 / s.nodes) * (s.nodes + (s.branching + 1) * s.levels - 1),
                "from C = 2 - 2/N",
            ),
        },
        _orders("log N", "log N", "N", "N", "1", "N"),
        {
            "d": Formula("2n - 2", lambda s: 2 * s.bits - 2, "Table II"),
            "F": Formula("3n - 4", lambda s: 3 * s.bits - 4, "Table II"),
            "D": Formula("N", lambda s: s.nodes, "Table II"),
            "L": Formula("3/2 n - 2 + 1/2 N", lambda s: 1.5 * s.bits - 2 + s.nodes / 2, "Table II"),
            "C": Formula(
                "2 1/2",
                lambda s: 2.5,
                "Table II",
                lambda s: 2 - 2 / s.nodes,
                "a tree has N - 1 links, so the mean is 2 - 2/N",
            ),
            "LC": Formula(
                "15/4 n - 5 + 5/4 N", lambda s: 3.75 * s.bits - 5 + 1.25 * s.nodes, "Table II"
            ),
        },
    ),
    "Chordal ring": StaticNetwork(
        "Chordal ring",
        {
            "d": Formula("O(sqrt N)"),
            "F": Formula("O(sqrt N)"),
            "D": Formula(
                "N / (sqrt N + 2)",
                lambda s: s.nodes / (sqrt(s.nodes) + 2),
                "Table A",
                lambda s: s.nodes / (_odd_root(s.nodes) + 1),
                "an odd chord a near sqrt N has (a - 1)/2 + 1 links over each of two places: "
                "e = a + 1",
            ),
            "L": Formula("sqrt N", lambda s: sqrt(s.nodes)),
            "C": Formula("3", lambda s: 3),
            "LC": Formula("3 sqrt N", lambda s: 3 * sqrt(s.nodes)),
        },
        _orders("sqrt N", "sqrt N", "sqrt N", "sqrt N", "1", "sqrt N"),
    ),
    "Chordal ring, two chords": StaticNetwork(
        "Chordal ring, two chords",
        {
            "D": Formula(
                "N / (2 sqrt N + 2)",
                lambda s: s.nodes / (2 * sqrt(s.nodes) + 2),
                "A.3.7",
                lambda s: s.nodes / (2 * sqrt(s.nodes)),
                "with a = sqrt N even, a cut that is not two arcs has e = 2 sqrt N",
            ),
            "C": Formula("4", lambda s: 4, "4.1.7"),
        },
        {"D": "sqrt N", "C": "1"},
    ),
    "Hypercube": StaticNetwork(
        "Hypercube",
        {
            "d": Formula("log N", lambda s: s.bits),
            "F": Formula("log N", lambda s: s.bits),
            "D": Formula("2", lambda s: 2),
            "L": Formula("1 + 1/2 log N", lambda s: 1 + s.bits / 2),
            "C": Formula("log N", lambda s: s.bits),
            "LC": Formula("log N + 1/2 log^2 N", lambda s: s.bits + s.bits**2 / 2),
        },
        _orders("log N", "log N", "1", "log N", "log N", "log^2 N"),
        {
            "d": Formula("n", lambda s: s.bits, "Table II"),
            "F": Formula("n", lambda s: s.bits, "Table II"),
            "D": Formula("2", lambda s: 2, "Table II"),
            "L": Formula("1/2 n + 1", lambda s: s.bits / 2 + 1, "Table II"),
            "C": Formula("n", lambda s: s.bits, "Table II"),
            "LC": Formula("1/2 n^2 + n", lambda s: s.bits**2 / 2 + s.bits, "Table II"),
        },
    ),
    "PSNN": StaticNetwork(
        "PSNN",
        {
            "d": Formula(
                "log N + ceil(1/2 log N) - 1",
                lambda s: s.bits + ceil(s.bits / 2) - 1,
                "Table A",
                lambda s: s.bits + ceil(s.bits / 2) - 2,
                _PSNN_DISTANCE,
            ),
            "F": Formula("2 log N - 1", lambda s: 2 * s.bits - 1, "Table A", None, _PSNN_FAN_OUT),
            "D": Formula(
                "N / (2 N / log N - 1)", _psnn_disconnectivity, "Table A", None, _SHUFFLE_WIDTH
            ),
            "L": Formula(
                "1/2 (2 log N - 1) + 1/2 N / (2 N / log N - 1)",
                lambda s: (2 * s.bits - 1 + _psnn_disconnectivity(s)) / 2,
            ),
            "C": Formula(
                "4",
                lambda s: 4,
                "Table A",
                None,
                "the mean is less: two loops, and double links, are left out (assumption D)",
            ),
            "LC": Formula("4 L", lambda s: 2 * (2 * s.bits - 1 + _psnn_disconnectivity(s))),
        },
        _orders("log N", "log N", "log N", "log N", "1", "log N"),
        {
            "d": Formula(
                "n + ceil(n/2) - 1",
                lambda s: s.bits + ceil(s.bits / 2) - 1,
                "Table II",
                lambda s: s.bits + ceil(s.bits / 2) - 2,
                _PSNN_DISTANCE,
            ),
            "F": Formula("2n - 1", lambda s: 2 * s.bits - 1, "Table II", None, _PSNN_FAN_OUT),
            "D": Formula("n/2", lambda s: s.bits / 2, "Table II", None, _SHUFFLE_WIDTH),
            "L": Formula("5/4 n - 1/2", lambda s: 1.25 * s.bits - 0.5, "Table II"),
            "C": Formula("4", lambda s: 4, "Table II"),
            "LC": Formula("5n - 2", lambda s: 5 * s.bits - 2, "Table II"),
        },
    ),
    "PSE": StaticNetwork(
        "PSE",
        {
            "F": Formula("2 log N - 1", lambda s: 2 * s.bits - 1, "A.2.9"),
            "D": Formula(
                ">= N / (2 N / log N - 1)", _psnn_disconnectivity, "A.3.9", None, _SHUFFLE_WIDTH
            ),
        },
        {"F": "log N", "D": "log N"},
    ),
}
"""The networks in the order of Table I, and those of which it states only some measures."""


def _odd_root(nodes: int) -> int:
    """The odd chord nearest to sqrt N, the smaller one of two."""
    root = floor(sqrt(nodes))
    return min((root - 1, root, root + 1), key=lambda a: (a % 2 == 0, abs(a - sqrt(nodes)), a))


def _torus(parameters: Any) -> tuple[str, Size] | None:
    sizes = set(str(parameters.k).split("x"))
    if len(sizes) > 1 or not parameters.wrap or min(map(int, sizes)) < 3:
        return None
    k, n = int(sizes.pop()), int(parameters.n)
    size = Size(k**n, n)
    if parameters.directions == 1:
        return ("Ring", size) if n == 1 else None
    return ("NN_1" if n == 1 else "NN_2" if n == 2 else "NN_n"), size


def _bits(name: str) -> Callable[[Any], tuple[str, Size]]:
    return lambda parameters: (name, Size(1 << parameters.n))


def _chordal(parameters: Any) -> tuple[str, Size] | None:
    size = Size(parameters.nodes)
    if parameters.chords == 2 or parameters.chord % 2 == 0:
        best = parameters.chord == round(sqrt(parameters.nodes))
        return ("Chordal ring, two chords", size) if best else None
    return ("Chordal ring", size) if parameters.chord == _odd_root(parameters.nodes) else None


_FAMILIES: dict[str, Callable[[Any], tuple[str, Size] | None]] = {
    "complete": lambda parameters: ("CCN", Size(parameters.nodes)),
    "ring": _torus,
    "torus": _torus,
    "star": lambda parameters: ("Star", Size(parameters.nodes)),
    "tree": lambda parameters: (
        ("Tree", Size(parameters.nodes, branching=parameters.branching))
        if parameters.branching > 1
        else None
    ),
    "chordal-ring": _chordal,
    "hypercube": _bits("Hypercube"),
    "psnn": _bits("PSNN"),
    "pse": _bits("PSE"),
}
"""The paper's network of a family of the catalogue, and its size."""


def static_network(family: str, parameters: Any) -> tuple[StaticNetwork, Size] | None:
    """The paper's network that a network of the catalogue is, and its size; None if it is none.

    Parameters
    ----------
    family : str
        Name in the catalogue.
    parameters : Parameters

    Examples
    --------
    >>> from multicube.hdl import build
    >>> network, size = static_network("torus", build("torus k=4").parameters)
    >>> network.name, network.exact["d"].best(size)
    ('NN_2', 4)
    """
    found = _FAMILIES[family](parameters) if family in _FAMILIES else None
    return None if found is None else (NETWORKS[found[0]], found[1])


Range = tuple[float, float]
"""A lower and an upper bound; equal if the number is known."""


@dataclass(frozen=True)
class Comparison:
    """A formula beside a computed value.

    Attributes
    ----------
    measure, printed, source, why : str
        As in `Formula`.
    value, corrected : float or None
        Values of the formula as printed and as corrected.
    lower, upper : float or None
        Bounds of the computed value; equal if it is exact.
    deviation : float or None
        Of the printed value from the computed one, relative; from the nearer bound if it is not
        between both, and None if it is.
    """

    measure: str
    printed: str
    source: str
    value: float | None
    corrected: float | None
    lower: float | None
    upper: float | None
    deviation: float | None
    why: str


def compared(
    network: StaticNetwork,
    size: Size,
    computed: Mapping[str, Range],
    formulas: Mapping[str, Formula] | None = None,
) -> list[Comparison]:
    """The formulas of a network, by default those of Table A, beside computed values by measure."""
    rows = []
    for measure, formula in (network.exact if formulas is None else formulas).items():
        value = None if formula.value is None else formula.value(size)
        right = None if formula.corrected is None else formula.corrected(size)
        lower, upper = computed.get(measure, (None, None))
        off = None if value is None or lower is None else _deviation(value, lower, upper or lower)
        text = formula.printed, formula.source
        rows.append(Comparison(measure, *text, value, right, lower, upper, off, formula.why))
    return rows


def _deviation(value: float, lower: float, upper: float) -> float | None:
    # Logarithms are rounded.
    if isclose(value, lower, rel_tol=1e-9) and lower == upper:
        return 0.0
    if lower < value < upper:
        return None
    return value / (lower if value <= lower else upper) - 1
