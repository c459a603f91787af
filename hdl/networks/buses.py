# amaranth: UnusedElaboratable=no
"""Networks between processors and memory whose ports are those of buses."""

from typing import Any

from amaranth.lib import wiring

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_flag
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..links.axi4 import Axi
from ..links.wishbone_bus import Wishbone
from ..operations.bus_operations import WINDOWS, bus_operations, check_data_bits, row_bits
from ..terminals.axi import AxiTarget
from ..terminals.bus_words import WordMap
from ..terminals.wishbone import WishboneTarget
from ..terminals.wishbone_bursts import WishboneBurstTarget
from .memory_network import MemoryNetwork
from .network import Network
from .packet_network import PacketNetwork
from .remote_memory_network import RemoteMemory

__all__ = ["AxiNetwork", "BusPorts", "WishboneNetwork", "bus_memory", "word_map"]


def bus_memory(
    network: Network,
    data: int | None = None,
    rows: int | None = None,
    windows: tuple[str, ...] = WINDOWS,
    outstanding: int = 16,
    copies: bool = False,
) -> MemoryNetwork | RemoteMemory:
    """Memory with the operations of a bus, behind a network.

    Parameters
    ----------
    network : Network
        A network with memory, whose operations and width are replaced; or one that carries packets,
        of which two copies, or two classes of messages, carry requests and replies
        (`RemoteMemory`).
    data : int
        Width of the bus's data: 8, 16, 32 or 64 bits, but at most 32 for networks with memory,
        whose words have at most 64 bits. By default the network's `width` or `payload`.
    rows : int
        Words in each memory module. By default the network's `rows`, or 16.
    windows : tuple[str, ...]
        What a write can do: `WINDOWS`, or `ALL_WINDOWS`.
    outstanding : int
        Requests that a processor may wait for, if the network carries packets. If it is 1, they may
        overtake each other.
    copies : bool
        Whether the network copies requests to several modules, if it carries packets.

    Raises
    ------
    ValueError
        If the network's terminals are not a power of two.
    """
    if not isinstance(network, Network):
        raise InvalidType(f"Network must be a network, not {network!r}")
    count = network.ports // network.classes
    if count < 2 or count & (count - 1):
        raise InvalidValue(
            f"Buses and computers need a power of two of terminals, at least 2, not {count}"
        )
    name = "width" if isinstance(network, MemoryNetwork) else "payload"
    data = check_data_bits(network.parameters[name] if data is None else data)
    operations = bus_operations(data, windows)
    if isinstance(network, PacketNetwork):
        return RemoteMemory(
            network,
            width=row_bits(data),
            rows=16 if rows is None else rows,
            operations=operations,
            outstanding=outstanding,
            copies=copies,
        )
    if data > 32:
        raise InvalidValue(f"Data width must be 8, 16 or 32 bits with {network.family}, not {data}")
    changed: dict[str, Any] = {"width": row_bits(data), "operations": operations}
    if rows is not None:
        changed["rows"] = rows
    return network.altered(**changed)


def word_map(memory: MemoryNetwork | RemoteMemory) -> WordMap:
    """Where the words of a memory are, for the targets of a bus; with copies, a word's number says
    which after its module's."""
    columns = tuple(memory.tag(1 << bit) for bit in range((memory.ports - 1).bit_length()))
    if isinstance(memory, RemoteMemory) and memory.copies:
        one = memory.network.tags.code.width
        if memory.network.broadcasts:
            columns += tuple(column << one for column in columns)
        else:
            columns += tuple(1 << at for at in range(one, memory.link.tag))
    return WordMap(columns, memory.memory_rows, memory.link.tag)


class BusPorts(FabricComponent):
    """A network between processors and memory, with a target of a bus at each processor.

    Parameters
    ----------
    network, data, rows, copies
        As in `bus_memory`.

    Attributes
    ----------
    network : Network
        The argument; if it carries packets, as in `RemoteMemory`.
    memory : MemoryNetwork or RemoteMemory
        The network with the memory's own links.
    data : int
        Width of the bus's data.
    ports : int
    words : WordMap
        Where a word is.
    """

    prefix: str
    """The name of the bus in the names of ports."""

    def __init__(
        self, network: Network, *, data: int | None, rows: int | None, copies: bool = False
    ) -> None:
        self.memory = memory = bus_memory(network, data, rows, copies=copies)
        self.network = memory.network if isinstance(memory, RemoteMemory) else network
        link = self.memory.link
        self.data = link.width * 8 // 9
        self.ports = self.memory.ports
        self.words = word_map(self.memory)
        super().__init__(self._with_targets)

    @property
    def bus(self) -> wiring.Signature:
        """A port's signature, as an initiator sees it."""
        raise NotImplementedError

    @property
    def target(self) -> CellType:
        """The cell at each port."""
        raise NotImplementedError

    def port(self, number: int) -> wiring.PureInterface:
        """A port as an interface, for `wiring.connect`."""
        interface = self.bus.flip().create()
        for name in self.bus.members:
            setattr(interface, name, getattr(self, f"{self.prefix}_{number}_{name}"))
        return interface

    def _with_targets(self) -> Fabric:
        members = self.bus.flip().members
        fabric = Fabric(
            {
                f"{self.prefix}_{number}_{name}": member
                for number in range(self.ports)
                for name, member in members.items()
            }
        )
        for number, pin in enumerate(self.memory.place(fabric)):
            target = fabric.place(Cell(f"target_{number}", self.target)).name
            fabric.link(Pin(target, ("o",)), pin)
            for name in members:
                outer = Pin(None, (f"{self.prefix}_{number}_{name}",))
                fabric.link(outer, Pin(target, ("bus", name)))
        return fabric


class WishboneNetwork(BusPorts):
    """A network between processors and memory, with a Wishbone port for each processor.

    Word a, in module a mod N, has the address a at each port; the two address bits above choose
    what a write does. `terminals.wishbone.WishboneTarget` says how.

    Parameters
    ----------
    network, data, rows
        As in `bus_memory`.
    bursts : bool
        Whether the ports have registered feedback (`terminals.wishbone_bursts`).

    Attributes
    ----------
    network, memory, data, ports, words
        As in `BusPorts`.

    Members
    -------
    wb_{p}_adr, _dat_w, _dat_r, _sel, _cyc, _stb, _we, _ack, _err
        For each processor p; with bursts `_cti` and `_bte`, too.

    Raises
    ------
    TypeError, ValueError
        As `bus_memory`.
    """

    prefix = "wb"

    def __init__(
        self,
        network: Network,
        *,
        data: int | None = None,
        rows: int | None = None,
        bursts: bool = False,
    ) -> None:
        check_flag("Bursts", bursts)
        self.bursts = bursts
        super().__init__(network, data=data, rows=rows)
        self.target.build()  # Invalid options must be rejected now, not during elaboration.

    @property
    def bus(self) -> Wishbone:
        return Wishbone(address=self.words.bits + 2, data=self.data, bursts=self.bursts)

    @property
    def target(self) -> CellType:
        return CellType(
            WishboneBurstTarget if self.bursts else WishboneTarget,
            link=self.memory.link,
            words=self.words,
            data=self.data,
            lengths=self.memory.side_by_side,
        )


class AxiNetwork(BusPorts):
    """A network between processors and memory, with an AXI4 port for each processor.

    Word a, in module a mod N, has the address a times data / 8 at each port; the two address bits
    above choose what a write does. `terminals.axi.AxiTarget` says how. If packets of the network
    have broadcast masks, or may be for groups, a write can have one, too (`awuser`).

    Parameters
    ----------
    network, data, rows
        As in `bus_memory`.
    ids : int
        Width of identities.
    atomics : bool
        Whether the ports have `awatop`, of AXI5.
    reorder : bool
        Whether answers of different identities may overtake each other.

    Attributes
    ----------
    network, memory, data, ports, words
        As in `BusPorts`.

    Members
    -------
    s_axi_{p}_awid, _awaddr, ...
        For each processor p: the members of `terminals.axi.Axi`.

    Raises
    ------
    TypeError, ValueError
        As `bus_memory`.
    """

    prefix = "s_axi"

    def __init__(
        self,
        network: Network,
        *,
        data: int | None = None,
        rows: int | None = None,
        ids: int = 4,
        atomics: bool = False,
        reorder: bool = False,
    ) -> None:
        self.options: dict[str, Any] = {"reorder": reorder, "ids": ids, "atomics": atomics}
        packets = isinstance(network, PacketNetwork)
        copies = packets and (network.broadcasts or network.groups > 0)
        super().__init__(network, data=data, rows=rows, copies=copies)
        self.target.build()  # Invalid options must be rejected now, not during elaboration.

    @property
    def bus(self) -> Axi:
        target = self.target.build()
        assert isinstance(target, AxiTarget)
        return target.axi

    @property
    def target(self) -> CellType:
        return CellType(
            AxiTarget,
            link=self.memory.link,
            words=self.words,
            user=len(self.words.columns) - (self.ports - 1).bit_length(),
            data=self.data,
            lengths=self.memory.side_by_side,
            **self.options,
        )
