# amaranth: UnusedElaboratable=no
"""What boxes and routers that combine requests have in common (Siegel et al., IV-B)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Meter
from ...fabric.checks import check_integer, check_word
from ...links.memory_link import MemoryLink, check_link
from ...operations.combining_rules import Policy, Rules
from ...operations.operation_unit import OperationUnit
from ...primitives.arrival_queue import ArrivalQueue
from ...primitives.pacing import Lengths, check_lengths, paced
from .queue import CombiningQueue
from .wait_buffer import WaitBuffer

__all__ = ["MERGES", "CombiningSwitch"]

MERGES = ("pairwise", "unlimited")
"""How many other requests a queued request may combine with in one switch: one, or any number."""


class CombiningSwitch(wiring.Component):
    """Carries requests forward and replies back, and combines requests for the same word.

    Forward it is an output-queued switch: each output has a queue that accepts requests from all
    inputs that lead to it in one cycle, and a request that finds it empty leaves in the next cycle.
    Two requests for the same word that meet in a queue continue as one (`CombiningQueue`). The data
    for the reply to the second is recorded in a *wait buffer*; there is one for each pair of input
    and output. If it is full, requests do not combine, but nothing waits for it.

    A request takes the way back with it: its tag tells at the other side by which input it came
    here, as a number among the inputs that lead to its output.

    Backward, a reply arrives at the port by which its request left. For each record of it in the
    wait buffers a second reply is made, and all go into the queues of the inputs by which their
    requests came. This takes one cycle, like a reply without records, unless several of these
    replies are for the same input; then each takes a cycle. The reply to the request that continued
    is the last, or goes with the last. So once a processor has a reply, and may reuse the identity
    of its request, the switch has no record of it.

    Requests wait only for requests before them, and replies only for replies.

    With messages of several words, each output carries one word per cycle, but the queues take no
    longer: a request whose output is between messages waits in the queue, and may be combined there
    unless it is the head.

    `o[*].request` and `i[*].reply` come from registers and memories. `i[*].request.ready` depends
    combinationally on `i[*].request`, and `o[*].reply.ready` on `o[*].reply` of the same port.

    Parameters
    ----------
    link : MemoryLink
        Its operations are those of the requests.
    sources : Sequence[Sequence[int]]
        For each output, the inputs whose requests may leave by it.
    inputs : int
    depth : int
        Requests that fit into the queue of each output, at least 2. While this many replies wait
        for an input, no more are accepted; the total may be up to k - 1 more, if k outputs lead
        back to it.
    wait : int
        Records in each wait buffer, at least 1.
    policy : str or Policy
        Which operations combine: one of `operations.POLICIES`, or a `Policy`. If it allows no pair,
        the switch has no wait buffers, and its queues are in memories instead of registers.
    merge : "pairwise" or "unlimited"
        How many other requests a request may combine with in a queue.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request (`pacing`). A queue's depth is counted
        in messages, whatever their lengths.
    members : Mapping
        Further members.

    Attributes
    ----------
    rules : Rules
    pairs : int
        Pairs of an input and an output to which it leads: wait buffers, if anything combines.

    Members
    -------
    i : In(link).array(inputs)
    o : Out(link).array(outputs)
    combined : Out(range(pairs + 1))
        Number of requests that were combined with another in this cycle.
    """

    meters: tuple[Meter, ...] = (Meter("combined", "combined", "number"),)

    def __init__(
        self,
        link: MemoryLink,
        sources: Sequence[Sequence[int]],
        *,
        inputs: int,
        depth: int,
        wait: int,
        policy: str | Policy,
        merge: Literal["pairwise", "unlimited"],
        lengths: Lengths,
        members: Mapping[str, Any],
    ) -> None:
        check_link(link)
        depth = check_integer("Depth", depth, 2)
        wait = check_integer("Wait", wait, 1)
        self.rules = Rules(link.operations, policy)
        check_word("Merge", merge, MERGES)
        check_lengths(lengths)
        self.link = link
        self.sources = tuple(map(tuple, sources))
        self.depth = depth
        self.wait = wait
        self.policy = self.rules.policy
        self.merge = merge
        self.lengths = lengths
        self.pairs = sum(map(len, self.sources))
        own = {
            "i": In(link).array(inputs),
            "o": Out(link).array(len(self.sources)),
            "combined": Out(range(self.pairs + 1)),
        }
        super().__init__({**own, **members})

    @property
    def combines(self) -> bool:
        """Whether any two requests combine."""
        return self.rules.combines

    # What boxes and routers do each in their way.

    @abstractmethod
    def _wanted(self, m: Module, i: int) -> Sequence[Value]:
        """For each output, whether the request at an input is for it."""

    @abstractmethod
    def _later(self, j: int) -> Value:
        """The bits of the tags of requests at an output that differ if their words do."""

    @abstractmethod
    def _rest(self, j: int, tag: Value) -> Value:
        """What of a request's tag, as it comes, has to be kept if it combines at an output."""

    @abstractmethod
    def _onward(self, j: int, place: int, tag: Value) -> Value:
        """A request's tag as it leaves by an output, to which it came by input number `place` of
        those that lead there."""

    @abstractmethod
    def _back(self, j: int, tag: Value) -> tuple[Value, Value]:
        """The number of the input by which a request for a reply at an output came, and its tag."""

    @abstractmethod
    def _second(self, j: int, rest: Value, tag: Value) -> Value:
        """The tag of a second reply, from what was kept, and from the tag of the first one."""

    # What they have in common.

    def _leads(self, i: int) -> list[int]:
        """The outputs that an input leads to."""
        return [j for j, inputs in enumerate(self.sources) if i in inputs]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues = self._request_queues(m)
        waits = self._wait_buffers(m, queues) if self.combines else None
        self._replies(m, waits)
        return m

    def _request_queues(self, m: Module) -> dict[int, Any]:
        """The queue of each output that any input leads to."""
        layout = self.link.request_layout
        queues: dict[int, Any] = {}
        for j, inputs in enumerate(self.sources):
            if not inputs:
                continue
            queue: Any
            if self.combines:
                queue = CombiningQueue(
                    self.link,
                    self.rules,
                    writers=len(inputs),
                    depth=self.depth,
                    pairwise=self.merge == "pairwise",
                )
                m.d.comb += queue.later.eq(self._later(j))
            else:
                queue = ArrivalQueue(layout, writers=len(inputs), depth=self.depth)
            m.submodules[f"requests_{j}"] = queue
            output = paced(m, f"request_pacer_{j}", "request", self.lengths, self.o[j])
            wiring.connect(m, output, queue.o)
            queues[j] = queue
        for i, port in enumerate(self.i):
            source = port.request
            wanted = self._wanted(m, i)
            for j in self._leads(i):
                place = self.sources[j].index(i)
                entry: stream.Interface = queues[j].i[place]
                m.d.comb += [
                    entry.valid.eq(source.valid & wanted[j]),
                    entry.payload.eq(source.payload),
                ]
                m.d.comb += entry.payload.tag.eq(self._onward(j, place, source.payload.tag))
                with m.If(source.valid & wanted[j]):
                    m.d.comb += source.ready.eq(entry.ready)
        return queues

    def _wait_buffers(
        self, m: Module, queues: Mapping[int, CombiningQueue]
    ) -> dict[tuple[int, int], WaitBuffer]:
        """The wait buffers by input and output."""
        link = self.link
        key = data.StructLayout({"tag": link.tag, "identity": link.identity})
        waits = {}
        for j, inputs in enumerate(self.sources):
            for place, i in enumerate(inputs):
                second, queue = self.i[i].request.payload, queues[j]
                rest = self._rest(j, second.tag)
                record = data.StructLayout(
                    {
                        "operation": link.request_layout.members["operation"],
                        "operand": link.width,
                        "rest": len(rest),
                        "identity": link.identity,
                    }
                )
                wait = m.submodules[f"wait_{i}_{j}"] = WaitBuffer(key, record, size=self.wait)
                first = queue.record[place]
                m.d.comb += [
                    queue.free[place].eq(wait.free),
                    wait.store.eq(queue.combined[place]),
                    wait.key.tag.eq(first.tag),
                    wait.key.identity.eq(first.identity),
                    wait.record.operation.eq(first.operation),
                    wait.record.operand.eq(first.operand),
                    wait.record.rest.eq(rest),
                    wait.record.identity.eq(second.identity),
                ]
                waits[i, j] = wait
        combined = (bit for queue in queues.values() for bit in queue.combined)
        m.d.comb += self.combined.eq(sum(combined, start=Const(0)))
        return waits

    def _replies(self, m: Module, waits: Mapping[tuple[int, int], WaitBuffer] | None) -> None:
        link = self.link
        entries: dict[tuple[int, int], stream.Interface] = {}
        room: dict[int, Value] = {}
        for i, port in enumerate(self.i):
            if not (leads := self._leads(i)):
                continue
            queue = ArrivalQueue(
                link.reply_layout, writers=len(leads), depth=self.depth + len(leads) - 1
            )
            m.submodules[f"replies_{i}"] = queue
            output = paced(m, f"reply_pacer_{i}", "reply", self.lengths, port)
            wiring.connect(m, output, queue.o)
            entries |= {(i, j): entry for j, entry in zip(leads, queue.i)}
            room[i] = queue.level < self.depth
        for j, inputs in enumerate(self.sources):
            if not inputs:
                continue
            source = self.o[j].reply
            reply = source.payload
            target, before = self._back(j, reply.tag)
            passed = Signal(link.reply_layout, name=f"passed_reply_{j}")
            m.d.comb += passed.eq(reply)
            m.d.comb += passed.tag.eq(before)

            # Whether the reply itself can go: all remaining records go in this cycle.
            last = Signal(name=f"last_{j}")
            hits = {i: waits[i, j].hit if waits else Const(0, 1) for i in inputs}
            more = {i: waits[i, j].more if waits else Const(0, 1) for i in inputs}
            m.d.comb += last.eq(
                Cat(
                    Mux(target == place, room[i] & ~hits[i], ~hits[i] | (room[i] & ~more[i]))
                    for place, i in enumerate(inputs)
                ).all()
            )
            m.d.comb += source.ready.eq(source.valid & last)
            for place, i in enumerate(inputs):
                m.d.comb += [
                    entries[i, j].valid.eq(source.valid & last & (target == place)),
                    entries[i, j].payload.eq(passed),
                ]
            if not waits:
                continue
            units = self._units(m, j, reply.value, [waits[i, j] for i in inputs])
            for place, i in enumerate(inputs):
                wait = waits[i, j]
                m.d.comb += [
                    wait.wanted.tag.eq(reply.tag),
                    wait.wanted.identity.eq(reply.identity),
                    wait.take.eq(source.valid & wait.hit & room[i]),
                ]
                with m.If(wait.hit):
                    second = entries[i, j].payload
                    m.d.comb += [
                        entries[i, j].valid.eq(source.valid & room[i]),
                        second.tag.eq(self._second(j, wait.found.rest, reply.tag)),
                        second.identity.eq(wait.found.identity),
                        second.value.eq(units[place].result),
                    ]

    def _units(
        self, m: Module, j: int, value: data.View, waits: Sequence[WaitBuffer]
    ) -> list[OperationUnit]:
        """For each input, the unit that makes the reply to a second request from that to the first.

        If requests combine pairwise, a reply has at most one record, and one unit is enough.
        """
        firsts = frozenset(first for first, _, _ in self.rules.pairs())
        shared = self.merge == "pairwise"
        units = []
        for place in range(1 if shared else len(waits)):
            unit = OperationUnit(self.link.operations, self.link.width, used=firsts)
            m.submodules[f"unit_{j}_{place}"] = unit
            units.append(unit)
            m.d.comb += unit.x.eq(value)
            for wait in waits if shared else [waits[place]]:
                with m.If(wait.hit):
                    m.d.comb += [
                        unit.operation.eq(wait.found.operation),
                        unit.operand.eq(wait.found.operand),
                    ]
        return units * len(waits) if shared else units
