"""Augmented data manipulators: stages whose links lead straight on, and 2^i up and down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.checks import check_power_of_two
from ..fabric.parameter_fields import integer, word
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "AugmentedDataManipulator"]

_ORDERS = {
    "falling": "stage n-1 first: the augmented data manipulator",
    "rising": "stage 0 first: its inverse, which is also called gamma network",
}


@dataclass(frozen=True)
class AugmentedDataManipulator(RoutedGraph):
    """N = 2^n lines, and n stages of N switches before a column of N outputs (Feng, 1974; McMillen
    and Siegel, 1982, whom Siegel et al. name in III).

    A switch of stage i has links to the switches j, j + 2^i and j - 2^i (modulo N) of the next
    column. So a packet adds its distance, destination minus source modulo N, as signed digits: -1,
    0 or 1 times 2^i in stage i. Distances that have several such sums have several paths; a packet
    takes any free link from which its destination can be reached.

    Attributes
    ----------
    ports : int
        N, a power of two.
    order : str
        Whether stages come in the order n-1 down to 0, or 0 up to n-1.
    """

    ports: int = integer(8, "terminals, a power of two", least=2, most=2**12)
    order: str = word("falling", "order of the stages", _ORDERS)

    deadlock_free = True
    looks_back = False
    ordered = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power_of_two("Ports", self.ports)

    @property
    def _weights(self) -> Sequence[int]:
        """2^i of each stage, in the order in which packets meet them."""
        rising = [1 << i for i in range(self.ports.bit_length() - 1)]
        return rising if self.order == "rising" else rising[::-1]

    @property
    def nodes(self) -> int:
        return self.ports * (len(self._weights) + 1)

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.ports)

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        return range(self.nodes - self.ports, self.nodes)

    def links(self) -> Iterator[Link]:
        """Port 0 leads straight on, port 1 up, and port 2 down; where N = 2^(i+1) these two lead to
        the same switch."""
        for stage, weight in enumerate(self._weights):
            first = stage * self.ports
            for line in range(self.ports):
                for port, step in enumerate((0, weight, -weight)):
                    peer = first + self.ports + (line + step) % self.ports
                    yield Link(first + line, port, peer, port)

    def name(self, node: int) -> str:
        stage, line = divmod(node, self.ports)
        column = "out" if stage == len(self._weights) else self._weights[stage].bit_length() - 1
        return f"{column}.{line}"

    def position(self, node: int) -> tuple[float, float]:
        stage, line = divmod(node, self.ports)
        return max(2.5, self.ports / 2.5) * stage, -float(line)

    def direction(self, link: Link) -> str:
        weight = self._weights[link.node // self.ports]
        return ("straight", f"+{weight}", f"-{weight}")[link.port]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        stage, line = divmod(node, self.ports)
        if stage == len(self._weights):
            return
        weight = self._weights[stage]
        for port, step in enumerate((0, weight, -weight)):
            if self._reaches(stage + 1, destination - line - step):
                yield Channel(node, port)

    def _reaches(self, stage: int, distance: int) -> bool:
        """Whether the stages from one on can add a distance."""
        left = sum(self._weights[stage:])
        if self.order == "rising":
            # All that is left are multiples of the next weight, which can add up to any of them.
            return distance % (self._weights[stage] if left else self.ports) == 0
        return (distance + left) % self.ports <= 2 * left


FAMILIES = (
    GraphFamily(
        "data-manipulator",
        "stages of links straight on, 2^i up and 2^i down; any free path",
        AugmentedDataManipulator,
        Group.STATIC,
        example={"ports": 4},
        aliases=("adm", "augmented-data-manipulator"),
        papers=("feng-manipulator", "mcmillen-siegel", "siegel"),
    ),
)
