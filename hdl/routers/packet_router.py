"""A router of packets that are single words: a queue at each output, and links that take time."""

from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..switch.entry import OutputQueue
from ..switch.output_queued import OutputQueued
from ..switch.route import RouteLogic
from ..switch.selection import Selection
from ..switch.shape import RouterShape

__all__ = ["PacketRouter"]


class PacketRouter(OutputQueued):
    """Packet switching: an `OutputQueued` switch at each node, for packets that have a length.

    Parameters
    ----------
    packet, shape, selection, weights
        As in `OutputQueued`. Packets have a length.
    logic : RouteLogic or None
        Its `route`.
    depth : int
        Packets that fit into each queue, at least 1.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        depth: int,
        selection: Selection = "first-free",
        weights: int = 1,
    ) -> None:
        entry = OutputQueue(depth)
        self.depth = entry.depth
        if not packet.length:
            raise InvalidValue("Packet must have a length")
        super().__init__(
            packet, shape, route=logic, entry=entry, selection=selection, weights=weights
        )
