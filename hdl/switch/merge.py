"""Packets of several inputs that are merged into one: where values of a group meet."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_field, check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..operations.folds import REDUCTIONS, fold_of, is_component
from ..primitives.round_robin import lowest

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
        Cycles after which a packet that waits to be merged reports which children are missing.
    """

    count: int
    reduction: str | type[wiring.Component] = "none"
    patience: int = 256

    def __post_init__(self) -> None:
        check_field(self, "count", "Groups", 1)
        check_field(self, "patience", "Patience", 1)
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
    leaves. Only at the `GroupTree.turn`, `around` are the outputs by which it leaves if it is for
    all members.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__({"children": inputs, "exits": outputs, "around": outputs})

    def number(self, values: Mapping[str, int]) -> int:
        """A row as a number."""
        return int(self.const(dict(values)).as_value().value)


class Merge(wiring.Component):
    """Merges packets of a group, one from each child of this node, flit by flit.

    A packet waits at its input until the headers of all children are there; of several groups that
    wait, each is looked at in turn. Then, from the next cycle on, one flit is shown of each at a
    time, and their payloads are merged. They leave together. A packet that is shorter than others
    counts as if no more values came from it.

    What is merged goes on from an input, the `lane`, in turn with its own packets; one of these
    that has no output yet lets it pass. Without a lane it goes on by itself.

    Combinational from `i` to `o`, and from `o.ready` to `i[*].ready`: no cycle passes by.

    Parameters
    ----------
    packet : Packet
        With flits and groups.
    inputs, outputs : int
        Of the switch.
    groups : Groups
        With a reduction.
    lane : int, optional
        An input that leads to all outputs.
    single : bool
        Whether all packets have one flit.
    passes : bool
        Whether packets can be read again.

    Members
    -------
    i : In(stream.Signature(packet)).array(inputs)
        The flits at the heads of the inputs' queues. Those are taken that are merged, and with a
        lane all of its input's.
    following : In(inputs)
        Which of them are no headers. Of the lane, whether what is shown has an output, or has left
        by one and is to leave by others. From registers.
    mergeable : In(inputs)
        The inputs, besides the lane, by which packets come that are to be merged.
    group : Out(bits)
        The group that is looked up.
    row : In(MergeRow(inputs, outputs))
        Its entry.
    o : Out(stream.Signature(packet))
        The merged packet, or what is at the head of the lane: a header that is to be merged is
        shown too, and not taken. From the turn on, what is for all members is a multicast.
    own : In(outputs)
        With a lane: the outputs of the header at its head.
    goes_on : In(1)
        With a lane: what `following` is of it in the next cycle.
    exits : Out(outputs)
        Those of what is shown; with the header.
    parts : Out(inputs)
        The inputs whose packets it is made of: the children, or the lane alone. From registers.
    stays : In(1)
        With `passes`: after this packet has left, it is read again.
    late : Out(inputs)
        The children that are missing, from when a packet has waited for `patience` cycles until
        some packets are merged. From registers.
    late_group : Out(bits)
        The group of this report.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        inputs: int,
        outputs: int,
        groups: Groups,
        lane: int | None = None,
        single: bool = False,
        passes: bool = False,
    ) -> None:
        inputs = check_integer("Inputs", inputs, 1)
        outputs = check_integer("Outputs", outputs, 1)
        if lane is not None:
            check_integer("Lane", lane, 0, inputs - 1)
        if not (packet.flits and packet.groups):
            raise InvalidValue("Packet must have flits and groups")
        self.packet = packet
        self.groups = groups
        self.lane = lane
        self.single = single
        self.passes = passes
        self.fold = fold_of(groups.reduction, packet.members["payload"])
        ports = stream.Signature(packet)
        members = {
            "i": In(ports).array(inputs),
            "following": In(inputs),
            "mergeable": In(inputs, init=(1 << inputs) - 1),
            "group": Out(groups.bits),
            "row": In(MergeRow(inputs, outputs)),
            "o": Out(ports),
            "exits": Out(outputs),
            "parts": Out(inputs, init=0 if lane is None else 1 << lane),
            "late": Out(inputs),
            "late_group": Out(groups.bits),
        }
        if lane is not None:
            members |= {"own": In(outputs), "goes_on": In(1)}
        if passes:
            members["stays"] = In(1)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, bits, lane = range(len(self.i)), self.groups.bits, self.lane
        alone = self.parts.init
        valid = Cat(port.valid for port in self.i)
        last = ~Const(0, len(inputs)) if self.single else Cat(port.payload.last for port in self.i)
        # Whether packets are merged; those that go on, or the lane's own, and have not ended.
        busy = Signal()
        parts = self.parts
        taken = Signal(len(inputs), init=alone)
        left = Signal(len(inputs))
        moves, tail, ends = (Signal(name=name) for name in ("moves", "tail", "ends"))
        m.d.comb += [
            left.eq(taken & ~last),
            moves.eq(self.o.valid & self.o.ready),
            tail.eq(moves & ~left.any()),
            ends.eq(tail & ~(self.stays if self.passes else 0)),
        ]
        merging = Cat(port.payload.kind[1] & ~bit for port, bit in zip(self.i, self.following))
        complete, around = self._look(m, busy, (self.mergeable | alone) & valid & merging)
        shown, free = self._own(m, busy, merging, complete, ends)
        begins = Signal()
        m.d.comb += begins.eq(complete & free)
        root = self.row.around.any()
        kept = Signal(bits)
        kept_kind = Signal(2)
        kept_exits = Signal(len(self.exits))
        m.d.sync += busy.eq(Mux(busy, ~ends, begins))
        with m.If(begins):
            m.d.sync += [
                parts.eq(self.row.children),
                taken.eq(self.row.children),
                kept.eq(self.group),
                kept_kind.eq(Cat(around, ~(around & root))),
                kept_exits.eq(Mux(around & root, self.row.around, self.row.exits)),
                self.late.eq(0),
            ]
        with m.Elif(ends):
            m.d.sync += [parts.eq(alone), taken.eq(alone)]
        with m.Elif(moves):
            # `left` is within `parts`; said here, inputs that are never children need no register.
            m.d.sync += taken.eq(parts & (left | tail.replicate(len(inputs))))

        out, own = self.o.payload, None if lane is None else self.i[lane].payload
        values = [Value.cast(port.payload.payload) for port in self.i]
        m.d.comb += [
            self.o.valid.eq(shown | (busy & ~(taken & ~valid).any())),
            out.tag.eq(kept if own is None else Mux(busy, kept, own.tag)),
            out.kind.eq(kept_kind if own is None else Mux(busy, kept_kind, own.kind)),
            self.exits.eq(kept_exits if own is None else Mux(busy, kept_exits, self.own)),
            Value.cast(out.payload).eq(self.fold.build_some(m, values, taken)),
            out.last.eq(~left.any()),
        ]
        m.d.comb += [port.ready.eq(taken[i] & moves) for i, port in enumerate(self.i)]
        return m

    def _look(self, m: Module, busy: Value, waits: Value) -> tuple[Signal, Signal]:
        """Whether all packets of a group that waits are there, and their kind."""
        numbers = [port.payload.tag[: self.groups.bits] for port in self.i]
        candidate = Signal(self.groups.bits)
        around = Signal()
        complete = Signal()
        missing = Signal(len(self.i))
        seen = Signal(len(self.i))
        chosen = Signal(len(self.i))
        m.d.comb += [chosen.eq(lowest(waits & ~seen)), self.group.eq(candidate)]
        for i, number in enumerate(numbers):
            with m.If(chosen[i]):
                m.d.comb += candidate.eq(number)
        own = Cat(waits[i] & (numbers[i] == candidate) for i in range(len(self.i)))
        looks = chosen.any() & ~busy
        all_members = Cat(port.payload.kind[0] for port in self.i) & self.row.children
        m.d.comb += [
            around.eq(all_members.any()),
            missing.eq(self.row.children & ~own),
            complete.eq(looks & (chosen & self.row.children).any() & ~missing.any()),
        ]
        # Those that were looked at in vain, until all were.
        with m.If(~complete):
            m.d.sync += seen.eq(Mux(looks, seen | chosen, 0))
        waiting = waits.any() & ~busy & ~complete
        self._watch(m, waiting, looks, missing, candidate)
        return complete, around

    def _own(
        self, m: Module, busy: Value, merging: Value, complete: Value, ends: Value
    ) -> tuple[Value, Value]:
        """Whether a flit of the lane's own is shown, and whether nothing of its own goes on."""
        if self.lane is None:
            return Const(0), Const(1)
        inside, shut, shown = self.following[self.lane], Signal(name="shut"), Signal(name="shown")
        m.d.comb += shown.eq(self.i[self.lane].valid & ~shut)
        # The next header waits for a packet that is complete.
        m.d.sync += shut.eq(Mux(busy, ~ends, complete & ~self.goes_on))
        return shown, ~inside & ~(shown & ~merging[self.lane])

    def _watch(self, m: Module, waits: Value, looks: Value, missing: Value, group: Value) -> None:
        """Report who is missing after a packet has waited for long."""
        patience = self.groups.patience
        waited = Signal(range(patience + 1))
        with m.If(~waits):
            m.d.sync += waited.eq(0)
        with m.Elif(waited != patience):
            m.d.sync += waited.eq(waited + 1)
        with m.Elif(looks):
            m.d.sync += [self.late.eq(missing), self.late_group.eq(group)]
