"""The switch in stages: registers between its arbiters, its crossbar and its links."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.arbiters import check_arbiter, least_recent
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.multiplexer import one_of, one_of_next
from ..primitives.places import Places
from ..primitives.request_queue import MOST_AHEAD
from .entry import InputQueue
from .output_owners import OutputOwners
from .route import RouteLogic
from .route_stage import RouteStage, worm_exits
from .routed_switch import RoutedSwitch
from .rules import check_room
from .shape import RouterShape, Switching, space_needed
from .shared_wires import shared_wires
from .split_queue import SplitQueue
from .traversal import Traversal

__all__ = ["Pipelined"]

_CREDITS = 3
"""Cycles from a grant until its packet, which does not wait, has left and given its credit back."""


class Pipelined(RoutedSwitch):
    """A switch for a faster clock, in which words take `pipeline` cycles more, or one more.

    **Packets of several flits**

    - *Arbitration* (`OutputOwners`): each output has an owner among the inputs, which is found in
      the cycle before its header leaves.
    - *Traversal* (`Traversal`): a flit that leaves its queue crosses the switch, and the link, in
      the next cycle. Credits are counted here, so no flit waits behind the switch. An output
      without credits has a register behind the switch, in which a flit waits until it is taken.
    - *Routes*, with `pipeline` 2 (`RouteStage`): what is at the head of a queue gets its exits in a
      register behind it. With 1 exits are computed when flits arrive, and stored with them.

    So an unblocked header takes `pipeline` + 2 cycles, one less if the output that it takes already
    belongs to its input, as for a packet that follows another one; the flits behind it follow, one
    per cycle. Channels of a link share its wires, one flit per cycle, in turn if several could
    send.

    A place in a queue can be used again four cycles after a flit was sent to it, at the earliest:
    so a depth of 4 gives the full throughput of one flit per cycle. With a `pipeline` of 2 it is
    five cycles, and there is room for one flit more.

    An input that wants an output waits for at most one worm from each other input, with round-robin
    or least-recent arbiters. Headers with a choice need a stage for routes, and choose there.

    With a `pipeline` of 2 links must not send more than their credits allow: `ready` of their
    inputs is always 1.

    `i[*].ready`, `o[*].valid`, `o[*].payload` (but for the multiplexers of links) and `freed` come
    from registers. `ready` of outputs with credits is not looked at. All registers but those of
    payloads are reset.

    **Packets that are single words**

    The output of a packet is found as it enters its queue (`RequestQueue`), so arbiters begin with
    registers. In every cycle each output that has room takes one of the packets at the heads that
    request it: that of the input which it served longest ago. So of each other input at most one
    packet goes first. A packet that has been granted is not blocked by packets for other outputs.

    *pipeline=1*: the crossbar is set in the cycle of the grant, and each output has a register. A
    packet is shown two cycles after it arrived, if no other is before it.

    *pipeline=2*: grants and the packets at the heads are in registers before the crossbar, and each
    output has a queue, in which a granted packet always finds room: an output grants only while it
    has credit. A packet is shown three cycles after it arrived, if no other is before it.

    Every output carries one packet per cycle. `o` and `i[*].ready` come from registers and
    memories. With pipeline=1 grants depend on `o[*].ready`; with 2 only counters do.

    Parameters
    ----------
    packet, shape
        As in `RoutedSwitch`. Packets have no mask.
    route : RouteLogic or None
        None if outputs are looked up outside.
    entry : InputQueue
        Without `refill` and `store`. Its `room` counts for inputs without credits.
    pipeline : int
        1 or 2, as above.
    switching : "wormhole" or "cut-through"
    longest : int
        Flits of the longest packet; not for wormhole switching.
    arbiter : str
        One of `primitives.arbiters.ARBITERS`, for packets of several flits.
    credits : bool
        Whether the queues behind links return credits; if not, they have `ready`.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.
    freed : Out(1).array(credited inputs)
        For each of `shape.credited_inputs`: a flit has left its queue, in the cycle before.
    credit : In(1).array(link outputs)
        With `credits`: for each of `shape.link_outputs`, the same of the queue behind it.
    """

    def __init__(
        self,
        packet: Packet,
        shape: RouterShape,
        *,
        route: RouteLogic | None,
        entry: InputQueue,
        pipeline: int,
        switching: Switching = "wormhole",
        longest: int = 1,
        arbiter: str = "round-robin",
        credits: bool = True,
    ) -> None:
        self.pipeline = check_integer("Pipeline", pipeline, 1, 2)
        if packet.broadcast:
            raise InvalidValue(f"Packets must have no broadcast mask with pipeline={pipeline}")
        if switching not in ("wormhole", "cut-through"):
            raise InvalidValue(
                f"Switching must be wormhole or cut-through with a pipeline, not {switching!r}"
            )
        if switching != "wormhole":
            check_room(entry.depth, longest, f"with {switching} switching")
        if shape.choice and pipeline == 1:
            raise InvalidValue("Pipeline must be 2 if headers have a choice of outputs, not 1")
        if not packet.flits:
            check_integer(f"Depth with pipeline={pipeline}", entry.depth, 2, MOST_AHEAD)
        self.entry = entry
        # With a stage for routes a flit is in the queue for a cycle more.
        self.places = entry.depth + (self.pipeline == 2)
        self.switching = switching
        self.longest = longest
        self.arbiter = check_arbiter(arbiter, shape.most_inputs)
        self.credited = shape.link_outputs if credits and packet.flits else []
        members = {
            name: flow(1).array(count)
            for name, flow, count in (
                ("freed", Out, len(shape.credited_inputs)),
                ("credit", In, len(self.credited)),
            )
            if count
        }
        super().__init__(
            packet,
            shape,
            logic=route,
            selection="first-free",
            weights=1,
            random=arbiter == "random",
            members=members,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.packet.flits:
            self._worms(m, platform)
        else:
            self._words(m, platform)
        return m

    # Packets of several flits.

    def _worms(self, m: Module, platform: object) -> None:
        m.submodules.owners = owners = OutputOwners(self.shape, self.arbiter)
        if self.arbiter == "random":
            m.d.comb += owners.seed.eq(self.seed)
        ready, opens, sent, turn = (
            Signal(len(self.o), name=name) for name in ("ready", "opens", "sent", "turn")
        )
        # Where a header, and where any flit may leave.
        free = ready & opens & ~owners.inside
        may = ready & (opens | owners.inside)
        heads: dict[int, Any] = {}
        for i in range(len(self.shape.inputs)):
            # Inputs without any turn have nothing behind them.
            if not (exits := self._exits(i)):
                continue
            heads[i] = head = self._receive(m, i, exits, free)
            m.d.comb += [
                *(owners.want[i][j].eq(bit) for j, bit in zip(exits, head.payload.exits)),
                owners.last[i].eq(head.payload.flit.last),
                head.ready.eq((owners.serves[i] & owners.passed).any()),
            ]
        for number, link in enumerate(self.shape.links):
            wires = shared_wires(m, number, [(owners.offered[j], may[j]) for j in link])
            for j, taken, unused in zip(link, wires.taken, wires.free):
                m.d.comb += [
                    owners.passed[j].eq(may[j] & unused),
                    turn[j].eq(taken),
                    sent[j].eq(owners.offered[j] & owners.passed[j]),
                ]
        traversal = self._traverse(m, heads, owners, turn, sent) if self.credited else None
        for j, output in enumerate(self.shape.outputs):
            if not output.inputs:
                continue
            if traversal is not None and j in self.credited:
                m.d.comb += [ready[j].eq(traversal.ready[j]), opens[j].eq(traversal.open[j])]
                continue
            words = [heads[i].payload.flit for i in output.inputs]
            owner = Cat(owners.owner[j][i] for i in output.inputs)
            chosen = self._chosen(m, platform, j, owner, words)
            room = self._register(m, j, sent[j], chosen, self.o[j])
            m.d.comb += [ready[j].eq(room), opens[j].eq(1)]

    def _traverse(
        self, m: Module, heads: Mapping[int, Any], owners: OutputOwners, turn: Value, sent: Value
    ) -> Traversal:
        """Send the flits of heads over links with credits."""
        needed = space_needed(self.switching, self.places, self.longest)
        m.submodules.traversal = traversal = Traversal(
            self.packet,
            self.shape,
            depth=self.places,
            needed=dict.fromkeys(self.shape.guarded_outputs(self.switching), needed),
        )
        m.d.comb += [traversal.turn.eq(turn), traversal.sent.eq(sent)]
        for i, head in heads.items():
            m.d.comb += [
                traversal.i[i].eq(head.payload.flit),
                traversal.uses[i].eq(owners.serves[i]),
            ]
        for number, j in enumerate(self.credited):
            port, own = self.o[j], traversal.o[number]
            m.d.comb += [
                traversal.credit[number].eq(self.credit[number]),
                port.valid.eq(own.valid),
                port.payload.eq(self._forwarded(own.payload)),
            ]
        return traversal

    def _receive(self, m: Module, i: int, exits: Sequence[int], free: Value) -> stream.Interface:
        """The head of an input's queue, with the exit that it wants, if any: a bit for each.

        It is taken only if there is a flit.
        """
        layout = data.StructLayout({"flit": self.packet, "exits": len(exits)})
        head = stream.Signature(layout).create(path=(f"head_{i}",))
        if self.shape.inputs[i].credits:
            m.d.sync += self.freed[self.shape.credited_inputs.index(i)].eq(head.ready)
        receive = self._route_late if self.pipeline == 2 else self._route_early
        receive(m, i, head, Cat(free[j] for j in exits))
        return head

    def _route_early(self, m: Module, i: int, head: stream.Interface, free: Value) -> None:
        """Exits are found before the queue, and stored with the flits."""
        source = self.i[i]
        queue, arrival = self.entry.place(m, f"{i}", head.payload.shape(), source, True)
        found = self._found(m, i, source.payload.tag)
        found = worm_exits(m, f"{i}", source, source.payload.last, found)
        m.d.comb += [
            arrival.payload.flit.eq(source.payload),
            arrival.payload.exits.eq(found),
            head.valid.eq(queue.o.valid),
            head.payload.flit.eq(queue.o.payload.flit),
            head.payload.exits.eq(Mux(head.valid, queue.o.payload.exits, 0)),
            queue.o.ready.eq(head.ready),
        ]

    def _route_late(self, m: Module, i: int, head: stream.Interface, free: Value) -> None:
        """Exits are found behind the queue, where only the tag goes ahead."""
        source = self.i[i]
        m.submodules[f"queue_{i}"] = queue = SplitQueue(
            self.packet,
            depth=self.places,
            credits=self.shape.inputs[i].credits,
            room=self.entry.room,
        )
        leaving = [self.shape.outputs[j] for j in self._exits(i)]
        stage = RouteStage(self.packet, leaving, choice=self.shape.choice)
        m.submodules[f"stage_{i}"] = stage
        wiring.connect(m, queue.front, stage.i)
        m.d.comb += [
            queue.i.valid.eq(source.valid),
            queue.i.payload.eq(source.payload),
            source.ready.eq(queue.i.ready),
            stage.route.eq(self._found(m, i, queue.front.payload.tag)),
            head.valid.eq(stage.o.valid),
            head.payload.flit.tag.eq(stage.o.payload.tag),
            head.payload.flit.payload.eq(queue.payload),
            head.payload.flit.last.eq(stage.o.payload.last),
            head.payload.exits.eq(stage.o.payload.exits),
            stage.o.ready.eq(head.ready),
            queue.leaves.eq(head.ready),
        ]
        if self.shape.choice:
            m.d.comb += stage.free.eq(free)

    # Packets that are single words.

    def _words(self, m: Module, platform: object) -> None:
        depth = self.entry.depth
        entries = {j: one.inputs for j, one in enumerate(self.shape.outputs) if one.inputs}
        queues = {i: self._request_queue(m, i, depth) for i in range(len(self.i)) if self._exits(i)}
        # The packet that each output gets next, if any; used only if the output has room for it.
        room = Signal(len(self.o))
        requests, granted = {}, {}
        taken: dict[int, list[Value]] = {i: [] for i in queues}
        for j, own in entries.items():
            requests[j] = Cat(queues[i].request[self._exits(i).index(j)] for i in own)
            granted[j] = least_recent(m, f"arbiter_{j}", requests[j], room[j])
            for i, bit in zip(own, granted[j]):
                taken[i].append(bit & room[j])
        heads: dict[int, Any] = {}
        for i, queue in queues.items():
            m.d.comb += queue.taken.eq(Cat(taken[i]).any())
            heads[i] = queue.payload
            if self.pipeline == 2:
                # Of no meaning after reset.
                heads[i] = Signal(self.packet, reset_less=True, name=f"head_{i}")
                m.d.sync += heads[i].eq(queue.payload)
        drive = self._credits if self.pipeline == 2 else self._register
        for j, own in entries.items():
            chosen = self._chosen(m, platform, j, granted[j], [heads[i] for i in own])
            m.d.comb += room[j].eq(drive(m, j, requests[j].any() & room[j], chosen, self.o[j]))

    def _chosen(
        self, m: Module, platform: object, j: int, first: Value, heads: Sequence[data.View]
    ) -> Value:
        """The word that an output gets, of that head whose bit of `first` is 1."""
        words = [self._forwarded(head) for head in heads]
        # What is shown without a grant does not matter, so of two inputs one bit tells which.
        selected = [~first[1], first[1]] if len(words) == 2 else list(first)
        late = self.pipeline == 2 and not self.packet.flits
        choose = one_of_next if late else one_of
        return choose(m, platform, f"output_{j}", selected, words)

    def _register(
        self, m: Module, j: int, granted: Value, packet: Value, output: stream.Interface
    ) -> Value:
        """The register of an output; return whether it has room for a packet."""
        room = ~output.valid | output.ready
        shown = Signal(self.packet, reset_less=True, name=f"shown_{j}")
        m.d.comb += output.payload.eq(shown)
        m.d.sync += output.valid.eq(granted | ~room)
        with m.If(room):
            m.d.sync += shown.eq(packet)
        return room

    def _credits(
        self, m: Module, j: int, granted: Value, packet: Value, output: stream.Interface
    ) -> Value:
        """The queue of an output; return whether there is credit for one more packet.

        A grant takes a credit, which is back two cycles after the packet is shown: so with three
        an output never rests, and a packet always finds room in the queue.
        """
        queue = ArrivalQueue(self.packet, depth=_CREDITS)
        m.submodules[f"output_{j}"] = queue
        wiring.connect(m, wiring.flipped(output), queue.o)
        comes = Signal(name=f"comes_{j}")
        credits = Places(m, f"credits_{j}", _CREDITS, output.valid & output.ready, granted)
        m.d.comb += [queue.i[0].valid.eq(comes), queue.i[0].payload.eq(packet)]
        m.d.sync += comes.eq(granted)
        return credits.free()
