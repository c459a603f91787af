"""Dynamic Redundancy networks: multistage cubes in a network that has more rows than they need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.checks import check_integer, check_power_of_two
from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "DynamicRedundancy"]


@dataclass(frozen=True)
class DynamicRedundancy(RoutedGraph):
    """n stages of N + S switches before a column of outputs, for N = 2^n terminals (Jeng and
    Siegel, 1988, whom Siegel et al. name in I-B).

    A switch of stage i has links to the switches j, j + 2^i and j - 2^i, modulo N + S, of the next
    column; stages come in the order n - 1 down to 0. Any N rows that follow each other contain a
    Generalized Cube: a packet whose bit i is to become 1 goes up in stage i, and down if it is to
    become 0. Here the terminals are in rows `first`, `first` + 1, ... After a fault of a switch, a
    link or a terminal, others are chosen that leave its row out. Tags stay what they are. Rows that
    are left out have no terminals, and so no switches in the first and last column.

    Attributes
    ----------
    ports : int
        N.
    spares : int
        S.
    first : int
        The row of terminal 0, less than N + S.

    Examples
    --------
    >>> network = DynamicRedundancy(4, first=3)
    >>> [network.name(node) for node in network.homes]
    ['1.3', '1.4', '1.0', '1.1']
    """

    ports: int = integer(8, "terminals, a power of two", least=2, most=2**12)
    spares: int = integer(1, "spare rows", least=1, most=2)
    first: int = integer(0, "row of terminal 0; the others follow it", least=0)

    deadlock_free = True
    looks_back = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power_of_two("Ports", self.ports)
        check_integer("First", self.first, 0, self._rows - 1)

    @property
    def _rows(self) -> int:
        return self.ports + self.spares

    @property
    def _last(self) -> int:
        """The column of outputs, n."""
        return self.ports.bit_length() - 1

    @property
    def nodes(self) -> int:
        return 2 * self.ports + self._rows * (self._last - 1)

    def _place(self, node: int) -> tuple[int, int]:
        """The column of a node, and its line: its row, counted from `first`."""
        if node < self.ports:
            return 0, node
        column, line = divmod(node - self.ports, self._rows)
        return column + 1, line

    def _node(self, column: int, line: int) -> int | None:
        """The node of a line, if it exists: spare ones do only within."""
        line %= self._rows
        if column == 0:
            return line if line < self.ports else None
        found = self.ports + (column - 1) * self._rows + line
        return found if found < self.nodes else None

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.ports)

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        return range(self.nodes - self.ports, self.nodes)

    def links(self) -> Iterator[Link]:
        """Port 0 leads straight on, port 1 up, and port 2 down."""
        for node in range(self.nodes - self.ports):
            column, line = self._place(node)
            weight = self.ports >> column + 1
            for port, step in enumerate((0, weight, -weight)):
                peer = self._node(column + 1, line + step)
                if peer is not None:
                    yield Link(node, port, peer, port)

    def name(self, node: int) -> str:
        column, line = self._place(node)
        stage = "out" if column == self._last else self._last - 1 - column
        return f"{stage}.{(line + self.first) % self._rows}"

    def position(self, node: int) -> tuple[float, float]:
        column, line = self._place(node)
        gap = max(2.5, self._rows / 2.5)
        return gap * column, -float((line + self.first) % self._rows)

    def direction(self, link: Link) -> str:
        weight = self.ports >> self._place(link.node)[0] + 1
        return ("straight", f"+{weight}", f"-{weight}")[link.port]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        column, line = self._place(node)
        bit = self.ports >> column + 1
        if bit:
            moves = (line ^ destination) & bit
            yield Channel(node, 0 if not moves else 1 if destination & bit else 2)


FAMILIES = (
    GraphFamily(
        "dynamic-redundancy",
        "a multistage cube in a network with spare rows, any of which may be left out",
        DynamicRedundancy,
        Group.STATIC,
        example={"ports": 4},
        papers=("jeng-siegel", "siegel"),
    ),
)
