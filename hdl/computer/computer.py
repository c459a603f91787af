# amaranth: UnusedElaboratable=no
"""A parallel computer as one fabric: nodes at the terminals of a network, and shared memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from amaranth.lib.wiring import In

from ..bench.instruments import Timer
from ..bench.meters import meter_links, place_meters
from ..catalogue.catalogue import FAMILIES, summary
from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..fabric.wires import Lane, Wire, named_wires, streams
from ..networks.buses import bus_memory, word_map
from ..networks.memory_network import MemoryNetwork
from ..networks.network import Network
from ..networks.packet_network import PacketNetwork
from ..networks.remote_memory_network import RemoteMemory, check_packets
from ..operations.bus_operations import ALL_WINDOWS
from ..terminals.wishbone import WishboneTarget
from .address_map import SHARED_BITS
from .computer_node import ComputerNode
from .message_end import MessageEnd, NoMessages, message_payload
from .shared_window import NoSharedMemory, SharedWindow

__all__ = ["WORD_BITS", "Computer", "memory_cell"]

WORD_BITS = 32

_LEAST_ROWS = 16

_MOST_ROWS = 1 << 16

_MESSAGES = "messages"
"""The name of the copy of the network that carries messages."""

_LEAST_PROGRAM, _LEAST_LOCAL = 1024, 2048
"""Words of a node's memories: those of most programs, so that their nodes are compiled once."""


class Computer(Fabric):
    """A core at each terminal of a network, with memory of its own, and memory that all share.

    Node n is the cell `core_{n}` (`ComputerNode`). Behind it are `window_end_{n}` and `target_{n}`,
    which makes requests of its accesses to shared memory. Word a of this is in memory module
    a mod N. The module `memory_{n}` is that of the network or, if this carries packets, is at
    terminal n, between two copies of the network (`RemoteMemory`). Messages cross a copy of their
    own, from `message_end_{n}`.

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
    messages : bool
        Whether cores send words to each other. The network must then carry packets; if no shared
        words are needed, there is no shared memory.
    readable : bool
        Whether the nodes' consoles can be read from outside (`ComputerNode`).

    Members
    -------
    on : In(1)
        Meters count.

    Attributes
    ----------
    network : Network
    words : str
        The network in words, without the parameters that the computer sets itself.
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
        As `bus_memory`; if there are too many shared words; or a parameter of the network that the
        computer sets itself has another value than its default.
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
        messages: bool = False,
        readable: bool = False,
    ) -> None:
        super().__init__({"on": In(1)})
        _check_defaults(network)
        self.network = network
        own = _own_parameters(network)
        chosen = {name: value for name, value in network.chosen.items() if name not in own}
        self.words = summary(network.family, chosen)
        count = network.ports // network.classes  # each has an endpoint for each class
        if shared_words > (most := count * _MOST_ROWS):
            raise InvalidValue(
                f"Shared words must be at most {most} on {count} terminals, not {shared_words}"
            )
        self.rows = max(_LEAST_ROWS, _power(-(-shared_words // count)))
        self.memory: MemoryNetwork | RemoteMemory | None = None
        if shared_words or not messages:
            self.memory = bus_memory(network, WORD_BITS, self.rows, ALL_WINDOWS, outstanding=1)
        self.nodes = [f"core_{number}" for number in range(count)]
        self._place_nodes(tuple(program), tuple(local), local_rows, readable)
        self._place_memory(shared or {})
        self._place_messages(messages)
        on = Pin(None, ("on",))
        between = streams(self)
        self.streams = list(between.each())
        self.meters = place_meters(self, on)
        self.link_meters = meter_links(self, between, on)

    def __repr__(self) -> str:
        return f"<Computer of {len(self.nodes)} cores, {self.words}: {len(self.cells)} cells>"

    @cached_property
    def wires(self) -> dict[Pin, Wire]:
        """The wires of each metered stream, by the output that drives it."""
        return named_wires(self, self.streams, self._lane)

    def _lane(self, output: Pin) -> Lane:
        name = str(output.cell)
        if name.startswith(f"{_MESSAGES}_"):
            return self.network.lane(Pin(name.removeprefix(f"{_MESSAGES}_"), output.path))
        return Lane() if self.memory is None else self.memory.lane(output)

    @property
    def requests(self) -> list[Pin]:
        """The outputs of the nodes' requests."""
        if self.memory is None:
            return []
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
        self, program: tuple[int, ...], local: tuple[int, ...], local_rows: int, readable: bool
    ) -> None:
        node = CellType(
            ComputerNode,
            program_rows=max(_LEAST_PROGRAM, _power(len(program))),
            local_rows=max(_LEAST_LOCAL, _power(local_rows)),
            readable=readable,
        )
        contents = {"program": program, "local": local}
        timer = self.place(Cell("timer", CellType(Timer))).name
        for number, name in enumerate(self.nodes):
            straps = {"number": number, "count": len(self.nodes)}
            self.place(Cell(name, node, straps, contents))
            self.link(Pin(timer, ("now",)), Pin(name, ("now",)))

    def _place_memory(self, shared: Mapping[int, int]) -> None:
        """The shared memory with these words, behind the nodes' buses."""
        if self.memory is None:
            self._end_all("window", CellType(NoSharedMemory), "bus")
            return
        words = word_map(self.memory)
        if words.bits > SHARED_BITS:
            raise InvalidValue(f"Shared words must be at most {1 << SHARED_BITS}")
        target = CellType(
            WishboneTarget,
            link=self.memory.link,
            words=words,
            data=WORD_BITS,
            lengths=self.memory.side_by_side,
            windows=ALL_WINDOWS,
        )
        windows = self._end_all("window", CellType(SharedWindow, words=words.bits), "bus")
        for number, (window, pin) in enumerate(zip(windows, self.memory.place(self))):
            end = self.place(Cell(f"target_{number}", target)).name
            self.link(Pin(window, ("o",)), Pin(end, ("bus",)))
            self.link(Pin(end, ("o",)), pin)
        rows: dict[int, list[int]] = {}
        for word, value in shared.items():
            module, row = self.memory.stored(word)
            rows.setdefault(module, [0] * self.rows)[row] = value
        for module, values in rows.items():
            name = memory_cell(module)
            self.cells[name] = replace(self.cells[name], contents={"words": tuple(values)})

    def _place_messages(self, messages: bool) -> None:
        """A copy of the network for messages, if there are any."""
        if not messages:
            self._end_all("message", CellType(NoMessages), "messages")
            return
        network = self.network
        check_packets(network, "Messages")
        assert isinstance(network, PacketNetwork)
        if network.classes > 1:  # what one class sends does not reach the endpoints of another
            raise InvalidValue(f"Messages need a network of one class, not {network.classes}")
        code = network.tags.code
        if any(code.encode(number) != number for number in range(len(self.nodes))):
            raise InvalidValue(f"Messages need terminals whose tags are numbers: {network.family}")
        copy = Scope(self, _MESSAGES)
        packet = network.packet_of(message_payload())
        inputs, outputs = network.place(copy, packet)
        end = CellType(MessageEnd, packet=packet, tags=network.tags)
        sources = [network.tags.source_code.encode(number) for number in range(len(self.nodes))]
        straps = [{"number": number, "source": source} for number, source in enumerate(sources)]
        for number, name in enumerate(self._end_all("message", end, "messages", straps)):
            self.link(Pin(name, ("o",)), copy.pin(inputs[number]))
            self.link(copy.pin(outputs[number]), Pin(name, ("back",)))

    def _end_all(
        self, name: str, type_: CellType, port: str, straps: Sequence[Mapping[str, int]] = ()
    ) -> list[str]:
        """A cell of this type at a port of each node."""
        names = [f"{name}_end_{number}" for number in range(len(self.nodes))]
        for number, each in enumerate(names):
            self.place(Cell(each, type_, straps[number] if straps else {}))
            self.link(Pin(self.nodes[number], (port,)), Pin(each, ("i",)))
        return names


def _own_parameters(network: Network) -> tuple[str, ...]:
    """The network's parameters that a computer sets itself, since its words have 32 bits."""
    return ("width", "rows", "operations") if network.has_memory else ("payload",)


def _check_defaults(network: Network) -> None:
    """Refuse values of parameters that the computer sets itself."""
    if network.family not in FAMILIES:
        return
    own = _own_parameters(network)
    for about in FAMILIES[network.family].parameters:
        value = network.parameters[about.name]
        if about.name in own and value != about.default:
            raise InvalidValue(f"A computer sets {about.name} itself: it can't be {value}")


def memory_cell(module: int) -> str:
    """The name of the cell of a memory module."""
    return f"memory_{module}"


def _power(number: int) -> int:
    """The least power of two that is at least this number."""
    return 1 << max(number - 1, 0).bit_length()
