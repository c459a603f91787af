"""A router in stages: arbitration a cycle ahead, and registers in front of the switch."""

from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..switch.entry import InputQueue
from ..switch.pipelined import Pipelined
from ..switch.route import RouteLogic
from ..switch.shape import RouterShape, Switching

__all__ = ["PipelinedRouter"]


class PipelinedRouter(Pipelined):
    """A router for a faster clock: a `WormRouter` in stages, `Pipelined`.

    Parameters
    ----------
    packet, shape
        As in `RoutedSwitch`. Packets have flits. All links have credits.
    logic : RouteLogic or None
        None if outputs are looked up outside.
    depth : int
        Flits that fit into each queue, and into those behind the links; at least 1.
    pipeline, switching, longest, arbiter
        As in `Pipelined`.

    Members
    -------
    address, seed, i, o, tag, exits, freed, credit
        As in `Pipelined`.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        depth: int,
        pipeline: int,
        switching: Switching = "wormhole",
        longest: int = 1,
        arbiter: str = "round-robin",
    ) -> None:
        if not packet.flits or packet.broadcast:
            raise InvalidValue("Packet must have flits, and no broadcast mask")
        self.depth = depth
        super().__init__(
            packet,
            shape,
            route=logic,
            entry=InputQueue(depth),
            pipeline=pipeline,
            switching=switching,
            longest=longest,
            arbiter=arbiter,
        )
