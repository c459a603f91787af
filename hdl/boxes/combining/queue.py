# amaranth: UnusedElaboratable=no
"""A queue of requests that combines those for the same word."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...links.memory_link import MemoryLink
from ...operations.combining_rules import Rules
from ...operations.operation_unit import Combiner

__all__ = ["CombiningQueue"]


class CombiningQueue(wiring.Component):
    """A first-in first-out queue with several inputs that combines requests where possible.

    An arriving request is compared with all queued requests, and with those that arrive in the same
    cycle at inputs of lower number. If the youngest of those for the same word can combine with it,
    that request takes over the work of both and keeps its place. Older requests do not combine, nor
    does the head, which is shown at the output. So requests for one word never overtake each other,
    and the output obeys the stream rules.

    With operations of several sizes, requests for one row of memory count as for one word here, and
    combine only if they are for the same part of it. So none overtakes another that it overlaps.

    A request that arrives at an empty queue is shown one cycle later, combined or not; throughput
    is one request per cycle. A request that combines needs no room. While there is less room than
    there are inputs, each input has priority in turn. `o` comes from registers. `i[*].ready` and
    the other outputs depend combinationally on `i[*]` and `free`.

    Parameters
    ----------
    link : MemoryLink
    rules : Rules
    writers : int
        Number of inputs, at least 1.
    depth : int
        Number of requests that fit, at least 2.
    pairwise : bool
        Whether a request combines with at most one other in a queue. If not, there is no limit, and
        requests that arrive together pass through as many adders in series as there are inputs.

    Members
    -------
    i : In(stream.Signature(link.request_layout)).array(writers)
    o : Out(stream.Signature(link.request_layout))
    later : In(link.tag)
        The bits of the tags that later boxes use: if they differ, the words are different.
    free : In(writers)
        Bit i: a record of a request from input i can be kept.
    combined : Out(writers)
        Bit i: the request at input i has been combined, and `record[i]` must be stored.
    record : Out({tag, identity, operation, operand}).array(writers)
        Tag and identity of the request that continues, and its operation and operand so far.
    """

    def __init__(
        self, link: MemoryLink, rules: Rules, *, writers: int, depth: int, pairwise: bool
    ) -> None:
        writers = check_integer("Writers", writers, 1)
        depth = check_integer("Depth", depth, 2)
        self.link = link
        self.rules = rules
        self.writers = writers
        self.depth = depth
        self.pairwise = pairwise
        request = stream.Signature(link.request_layout)
        self.record_layout = data.StructLayout(
            {
                name: link.request_layout.members[name]
                for name in ("tag", "identity", "operation", "operand")
            }
        )
        super().__init__(
            {
                "i": In(request).array(writers),
                "o": Out(request),
                "later": In(link.tag),
                "free": In(writers),
                "combined": Out(writers),
                "record": Out(self.record_layout).array(writers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = self.link.request_layout.members
        name_layout = data.StructLayout({name: fields[name] for name in ("tag", "identity")})
        work_layout = data.StructLayout(
            {"operation": fields["operation"], "operand": fields["operand"], "merged": 1}
        )
        slots, writers = range(self.depth), range(self.writers)
        parts = self.link.part_bits

        # The queued requests, the head in slot 0. Only the work of a request ever changes.
        names = [Signal(name_layout, name=f"name_{slot}") for slot in slots]
        addresses = [Signal(self.link.address, name=f"address_{slot}") for slot in slots]
        work = [Signal(work_layout, name=f"work_{slot}") for slot in slots]
        level = Signal(range(self.depth + 1))
        pop = Signal()
        m.d.comb += [
            pop.eq(self.o.valid & self.o.ready),
            self.o.valid.eq(level != 0),
            self.o.payload.tag.eq(names[0].tag),
            self.o.payload.identity.eq(names[0].identity),
            self.o.payload.address.eq(addresses[0]),
            self.o.payload.operation.eq(work[0].operation),
            self.o.payload.operand.eq(work[0].operand),
        ]

        may_append = self._rights(m, level)
        accepted = Signal(self.writers)
        appended = Signal(self.writers)
        # By input: the slot of its request, and the name and work that are then in this slot.
        places = [Signal(self.depth, name=f"place_{i}") for i in writers]
        new_names = [Signal(name_layout, name=f"new_name_{i}") for i in writers]
        new_work = [Signal(work_layout, name=f"new_work_{i}") for i in writers]
        for i in writers:
            arriving = self.i[i].payload
            m.submodules[f"combiner_{i}"] = combiner = Combiner(self.rules, self.link.width)
            found = Signal(name=f"found_{i}")
            name = Signal(name_layout, name=f"found_name_{i}")
            first = Signal(work_layout, name=f"found_work_{i}")
            place = Signal(self.depth, name=f"found_place_{i}")
            part = Signal(parts, name=f"found_part_{i}")

            def same(tag: Value, address: Value, arriving: data.View = arriving) -> Value:
                differing = (tag ^ arriving.tag) & self.later
                return (address[parts:] == arriving.address[parts:]) & (differing == 0)

            for slot in slots[1:]:
                with m.If((level > slot) & same(names[slot].tag, addresses[slot])):
                    m.d.comb += [
                        found.eq(1),
                        name.eq(names[slot]),
                        first.eq(work[slot]),
                        place.eq(1 << slot),
                        *([part.eq(addresses[slot][:parts])] if parts else []),
                    ]
            for x in range(i):
                other = self.i[x].payload
                with m.If(accepted[x] & same(other.tag, other.address)):
                    m.d.comb += [found.eq(1), place.eq(places[x])]
                    if parts:
                        m.d.comb += part.eq(other.address[:parts])
                    if self.pairwise:
                        # If the other has been combined, this one can't be, and the rest does not
                        # matter.
                        m.d.comb += [
                            name.tag.eq(other.tag),
                            name.identity.eq(other.identity),
                            first.operation.eq(other.operation),
                            first.operand.eq(other.operand),
                            first.merged.eq(self.combined[x]),
                        ]
                    else:
                        m.d.comb += [name.eq(new_names[x]), first.eq(new_work[x])]

            combines = Signal(name=f"combines_{i}")
            before = _count(appended[x] for x in range(i))
            may = found & combiner.possible & ~first.merged & self.free[i]
            if parts:
                may &= part == arriving.address[:parts]
            m.d.comb += [
                combiner.first.eq(first.operation),
                combiner.first_operand.eq(first.operand),
                combiner.second.eq(arriving.operation),
                combiner.second_operand.eq(arriving.operand),
                combines.eq(may),
                self.i[i].ready.eq((self.i[i].valid & combines) | may_append[i]),
                accepted[i].eq(self.i[i].valid & self.i[i].ready),
                appended[i].eq(accepted[i] & ~combines),
                self.combined[i].eq(accepted[i] & combines),
                self.record[i].tag.eq(name.tag),
                self.record[i].identity.eq(name.identity),
                self.record[i].operation.eq(first.operation),
                self.record[i].operand.eq(first.operand),
            ]
            with m.If(combines):
                m.d.comb += [
                    places[i].eq(place),
                    new_names[i].eq(name),
                    new_work[i].operation.eq(combiner.operation),
                    new_work[i].operand.eq(combiner.operand),
                    new_work[i].merged.eq(int(self.pairwise)),
                ]
            with m.Else():
                m.d.comb += [
                    places[i].eq(Cat(level + before == slot for slot in slots)),
                    new_names[i].tag.eq(arriving.tag),
                    new_names[i].identity.eq(arriving.identity),
                    new_work[i].operation.eq(arriving.operation),
                    new_work[i].operand.eq(arriving.operand),
                ]

        # All move up if the head leaves. Then new arrivals also go one slot further up.
        for slot in slots:
            above = min(slot + 1, slots[-1])
            with m.If(pop):
                m.d.sync += [
                    names[slot].eq(names[above]),
                    addresses[slot].eq(addresses[above]),
                    work[slot].eq(work[above]),
                ]
            for i in writers:
                arriving = self.i[i].payload
                here = Mux(pop, places[i][above], places[i][slot])
                with m.If(appended[i] & here):
                    m.d.sync += [
                        names[slot].tag.eq(arriving.tag),
                        names[slot].identity.eq(arriving.identity),
                        addresses[slot].eq(arriving.address),
                    ]
                with m.If(accepted[i] & here):
                    m.d.sync += work[slot].eq(new_work[i])
        m.d.sync += level.eq(level + _count(appended) - pop)
        return m

    def _rights(self, m: Module, level: Signal) -> Signal:
        """Bit i: there is room for a request from input i after those of inputs with priority.

        An input keeps its priority until its request is taken, or for one cycle if it has none.
        """
        writers = range(self.writers)
        turn = Signal(range(self.writers))
        rights = Signal(self.writers)
        waiting = Signal(self.writers)
        m.d.comb += waiting.eq(Cat(port.valid & ~port.ready for port in self.i))
        with m.If(~waiting.bit_select(turn, 1)):
            m.d.sync += turn.eq(Mux(turn == self.writers - 1, 0, turn + 1))
        for i in writers:
            before = _count(
                self.i[x].valid & ((turn <= x) | (turn > i) if x < i else (i < turn) & (turn <= x))
                for x in writers
                if x != i
            )
            m.d.comb += rights[i].eq(level + before < self.depth)
        return rights


def _count(bits: Iterable[Value]) -> Value:
    return sum(bits, start=0)
