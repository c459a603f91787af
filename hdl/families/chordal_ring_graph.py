"""Chordal rings: rings with one or two chords at each node."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ..fabric.checks import check_field, check_integer
from ..fabric.errors import InvalidValue
from ..fabric.parameters import integer
from ..graphs.circle import circle_position
from ..graphs.graph import Graph, Link

__all__ = ["ChordalRing"]

_MOST_NODES = 2**16


@dataclass(frozen=True)
class ChordalRing(Graph):
    """A two-way ring whose nodes also have chords (Ginosar and Egozi, 1989, 4.1.7).

    With one chord, even nodes i are linked to i + a, which are odd; so a and N - 1 are odd (Arden
    and Lee, 1981). With two, each node i is linked to i + a and to i - a.

    Attributes
    ----------
    nodes : int
        N: even and from 6 to 65,536 with one chord, from 5 to 65,536 with two.
    chords : int
        Chords of a node: 1 or 2.
    chord : int or "auto"
        a, the nodes that a chord leads on. With one chord it is odd, and from 3 to N / 2; with two,
        from 2 to less than N / 2. (A longer one leads as far back.) By default the allowed value
        nearest to the square root of N, the smaller one of two.

    Examples
    --------
    >>> ChordalRing(16, 1).chord, ChordalRing(16, 2).chord, ChordalRing(64, 1, 7).chord
    (3, 4, 7)
    """

    nodes: int = integer(16, "nodes, each with a terminal", least=5, most=_MOST_NODES)
    chords: int = integer(1, "chords of a node", least=1, most=2)
    chord: int | Literal["auto"] = integer(
        "auto",
        "nodes that a chord leads on; auto: about the square root of nodes",
        least=2,
        choices=("auto",),
    )

    def __post_init__(self) -> None:
        check_field(self, "nodes", "Nodes", 5, _MOST_NODES)
        check_field(self, "chords", "Chords", 1, 2)
        if self.chords == 1 and (self.nodes % 2 or self.nodes < 6):
            raise InvalidValue(
                f"Nodes must be even and at least 6 with one chord at a node, not {self.nodes}"
            )
        if self.chord == "auto":
            root = sqrt(self.nodes)
            chosen = min(self.allowed, key=lambda chord: abs(chord - root))
            object.__setattr__(self, "chord", chosen)
            return
        if check_integer("Chord", self.chord, 2) not in self.allowed:
            odd = "odd and " if self.chords == 1 else ""
            raise InvalidValue(
                f"Chord must be {odd}from {self.allowed[0]} to {self.allowed[-1]} with "
                f"{self.nodes} nodes and chords={self.chords}, not {self.chord}"
            )
        check_field(self, "chord", "Chord", 2)

    @property
    def allowed(self) -> range:
        """The allowed lengths of a chord."""
        if self.chords == 1:
            return range(3, self.nodes // 2 + 1, 2)
        return range(2, (self.nodes + 1) // 2)

    def links(self) -> Iterator[Link]:
        """Ports 0 and 1 lead one node on and back; port 2 by a chord, on if there are two; and port
        3 back by the other."""
        for node in range(self.nodes):
            for port, step in enumerate(self._steps(node)):
                peer = (node + step) % self.nodes
                yield Link(node, port, peer, self._steps(peer).index(-step))

    def _steps(self, node: int) -> list[int]:
        """How far each port leads on."""
        chord = int(self.chord)
        if self.chords == 2:
            return [1, -1, chord, -chord]
        return [1, -1, -chord if node % 2 else chord]

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)

    def direction(self, link: Link) -> str:
        step = self._steps(link.node)[link.port]
        return f"{step:+}" if link.port < 2 else f"chord {step:+}"
