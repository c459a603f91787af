"""The routing table of a node: the outputs that a header may take, by its tag."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["RouteTable"]


class RouteTable(wiring.Component):
    """Looks up the outputs that arriving headers may take. Combinational.

    With `via`, tags of twice the width also have the number of an intermediate terminal, on top.
    An input that looks it up takes the outputs in its row; if there are none, the intermediate
    terminal is at this node, and the row of the destination counts.

    It is a cell beside its router, because its contents depend on the node. So all routers of one
    shape are one module. Inputs with equal tables share a memory. A reset does not change the rows,
    not even rewritten ones.

    Parameters
    ----------
    tag : int
        Width of a tag in bits.
    outputs : int
        Bits of a row: the number of outputs of the router, times the bits of their weights.
    readers : tuple[int, ...]
        For each input of the router, the number of its memory.
    via : tuple[int or None, ...]
        For each input, the number of its memory for intermediate terminals, or None; empty if
        there are no such terminals.
    **rows : tuple[int, ...]
        Contents of the memories `rows_0`, `rows_1`, ..., and of those for intermediate terminals,
        `via_0`, `via_1`, ...: for each tag the outputs, one bit each, or their weights.

    Members
    -------
    tag : In(tag).array(inputs), with `via` In(2 * tag).array(inputs)
    exits : Out(outputs).array(inputs)
    """

    auxiliary = True

    def __init__(
        self,
        *,
        tag: int,
        outputs: int,
        readers: tuple[int, ...],
        via: tuple[int | None, ...] = (),
        **rows: tuple[int, ...],
    ) -> None:
        self.tag_bits, self.outputs = tag, outputs
        self.readers, self.via, self.rows = readers, via, rows
        count = len(readers)
        super().__init__(
            {"tag": In(tag * (2 if via else 1)).array(count), "exits": Out(outputs).array(count)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tags = [tag[: self.tag_bits] for tag in self.tag]
        found = self._looked_up(m, "rows", self.readers, tags)
        if self.via:
            vias = [tag[self.tag_bits :] for tag in self.tag]
            around = self._looked_up(m, "via", self.via, vias)
            found = [
                one if other is None else Mux(other.any(), other, one)
                for one, other in zip(found, around)
            ]
        m.d.comb += [exits.eq(row) for exits, row in zip(self.exits, found)]
        return m

    def _looked_up(
        self, m: Module, name: str, readers: Sequence[int | None], addresses: Sequence[Value]
    ) -> list[Value | None]:
        """For each input, its row in the memory that it reads, if there is one."""
        found: list[Value | None] = [None] * len(readers)
        for number in sorted({reader for reader in readers if reader is not None}):
            rows = f"{name}_{number}"
            init = self.rows.get(rows, ())
            memory = Memory(shape=self.outputs, depth=1 << self.tag_bits, init=init)
            m.submodules[rows] = memory
            for i, reader in enumerate(readers):
                if reader == number:
                    port = memory.read_port(domain="comb")
                    m.d.comb += port.addr.eq(addresses[i])
                    found[i] = port.data
        return found
