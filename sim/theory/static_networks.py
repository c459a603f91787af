"""Formulas of Ginosar and Egozi (1989) for measures of static networks, printed and corrected.

The measures: d, the greatest distance; F, fan-out time; D = N / e, disconnectivity, with the
bisection width e; L = alpha F + (1 - alpha) D, looseness; C, links of a node; LC. Tables A, I and
II and the appendix (A.1 to A.3) state them for N nodes; log is to base 2. A formula is corrected
where computed values show that it is wrong, or right for some sizes only; `why` says so.
"""

from math import ceil, floor, sqrt

from .static_formulas import MEASURES, Formula, Size, StaticNetwork, odd_root

__all__ = ["NETWORKS"]


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
_ODD_FAN_OUT = "an upper bound: for odd k it is one too large (k = 5, n = 2 and k = 3, n = 3)"
_ROUNDED = "N need not be a power of 2"
_NODE_CUT = "the paper takes the node cut here, and says so (A.3.5); by 5.3 links are cut"
_SHUFFLE_WIDTH = (
    "e <= 2 N / log N - 1 is a bound, proved for PSE; for PSNN the paper leaves e open; "
    "the least cut is narrower"
)


def _psnn_disconnectivity(size: Size) -> float:
    return size.nodes / (2 * size.nodes / size.bits - 1)


def _psnn_distance(size: Size) -> float:
    return max(2, size.bits + ceil(size.bits / 2) - 2)


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
                "(N - 1) (1/2 log N + 2/N)", lambda s: (s.nodes - 1) * (s.bits / 2 + 2 / s.nodes)
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
            "d": Formula("2", lambda s: 2, "Table A", lambda s: min(2, s.nodes - 1), "1 for N = 2"),
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
                "(b + 1) (log_b(N (b - 1) + 1) - 1) - 1", lambda s: (s.branching + 1) * s.levels - 1
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
                lambda s: s.nodes / (odd_root(s.nodes) + 1 + s.nodes // 2 % 2),
                "an odd chord a near sqrt N has (a - 1)/2 + 1 links over each of two places: "
                "e = a + 1; one more if N/2 is odd",
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
                lambda s: s.nodes / (2 * sqrt(s.nodes) + 2 * (s.nodes % 2)),
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
                _psnn_distance,
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
                _psnn_distance,
                _PSNN_DISTANCE,
            ),
            "F": Formula("2n - 1", lambda s: 2 * s.bits - 1, "Table II", None, _PSNN_FAN_OUT),
            "D": Formula(
                "max(2, n/2)",
                lambda s: max(2, s.bits / 2),
                "Table II and 7",
                None,
                _SHUFFLE_WIDTH,
            ),
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
