"""Slim Flies: graphs of McKay, Miller and Širáň, of diameter 2."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.parameter_fields import integer
from ..graphs.adjacency import adjacent_links, endpoint_count, spread
from ..graphs.graph import Graph, Link
from ..graphs.prime_field import check_prime, powers
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "SlimFly"]


@dataclass(frozen=True)
class SlimFly(Graph):
    """2 q^2 routers of k' = (3 q - d) / 2 links, where q = 4 w + d and d is 1 or -1; the diameter
    is 2 (Besta and Hoefler, 2014, II-B; McKay, Miller and Širáň, 1998).

    Numbers are modulo q. Router (0, x, y) is node q x + y, and router (1, m, c) is node
    q^2 + q m + c. They are linked if y = m x + c. Two routers (0, x, y) and (0, x, y') are linked
    if y - y' is in a set X, and (1, m, c) and (1, m, c') if c - c' is in X'. X is the first w even
    powers of a primitive element and their negatives, and X' the odd ones (Hafner, 2004). With
    q = 5 it is the Hoffman-Singleton graph. Of the bisection no formula is known.

    Attributes
    ----------
    q : int
        An odd prime. Powers of primes are not built.
    endpoints : int or "auto"
        Terminals, spread over the routers; by default k' / 2 at each, rounded up.
    """

    q: int = integer(3, "an odd prime: there are 2 q^2 routers", least=3, most=43)
    endpoints: int | str = endpoint_count()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_prime("Q", self.q, odd=True)
        if self.endpoints == "auto":
            degree = len(self.neighbours[0])
            object.__setattr__(self, "endpoints", self.nodes * ((degree + 1) // 2))

    @property
    def nodes(self) -> int:
        return 2 * self.q**2

    @cached_property
    def homes(self) -> Sequence[int]:
        return spread(int(self.endpoints), self.nodes)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """For each router, those that it is linked with: of its own half first."""
        q, power = self.q, powers(self.q)
        w = (q + 1) // 4
        sets = [
            {sign * power[2 * i + first] % q for i in range(w) for sign in (1, -1)}
            for first in range(2)
        ]
        found = []
        for node in range(self.nodes):
            side, (row, place) = node // q**2, divmod(node % q**2, q)
            own = [node - place + (place + step) % q for step in sorted(sets[side])]
            sign = 1 if side else -1
            found.append(
                own + [q**2 * (1 - side) + q * i + (place + sign * row * i) % q for i in range(q)]
            )
        return found

    def links(self) -> Iterator[Link]:
        return adjacent_links(self.neighbours)

    def name(self, node: int) -> str:
        return ".".join(map(str, (node // self.q**2, node // self.q % self.q, node % self.q)))

    def position(self, node: int) -> tuple[float, float]:
        """Both halves as squares, side by side."""
        side, (row, place) = node // self.q**2, divmod(node % self.q**2, self.q)
        return row + side * (self.q + 0.7), place + 0.3 * row + 0.15 * side

    def direction(self, link: Link) -> str:
        return "within" if (link.node < self.q**2) == (link.peer < self.q**2) else "across"


FAMILIES = (
    GraphFamily(
        "slim-fly",
        "2 q^2 routers of (3 q - d) / 2 links, two links apart; shortest paths in layers",
        SlimFly,
        Group.LARGE,
        example={"q": 3, "endpoints": 16},
        papers=("besta-slim-fly", "mms"),
    ),
)
