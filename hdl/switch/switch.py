"""The switch: what enters it, where it may go, who gets an output, and how it leaves."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.arbiters import arbitrate, check_arbiter
from ..primitives.arrival_queue import IN_REGISTERS, ArrivalQueue
from ..primitives.output_buffer import OutputBuffer
from ..primitives.replay_queue import ReplayQueue
from ..primitives.request_queue import MOST_AHEAD
from ..primitives.round_robin import lowest
from .copying import Copying
from .crossing import cross
from .discarding import discarding
from .entry import InputQueue, at_header, decided
from .exit import Exit
from .grant import Grant
from .group_entry import group_exits, group_members, place_merge
from .held import Head, hold
from .merge import Groups
from .route import RouteLogic
from .routed_switch import RoutedSwitch
from .selection import Selector
from .shape import RouterShape, space_needed
from .waiting import Waiting

__all__ = ["Switch"]

_GRANT, _EXIT = Grant(), Exit()

_AHEAD = 5, 8
"""Fewest and most inputs and outputs of boxes whose queues read outputs ahead."""


class Switch(RoutedSwitch):
    """A switch is five choices: its shape, entry, route, grant and exit.

    Words, which are packets or flits of them, wait at the inputs, and leave by the outputs that
    their header may take. The flits of two packets never mix on a channel.

    *Who remembers the output of a worm*: where headers have no choice and can't be held up by the
    queue behind a link, the arbiter of an output does: it holds its grant until the tail has left.
    Otherwise each input has a register for it. In a switch of packets that are single words there
    is nothing to remember.

    Parameters
    ----------
    packet : Packet
    shape : RouterShape
    route : RouteLogic or None
        None if outputs are looked up outside.
    entry : InputQueue
    grant : Grant
    exit : Exit
    single : bool
        Whether packets with flits have one flit each.
    levels : bool
        Whether it has outputs for the numbers of flits in its queues.
    groups : Groups, optional
        With it, packets may be for groups: multicasts are copied (`Copying`), and with a reduction
        others are merged (`Merge`). What is merged goes on from an input that leads to all outputs,
        such as a terminal's, in turn with its packets; if there is none, it is one more input.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.
    open : In(1).array(guarded outputs)
        For each of `shape.guarded_outputs(switching)`, whether a header may enter the queue behind
        it.
    space : Out(1).array(guarded inputs)
        For each of `shape.guarded_inputs(switching)`, the same of this router's queue.
    freed : Out(1).array(credited inputs)
        For each of `shape.credited_inputs`, that a flit leaves its queue.
    level : Out(range(depth + 1)).array(link inputs)
        With `levels`: flits in the queue of each input from a link. From registers.
    discarded : Out(link inputs)
        With a timeout: for each input from a link, that a packet begins to be discarded.
    group : Out(bits).array(inputs)
        With groups: the groups of arriving headers.
    copies : In(outputs).array(inputs)
        With groups: the outputs of a multicast for each of these.
    mergeable, merged, row, late, late_group
        With a reduction: as in `Merge`; `merged` is its `group`.

    Raises
    ------
    TypeError, ValueError
        If the choices do not go together.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        route: RouteLogic | None,
        entry: InputQueue,
        grant: Grant = _GRANT,
        exit: Exit = _EXIT,
        single: bool = False,
        levels: bool = False,
        groups: Groups | None = None,
    ) -> None:
        self.entry = entry
        self.groups = groups
        self.grant = grant
        self.exit = exit
        self.single = single or not packet.flits
        self.levels = levels
        check_arbiter(grant.arbiter, shape.most_inputs)
        if entry.refill and shape.choice:
            raise InvalidValue("Refill must be off if headers have a choice of outputs")
        if grant.timeout and shape.choice:
            raise InvalidValue("Timeout must be 0 if headers have a choice of outputs")
        if entry.refill and max(map(len, shape.links)) > 2:
            raise InvalidValue("Refill must be off if a link has more than two channels")
        self.guarded_outputs = shape.guarded_outputs(exit.switching)
        self.guarded_inputs = shape.guarded_inputs(exit.switching)
        members = {}
        for name, flow, count in (
            ("open", In, len(self.guarded_outputs)),
            ("space", Out, len(self.guarded_inputs)),
            ("freed", Out, len(shape.credited_inputs)),
        ):
            if count:
                members[name] = flow(1).array(count)
        links = sum(not one.is_terminal for one in shape.inputs)
        if levels:
            members["level"] = Out(range(entry.depth + 1)).array(links)
        if grant.timeout and links:
            self.meters = (Meter("discarded", "discarded", "pulses"),)
            members["discarded"] = Out(links)
        if groups is not None:
            members |= group_members(groups, len(shape.inputs), len(shape.outputs))
        super().__init__(
            packet,
            shape,
            logic=route,
            selection=grant.selection,
            weights=grant.weights,
            random=grant.arbiter == "random",
            members=members,
        )

    @property
    def unhindered(self) -> bool:
        """Whether a header that has been granted its output may always leave by it, in turn."""
        hindered = self.shape.choice or self.guarded_outputs or self.grant.timeout or self.groups
        return not hindered and self.grant.arbiter == "round-robin"

    @property
    def behind(self) -> bool:
        """Whether the outputs of a header are found behind its queue, and not stored in it.

        A worm keeps what its route needs of the tag: of this, only a digit is short.
        """
        if self.logic is None or not self.logic.quick or self.groups:
            return False
        return self.logic.rotates > 0 or (self.single and self.unhindered)

    @property
    def ahead(self) -> bool:
        """Whether outputs are stored, and read a cycle before a packet is first in its queue.

        So arbiters begin with registers, which takes more tables: in boxes of five to eight inputs
        or outputs, whose arbiters and multiplexers are deep.
        """
        words = self.behind and not (self.packet.flits or self.packet.broadcast)
        fits = 2 <= self.entry.depth <= MOST_AHEAD and not self.entry.refill
        plain = self.grant.decision == self.shape.lanes == 1
        plain = plain and not (self.levels or self.shape.credited_inputs)
        fewest, most = _AHEAD
        return words and fits and plain and fewest <= max(len(self.i), len(self.o)) <= most

    @property
    def holds(self) -> bool:
        """Whether arbiters remember the outputs of worms, by holding their grants.

        If outputs are stored, one bit each, registers for them make a shorter path.
        """
        return self.unhindered and (self.single or self.behind)

    @property
    def registers(self) -> bool:
        """Whether the output of a worm is in a register from its header on.

        So arbiters begin with registers. Otherwise it is from the flit behind the header on. It is
        so where queues are registers themselves.
        """
        worms = self.holds and not (self.single or self.packet.broadcast)
        return worms and self.entry.depth <= IN_REGISTERS

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Inputs without any turn have nothing behind them.
        inputs = [i for i in range(len(self.shape.inputs)) if self._exits(i)]
        selector = self._selector(m)
        receive = self._ahead if self.ahead else self._receive
        waiting = {i: receive(m, i, selector) for i in inputs}
        if self.groups is not None and self.groups.merges:
            waiting = place_merge(m, self, self.groups, waiting, self._stored_flit, self._lane)
        outputs = [self._output(m, j) for j in range(len(self.o))]
        if self.holds:
            self._hold(m, platform, waiting, outputs)
        else:
            self._keep(m, platform, waiting, outputs, selector)
        return m

    @property
    def _lane(self) -> int | None:
        """The terminal's input that leads to all outputs, if there is one."""
        everywhere = [*range(len(self.o))]
        inputs = enumerate(self.shape.inputs)
        return next(
            (i for i, one in inputs if one.is_terminal and self._exits(i) == everywhere), None
        )

    def _exits(self, i: int) -> list[int]:
        """As in `RoutedSwitch`; what is merged leads to all outputs."""
        return super()._exits(i) if i < len(self.shape.inputs) else [*range(len(self.o))]

    def _output(self, m: Module, j: int) -> stream.Interface:
        """The stream into output j, through its buffer if there is one."""
        if not self.exit.buffer:
            return self.o[j]
        buffer = OutputBuffer(self.packet, depth=self.exit.buffer)
        m.submodules[f"buffer_{j}"] = buffer
        wiring.connect(m, buffer.o, wiring.flipped(self.o[j]))
        return buffer.i

    def _receive(self, m: Module, i: int, selector: Selector | None) -> Waiting:
        """The queue of an input, and what is at its head."""
        exits, source = self._exits(i), self.i[i]
        behind = self.behind
        layout = self._stored_flit
        fields = {"flit": layout, "exits": len(exits)}
        shape = layout if behind else data.StructLayout(fields)
        queue, arrival = self.entry.place(
            m, f"{i}", shape, source, self.packet.flits, self.registers
        )
        head, replays = queue.o, isinstance(queue, ReplayQueue)
        entering = arrival.payload if behind else arrival.payload.flit
        m.d.comb += entering.eq(source.payload.as_value()[: layout.size])
        if not behind:
            route = Signal(len(self.shape.outputs), name=f"route_{i}")
            offered = self._permitted(m, i, source.payload.tag)
            if self.groups is not None:
                offered = group_exits(m, self, i, self.groups, offered)
            if selector is not None:
                enters = arrival.valid & arrival.ready
                begins = at_header(m, f"{i}", enters, source.payload.last)
                m.d.comb += [
                    selector.offered[i].eq(offered),
                    selector.accepted[i].eq(enters & begins),
                ]
                offered = selector.exits[i]
            m.d.comb += [route.eq(offered), arrival.payload.exits.eq(Cat(route[j] for j in exits))]
        if i in self.guarded_inputs:
            space = self.space[self.guarded_inputs.index(i)]
            needed = space_needed(self.exit.switching, self.entry.depth, self.exit.longest)
            m.d.comb += space.eq(queue.level <= self.entry.depth - needed)
        if self.levels and not self.shape.inputs[i].is_terminal:
            m.d.comb += self.level[i].eq(queue.level)
        if self.shape.inputs[i].credits:
            freed = self.freed[self.shape.credited_inputs.index(i)]
            leaves = head.valid & head.ready
            m.d.comb += freed.eq(leaves & ~queue.stays if replays else leaves)
        flit = head.payload if behind else head.payload.flit
        last = Const(1) if self.single else flit.last
        stored = Const(0, 0) if behind else head.payload.exits
        ready = decided(m, f"{i}", head, self.grant.decision)
        if self.entry.store:
            enters = arrival.valid & arrival.ready & source.payload.last
            leaves = last & ~queue.stays if replays else last
            head = self._whole(m, i, head, enters, leaves)
        replay = queue if isinstance(queue, ReplayQueue) else None
        ahead = queue if self.registers and isinstance(queue, ArrivalQueue) else None
        word = self._forwarded(flit)
        return Waiting(head, word, last, flit, stored, ready, replay, ahead=ahead)

    def _ahead(self, m: Module, i: int, selector: Selector | None) -> Waiting:
        """The queue of an input whose outputs are read ahead, and what is at its head."""
        queue = self._request_queue(m, i, self.entry.depth, enabled=True)
        head = stream.Signature(self.packet).create(path=(f"head_{i}",))
        m.d.comb += [
            head.valid.eq(queue.request.any()),
            head.payload.eq(queue.payload),
            queue.taken.eq(head.ready),
        ]
        word = self._forwarded(queue.payload)
        return Waiting(head, word, Const(1), queue.payload, queue.request, Const(1))

    @property
    def _stored_flit(self) -> Packet:
        """What a queue stores of a flit: the bit of the tail, which is on top, only if not all are
        tails."""
        if not (self.single and self.packet.flits):
            return self.packet
        members = self.packet.members
        return Packet(members["tag"], members["payload"], groups=self.packet.groups)

    def _whole(
        self, m: Module, i: int, queue: stream.Interface, enters: Value, last: Value
    ) -> stream.Interface:
        """The head of a queue that shows only packets that are in it whole."""
        head = stream.Signature(queue.payload.shape()).create(path=("whole", f"{i}"))
        leaves = head.valid & head.ready & last
        whole = self.entry.whole(m, f"{i}", enters, leaves)
        m.d.comb += [head.valid.eq(queue.valid & whole), queue.ready.eq(head.ready & whole)]
        return head

    # Arbiters that hold their grants.

    def _hold(
        self,
        m: Module,
        platform: object,
        waiting: dict[int, Waiting],
        outputs: Sequence[stream.Interface],
    ) -> None:
        """Arbiters hold the outputs of worms."""
        heads = [self._aiming(m, i, one) for i, one in waiting.items()]
        hold(
            m,
            platform,
            heads,
            outputs,
            self.shape.links,
            worms=not self.single,
            lanes=self.shape.lanes,
            refill=self.entry.refill,
            quick=self.ahead,
            between=self.exit.arbiter,
        )
        for one, head in zip(waiting.values(), heads):
            if head.copies is None:
                m.d.comb += one.head.ready.eq(head.leaves)

    def _aiming(self, m: Module, i: int, one: Waiting) -> Head:
        """What is at the head of a queue, with the outputs that its header, or its worm, is for."""
        exits = self._exits(i)
        valid, known = one.head.valid, one.stored
        if self.packet.broadcast:
            requested = self._requested(m, i, one.header)
            taken = Signal(len(self.shape.outputs), name=f"served_{i}")
            left = self._copies(m, i, one.head, requested, taken)
            aims = {j: valid & bit for j, bit in enumerate(left)}
            return Head(one.word, valid, valid, aims, taken)
        if self.behind:
            known = self._needed(one.header.tag)
        wanted: Value = known
        active: Value = valid
        if not self.single:
            leaves = valid & one.head.ready
            begins = at_header(m, f"{i}", leaves, one.last)
            kept = Signal(len(known), name=f"kept_{i}")
            if one.ahead is None:
                wanted = Signal(len(known), name=f"wanted_{i}")
                m.d.comb += wanted.eq(Mux(begins, known, kept))
                with m.If(begins):
                    m.d.sync += kept.eq(known)
            else:
                wanted = kept
                with m.If(one.ahead.moves & Mux(leaves, one.last, begins)):
                    m.d.sync += kept.eq(self._needed(one.ahead.coming.tag))
            active = valid | ~begins
        if self.ahead:
            bits, active = dict(zip(exits, one.stored)), Const(1)
        elif self.behind:
            found = self._permitted(m, i, wanted)
            bits = {j: found[j] for j in exits}
        else:
            bits = dict(zip(exits, wanted))
        ready = one.decided
        if self.grant.decision > 1 and not self.single:
            ready = ready | ~begins
        aims = {
            j: bit if self.shape.outputs[j].is_terminal else bit & ready for j, bit in bits.items()
        }
        return Head(one.word, valid, active, aims)

    def _needed(self, tag: Value) -> Value:
        """All that a route behind the queue needs of a tag."""
        digit = self.logic.rotates if self.logic is not None else 0
        return tag[-digit:] if digit else tag

    # Registers that keep the outputs of worms.

    def _keep(
        self,
        m: Module,
        platform: object,
        waiting: dict[int, Waiting],
        ports: Sequence[stream.Interface],
        selector: Selector | None,
    ) -> None:
        """Registers keep the outputs of worms."""
        outputs, inputs = range(len(self.shape.outputs)), list(waiting)
        entries = [[i for i in inputs if j in self._exits(i)] for j in outputs]
        # For each input, with one bit per output: what its header requests, is granted and takes,
        # and what its worm holds and uses.
        requests, takes, kept, uses = (
            {i: Signal(len(outputs), name=f"{name}_{i}") for i in inputs}
            for name in ("request", "takes", "kept", "uses")
        )
        # Bit by bit: linters take a chain of partly used words for a combinational loop.
        grants = {i: [Signal(name=f"granted_{i}_{j}") for j in outputs] for i in inputs}
        readies = [output.ready for output in ports]
        held = Signal(len(outputs))
        m.d.comb += held.eq(Cat(Cat(one[j] for one in kept.values()).any() for j in outputs))
        heads = {i: one.head for i, one in waiting.items()}
        copies: dict[int, Copying] = {}
        if selector is not None:
            m.d.comb += selector.held.eq(held)
        passed = [Signal(name=f"passed_{j}") for j in outputs]
        for i, one in waiting.items():
            asked = self._asked(m, i, one)
            taken = self._choice(m, i, grants[i], readies) if self.shape.choice else Cat(grants[i])
            leaves = heads[i].valid & heads[i].ready & one.last
            if self.groups is None:
                header = heads[i].valid & ~kept[i].any()
                swallows, begins = self._discard(m, i, one, asked)
                header &= ~swallows
                wanted: Value = asked
                ready = swallows | Cat(uses[i][j] & passed[j] for j in self._exits(i)).any()
            else:
                copies[i] = copying = Copying(m, f"{i}", one, len(outputs))
                header, begins = heads[i].valid, Const(0, 1)
                wanted = copying.wanted(asked, kept[i], self.shape.choice)
                if self.shape.choice:
                    taken = Mux(copying.several, Cat(grants[i]), taken)
                ready = copying.ready(
                    m, asked, takes[i], kept[i], uses[i], Cat(passed), self.shape.choice
                )
                ready = ready | one.merged
                if one.begun is not None and one.goes_on is not None:
                    stays = Const(0) if one.queue is None else one.queue.stays
                    m.d.comb += [
                        one.begun.eq((kept[i] | copying.served).any()),
                        one.goes_on.eq(Mux(leaves, stays, (uses[i] | copying.served).any())),
                    ]
            m.d.comb += [
                requests[i].eq(Mux(header, wanted & self._open(one) & ~held, 0)),
                takes[i].eq(taken),
                uses[i].eq(kept[i] | takes[i]),
                heads[i].ready.eq(ready),
            ]
            if selector is not None:
                header_leaves = header & heads[i].ready
                m.d.comb += selector.left[i].eq(asked & header_leaves.replicate(len(outputs)))
            # Once a worm has an output, it keeps it until the tail has left.
            m.d.sync += kept[i].eq(uses[i])
            with m.If(leaves | begins):
                m.d.sync += kept[i].eq(0)

        # Without a choice, a requested output is always used, so `valid` need not await the
        # arbiter.
        new = takes if self.shape.choice else requests
        shown = {i: Signal(len(outputs), name=f"shown_{i}") for i in waiting}
        for i in waiting:
            # Bit by bit, as above.
            holds = (
                Cat(kept[i][j] & ~copies[i].given[j] for j in outputs) if i in copies else kept[i]
            )
            m.d.comb += shown[i].eq(Mux(heads[i].valid, holds, 0) | new[i])
        offered = Signal(len(outputs))
        for j in outputs:
            if not entries[j]:
                continue
            # If a granted output is not taken, the turn still passes to the next worm, which may
            # have no other choice.
            used = Cat(takes[i][j] for i in entries[j]).any() if self.shape.equal_choices else 1
            request = Cat(requests[i][j] for i in entries[j])
            granted = arbitrate(m, self.grant.arbiter, f"arbiter_{j}", request, self._seed(j), used)
            m.d.comb += [
                Cat(grants[i][j] for i in entries[j]).eq(granted),
                offered[j].eq(Cat(shown[i][j] for i in entries[j]).any()),
            ]
        cross(
            m,
            platform,
            {i: one.word for i, one in waiting.items()},
            ports,
            self.shape.links,
            [{i: uses[i][j] for i in own} for j, own in enumerate(entries)],
            list(offered),
            refill=self.entry.refill,
            passed=passed,
            arbiter=self.exit.arbiter,
        )

    def _asked(self, m: Module, i: int, one: Waiting) -> Signal:
        """The outputs that the header at the head of a queue may take, one bit each."""
        asked = Signal(len(self.shape.outputs), name=f"asked_{i}")
        if self.behind:
            m.d.comb += asked.eq(self._permitted(m, i, one.header.tag))
        else:
            m.d.comb += [asked[j].eq(bit) for j, bit in zip(self._exits(i), one.stored)]
        return asked

    def _discard(self, m: Module, i: int, one: Waiting, asked: Value) -> tuple[Value, Value]:
        """As `discarding`, for the queue of input i."""
        entry, outputs = self.shape.inputs[i], self.shape.outputs
        if not self.grant.timeout or entry.is_terminal:
            return Const(0, 1), Const(0, 1)
        arrived = Cat(asked[j] for j, output in enumerate(outputs) if output.is_terminal).any()
        swallows, begins = discarding(m, f"{i}", one.head, one.last, arrived, self.grant.timeout)
        m.d.comb += self.discarded[i].eq(begins)
        return swallows, begins

    def _open(self, one: Waiting) -> Value:
        """The outputs that the header at the head of a queue may request, one bit each."""
        guarded = self.guarded_outputs
        bits = []
        for j, output in enumerate(self.shape.outputs):
            bit = Const(1) if output.is_terminal else one.decided
            bits.append(bit & self.open[guarded.index(j)] if j in guarded else bit)
        return Cat(bits)

    def _choice(
        self, m: Module, i: int, granted: Sequence[Value], readies: Sequence[Value]
    ) -> Value:
        """The output that a header takes of those that it was granted, if any, one bit each.

        A terminal has no alternative, and its flits do not wait for it to be ready.
        """
        outputs = self.shape.outputs
        links = [j for j, output in enumerate(outputs) if not output.is_terminal]
        # Escape channels last.
        links.sort(key=lambda j: (outputs[j].escape, j))
        ready, best = (Signal(len(links), name=f"{name}_{i}") for name in ("ready", "best"))
        m.d.comb += [
            ready.eq(Cat(granted[j] & readies[j] for j in links)),
            best.eq(Mux(ready.any(), ready, Cat(granted[j] for j in links))),
        ]
        taken = dict(zip(links, lowest(best)))
        return Cat(
            granted[j] if output.is_terminal else taken.get(j, Const(0))
            for j, output in enumerate(outputs)
        )

    def _seed(self, j: int) -> Value:
        """A different seed for each arbiter."""
        return self.seed.rotate_left(j % 32) if self.grant.arbiter == "random" else Const(1, 32)
