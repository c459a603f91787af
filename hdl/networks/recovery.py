# amaranth: UnusedElaboratable=no
"""The interfaces at terminals of networks that discard packets to recover from deadlock."""

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.random_bits import scattered_seed
from ..terminals.retransmission import RetransmissionInterface
from .network_records import Terminals

__all__ = ["RECOVERIES", "place_retransmission"]

RECOVERIES = {
    "none": "nothing",
    "discard": "headers that wait for timeout cycles are discarded with their packet, "
    "and terminals send it again",
}
"""What ends a deadlock."""


def place_retransmission(
    fabric: Fabric | Scope,
    packet: Packet,
    tags: TagScheme,
    inner: Terminals,
    *,
    window: int,
    longest: int,
    delay: int,
) -> Terminals:
    """Place the cells `retransmit_{terminal}`; returns the terminals outside.

    Parameters
    ----------
    fabric : Fabric or Scope
    packet : Packet
        The packet at terminals.
    tags : TagScheme
    inner : Terminals
        Those of the routers, with `terminals.retransmission.acknowledged(packet)`.
    window, longest, delay : int
        As in `RetransmissionInterface`.
    """
    kind = CellType(
        RetransmissionInterface,
        packet=packet,
        tags=tags,
        window=window,
        longest=longest,
        delay=delay,
    )
    inputs, outputs = [], []
    for terminal, (entry, exit_) in enumerate(zip(*inner)):
        name = f"retransmit_{terminal}"
        straps = {"address": tags.code.encode(terminal), "seed": scattered_seed(terminal)}
        fabric.place(Cell(name, kind, straps))
        fabric.link(Pin(name, ("sent",)), entry)
        fabric.link(exit_, Pin(name, ("came",)))
        inputs.append(Pin(name, ("i",)))
        outputs.append(Pin(name, ("o",)))
    return Terminals(inputs, outputs)
