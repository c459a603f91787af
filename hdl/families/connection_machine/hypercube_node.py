"""A node of the Connection Machine's hypercube (Stanfill, 4.2)."""

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Meter
from ...fabric.checks import check_integer, check_power_of_two, check_word
from ...fabric.errors import InvalidValue
from ...links.packet import Packet
from ...operations.folds import FOLDS, Fold
from .buffer import Buffer
from .combine import Combine
from .cube_wires import Wires, wire_members
from .deliver import Deliver
from .inject import Inject
from .message import Message, Slot, chosen, ones
from .payload import Moves, PayloadPart
from .refer import Refer
from .routing_step import Route
from .seniority import PRIORITIES, Seniority

__all__ = ["COMBINES", "LINKS", "SCHEDULES", "HypercubeNode"]

SCHEDULES = ("dimension", "pipelined", "parallel")
"""Whether each step serves one dimension, in turn, or all wires; in turn, it can be over when the
header of a message has arrived."""

LINKS = ("word", "serial")
"""Whether a message crosses a wire in one cycle, or bit by bit."""

COMBINES = ("none", *FOLDS)
"""How two messages to the same processor that meet in a node are merged."""


class HypercubeNode(wiring.Component):
    """The router of one node: n wires, P processors, B buffers.

    In each step (a cycle, or the time of a message on a serial wire) it

    - *delivers* messages whose relative address is 0, one per processor;
    - *routes* the others, in their order, over wires whose bits in the relative address are 1, and
      flips these bits;
    - *buffers* the remaining messages;
    - if they are more than the buffers can hold, *deflects* the last ones over any free wires,
      which flips bits from 0 to 1 (Stanfill calls this *refer*);
    - *injects* messages from its processors into buffers that are still free.

    So an unblocked message is injected in one step, crosses a wire in each of the next steps, is
    delivered in the one after the last, and is at the output in the cycle after that: h + 2 cycles
    for h word wires, if all wires are served in each step.

    *Nothing is lost.* In a step, W wires (all n, or 1 if each step serves one dimension) bring at
    most W messages to the B in the buffers. They can also take W messages, any message over any
    wire, so at most B have to stay. Injection fills only the buffers that are then free. No wire
    ever waits, so deadlock is not possible.

    *Delivery is guaranteed* with priority "oldest", if every processor takes what it is offered
    within T steps. Of all messages in the machine, consider those that are first in the order of
    `Seniority`: those injected in the earliest step and, among these, those with the highest
    destination. A router can't tell them apart, and no message injected later can come before them.
    Follow one of them; in each step, if others of them are in the same node, follow the one that
    the node prefers. It is first in every node, so it is never deflected. It crosses a wire towards
    its destination whenever a wire that it wants is served, so it arrives within n steps. There it
    stays, since there is a buffer, and is the first to be delivered. So at least one more message
    is delivered in every n + T steps, and each message arrives within (n + T) M steps, where M is
    the number of messages in the machine that were injected before it or in the same step. The step
    of injection is counted modulo 2^age: a message older than that (for example because a processor
    takes nothing) counts as young again, which voids the guarantee but loses nothing.

    With priority "fixed" messages are ranked by their place: those in buffers before those from
    wires. It needs no ages and no comparators, but guarantees nothing: in a cube of three
    dimensions there is traffic of eight flows under which two messages are deflected forever.

    With `combine`, messages to the same processor that are in a node at the same time are merged
    pairwise before all else (`Combine`): the sooner messages meet, the less fan-in costs. This
    takes no extra step, and all statements above remain true. Fewer messages have to stay or to
    leave. A message that is first in the machine stays first, or is merged into another that is
    first too, which counts as its delivery. Merging never moves a message ahead of one that it was
    behind.

    No priority keeps a node's own processors from waiting while other nodes keep its buffers full.

    A step that serves one dimension is a *dimension cycle*. With schedule "pipelined" and serial
    wires it is as long as the header of a message (all of it but the payload), or 1 / (n - 1) of
    the payload if that is longer. The payload follows in the steps behind, on the same wire, while
    other wires carry the headers (`PayloadPart`). So messages move as with schedule "dimension",
    but in shorter steps; a message is at the output as many steps later as its payload has parts,
    and meanwhile its processor is delivered no other. With word wires, or a single wire, there is
    nothing to pipeline, and "pipelined" is "dimension".

    Parameters
    ----------
    packet : Packet
        The packets of processors. Its tag holds the destination: the number of a processor in the
        low bits (P is a power of two), and above it the n bits of the address of its node.
    dimensions : int
        n, at least 1.
    processors : int
        P, at least 1.
    buffers : int
        B, at least 1.
    age : int
        Width of ages in bits, with priority "oldest".
    schedule : "dimension", "pipelined" or "parallel"
        Dimension and pipelined: step t serves only dimension t mod n; parallel: every step serves
        all dimensions. Pipelined messages can't be combined.
    priority : "oldest" or "fixed"
    links : "word" or "serial"
    combine : "none", "add", "or", "max" or "overwrite"
        Whether messages are combined, and how their payloads are merged (`Fold`).

    Attributes
    ----------
    message : Message
        The messages that the wires carry.
    cycles : int
        Cycles per step.
    parts : int
        Parts of a payload that follow their header, one in each step; 0 if it goes with it.

    Members
    -------
    address : In(n)
        Address of the node. Constant.
    i : In(stream.Signature(packet)).array(P)
        `ready` depends combinationally on registers, `i_wire`, `o[*].ready` and `valid` of the
        other processors.
    o : Out(stream.Signature(packet)).array(P)
        From registers. The tag is the address of this output.
    i_wire, o_wire
        As in `Wires`; `o_wire` comes from registers.
    crossed : Out(range(W + 1))
        Number of messages that cross wires in this step, given in its last cycle.
    referred : Out(range(W + 1))
        Number of these that are deflected (Stanfill: referred).
    combined : Out(range((B + W) // 2 + 1))
        Number of messages that vanish in this step because they are combined with others, given
        in its last cycle. Only if messages are combined.
    level : Out(range(B + 1))
        Messages in the buffers.
    """

    def __init__(
        self,
        packet: Packet,
        *,
        dimensions: int,
        processors: int = 1,
        buffers: int = 4,
        age: int = 16,
        schedule: str = "dimension",
        priority: str = "oldest",
        links: str = "word",
        combine: str = "none",
    ) -> None:
        dimensions = check_integer("Dimensions", dimensions, 1)
        processors = check_integer("Processors", processors, 1)
        buffers = check_integer("Buffers", buffers, 1)
        age = check_integer("Age", age, 1)
        for what, value, choices in (
            ("Schedule", schedule, SCHEDULES),
            ("Priority", priority, PRIORITIES),
            ("Links", links, LINKS),
            ("Combine", combine, COMBINES),
        ):
            check_word(what, value, choices)
        if schedule == "pipelined" and combine != "none":
            raise InvalidValue(f"Combine must be none with schedule pipelined, not {combine!r}")
        check_power_of_two("Processors", processors)
        bits = processors.bit_length() - 1
        if packet.members["tag"] != dimensions + bits:
            raise InvalidValue(
                f"Tag of a packet must have {dimensions + bits} bits for {dimensions} dimensions "
                f"and {processors} processors per node, not {packet.members['tag']}"
            )
        self.packet = packet
        self.dimensions = dimensions
        self.processors = processors
        self.buffers = buffers
        self.age = age
        self.schedule = schedule
        self.priority = priority
        self.links = links
        self.combine = combine
        fields = dimensions, bits, age if priority == "oldest" else 0
        self.message = Message(*fields, packet.members["payload"])
        self.cycles = Slot(self.message).size if links == "serial" else 1
        self.parts = 0
        self._payload = Shape.cast(packet.members["payload"]).width
        if schedule == "pipelined" and links == "serial" and dimensions > 1 and self._payload:
            self.message = Message(*fields, 0)
            # A wire must be free again when its turn comes.
            self.cycles = max(Slot(self.message).size, -(-self._payload // (dimensions - 1)))
            self.parts = -(-self._payload // self.cycles)
        ports = stream.Signature(packet)
        self.meters = (
            Meter("crossed", "crossed", "number"),
            Meter("referred", "referred", "number"),
            Meter("stored", "level", "level"),
            *((Meter("combined", "combined", "number"),) if combine != "none" else ()),
        )
        self._served = dimensions if schedule == "parallel" else 1
        pairs = (buffers + self._served) // 2
        super().__init__(
            {
                "address": In(dimensions),
                "i": In(ports).array(processors),
                "o": Out(ports).array(processors),
                **wire_members(self.message, dimensions, serial=links == "serial"),
                "crossed": Out(range(self._served + 1)),
                "referred": Out(range(self._served + 1)),
                **({"combined": Out(range(pairs + 1))} if combine != "none" else {}),
                "level": Out(range(buffers + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wires, processors = self._served, self.processors
        places = self.buffers + wires
        in_turn = self.schedule != "parallel"
        m.submodules.inject = inject = Inject(
            self.packet, self.message, processors=processors, buffers=self.buffers
        )
        m.submodules.route = route = Route(places=places, wires=wires)
        m.submodules.buffer = buffer = Buffer(
            self.message,
            buffers=self.buffers,
            arrivals=wires,
            injections=processors,
            rewrites=self.combine != "none",
        )
        m.submodules.refer = refer = Refer(places=places, wires=wires)
        m.submodules.deliver = deliver = Deliver(
            self.packet, self.message, places=places, processors=processors
        )
        m.submodules.seniority = seniority = Seniority(self.message, places=places)
        m.submodules.wires = links = Wires(
            self.message,
            dimensions=self.dimensions,
            shared=in_turn,
            serial=self.links == "serial",
            least=self.cycles,
        )
        for port in range(processors):
            wiring.connect(m, wiring.flipped(self.i[port]), inject.i[port])
            if not self.parts:
                wiring.connect(m, wiring.flipped(self.o[port]), deliver.o[port])
        if not self.parts:
            self._connect_wires(m, links)

        step = links.step
        m.d.comb += [part.step.eq(step) for part in (inject, buffer, deliver)]
        m.d.comb += [inject.address.eq(self.address), deliver.address.eq(self.address)]
        if self.priority == "oldest":
            now = Signal(self.age)
            m.d.sync += now.eq(now + step)
            m.d.comb += [
                inject.now.eq(now),
                seniority.now.eq(now),
                seniority.address.eq(self.address),
            ]

        # For each wire that is served: its dimension, one bit of n.
        dimensions: list[Value] = [Const(1 << k, self.dimensions) for k in range(wires)]
        if in_turn:
            turn = Signal(self.dimensions, init=1)
            with m.If(step):
                m.d.sync += turn.eq(turn.rotate_left(1))
            m.d.comb += links.turn.eq(turn)
            dimensions = [turn]
            if self.parts:
                sent = route.sent[0] | refer.sent[0]
                self._pipeline(m, turn.rotate_right(1), sent, links, buffer, deliver)

        # The places of messages: first the buffers, then the wires that they arrive on.
        found = slots = [*buffer.o, *links.arrived]
        if self.combine != "none":
            slots = self._combine(m, found, seniority, buffer, step)
        left = Signal(places)
        for i, slot in enumerate(slots):
            relative = slot.message.relative
            m.d.comb += [
                # A merged pair has the rank of its first message.
                seniority.i[i].eq(found[i].message),
                deliver.i[i].eq(slot),
                *(
                    route.wanted[i][w].eq(slot.valid & (relative & dimension).any())
                    for w, dimension in enumerate(dimensions)
                ),
                left[i].eq(slot.valid & ~deliver.taken[i] & ~_any(route.sent, i)),
                *(part.before[i].eq(seniority.before[i]) for part in (route, refer, deliver)),
            ]
        m.d.comb += [refer.left.eq(left), refer.free.eq(Cat(~sent.any() for sent in route.sent))]
        for w, (sent, dimension) in enumerate(zip(links.sent, dimensions)):
            flags = route.sent[w] | refer.sent[w]
            message = Signal(self.message, name=f"message_{w}")
            m.d.comb += [
                message.eq(chosen(flags, [slot.message for slot in slots])),
                sent.valid.eq(flags.any()),
                sent.message.eq(message),
                sent.message.relative.eq(message.relative ^ dimension),
            ]

        stay = Cat(left[i] & ~_any(refer.sent, i) for i in range(places))
        m.d.comb += [buffer.stay.eq(stay), inject.room.eq(buffer.room), self.level.eq(buffer.level)]
        with m.If(step):
            m.d.comb += [
                self.crossed.eq(ones(sent.valid for sent in links.sent)),
                self.referred.eq(refer.referred),
            ]
        for w, (entry, slot) in enumerate(zip(buffer.arrived, slots[self.buffers :])):
            m.d.comb += [entry.message.eq(slot.message), entry.valid.eq(stay[self.buffers + w])]
        for entry, injected in zip(buffer.injected, inject.o):
            m.d.comb += entry.eq(injected)
        return m

    def _combine(
        self, m: Module, slots: list[Value], seniority: Seniority, buffer: Buffer, step: Value
    ) -> list[Value]:
        """The remaining messages, in their places; payloads of messages that stay are replaced."""
        fold = Fold(self.combine, self.message.members["payload"])
        m.submodules.combine = combine = Combine(fold, self.message, places=len(slots))
        for i, slot in enumerate(slots):
            m.d.comb += [combine.i[i].eq(slot), combine.before[i].eq(seniority.before[i])]
        for payload, slot in zip(buffer.payload, combine.o):
            m.d.comb += payload.eq(slot.message.payload)
        with m.If(step):
            m.d.comb += self.combined.eq(combine.combined)
        return list(combine.o)

    def _pipeline(
        self, m: Module, wire: Value, sent: Value, links: Wires, buffer: Buffer, deliver: Deliver
    ) -> None:
        """Let the parts of payloads follow their messages, and deliver them with the last part.

        `wire` is the dimension whose wire carries headers in this step.
        """
        processors = range(self.processors)
        size = {
            "dimensions": self.dimensions,
            "buffers": self.buffers,
            "processors": self.processors,
        }
        moves = Signal(Moves(**size, places=self.buffers + 1, payload=self._payload))
        m.d.comb += [moves.wire.eq(wire), moves.sent.eq(sent)]
        for entry, entered in zip(moves.entered, buffer.entered):
            m.d.comb += entry.eq(entered)
        for p in processors:
            m.d.comb += [
                moves.given[p].eq(deliver.given[p]),
                moves.payload[p].eq(self.i[p].payload.payload),
            ]
        carried = [Cat(links.o_wire)]
        m.d.comb += [port.eq(self.i_wire[k] & wire[k]) for k, port in enumerate(links.i_wire)]
        parts: list[PayloadPart] = []
        left = self._payload
        for number in range(self.parts):
            part = PayloadPart(cycles=self.cycles, payload=left, **size)
            m.submodules[f"part_{number}"] = part
            m.d.comb += [
                part.step.eq(links.step),
                part.moves.eq(parts[-1].later if parts else moves),
                part.i_wire.eq(Cat(self.i_wire)),
            ]
            left -= part.bits
            parts.append(part)
            carried.append(part.o_wire)
        for k, wire_ in enumerate(self.o_wire):
            m.d.comb += wire_.eq(Cat(bits[k] for bits in carried).any())
        for p, (inner, outer) in enumerate(zip(deliver.o, self.o)):
            complete = Signal(name=f"complete_{p}")
            with m.If(parts[-1].done[p]):
                m.d.sync += complete.eq(1)
            with m.Elif(outer.ready):
                m.d.sync += complete.eq(0)
            m.d.comb += [
                outer.valid.eq(complete),
                outer.payload.tag.eq(inner.payload.tag),
                Value.cast(outer.payload.payload).eq(Cat(part.o[p] for part in parts)),
                inner.ready.eq(complete & outer.ready),
            ]

    def _connect_wires(self, m: Module, links: Wires) -> None:
        for k in range(self.dimensions):
            if self.links == "serial":
                m.d.comb += [links.i_wire[k].eq(self.i_wire[k]), self.o_wire[k].eq(links.o_wire[k])]
            else:
                wiring.connect(m, wiring.flipped(self.i_wire[k]), links.i_wire[k])
                wiring.connect(m, wiring.flipped(self.o_wire[k]), links.o_wire[k])


def _any(sent: list[Value], place: int) -> Value:
    """Whether a wire takes the message of a place."""
    return Cat(wire[place] for wire in sent).any()
