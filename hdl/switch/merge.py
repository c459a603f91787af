"""Packets of several inputs that are merged into one: where values of a group meet."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..graphs.routing.group_tree import Kind
from ..links.packet import Packet
from ..operations.folds import REDUCTIONS, fold_of, is_component
from ..primitives.round_robin import RoundRobin

__all__ = ["Groups", "Merge", "MergeRow"]


@dataclass(frozen=True)
class Groups:
    """What a switch does for groups of terminals.

    Attributes
    ----------
    count : int
        Entries of the tables, at least 1.
    reduction : str or type[wiring.Component]
        The operation that merges values, one of `operations.folds.REDUCTIONS`, or "none"; or a
        component that does it (`operations.folds.ComponentFold`).
    patience : int
        Cycles after which a packet that waits to be merged tells who is missing.
    """

    count: int
    reduction: str | type[wiring.Component] = "none"
    patience: int = 256

    def __post_init__(self) -> None:
        check_integer("Groups", self.count, 1)
        check_integer("Patience", self.patience, 1)
        if not is_component(self.reduction) and self.reduction not in ("none", *REDUCTIONS):
            raise InvalidValue(
                f"Reduction must be none, {', '.join(REDUCTIONS)}, not {self.reduction!r}"
            )

    @property
    def bits(self) -> int:
        """Bits of the number of a group."""
        return max(1, (self.count - 1).bit_length())

    @property
    def merges(self) -> bool:
        """Whether it merges packets."""
        return self.reduction != "none"


class MergeRow(data.StructLayout):
    """What a node does with the packets of a group that are merged.

    `children` are the inputs by which they come, and `exits` the output by which the merged one
    leaves. Only at the root, `around` are the outputs by which it leaves if it is for all members.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__({"children": inputs, "exits": outputs, "around": outputs})

    def number(self, values: Mapping[str, int]) -> int:
        """A row as a number."""
        return int(self.const(dict(values)).as_value().value)


class Merge(wiring.Component):
    """Merges packets of a group, one from each child of this node, flit by flit.

    A packet waits at its input until the headers of all children are there. Then one flit is taken
    from each at a time, and their payloads are merged. A packet that is shorter than others counts
    as if no more values came from it. Of several groups that wait, each is looked at in turn.

    Combinational from `i` to `o`, and from `o.ready` to `i[*].ready`: no cycle passes by.

    Parameters
    ----------
    packet : Packet
        With flits and groups.
    inputs, outputs : int
        Of the switch.
    groups : Groups
        With a reduction.
    single : bool
        Whether all packets have one flit.

    Members
    -------
    i : In(stream.Signature(packet)).array(inputs)
        Flits of packets that are to be merged only.
    group : Out(bits)
        The group that is looked up; the same one until a packet has left.
    row : In(MergeRow(inputs, outputs))
        Its entry.
    o : Out(stream.Signature(packet))
        The merged packet. From the root on, what is for all members is a multicast.
    exits : Out(outputs)
        By which it leaves; with the header.
    late : Out(inputs)
        The children that are missing, from when a packet has waited for `patience` cycles until
        some packets are merged. From registers.
    late_group : Out(bits)
        The group of this report.
    """

    def __init__(
        self, packet: Packet, *, inputs: int, outputs: int, groups: Groups, single: bool = False
    ) -> None:
        inputs = check_integer("Inputs", inputs, 1)
        outputs = check_integer("Outputs", outputs, 1)
        if not (packet.flits and packet.groups):
            raise InvalidValue("Packet must have flits and groups")
        self.packet = packet
        self.groups = groups
        self.single = single
        self.fold = fold_of(groups.reduction, packet.members["payload"])
        ports = stream.Signature(packet)
        super().__init__(
            {
                "i": In(ports).array(inputs),
                "group": Out(groups.bits),
                "row": In(MergeRow(inputs, outputs)),
                "o": Out(ports),
                "exits": Out(outputs),
                "late": Out(inputs),
                "late_group": Out(groups.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, bits = range(len(self.i)), self.groups.bits
        valid = Cat(port.valid for port in self.i)
        numbers = [port.payload.tag[:bits] for port in self.i]
        # Inside of packets: their group and kind, and whose have ended.
        busy, ended = Signal(), Signal(len(inputs))
        kept, kept_kind = Signal(bits), Signal(2)
        candidate, kind, own = Signal(bits), Signal(2), Signal(len(inputs))
        m.submodules.turn = turn = RoundRobin(len(inputs))
        m.d.comb += [
            turn.request.eq(valid & ~busy.replicate(len(inputs))),
            turn.taken.eq(1),
            self.group.eq(candidate | kept),
        ]
        for i in inputs:
            with m.If(turn.granted[i]):
                m.d.comb += [candidate.eq(numbers[i]), kind.eq(self.i[i].payload.kind)]
        m.d.comb += own.eq(Cat(valid[i] & (numbers[i] == candidate) for i in inputs))

        children, root = self.row.children, self.row.around.any()
        taken, missing = Signal(len(inputs)), Signal(len(inputs))
        m.d.comb += [
            taken.eq(children & ~ended),
            missing.eq(taken & ~Mux(busy, valid, own)),
            self.o.valid.eq(taken.any() & ~missing.any()),
        ]
        moves = self.o.valid & self.o.ready
        last = Cat(port.payload.last for port in self.i)
        left = Signal(len(inputs))
        m.d.comb += left.eq(0 if self.single else taken & ~last)
        with m.If(moves):
            m.d.sync += busy.eq(left.any())
            m.d.sync += ended.eq(Mux(left.any(), ended | (taken & last), 0))

        out = self.o.payload
        values = [Value.cast(port.payload.payload) for port in self.i]
        m.d.comb += [
            self.exits.eq(Mux(kind[0] & root, self.row.around, self.row.exits)),
            out.tag.eq(self.group),
            out.kind.eq(Mux(root & (kind == Kind.ALL_REDUCE), Kind.MULTICAST, kind) | kept_kind),
            Value.cast(out.payload).eq(self.fold.build_some(m, values, taken)),
            out.last.eq(~left.any()),
        ]
        with m.If(moves):
            m.d.sync += kept.eq(Mux(left.any(), out.tag, 0))
            m.d.sync += kept_kind.eq(Mux(left.any(), out.kind, 0))
        m.d.comb += [port.ready.eq(taken[i] & moves) for i, port in enumerate(self.i)]
        self._watch(m, valid.any() & ~busy & ~self.o.valid, missing, candidate)
        with m.If(moves & ~busy):
            m.d.sync += self.late.eq(0)
        return m

    def _watch(self, m: Module, waits: Value, missing: Value, group: Value) -> None:
        """Report who is missing after a packet has waited for long."""
        patience = self.groups.patience
        waited = Signal(range(patience + 1))
        with m.If(~waits):
            m.d.sync += waited.eq(0)
        with m.Elif(waited != patience):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += [self.late.eq(missing), self.late_group.eq(group)]
