"""Leiserson's fat trees: trees of switches with parallel links. (`FatTree` is the k-ary n-tree.)"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..fabric.checks import check_limit
from ..fabric.errors import InvalidValue
from ..fabric.numerals import is_natural
from ..fabric.parameter_fields import integer, word
from ..graphs.graph import MOST_NODES, Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "LeisersonFatTree"]

_MOST_PORTS = 256
"""Most ports of a switch: its crossbar grows as their square."""


@dataclass(frozen=True)
class LeisersonFatTree(RoutedGraph):
    """A tree of switches below which there are b^n terminals (Leiserson, 1985; Stanfill, 3.8).

    Level 0 has b^(n-1) switches with b terminals each, and level n - 1 is the root. A switch is
    joined to the one above it by parallel links: its level's *capacity*. If this grows by a factor
    of b at each level, all levels have b^n links, as many as there are terminals.

    A packet goes up to the lowest switch that is above its destination, and then down. Links down
    never wait for links up, so one channel is enough.

    Attributes
    ----------
    branching : int
        b, from 2 to 64.
    levels : int
        n, from 1 to 12.
    capacity : int, str or "auto"
        Links from a switch to the one above: one number for all levels, or one for each level but
        the root's, from level 0 up, such as "2x4x8". By default b at level 0, b^2 at level 1, and
        so on.
    parallel : "any" or "fixed"
        Which of parallel links a packet takes, up and down: the one of its destination's number
        modulo the capacity, or any that is free. With "any" the arbiters of several links often
        grant the same packet, which takes only one.

    Raises
    ------
    ValueError
        If a switch would have more than 256 ports, or there would
        be more than 65,536 switches or terminals.

    Examples
    --------
    >>> LeisersonFatTree(2, 4).capacities
    (2, 4, 8)
    >>> LeisersonFatTree(2, 4, "1x2x2").capacities
    (1, 2, 2)
    """

    branching: int = integer(2, "switches, or terminals, below a switch", least=2, most=64)
    levels: int = integer(4, "levels: there are branching^levels terminals", least=1, most=12)
    capacity: int | str = integer(
        "auto",
        "links from a switch up, of each level; auto: as many at each level as terminals",
        least=1,
        most=_MOST_PORTS,
        choices=("auto",),
        form="AxBxC",
    )
    parallel: Literal["any", "fixed"] = word(
        "fixed",
        "parallel links that a packet takes",
        {"fixed": "one, by the destination: keeps the order", "any": "all, whichever is free"},
    )

    deadlock_free = True
    looks_back = False
    equal_choices = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limit("Terminals", self.branching**self.levels, MOST_NODES)
        if self.capacity == "auto":
            growing = (self.branching**level for level in range(1, self.levels))
            chosen = "x".join(map(str, growing)) or 1
            object.__setattr__(self, "capacity", chosen)
        for level in range(self.levels):
            down = self.branching * (self.capacities[level - 1] if level else 1)
            up = self.capacities[level] if level < self.levels - 1 else 0
            check_limit(f"Ports of a switch of level {level}", down + up, _MOST_PORTS)

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Links up from a switch of each level, without the root's."""
        if not isinstance(self.capacity, str):
            return (int(self.capacity),) * (self.levels - 1)
        words = self.capacity.split("x")
        if not all(is_natural(word) and int(word) >= 1 for word in words):
            raise InvalidValue(
                "Capacity must be auto, a number of at least 1, or several such as 1x2x4, "
                f"not {self.capacity!r}"
            )
        if len(words) != self.levels - 1:
            raise InvalidValue(
                f"Capacity must be one number or {self.levels - 1} with levels={self.levels}, "
                f"not {self.capacity}"
            )
        return tuple(map(int, words))

    @cached_property
    def starts(self) -> list[int]:
        """The first switch of each level, and the number of all switches."""
        found = [0]
        for level in range(self.levels):
            found.append(found[-1] + self.branching ** (self.levels - 1 - level))
        return found

    @property
    def nodes(self) -> int:
        return self.starts[-1]

    @cached_property
    def homes(self) -> Sequence[int]:
        return [terminal // self.branching for terminal in range(self.branching**self.levels)]

    def place(self, node: int) -> tuple[int, int]:
        """The level of a switch, and its number there."""
        level = next(n for n in range(self.levels) if node < self.starts[n + 1])
        return level, node - self.starts[level]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.parallel == "fixed" or max(self.capacities, default=1) == 1

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return 2 * (self.levels - 1)

    def name(self, node: int) -> str:
        level, number = self.place(node)
        return f"{number} of level {level}"

    def position(self, node: int) -> tuple[float, float]:
        """Levels above each other; a switch is above the middle of those below it."""
        level, number = self.place(node)
        width = self.branching ** (self.levels - 1)
        return (number + 0.5) * self.branching**level, level * max(1.0, width / 4)

    def links(self) -> Iterator[Link]:
        """The first ports lead down: those to the first switch, to the second one, and so on. The
        others lead up."""
        for level, capacity in enumerate(self.capacities):
            for number in range(self.branching ** (self.levels - 1 - level)):
                low = self.starts[level] + number
                parent, child = divmod(number, self.branching)
                high = self.starts[level + 1] + parent
                for wire in range(capacity):
                    port, peer_port = self._up(level) + wire, child * capacity + wire
                    yield Link(low, port, high, peer_port)
                    yield Link(high, peer_port, low, port)

    def _up(self, level: int) -> int:
        """The first port that leads up."""
        return self.branching * self.capacities[level - 1] if level else 0

    def direction(self, link: Link) -> str:
        return "up" if link.peer > link.node else "down"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        level, number = self.place(node)
        below = destination // self.branching**level
        if below // self.branching != number:
            first, capacity = self._up(level), self.capacities[level]
        elif level:
            capacity = self.capacities[level - 1]
            first = below % self.branching * capacity
        else:
            return
        wires = range(capacity) if self.parallel == "any" else [destination % capacity]
        yield from (Channel(node, first + wire) for wire in wires)


FAMILIES = (
    GraphFamily(
        "leiserson-fat-tree",
        "a tree of switches, with more parallel links at higher levels",
        LeisersonFatTree,
        Group.LARGE,
        example={"levels": 3},
        papers=("leiserson", "stanfill"),
    ),
)
