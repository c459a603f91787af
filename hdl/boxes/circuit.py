"""Circuit switching: boxes without buffers, in which a path is set up, held and released.

Siegel et al. 1989, sections IV-A and VI-C.

With a broadcast mask (III-B, III-C) the path is a tree: a box connects its input to several outputs
at once, a state of the interchange box. Trees must not wait while they hold links. Two paths can't
wait for each other, because both request links in the order of the stages. But two trees can: they
meet in several boxes of one stage, and each may have what the other one waits for.
"""

from functools import reduce
from operator import or_
from typing import Literal

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer, check_word
from ..fabric.errors import InvalidValue
from ..graphs.tags import Routing
from ..links.circuit_link import CircuitLink
from ..links.packet import Packet
from ..primitives.interchange_box import InterchangeBox
from ..primitives.joint_arbiter import JointArbiter
from ..primitives.round_robin import RoundRobin
from ..primitives.routing_tags import forwarded, output_port, requested_outputs
from ..switch.broadcast import CopyTracker
from .box_parameters import BoxParameters

__all__ = ["POLICIES", "CircuitBox", "Policy", "check_policy", "reject"]

Policy = Literal["hold", "drop", "modified-hold"]
POLICIES: tuple[Policy, ...] = ("hold", "drop", "modified-hold")
"""Policies for a blocked packet or request (Siegel et al., IV-A)."""


def check_policy(policy: str) -> None:
    """Raise ValueError if this is none of `POLICIES`."""
    check_word("Policy", policy, POLICIES)


def reject(
    m: Module, name: str, refused: Value, dropped: Value, policy: Policy, hold_limit: int
) -> None:
    """Set `dropped` where the policy rejects a request that is refused in this cycle."""
    if policy == "drop":
        m.d.comb += dropped.eq(refused)
    elif policy == "modified-hold":
        waited = Signal(range(hold_limit + 1), name=f"waited_{name}")
        m.d.comb += dropped.eq(refused & (waited == hold_limit))
        m.d.sync += waited.eq(Mux(refused & ~dropped, waited + 1, 0))


class CircuitBox(BoxParameters, wiring.Component):
    """A k x k box that assigns each of its outputs to one input while that input requests it.

    There are no buffers, only a register per output that says which input owns it. A request that
    finds its output free, or being released, owns it in the next cycle and is passed on only then;
    so setting up a path takes one cycle per box. Several requests for an output get it in turn
    (`RoundRobin`): a request that stays asserted is overtaken by at most k - 1 others.

    A request that does not get its output is *refused*. With the policy `hold` it waits, and keeps
    the path that it has set up so far. A path takes its boxes in the order of the stages, so there
    is no cyclic waiting. With `drop` it is rejected in the same cycle. With `modified-hold` it
    waits for `hold_limit` cycles, and is rejected in the next one if it is refused again.

    With a broadcast mask, a request gets all its outputs in the same cycle, or is refused
    (`JointArbiter`; of several that could have them one always does). A refused tree is rejected in
    the same cycle with `hold`, too. With `modified-hold` it waits as long as any other request.

    In a *dilated* network (VI-A) each link is a bundle of lanes to the same place. A request gets
    any free lane of the bundle that it wants: the lanes choose one after the other, each in turn
    among the requests that no other lane takes. All that comes back uses the lane that was taken.

    All outputs except `held` are combinational: the forward ones depend on the forward inputs and
    registers, the backward ones and `dropped` on all inputs. So there is no combinational loop
    through any number of boxes.

    Parameters
    ----------
    packet : Packet
        The tag's top digit names the output. A digit that names no output (radix 3, for example,
        has two-bit digits) is refused forever: tags must come from a `TagScheme`.
    reply : ShapeLike, optional
        As in `CircuitLink`.
    radix : int
        Number of inputs and of outputs, at least 2.
    routing : "destination", "xor" or "difference"
        Whether the digit is the number of the output; that number exclusive-ored with the number of
        the input (which needs a radix that is a power of two); or that number minus the number of
        the input, modulo the radix.
    policy : "hold", "drop" or "modified-hold"
    hold_limit : int
        Cycles that a refused request waits with the policy `modified-hold`, at least 1.
    dilation_in, dilation_out : int
        Links in the bundle of each input and of each output, at least 1; link l of bundle b is
        number b * dilation + l. At most 64 input links are possible.

    Members
    -------
    i : In(CircuitLink(packet, reply)).array(radix * dilation_in)
    o : Out(CircuitLink(packet, reply)).array(radix * dilation_out)
    held : Out(radix * dilation_out)
        Bit j: output link j is owned.
    dropped : Out(radix * dilation_in)
        Bit i: the request at input link i is rejected here, in this cycle. One pulse per attempt.

    Raises
    ------
    ValueError
        If the packet's tag is narrower than a digit.
    """

    def __init__(
        self,
        packet: Packet,
        reply: ShapeLike | None = None,
        *,
        radix: int,
        routing: Routing = "destination",
        policy: Policy = "hold",
        hold_limit: int = 16,
        dilation_in: int = 1,
        dilation_out: int = 1,
    ) -> None:
        dilation = dilation_in, dilation_out
        shape, _ = self._set_up(packet, radix, routing, dilation=dilation)
        check_policy(policy)
        hold_limit = check_integer("Hold limit", hold_limit, 1)
        if packet.broadcast and (dilation_in, dilation_out) != (1, 1):
            raise InvalidValue(
                f"Dilation of a circuit switch with a broadcast mask must be 1, "
                f"not {max(dilation_in, dilation_out)}"
            )
        self.packet = packet
        self.reply = reply
        self.policy = policy
        self.hold_limit = hold_limit
        # Several boxes can reject one attempt to set up a tree; its source counts it once.
        counts = policy != "hold" and not packet.broadcast
        self.meters = (Meter("dropped", "dropped", "pulses"),) if counts else ()
        link = CircuitLink(packet, reply)
        inputs, outputs = len(shape.inputs), len(shape.outputs) * shape.lanes
        super().__init__(
            {
                "i": In(link).array(inputs),
                "o": Out(link).array(outputs),
                "held": Out(outputs),
                "dropped": Out(inputs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, outputs = range(len(self.i)), range(len(self.o))
        owners = [Signal(inputs, name=f"owner_{j}") for j in outputs]
        # Bit j: input i, output j.
        owns = [Signal(len(outputs), name=f"owns_{i}") for i in inputs]
        for i in inputs:
            m.d.comb += owns[i].eq(Cat(self.held[j] & (owners[j] == i) for j in outputs))
        if self.packet.broadcast:
            self._grant_trees(m, owners, owns)
            self._carry_trees(m, owners, owns)
            return m

        # The owner-to-be of an output that is free, or that its owner releases in this cycle.
        wins: list[list[Value]] = [[] for _ in inputs]
        targets = []
        for i, source in enumerate(self.i):
            target = Signal(self.digit_bits, name=f"target_{i}")
            wanted = output_port(
                source.payload.tag, self.radix, self.routing, i // self.dilation_in
            )
            m.d.comb += target.eq(wanted)
            targets.append(target)
        taken: Value = Const(0)  # the requests that get an earlier lane of the same bundle
        for number, output in enumerate(self.o):
            j, lane = divmod(number, self.dilation_out)
            m.submodules[f"arbiter_{number}"] = arbiter = RoundRobin(len(inputs))
            request = Cat(self.i[i].request & ~owns[i].any() & (targets[i] == j) for i in inputs)
            m.d.comb += [
                arbiter.request.eq(request if lane == 0 else request & ~taken),
                arbiter.taken.eq(~output.request),
            ]
            if lane < self.dilation_out - 1:
                own = Mux(arbiter.taken, arbiter.granted, 0)
                taken = own if lane == 0 else taken | own
            for i in inputs:
                mine = arbiter.grant == i if self.dilation_out == 1 else arbiter.granted[i]
                wins[i].append(arbiter.taken & mine & (targets[i] == j))
            m.d.sync += self.held[number].eq(output.request | arbiter.request.any())
            with m.If(~output.request):
                m.d.sync += owners[number].eq(arbiter.grant)

        for i, source in enumerate(self.i):
            refused = Signal(name=f"refused_{i}")
            m.d.comb += refused.eq(source.request & ~owns[i].any() & ~Cat(wins[i]).any())
            self._reject(m, i, refused)

        self._carry_forward(m, owners)
        self._carry_back(m, owns)
        return m

    def _reject(self, m: Module, i: int, refused: Signal) -> None:
        """Reject a refused request as the policy says; a tree with `hold`, too."""
        if self.packet.broadcast and self.policy == "hold":
            m.d.comb += self.dropped[i].eq(refused & self.i[i].payload.mask.any())
        else:
            reject(m, str(i), refused, self.dropped[i], self.policy, self.hold_limit)

    def _grant_trees(self, m: Module, owners: list[Signal], owns: list[Signal]) -> None:
        """Give each request all its outputs in one cycle, if they are free or being released."""
        m.submodules.arbiter = arbiter = JointArbiter(self.radix)
        m.d.comb += arbiter.free.eq(Cat(~output.request for output in self.o))
        for i, source in enumerate(self.i):
            seeks, refused = source.request & ~owns[i].any(), Signal(name=f"refused_{i}")
            wanted = requested_outputs(source.payload, self.radix, self.routing, i)
            m.d.comb += [
                arbiter.request[i].eq(seeks),
                arbiter.wanted[i].eq(wanted),
                refused.eq(seeks & ~arbiter.granted[i]),
            ]
            self._reject(m, i, refused)
        for j, output in enumerate(self.o):
            wins = Cat(arbiter.granted[i] & arbiter.wanted[i][j] for i in range(self.radix))
            m.d.sync += self.held[j].eq(output.request | wins.any())
            for i in range(self.radix):
                with m.If(wins[i]):
                    m.d.sync += owners[j].eq(i)

    def _carry_trees(self, m: Module, owners: list[Signal], owns: list[Signal]) -> None:
        """Connect each input to all outputs that it owns, in both directions."""
        box = InterchangeBox(self.radix, self.packet)
        m.submodules.forward = box
        box.set(m, owners, ~0)
        left, replies = [], []
        for i, source in enumerate(self.i):
            m.submodules[f"copies_{i}"] = copies = CopyTracker(self.radix)
            owner = owns[i].any()
            m.d.comb += [
                box.i[i].eq(forwarded(source.payload, self.digit_bits)),
                # With the release it forgets who has taken the last word.
                copies.requested.eq(Mux(source.request, owns[i], 0)),
                copies.valid.eq(source.valid | ~source.request),
                copies.taken.eq(Cat(output.ready for output in self.o)),
                source.ready.eq(owner & copies.done),
                source.grant.eq(owner & ~(owns[i] & Cat(~each.grant for each in self.o)).any()),
                source.reject.eq(
                    (owns[i] & Cat(each.reject for each in self.o)).any() | self.dropped[i]
                ),
            ]
            left.append(Mux(source.valid, copies.left, 0))
            if self.reply is not None:
                missing = Cat(~each.reply.valid for each in self.o)
                words = [
                    Mux(bit, Value.cast(each.reply.payload), 0)
                    for bit, each in zip(owns[i], self.o)
                ]
                m.d.comb += [
                    source.reply.valid.eq(owner & ~(owns[i] & missing).any()),
                    Value.cast(source.reply.payload).eq(reduce(or_, words)),
                ]
                taken = source.reply.valid & source.reply.ready
                replies.append(Mux(taken, owns[i], 0))
        for j, output in enumerate(self.o):
            m.d.comb += [
                output.request.eq(
                    Cat(own[j] & source.request for own, source in zip(owns, self.i)).any()
                ),
                output.payload.eq(box.o[j]),
                output.valid.eq(Cat(each[j] for each in left).any()),
            ]
            if self.reply is not None:
                m.d.comb += output.reply.ready.eq(Cat(each[j] for each in replies).any())

    def _carry_forward(self, m: Module, owners: list[Signal]) -> None:
        """Connect each output to its owner in the forward direction."""
        two_way = self.reply is not None
        layout: dict[str, ShapeLike] = {"request": 1, "payload": self.packet, "valid": 1}
        layout |= {"reply_ready": 1} if two_way else {}
        box = InterchangeBox(len(self.i), data.StructLayout(layout), len(self.o))
        m.submodules.forward = box
        # The payload of an output without an owner is undefined, which saves gates.
        box.set(m, owners, ~0)
        for source, entry in zip(self.i, box.i):
            m.d.comb += [
                entry.request.eq(source.request),
                entry.payload.eq(forwarded(source.payload, self.digit_bits)),
                entry.valid.eq(source.valid),
            ]
            if two_way:
                m.d.comb += entry.reply_ready.eq(source.reply.ready)
        for output, exit_, held in zip(self.o, box.o, self.held):
            m.d.comb += [
                output.request.eq(exit_.request & held),
                output.payload.eq(exit_.payload),
                output.valid.eq(exit_.valid & held),
            ]
            if two_way:
                m.d.comb += output.reply.ready.eq(exit_.reply_ready & held)

    def _carry_back(self, m: Module, owns: list[Signal]) -> None:
        """Connect each input to the output that it owns in the backward direction."""
        two_way = self.reply is not None
        layout: dict[str, ShapeLike] = {"ready": 1, "grant": 1, "reject": 1}
        layout |= {"reply_valid": 1, "reply": self.reply} if two_way else {}
        box = InterchangeBox(len(self.o), data.StructLayout(layout), len(self.i))
        m.submodules.back = box
        select = []
        for i, bits in enumerate(owns):
            number = Signal(range(len(self.o)), name=f"output_{i}")
            for j in range(len(self.o)):
                with m.If(bits[j]):
                    m.d.comb += number.eq(j)
            select.append(number)
        box.set(m, select, ~0)
        for output, entry in zip(self.o, box.i):
            m.d.comb += [
                entry.ready.eq(output.ready),
                entry.grant.eq(output.grant),
                entry.reject.eq(output.reject),
            ]
            if two_way:
                m.d.comb += [
                    entry.reply_valid.eq(output.reply.valid),
                    entry.reply.eq(output.reply.payload),
                ]
        for source, exit_, bits, dropped in zip(self.i, box.o, owns, self.dropped):
            owner = bits.any()
            m.d.comb += [
                source.ready.eq(exit_.ready & owner),
                source.grant.eq(exit_.grant & owner),
                source.reject.eq((exit_.reject & owner) | dropped),
            ]
            if two_way:
                m.d.comb += [
                    source.reply.valid.eq(exit_.reply_valid & owner),
                    source.reply.payload.eq(exit_.reply),
                ]
