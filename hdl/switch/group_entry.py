"""Where packets of groups enter a switch: its ports to their table, and what is merged."""

from collections.abc import Mapping
from typing import Any, Protocol

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ..graphs.routing.group_tree import Kind
from ..primitives.replay_queue import ReplayQueue
from .copying import Copying
from .merge import Groups, Merge, MergeRow

__all__ = ["group_exits", "group_members", "place_merge"]


class _Waiting(Protocol):
    """What is at the head of a queue."""

    @property
    def head(self) -> stream.Interface: ...
    @property
    def word(self) -> Value: ...
    @property
    def copying(self) -> Copying | None: ...


def group_members(groups: Groups, inputs: int, outputs: int) -> dict[str, Any]:
    """The members of a switch that is to serve groups."""
    found: dict[str, Any] = {
        "group": Out(groups.bits).array(inputs),
        "copies": In(outputs).array(inputs),
    }
    if groups.merges:
        found |= {
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
    m: Module, switch: Any, groups: Groups, waiting: Mapping[int, _Waiting], replay: int
) -> tuple[Merge, stream.Interface, ReplayQueue | None]:
    """Place what merges the packets at the heads of a switch's queues.

    Returns it, and where the merged flits wait, with their exits: in a register, or in a queue of
    `replay` flits that can be read again.
    """
    inputs, outputs = len(switch.i), len(switch.o)
    m.submodules.merge = merge = Merge(
        switch.packet, inputs=inputs, outputs=outputs, groups=groups, single=switch.single
    )
    m.d.comb += [
        switch.merged.eq(merge.group),
        merge.row.eq(switch.row),
        switch.late.eq(merge.late),
        switch.late_group.eq(merge.late_group),
    ]
    for i, one in waiting.items():
        assert one.copying is not None
        m.d.comb += [
            merge.i[i].valid.eq(one.head.valid & one.copying.merging),
            Value.cast(merge.i[i].payload).eq(one.word),
        ]
    layout = data.StructLayout({"flit": switch.packet, "exits": outputs})
    queue = ReplayQueue(layout, depth=replay) if replay else None
    if queue is not None:
        m.submodules.queue_merge = queue
        source, head = queue.i, queue.o
    else:
        source, head = (
            stream.Signature(layout).create(path=(f"{name}_merged",)) for name in ("next", "last")
        )
        m.d.comb += source.ready.eq(~head.valid | head.ready)
        with m.If(source.ready):
            m.d.sync += [head.valid.eq(source.valid), head.payload.eq(source.payload)]
    m.d.comb += [
        source.valid.eq(merge.o.valid),
        merge.o.ready.eq(source.ready),
        source.payload.flit.eq(merge.o.payload),
        source.payload.exits.eq(merge.exits),
    ]
    return merge, head, queue
