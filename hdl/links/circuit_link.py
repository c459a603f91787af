"""The link of circuit switching."""

from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .packet import Packet

__all__ = ["CircuitLink"]


class CircuitLink(wiring.Signature):
    """A link that is assigned to one circuit at a time. Directions are those of the sending side.

    1. The source asserts `request` and shows the header, whose tag selects the path, while `valid`
       is 0. It holds both until it sees `grant` or `reject`, or gives up.
    2. `grant` says that the whole path is set up and the destination accepts. From the next cycle
       on, a word of data crosses in each cycle in which `valid` and `ready` are both 1 (the stream
       rules), and a word of reply in each cycle in which those of `reply` are. All of it is
       combinational from end to end, in both directions.
    3. After `reject`, `request` must be 0 in the next cycle.
       With a broadcast mask the path is a tree. `grant` is then the AND of the grants of all
       destinations, and `reject` the OR of all rejections. A word is taken at the source when all
       destinations have taken it, each in a cycle of its own choice. A word of reply is the bitwise
       OR of those of all destinations, and crosses when all of them have one.
    4. The source may deassert `request` at any time, for at least one cycle. Every box on the path
       sees it in this cycle, and no box holds the path after it.

    Parameters
    ----------
    packet : Packet
        A word of data.
    reply : ShapeLike, optional
        A word of data from the destination to the source. None: there is no reply.

    Members
    -------
    request : Out(1)
    payload : Out(packet)
    valid : Out(1)
    ready : In(1)
    grant, reject : In(1)
    reply : In(stream.Signature(reply))
        Only if `reply` is given.
    """

    def __init__(self, packet: Packet, reply: ShapeLike | None = None) -> None:
        super().__init__(
            {
                "request": Out(1),
                "payload": Out(packet),
                "valid": Out(1),
                "ready": In(1),
                "grant": In(1),
                "reject": In(1),
                **({} if reply is None else {"reply": In(stream.Signature(reply))}),
            }
        )
