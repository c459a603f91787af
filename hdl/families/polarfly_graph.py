"""PolarFlies: polarity graphs of Erdős and Rényi, of diameter 2."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ..fabric.parameter_fields import integer
from ..graphs.adjacency import adjacent_links, endpoint_count, spread
from ..graphs.circle import circle_position
from ..graphs.graph import Graph, Link
from ..graphs.prime_field import check_prime
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "PolarFly"]


@dataclass(frozen=True)
class PolarFly(Graph):
    """q^2 + q + 1 routers of q + 1 links, or q links at q + 1 of them; the diameter is 2
    (Lakhotia et al., 2022, IV; Erdős and Rényi, 1962).

    Routers are the points of a projective plane: three numbers modulo q, of which the first that is
    not 0 is 1. Two of them are linked if their scalar product is 0. Those whose product with
    themselves is 0, the quadrics, have a link less. Between any two routers there is one path of
    two links or less, or a direct link and one path of two. Of the bisection no formula is known.

    Attributes
    ----------
    q : int
        A prime. Powers of primes are not built.
    endpoints : int or "auto"
        Terminals, spread over the routers; by default (q + 1) / 2 at each, rounded up.
    """

    q: int = integer(5, "a prime: there are q^2 + q + 1 routers", least=2, most=61)
    endpoints: int | str = endpoint_count()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_prime("Q", self.q)
        if self.endpoints == "auto":
            object.__setattr__(self, "endpoints", self.nodes * (self.q // 2 + 1))

    @property
    def nodes(self) -> int:
        return self.q**2 + self.q + 1

    @cached_property
    def homes(self) -> Sequence[int]:
        return spread(int(self.endpoints), self.nodes)

    @cached_property
    def points(self) -> list[tuple[int, int, int]]:
        """The vector of each router."""
        numbers = range(self.q)
        plane = [(1, y, z) for y, z in product(numbers, repeat=2)]
        return [(0, 0, 1), *((0, 1, z) for z in numbers), *plane]

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """For each router, those that it is linked with."""

        def linked(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
            return a != b and sum(x * y for x, y in zip(a, b)) % self.q == 0

        points = self.points
        return [[i for i, other in enumerate(points) if linked(one, other)] for one in points]

    def links(self) -> Iterator[Link]:
        """Ports lead to the neighbours in the order of their numbers."""
        return adjacent_links(self.neighbours)

    def name(self, node: int) -> str:
        return ".".join(map(str, self.points[node]))

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)


FAMILIES = (
    GraphFamily(
        "polarfly",
        "q^2 + q + 1 routers of q + 1 links, two links apart; shortest paths in layers",
        PolarFly,
        Group.LARGE,
        example={"q": 2, "endpoints": 7},
        papers=("lakhotia-polarfly", "erdos-renyi"),
    ),
)
