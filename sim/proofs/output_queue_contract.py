"""The contract of a switch with queues at its outputs, as claims in its Verilog module."""

from collections.abc import Iterator

from ...hdl.fabric.errors import InvalidValue
from ...hdl.primitives.arrival_queue import FEW_WRITERS, own_memories, row_order
from ...hdl.switch.output_queued import OutputQueued
from .claims_in_verilog import bits_of, forwarded, gate_claims, row_number, with_claims, with_gates

__all__ = ["output_queue_claims"]


def output_queue_claims(switch: OutputQueued, text: str) -> str:
    """The module with claims about the queues of its outputs.

    - A word enters the queue of the output that its route names; of those that are offered to a
      queue, as many enter as there are places, and what enters or leaves changes the level by one.
    - A word, any of them, is shown when those before it have left, as it came, its tag rotated.
    - A word that waits lets at most as many words go first as there are other inputs.
    """
    shape = switch.shape
    if shape.most_inputs > FEW_WRITERS:
        raise InvalidValue(f"no proof of queues with more than {FEW_WRITERS} inputs")
    lines: list[str] = []
    for i in range(len(shape.inputs)):
        lines += gate_claims(switch, i, f"i__{i}__payload[{switch.packet['tag'].width - 1}:0]")
        lines.append(f"wire enters_{i} = i__{i}__valid & i__{i}__ready;")
    for j, output in enumerate(shape.outputs):
        lines += _queue(switch, j, list(output.inputs))
    return with_gates(switch, with_claims(text, lines))


def _later(first: str, x: int, i: int, count: int) -> str:
    """Whether x comes after i in the circle that starts at a number."""
    found = [
        f"{first} == {start}" for start in range(count) if (x - start) % count > (i - start) % count
    ]
    nowhere = "1'b0"
    return f"({' | '.join(found) or nowhere})"


def _queue(switch: OutputQueued, j: int, inputs: list[int]) -> Iterator[str]:
    depth, count = switch.entry.depth, len(inputs)
    rows = -(-depth // count)
    places, order = rows * count, row_order(rows)
    word = bits_of(switch.packet.size)
    level, tail = f"queue_{j}__level", f"queue_{j}__tail_bank"
    own = depth > 1 and own_memories(count, rows, switch.entry.separate)
    few = bits_of(8)
    at = {i: n for n, i in enumerate(inputs)}
    yield f"wire leaves_{j} = o__{j}__valid & o__{j}__ready;"
    for i in inputs:
        yield f"wire offers_{i}_{j} = i__{i}__valid & gated_{i}[{j}];"
        yield f"wire comes_{i}_{j} = offers_{i}_{j} & i__{i}__ready;"
    total = " + ".join(f"(comes_{i}_{j} ? 8'd1 : 8'd0)" for i in inputs)
    offered = total.replace("comes_", "offers_")
    yield f"wire {few} came_{j} = {total};"
    yield f"wire {few} offered_{j} = {offered};"
    yield f"reg {few} level_was_{j} = 0, added_{j} = 0; reg went_{j} = 0;"
    yield (
        f"always @(posedge clk) begin level_was_{j} <= {level}; added_{j} <= came_{j}; "
        f"went_{j} <= leaves_{j}; end"
    )
    yield f"always @* assert (level_was_{j} + added_{j} == {level} + went_{j});"
    yield f"always @* assert ({level} <= {depth});"
    yield f"always @* assert (o__{j}__valid == ({level} != 0));"
    free = f"({depth} - {level}" + (f" + leaves_{j})" if switch.entry.refill else ")")
    yield f"wire {few} free_{j} = {free};"
    yield f"always @* assert (came_{j} == (offered_{j} < free_{j} ? offered_{j} : free_{j}));"
    # In turn: each word that goes first brings one that waits a place nearer to the circle's start.
    for i in inputs:
        passed, nearer = f"passed_{i}_{j}", f"nearer_{i}_{j}"
        others = " + ".join(f"(comes_{x}_{j} ? 8'd1 : 8'd0)" for x in inputs if x != i)
        yield f"reg {few} {passed} = 0;"
        yield f"wire {few} {nearer} = {at[i]} - {tail} + ({tail} > {at[i]} ? {count} : 0);"
        yield f"wire waits_{i}_{j} = offers_{i}_{j} & ~i__{i}__ready;"
        yield f"always @(posedge clk) {passed} <= waits_{i}_{j} ? {passed} + {others or 0} : 8'd0;"
        yield f"always @* assert ({passed} + {nearer} <= {count - 1});"
    # One word is followed.
    yield f"(* anyseq *) reg {bits_of(max(1, count.bit_length()))} mark_{j};"
    yield f"reg follows_{j} = 0; reg {few} before_{j} = 0; reg {word} word_{j};"
    if own:
        yield f"reg {bits_of(max(1, (count - 1).bit_length()))} from_{j};"
    yield f"always @(posedge clk) begin if (follows_{j} & leaves_{j}) begin"
    yield f"  before_{j} <= before_{j} - 1; if (before_{j} == 0) follows_{j} <= 0; end"
    for i in inputs:
        rank = " + ".join(
            [
                f"(comes_{x}_{j} & {_later(tail, at[i], at[x], count)} ? 8'd1 : 8'd0)"
                for x in inputs
                if x != i
            ]
        )
        yield f"if (!follows_{j} & comes_{i}_{j} & mark_{j} == {at[i]}) begin"
        yield f"  follows_{j} <= 1; word_{j} <= {forwarded(switch, f'i__{i}__payload')};"
        if own:
            yield f"  from_{j} <= {at[i]};"
        yield f"  before_{j} <= {level} - leaves_{j} + {rank or 0}; end"
    yield "end"
    yield f"always @* assert (!follows_{j} | before_{j} < {level});"
    yield f"always @* assert (!(follows_{j} & before_{j} == 0) | o__{j}__payload == word_{j});"
    if depth == 1:
        return
    # Where it is: places in the order of use are banks of a row, and then those of the next row.
    if rows & (rows - 1):
        yield f"always @* assert (queue_{j}__head_row < {rows} & queue_{j}__tail_row < {rows});"
    row, trow = (row_number(f"queue_{j}__{end}_row", rows) for end in ("head", "tail"))
    yield f"wire {few} head_at_{j} = ({row}) * 8'd{count} + queue_{j}__head_bank;"
    yield f"wire {few} tail_at_{j} = ({trow}) * 8'd{count} + {tail};"
    if count & (count - 1):
        yield f"always @* assert (queue_{j}__head_bank < {count} & {tail} < {count});"
        if own:
            yield f"always @* assert (!follows_{j} | from_{j} < {count});"
    yield f"wire {few} end_{j} = head_at_{j} + {level};"
    yield f"always @* assert (tail_at_{j} == (end_{j} >= {places} ? end_{j} - {places} : end_{j}));"
    yield f"wire {few} sum_{j} = head_at_{j} + before_{j};"
    yield f"wire {few} place_{j} = sum_{j} >= {places} ? sum_{j} - {places} : sum_{j};"
    for p in range(places):
        r, bank = order[p // count], p % count
        held = f"queue_{j}__bank_{bank}[{r}]"
        if not own:
            yield f"always @* assert (!(follows_{j} & place_{j} == {p}) | {held} == word_{j});"
            continue
        yield f"always @* assert (!(follows_{j} & place_{j} == {p}) | {held} == from_{j});"
        address = r << (count - 1).bit_length() | bank
        for i in inputs:
            here = f"(follows_{j} & place_{j} == {p} & from_{j} == {at[i]})"
            memory = f"queue_{j}__memory_{at[i]}[{address}]"
            yield f"always @* assert (!{here} | {memory} == word_{j});"
