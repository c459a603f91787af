"""A parallel computer with a serial line: the whole contents of an FPGA, as one fabric."""

from typing import Any

from amaranth.lib.wiring import In, Out

from ..hdl.computer.address_map import CONSOLE_ROWS
from ..hdl.computer.computer import Computer
from ..hdl.computer.computer_node import COUNTERS, console_layout
from ..hdl.fabric.cell import Cell, CellType
from ..hdl.fabric.errors import InvalidValue
from ..hdl.fabric.fabric import Fabric
from ..hdl.fabric.pins import Pin
from .bench_top import BoardBench, Place
from .command_port import ADDRESS_BITS, CommandPort
from .protocol import IDENTITY_BYTES
from .station import Station

__all__ = ["CONSOLE", "BoardDesign", "ComputerBoard"]

_WORDS = ("done", "trapped", "ended", "result", "fault", "pc", "last_pc", "printed", *COUNTERS)
"""What is read of a node, besides its console."""

CONSOLE = "row"
"""The output of a node that shows a row of its console."""

_ROW_BITS = console_layout().size

_OFFSET_BITS = (CONSOLE_ROWS * _ROW_BITS // 8 - 1).bit_length()


class ComputerBoard(Fabric):
    """A parallel computer, and a command port that reads what its nodes say.

    The program begins when the board is configured, and goes on whatever the host does; when all
    nodes have ended nothing changes any more. To run it again, configure the board again.

    Parameters
    ----------
    computer : Computer
        Its nodes are `readable`.
    divisor : int
        Clock cycles per bit of the serial line.

    Members
    -------
    rx : In(1)
    tx : Out(1)
    idle : Out(1)
        The board waits for a byte.

    Attributes
    ----------
    network : Network
    identity : bytes
        Hash of the computer, its program included.
    places : dict[tuple[str, str], Place]
        The place of each output of a node that can be read, and of the first row of its console.
    blocks : list[range]
        Addresses that are read together: those of each node's outputs, but the console.
    settings : dict[str, Any]
        What a report says of the computer.

    Raises
    ------
    ValueError
        If there are more nodes than the board can read.
    """

    # Yosys' opt_hier removes ports of these cells that nobody reads, and then fails.
    prunes: tuple[str, ...] = ()

    def __init__(self, computer: Computer, *, divisor: int) -> None:
        super().__init__({"rx": In(1), "tx": Out(1), "idle": Out(1)})
        self.computer, self.network, self.divisor = computer, computer.network, divisor
        self.identity = bytes.fromhex(computer.digest)[:IDENTITY_BYTES]
        self.settings: dict[str, Any] = {"cores": len(computer.nodes)}
        most = (1 << ADDRESS_BITS - _OFFSET_BITS) // 2
        if len(computer.nodes) > most:
            raise InvalidValue(f"A board can read {most} cores, not {len(computer.nodes)}")
        type_ = CellType(
            CommandPort,
            divisor=divisor,
            straps=(),
            identity=int.from_bytes(self.identity, "little"),
            latency=2 * len(computer.nodes) + 2,
        )
        port = self.place(Cell("command_port", type_)).name
        for name in ("rx", "tx", "idle"):
            self.link(Pin(None, (name,)), Pin(port, (name,)))
        # Nobody reads the meters here.
        left_out = {name for name, _ in computer.link_meters}
        left_out.update(*(named.values() for named in computer.meters.values()))
        for cell in computer.cells.values():
            if cell.name not in left_out:
                self.place(cell)
        for receiver, driver in computer.drivers.items():
            if receiver.cell not in left_out:
                self.link(driver, receiver)
        self.link(Pin("timer", ("now",)), Pin(port, ("now",)))
        self.places: dict[tuple[str, str], Place] = {}
        self.blocks: list[range] = []
        self._place_stations(port)

    def _place_stations(self, port: str) -> None:
        """Two at each node: for its words, and for its console."""
        end = Pin(port, ("chain",))
        for node in self.computer.nodes:
            for names in (_WORDS, (CONSOLE,)):
                leaves = self.cells[node].type.leaves
                words = tuple((leaves[name,].shape, leaves[name,].width) for name in names)
                type_ = CellType(Station, words=words, offset_bits=_OFFSET_BITS)
                number = len(self.blocks)
                station = self.place(Cell(f"station_{number}", type_, {"number": number})).name
                self.link(Pin(port, ("address",)), Pin(station, ("address",)))
                begin = address = number << _OFFSET_BITS
                for index, name in enumerate(names):
                    self.link(Pin(node, (name,)), Pin(station, (f"word_{index}",)))
                    size = -(-leaves[name,].width // 8)
                    self.places[node, name] = Place(address, size)
                    address += size
                self.blocks.append(range(begin, address))
                self.link(end, Pin(station, ("i",)))
                end = Pin(station, ("o",))
            self.link(Pin(port, ("address",)), Pin(node, ("address",)))
        self.link(end, Pin(port, ("value",)))


BoardDesign = BoardBench | ComputerBoard
"""What can be on a board."""
