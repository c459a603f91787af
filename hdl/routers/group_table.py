"""The table of groups of a node: where copies leave, and what is merged."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..switch.merge import Groups, MergeRow

__all__ = ["GroupTable", "TablePort"]


class TablePort(NamedTuple):
    """The widths of a port that writes the tables of all routers.

    Attributes
    ----------
    node, number, copies, merges : int
        Bits of the number of a router, of the number of a group, and of the widest rows; `merges`
        is 0 without a reduction.
    """

    node: int
    number: int
    copies: int
    merges: int

    @classmethod
    def of(cls, tables: "Iterable[GroupTable]") -> Self:
        """The port for some tables, one of each router."""
        tables = list(tables)
        return cls(
            max(1, (len(tables) - 1).bit_length()),
            tables[0].groups.bits,
            max(table.outputs for table in tables),
            max(table.row_shape.size for table in tables) if tables[0].groups.merges else 0,
        )

    @property
    def members(self) -> dict[str, int]:
        """By the name of a member its width."""
        widths = {"write": 1, **self._asdict()}
        return {f"group_{name}": width for name, width in widths.items() if width}


class GroupTable(wiring.Component):
    """Looks up what a router does with packets of groups. Combinational.

    It is a cell beside its router, as `RouteTable`. A reset leaves the rows as they are, also those
    that were rewritten.

    Parameters
    ----------
    groups : Groups
    inputs, outputs : int
        Of the router.
    port : TablePort, optional
        Of a port that writes it.
    copies : tuple[int, ...]
        By group, the outputs by which a multicast leaves, one bit each.
    merges : tuple[int, ...]
        By group, a `MergeRow` as a number.
    children : tuple[int, ...]
        One number: the children of all groups, one bit each. At these inputs a router looks for
        packets that are to be merged. With a port, all inputs.

    Members
    -------
    group : In(bits).array(inputs)
        The groups of arriving headers.
    exits : Out(outputs).array(inputs)
    merged : In(bits)
        With a reduction: the group that is to be merged.
    row : Out(MergeRow(inputs, outputs))
        With a reduction.
    mergeable : Out(inputs)
        With a reduction: `children`.
    here : In(node)
        With a port: the number of the router. Constant.
    group_write : In(1)
        With a port: if `group_node` is `here`, a row is written, and read from the next cycle on.
    group_node, group_number, group_copies, group_merges : In
        With a port, as wide as it says: the router, the group, and its rows.
    """

    auxiliary = True

    def __init__(
        self,
        *,
        groups: Groups,
        inputs: int,
        outputs: int,
        port: TablePort | None = None,
        copies: tuple[int, ...] = (),
        merges: tuple[int, ...] = (),
        children: tuple[int, ...] = (),
    ) -> None:
        inputs = check_integer("Inputs", inputs, 1)
        outputs = check_integer("Outputs", outputs, 1)
        self.groups, self.outputs, self.port = groups, outputs, port
        self.contents = {"copies": copies, "merges": merges, "children": children}
        self.row_shape = MergeRow(inputs, outputs)
        members = {"group": In(groups.bits).array(inputs), "exits": Out(outputs).array(inputs)}
        if groups.merges:
            members |= {
                "merged": In(groups.bits),
                "row": Out(self.row_shape),
                "mergeable": Out(inputs),
            }
        if port is not None:
            members["here"] = In(port.node)
            members |= {name: In(width) for name, width in port.members.items()}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        copies = self._memory(m, "copies", self.outputs)
        for group, exits in zip(self.group, self.exits):
            port = copies.read_port(domain="comb")
            m.d.comb += [port.addr.eq(group), exits.eq(port.data)]
        if self.groups.merges:
            port = self._memory(m, "merges", self.row_shape.size).read_port(domain="comb")
            m.d.comb += [port.addr.eq(self.merged), self.row.eq(port.data)]
            children = Memory(shape=len(self.mergeable), depth=1, init=self.contents["children"])
            m.submodules.children = children
            m.d.comb += self.mergeable.eq(children.read_port(domain="comb").data)
        return m

    def _memory(self, m: Module, name: str, width: int) -> Memory:
        """The rows of all groups."""
        rows = Memory(shape=width, depth=1 << self.groups.bits, init=self.contents[name])
        m.submodules[name] = rows
        if self.port is not None:
            port = rows.write_port()
            m.d.comb += [
                port.en.eq(self.group_write & (self.group_node == self.here)),
                port.addr.eq(self.group_number),
                port.data.eq(getattr(self, f"group_{name}")),
            ]
        return rows
