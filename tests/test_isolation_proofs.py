# amaranth: UnusedElaboratable=no
"""Proofs that parts of an Extra Stage Cube of eight terminals neither change nor block each other.

Two copies of the hardware have the same masks and the same configuration. The terminals of one part
do the same in both, and all others do anything. It is claimed that the part sees the same in both.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Fragment, Module, Mux, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from claims import Claims, assigned, needs_yosys
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import InputQueuedSwitch
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.multistage.extra_stage_cells import AvoidedLines
from multicube.hdl.families.multistage.extra_stage_network import Controls
from multicube.hdl.primitives.round_robin import RoundRobin
from multicube.hdl.switch import held, routed_switch
from multicube.hdl.switch.broadcast import CopyTracker
from multicube.hdl.terminals.partition import PartitionInterface
from proof_table import proves

pytestmark = [needs_yosys, pytest.mark.long]

PORTS, BITS = 8, 3


class Open(wiring.Component):
    """Is elaborated once, and lets claims see its submodules and registers."""

    module: Module | None = None

    def elaborate(self, platform: object) -> Module:
        if self.module is None:
            self.module = super().elaborate(platform)
        return self.module

    def part(self, name: str) -> Any:
        return getattr(self.elaborate(None).submodules, name)

    @property
    def state(self) -> Value:
        statements = Fragment.get(self.elaborate(None), None).statements["sync"]
        registers = {id(one): one for each in statements for one in assigned(each)}
        return Cat(registers.values())


class OpenSwitch(Open, InputQueuedSwitch):
    pass


class OpenArbiter(Open, RoundRobin):
    pass


class OpenTracker(Open, CopyTracker):
    pass


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "RoundRobin", OpenArbiter)
    monkeypatch.setattr(routed_switch, "CopyTracker", OpenTracker)


def divided(network: MultistageNetwork) -> FabricComponent:
    """The network behind interfaces whose masks, as its configuration, are inputs."""
    link = stream.Signature(network.packet)
    fabric = Fabric(
        {
            "i": In(link).array(PORTS),
            "o": Out(link).array(PORTS),
            "mask": In(BITS).array(PORTS),
            "bypass_extra": In(1),
            "bypass_last": In(1),
            "avoid": In(AvoidedLines(BITS)),
        }
    )
    pins = Controls(*(Pin(None, (name,)) for name in Controls._fields))
    terminals = network.place_controlled(fabric, pins)
    interface = CellType(PartitionInterface, packet=network.packet, tags=network.tags)
    for index, (entry, exit_) in enumerate(zip(*terminals)):
        straps = {"address": index, "mask_member": index, "mask_write": 1}
        name = fabric.place(Cell(f"partition_{index}", interface, straps)).name
        fabric.link(Pin(None, ("mask", index)), Pin(name, ("mask",)))
        fabric.link(Pin(None, ("i", index)), Pin(name, ("i",)))
        fabric.link(Pin(name, ("o",)), entry)
        fabric.link(exit_, Pin(None, ("o", index)))
    for name, cell in fabric.cells.items():
        if cell.type.component is InputQueuedSwitch:
            fabric.cells[name] = replace(cell, type=CellType(OpenSwitch, **cell.type.parameters))
    return FabricComponent(fabric)


def noninterference(routing: str, broadcast: int, *, rule: bool = True) -> Claims:
    """Claims about two copies, for all partitions, all lines to avoid, and each bypass.

    Besides what the part sees, they are about all buffers, so that they are inductive: those on the
    lines of the part hold the same in both copies, and each packet in a buffer has a tag that leads
    to the subnetwork whose line it is on. Without the `rule` they do not hold.
    """
    claims = Claims()
    m = claims.m
    network = MultistageNetwork(
        PORTS,
        switch="input-queued",
        depth=1,
        payload=1,
        extra_stage=1,
        routing=routing,
        broadcast=broadcast,
    )
    copies = [divided(network) for _ in range(2)]
    masks = [claims.symbol(BITS, f"mask_{t}") for t in range(PORTS)]
    controls = {name: claims.symbol(1, name) for name in ("bypass_extra", "bypass_last")}
    avoid = {name: claims.symbol(BITS, name) for name in ("label", "care", "destination")}
    own = claims.symbol(BITS, "own")

    # A partition: members of one subnetwork have the same mask.
    for t in range(PORTS):
        for u in range(PORTS):
            apart = (Const(t ^ u, BITS) & ~masks[t]).any()
            claims.assume(apart | (masks[t] == masks[u]))
    claims.assume(~(controls["bypass_extra"] & controls["bypass_last"]))
    if rule:
        for t in range(PORTS):
            apart = ((t ^ avoid["label"]) & avoid["care"] & ~masks[t]).any()
            claims.assume(apart | masks[t][0] | Cat(*controls.values()).any())
    mask = Value.cast(masks[0])
    for t in range(1, PORTS):
        mask = Mux(own == t, masks[t], mask)
    inside = [((own ^ t) & ~mask) == 0 for t in range(PORTS)]

    for number, copy in enumerate(copies):
        m.submodules[f"copy_{number}"] = copy.elaborate(None)
        m.d.comb += [getattr(copy, name).eq(value) for name, value in controls.items()]
        m.d.comb += [copy.avoid[name].eq(value) for name, value in avoid.items()]
        m.d.comb += [port.eq(value) for port, value in zip(copy.mask, masks)]

    for t in range(PORTS):
        for port, name in ((copies[0].i[t], "given"), (copies[1].i[t], "other")):
            valid, payload = (
                claims.free(1, f"{name}_valid_{t}"),
                claims.free(network.packet.size, f"{name}_{t}"),
            )
            if name == "other":
                valid = Mux(inside[t], copies[0].i[t].valid, valid)
                payload = Mux(inside[t], Value.cast(copies[0].i[t].payload), payload)
            # The masks are in force from the second cycle on.
            m.d.comb += [port.valid.eq(valid & claims.began), Value.cast(port.payload).eq(payload)]
        ready = claims.free(1, f"ready_{t}"), claims.free(1, f"other_ready_{t}")
        m.d.comb += copies[0].o[t].ready.eq(ready[0])
        m.d.comb += copies[1].o[t].ready.eq(Mux(inside[t], *ready))

    def alike(t: int, values: list[Value]) -> None:
        claims.claim(~inside[t] | (values[0] == values[1]))

    def alike_streams(t: int, streams: list[stream.Interface]) -> None:
        alike(t, [each.valid for each in streams])
        alike(t, [Mux(each.valid, Value.cast(each.payload), 0) for each in streams])

    for t in range(PORTS):
        alike(t, [copy.i[t].ready for copy in copies])
        alike_streams(t, [copy.o[t] for copy in copies])
        for copy in copies:
            in_force = copy.instances[f"partition_{t}"].in_force
            claims.claim(in_force == Mux(claims.began, masks[t], PORTS - 1))
        for boxes, hop in buffers(copies, t):
            heads = [box.part(f"queue_{hop.input}").o for box in boxes]
            alike_streams(t, heads)
            alike(t, [box.part(f"arbiter_{hop.output}").state for box in boxes])
            if broadcast:
                alike(t, [box.part(f"copies_{hop.input}").state for box in boxes])
            # One digit more: that of the extra stage, which pairs the lines that differ in bit 0.
            outside = Cat(~masks[t], ~masks[t][0])
            address = Const(t | (t & 1) << BITS if routing == "destination" else 0, BITS + 1)
            for head in heads:
                tag = head.payload.tag.rotate_right(hop.stage)
                claims.claim(~head.valid | (((tag ^ address) & outside) == 0))
                if broadcast:
                    doubled = head.payload.mask.rotate_right(hop.stage)
                    claims.claim(~head.valid | ((doubled & outside) == 0))
    return claims


def buffers(copies: list[FabricComponent], t: int) -> Iterator[tuple[list[OpenSwitch], Any]]:
    """The boxes of both copies on the straight path of a terminal, whose lines have its address."""
    plan = MultistageNetwork(PORTS, extra_stage=1).extra_plan
    for hop in plan.paths(t, t)[0]:
        yield [copy.instances[f"box_{hop.stage}_{hop.box}"] for copy in copies], hop


@proves(
    InputQueuedSwitch,
    PartitionInterface,
    says="Whatever the other parts of a partitioned network send, each part sees the same: its "
    "packets are neither changed nor blocked, even around a fault.",
    sizes="an Extra Stage Cube of 8 terminals, input queues of depth 1, all partitions that the "
    "network keeps apart, destination and XOR tags, with and without broadcast",
)
@pytest.mark.parametrize(
    ("routing", "broadcast"), list(itertools.product(["xor", "destination"], [0, 1]))
)
def test_parts_neither_change_nor_block_each_other(
    tmp_path: Path, routing: str, broadcast: int
) -> None:
    """Inductive: for all partitions that are kept, faults, traffic and waits, for ever."""
    assert noninterference(routing, broadcast).hold(tmp_path, 2, inductive=True)


def test_proof_needs_the_rule(tmp_path: Path) -> None:
    """Bounded: what is found is a fault that makes packets use the lines of another part."""
    assert not noninterference("xor", 0, rule=False).hold(tmp_path, 4)
