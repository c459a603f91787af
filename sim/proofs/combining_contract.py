"""The contract of a box that combines requests, as claims in its Verilog module.

There are two proofs. That of the *places* follows any one request: it is in exactly one place of
the box, or behind it, until it is answered once. That of the *values* takes this as given, and
looks at any one queue, any request in it, and any one reply.
"""

from collections.abc import Iterator

from ...hdl.boxes.combining import CombiningBox
from ...hdl.fabric.errors import InvalidValue
from ...hdl.primitives.arrival_queue import own_memories, row_order
from .claims_in_verilog import any_of, bits_of, row_number, stays, sum_of, with_claims

__all__ = ["BoxNames", "place_claims"]


def place_claims(box: CombiningBox, text: str) -> str:
    """The module with claims about where requests are, and that all of them get on.

    - A request is in one queue, one record, one queue of replies, or behind the box; a reply is
      awaited. A record is kept only while the request that goes on for it is ahead.
    - What is shown stays. A queue that is not empty shows its head.
    - A request for a queue with a place enters when it is its input's turn, and the turn passes on.
      A reply, if there is room for others, is taken, or has a record less in the next cycle.
    """
    names = BoxNames(box)
    lines = [*names.setting(), *names.follow("assert")]
    lines += [*names.geometry("assert"), *names.progress()]
    return with_claims(text, lines)


class BoxNames:
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
        self.own = own_memories(self.k, self.rows)

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
            yield from stays("assume", f"o__{j}__reply", self.reply)
        yield f"reg {bits_of(self.tag)} later_was = 0; reg after = 1'b0;"
        yield "always @(posedge clk) begin later_was <= later; after <= 1'b1; end"
        yield "always @* assume (!after | later == later_was);"

    def entries(self, i: int) -> Iterator[str]:
        """The replies in a queue, the head first."""
        queue, order, places = f"replies_{i}", row_order(self.rows), self.rows * self.k
        for end in ("head", "tail"):
            row = row_number(f"{queue}__{end}_row", self.rows)
            yield f"wire {bits_of(8)} {end}_{i} = ({row}) * 8'd{self.k} + {queue}__{end}_bank;"
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
        return self._shown("i", "in_a", "name_a", stream, also)

    def at_output(self, stream: str, also: str = "") -> str:
        """Whether the request, or its reply, is at its output."""
        return self._shown("o", "digit_a", "behind_a", stream, also)

    def _shown(self, side: str, number: str, name: str, stream: str, also: str) -> str:
        ports = {n: f"{side}__{n}__{stream}" for n in self.ports}
        return any_of(
            f"{number} == {n} & {port}__valid{also.format(port)} & "
            f"{port}__payload[{self.name - 1}:0] == {name}"
            for n, port in ports.items()
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
        yield f"wire [7:0] queued_a = {sum_of(self.in_queue())};"
        yield f"wire [7:0] recorded_a = {sum_of(self.in_record())};"
        yield f"wire [7:0] replied_a = {sum_of(self.in_replies())};"
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
        yield f"wire [7:0] left_a = {sum_of(keyed)};"
        yield f"always @* {verb} (left_a == 0 | queued_a != 0 | out_a);"
        if self.box.merge == "pairwise":
            merged = (
                f"(digit_a == {j} & {used} & {name} == behind_a & "
                f"~requests_{j}__work_{s}[{self.work}])"
                for j in self.ports
                for s, (used, name, _, _) in enumerate(self.slots(j))
                if s
            )
            yield f"always @* {verb} (left_a <= ({any_of(merged)} ? 0 : 1));"

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
            yield from stays("assert", f"o__{j}__request", self.request)
            offers = {i: f"(i__{i}__request__valid & for_{i} == {j})" for i in self.ports}
            for i in self.ports:
                ready = f"i__{i}__request__ready"
                first = f"{offers[i]} & {turn} == {i} & {level} < {full}"
                yield f"always @* assert (!({first}) | {ready});"
                yield f"reg passes_{i}_{j} = 0;"
                keeps = f"({offers[i]} & ~{ready})"
                yield f"always @(posedge clk) passes_{i}_{j} <= {turn} == {i} & ~{keeps};"
                yield f"always @* assert (!passes_{i}_{j} | {turn} == {(i + 1) % self.k});"
            entered = any_of(f"{offers[i]} & i__{i}__request__ready" for i in self.ports)
            offered = any_of(offers.values())
            yield f"always @* assert (!({offered} & {level} < {full}) | {entered});"
        for i in self.ports:
            yield f"always @* assert (i__{i}__reply__valid == (replies_{i}__level != 0));"
            yield from stays("assert", f"i__{i}__reply", self.reply)
        room = " & ".join(f"replies_{i}__level < {full}" for i in self.ports)
        yield "reg stuck_a = 0; reg [7:0] left_was_a = 0;"
        yield f"always @(posedge clk) begin stuck_a <= back_a & ~returns_a & {room};"
        yield "  left_was_a <= left_a; end"
        yield "always @* assert (!stuck_a | left_a < left_was_a);"
