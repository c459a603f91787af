# amaranth: UnusedElaboratable=no
"""Networks whose terminals have clocks of their own."""

from dataclasses import dataclass
from itertools import zip_longest

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..fabric.cell import SYNC, Cell, CellType
from ..fabric.checks import check_word, shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..terminals.clock_crossing import ClockCrossing, check_crossing_depth
from .network import Network
from .network_records import Terminals
from .packet_network import PacketNetwork

__all__ = ["TERMINAL_CLOCKS", "MultiClockNetwork", "TerminalClocks"]

TERMINAL_CLOCKS = {
    "each": "each terminal has a clock of its own",
    "one": "all terminals share a clock, which is not the network's",
}
"""Which clocks terminals have."""


@dataclass(frozen=True)
class TerminalClocks:
    """The clocks of a network's terminals, and the queues to and from the network's clock.

    Parameters
    ----------
    which : str
        One of `TERMINAL_CLOCKS`. The clock of terminal t is `terminal_{t}`, that of all is
        `terminals`; a terminal sends and receives with the same clock. If a network has other
        terminals that send than that receive, they are `source_{t}` and `sink_{t}`.
    depth : int
        Depth of each `ClockCrossing`: a power of two. With 8 it passes one flit per cycle of the
        slower clock.

    Raises
    ------
    TypeError, ValueError
        If there are no such clocks, or the depth is no power of two.
    """

    which: str = "each"
    depth: int = 8

    def __post_init__(self) -> None:
        check_word("Terminal clocks", self.which, TERMINAL_CLOCKS)
        object.__setattr__(self, "depth", check_crossing_depth(self.depth))

    def names(self, network: PacketNetwork) -> tuple[list[str], list[str]]:
        """The clock of each source, and that of each sink.

        Parameters
        ----------
        network : PacketNetwork
            The network whose terminals they are.

        Returns
        -------
        tuple[list[str], list[str]]
            Names of clock domains.
        """
        if self.which == "one":
            return ["terminals"] * network.sources, ["terminals"] * network.sinks
        equal = network.sources == network.sinks
        source, sink = ("terminal", "terminal") if equal else ("source", "sink")
        return (
            [f"{source}_{t}" for t in range(network.sources)],
            [f"{sink}_{t}" for t in range(network.sinks)],
        )

    def place(self, network: PacketNetwork, fabric: Fabric) -> Terminals:
        """Add a network and its crossings to a fabric.

        The crossing of source t is the cell `entry_crossing_{t}`, that of sink t is
        `exit_crossing_{t}`.

        Parameters
        ----------
        network : PacketNetwork
            The network.
        fabric : Fabric
            The fabric.

        Returns
        -------
        Terminals
            What its terminals are linked to, in their own clocks.
        """
        crossing = CellType(ClockCrossing, shape=network.packet, depth=self.depth)
        terminals = network.place(fabric)
        sources, sinks = self.names(network)
        inputs, outputs = [], []
        for t, (pin, clock) in enumerate(zip(terminals.inputs, sources)):
            clocks = {"write": clock, "read": SYNC}
            name = fabric.place(Cell(f"entry_crossing_{t}", crossing, clocks=clocks)).name
            fabric.link(Pin(name, ("o",)), pin)
            inputs.append(Pin(name, ("i",)))
        for t, (pin, clock) in enumerate(zip(terminals.outputs, sinks)):
            clocks = {"write": SYNC, "read": clock}
            name = fabric.place(Cell(f"exit_crossing_{t}", crossing, clocks=clocks)).name
            fabric.link(pin, Pin(name, ("i",)))
            outputs.append(Pin(name, ("o",)))
        return Terminals(inputs, outputs)


class MultiClockNetwork(FabricComponent):
    """A network whose terminals have clocks of their own, unrelated to the network's.

    A `ClockCrossing` is between each terminal and the network, in both directions. Nothing is lost
    or reordered in it, and it passes one flit per cycle of the slower clock. It adds the time of up
    to three cycles of the network's clock on the way in, and of the terminal's on the way out.

    If a terminal alone is reset, what it has sent and the network has not yet taken is lost; what
    is sent to it waits. If the network alone is reset, what it had not yet offered is lost. In a
    network whose packets have several flits either is allowed only between packets, since the rest
    of a packet would be missing. After a reset of all nothing is left. Each reset must last for
    four cycles of the slowest clock.

    The network's clock domain is `sync`, those of terminals are named in `TerminalClocks`. The
    engines simulate fabrics with one clock only, not this one; Amaranth's simulator does.

    Parameters
    ----------
    network : PacketNetwork
        The network, whose own clock is `sync`.
    clocks : TerminalClocks
        The clocks of its terminals.

    Attributes
    ----------
    network : PacketNetwork
        The network between the terminals.
    clocks : TerminalClocks
        The clocks of the terminals.

    Members
    -------
    i : In(stream.Signature(packet)).array(sources)
    o : Out(stream.Signature(packet)).array(sinks)
        Each in the domain of its terminal.

    Raises
    ------
    TypeError
        If `network` is not a network, or `clocks` is no `TerminalClocks`.
    ValueError
        If the network does not carry packets.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl import MultiClockNetwork, TerminalClocks
    >>> network = MultiClockNetwork(build("cube", ports=2), TerminalClocks("each"))
    >>> network.clocks.names(network.network)[0]
    ['terminal_0', 'terminal_1']
    """

    def __init__(self, network: PacketNetwork, clocks: TerminalClocks = TerminalClocks()) -> None:
        if not isinstance(network, Network):
            raise InvalidType(f"Network must be a packet-switching network, not {shown(network)}")
        if not isinstance(network, PacketNetwork):
            raise InvalidValue(
                f"Clocks of terminals need a network that carries packets, not {network.family}"
            )
        if not isinstance(clocks, TerminalClocks):
            raise InvalidType(f"Clocks must be TerminalClocks, not {shown(clocks)}")
        self.network = network
        self.clocks = clocks
        super().__init__(self._crossed)

    def _crossed(self) -> Fabric:
        network, link = self.network, stream.Signature(self.network.packet)
        fabric = Fabric({"i": In(link).array(network.sources), "o": Out(link).array(network.sinks)})
        for t, (entry, exit_) in enumerate(zip_longest(*self.clocks.place(network, fabric))):
            if entry is not None:
                fabric.link(Pin(None, ("i", t)), entry)
            if exit_ is not None:
                fabric.link(exit_, Pin(None, ("o", t)))
        return fabric
