"""Networks with AXI4-Stream interfaces, like AXI4-Stream switches."""

from collections.abc import Mapping, Sequence

from amaranth.lib.wiring import In, Member, Out

from ..export.top_ports import Clock
from ..fabric.cell import SYNC, Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..terminals.axi_stream import AxiStreamInput, AxiStreamOutput, input_stream, output_stream
from .packet_network import PacketNetwork
from .remote_memory_network import check_packets
from .terminal_clocks import TerminalClocks

__all__ = ["AXI_CLOCK", "AxiStreamNetwork"]

AXI_CLOCK = Clock("aclk", "aresetn", active_low=True)
"""The names of the clock and reset of an AXI4-Stream component."""


class AxiStreamNetwork(FabricComponent):
    """A network whose terminals send and receive AXI4-Streams.

    An `AxiStreamInput`, the cell `axis_in_{terminal}`, is at each input of the network, and an
    `AxiStreamOutput`, `axis_out_{terminal}`, at each output. A packet for `tdest`, of at most
    `length` beats, leaves there complete and once; the beats of two packets do not mix. There is no
    combinational path from any input to any output of the terminals.

    The latency is that of the network, plus one cycle if it is `transparent`: without a register
    behind them its outputs would not obey AXI4-Stream. With clocks of the terminals their queues
    are this register.

    Parameters
    ----------
    network : PacketNetwork
        A network that loses nothing.
    clocks : TerminalClocks, optional
        Clocks of the terminals, between which and the network's there are asynchronous queues, as
        in `MultiClockNetwork`. Without, all have the network's clock.

    Attributes
    ----------
    network : PacketNetwork
        The network between the terminals.
    clocks : TerminalClocks or None
        The clocks of the terminals, if they have their own.
    queued : bool
        Whether the outputs have queues.

    Members
    -------
    s_axis_{t}_tvalid, _tready, _tdata, _tdest, ...
        For each terminal t, as in `terminals.axi_stream.input_stream`.
    m_axis_{t}_tvalid, _tready, _tdata, _tdest, ...
        For each terminal t, as in `terminals.axi_stream.output_stream`.

    Raises
    ------
    TypeError
        If `network` is not a network.
    ValueError
        If it does not carry packets, or may lose some.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl import AxiStreamNetwork
    >>> AxiStreamNetwork(build("cube", ports=4)).queued
    False
    """

    def __init__(self, network: PacketNetwork, clocks: TerminalClocks | None = None) -> None:
        check_packets(network, "AXI4-Stream ports")
        if network.holds_links:
            raise InvalidValue(
                "AXI4-Stream ports need a network of flits, but packets of this one are single "
                "words (switch=packet)"
            )
        self.network = network
        self.clocks = clocks
        self.queued = network.transparent and clocks is None
        super().__init__(self._wrapped)

    def _wrapped(self) -> Fabric:
        """The network, with a cell at each of its ends."""
        packet, tags = self.network.packet, self.network.tags
        received, sent = input_stream(packet, tags).members, output_stream(packet, tags).members
        boundary: dict[str, Member] = {}
        for t in range(self.network.sources):
            boundary |= {
                f"s_axis_{t}_{name}": In(member.shape) if member.flow == Out else Out(member.shape)
                for name, member in received.items()
            }
        for t in range(self.network.sinks):
            boundary |= {f"m_axis_{t}_{name}": member for name, member in sent.items()}

        fabric = Fabric(boundary)
        entries: Sequence[Mapping[str, str]] = [{}] * self.network.sources
        exits: Sequence[Mapping[str, str]] = [{}] * self.network.sinks
        if self.clocks is None:
            terminals = self.network.place(fabric)
        else:
            terminals = self.clocks.place(self.network, fabric)
            entries, exits = (
                [{SYNC: name} for name in names] for names in self.clocks.names(self.network)
            )
        entry = CellType(AxiStreamInput, packet=packet, tags=tags)
        exit_ = CellType(AxiStreamOutput, packet=packet, tags=tags, queued=self.queued)
        for t, pin in enumerate(terminals.inputs):
            straps = {"address": tags.source_code.encode(t)}
            first = fabric.place(Cell(f"axis_in_{t}", entry, straps, clocks=entries[t])).name
            fabric.link(Pin(first, ("o",)), pin)
            for name in received:
                fabric.link(Pin(None, (f"s_axis_{t}_{name}",)), Pin(first, ("axis", name)))
        for t, pin in enumerate(terminals.outputs):
            straps = {"address": tags.code.encode(t)}
            last = fabric.place(Cell(f"axis_out_{t}", exit_, straps, clocks=exits[t])).name
            fabric.link(pin, Pin(last, ("i",)))
            for name in sent:
                fabric.link(Pin(last, ("axis", name)), Pin(None, (f"m_axis_{t}_{name}",)))
        return fabric
