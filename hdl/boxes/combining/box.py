# amaranth: UnusedElaboratable=no
"""The box of a combining network (Siegel et al., IV-B)."""

from typing import Literal

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer, check_radix
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Meter
from ...links.memory_link import MemoryLink, check_link, check_tag
from ...operations.memory import OperationUnit, Policy, Rules
from ...primitives.arrival_queue import ArrivalQueue
from ...primitives.pacing import Lengths, check_lengths, paced
from .queue import CombiningQueue
from .wait_buffer import WaitBuffer

__all__ = ["MERGES", "CombiningBox"]

MERGES = ("pairwise", "unlimited")
"""How many other requests a queued request may combine with in one box: one, or any number."""


class CombiningBox(wiring.Component):
    """A k x k box that carries requests forward and replies back, and combines requests.

    Forward it is an output-queued switch: each output has a queue that accepts requests from all
    inputs in one cycle, and a request that finds it empty leaves in the next cycle. Two requests
    for the same word that meet in a queue continue as one (`CombiningQueue`). The data for the
    reply to the second is recorded in a *wait buffer*; there is one for each pair of input and
    output. If it is full, requests do not combine, but nothing waits for it.

    Backward, a reply arrives at the port by which its request left. For each record of it in the
    wait buffers a second reply is made, and all go into the queues of the inputs by which their
    requests came. This takes one cycle, like a reply without records, unless several of these
    replies are for the same input; then each takes a cycle. The reply to the request that continued
    is the last, or goes with the last. So once a processor has a reply, and may reuse the identity
    of its request, the box has no record of it.

    Requests wait only for requests before them, and replies only for replies. So if the processors
    accept their replies and the memories can send theirs, every request is answered.

    With messages of several words, each output carries one word per cycle, but the queues take no
    longer: a request whose output is between messages waits in the queue, and may be combined there
    unless it is the head.

    `o[*].request` and `i[*].reply` come from registers and memories. `i[*].request.ready` depends
    combinationally on `i[*].request`, and `o[*].reply.ready` on `o[*].reply` of the same port.

    Parameters
    ----------
    link : MemoryLink
        Its operations are those of the requests. The top digit of a tag must name an output.
    radix : int
        Number of inputs and of outputs, at least 2.
    depth : int
        Requests that fit into the queue of each output, at least 2. While this many replies wait
        for an input, no more are accepted; the total may be up to k - 1 more.
    wait : int
        Records in each wait buffer, at least 1.
    policy : str or Policy
        Which operations combine: one of `operations.POLICIES`, or a `Policy`. If it allows no pair,
        the box has no wait buffers, and its queues are in memories instead of registers.
    merge : "pairwise" or "unlimited"
        How many other requests a request may combine with in a queue.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`). A queue's depth is counted
        in messages, whatever their lengths.

    Attributes
    ----------
    rules : Rules

    Members
    -------
    i : In(link).array(radix)
    o : Out(link).array(radix)
    later : In(link.tag)
        The bits of a tag, as it arrives, that later boxes use (`boxes.unbuffered.later_bits`).
        Constant. Absent if nothing combines.
    combined : Out(range(radix * radix + 1))
        Number of requests that were combined with another in this cycle.

    Raises
    ------
    ValueError
        If the link's tag is narrower than a digit.
    """

    meters = (Meter("combined", "combined", "number"),)

    def __init__(
        self,
        link: MemoryLink,
        *,
        radix: int = 2,
        depth: int = 4,
        wait: int = 4,
        policy: str | Policy = "all",
        merge: Literal["pairwise", "unlimited"] = "pairwise",
        lengths: Lengths = (1, 1),
    ) -> None:
        check_link(link)
        radix = check_radix(radix)
        depth = check_integer("Depth", depth, 2)
        wait = check_integer("Wait", wait, 1)
        self.rules = Rules(link.operations, policy)
        if merge not in MERGES:
            raise InvalidValue(f"Merge must be {' or '.join(MERGES)}, not {merge!r}")
        check_lengths(lengths)
        check_tag(link, radix)
        self.link = link
        self.radix = radix
        self.depth = depth
        self.wait = wait
        self.policy = self.rules.policy
        self.merge = merge
        self.lengths = lengths
        super().__init__(
            {
                "i": In(link).array(radix),
                "o": Out(link).array(radix),
                **({"later": In(link.tag)} if self.combines else {}),
                "combined": Out(range(radix * radix + 1)),
            }
        )

    @property
    def digit_bits(self) -> int:
        """Width of the digit of the tag that this box uses."""
        return (self.radix - 1).bit_length()

    @property
    def combines(self) -> bool:
        """Whether any two requests combine."""
        return self.rules.combines

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues = self._request_queues(m)
        waits = self._wait_buffers(m, queues) if self.combines else None
        self._replies(m, waits)
        return m

    def _request_queues(self, m: Module) -> list:
        layout, ports = self.link.request_layout, range(self.radix)
        queues = []
        for j in ports:
            if self.combines:
                queue = CombiningQueue(
                    self.link,
                    self.rules,
                    writers=self.radix,
                    depth=self.depth,
                    pairwise=self.merge == "pairwise",
                )
                later = Cat(Const(0, self.digit_bits), self.later)[: self.link.tag]
                m.d.comb += queue.later.eq(later)
            else:
                queue = ArrivalQueue(layout, writers=self.radix, depth=self.depth)
            m.submodules[f"requests_{j}"] = queue
            output = paced(m, f"request_pacer_{j}", "request", self.lengths, self.o[j])
            wiring.connect(m, output, queue.o)
            queues.append(queue)
        for i in ports:
            source = self.i[i].request
            rest, digit = self._split(source.payload.tag)
            passed = Signal(layout, name=f"passed_{i}")
            m.d.comb += passed.eq(source.payload)
            m.d.comb += passed.tag.eq(Cat(Const(i, self.digit_bits), rest))
            for j, queue in enumerate(queues):
                m.d.comb += [
                    queue.i[i].valid.eq(source.valid & (digit == j)),
                    queue.i[i].payload.eq(passed),
                ]
                with m.If(digit == j):
                    m.d.comb += source.ready.eq(queue.i[i].ready)
        return queues

    def _split(self, tag: data.View) -> tuple:
        at = self.link.tag - self.digit_bits
        return tag[:at], tag[at:]

    def _wait_buffers(self, m: Module, queues: list[CombiningQueue]) -> list[list[WaitBuffer]]:
        """The wait buffer of input i and output j is at [i][j]."""
        link, ports = self.link, range(self.radix)
        fields = link.request_layout.members
        key = data.StructLayout({"tag": link.tag, "identity": link.identity})
        record = data.StructLayout(
            {
                "operation": fields["operation"],
                "operand": link.width,
                "rest": link.tag - self.digit_bits,
                "identity": link.identity,
            }
        )
        waits = []
        for i in ports:
            second = self.i[i].request.payload
            rest, _ = self._split(second.tag)
            row = []
            for j in ports:
                wait = m.submodules[f"wait_{i}_{j}"] = WaitBuffer(key, record, size=self.wait)
                first = queues[j].record[i]
                m.d.comb += [
                    queues[j].free[i].eq(wait.free),
                    wait.store.eq(queues[j].combined[i]),
                    wait.key.tag.eq(first.tag),
                    wait.key.identity.eq(first.identity),
                    wait.record.operation.eq(first.operation),
                    wait.record.operand.eq(first.operand),
                    wait.record.rest.eq(rest),
                    wait.record.identity.eq(second.identity),
                ]
                row.append(wait)
            waits.append(row)
        m.d.comb += self.combined.eq(sum(bit for queue in queues for bit in queue.combined))
        return waits

    def _replies(self, m: Module, waits: list[list[WaitBuffer]] | None) -> None:
        link, ports = self.link, range(self.radix)
        queues = []
        for i in ports:
            queue = ArrivalQueue(
                link.reply_layout, writers=self.radix, depth=self.depth + self.radix - 1
            )
            m.submodules[f"replies_{i}"] = queue
            output = paced(m, f"reply_pacer_{i}", "reply", self.lengths, self.i[i])
            wiring.connect(m, output, queue.o)
            queues.append(queue)
        room = [queue.level < self.depth for queue in queues]
        for j in ports:
            source = self.o[j].reply
            reply = source.payload
            target = reply.tag[: self.digit_bits]
            came = Const(j, self.digit_bits)
            passed = Signal(link.reply_layout, name=f"passed_reply_{j}")
            m.d.comb += passed.eq(reply)
            m.d.comb += passed.tag.eq(Cat(reply.tag[self.digit_bits :], came))

            # Whether the reply itself can go: all remaining records go in this cycle.
            last = Signal(name=f"last_{j}")
            hits = [wait[j].hit for wait in waits] if waits else [Const(0, 1)] * self.radix
            more = [wait[j].more for wait in waits] if waits else [Const(0, 1)] * self.radix
            m.d.comb += last.eq(
                Cat(
                    Mux(target == i, room[i] & ~hits[i], ~hits[i] | (room[i] & ~more[i]))
                    for i in ports
                ).all()
            )
            m.d.comb += source.ready.eq(last)
            for i in ports:
                m.d.comb += [
                    queues[i].i[j].valid.eq(source.valid & last & (target == i)),
                    queues[i].i[j].payload.eq(passed),
                ]
            if not waits:
                continue
            units = self._units(m, j, reply.value, [wait[j] for wait in waits])
            for i in ports:
                wait = waits[i][j]
                m.d.comb += [
                    wait.wanted.tag.eq(reply.tag),
                    wait.wanted.identity.eq(reply.identity),
                    wait.take.eq(source.valid & wait.hit & room[i]),
                ]
                with m.If(wait.hit):
                    second = queues[i].i[j].payload
                    m.d.comb += [
                        queues[i].i[j].valid.eq(source.valid & room[i]),
                        second.tag.eq(Cat(wait.found.rest, came)),
                        second.identity.eq(wait.found.identity),
                        second.value.eq(units[i].result),
                    ]

    def _units(
        self, m: Module, j: int, value: data.View, waits: list[WaitBuffer]
    ) -> list[OperationUnit]:
        """For each input, the unit that makes the reply to a second request from that to the first.

        If requests combine pairwise, a reply has at most one record, and one unit is enough.
        """
        firsts = frozenset(first for first, _, _ in self.rules.pairs())
        shared = self.merge == "pairwise"
        units = []
        for i in range(1 if shared else self.radix):
            unit = OperationUnit(self.link.operations, self.link.width, used=firsts)
            m.submodules[f"unit_{j}_{i}"] = unit
            units.append(unit)
            m.d.comb += unit.x.eq(value)
            for wait in waits if shared else [waits[i]]:
                with m.If(wait.hit):
                    m.d.comb += [
                        unit.operation.eq(wait.found.operation),
                        unit.operand.eq(wait.found.operand),
                    ]
        return units * self.radix if shared else units
