"""Where packets of groups enter a switch: its ports to their table, and what is merged."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from ..graphs.routing.group_tree import Kind
from ..links.packet import Packet
from .entry import at_header
from .merge import Groups, Merge, MergeRow
from .waiting import Replayed, Waiting

__all__ = ["group_exits", "group_members", "place_merge"]


def group_members(groups: Groups, inputs: int, outputs: int) -> dict[str, Any]:
    """The members of a switch that is to serve groups."""
    found: dict[str, Any] = {
        "group": Out(groups.bits).array(inputs),
        "copies": In(outputs).array(inputs),
    }
    if groups.merges:
        found |= {
            "mergeable": In(inputs, init=(1 << inputs) - 1),
            "merged": Out(groups.bits),
            "row": In(MergeRow(inputs, outputs)),
            "late": Out(inputs),
            "late_group": Out(groups.bits),
        }
    return found


def group_exits(m: Module, switch: Any, i: int, groups: Groups, single: Value) -> Value:
    """The outputs of an arriving header, one bit each: `single` are those of a packet for one
    terminal. One that is to be merged has none."""
    header = switch.i[i].payload
    m.d.comb += switch.group[i].eq(header.tag[: groups.bits])
    several = Mux(header.kind == Kind.MULTICAST, switch.copies[i], 0)
    return Mux(header.kind == Kind.SINGLE, single, several)


def place_merge(
    m: Module,
    switch: Any,
    groups: Groups,
    waiting: Mapping[int, Waiting],
    flit: Packet,
    lane: int | None,
) -> dict[int, Waiting]:
    """Place what merges the packets at the heads of a switch's queues; return what waits then.

    Merged flits, of the layout `flit`, go on from the input `lane`, or if it is None, from one more
    input.
    """
    inputs, outputs = len(switch.i), len(switch.o)
    passes = any(one.queue is not None for one in waiting.values())
    m.submodules.merge = merge = Merge(
        switch.packet,
        inputs=inputs,
        outputs=outputs,
        groups=groups,
        lane=lane,
        single=switch.single,
        passes=passes,
    )
    m.d.comb += [
        merge.mergeable.eq(switch.mergeable),
        switch.merged.eq(merge.group),
        merge.row.eq(switch.row),
        switch.late.eq(merge.late),
        switch.late_group.eq(merge.late_group),
    ]
    again = Replayed("merge") if passes else None
    found = {}
    for i, one in waiting.items():
        moves = one.head.valid & one.head.ready
        m.d.comb += [
            merge.i[i].valid.eq(one.head.valid),
            Value.cast(merge.i[i].payload).eq(one.word),
        ]
        begins = None
        if i != lane:
            begins = at_header(m, f"{i}", moves, one.last)
            m.d.comb += merge.following[i].eq(~begins)
        found[i] = one._replace(merged=merge.i[i].ready, begins=begins)
        if one.queue is not None and again is not None:
            # While its packet is merged, it is read again as the merged one.
            own = again if i == lane else Replayed(f"{i}")
            merged = merge.parts[i] & again.stays
            m.d.comb += [one.queue.stays.eq(own.stays | merged), one.queue.last.eq(one.last)]
            found[i] = found[i]._replace(queue=own)
    if again is not None:
        m.d.comb += merge.stays.eq(again.stays)
    if lane is not None:
        m.d.comb += [
            merge.own.eq(waiting[lane].stored),
            waiting[lane].head.ready.eq(merge.i[lane].ready),
        ]
    last = merge.o.payload.last if flit.flits else Const(1)
    word = merge.o.payload.as_value()[: flit.size]
    merged = Waiting(merge.o, word, last, merge.o.payload, merge.exits, Const(1), again)
    if lane is None:
        return found | {inputs: merged}
    return found | {lane: merged._replace(begun=merge.following[lane], goes_on=merge.goes_on)}
