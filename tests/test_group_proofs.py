# amaranth: UnusedElaboratable=no
"""Proofs that each destination of a multicast gets each flit once, and that each child's values are
merged once."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux, Signal, Value
from amaranth.lib import data
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.replay_queue import ReplayQueue
from multicube.hdl.routers.group_table import GroupTable
from multicube.hdl.routers.worm_router import WormRouter
from multicube.hdl.switch.merge import Groups, Merge
from multicube.hdl.switch.shape import InputChannel, OutputChannel, RouterShape
from proof_table import proves

pytestmark = needs_yosys

NUMBERS = data.StructLayout({"first": 2, "second": 2, "mine": 1})
"""The number of a flit among those of the first input, or of the second, modulo 4."""

PACKET = Packet(1, NUMBERS, flits=True, groups=True)
SHAPE = RouterShape(
    (InputChannel((0, 0)), InputChannel((-1, 0))),
    (OutputChannel((0, 0), (0, 1)), OutputChannel((-1, 0), (0, 1))),
)


def sends(claims: Claims, port: Any, name: str, kind: int, tag: Value) -> Signal:
    """Packets of two flits, of a kind; returns the number of the flit that is offered."""
    count = Signal(2, name=f"count_{name}")
    m, valid = claims.m, claims.free(1, f"valid_{name}")
    noise = claims.free(3, f"noise_{name}")
    header = ~count[0]
    m.d.comb += [
        port.valid.eq(valid),
        port.payload.kind.eq(Mux(header, kind, noise[:2])),
        port.payload.tag.eq(Mux(header, tag, noise[2])),
        port.payload.last.eq(count[0]),
    ]
    with m.If(port.valid & port.ready):
        m.d.sync += count.eq(count + 1)
    return count


def router(claims: Claims, **given: Any) -> Any:
    """A router of a link and a terminal, whose outputs are ready at any time."""
    dut = WormRouter(PACKET, SHAPE, groups=Groups(1, "or", 2), **given)
    claims.m.submodules.dut = dut
    for port, ready in zip(dut.o, claims.free(2, "ready")):
        claims.m.d.comb += port.ready.eq(ready)
    for port, space in zip(dut.open, claims.free(1, "open")) if dut.guarded_outputs else ():
        claims.m.d.comb += port.eq(space)
    return dut


def copies(**given: Any) -> Claims:
    """Multicasts of the first input, amid packets for one terminal of the second."""
    claims = Claims()
    m, dut = claims.m, router(claims, **given)
    wanted, goal = claims.symbol(2, "wanted"), claims.free(1, "goal")
    claims.assume(wanted.any())
    number = sends(claims, dut.i[0], "first", Kind.MULTICAST, claims.free(1, "tag"))
    sends(claims, dut.i[1], "second", Kind.SINGLE, goal)
    m.d.comb += [
        dut.i[0].payload.payload.first.eq(number),
        dut.i[0].payload.payload.mine.eq(1),
        dut.i[1].payload.payload.mine.eq(0),
        *(port.eq(wanted) for port in dut.copies),
        *(exits.eq(Mux(tag[0], 2, 1)) for exits, tag in zip(dut.exits, dut.tag)),
    ]
    for j, port in enumerate(dut.o):
        came, shown = Signal(2, name=f"came_{j}"), port.payload.payload
        mine = port.valid & shown.mine
        with m.If(mine & port.ready):
            m.d.sync += came.eq(came + 1)
        claims.claim(~mine | (wanted[j] & (shown.first == came)))
        claims.claim(~mine | (port.payload.last == came[0]))
        held = claims.past(port.valid & ~port.ready)
        given_now = Value.cast(port.payload)
        claims.claim(~held | (port.valid & (given_now == claims.past(given_now))))
    return claims


@pytest.mark.long
@proves(
    WormRouter,
    says="Each exit of a multicast takes each of its flits once, in order, and no other exit "
    "takes any. The stream rule holds.",
    sizes="a link and a terminal, packets of 2 flits; copies at once with depth 1, copies in "
    "passes with depth 2",
)
@pytest.mark.parametrize(
    "given",
    [long({"depth": 1}), {"depth": 2, "switching": "cut-through", "longest": 2}],
    ids=["at once", "in passes"],
)
def test_each_exit_takes_each_flit_once(tmp_path: Path, given: dict[str, Any]) -> None:
    assert copies(**given).hold(tmp_path)


def merges(**given: Any) -> Claims:
    """Values of two children, which are merged and go to the link."""
    claims = Claims()
    m, dut = claims.m, router(claims, **given)
    for i, field in enumerate(("first", "second")):
        number = sends(claims, dut.i[i], field, Kind.REDUCE, claims.free(1, f"tag_{field}"))
        m.d.comb += dut.i[i].payload.payload[field].eq(number)
    m.d.comb += [dut.row.children.eq(0b11), dut.row.exits.eq(0b01)]
    came, out = Signal(2, name="came"), dut.o[0]
    with m.If(out.valid & out.ready):
        m.d.sync += came.eq(came + 1)
    shown = out.payload.payload
    claims.claim(~dut.o[1].valid)
    claims.claim(~out.valid | ((shown.first == came) & (shown.second == came)))
    claims.claim(~out.valid | (out.payload.last == came[0]))
    claims.claim(~(out.valid & ~came[0]) | (out.payload.kind == Kind.REDUCE))
    held = claims.past(out.valid & ~out.ready)
    value = Value.cast(out.payload)
    claims.claim(~held | (out.valid & (value == claims.past(value))))
    return claims


@proves(
    Merge,
    says="In a router, a merged flit is made of one flit of each child, and the next merged flit "
    "of the next one of each. Packets stay whole, and the stream rule holds.",
    sizes="2 children, packets of 2 flits, depth 1",
)
def test_each_child_is_merged_once(tmp_path: Path) -> None:
    assert merges(depth=1).hold(tmp_path)


@proves(
    ReplayQueue,
    says="The queue shows the flits of a packet in order. If the packet is to stay, it shows them "
    "again from the header on; if not, those of the next packet. None is lost.",
    sizes="depth 2, packets of 2 flits",
)
def test_replay_queue_shows_packets_again(tmp_path: Path) -> None:
    claims = Claims()
    m = claims.m
    shape = data.StructLayout({"number": 2, "packet": 2})
    m.submodules.dut = dut = ReplayQueue(shape, depth=2)
    entered, packet, place = Signal(3), Signal(2), Signal()
    stays, again = claims.free(1, "stays"), Signal()
    m.d.comb += [
        dut.i.valid.eq(claims.free(1, "valid")),
        dut.i.payload.number.eq(entered[0]),
        dut.i.payload.packet.eq(entered[1:]),
        dut.o.ready.eq(claims.free(1, "ready")),
        dut.stays.eq(Mux(place, again, stays)),
        dut.last.eq(dut.o.payload.number),
    ]
    with m.If(dut.i.valid & dut.i.ready):
        m.d.sync += entered.eq(entered + 1)
    with m.If(dut.o.valid & dut.o.ready):
        m.d.sync += [place.eq(~place), again.eq(dut.stays)]
        with m.If(place & ~dut.stays):
            m.d.sync += packet.eq(packet + 1)
    claims.claim(
        ~dut.o.valid | ((dut.o.payload.number == place) & (dut.o.payload.packet == packet))
    )
    waiting = Signal(2)
    m.d.sync += waiting.eq(Mux((dut.level != 0) & ~dut.o.valid, waiting + 1, 0))
    claims.claim((waiting == 0) | (dut.stays & place))
    assert claims.hold(tmp_path)


@proves(
    GroupTable,
    says="The table shows the row of the group that is asked for.",
    sizes="2 groups, 3 inputs",
)
def test_group_table_shows_its_rows(tmp_path: Path) -> None:
    claims = Claims()
    m, copies_, merged = claims.m, (1, 3), (0b01_10_011, 0b10_01_111)
    m.submodules.dut = dut = GroupTable(
        groups=Groups(2, "add"), inputs=3, outputs=2, copies=copies_, merges=merged
    )
    numbers = [claims.free(1, f"number_{i}") for i in range(4)]
    m.d.comb += [port.eq(number) for port, number in zip([*dut.group, dut.merged], numbers)]
    for number, exits in zip(numbers, dut.exits):
        claims.claim(exits == Mux(number, copies_[1], copies_[0]))
    claims.claim(Value.cast(dut.row) == Mux(numbers[3], merged[1], merged[0]))
    assert claims.hold(tmp_path)
