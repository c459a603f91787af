# amaranth: UnusedElaboratable=no
"""Memory modules at the terminals of a network of packets, and a second one for the replies."""

from amaranth.lib import data
from amaranth.lib.wiring import In

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer, shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..fabric.wires import Lane
from ..links.memory_link import MemoryLink
from ..operations.memory import OPERATIONS, Operation, words_per_row
from ..terminals.memory_module import MemoryModule
from ..terminals.remote_memory import (
    RemoteMemoryEnd,
    RemoteProcessorEnd,
    copied_link,
    reply_payload,
    request_payload,
)
from .network import Network
from .network_records import Terminals
from .packet_network import PacketNetwork

__all__ = ["RemoteMemory", "check_packets"]

_COPIES, _BOTH = ("there", "back"), "network"
"""The names of the copies of the network: for requests, and for replies."""


def check_packets(network: object, ports: str) -> None:
    """Check that a network carries packets, and loses none.

    Raises
    ------
    TypeError
        If it is not a network.
    ValueError
        If it does not carry packets, or may lose some.
    """
    if not isinstance(network, Network):
        raise InvalidType(f"Network must be a packet-switching network, not {shown(network)}")
    if not isinstance(network, PacketNetwork):
        raise InvalidValue(f"{ports} need a network that carries packets, not {network.family}")
    if network.drops and not network.resubmits:
        raise InvalidValue(
            f"{ports} need a network that loses no packet, but this {network.family} "
            "drops blocked or damaged packets"
        )


def _widened(payload: data.StructLayout, width: int) -> data.StructLayout:
    """A payload with as many spare bits as make it so wide."""
    spare = width - payload.size
    fields = {name: field.shape for name, field in payload}
    return data.StructLayout(fields | ({"spare": spare} if spare else {}))


class RemoteMemory(FabricComponent):
    """A processor and a memory module at each terminal of a network, between two copies of it.

    Requests cross one copy, the cells `there_...`, and replies the other, `back_...`; so neither
    waits for the other, and every request is answered. A network of two classes of messages is
    there only once, with the cells `network_...`: requests are of class 0, and replies of class 1.
    Each is a packet of one word. Terminal t has
    the cells `processor_end_{t}`, `memory_end_{t}` and `memory_{t}`. Requests of one processor for
    one memory module are performed in the order in which they were sent.

    An unblocked request is answered after the latency of the network, twice, plus one cycle for the
    memory, and plus one for each copy if the network is `transparent`.

    Parameters
    ----------
    network : PacketNetwork
        It must keep the order of packets from one terminal to another, unless a processor waits for
        the reply to each request before the next.
    width : int
        Bits of a word of memory.
    rows : int
        Words in each memory module.
    outstanding : int
        Requests that a processor may wait for.
    operations : tuple[Operation, ...]
        Operations of the memory modules, all of them on words.
    copies : bool
        Whether requests have the broadcast masks of the network's packets, or are for its groups.
        The network copies such a request, and the processor gets the last reply.

    Attributes
    ----------
    network : PacketNetwork
        The argument, but with `reduction=none` if it has groups: requests and replies are never
        merged.
    width, operations
        The arguments.
    ports, memory_rows : int
        Memory modules, and rows in each.
    link : MemoryLink
        The link of a processor: tags are addresses of memory modules, with `copies` also of others
        (`terminals.remote_memory.copied_link`).

    Members
    -------
    i : In(link).array(ports)
        The links of the processors.

    Raises
    ------
    ValueError
        If the network loses packets, or does not keep their order and several are outstanding.
    """

    side_by_side = (1, 1)

    def __init__(
        self,
        network: PacketNetwork,
        *,
        width: int = 32,
        rows: int = 16,
        outstanding: int = 16,
        operations: tuple[Operation, ...] = OPERATIONS,
        copies: bool = False,
    ) -> None:
        check_packets(network, "Memory ports")
        outstanding = check_integer("Outstanding", outstanding, 1)
        if outstanding > 1 and not network.ordered:
            raise InvalidValue(
                f"Memory ports need a network that keeps packets in order, but in this "
                f"{network.family} they can overtake each other"
            )
        if words_per_row(operations) > 1:
            raise InvalidValue("Operations must not be on double words")
        self.network = network.altered(reduction="none") if network.groups else network
        self.width = check_integer("Width", width, 1)
        self.operations = operations
        if network.classes > 2:
            raise InvalidValue(
                f"Classes must be 1 or 2 with memory ports, for requests and replies, "
                f"not {network.classes}"
            )
        self.ports = network.ports // network.classes
        self.memory_rows = check_integer("Rows", rows, 1)
        self._modules = MemoryLink(
            tag=network.tags.code.width,
            identity=max(1, (outstanding - 1).bit_length()),
            address=max(1, (rows - 1).bit_length()),
            width=width,
            operations=operations,
        )
        self.copies = copies
        self.link = copied_link(self._modules, network.packet) if copies else self._modules
        super().__init__(self._joined)

    @property
    def family(self) -> str:
        return self.network.family

    def tag(self, module: int) -> int:
        """The tag that leads to a memory module."""
        return self.network.tags.code.encode(module * self.network.classes)

    def stored(self, word: int) -> tuple[int, int]:
        """The memory module that holds a word, and its row there."""
        row, module = divmod(word, self.ports)
        return module, row

    def lane(self, output: Pin) -> Lane:
        """As in `Network`, for an output of either copy."""
        for scope in (*_COPIES, _BOTH):
            if (name := str(output.cell)).startswith(f"{scope}_"):
                return self.network.lane(Pin(name.removeprefix(f"{scope}_"), output.path))
        return Lane()

    def _joined(self) -> Fabric:
        fabric = Fabric({"i": In(self.link).array(self.ports)})
        for index, pin in enumerate(self.place(fabric)):
            fabric.link(Pin(None, ("i", index)), pin)
        return fabric

    def place(self, fabric: Fabric) -> list[Pin]:
        """Add all cells to a fabric; return the pins for the processors."""
        network, link = self.network, self._modules
        payloads = [request_payload(link), reply_payload(link)]
        if (classes := network.classes) == 2:
            widest = max(each.size for each in payloads)
            payloads = [_widened(each, widest) for each in payloads]
        request, reply = map(network.packet_of, payloads)
        common = {"link": link, "tags": network.tags, "queued": network.transparent}
        copies = {"copies": True} if self.copies else {}
        processor = CellType(RemoteProcessorEnd, **common, sent=request, received=reply, **copies)
        memory_end = CellType(RemoteMemoryEnd, **common, sent=reply, received=request)
        memory = CellType(MemoryModule, link=link, rows=self.memory_rows)
        if classes == 2:
            there = back = Scope(fabric, _BOTH)
            ends = network.place(there, request)
            to_memory, to_processors = (
                Terminals(ends.inputs[own::2], ends.outputs[own::2]) for own in range(2)
            )
        else:
            there, back = (Scope(fabric, name) for name in _COPIES)
            to_memory, to_processors = network.place(there, request), network.place(back, reply)
        code, source_code = network.tags.code, network.tags.source_code
        pins = []
        for t in range(self.ports):
            asks, answers = (
                t * classes,
                (t + 1) * classes - 1,
            )  # endpoints, if there are two classes
            straps = {"address": code.encode(answers), "source": source_code.encode(asks)}
            first = fabric.place(Cell(f"processor_end_{t}", processor, straps)).name
            straps = {"address": code.encode(asks), "source": source_code.encode(answers)}
            last = fabric.place(Cell(f"memory_end_{t}", memory_end, straps)).name
            module = fabric.place(Cell(f"memory_{t}", memory)).name
            fabric.link(Pin(first, ("o",)), there.pin(to_memory.inputs[t]))
            fabric.link(there.pin(to_memory.outputs[t]), Pin(last, ("back",)))
            fabric.link(Pin(last, ("memory",)), Pin(module, ("i",)))
            fabric.link(Pin(last, ("o",)), back.pin(to_processors.inputs[t]))
            fabric.link(back.pin(to_processors.outputs[t]), Pin(first, ("back",)))
            pins.append(Pin(first, ("i",)))
        return pins
