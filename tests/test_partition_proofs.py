# amaranth: UnusedElaboratable=no
"""Proofs that no packet leaves its partition, on the hardware of a network of eight terminals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import InputQueuedSwitch
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.hdl.terminals.partition import PartitionInterface
from proof_table import proves

pytestmark = needs_yosys

PORTS, BITS = 8, 3

# What a packet carries for the proof: who sent it, and the mask that was in force then.
WITNESS = data.StructLayout({"source": BITS, "mask": BITS})


class OpenSwitch(InputQueuedSwitch):
    """Lets claims see the heads of its queues."""

    module: Module | None = None

    def elaborate(self, platform: object) -> Module:
        if self.module is None:
            self.module = super().elaborate(platform)
            queues = [getattr(self.module.submodules, f"queue_{i}") for i in range(self.radix)]
            self.heads: list[stream.Interface] = [queue.o for queue in queues]
        return self.module


class TagLeaks(PartitionInterface):
    """Does not enforce the tag."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.tag.eq(self.i.payload.tag)
        return m


class BroadcastLeaks(PartitionInterface):
    """Does not enforce the broadcast mask."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.mask.eq(self.i.payload.mask)
        return m


class Restless(PartitionInterface):
    """Lets a new mask come into force while a header waits."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        selected = ((self.address ^ self.mask_member) & ~self.mask) == 0
        with m.If(self.mask_write & selected):
            m.d.sync += self.in_force.eq(self.mask)
        return m


def confinement(
    parameters: dict[str, Any],
    interface: type[PartitionInterface] = PartitionInterface,
    *,
    buffers: bool = True,
) -> Any:
    """Claims about all outputs, and all buffers, of a partitioned network of eight terminals.

    Anything may be sent, and any masks written, at any time. A packet that set out from S under
    the mask M may only ever be where the address, as far as it has been replaced, agrees with S in
    all bits in which M is 0; and its tag and broadcast mask must not lead away from there. At the
    outputs this says that it arrives within the partition: the members of a subnetwork are all
    addresses that agree with S where M is 0, and every member has this M.
    """
    claims = Claims()
    m = claims.m
    network = MultistageNetwork(
        PORTS, switch="input-queued", depth=1, payload=WITNESS, **parameters
    )
    fabric = PartitionedNetwork(network).fabric
    opened = {InputQueuedSwitch: OpenSwitch, PartitionInterface: interface}
    for name, cell in fabric.cells.items():
        kind = CellType(opened[cell.type.component], **cell.type.parameters)
        fabric.cells[name] = replace(cell, type=kind)
    dut = FabricComponent(fabric)
    m.submodules.dut = dut.elaborate(None)
    for port in ("mask", "mask_member"):
        m.d.comb += getattr(dut, port).eq(claims.free(BITS, port))
    m.d.comb += dut.mask_write.eq(claims.free(1, "mask_write"))

    tags, plan = network.tags, network.plan

    def in_stage_order(value: Value) -> Value:
        return Cat(value[j] for j in reversed(tags.destination_digits))

    for terminal in range(PORTS):
        sent, received = dut.i[terminal], dut.o[terminal]
        m.d.comb += [
            sent.valid.eq(claims.free(1, f"valid_{terminal}")),
            sent.payload.tag.eq(claims.free(BITS, f"tag_{terminal}")),
            sent.payload.payload.source.eq(terminal),
            sent.payload.payload.mask.eq(dut.instances[f"partition_{terminal}"].in_force),
            received.ready.eq(claims.free(1, f"ready_{terminal}")),
        ]
        if network.packet.broadcast:
            m.d.comb += sent.payload.mask.eq(claims.free(BITS, f"broadcast_{terminal}"))
        witness = received.payload.payload
        inside = ((witness.source ^ terminal) & ~witness.mask) == 0
        claims.claim(~received.valid | inside)

        if not buffers:
            continue
        # The straight path from a terminal to itself names, stage by stage, the buffers that a
        # packet is in whose address, half replaced, is this terminal's.
        for hop in plan.path(terminal, terminal):
            switch = dut.instances[f"box_{hop.stage}_{hop.box}"]
            switch.elaborate(None)
            head = switch.heads[hop.input]
            witness = head.payload.payload
            outside = in_stage_order(~witness.mask)
            own = in_stage_order(witness.source) if tags.routing == "destination" else 0
            tag = head.payload.tag.rotate_right(hop.stage)
            kept = ((tag ^ own) & outside) == 0
            if network.packet.broadcast:
                kept &= (head.payload.mask.rotate_right(hop.stage) & outside) == 0
            inside = ((witness.source ^ terminal) & ~witness.mask) == 0
            claims.claim(~head.valid | (inside & kept))
    return claims


@proves(
    PartitionInterface,
    says="No packet leaves its partition, whatever is sent and whatever masks are written.",
    sizes="cube, omega and flip networks of 8 terminals, input queues of depth 1, destination and "
    "XOR tags, with and without broadcast",
)
@pytest.mark.parametrize(
    ("wiring", "broadcast", "routing"),
    [
        *(long("cube", 0, "destination"), ("cube", 0, "xor")),
        *(long("cube", 1, "destination"), long("cube", 1, "xor")),
        *(long("omega", 1, "destination"), long("omega", 1, "xor")),
        *(long("flip", 1, "destination"), long("flip", 1, "xor")),
    ],
)
def test_no_packet_leaves_its_partition(
    tmp_path: Path, wiring: str, broadcast: int, routing: str
) -> None:
    """Inductive: for all tags, broadcast masks, sources, partitions and waits, for ever."""
    parameters = {"wiring": wiring, "routing": routing, "broadcast": broadcast}
    assert confinement(parameters).hold(tmp_path, 2, inductive=True)


@pytest.mark.parametrize(
    ("routing", "interface"),
    [
        *(long("destination", TagLeaks), ("destination", BroadcastLeaks)),
        *(long("xor", TagLeaks), long("xor", BroadcastLeaks)),
    ],
)
@pytest.mark.long
def test_proof_finds_what_is_not_enforced(
    tmp_path: Path, routing: str, interface: type[PartitionInterface]
) -> None:
    """At the outputs only: what is found is a packet that really gets out."""
    claims = confinement({"routing": routing, "broadcast": 1}, interface, buffers=False)
    assert not claims.hold(tmp_path)


def enforcement(
    routing: str, *, flits: bool, interface: type[PartitionInterface] = PartitionInterface
) -> Any:
    """Claims about one interface: what it sends, of what it changes nothing, and when masks change.

    The terminal keeps what it offers until it is taken; else anything may happen.
    """
    claims = Claims()
    m = claims.m
    packet = Packet(BITS, 2, broadcast=True, flits=flits)
    m.submodules.dut = dut = interface(packet, multistage_plan("omega", PORTS).tags(routing))
    address, mask = claims.symbol(BITS, "address"), claims.free(BITS, "mask")
    member, write = claims.free(BITS, "member"), claims.free(1, "write")
    given, ready = claims.free(packet.size, "given"), claims.free(1, "ready")
    valid = claims.free(1, "valid")
    m.d.comb += [
        dut.address.eq(address),
        dut.mask.eq(mask),
        dut.mask_member.eq(member),
        dut.mask_write.eq(write),
        dut.i.valid.eq(valid),
        Value.cast(dut.i.payload).eq(given),
        dut.o.ready.eq(ready),
    ]
    waiting = claims.past(valid & ~ready)
    claims.assume(~waiting | (valid & (given == claims.past(given))))

    header = Signal(init=1)
    if flits:
        with m.If(valid & ready):
            m.d.sync += header.eq(dut.i.payload.last)
    allowed = dut.in_force
    own = address & ~allowed if routing == "destination" else 0
    sent, arriving = dut.o.payload, dut.i.payload
    claims.claim((dut.o.valid == valid) & (dut.i.ready == ready))
    claims.claim(sent.payload == arriving.payload)
    if flits:
        claims.claim(sent.last == arriving.last)
    # The order of the stages of eight lines in the omega network is that of the address bits.
    claims.claim(sent.tag == Mux(header, arriving.tag & allowed | own, arriving.tag))
    claims.claim(sent.mask == Mux(header, arriving.mask & allowed, arriving.mask))

    last = Signal(BITS, init=PORTS - 1)
    agrees = Cat((address[j] == member[j]) | mask[j] for j in range(BITS)).all()
    with m.If(write & agrees):
        m.d.sync += last.eq(mask)
    held = claims.past(valid & ~ready & header)
    expected = Mux(held, claims.past(dut.in_force), last)
    claims.claim(dut.in_force == Mux(claims.began, expected, PORTS - 1))
    claims.claim(~waiting | (Value.cast(sent) == claims.past(Value.cast(sent))))
    return claims


@pytest.mark.one_in(2)
@proves(
    PartitionInterface,
    says="The interface sends effective tags, and changes nothing else. A header that waits does "
    "not change. The mask in force is the one that was last written for this subnetwork.",
    sizes="3 address bits, destination and XOR tags, packets of one flit and of any length",
)
@pytest.mark.parametrize("flits", [False, True], ids=["packets", "flits"])
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_interface_sends_effective_tags(tmp_path: Path, routing: str, flits: bool) -> None:
    """E = T AND M, or D AND M OR S AND NOT M, in headers only; a header that waits stays
    as it is, and else the mask is the one that was last written to this subnetwork."""
    assert enforcement(routing, flits=flits).hold(tmp_path)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("interface", [TagLeaks, BroadcastLeaks, Restless])
def test_proof_finds_an_interface_that_is_wrong(
    tmp_path: Path, interface: type[PartitionInterface]
) -> None:
    assert not enforcement("xor", flits=True, interface=interface).hold(tmp_path)
