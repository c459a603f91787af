"""Which static network of Ginosar and Egozi a network of the catalogue is."""

from collections.abc import Callable
from typing import Any

from .static_formulas import Size, StaticNetwork, odd_root
from .static_networks import NETWORKS

__all__ = ["static_network"]


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
        square = parameters.chord**2 == parameters.nodes
        return ("Chordal ring, two chords", size) if square else None
    return ("Chordal ring", size) if parameters.chord == odd_root(parameters.nodes) else None


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
