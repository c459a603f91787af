# amaranth: UnusedElaboratable=no
"""Groups in partitioned networks: what stays inside, and what is refused."""

import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.errors import InvalidType, InvalidValue
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.partitions import Partition, Subnetwork
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.hdl.routers.group_table import GroupTable
from multicube.hdl.routers.worm_router import WormRouter
from multicube.hdl.terminals.partition import PartitionInterface
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.rerouting import write_tables
from proof_table import proves
from refusals import refusals
from scripted_terminals import records_of, scripted

PORTS, BITS = 8, 3
PARTS = Partition.of_members(PORTS, [[0, 1, 4, 5], [2, 3]])


def cube(**given: Any) -> PacketNetwork:
    return build("hypercube", **{"n": BITS, "group_entries": PORTS, "length": 1} | given)


test_groups_across_parts_are_refused = refusals(
    lambda groups: cube().group_tables(groups, PARTS),
    (
        {4: (5, [0, 1, 3])},
        "Members of group 4 must be in the subnetwork of its root 5 (0, 1, 4, 5), not 3",
    ),
    (
        {2: (5, [0, 1])},
        "Number of a group must be the address of a terminal of its subnetwork (0, 1, 4, 5), not 2",
    ),
)


@pytest.mark.parametrize("ports", [4, 16])
def test_parts_are_those_of_this_network(ports: int) -> None:
    """Those of four terminals passed, and of sixteen a channel was named that there is not."""
    groups = {1: (0, [0, 1])}
    with pytest.raises(InvalidValue, match=f"^Partition must be of 8 terminals, not {ports}$"):
        cube().group_tables(groups, Partition.whole(ports))
    with pytest.raises(InvalidType, match=r"^Partition must be a partition of the terminals, not "):
        cube().group_tables(groups, [[0, 1]])


test_networks_are_refused = refusals(
    lambda given: build(**given).confinement(),
    (
        {"name": "hypercube", "n": 3, "group_entries": 2},
        "Group entries must be 0 or 8, one for each address, if the network is partitioned, not 2",
    ),
    (
        {"name": "data-manipulator", "ports": 8, "group_entries": 8},
        "Partitions need subnetworks that share no channel; here ... would share router_...",
    ),
)


def subcubes() -> list[Subnetwork]:
    masks = range(PORTS)
    return [Subnetwork(BITS, mask, at) for mask in masks for at in range(PORTS) if not at & mask]


@pytest.mark.parametrize("routing", ["ecube", long("pcube")])
def test_trees_stay_inside_of_every_part(routing: str) -> None:
    """Of all 27 parts of eight terminals: those of some groups in them have no row elsewhere."""
    draw, network = random.Random(1), cube(routing=routing)
    assert len(subcubes()) == 27
    for part in subcubes():
        number, root = draw.choices(part.members, k=2)
        members = draw.sample(part.members, draw.randint(1, part.size))
        tables = network.group_tables({number: (root, members)}, Partition(BITS, (part,)))
        for node, (copies, merges) in enumerate(
            (tables[f"groups_{node}"]["copies"], tables[f"groups_{node}"]["merges"])
            for node in range(PORTS)
        ):
            assert node in part or not any((*copies, *merges))
            # Outputs 0 to 2 are the links, by dimension.
            assert not any(row & 7 & ~part.mask for row in copies)
            assert bool(copies[number] >> BITS) == (node in members)


def test_whatever_is_sent_stays_in_its_part() -> None:
    """Each terminal sends multicasts to groups of all numbers, values to the first one of its part,
    and packets to all terminals."""
    network = cube(payload=16, patience=8, switch="cut-through", depth=2)
    parted, draw = PartitionedNetwork(network), random.Random(3)
    packet, count = parted.packet, 60
    groups = {one: (one, PARTS.of(one).members) for one in range(PORTS)}

    def flit(kind: Kind, tag: int, source: int) -> int:
        value = {"kind": kind, "tag": tag, "payload": 1 << source, "last": 1}
        return packet.const(value).as_value().value

    kinds = [Kind(draw.choice([0, 1, 2, 3])) for _ in range(count)]
    orders = [(kind, 0 if kind & 2 else draw.randrange(PORTS)) for kind in kinds]
    scripts = [[flit(*order, source) for order in orders] for source in range(PORTS)]
    fabric = scripted(parted, scripts, PORTS * count * 2, waits=True)
    with CompiledEngine(fabric) as engine:
        for part in PARTS.subnetworks:
            engine.set("mask", part.mask)
            engine.set("mask_member", part.value)
            engine.set("mask_write", 1)
            engine.step(1)
        for alone in 6, 7:
            engine.set("mask", 0)
            engine.set("mask_member", alone)
            engine.step(1)
        engine.set("mask_write", 0)
        write_tables(engine, network.group_tables(groups, PARTS))
        engine.set("limit", count)
        engine.step(2000)
        records = records_of(engine, PORTS)
        sent = engine.read([f"terminal_{one}" for one in range(PORTS)], "sent")
    assert sent == [count] * PORTS
    values = [[packet.from_bits(word) for word in record] for record in records]
    for terminal, own in enumerate(values):
        inside = sum(1 << one for one in PARTS.of(terminal).members)
        assert own
        assert all(value.payload & ~inside == 0 for value in own)


def divided(
    network: PacketNetwork, tables: type[GroupTable], kind: type[PartitionInterface]
) -> FabricComponent:
    """The network behind interfaces whose masks are inputs, with other tables of groups."""
    link = stream.Signature(network.packet)
    members = {name: way(link).array(PORTS) for name, way in (("i", In), ("o", Out))}
    fabric = Fabric({**members, "mask": In(BITS).array(PORTS)})
    interface = CellType(kind, packet=network.packet, tags=network.tags)
    for index, (entry, exit_) in enumerate(zip(*network.place(fabric))):
        straps = {"address": index, "mask_member": index, "mask_write": 1}
        name = fabric.place(Cell(f"partition_{index}", interface, straps)).name
        fabric.link(Pin(None, ("mask", index)), Pin(name, ("mask",)))
        fabric.link(Pin(None, ("i", index)), Pin(name, ("i",)))
        fabric.link(Pin(name, ("o",)), entry)
        fabric.link(exit_, Pin(None, ("o", index)))
    for name, cell in fabric.cells.items():
        if cell.type.component is GroupTable:
            own = CellType(tables, **cell.type.parameters, node=int(name.partition("_")[2]))
            fabric.cells[name] = replace(cell, type=own, contents={})
    return FabricComponent(fabric)


def confinement(
    *, leaks: bool = False, interface: type[PartitionInterface] = PartitionInterface, **given: Any
) -> Claims:
    """Claims about the links of all routers, for all partitions of eight terminals.

    Anything may be sent. The rows of tables may be any, also others in every cycle: of groups whose
    number is in the subnetwork of the node, they do not lead out of it. It is claimed that no link
    between two subnetworks carries anything, and that what a terminal gets comes from its own.
    """
    claims = Claims()
    m = claims.m
    masks = [claims.symbol(BITS, f"mask_{t}") for t in range(PORTS)]
    for t, u in product(range(PORTS), repeat=2):
        apart = (Const(t ^ u, BITS) & ~masks[t]).any()
        claims.assume(apart | (masks[t] == masks[u]))

    class AnyTable(GroupTable):
        def __init__(self, *, node: int, **given: Any) -> None:
            self.node = node
            super().__init__(**given)

        def elaborate(self, platform: object) -> Module:
            m, node = Module(), self.node

            def row(name: str, group: Value) -> Value:
                """Links inside, and the terminal; any of a group of another subnetwork."""
                own = ((group ^ node) & ~masks[node]) == 0
                free = claims.free(self.outputs, f"{name}_{node}")
                return Mux(own & (not leaks), free & Cat(masks[node], 1), free)

            for number, (group, exits) in enumerate(zip(self.group, self.exits)):
                m.d.comb += exits.eq(row(f"exits_{number}", group))
            if self.groups.merges:
                m.d.comb += [
                    self.row.children.eq(claims.free(len(self.row.children), f"children_{node}")),
                    self.row.exits.eq(row("merged", self.merged)),
                    self.row.around.eq(row("around", self.merged)),
                ]
            return m

    network = cube(payload=BITS, depth=1, patience=1, **given)
    dut = divided(network, AnyTable, interface)
    m.submodules.dut = dut.elaborate(None)
    m.d.comb += [port.eq(mask) for port, mask in zip(dut.mask, masks)]
    for t, (sent, received) in enumerate(zip(dut.i, dut.o)):
        m.d.comb += [
            # The masks are in force from the second cycle on.
            sent.valid.eq(claims.free(1, f"valid_{t}") & claims.began),
            sent.payload.tag.eq(claims.free(BITS, f"tag_{t}")),
            sent.payload.kind.eq(claims.free(2, f"kind_{t}")),
            sent.payload.payload.eq(t),
            sent.payload.last.eq(1),
            received.ready.eq(claims.free(1, f"ready_{t}")),
        ]
    for node in range(PORTS):
        router = dut.instances[f"router_{node}"]
        for number, port in enumerate(router.o):
            packet = port.payload
            foreign = packet.payload ^ node
            claims.claim(~port.valid | ((foreign & ~masks[node]) == 0))
            if number < BITS:
                claims.claim(~port.valid | masks[node][number])
                own = packet.tag ^ Mux(packet.kind == Kind.SINGLE, 0, node)
                claims.claim(~port.valid | ((own & ~masks[node]) == 0))
    return claims


@needs_yosys
@proves(
    PartitionInterface,
    WormRouter,
    says="If the rows of the tables keep each group in its subnetwork, its packets stay there "
    "whatever is sent: no link between two subnetworks carries anything.",
    sizes="a hypercube of 8 terminals, queues of depth 1, packets of one flit, all partitions, "
    "all kinds of packets, merged by `or`",
)
@pytest.mark.long
def test_groups_stay_in_their_part(tmp_path: Path) -> None:
    assert confinement(reduction="or").hold(tmp_path)


class NumberLeaks(PartitionInterface):
    """Lets the number of a group through."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i.payload.kind != Kind.SINGLE):
            m.d.comb += self.o.payload.tag.eq(self.i.payload.tag)
        return m


@needs_yosys
@pytest.mark.parametrize(
    "given", [long({"leaks": True}), long({"interface": NumberLeaks})], ids=["table", "interface"]
)
def test_proof_finds_what_leaves_a_part(tmp_path: Path, given: dict[str, Any]) -> None:
    assert not confinement(reduction="none", **given).hold(tmp_path, 4)
