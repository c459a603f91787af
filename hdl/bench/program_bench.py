# amaranth: UnusedElaboratable=no
"""The test bench for programs: a network with memory, with ports that software drives and reads."""

from collections.abc import Mapping
from dataclasses import replace

from amaranth.hdl import Cat, Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..links.memory_link import MemoryLink
from ..networks.memory_network import MemoryNetwork
from .instruments import LinkMeter
from .meters import place_meters

__all__ = ["ProgramBench", "ProgramPort"]


class ProgramPort(wiring.Component):
    """The link of one processor, as a few plain ports. Combinational; replies are always taken.

    Parameters
    ----------
    link : MemoryLink

    Members
    -------
    offer : In(1 + width of a request)
        Bit 0: a request is offered. It must stay until it is taken.
    seen : Out(2)
        Bit 0: the request is taken in this cycle; bit 1: there is a reply.
    reply : Out(width of a reply)
    o : Out(link)
    """

    def __init__(self, link: MemoryLink) -> None:
        super().__init__(
            {
                "offer": In(1 + Shape.cast(link.request_layout).width),
                "seen": Out(2),
                "reply": Out(Shape.cast(link.reply_layout).width),
                "o": Out(link),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, reply = self.o.request, self.o.reply
        m.d.comb += [
            request.valid.eq(self.offer[0]),
            request.payload.eq(self.offer[1:]),
            reply.ready.eq(1),
            self.seen.eq(Cat(request.valid & request.ready, reply.valid)),
            self.reply.eq(reply.payload),
        ]
        return m


class ProgramBench(Fabric):
    """A combining network with a `ProgramPort` at each terminal, and meters, as one fabric.

    Parameters
    ----------
    network : MemoryNetwork
    contents : Mapping[int, int]
        Initial contents of words that are not 0.

    Members
    -------
    offer_0, offer_1, ... : In(1 + width of a request)
        Inputs of the ports.
    on : In(1)
        Meters count.

    Attributes
    ----------
    network : MemoryNetwork
    ports : list[str]
        Names of the cells of the ports.
    meters : dict[str, dict[str, str]]
        As in `Bench`.
    memory_meters : list[str]
        By memory module: names of the meters that count the requests that reach it.
    """

    def __init__(self, network: MemoryNetwork, contents: Mapping[int, int]) -> None:
        port = CellType(ProgramPort, link=network.link)
        width = port.leaves["offer",].width
        super().__init__({f"offer_{n}": In(width) for n in range(network.ports)} | {"on": In(1)})
        self.network = network
        self.ports = [f"port_{n}" for n in range(network.ports)]
        rows = {self.memory_cell(n): held for n, held in network.contents(contents).items()}
        for cell in network.fabric.cells.values():
            if cell.name in rows:
                cell = replace(cell, contents={"words": rows[cell.name]})
            self.place(cell)
        for n, name in enumerate(self.ports):
            self.place(Cell(name, port))
            self.link(Pin(None, (f"offer_{n}",)), Pin(name, ("offer",)))
        for ends in network.fabric.links:
            a, b = (
                Pin(self.ports[int(pin.path[1])], ("o",)) if pin.cell is None else pin
                for pin in ends
            )
            self.link(a, b)
        self.meters = place_meters(self, Pin(None, ("on",)))
        self.memory_meters = [self._link_meter(n) for n in range(network.ports)]

    @staticmethod
    def memory_cell(module: int) -> str:
        return f"memory_{module}"

    def _link_meter(self, module: int) -> str:
        memory = self.memory_cell(module)
        valid, ready = (Pin(memory, ("i", "request", name)) for name in ("valid", "ready"))
        meter = self.place(Cell(f"meter_{memory}", CellType(LinkMeter, links=1)))
        self.link(self.drivers[valid], Pin(meter.name, ("valid", 0)))
        self.link(ready, Pin(meter.name, ("ready", 0)))
        self.link(Pin(None, ("on",)), Pin(meter.name, ("measure",)))
        return meter.name
