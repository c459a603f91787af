"""Tori whose wrap-around links in one dimension are shifted in the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "TwistedTorus"]


@dataclass(frozen=True)
class TwistedTorus(Graph):
    """A torus of two dimensions: node columns y + x is at (x, y), and the link up from the last row
    leads to column x + twist of the first (Cámara et al., 2010).

    All nodes have four links, in a dimension of two positions some of them parallel. If there are
    twice as many columns as rows and the twist is the number of rows, a, it is their rectangular
    twisted torus: all links are alike, and the diameter is a, against 3 a / 2 without a twist.
    Half of its columns have 4 a links to the others, twice as many as without one.

    Attributes
    ----------
    columns, rows : int
        From 2 to 256.
    twist : int or "auto"
        Less than `columns`; by default half of them. 0 is a torus.
    """

    columns: int = integer(8, "nodes of a row", least=2, most=256)
    rows: int = integer(4, "nodes of a column", least=2, most=256)
    twist: int | str = integer(
        "auto",
        "columns that links around a column lead on; auto: half",
        least=0,
        most=255,
        choices=("auto",),
    )

    same_router = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.twist == "auto":
            object.__setattr__(self, "twist", self.columns // 2)
        if int(self.twist) >= self.columns:
            raise InvalidValue(f"Twist must be less than columns={self.columns}, not {self.twist}")

    @property
    def nodes(self) -> int:
        return self.columns * self.rows

    def links(self) -> Iterator[Link]:
        """Ports 0 to 3 lead to +x, -x, +y and -y."""
        for y, x in product(range(self.rows), range(self.columns)):
            column = (x + int(self.twist)) % self.columns if y + 1 == self.rows else x
            peers = self._node(x + 1, y), self._node(column, y + 1)
            for port, peer in zip((0, 2), peers):
                yield Link(self._node(x, y), port, peer, port + 1)
                yield Link(peer, port + 1, self._node(x, y), port)

    def _node(self, x: int, y: int) -> int:
        return y % self.rows * self.columns + x % self.columns

    def name(self, node: int) -> str:
        return f"{node % self.columns}.{node // self.columns}"

    def direction(self, link: Link) -> str:
        return ("+x", "-x", "+y", "-y")[link.port]


FAMILIES = (
    GraphFamily(
        "twisted-torus",
        "a torus whose links around a column lead to another one; shortest paths in layers",
        TwistedTorus,
        Group.TORI,
        example={"columns": 4, "rows": 2},
        papers=("camara-twisted",),
    ),
)
