"""The link of wormhole switches that reject blocked packets."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .packet import Packet

__all__ = ["RejectingLink"]


class RejectingLink(wiring.Signature):
    """A stream of flits whose receiver may reject a packet. Directions are those of the sender.

    A header sets up a path, which stays until a flit with `close` has passed. A packet may be
    rejected until its header has reached the destination. In the cycle in which `reject` is 1, the
    path is released, and all flits on it and the offered flit are discarded, whether or not `ready`
    is 1. The next cycle may bring another header. So a source must not close a path before the
    header has arrived; `close` differs from the packet's `last`, which may come earlier.

    Parameters
    ----------
    packet : Packet
        With flits.

    Members
    -------
    payload : Out(packet)
    valid, close : Out(1)
    ready, reject : In(1)
    """

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        super().__init__(
            {
                "payload": Out(packet),
                "valid": Out(1),
                "close": Out(1),
                "ready": In(1),
                "reject": In(1),
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RejectingLink) and self.packet == other.packet
