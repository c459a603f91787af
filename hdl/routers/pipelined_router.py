"""A router in stages: arbitration a cycle ahead, and registers in front of the switch."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..primitives.arbiters import check_arbiter
from ..primitives.arrival_queue import ArrivalQueue
from ..switch.route import RouteLogic
from ..switch.routed_switch import RoutedSwitch
from ..switch.rules import check_room
from ..switch.shape import RouterShape, Switching, space_needed
from ..switch.shared_wires import shared_wires
from .output_owners import OutputOwners
from .route_stage import RouteStage, worm_exits
from .split_queue import SplitQueue
from .traversal import Traversal

__all__ = ["PipelinedRouter"]


class PipelinedRouter(RoutedSwitch):
    """A router for a faster clock: a `WormRouter` in stages.

    - *Arbitration* (`OutputOwners`): each output has an owner among the inputs, which is found in
      the cycle before its header leaves.
    - *Traversal* (`Traversal`): a flit that leaves its queue crosses the switch, and the link, in
      the next cycle. Credits are counted here, so no flit waits behind the switch.
    - *Routes*, with `pipeline` 2 (`RouteStage`): what is at the head of a queue gets its exits in a
      register behind it. With 1 exits are computed when flits arrive, and stored with them.

    So an unblocked header takes `pipeline` + 2 cycles in each router, one less if the output that
    it takes already belongs to its input, as for a packet that follows another one; the flits
    behind it follow, one per cycle. Channels of a link share its wires, one flit per cycle, in turn
    if several could send.

    A place in a queue can be used again four cycles after a flit was sent to it, at the earliest:
    so a depth of 4 gives the full throughput of one flit per cycle. Terminals, too, take one flit
    per cycle; a flit that one does not take at once waits behind the switch. With a `pipeline` of 2
    it is five cycles, and there is room for one flit more.

    An input that wants an output waits for at most one worm from each other input, with round-robin
    or least-recent arbiters. Headers with a choice need a stage for routes, and choose there.

    With a `pipeline` of 2 links must not send more than their credits allow: `ready` of their
    inputs is always 1.

    `i[*].ready`, `o[*].valid`, `o[*].payload` and `freed` come from registers. `ready` of a link's
    outputs is not looked at. All registers but those of payloads are reset.

    Parameters
    ----------
    packet, shape, logic
        As in `RoutedSwitch`. Packets have flits. All links have credits.
    depth : int
        Flits that fit into each queue, and into those behind the links; at least 1.
    pipeline : int
        1 or 2, as above.
    switching : "wormhole" or "cut-through"
    longest : int
        Flits of the longest packet; not for wormhole switching.
    arbiter : str
        One of `primitives.arbiters.ARBITERS`.

    Members
    -------
    address, seed, i, o, tag, exits
        As in `RoutedSwitch`.
    freed : Out(1).array(link inputs)
        For each of `shape.credited_inputs`: a flit has left its queue, in the cycle before.
    credit : In(1).array(link outputs)
        For each of `shape.link_outputs`, the same of the queue behind it.

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
        pipeline: int,
        switching: Switching = "wormhole",
        longest: int = 1,
        arbiter: str = "round-robin",
    ) -> None:
        self.depth = check_integer("Depth", depth, 1)
        self.pipeline = check_integer("Pipeline", pipeline, 1, 2)
        if switching not in ("wormhole", "cut-through"):
            raise InvalidValue(
                f"Switching must be wormhole or cut-through with a pipeline, not {switching!r}"
            )
        if switching != "wormhole":
            check_room(depth, longest, f"with {switching} switching")
        if not packet.flits or packet.broadcast:
            raise InvalidValue("Packet must have flits, and no broadcast mask")
        if shape.choice and pipeline == 1:
            raise InvalidValue("Pipeline must be 2 if headers have a choice of outputs, not 1")
        # With a stage for routes a flit is in the queue for a cycle more.
        self.places = self.depth + (self.pipeline == 2)
        self.switching = switching
        self.longest = longest
        self.arbiter = check_arbiter(arbiter, shape.most_inputs)
        members = {
            name: flow(1).array(count)
            for name, flow, count in (
                ("freed", Out, len(shape.credited_inputs)),
                ("credit", In, len(shape.link_outputs)),
            )
            if count
        }
        super().__init__(
            packet,
            shape,
            logic=logic,
            selection="first-free",
            weights=1,
            random=arbiter == "random",
            members=members,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        needed = space_needed(self.switching, self.places, self.longest)
        m.submodules.traversal = traversal = Traversal(
            self.packet,
            self.shape,
            depth=self.places,
            needed=dict.fromkeys(self.shape.guarded_outputs(self.switching), needed),
        )
        m.submodules.owners = owners = OutputOwners(self.shape, self.arbiter)
        if self.arbiter == "random":
            m.d.comb += owners.seed.eq(self.seed)
        if self.shape.link_outputs:
            m.d.comb += [bit.eq(given) for bit, given in zip(traversal.credit, self.credit)]
        for port, own in zip(self.o, traversal.o):
            m.d.comb += [
                port.valid.eq(own.valid),
                port.payload.eq(own.payload),
                own.ready.eq(port.ready),
            ]
        # Where a header, and where any flit may leave.
        free = traversal.ready & traversal.open & ~owners.inside
        may = traversal.ready & (traversal.open | owners.inside)
        for i in range(len(self.shape.inputs)):
            # Inputs without any turn have nothing behind them.
            if not (exits := self._exits(i)):
                continue
            head = self._receive(m, i, exits, free)
            m.d.comb += [
                *(owners.want[i][j].eq(bit) for j, bit in zip(exits, head.payload.exits)),
                owners.last[i].eq(head.payload.flit.last),
                head.ready.eq((owners.serves[i] & owners.passed).any()),
                traversal.i[i].eq(head.payload.flit),
                traversal.uses[i].eq(owners.serves[i]),
            ]
        for number, link in enumerate(self.shape.links):
            wires = shared_wires(m, number, [(owners.offered[j], may[j]) for j in link])
            for j, taken, unused in zip(link, wires.taken, wires.free):
                m.d.comb += [
                    owners.passed[j].eq(may[j] & unused),
                    traversal.turn[j].eq(taken),
                    traversal.sent[j].eq(owners.offered[j] & owners.passed[j]),
                ]
        return m

    def _receive(self, m: Module, i: int, exits: Sequence[int], free: Value) -> stream.Interface:
        """The head of an input's queue, with the exit that it wants, if any: a bit for each.

        It is taken only if there is a flit.
        """
        layout = StructLayout({"flit": self.packet, "exits": len(exits)})
        head = stream.Signature(layout).create(path=(f"head_{i}",))
        receive = self._route_late if self.pipeline == 2 else self._route_early
        receive(m, i, exits, head, free)
        if self.shape.inputs[i].credits:
            freed = self.freed[self.shape.credited_inputs.index(i)]
            m.d.sync += freed.eq(head.ready)
        return head

    def _found(self, m: Module, i: int, exits: Sequence[int], tag: Value) -> Value:
        """The exits of a header with a tag, one bit each."""
        route = Signal(len(self.shape.outputs), name=f"route_{i}")
        m.d.comb += route.eq(self._permitted(m, i, tag))
        return Cat(route[j] for j in exits)

    def _route_early(
        self, m: Module, i: int, exits: Sequence[int], head: stream.Interface, free: Value
    ) -> None:
        """Exits are found before the queue, and stored with the flits."""
        m.submodules[f"queue_{i}"] = queue = ArrivalQueue(head.payload.shape(), depth=self.depth)
        source, arrival = self.i[i], queue.i[0]
        found = self._found(m, i, exits, source.payload.tag)
        found = worm_exits(m, f"{i}", source, source.payload.last, found)
        m.d.comb += [
            arrival.valid.eq(source.valid),
            arrival.payload.flit.eq(source.payload),
            arrival.payload.exits.eq(found),
            source.ready.eq(arrival.ready),
            head.valid.eq(queue.o.valid),
            head.payload.flit.eq(queue.o.payload.flit),
            head.payload.exits.eq(Mux(head.valid, queue.o.payload.exits, 0)),
            queue.o.ready.eq(head.ready),
        ]

    def _route_late(
        self, m: Module, i: int, exits: Sequence[int], head: stream.Interface, free: Value
    ) -> None:
        """Exits are found behind the queue, where only the tag goes ahead."""
        m.submodules[f"queue_{i}"] = queue = SplitQueue(
            self.packet, depth=self.places, credits=self.shape.inputs[i].credits
        )
        leaving = [self.shape.outputs[j] for j in exits]
        stage = RouteStage(self.packet, leaving, choice=self.shape.choice)
        m.submodules[f"stage_{i}"] = stage
        wiring.connect(m, wiring.flipped(self.i[i]), queue.i)
        wiring.connect(m, queue.front, stage.i)
        m.d.comb += [
            stage.route.eq(self._found(m, i, exits, queue.front.payload.tag)),
            head.valid.eq(stage.o.valid),
            head.payload.flit.tag.eq(stage.o.payload.tag),
            head.payload.flit.payload.eq(queue.payload),
            head.payload.flit.last.eq(stage.o.payload.last),
            head.payload.exits.eq(stage.o.payload.exits),
            stage.o.ready.eq(head.ready),
            queue.leaves.eq(head.ready),
        ]
        if self.shape.choice:
            m.d.comb += stage.free.eq(Cat(free[j] for j in exits))
