"""Claims about the queues of switches."""

from collections.abc import Iterator

from ...hdl.primitives.arrival_queue import row_order
from ...hdl.switch.pipelined import Pipelined
from ...hdl.switch.switch import Switch
from .claims_in_verilog import (
    bits_of,
    gate_claims,
    places_full_from_below,
    row_number,
    with_claims,
    with_gates,
)
from .switch_contract import SwitchNames

__all__ = ["queue_claims"]


def queue_claims(switch: Switch | Pipelined, text: str) -> str:
    """The module with claims about the memories of its queues: a word, any of them, is shown when
    those before it have left, as it came."""
    names = SwitchNames(switch, text)
    lines: list[str] = []
    for i in names.used:
        lines += _queue(names, i)
    text = with_claims(text, lines)
    return text if names.behind else with_gates(switch, text)


def _queue(names: SwitchNames, i: int) -> Iterator[str]:
    """Claims about the queue of an input: one word, any of them, is followed to the head."""
    depth, width = names.depth, names.width(i)
    shown = names.shown(i)
    came = f"i__{i}__payload[{names.flit.size - 1}:0]"
    level, most = f"level_{i}", bits_of(8)
    accepted = f"i__{i}__valid & i__{i}__ready"
    if isinstance(names.switch, Pipelined):
        # Places may be counted elsewhere: that there is one is a claim of the other proof.
        accepted += f" & {names.level(i)} < {depth}"
    yield f"wire enters_{i} = {accepted};"
    if not names.behind:
        if names.switch.logic is not None:
            yield from gate_claims(names.switch, i, names.tag(f"i__{i}__payload"))
        exits = f"{{{', '.join(names.wanted(i, j) for j in reversed(names.exits(i)))}}}"
        if isinstance(names.switch, Pipelined):
            yield from _worm_exits(names, i, exits)
            exits = f"stored_{i}"
        came = f"{{{exits}, {came}}}"
    yield f"(* anyseq *) reg mark_{i};"
    yield f"wire {most} {level} = {names.level(i)};"
    yield f"reg {most} level_was_{i} = 0, before_{i} = 0; reg came_{i} = 0, follows_{i} = 0;"
    yield f"reg {bits_of(width)} word_{i};"
    yield f"wire went_{i} = level_was_{i} + came_{i} != {level};"
    yield f"wire gone_{i} = went_{i} & before_{i} == 0;"
    yield f"wire in_{i} = follows_{i} & ~gone_{i};"
    yield f"wire {most} ahead_{i} = before_{i} - went_{i};"
    yield f"always @(posedge clk) begin level_was_{i} <= {level}; came_{i} <= enters_{i};"
    yield f"  follows_{i} <= in_{i}; before_{i} <= ahead_{i};"
    yield f"  if (enters_{i} & mark_{i} & ~in_{i}) begin"
    yield f"    follows_{i} <= 1'b1; before_{i} <= {level}; word_{i} <= {came};"
    yield "  end"
    yield "end"
    yield f"always @* assert ({level} <= level_was_{i} + came_{i});"
    yield f"always @* assert ({level} + 1 >= level_was_{i} + came_{i});"
    yield f"always @* assert ({level} <= {depth});"
    yield f"always @* assert (!in_{i} | ahead_{i} < {level});"
    yield f"always @* assert (!(in_{i} & ahead_{i} == 0) | {shown} == word_{i});"
    # What makes it inductive: where the word is, and what the places that are free look like.
    yield from (
        _rows(names, i)
        if depth > 2
        else (
            f"always @* assert (!(in_{i} & ahead_{i} == {n}) | queue_{i}__{place} == word_{i});"
            for n, place in enumerate(("head", "spare") if depth == 2 else ("o__payload",))
        )
    )
    yield from places_full_from_below(f"queue_{i}__free", depth)
    if names.registers:
        yield f"always @* assert ({names.known(i)});"


def _worm_exits(names: SwitchNames, i: int, exits: str) -> Iterator[str]:
    """`stored_{i}`: the exits of the flit that arrives, which are those of its packet's header."""
    bits = bits_of(len(names.exits(i)))
    last = f"i__{i}__payload[{names.flit['last'].offset}]"
    yield f"reg opens_{i} = 1'b1; reg {bits} exits_was_{i} = 0;"
    yield f"wire {bits} stored_{i} = opens_{i} ? {exits} : exits_was_{i};"
    yield f"always @(posedge clk) if (enters_{i}) begin opens_{i} <= {last};"
    yield f"  exits_was_{i} <= stored_{i}; end"
    yield f"always @* assert (begins_{i} == opens_{i} & own_{i} == exits_was_{i});"


def _rows(names: SwitchNames, i: int) -> Iterator[str]:
    """Where the words of a queue are in its memory, and where the next one goes."""
    depth = names.depth
    bits = (depth - 1).bit_length()
    level, most = f"level_{i}", bits_of(8)
    head, tail = f"queue_{i}__head_row", f"queue_{i}__tail_row"
    # A row as the place in the order of use, and back.
    order = row_order(depth)
    yield f"wire {most} at_{i} = {row_number(head, depth)};"
    for n in range(depth):
        then = (
            " : ".join(
                f"(at_{i} == {at}) ? {bits}'d{order[(at + n) % depth]}" for at in range(depth - 1)
            )
            + f" : {bits}'d{order[(depth - 1 + n) % depth]}"
        )
        yield f"wire {bits_of(bits)} row_{i}_{n} = {then};"
        stored = f"queue_{i}__bank_0[row_{i}_{n}] == word_{i}"
        yield f"always @* assert (!(in_{i} & ahead_{i} == {n}) | {stored});"
        yield f"always @* assert (!({level} == {n}) | {tail} == row_{i}_{n});"
    yield f"always @* assert (!({level} == {depth}) | {tail} == {head});"
    if depth & (depth - 1):
        yield f"always @* assert ({head} < {depth});"
