"""The router of static networks: worms that hold outputs, virtual channels, and shared links."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer
from ..core.errors import InvalidValue
from ..primitives.arbiters import arbitrate, check_arbiter
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.packet import Packet
from ..primitives.round_robin import RoundRobin, lowest
from ..topology.graph import End
from .selection import SELECTIONS, Selection, Selector
from .shape import SWITCHINGS, RouterShape, Switching, space_needed

__all__ = ["RouteLogic", "WormRouter", "check_worms", "decided", "exits_of"]

_WIDE = 16
"""Up to this many inputs, the bits of an output's word are reset one by one, which flip-flops do
without logic; beyond, as a word, which is compiled faster."""


class RouteLogic(Protocol):
    """The gates of a routing relation, which give the same outputs as `Relation.route`.

    It must be hashable: routers with equal logic share a module.

    Attributes
    ----------
    address : int
        Width in bits of a node's position, which it needs; 0 if it needs none.
    """

    @property
    def address(self) -> int:
        """Width in bits of a node's position."""

    def position(self, node: int) -> int:
        """The position of a node."""

    def exits(
        self, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> Mapping[End, Value]:
        """Whether a header may take an output, by the output's port and channel.

        Those left out are never taken. A terminal has port -1, -2, ...

        Parameters
        ----------
        m : Module
            Where signals may be added.
        name : str
            A suffix for their names.
        came : End or None
            Port and channel of the input; None for a terminal.
        here : Value
            The position of this node.
        tag : Value
            The tag of the header.
        """


def check_worms(packet: Packet, tag: int, network: str) -> None:
    """Raise ValueError if packets have no flits, or their tag does not fit a network."""
    if not packet.flits:
        raise InvalidValue("Packet must have flits")
    if packet.members["tag"] != tag:
        raise InvalidValue(
            f"Tag of a packet must have {tag} bits in a {network}, not {packet.members['tag']}"
        )


def decided(m: Module, name: str, head: stream.Interface, cycles: int) -> Value:
    """Whether a header has been at the head of a queue for `cycles` cycles, including this one."""
    if cycles == 1:
        return Const(1)
    waited = Signal(range(cycles), name=f"waited_{name}")
    with m.If(head.valid & head.ready):
        m.d.sync += waited.eq(0)
    with m.Elif(head.valid & (waited != cycles - 1)):
        m.d.sync += waited.eq(waited + 1)
    return waited == cycles - 1


def exits_of(router: Any, m: Module, i: int, tag: Value) -> Value:
    """The outputs that a header with this tag may take from input i of a router, one bit each (or
    their weights)."""
    if router.logic is None:
        m.d.comb += router.tag[i].eq(tag)
        return router.exits[i]
    entry = router.shape.inputs[i]
    here = router.address if router.logic.address else Const(0, 0)
    came = None if entry.is_terminal else entry.end
    found = router.logic.exits(m, f"{i}", came, here, tag)
    return Cat(found.get(output.end, Const(0)) for output in router.shape.outputs)


class WormRouter(wiring.Component):
    """A queue of flits at each input, and each output held by one worm at a time.

    Inputs and outputs are virtual channels of links, and terminals; `shape` lists them. A header
    leaves one cycle after it arrived, if no flit is before it and an output that it requests is
    free. This output belongs to the worm until its tail has passed, and can take the next header in
    the cycle after it. An arbiter at each output chooses among the worms. Headers do not change.

    The outputs that a header may take are computed when it arrives, and are stored with it in the
    queue. So this logic is on the path into the queue's memory, and not on the longer path out of
    it, through the arbiters and back to the queues. They are computed by `logic`, or looked up in
    a table outside, by the port `tag` (combinationally, in the same cycle).

    *Choice*: a header that may take several outputs requests all of them. Of those granted in the
    same cycle, it takes one whose receiver is ready, if there is any; preferably not an escape
    channel; and the lowest of these. The others are unused in this cycle, and their arbiters
    advance to the next worm. (With round-robin arbiters and a `shape` with equal choices they stay,
    since otherwise all of them would choose the same worm in every cycle.) A header may enter a
    channel that is no escape channel only while the queue behind it is empty, so that no header
    waits in it behind another worm.

    *Selection*: other than with "first-free", one of these outputs is selected already when the
    header arrives; it is on the path into the queue too (`Selector`).

    *Switching*: with "wormhole" a header leaves as soon as the output is free; with "cut-through"
    only while its whole packet fits into the queue behind the link; with "store-and-forward" only
    when, in addition, its whole packet is in this queue. For the latter two, channels that are no
    escape channels need not be empty.

    *Decision time* (Ould-Khaoua and Sotudeh, III, D_t): a header that continues over a link leaves
    `decision` cycles after it arrived, if no flit is before it and the output is free. The decision
    is made while it is at the head of its queue, for one header at a time at each input, while
    other worms may use the output. No decision is needed at the destination: there a header leaves
    one cycle after it arrived, which is the cycle of its own flit. So over h links an unblocked
    packet of B flits takes h D_t + B cycles, as in equation (3), from the cycle in which its header
    is offered to the cycle in which its tail is taken.

    Outputs that are channels of one link share its wires: one flit per cycle, in turn if several
    have a flit that can go. So `valid` of such a channel is 1 only if `ready` is.

    Only the turns that `shape` names have wires.

    `i[*].ready` depends only on registers, so that no combinational path leads around a cycle of
    nodes; hence a queue of depth 1 has half the throughput. `o[*].valid` and `.payload` depend on
    registers and memories; if channels share wires, or headers have a choice, also on `o[*].ready`.
    `space` and `freed` depend on registers and, for `freed`, on `o[*].ready`.

    *With `refill`* a queue accepts a flit in the cycle in which its head leaves, so depth 1 has the
    full throughput, as wormhole theory assumes. `i[p].ready` then depends on `o[q].ready` where a
    worm can turn from p to q: these paths follow the channel dependencies, which have no cycle if
    the routing is free of deadlock. A link's first channel must not wait for the second one's
    `ready`, which may depend on it. It gives way in its turn only if the second was ready in the
    cycle before and sent nothing, since then it still is. Headers must not have a choice, and a
    link has at most two channels.

    Parameters
    ----------
    packet : Packet
        With flits.
    shape : RouterShape
    logic : RouteLogic or None
        None if outputs are looked up outside.
    depth : int
        Flits that fit into each queue, at least 1. With wormhole switching packets may be longer.
    decision : int
        Decision time in cycles, at least 1.
    switching : "wormhole", "cut-through" or "store-and-forward"
    longest : int
        Flits of the longest packet; not for wormhole switching.
    arbiter : str
        One of `primitives.arbiters.ARBITERS`.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.
    levels : bool
        Whether it tells how many flits are in its queues.
    selection : Selection
        Which of several outputs a header waits for; without a choice it changes nothing.
    weights : int
        Without logic: bits of the weight of an output, for the random selection.

    Members
    -------
    address : In(logic.address)
        Position of the node. Constant. Only if the logic needs it.
    seed : In(32)
        With random arbiters, or a selection other than "first-free": constant, not zero.
    i : In(stream.Signature(packet)).array(inputs)
    o : Out(stream.Signature(packet)).array(outputs)
    tag : Out(width).array(inputs)
        Without logic: the tags of the arriving headers.
    exits : In(outputs * weights).array(inputs)
        Without logic: the outputs that each of these may take, one bit each; or their weights.
    open : In(1).array(guarded outputs)
        For each of `shape.guarded_outputs(switching)`, whether a header may enter the queue behind
        it.
    space : Out(1).array(guarded inputs)
        For each of `shape.guarded_inputs(switching)`, the same of this router's queue.
    freed : Out(1).array(credited inputs)
        For each of `shape.credited_inputs`, that a flit leaves its queue.
    level : Out(range(depth + 1)).array(link inputs)
        With `levels`: flits in the queue of each input from a link. From registers.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        logic: RouteLogic | None = None,
        depth: int,
        decision: int = 1,
        switching: Switching = "wormhole",
        longest: int = 1,
        arbiter: str = "round-robin",
        refill: bool = False,
        levels: bool = False,
        selection: Selection = "first-free",
        weights: int = 1,
    ) -> None:
        depth = check_integer("Depth", depth, 1)
        decision = check_integer("Decision time", decision, 1)
        if switching not in SWITCHINGS:
            raise InvalidValue(
                f"Switching must be one of {', '.join(SWITCHINGS)}, not {switching!r}"
            )
        if switching != "wormhole" and depth < longest:
            raise InvalidValue(
                f"Depth must be at least the length of {longest} flits with "
                f"{switching} switching, not {depth}"
            )
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        if packet.broadcast:
            raise InvalidValue("Packet of several flits must not have a broadcast mask")
        if refill and shape.choice:
            raise InvalidValue("Refill must be off if headers have a choice of outputs")
        if refill and max(map(len, shape.links)) > 2:
            raise InvalidValue("Refill must be off if a link has more than two channels")
        if selection not in SELECTIONS:
            raise InvalidValue(
                f"Selection must be one of {', '.join(SELECTIONS)}, not {selection!r}"
            )
        most = max(len(output.inputs) for output in shape.outputs)
        if arbiter == "random" and most > 64:
            raise InvalidValue(f"Random arbiters must have at most 64 inputs, not {most}")
        self.packet = packet
        self.shape = shape
        self.logic = logic
        self.depth = depth
        self.decision = decision
        self.switching = switching
        self.longest = longest
        self.arbiter = check_arbiter(arbiter)
        self.refill = refill
        self.levels = levels
        self.selection = selection if shape.choice else "first-free"
        self.weights = weights
        self.guarded_outputs = shape.guarded_outputs(switching)
        self.guarded_inputs = shape.guarded_inputs(switching)
        ports = stream.Signature(packet)
        inputs, outputs = len(shape.inputs), len(shape.outputs)
        members = {"i": In(ports).array(inputs), "o": Out(ports).array(outputs)}
        if logic is None:
            members["tag"] = Out(packet.members["tag"]).array(inputs)
            members["exits"] = In(outputs * weights).array(inputs)
        elif logic.address:
            members["address"] = In(logic.address)
        if arbiter == "random" or self.selection != "first-free":
            members["seed"] = In(32)
        for name, flow, count in (
            ("open", In, len(self.guarded_outputs)),
            ("space", Out, len(self.guarded_inputs)),
            ("freed", Out, len(shape.credited_inputs)),
        ):
            if count:
                members[name] = flow(1).array(count)
        if levels:
            links = sum(not entry.is_terminal for entry in shape.inputs)
            members["level"] = Out(range(depth + 1)).array(links)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = range(len(self.shape.outputs))
        # Inputs without any turn have nothing behind them.
        inputs = [i for i, exits in enumerate(self._exits) if exits]
        # For each output, with one bit per input that leads to it: the worm that holds it, the
        # headers that request it, and the one that is granted it. Words by output, and not by
        # input, since each output is held and requested as a whole.
        kept, requests, grants = (
            [Signal(len(one), name=f"{name}_{j}") for j, one in enumerate(self._entries)]
            for name in ("kept", "request", "granted")
        )
        readies = [output.ready for output in self.o]
        passed = [Signal(name=f"passed_{j}") for j in outputs]
        heads: dict[int, stream.Interface] = {}
        headers: dict[int, Value] = {}
        asked: dict[tuple[int, int], Value] = {}
        # By input: whether its head is valid, and whether this is a header that may leave for a
        # terminal, or over a link.
        valid, last, leaving, onward = ([Const(0)] * len(self.shape.inputs) for _ in range(4))
        busy = Signal(len(self.shape.inputs))
        m.d.comb += busy.eq(self._by_input(kept))
        selector = self._selector(m, kept)
        for i in inputs:
            exits = self._exits[i]
            queue = self._receive(m, i, exits, selector)
            heads[i] = head = queue.o
            asked.update(((i, j), bit) for j, bit in zip(exits, head.payload.exits))
            headers[i] = header = Signal(name=f"header_{i}")
            m.d.comb += header.eq(head.valid & ~busy[i])
            valid[i], last[i] = head.valid, head.payload.flit.last
            leaving[i], onward[i] = self._may_leave(m, i, queue, header)
        valid, last, leaving, onward = (Cat(bits) for bits in (valid, last, leaving, onward))

        guarded = {j: self.open[number] for number, j in enumerate(self.guarded_outputs)}
        for j in outputs:
            free = ~kept[j].any() & guarded.get(j, Const(1))
            able = self._at(leaving if self.shape.outputs[j].is_terminal else onward, j)
            wanted = Cat(asked[i, j] for i in self._entries[j])
            m.d.comb += requests[j].eq(Mux(free, wanted & able, 0))
        takes = self._choices(m, inputs, grants, readies) if self.shape.choice else grants
        uses = [Signal(len(one), name=f"uses_{j}") for j, one in enumerate(self._entries)]
        # Without a choice, a requested output is always used, so `valid` need not await the
        # arbiter.
        new = takes if self.shape.choice else requests
        offered = [Signal(name=f"offered_{j}") for j in outputs]
        for j in outputs:
            if not self._entries[j]:
                continue
            # If a granted output is not taken, the turn still passes to the next worm, which may
            # have no other choice.
            used = takes[j].any() if self.shape.equal_choices else 1
            seed = self._seed(j)
            granted = arbitrate(m, self.arbiter, f"arbiter_{j}", requests[j], seed, used)
            m.d.comb += [
                grants[j].eq(granted),
                uses[j].eq(kept[j] | takes[j]),
                offered[j].eq((kept[j] & self._at(valid, j) | new[j]).any()),
            ]
        # Once a worm has an output, it keeps it until the tail has left.
        leaves = Signal(len(self.shape.inputs))
        ended = Signal(len(self.shape.inputs))
        if self.refill:
            # Bit by bit: linters take a chain of partly used words for a combinational loop.
            for i in inputs:
                sends = [self._bit(uses, i, j) & passed[j] for j in self._exits[i]]
                m.d.comb += heads[i].ready.eq(Cat(sends).any())
            m.d.comb += leaves.eq(
                Cat(heads[i].ready if i in heads else 0 for i in range(len(leaves)))
            )
        else:
            m.d.comb += leaves.eq(self._by_input([Mux(p, u, 0) for p, u in zip(passed, uses)]))
            m.d.comb += [heads[i].ready.eq(leaves[i]) for i in inputs]
        if selector is not None:
            for i, header in headers.items():
                gone = header & leaves[i]
                sent = Cat(asked[i, j] & gone if j in self._exits[i] else Const(0) for j in outputs)
                m.d.comb += selector.left[i].eq(sent)
        m.d.comb += ended.eq(valid & leaves & last)
        for j, entries in enumerate(self._entries):
            if len(entries) > _WIDE:
                m.d.sync += kept[j].eq(uses[j] & ~self._at(ended, j))
            else:
                m.d.sync += kept[j].eq(Cat(Mux(ended[i], 0, u) for i, u in zip(entries, uses[j])))

        for number, link in enumerate(self.shape.links):
            turns = self._turns(m, number, [(offered[j], readies[j]) for j in link])
            flits = []
            for i in sorted({i for j in link for i in self._entries[j]}):
                sends = [
                    self._bit(uses, i, j) & turn
                    for j, turn in zip(link, turns)
                    if j in self._exits[i]
                ]
                flits.append(Mux(Cat(sends).any(), heads[i].payload.flit.as_value(), 0))
            payload = _either(flits)
            for j, turn in zip(link, turns):
                m.d.comb += [
                    passed[j].eq(readies[j] & turn),
                    self.o[j].valid.eq(offered[j] & (passed[j] if len(link) > 1 else 1)),
                    self.o[j].payload.eq(payload),
                ]
        return m

    @cached_property
    def _entries(self) -> list[tuple[int, ...]]:
        """For each output, the inputs whose worms can leave by it."""
        return [output.inputs for output in self.shape.outputs]

    @cached_property
    def _exits(self) -> list[dict[int, int]]:
        """For each input, the outputs that its worms can leave by, and its place among the inputs
        that lead to each."""
        found: list[dict[int, int]] = [{} for _ in self.shape.inputs]
        for j, entries in enumerate(self._entries):
            for place, i in enumerate(entries):
                found[i][j] = place
        return found

    def _bit(self, words: Sequence[Value], i: int, j: int) -> Value:
        """The bit of input i in the word of output j."""
        return words[j][self._exits[i][j]]

    def _at(self, word: Value, j: int) -> Value:
        """Of a word with one bit per input, those that lead to output j."""
        return Cat(word[run.start : run.stop] for run in _runs(self._entries[j]))

    def _by_input(self, words: Sequence[Value]) -> Value:
        """For each input, whether its bit is 1 in the word of any output."""
        spread = []
        for word, entries in zip(words, self._entries):
            parts, at, taken = [], 0, 0
            for run in _runs(entries):
                parts += [Const(0, run.start - at), word[taken : taken + len(run)]]
                at, taken = run.stop, taken + len(run)
            spread.append(Cat(*parts, Const(0, len(self.shape.inputs) - at)))
        return _either(spread)

    def _selector(self, m: Module, kept: Sequence[Value]) -> Selector | None:
        """The selection function, if headers are sent to an output when they arrive."""
        if self.selection == "first-free":
            return None
        m.submodules.selector = selector = Selector(
            self.shape, selection=self.selection, weights=self.weights
        )
        held = Cat(word.any() for word in kept)
        m.d.comb += [selector.seed.eq(self.seed), selector.held.eq(held)]
        return selector

    def _receive(
        self, m: Module, i: int, exits: Collection[int], selector: Selector | None
    ) -> ArrivalQueue:
        """The queue of an input, which stores a bit for each of its exits with every flit."""
        queue = ArrivalQueue(
            StructLayout({"flit": self.packet, "exits": len(exits)}),
            depth=self.depth,
            refill=self.refill,
        )
        m.submodules[f"queue_{i}"] = queue
        source, arrival = self.i[i], queue.i[0]
        route = Signal(len(self.shape.outputs), name=f"route_{i}")
        offered = exits_of(self, m, i, source.payload.tag)
        if selector is not None:
            begins = Signal(init=1, name=f"begins_{i}")
            enters = arrival.valid & arrival.ready
            with m.If(enters):
                m.d.sync += begins.eq(source.payload.last)
            m.d.comb += [selector.offered[i].eq(offered), selector.accepted[i].eq(enters & begins)]
            offered = selector.exits[i]
        m.d.comb += [
            route.eq(offered),
            arrival.payload.flit.eq(source.payload),
            arrival.payload.exits.eq(Cat(route[j] for j in exits)),
            arrival.valid.eq(source.valid),
            source.ready.eq(arrival.ready),
        ]
        if i in self.guarded_inputs:
            space = self.space[self.guarded_inputs.index(i)]
            needed = space_needed(self.switching, self.depth, self.longest)
            m.d.comb += space.eq(queue.level <= self.depth - needed)
        if self.levels and not self.shape.inputs[i].is_terminal:
            m.d.comb += self.level[i].eq(queue.level)
        if self.shape.inputs[i].credits:
            freed = self.freed[self.shape.credited_inputs.index(i)]
            m.d.comb += freed.eq(queue.o.valid & queue.o.ready)
        return queue

    def _may_leave(
        self, m: Module, i: int, queue: ArrivalQueue, header: Value
    ) -> tuple[Value, Value]:
        """Whether the header at the head of input i's queue may leave for a terminal, and over a
        link."""
        ready = decided(m, f"{i}", queue.o, self.decision)
        if self.switching == "store-and-forward":
            # Tails in the queue: whole packets.
            tails = Signal(range(self.depth + 1), name=f"tails_{i}")
            arrival = queue.i[0]
            comes = arrival.valid & arrival.ready & arrival.payload.flit.last
            goes = queue.o.valid & queue.o.ready & queue.o.payload.flit.last
            m.d.sync += tails.eq(tails + comes - goes)
            whole: Value = tails != 0
        else:
            whole = Const(1)
        return header & whole, header & whole & ready

    def _choices(
        self,
        m: Module,
        inputs: Sequence[int],
        grants: Sequence[Value],
        readies: Sequence[Value],
    ) -> list[Value]:
        """For each output, the header that takes it of those that it is granted to, if any.

        A terminal has no alternative, and its flits do not wait for it to be ready.
        """
        outputs = self.shape.outputs
        takes = {(i, j): self._bit(grants, i, j) for i in inputs for j in self._exits[i]}
        for i in inputs:
            links = [j for j in self._exits[i] if not outputs[j].is_terminal]
            # Escape channels last.
            links.sort(key=lambda j: (outputs[j].escape, j))
            granted = Cat(takes[i, j] for j in links)
            ready, best = (Signal(len(links), name=f"{name}_{i}") for name in ("ready", "best"))
            taken = Signal(len(links), name=f"taken_{i}")
            m.d.comb += [
                ready.eq(granted & Cat(readies[j] for j in links)),
                best.eq(Mux(ready.any(), ready, granted)),
                taken.eq(lowest(best)),
            ]
            takes.update(((i, j), bit) for j, bit in zip(links, taken))
        words = []
        for j, entries in enumerate(self._entries):
            word = Signal(len(entries), name=f"takes_{j}")
            m.d.comb += word.eq(Cat(takes[i, j] for i in entries))
            words.append(word)
        return words

    def _seed(self, j: int) -> Value:
        """A different seed for each arbiter."""
        return self.seed.rotate_left(j % 32) if self.arbiter == "random" else Const(1, 32)

    def _turns(self, m: Module, link: int, channels: Sequence[tuple[Value, Value]]) -> list[Value]:
        """Which channel of a link uses the wires in this cycle.

        For each channel, whether it has a flit, and whether its receiver is ready.
        """
        if len(channels) == 1:
            return [Const(1)]
        goes = [offered & ready for offered, ready in channels]
        if len(channels) > 2:
            m.submodules[f"turn_{link}"] = arbiter = RoundRobin(len(goes))
            m.d.comb += [arbiter.request.eq(Cat(goes)), arbiter.taken.eq(1)]
            return list(arbiter.granted)
        turn = Signal(name=f"turn_{link}")
        first, second = (Signal(name=f"{name}_{link}") for name in ("first", "second"))
        yields = turn & goes[1]
        if self.refill:
            # Nothing was sent to a ready receiver, so it is still ready.
            sure = Signal(name=f"sure_{link}")
            m.d.sync += sure.eq(channels[1][1] & ~second)
            yields = turn & sure & channels[1][0]
        m.d.comb += [first.eq(goes[0] & ~yields), second.eq(goes[1] & ~first)]
        with m.If(goes[0] | goes[1]):
            m.d.sync += turn.eq(~second)
        return [first, second]


def _either(values: Sequence[Value]) -> Value:
    """The bitwise OR of some values, as a tree; 0 if there are none."""
    values = list(values) or [Const(0)]
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2])
        values = [*(a | b for a, b in pairs), *values[len(values) // 2 * 2 :]]
    return values[0]


def _runs(numbers: Sequence[int]) -> list[range]:
    """Ascending numbers as ranges of consecutive ones."""
    runs: list[range] = []
    for number in numbers:
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs
