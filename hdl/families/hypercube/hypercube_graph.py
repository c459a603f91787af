"""The hypercube with a terminal at each node, and its routing algorithms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from ...fabric.parameter_fields import integer, word
from ...graphs.address_codes import AddressCode
from ...graphs.graph import Channel, End, Link, Turn
from ...graphs.grid import cube_position
from ...graphs.routing.relation import RoutedGraph
from ...graphs.tags import Routing, TagScheme
from .hypercube_routing import HYPERCUBE_ROUTINGS, HypercubeRouting, next_channels

__all__ = ["RoutedHypercube"]


@dataclass(frozen=True)
class RoutedHypercube(RoutedGraph):
    """2^n nodes; those whose numbers differ in one bit are neighbours. Port i is dimension i.

    The routing algorithm "ecube" crosses the dimensions in order, lowest first; "pcube" crosses
    first all those from 1 to 0, then those from 0 to 1, each in any order; "adaptive" crosses all
    in any order, over two channels per link (`hypercube_routing`).

    Attributes
    ----------
    n : int
    routing : "ecube", "pcube" or "adaptive"
    latency : int
        Cycles of a link.
    """

    n: int = integer(
        4, "dimension of the hypercube: it has 2^n nodes", least=1, most=16, title="Dimension n"
    )
    routing: HypercubeRouting = word("ecube", "order of the dimensions", HYPERCUBE_ROUTINGS)
    latency: int = integer(1, "cycles of a link", least=1, most=1024)

    same_router = True
    looks_back = False
    deadlock_free = True

    @property
    def nodes(self) -> int:
        return 1 << self.n

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return self.n

    @property
    def bisection(self) -> int:
        return self.nodes

    @property
    def channels_per_link(self) -> int:
        return 2 if self.routing == "adaptive" else 1

    def links(self) -> Iterator[Link]:
        for node, i in product(range(self.nodes), range(self.n)):
            yield Link(node, i, node ^ 1 << i, i, self.channels_per_link, self.latency)

    def position(self, node: int) -> tuple[float, float]:
        return cube_position(node, self.n)

    def direction(self, link: Link) -> str:
        return f"dimension {link.port}"

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Whether a packet never has a choice of channels."""
        return self.routing == "ecube"

    def route(self, node: int, came: Channel | None, destination: int) -> list[Channel]:
        """The next channels of a header in a node; none if it has arrived."""
        return next_channels(self.routing, node, destination)

    def is_escape(self, channel: Channel) -> bool:
        return self.routing != "adaptive" or channel.number == 0

    def in_order(self, number: int) -> bool:
        """Whether a header that took a channel of this number has crossed all lower dimensions."""
        return self.routing == "ecube" or (self.routing == "adaptive" and number == 0)

    def carries(self, channel: Channel) -> bool:
        """As in `Relation`: packets take every channel."""
        return True

    def turns(self) -> Mapping[int, frozenset[Turn]]:
        """As `Relation.turns`: from any dimension to any other, or in order to a higher one."""
        ends = list(product(range(self.n), range(self.channels_per_link)))
        turns = {Turn(None, None), *(Turn(None, end) for end in ends)}
        for came in ends:
            turns.add(Turn(came, None))
            turns |= {Turn(came, end) for end in ends if self._leads(came, end)}
        return dict.fromkeys(range(self.nodes), frozenset(turns))

    def _leads(self, came: End, to: End) -> bool:
        return to[0] > came[0] if self.in_order(came[1]) else to[0] != came[0]

    @property
    def tags(self) -> TagScheme:
        """Tags that hold the destination; with "ecube" the relative address."""
        # The top digit of a tag is that of "stage" 0, so bit i of a tag is bit i of the address.
        digits = tuple(reversed(range(self.n)))
        kind: Routing = "xor" if self.routing == "ecube" else "destination"
        return TagScheme(kind, AddressCode(2, self.n), digits, digits)
