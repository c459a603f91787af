# amaranth: UnusedElaboratable=no
"""A parallel computer as one fabric: nodes at the terminals of a network, and shared memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from amaranth.lib.wiring import In

from ..bench.instruments import Timer
from ..bench.meters import meter_links, place_meters
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Cell, CellType, Fabric, Pin
from ..fabric.wires import Wire, named_wires, streams
from ..networks.buses import bus_memory, word_map
from ..networks.network import Network
from ..operations.bus_operations import ALL_WINDOWS
from ..terminals.wishbone import WishboneTarget
from .address_map import SHARED_BITS
from .computer_node import ComputerNode
from .shared_window import SharedWindow

__all__ = ["WORD_BITS", "Computer"]

WORD_BITS = 32

_LEAST_ROWS = 16

_LEAST_PROGRAM, _LEAST_LOCAL = 1024, 2048
"""Words of a node's memories: those of most programs, so that their nodes are compiled once."""


class Computer(Fabric):
    """A core at each terminal of a network, with memory of its own, and memory that all share.

    Node n is the cell `core_{n}` (`ComputerNode`). Behind it are `window_{n}` and `target_{n}`,
    which makes requests of its accesses to shared memory. Word a of this is in memory module
    a mod N. The module `memory_{n}` is that of the network or, if this carries packets, is at
    terminal n, between two copies of the network (`RemoteMemory`).

    Parameters
    ----------
    network : Network
        It has memory, or carries packets; terminals are a power of two.
    program, local : Sequence[int]
        The program, and the contents of each node's own memory.
    local_rows : int
        Words of this memory that are needed.
    shared : Mapping[int, int]
        Shared words that are not 0 at the beginning.
    shared_words : int
        Shared words that are needed.

    Members
    -------
    on : In(1)
        Meters count.

    Attributes
    ----------
    network : Network
    nodes : list[str]
        Names of the cells of the nodes.
    rows : int
        Words in each memory module.
    meters : dict[str, dict[str, str]]
        As in `Bench`.
    streams : list[tuple[Pin, Pin]]
        The streams between cells, each as its driver and its receiver.
    link_meters : list[tuple[str, list[Pin]]]
        Each a meter of links between cells, and the outputs that drive these.

    Raises
    ------
    TypeError, ValueError
        As `bus_memory`; or if there are too many shared words.
    """

    def __init__(
        self,
        network: Network,
        *,
        program: Sequence[int],
        local: Sequence[int] = (),
        local_rows: int,
        shared: Mapping[int, int] | None = None,
        shared_words: int = 0,
    ) -> None:
        super().__init__({"on": In(1)})
        self.network = network
        self.rows = max(_LEAST_ROWS, _power(-(-shared_words // network.ports)))
        self.memory = bus_memory(network, WORD_BITS, self.rows, ALL_WINDOWS, outstanding=1)
        self.words = word_map(self.memory)
        if self.words.bits > SHARED_BITS:
            raise InvalidValue(f"Shared words must be at most {1 << SHARED_BITS}")
        self.nodes = [f"core_{number}" for number in range(self.memory.ports)]
        self._place_nodes(tuple(program), tuple(local), local_rows)
        self._fill(shared or {})
        on = Pin(None, ("on",))
        self.streams = list(streams(self, list(self.links)))
        self.meters = place_meters(self, on)
        self.link_meters = meter_links(self, self.streams, on)

    def __repr__(self) -> str:
        return f"<Computer of {len(self.nodes)} cores, {self.network}: {len(self.cells)} cells>"

    @cached_property
    def wires(self) -> dict[Pin, Wire]:
        """The wires of each metered stream, by the output that drives it."""
        return named_wires(self, self.streams, self.memory.lane)

    @property
    def requests(self) -> list[Pin]:
        """The outputs of the nodes' requests."""
        return [Pin(f"target_{number}", ("o", "request")) for number in range(len(self.nodes))]

    @cached_property
    def memory_inputs(self) -> list[Pin]:
        """For each memory module: the output that drives its requests."""
        modules = {memory_cell(number): number for number in range(len(self.nodes))}
        found = {
            modules[str(receiver.cell)]: driver
            for driver, receiver in self.streams
            if receiver.cell in modules
        }
        return [found[number] for number in sorted(found)]

    def _place_nodes(
        self, program: tuple[int, ...], local: tuple[int, ...], local_rows: int
    ) -> None:
        node = CellType(
            ComputerNode,
            program_rows=max(_LEAST_PROGRAM, _power(len(program))),
            local_rows=max(_LEAST_LOCAL, _power(local_rows)),
        )
        target = CellType(
            WishboneTarget,
            link=self.memory.link,
            words=self.words,
            data=WORD_BITS,
            lengths=self.memory.side_by_side,
            windows=ALL_WINDOWS,
        )
        window = CellType(SharedWindow, words=self.words.bits)
        contents = {"program": program, "local": local}
        timer = self.place(Cell("timer", CellType(Timer))).name
        for number, pin in enumerate(self.memory.place(self)):
            straps = {"number": number, "count": self.memory.ports}
            name = self.place(Cell(self.nodes[number], node, straps, contents)).name
            end = self.place(Cell(f"target_{number}", target)).name
            self.link(Pin(timer, ("now",)), Pin(name, ("now",)))
            part = self.place(Cell(f"window_{number}", window)).name
            self.link(Pin(name, ("bus",)), Pin(part, ("i",)))
            self.link(Pin(part, ("o",)), Pin(end, ("bus",)))
            self.link(Pin(end, ("o",)), pin)

    def _fill(self, shared: Mapping[int, int]) -> None:
        """Put the initial words into the memory modules."""
        rows: dict[int, list[int]] = {}
        for word, value in shared.items():
            module, row = self.memory.stored(word)
            rows.setdefault(module, [0] * self.rows)[row] = value
        for module, values in rows.items():
            name = memory_cell(module)
            self.cells[name] = replace(self.cells[name], contents={"words": tuple(values)})


def memory_cell(module: int) -> str:
    """The name of the cell of a memory module."""
    return f"memory_{module}"


def _power(number: int) -> int:
    """The least power of two that is at least this number."""
    return 1 << max(number - 1, 0).bit_length()
