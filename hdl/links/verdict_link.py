"""The link of unbuffered networks."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .packet import Packet

__all__ = ["VerdictLink"]


class VerdictLink(wiring.Signature):
    """A packet link on which the sender learns the fate of each packet.

    The receiver is always ready. The verdict on a packet comes back a fixed number of cycles after
    it crossed the link: 2 m if m stages of boxes follow. It is 1 if the packet reached the end of
    the network, 0 if it was dropped on the way (or if there was no packet).

    Members
    -------
    payload : Out(packet)
    valid : Out(1)
    ready : In(1)
    accepted : In(1)
    """

    def __init__(self, packet: Packet) -> None:
        super().__init__(
            {"payload": Out(packet), "valid": Out(1), "ready": In(1), "accepted": In(1)}
        )
