"""The routing table of a node: the outputs that a header may take, by its tag."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["RouteTable"]


class RouteTable(wiring.Component):
    """Looks up the outputs that arriving headers may take. Combinational.

    It is a cell beside its router, because its contents depend on the node. So all routers of one
    shape are one module. Inputs with equal tables share a memory.

    Parameters
    ----------
    tag : int
        Width of a tag in bits.
    outputs : int
        Number of outputs of the router.
    readers : tuple[int, ...]
        For each input of the router, the number of its memory.
    **rows : tuple[int, ...]
        Contents of the memories `rows_0`, `rows_1`, ...: for each tag the outputs, one bit each.

    Members
    -------
    tag : In(tag).array(inputs)
    exits : Out(outputs).array(inputs)
    """

    auxiliary = True

    def __init__(
        self, *, tag: int, outputs: int, readers: tuple[int, ...], **rows: tuple[int, ...]
    ) -> None:
        self.tag_bits, self.outputs = tag, outputs
        self.readers, self.rows = readers, rows
        count = len(readers)
        super().__init__({"tag": In(tag).array(count), "exits": Out(outputs).array(count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number in range(max(self.readers) + 1):
            name = f"rows_{number}"
            init = self.rows.get(name, ())
            memory = Memory(shape=self.outputs, depth=1 << self.tag_bits, init=init)
            m.submodules[name] = memory
            for i, reader in enumerate(self.readers):
                if reader == number:
                    port = memory.read_port(domain="comb")
                    m.d.comb += [port.addr.eq(self.tag[i]), self.exits[i].eq(port.data)]
        return m
