"""The router of static networks: worms that hold outputs, virtual channels, and shared links."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Meter
from ..links.packet import Packet
from ..primitives.arbiters import arbitrate, check_arbiter
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.multiplexer import one_of
from ..primitives.round_robin import lowest
from .discarding import discarding
from .graph_router import GraphRouter, RouteLogic
from .selection import Selection, Selector
from .shape import SWITCHINGS, RouterShape, Switching, space_needed
from .shared_wires import shared_wires

__all__ = ["WormRouter", "check_worms", "decided"]


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


class WormRouter(GraphRouter):
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

    *Discarding*: with a `timeout`, a header that came over a link and has not moved for so many
    cycles is taken to be in a deadlock. The router takes back the output that it may have been
    granted, and swallows its packet, one flit per cycle as they come, until the tail; so everything
    behind it can move. Nothing of this packet has left the router, so a packet is discarded as a
    whole or not at all. A header that is at its destination is never discarded, because a terminal
    takes what arrives; nor is one that comes from a terminal, because it holds no link. Somebody
    else must send the packet again (`terminals.retransmission`).

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
    packet, shape, logic, selection, weights
        As in `GraphRouter`. Packets have flits.
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
    timeout : int
        Cycles after which a header that does not move is discarded with its packet; 0 for never.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `GraphRouter`.
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
        timeout: int = 0,
    ) -> None:
        timeout = check_integer("Timeout", timeout, 0)
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
        if timeout and shape.choice:
            raise InvalidValue("Timeout must be 0 if headers have a choice of outputs")
        if refill and max(map(len, shape.links)) > 2:
            raise InvalidValue("Refill must be off if a link has more than two channels")
        self.depth = depth
        self.decision = decision
        self.switching = switching
        self.longest = longest
        self.arbiter = check_arbiter(arbiter, shape.most_inputs)
        self.refill = refill
        self.levels = levels
        self.timeout = timeout
        self.guarded_outputs = shape.guarded_outputs(switching)
        self.guarded_inputs = shape.guarded_inputs(switching)
        members = {}
        for name, flow, count in (
            ("open", In, len(self.guarded_outputs)),
            ("space", Out, len(self.guarded_inputs)),
            ("freed", Out, len(shape.credited_inputs)),
        ):
            if count:
                members[name] = flow(1).array(count)
        links = sum(not entry.is_terminal for entry in shape.inputs)
        if levels:
            members["level"] = Out(range(depth + 1)).array(links)
        self.meters = (Meter("discarded", "discarded", "pulses"),) if timeout and links else ()
        if self.meters:
            members["discarded"] = Out(links)
        super().__init__(
            packet,
            shape,
            logic=logic,
            selection=selection,
            weights=weights,
            random=arbiter == "random",
            members=members,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = range(len(self.shape.outputs))
        # Inputs without any turn have nothing behind them.
        inputs = [i for i in range(len(self.shape.inputs)) if self._exits(i)]
        entries = [[i for i in output.inputs if i in inputs] for output in self.shape.outputs]
        # For each input, with one bit per output: what its header requests, is granted and takes,
        # and what its worm holds and uses.
        requests, takes, kept, uses = (
            {i: Signal(len(outputs), name=f"{name}_{i}") for i in inputs}
            for name in ("request", "takes", "kept", "uses")
        )
        # Bit by bit: linters take a chain of partly used words for a combinational loop.
        grants = {i: [Signal(name=f"granted_{i}_{j}") for j in outputs] for i in inputs}
        readies = [output.ready for output in self.o]
        passed = [Signal(name=f"passed_{j}") for j in outputs]
        held = Signal(len(outputs))
        m.d.comb += held.eq(Cat(Cat(one[j] for one in kept.values()).any() for j in outputs))
        heads: dict[int, stream.Interface] = {}
        selector = self._selector(m)
        if selector is not None:
            m.d.comb += selector.held.eq(held)
        for i in inputs:
            exits = self._exits(i)
            queue, asked = self._receive(m, i, exits, selector)
            heads[i] = head = queue.o
            header = head.valid & ~kept[i].any()
            swallows, begins = self._discard(m, i, head, asked)
            header &= ~swallows
            m.d.comb += [
                requests[i].eq(Mux(header, asked & self._open(m, i, queue) & ~held, 0)),
                takes[i].eq(
                    self._choice(m, i, grants[i], readies) if self.shape.choice else Cat(grants[i])
                ),
                uses[i].eq(kept[i] | takes[i]),
                head.ready.eq(swallows | Cat(uses[i][j] & passed[j] for j in exits).any()),
            ]
            if selector is not None:
                leaves = header & head.ready
                m.d.comb += selector.left[i].eq(asked & leaves.replicate(len(outputs)))
            # Once a worm has an output, it keeps it until the tail has left.
            m.d.sync += kept[i].eq(uses[i])
            with m.If((head.valid & head.ready & head.payload.flit.last) | begins):
                m.d.sync += kept[i].eq(0)

        # Without a choice, a requested output is always used, so `valid` need not await the
        # arbiter.
        new = takes if self.shape.choice else requests
        offered = Signal(len(outputs))
        for j in outputs:
            if not entries[j]:
                continue
            # If a granted output is not taken, the turn still passes to the next worm, which may
            # have no other choice.
            used = Cat(takes[i][j] for i in entries[j]).any() if self.shape.equal_choices else 1
            request = Cat(requests[i][j] for i in entries[j])
            granted = arbitrate(m, self.arbiter, f"arbiter_{j}", request, self._seed(j), used)
            m.d.comb += [
                Cat(grants[i][j] for i in entries[j]).eq(granted),
                offered[j].eq(
                    Cat(kept[i][j] & heads[i].valid | new[i][j] for i in entries[j]).any()
                ),
            ]
        for number, link in enumerate(self.shape.links):
            turns = self._turns(m, number, [(offered[j], readies[j]) for j in link])
            sources = sorted({i for j in link for i in entries[j]})
            payload = one_of(
                m,
                platform,
                f"link_{number}",
                [Cat(uses[i][j] & turn for j, turn in zip(link, turns)).any() for i in sources],
                [heads[i].payload.flit.as_value() for i in sources],
            )
            for j, turn in zip(link, turns):
                m.d.comb += [
                    passed[j].eq(readies[j] & turn),
                    self.o[j].valid.eq(offered[j] & (passed[j] if len(link) > 1 else 1)),
                    self.o[j].payload.eq(payload),
                ]
        return m

    def _receive(
        self, m: Module, i: int, exits: Sequence[int], selector: Selector | None
    ) -> tuple[ArrivalQueue, Signal]:
        """The queue of an input, which stores a bit for each of its exits with every flit; and the
        outputs that the header at its head may take, one bit each."""
        queue = ArrivalQueue(
            StructLayout({"flit": self.packet, "exits": len(exits)}),
            depth=self.depth,
            refill=self.refill,
        )
        m.submodules[f"queue_{i}"] = queue
        source, arrival = self.i[i], queue.i[0]
        count = len(self.shape.outputs)
        route, asked = (Signal(count, name=f"{name}_{i}") for name in ("route", "asked"))
        offered = self._permitted(m, i, source.payload.tag)
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
            *(asked[j].eq(bit) for j, bit in zip(exits, queue.o.payload.exits)),
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
        return queue, asked

    def _discard(
        self, m: Module, i: int, head: stream.Interface, asked: Value
    ) -> tuple[Value, Value]:
        """As `discarding`, for the queue of input i."""
        entry, outputs = self.shape.inputs[i], self.shape.outputs
        if not self.timeout or entry.is_terminal:
            return Const(0, 1), Const(0, 1)
        arrived = Cat(asked[j] for j, output in enumerate(outputs) if output.is_terminal).any()
        swallows, begins = discarding(m, f"{i}", head, arrived, self.timeout)
        m.d.comb += self.discarded[i].eq(begins)
        return swallows, begins

    def _open(self, m: Module, i: int, queue: ArrivalQueue) -> Value:
        """The outputs that the header at the head of input i's queue may request, one bit each."""
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
        guarded = self.guarded_outputs
        bits = []
        for j, output in enumerate(self.shape.outputs):
            bit = whole if output.is_terminal else whole & ready
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
        return self.seed.rotate_left(j % 32) if self.arbiter == "random" else Const(1, 32)

    def _turns(self, m: Module, link: int, channels: Sequence[tuple[Value, Value]]) -> list[Value]:
        """Which channel of a link uses the wires in this cycle.

        For each channel, whether it has a flit, and whether its receiver is ready.
        """
        return shared_wires(m, link, channels, refill=self.refill).taken
