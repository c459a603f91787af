"""The contract of a box that combines requests: what becomes of values.

The proof takes that of the places (`combining_contract`) as given, and looks at any one queue, any
request in it, and any one reply.
"""

from collections.abc import Iterator
from itertools import combinations

from ...hdl.boxes.combining import CombiningBox
from .claims_in_verilog import any_of, bits_of, choice_of, part_of, sum_of, with_claims
from .combining_contract import BoxNames
from .memory_contract import perform_text

__all__ = ["value_claims"]


def value_claims(box: CombiningBox, text: str) -> str:
    """The module with claims about values, which take the claims of `place_claims` as given.

    - A request that enters a queue is its last, as it came, or it combines with one for the same
      word, behind which there is none for this word; nothing else changes in the queue.
    - What combined requests do to any value is what they do one after the other, and a record says
      what is done before the request that it is about.
    - The reply to a request is that which came for it, or what its record makes of that which came
      for the request that went on.
    """
    names = _Values(box)
    lines = [*names.setting(), *names.follow("assume"), *names.geometry("assume")]
    lines += [perform_text(box.link), *names.operations()]
    lines += [*names.merges(), *names.replies()]
    return with_claims(text, lines)


class _Values(BoxNames):
    def operations(self) -> Iterator[str]:
        """Queues have operations that there are; records, those that may come first."""
        rules = self.box.rules
        firsts = sorted({rules.codes[first] for first, _, _ in rules.pairs()})
        for j in self.ports:
            for used, _, _, work in self.slots(j):
                code = part_of(work, 0, self.operation)
                yield f"always @* assert (!{used} | {code} < {len(rules.operations)});"
            for i in self.ports:
                for used, _, record in self.records(i, j):
                    code = f"{record}[{self.operation - 1}:0]"
                    may = any_of(f"{code} == {first}" for first in firsts)
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
                yield f"wire {bits_of(size)} {what}_at_{s} = {choice_of(chosen, each)};"
        levels = [f"requests_{j}__level" for j in self.ports]
        yield f"wire {wide} level = {choice_of(chosen, levels)};"
        leaves = [f"o__{j}__request__valid & o__{j}__request__ready" for j in self.ports]
        yield f"wire pop = {choice_of(chosen, leaves)};"
        yield f"reg {wide} kept = 0; always @(posedge clk) kept <= level - pop;"
        own = {s: f"slot == {s}" for s in range(depth)}
        yield f"wire {wide} before = slot + pop;"
        old = {s: f"before == {s}" for s in range(depth)}
        for what, size in zip(("name", "address", "work"), fields, strict=True):
            each = [f"{what}_at_{s}" for s in range(depth)]
            yield f"wire {bits_of(size)} {what} = {choice_of(own, each)};"
            yield f"reg {bits_of(size)} {what}_was = 0;"
            yield f"always @(posedge clk) {what}_was <= {choice_of(old, each)};"
        # Names in a queue differ: a request is in one place.
        for s in range(depth):
            for t in range(s):
                yield f"always @* assume (level <= {s} | name_at_{s} != name_at_{t});"
        mask = f"{{later[{self.rest - 1}:0], {self.digit}'d0}}" if self.rest else f"{self.tag}'d0"
        yield f"wire {bits_of(self.tag)} mask = {mask};"
        same = "address_at_{0} == address & ((name_at_{0} ^ name) & mask) == 0"
        behind = any_of(f"{s} > slot & {s} < kept & {same.format(s)}" for s in range(1, depth))
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
                    new.append(f"queue == {j} & {there} & ~had_{i}_{j}_{r}")
            fresh = dict(enumerate(new))
            all_ = [one for j in self.ports for one in self.records(i, j)]
            yield f"wire combined_{i} = {any_of(new)};"
            yield f"always @* assert ({sum_of(f'({one})' for one in new)} <= 1);"
            key, about = (choice_of(fresh, [one[n] for one in all_]) for n in (1, 2))
            yield f"wire {bits_of(self.name)} key_{i} = {key};"
            size = self.work + self.rest + self.identity
            yield f"wire {bits_of(size)} about_{i} = {about};"
            yield f"always @* assert (!combined_{i} | came_{i});"
            word = f"about_{i}[{size - 1}:{self.work}]"
            rest = f", request_{i}[{self.rest - 1}:0]" if self.rest else ""
            kept = f"{{request_{i}[{top}:{self.tag}]{rest}}}"
            yield f"always @* assert (!combined_{i} | {word} == {kept});"
            found = any_of(f"{s} < level & name_at_{s} == key_{i}" for s in range(depth))
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
        operation = part_of(work, 0, self.operation)
        operand = part_of(work, self.operation, self.work)
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
        yield f"wire {value} value = {choice_of(dict(enumerate(self.in_replies())), entries)};"
        both = [f"{{{key}, {record}[{self.work - 1}:0]}}" for _, key, record in records]
        yield f"wire {bits_of(size)} record = {choice_of(there, both)};"
        outputs = {j: f"digit_a == {j}" for j in self.ports}
        for what, size_ in (("valid", 1), ("payload", self.reply)):
            each = [f"o__{j}__reply__{what}" for j in self.ports]
            yield f"reg {bits_of(size_)} reply_{what}_was = 0;"
            yield f"always @(posedge clk) reply_{what}_was <= {choice_of(outputs, each)};"
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
