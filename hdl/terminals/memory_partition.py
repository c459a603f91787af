# amaranth: UnusedElaboratable=no
"""The interface that keeps a processor's requests inside its partition (Siegel et al., III-D)."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..links.memory_link import MemoryLink
from .partition import PartitionInterface, interface_ports

__all__ = ["MemoryPartitionInterface"]


class MemoryPartitionInterface(PartitionInterface):
    """Sends requests with effective tags, so that they stay in the processor's subnetwork.

    A subnetwork consists of processors, and of the memory modules of the same numbers. Everything
    else is as in `PartitionInterface`, with destination tags. Replies are not changed; their tag is
    the one that was sent. Where there are several paths, bit b of the number of a path replaces bit
    b of the line's label, so a mask with a 0 there leaves only those paths that stay inside.

    Parameters
    ----------
    link : MemoryLink
    places : Sequence[int]
        For each bit of a tag, from the lowest: the address bit that it replaces.
    width : int
        Bits of an address.

    Members
    -------
    i : In(link)
        From the processor.
    o : Out(link)
        To the network.
    address : In(width)
        Code of this processor's number. Constant.
    mask, mask_member : In(width)
    mask_write : In(1)
    in_force : Out(width)
    """

    def __init__(self, link: MemoryLink, places: Sequence[int], width: int) -> None:
        self.link = link
        self.places = tuple(places)
        ends = {"i": In(link), "o": Out(link)}
        wiring.Component.__init__(self, {**ends, **interface_ports(width, width)})

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        wiring.connect(m, wiring.flipped(self.i.reply), wiring.flipped(self.o.reply))
        return m

    @property
    def _sent(self) -> Any:
        return self.o.request

    @property
    def _arriving(self) -> Any:
        return self.i.request

    def effective_tag(self, tag: Value) -> Value:
        allowed = self._in_stage_order(self.in_force)
        return tag & allowed | self._in_stage_order(self.address) & ~allowed

    def _in_stage_order(self, code: Value) -> Value:
        return Cat(code[place] for place in self.places)
