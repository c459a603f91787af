# amaranth: UnusedElaboratable=no
"""Networks whose tables of groups are written by ports, while they run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from amaranth.lib.wiring import In

from ..fabric.cell import CellType
from ..fabric.checks import shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..graphs.partitions import Partition
from ..routers.group_table import GroupTable, TablePort
from .packet_network import PacketNetwork

__all__ = ["GroupPortNetwork", "with_group_port"]


def _node(table: str) -> int:
    """The number of the router beside a cell that `place_group_tables` has placed."""
    return int(table.rpartition("_")[2])


def with_group_port(fabric: Fabric) -> Fabric:
    """A fabric with ports that write the tables of groups in it (`GroupPortNetwork`).

    Raises
    ------
    ValueError
        If there are none.
    """
    tables = [cell for cell in fabric.cells.values() if cell.type.component is GroupTable]
    if not tables:
        raise InvalidValue("Ports for groups need a network with group_entries=1 or more")
    port = TablePort.of([cell.type.build() for cell in tables])
    members = {name: In(width) for name, width in port.members.items()}
    ported = Fabric({**fabric.signature.members, **members})
    for name, cell in fabric.cells.items():
        if cell.type.component is GroupTable:
            kind = CellType(GroupTable, **cell.type.parameters, port=port)
            straps, contents = {**cell.straps, "here": _node(name)}, {**cell.contents}
            if "children" in contents:
                contents["children"] = ((1 << kind.parameters["inputs"]) - 1,)
            cell = replace(cell, type=kind, straps=straps, contents=contents)
        ported.place(cell)
    for one, other in fabric.links:
        ported.link(one, other)
    for cell in tables:
        for member in members:
            ported.link(Pin(None, (member,)), Pin(cell.name, (member,)))
    return ported


class GroupPortNetwork(FabricComponent):
    """A network with ports that write the tables of groups of its routers, one row per cycle.

    A row counts from the next cycle on. Write the rows of a group while none of its packets is in
    the network. A reset leaves them as they are.

    Parameters
    ----------
    component : FabricComponent
        A network with groups, or one with other ports: in partitions, of AXI4-Streams, or of
        several clocks. The ports belong to the network's clock.

    Attributes
    ----------
    component : FabricComponent
    network : PacketNetwork
        The network itself.

    Members
    -------
    group_write : In(1)
        The row is written.
    group_node : In(bits)
        Number of the router.
    group_number : In(bits)
        Number of the group.
    group_copies : In(bits)
        The outputs of copies, as in `Network.group_tables`.
    group_merges : In(bits)
        With a reduction: what is merged, as in `Network.group_tables`.

    Others as those of the component.

    Raises
    ------
    TypeError
        If it is no network that carries packets.
    ValueError
        If the network has no groups.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl.networks.group_port import GroupPortNetwork
    >>> network = GroupPortNetwork(build("mesh k=2 n=1 group_entries=2"))
    >>> for row in network.rows({1: (0, [1])}):
    ...     print(row)
    {'group_node': 0, 'group_number': 1, 'group_copies': 1, 'group_merges': 25}
    {'group_node': 1, 'group_number': 1, 'group_copies': 2, 'group_merges': 6}
    """

    def __init__(self, component: FabricComponent) -> None:
        network = getattr(component, "network", component)
        if not isinstance(network, PacketNetwork):
            raise InvalidType(f"Network must carry packets, not {shown(component)}")
        self.component = component
        self.network = network
        super().__init__(with_group_port(component.fabric))

    def rows(
        self, groups: Mapping[int, tuple[int, Iterable[int]]], partition: Partition | None = None
    ) -> list[dict[str, int]]:
        """What to write for some groups, one after the other: the values of the ports.

        Parameters
        ----------
        groups : Mapping[int, tuple[int, Iterable[int]]]
            By the number of a group, its root and its members.
        partition : Partition, optional
            As in `Network.group_tables`.

        Returns
        -------
        list[dict[str, int]]
            For each router and group: by the name of a port its value.

        Raises
        ------
        TypeError, ValueError
            As in `Network.group_tables`.
        """
        return [
            {
                "group_node": _node(cell),
                "group_number": number,
                **{
                    f"group_{name}": each[number]
                    for name, each in memories.items()
                    if name != "children"
                },
            }
            for cell, memories in self.network.group_tables(groups, partition).items()
            for number in groups
        ]
