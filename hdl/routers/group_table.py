"""The table of groups of a node: where copies leave, and what is merged."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..switch.merge import Groups, MergeRow

__all__ = ["GroupTable"]


class GroupTable(wiring.Component):
    """Looks up what a router does with packets of groups. Combinational.

    It is a cell beside its router, as `RouteTable`. A reset leaves the rows as they are, also those
    that were rewritten.

    Parameters
    ----------
    groups : Groups
    inputs, outputs : int
        Of the router.
    copies : tuple[int, ...]
        By group, the outputs by which a multicast leaves, one bit each.
    merges : tuple[int, ...]
        By group, a `MergeRow` as a number.

    Members
    -------
    group : In(bits).array(inputs)
        The groups of arriving headers.
    exits : Out(outputs).array(inputs)
    merged : In(bits)
        With a reduction: the group that is to be merged.
    row : Out(MergeRow(inputs, outputs))
        With a reduction.
    """

    auxiliary = True

    def __init__(
        self,
        *,
        groups: Groups,
        inputs: int,
        outputs: int,
        copies: tuple[int, ...] = (),
        merges: tuple[int, ...] = (),
    ) -> None:
        inputs = check_integer("Inputs", inputs, 1)
        outputs = check_integer("Outputs", outputs, 1)
        self.groups, self.outputs = groups, outputs
        self.contents = {"copies": copies, "merges": merges}
        self.row_shape = MergeRow(inputs, outputs)
        members = {
            "group": In(groups.bits).array(inputs),
            "exits": Out(outputs).array(inputs),
        }
        if groups.merges:
            members |= {"merged": In(groups.bits), "row": Out(self.row_shape)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = 1 << self.groups.bits
        copies = Memory(shape=self.outputs, depth=rows, init=self.contents["copies"])
        m.submodules.copies = copies
        for group, exits in zip(self.group, self.exits):
            port = copies.read_port(domain="comb")
            m.d.comb += [port.addr.eq(group), exits.eq(port.data)]
        if self.groups.merges:
            merges = Memory(shape=self.row_shape.size, depth=rows, init=self.contents["merges"])
            m.submodules.merges = merges
            port = merges.read_port(domain="comb")
            m.d.comb += [port.addr.eq(self.merged), self.row.eq(port.data)]
        return m
