"""The contract of a box that combines requests, as claims in its Verilog module.

There are two proofs. That of the *places* follows any one request: it is in exactly one place of
the box, or behind it, until it is answered once. That of the *values* takes this as given, and
looks at any one queue, any request in it, and any one reply.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from ...hdl.boxes.combining import CombiningBox
from ...hdl.fabric.errors import InvalidValue
from ...hdl.primitives.arrival_queue import row_order
from .claims_in_verilog import bits_of, with_claims
from .memory_contract import perform_text

__all__ = ["place_claims", "value_claims"]


def place_claims(box: CombiningBox, text: str) -> str:
    """The module with claims about where requests are, and that all of them get on.

    - A request is in one queue, one record, one queue of replies, or behind the box; a reply is
      awaited. A record is kept only while the request that goes on for it is ahead.
    - What is shown stays. A queue that is not empty shows its head.
    - A request for a queue with a place enters when it is its input's turn, and the turn passes on.
      A reply, if there is room for others, is taken, or has a record less in the next cycle.
    """
    names = _Names(box)
    lines = [*names.setting(), *names.follow("assert")]
    lines += [*names.geometry("assert"), *names.progress()]
    return with_claims(text, lines)


def value_claims(box: CombiningBox, text: str) -> str:
    """The module with claims about values, which take the claims of `place_claims` as given.

    - A request that enters a queue is its last, as it came, or it combines with one for the same
      word, behind which there is none for this word; nothing else changes in the queue.
    - What combined requests do to any value is what they do one after the other, and a record says
      what is done before the request that it is about.
    - The reply to a request is that which came for it, or what its record makes of that which came
      for the request that went on.
    """
    names = _Names(box)
    lines = [*names.setting(), *names.follow("assume"), *names.geometry("assume")]
    lines += [perform_text(box.link), *names.operations()]
    lines += [*names.merges(), *names.replies()]
    return with_claims(text, lines)


class _Names:
    """What the claims of a box name."""

    def __init__(self, box: CombiningBox) -> None:
        link = box.link
        if not box.combines:
            raise InvalidValue("no proof for boxes in which nothing combines")
        if link.part_bits or box.lengths != (1, 1):
            raise InvalidValue("no proof for operations of several sizes and messages of words")
        if box.radix & (box.radix - 1) or box.radix > 8:
            raise InvalidValue("no proof for a radix that is not 2, 4 or 8")
        self.box, self.k = box, box.radix
        self.digit, self.tag, self.identity = box.digit_bits, link.tag, link.identity
        self.name = link.tag + link.identity
        self.address = link.address
        self.operation = link.request_layout["operation"].width
        self.work = self.operation + link.width
        self.request, self.reply = link.request_layout.size, link.reply_layout.size
        self.rest = self.tag - self.digit
        self.places = box.depth + self.k - 1  # of a queue of replies
        self.rows = -(-self.places // self.k)
        self.own = self.k > 2 and self.rows << self.digit <= 16

    @property
    def ports(self) -> range:
        return range(self.k)

    # The state of the box.

    def slots(self, j: int) -> Iterator[tuple[str, str, str, str]]:
        """Of each slot of a queue: whether it is in use, its name, address and work."""
        head = f"o__{j}__request__payload"
        at = self.name + self.address
        for s in range(self.box.depth):
            used = f"(requests_{j}__level > {s})"
            name, address = f"requests_{j}__name_{s}", f"requests_{j}__address_{s}"
            work = f"requests_{j}__work_{s}[{self.work - 1}:0]"
            if s == 0:
                name, address = f"{head}[{self.name - 1}:0]", f"{head}[{at - 1}:{self.name}]"
                work = f"{head}[{self.request - 1}:{at}]"
            yield used, name, address, work

    def records(self, i: int, j: int) -> Iterator[tuple[str, str, str]]:
        """Of each record: whether it is there, its key and its contents."""
        for r in range(self.box.wait):
            used = f"wait_{i}_{j}__used" + (f"[{r}]" if self.box.wait > 1 else "")
            yield used, f"wait_{i}_{j}__key_{r}", f"record_{i}_{j}_{r}"

    def record_name(self, record: str, j: int) -> str:
        """The name, before the box, of the request that a record is about."""
        rest = f"{record}[{self.work + self.rest - 1}:{self.work}]"
        identity = f"{record}[{self.work + self.rest + self.identity - 1}:{self.work + self.rest}]"
        return f"{{{identity}, {self.digit}'d{j}{', ' + rest if self.rest else ''}}}"

    def setting(self) -> Iterator[str]:
        """What the ends do, and wires for the contents of memories."""
        size = self.work + self.rest + self.identity
        for i in self.ports:
            for j in self.ports:
                for r in range(self.box.wait):
                    yield f"wire {bits_of(size)} record_{i}_{j}_{r} = wait_{i}_{j}__records[{r}];"
            at = self.name + self.address
            code = f"i__{i}__request__payload[{at + self.operation - 1}:{at}]"
            yield f"wire enters_{i} = i__{i}__request__valid & i__{i}__request__ready;"
            yield f"wire {bits_of(self.digit)} for_{i} = i__{i}__request__payload"
            yield f"  [{self.tag - 1}:{self.rest}];"
            yield f"always @* assume ({code} < {len(self.box.link.operations)});"
            yield from self.entries(i)
        for j in self.ports:
            yield from _stays("assume", f"o__{j}__reply", self.reply)
        yield f"reg {bits_of(self.tag)} later_was = 0; reg after = 1'b0;"
        yield "always @(posedge clk) begin later_was <= later; after <= 1'b1; end"
        yield "always @* assume (!after | later == later_was);"

    def entries(self, i: int) -> Iterator[str]:
        """The replies in a queue, the head first."""
        queue, order, places = f"replies_{i}", row_order(self.rows), self.rows * self.k
        wide = bits_of(8)
        row = "8'd0"
        if self.rows > 1:
            chosen = (f"({queue}__head_row == {r}) ? 8'd{n}" for n, r in enumerate(order[:-1]))
            row = " : ".join([*chosen, f"8'd{self.rows - 1}"])
        yield f"wire {wide} head_{i} = ({row}) * 8'd{self.k} + {queue}__head_bank;"
        tail = row.replace("head_row", "tail_row")
        yield f"wire {wide} tail_{i} = ({tail}) * 8'd{self.k} + {queue}__tail_bank;"
        for at in range(places):
            bank, r = at % self.k, order[at // self.k]
            held = f"{queue}__bank_{bank}[{r}]"
            if self.own:
                address = r << self.digit | bank
                yield f"wire {bits_of(self.digit)} from_{i}_{at} = {held};"
                held = " : ".join(
                    f"(from_{i}_{at} == {x}) ? {queue}__memory_{x}[{address}]"
                    for x in self.ports[:-1]
                )
                held += f" : {queue}__memory_{self.k - 1}[{address}]"
            yield f"wire {bits_of(self.reply)} place_{i}_{at} = {held};"
        for n in range(self.places):
            chosen = (
                f"(head_{i} == {at}) ? place_{i}_{(at + n) % places}" for at in range(places - 1)
            )
            shown = " : ".join([*chosen, f"place_{i}_{(places - 1 + n) % places}"])
            yield f"wire {bits_of(self.reply)} entry_{i}_{n} = {shown};"

    # A request that is followed: any name at any input, always.

    def at_input(self, stream: str, also: str = "") -> str:
        """Whether the request, or its reply, is at its input."""
        top = self.name - 1
        return _any(
            f"in_a == {i} & i__{i}__{stream}__valid{also.format(f'i__{i}__{stream}')} & "
            f"i__{i}__{stream}__payload[{top}:0] == name_a"
            for i in self.ports
        )

    def at_output(self, stream: str, also: str = "") -> str:
        """Whether the request, or its reply, is at its output."""
        top = self.name - 1
        return _any(
            f"digit_a == {j} & o__{j}__{stream}__valid{also.format(f'o__{j}__{stream}')} & "
            f"o__{j}__{stream}__payload[{top}:0] == behind_a"
            for j in self.ports
        )

    def in_queue(self) -> list[str]:
        return [
            f"(digit_a == {j} & {used} & {name} == behind_a)"
            for j in self.ports
            for used, name, _, _ in self.slots(j)
        ]

    def in_record(self) -> list[str]:
        """Whether each record is about it."""
        return [
            f"(in_a == {i} & digit_a == {j} & {used} & {self.record_name(record, j)} == name_a)"
            for i in self.ports
            for j in self.ports
            for used, _, record in self.records(i, j)
        ]

    def in_replies(self) -> list[str]:
        return [
            f"(in_a == {i} & replies_{i}__level > {n} & entry_{i}_{n}[{self.name - 1}:0] == name_a)"
            for i in self.ports
            for n in range(self.places)
        ]

    def follow(self, verb: str) -> Iterator[str]:
        """The claim, or what is given, that a request is in one place until it is answered."""
        top = self.name - 1
        yield f"(* anyconst *) reg {bits_of(self.digit)} in_a;"
        yield f"(* anyconst *) reg {bits_of(self.name)} name_a;"
        yield f"wire {bits_of(self.digit)} digit_a = name_a[{self.tag - 1}:{self.rest}];"
        rest = f"name_a[{self.rest - 1}:0], " if self.rest else ""
        identity = f"name_a[{top}:{self.tag}]"
        yield f"wire {bits_of(self.name)} behind_a = {{{identity}, {rest}in_a}};"
        yield f"wire offered_a = {self.at_input('request')};"
        yield f"wire enters_a = {self.at_input('request', ' & {}__ready')};"
        yield f"wire answered_a = {self.at_input('reply')};"
        yield f"wire taken_a = {self.at_input('reply', ' & {}__ready')};"
        yield f"wire leaves_a = {self.at_output('request', ' & {}__ready')};"
        yield f"wire back_a = {self.at_output('reply')};"
        yield f"wire returns_a = {self.at_output('reply', ' & {}__ready')};"
        yield "reg awaited_a = 0, out_a = 0;"
        yield "always @(posedge clk) awaited_a <= enters_a | (awaited_a & ~taken_a);"
        yield "always @(posedge clk) out_a <= leaves_a | (out_a & ~returns_a);"
        # Names are unique before the box, and only what is behind it is answered there.
        yield "always @* assume (!(offered_a & awaited_a));"
        yield "always @* assume (!back_a | out_a);"
        yield f"wire [7:0] queued_a = {_sum(self.in_queue())};"
        yield f"wire [7:0] recorded_a = {_sum(self.in_record())};"
        yield f"wire [7:0] replied_a = {_sum(self.in_replies())};"
        places = "queued_a + recorded_a + replied_a + out_a"
        yield f"always @* {verb} ({places} == awaited_a);"
        yield f"always @* {verb} (!answered_a | awaited_a);"
        # Records under its name: only while it is ahead.
        keyed = (
            f"(digit_a == {j} & {used} & {key} == behind_a)"
            for i in self.ports
            for j in self.ports
            for used, key, _ in self.records(i, j)
        )
        yield f"wire [7:0] left_a = {_sum(keyed)};"
        yield f"always @* {verb} (left_a == 0 | queued_a != 0 | out_a);"
        if self.box.merge == "pairwise":
            merged = (
                f"(digit_a == {j} & {used} & {name} == behind_a & "
                f"~requests_{j}__work_{s}[{self.work}])"
                for j in self.ports
                for s, (used, name, _, _) in enumerate(self.slots(j))
                if s
            )
            yield f"always @* {verb} (left_a <= ({_any(merged)} ? 0 : 1));"

    def geometry(self, verb: str) -> Iterator[str]:
        """Where the entries of queues are, and that these are not overfull."""
        places = self.rows * self.k
        for j in self.ports:
            yield f"always @* {verb} (requests_{j}__level <= {self.box.depth});"
        for i in self.ports:
            level = f"replies_{i}__level"
            yield f"always @* {verb} ({level} <= {self.places});"
            if self.rows & (self.rows - 1):
                rows = f"replies_{i}__head_row < {self.rows} & replies_{i}__tail_row < {self.rows}"
                yield f"always @* {verb} ({rows});"
            yield f"wire [7:0] end_{i} = head_{i} + {level};"
            end = f"(end_{i} >= {places} ? end_{i} - {places} : end_{i})"
            yield f"always @* {verb} (tail_{i} == {end});"

    def progress(self) -> Iterator[str]:
        full = self.box.depth
        for j in self.ports:
            level, turn = f"requests_{j}__level", f"requests_{j}__turn"
            yield f"always @* assert (o__{j}__request__valid == ({level} != 0));"
            yield from _stays("assert", f"o__{j}__request", self.request)
            offers = {i: f"(i__{i}__request__valid & for_{i} == {j})" for i in self.ports}
            for i in self.ports:
                ready = f"i__{i}__request__ready"
                first = f"{offers[i]} & {turn} == {i} & {level} < {full}"
                yield f"always @* assert (!({first}) | {ready});"
                yield f"reg passes_{i}_{j} = 0;"
                stays = f"({offers[i]} & ~{ready})"
                yield f"always @(posedge clk) passes_{i}_{j} <= {turn} == {i} & ~{stays};"
                yield f"always @* assert (!passes_{i}_{j} | {turn} == {(i + 1) % self.k});"
            entered = _any(f"{offers[i]} & i__{i}__request__ready" for i in self.ports)
            offered = _any(offers.values())
            yield f"always @* assert (!({offered} & {level} < {full}) | {entered});"
        for i in self.ports:
            yield f"always @* assert (i__{i}__reply__valid == (replies_{i}__level != 0));"
            yield from _stays("assert", f"i__{i}__reply", self.reply)
        room = " & ".join(f"replies_{i}__level < {full}" for i in self.ports)
        yield "reg stuck_a = 0; reg [7:0] left_was_a = 0;"
        yield f"always @(posedge clk) begin stuck_a <= back_a & ~returns_a & {room};"
        yield "  left_was_a <= left_a; end"
        yield "always @* assert (!stuck_a | left_a < left_was_a);"

    # Values.

    def operations(self) -> Iterator[str]:
        """Queues have operations that there are; records, those that may come first."""
        rules = self.box.rules
        firsts = sorted({rules.codes[first] for first, _, _ in rules.pairs()})
        for j in self.ports:
            for used, _, _, work in self.slots(j):
                code = _part(work, 0, self.operation)
                yield f"always @* assert (!{used} | {code} < {len(rules.operations)});"
            for i in self.ports:
                for used, _, record in self.records(i, j):
                    code = f"{record}[{self.operation - 1}:0]"
                    may = _any(f"{code} == {first}" for first in firsts)
                    yield f"always @* assert (!{used} | {may});"

    def merges(self) -> Iterator[str]:
        """A slot of a queue, any of them, in two cycles: what it held, what came, what it holds."""
        depth, wide = self.box.depth, bits_of(8)
        top, work = self.name - 1, bits_of(self.work)
        at = self.name + self.address
        yield f"(* anyconst *) reg {bits_of(self.digit)} queue;"
        yield f"(* anyconst *) reg {wide} slot;"
        yield f"always @* assume (slot < {depth});"
        yield f"(* anyseq *) reg {bits_of(self.box.link.width)} x;"
        chosen = {j: f"queue == {j}" for j in self.ports}
        fields = (self.name, self.address, self.work)
        for s in range(depth):
            slots = [[*self.slots(j)][s] for j in self.ports]
            for what, size, n in zip(("name", "address", "work"), fields, (1, 2, 3), strict=True):
                each = [one[n] for one in slots]
                yield f"wire {bits_of(size)} {what}_at_{s} = {_choice(chosen, each)};"
        levels = [f"requests_{j}__level" for j in self.ports]
        yield f"wire {wide} level = {_choice(chosen, levels)};"
        leaves = [f"o__{j}__request__valid & o__{j}__request__ready" for j in self.ports]
        yield f"wire pop = {_choice(chosen, leaves)};"
        yield f"reg {wide} kept = 0; always @(posedge clk) kept <= level - pop;"
        own = {s: f"slot == {s}" for s in range(depth)}
        yield f"wire {wide} before = slot + pop;"
        old = {s: f"before == {s}" for s in range(depth)}
        for what, size in zip(("name", "address", "work"), fields, strict=True):
            each = [f"{what}_at_{s}" for s in range(depth)]
            yield f"wire {bits_of(size)} {what} = {_choice(own, each)};"
            yield f"reg {bits_of(size)} {what}_was = 0;"
            yield f"always @(posedge clk) {what}_was <= {_choice(old, each)};"
        # Names in a queue differ: a request is in one place.
        for s in range(depth):
            for t in range(s):
                yield f"always @* assume (level <= {s} | name_at_{s} != name_at_{t});"
        mask = f"{{later[{self.rest - 1}:0], {self.digit}'d0}}" if self.rest else f"{self.tag}'d0"
        yield f"wire {bits_of(self.tag)} mask = {mask};"
        same = "address_at_{0} == address & ((name_at_{0} ^ name) & mask) == 0"
        behind = _any(f"{s} > slot & {s} < kept & {same.format(s)}" for s in range(1, depth))
        yield "wire used = slot < level; wire stood = slot < kept;"
        yield "always @* assert (!stood | (used & name == name_was & address == address_was));"
        yield "wire [7:0] rank_0 = kept; wire there_0 = stood;"
        yield f"wire {bits_of(self.box.link.width)} done_0 = {self.perform('work_was', 'x')};"
        for i in self.ports:
            request = f"i__{i}__request__payload"
            yield f"reg came_{i} = 0; reg {bits_of(self.request)} request_{i} = 0;"
            yield f"always @(posedge clk) begin came_{i} <= enters_{i} & for_{i} == queue;"
            yield f"  request_{i} <= {request}; end"
            rest = f"request_{i}[{self.rest - 1}:0], " if self.rest else ""
            mine = f"{{request_{i}[{top}:{self.tag}], {rest}{self.digit}'d{i}}}"
            yield f"wire {bits_of(self.name)} name_{i} = {mine};"
            # A new record says that the request has combined.
            new = []
            for j in self.ports:
                for r, (there, _, _) in enumerate(self.records(i, j)):
                    yield f"reg had_{i}_{j}_{r} = 0;"
                    yield f"always @(posedge clk) had_{i}_{j}_{r} <= {there};"
                    new.append((f"queue == {j} & {there} & ~had_{i}_{j}_{r}", j, r))
            fresh = {n: text for n, (text, _, _) in enumerate(new)}
            all_ = [one for j in self.ports for one in self.records(i, j)]
            yield f"wire combined_{i} = {_any(fresh.values())};"
            yield f"always @* assert ({_sum(f'({one})' for one in fresh.values())} <= 1);"
            yield f"wire {bits_of(self.name)} key_{i} = {_choice(fresh, [one[1] for one in all_])};"
            size = self.work + self.rest + self.identity
            yield f"wire {bits_of(size)} about_{i} = {_choice(fresh, [one[2] for one in all_])};"
            yield f"always @* assert (!combined_{i} | came_{i});"
            told = f"about_{i}[{size - 1}:{self.work}]"
            rest = f", request_{i}[{self.rest - 1}:0]" if self.rest else ""
            kept = f"{{request_{i}[{top}:{self.tag}]{rest}}}"
            yield f"always @* assert (!combined_{i} | {told} == {kept});"
            found = _any(f"{s} < level & name_at_{s} == key_{i}" for s in range(depth))
            yield f"always @* assert (!combined_{i} | {found});"
            # The request is the next in the queue, or combines.
            yield f"wire appended_{i} = came_{i} & ~combined_{i} & rank_{i} == slot;"
            yield f"wire [7:0] rank_{i + 1} = rank_{i} + (came_{i} & ~combined_{i});"
            yield f"always @* assert (!appended_{i} | (used & name == name_{i}"
            yield f"  & address == request_{i}[{at - 1}:{self.name}]));"
            yield f"wire hit_{i} = combined_{i} & used & key_{i} == name;"
            yield f"wire there_{i + 1} = there_{i} | appended_{i};"
            value = f"hit_{i} ? done_{i} : x"
            work = f"request_{i}[{self.request - 1}:{at}]"
            yield f"wire {bits_of(self.box.link.width)} next_{i} = {self.perform(work, value)};"
            yield f"wire {bits_of(self.box.link.width)} done_{i + 1} = "
            yield f"  hit_{i} | appended_{i} ? next_{i} : done_{i};"
            first = self.perform(f"about_{i}[{self.work - 1}:0]", "x")
            yield f"always @* assert (!hit_{i} | (there_{i} & {first} == done_{i}));"
            yield f"always @* assert (!hit_{i} | (address == request_{i}[{at - 1}:{self.name}]"
            yield f"  & ((name ^ name_{i}) & mask) == 0 & !{behind}));"
        last = self.k
        yield f"always @* assert (used == there_{last});"
        yield f"always @* assert (level == rank_{last});"
        yield f"always @* assert (!used | {self.perform('work', 'x')} == done_{last});"

    def perform(self, work: str, value: str) -> str:
        """What an operation and its operand make of a value."""
        operation = _part(work, 0, self.operation)
        operand = _part(work, self.operation, self.work)
        return f"perform({operation}, {value}, {operand})"

    def replies(self) -> Iterator[str]:
        """Where the value of the reply to a request comes from."""
        value = bits_of(self.box.link.width)
        shown = f"[{self.reply - 1}:{self.name}]"
        entries = [f"entry_{i}_{n}{shown}" for i in self.ports for n in range(self.places)]
        records = [one for i in self.ports for j in self.ports for one in self.records(i, j)]
        if self.box.merge == "pairwise":
            # A request has combined once at most.
            for j in self.ports:
                own = [(used, key) for i in self.ports for used, key, _ in self.records(i, j)]
                for (used, key), (other, same) in combinations(own, 2):
                    yield f"always @* assume (!({used} & {other} & {key} == {same}));"
        there = dict(enumerate(self.in_record()))
        size = self.work + self.name
        yield f"wire {value} value = {_choice(dict(enumerate(self.in_replies())), entries)};"
        both = [f"{{{key}, {record}[{self.work - 1}:0]}}" for _, key, record in records]
        yield f"wire {bits_of(size)} record = {_choice(there, both)};"
        outputs = {j: f"digit_a == {j}" for j in self.ports}
        for what, size_ in (("valid", 1), ("payload", self.reply)):
            each = [f"o__{j}__reply__{what}" for j in self.ports]
            yield f"reg {bits_of(size_)} reply_{what}_was = 0;"
            yield f"always @(posedge clk) reply_{what}_was <= {_choice(outputs, each)};"
        yield f"reg {value} value_was = 0; reg {bits_of(size)} record_was = 0;"
        yield "reg in_record = 0, in_replies = 0, was_out = 0;"
        yield "always @(posedge clk) begin value_was <= value; record_was <= record;"
        yield "  in_record <= recorded_a != 0; in_replies <= replied_a != 0; was_out <= out_a; end"
        yield "always @* assert (!replied_a | in_record | in_replies | was_out);"
        yield "always @* assert (!(in_record & recorded_a != 0) | record == record_was);"
        yield "always @* assert (!in_record | recorded_a != 0 | replied_a != 0);"
        came = f"reply_payload_was{shown}"
        yield "always @* assert (!(replied_a != 0 & in_replies) | value == value_was);"
        yield f"always @* assert (!(replied_a != 0 & was_out) | reply_valid_was & value == {came}"
        yield f"  & reply_payload_was[{self.name - 1}:0] == behind_a);"
        key = f"record_was[{size - 1}:{self.work}]"
        made = self.perform("record_was", came)
        yield f"always @* assert (!(replied_a != 0 & in_record) | reply_valid_was & value == {made}"
        yield f"  & reply_payload_was[{self.name - 1}:0] == {key});"
        for i in self.ports:
            port = f"i__{i}__reply"
            here = f"{port}__valid & in_a == {i} & {port}__payload[{self.name - 1}:0] == name_a"
            yield f"always @* assert (!({here}) | {port}__payload{shown} == value);"


def _part(name: str, low: int, high: int) -> str:
    """Bits of a vector, or of a part of one."""
    whole, _, part = name.partition("[")
    first = int(part.rstrip("]").rpartition(":")[2]) if part else 0
    return f"{whole}[{first + high - 1}:{first + low}]"


def _stays(verb: str, stream: str, size: int) -> Iterator[str]:
    """What a stream shows stays until it is taken."""
    was = f"{stream}_was"
    yield f"reg {was}_stuck = 0; reg {bits_of(size)} {was} = 0;"
    yield f"always @(posedge clk) begin {was}_stuck <= {stream}__valid & ~{stream}__ready;"
    yield f"  {was} <= {stream}__payload; end"
    yield f"always @* {verb} (!{was}_stuck | ({stream}__valid & {stream}__payload == {was}));"


def _any(texts: Iterable[str]) -> str:
    return f"({' | '.join(f'({text})' for text in texts)})"


def _sum(bits: Iterable[str]) -> str:
    return " + ".join(f"({bit} ? 8'd1 : 8'd0)" for bit in bits)


def _choice(when: Mapping[int, str], values: Sequence[str]) -> str:
    """The value of which the condition holds, the last if none does."""
    *first, last = zip(when.values(), values, strict=True)
    return "(" + " : ".join([*(f"({one}) ? {value}" for one, value in first), last[1]]) + ")"
