"""The contract of a switch in stages, for packets of several flits, as claims in its module.

What its queues show is cut off, as in `switch_contract`. Its registers are named in the claims, so
that all claims are inductive together.
"""

from collections.abc import Iterator

from ...hdl.switch.pipelined import Pipelined
from .claims_in_verilog import (
    any_of,
    bits_of,
    forwarded,
    places_full_from_below,
    sum_of,
    with_claims,
)
from .switch_contract import SwitchNames

__all__ = ["stage_claims"]

_FEW = bits_of(8)


def stage_claims(switch: Pipelined, text: str) -> str:
    """The module with claims about all but its queues' memories.

    - A flit leaves its queue for one output, that of its header's route; in the next cycle it is
      shown there, unchanged, and nothing else is. At an output without credits it stays until it is
      taken. The flits of two packets do not mix.
    - No more flits are sent than there are places in the queue behind, and a place is given back
      when a flit has left; so an input with credits has room for all that comes.
    - A flit whose output has room, and has the wires in turn, leaves, one cycle later if the output
      belonged to another input.
    - A header that waits lets at most one packet of each other input go first.
    """
    names = SwitchNames(switch, text)
    lines = [*_inputs(names), *_outputs(names)]
    for i in names.used:
        text = names.cut(i, text)
    return with_claims(text, lines)


def _last(names: SwitchNames, word: str) -> str:
    return f"{word}[{names.flit['last'].offset}]"


def _inputs(names: SwitchNames) -> Iterator[str]:
    switch = names.switch
    size, all_outputs = names.flit.size, bits_of(len(names.outputs))
    credited = switch.shape.credited_inputs
    for i in names.used:
        shown, level = names.shown(i), names.level(i)
        bits = ["1'b0"] * len(names.outputs)
        for at, j in enumerate(names.exits(i)):
            bits[j] = f"{shown}[{size + at}]"
        yield f"(* anyseq *) reg {bits_of(names.width(i))} any_{i};"
        yield f"wire has_{i} = {level} != 0;"
        yield f"wire pop_{i} = head_{i}__ready;"
        yield f"wire enters_{i} = i__{i}__valid & i__{i}__ready;"
        yield f"wire {all_outputs} aims_{i} = {{{', '.join(reversed(bits))}}};"
        # What the queue shows is a flit of a packet, the same until it leaves.
        yield f"reg stuck_{i} = 0, last_was_{i} = 0, body_{i} = 0;"
        yield f"reg {all_outputs} aims_was_{i} = 0, path_{i} = 0;"
        last = _last(names, shown)
        yield f"always @(posedge clk) begin stuck_{i} <= has_{i} & ~pop_{i};"
        yield f"  aims_was_{i} <= aims_{i}; last_was_{i} <= {last};"
        yield f"  if (pop_{i}) begin body_{i} <= ~{last}; path_{i} <= aims_{i}; end end"
        same = f"aims_{i} == aims_was_{i} & {last} == last_was_{i}"
        yield f"always @* assume (!stuck_{i} | ({same}));"
        follows = f"aims_{i} == path_{i}"
        yield f"always @* assume (!has_{i} | (body_{i} ? {follows} : {_one_bit(f'aims_{i}')}));"
        yield f"always @* assert (!body_{i} | ({_one_bit(f'path_{i}')}));"
        yield f"always @* assert (!pop_{i} | has_{i});"
        # What has left, in the cycle after.
        yield f"reg gone_{i} = 0; reg {bits_of(size)} word_{i} = 0; reg {all_outputs} out_{i} = 0;"
        yield f"always @(posedge clk) begin gone_{i} <= pop_{i};"
        yield f"  word_{i} <= {shown}[{size - 1}:0]; out_{i} <= pop_{i} ? aims_{i} : 0; end"
        if any(j in switch.credited for j in names.exits(i)):
            yield f"always @* assert (!gone_{i} | traversal__flit_{i} == word_{i});"
        # The words in the queue, and the places that its sender knows of.
        yield f"reg {_FEW} level_was_{i} = 0; reg came_in_{i} = 0;"
        yield f"always @(posedge clk) level_was_{i} <= {level};"
        yield f"always @(posedge clk) came_in_{i} <= enters_{i};"
        yield f"always @* assert ({level} == level_was_{i} + came_in_{i} - gone_{i});"
        yield from names.admits(i)
        yield from places_full_from_below(f"queue_{i}__free", names.depth)
        if i in credited:
            freed = f"freed__{credited.index(i)}"
            yield f"reg {_FEW} owed_{i} = 0;"
            yield f"always @(posedge clk) owed_{i} <= owed_{i} + i__{i}__valid - {freed};"
            yield f"always @* assume (!i__{i}__valid | owed_{i} < {names.depth});"
            yield f"always @* assert (!i__{i}__valid | i__{i}__ready);"
            yield f"always @* assert ({freed} == gone_{i} & owed_{i} == {level} + gone_{i});"


def _one_bit(name: str) -> str:
    return f"{name} != 0 & ({name} & ({name} - 1'b1)) == 0"


def _taken(free: str, depth: int) -> str:
    """How many places are taken, of those that `Places` counts."""
    if depth > 8:
        return f"({depth} - {free})"
    return f"({sum_of(f'~{free}[{at}]' for at in range(depth))})"


def _outputs(names: SwitchNames) -> Iterator[str]:
    switch = names.switch
    for number, link in enumerate(switch.shape.links):
        entries = sorted({i for j in link for i in switch.shape.outputs[j].inputs})
        for j in link:
            inputs = [*switch.shape.outputs[j].inputs]
            if not inputs:
                yield f"always @* assert (!o__{j}__valid);"
                continue
            yield from _shown(names, j, inputs)
            for n, i in enumerate(entries):
                if i in inputs and j in switch.credited:
                    selected = f"traversal__select_{number} == ({len(entries)}'d1 << {n})"
                    yield f"always @* assert (!out_{i}[{j}] | {selected});"
            yield from _worms(names, j, inputs)
            yield from _turns(names, j, inputs, len(link))


def _shown(names: SwitchNames, j: int, inputs: list[int]) -> Iterator[str]:
    """What an output shows, and its credits."""
    switch = names.switch
    valid, payload = f"o__{j}__valid", f"o__{j}__payload"
    yield f"wire leave_{j} = {any_of(f'pop_{i} & aims_{i}[{j}]' for i in inputs)};"
    yield f"wire came_{j} = {any_of(f'out_{i}[{j}]' for i in inputs)};"
    yield f"wire {_FEW} sum_{j} = {sum_of(f'out_{i}[{j}]' for i in inputs)};"
    yield f"always @* assert (sum_{j} <= 1);"
    for i in inputs:
        same = f"{payload} == {forwarded(switch, f'word_{i}', names.flit.size)}"
        yield f"always @* assert (!out_{i}[{j}] | {same});"
    if j in switch.credited:
        credit = f"credit__{switch.credited.index(j)}"
        free = f"traversal__free_{j}"
        yield f"reg {_FEW} sent_{j} = 0;"
        yield f"always @(posedge clk) sent_{j} <= sent_{j} + leave_{j} - {credit};"
        yield f"always @* assume (!{credit} | sent_{j} > came_{j});"
        yield f"always @* assert (sent_{j} <= {names.depth} & sent_{j} >= came_{j});"
        yield f"always @* assert (sent_{j} == {_taken(free, names.depth)});"
        yield from places_full_from_below(free, names.depth)
        yield f"wire may_{j} = sent_{j} < {names.depth};"
        yield f"always @* assert ({valid} == came_{j});"
        return
    yield f"reg held_{j} = 0; reg {bits_of(switch.packet.size)} kept_{j} = 0;"
    yield f"always @(posedge clk) begin held_{j} <= {valid} & ~o__{j}__ready;"
    yield f"  kept_{j} <= {payload}; end"
    yield f"always @* assert ({valid} == (came_{j} | held_{j}) & ~(came_{j} & held_{j}));"
    yield f"always @* assert (!held_{j} | {payload} == kept_{j});"
    yield f"wire may_{j} = ~{valid} | o__{j}__ready;"


def _worms(names: SwitchNames, j: int, inputs: list[int]) -> Iterator[str]:
    """The flits of a packet leave one after the other, and those of no other between them."""
    tails = any_of(f"pop_{i} & aims_{i}[{j}] & {_last(names, names.shown(i))}" for i in inputs)
    owner = f"owners__owner_{j}"
    yield f"wire ends_{j} = {tails};"
    yield f"reg mid_{j} = 0;"
    yield f"always @(posedge clk) if (leave_{j}) mid_{j} <= ~ends_{j};"
    yield f"always @* assert (({owner} & ({owner} - 1'b1)) == 0);"
    yield f"always @* assert (owners__inside_{j} == mid_{j});"
    for at, i in enumerate(inputs):
        yield f"always @* assert (!(pop_{i} & aims_{i}[{j}]) | mid_{j} == body_{i});"
        own = f"(mid_{j} & {owner}[{at}])"
        yield f"always @* assert ((body_{i} & path_{i}[{j}]) == {own});"
    yield f"always @* assert (!mid_{j} | {owner} != 0);"


def _turns(names: SwitchNames, j: int, inputs: list[int], channels: int) -> Iterator[str]:
    heads = any_of(f"has_{i} & ~body_{i} & aims_{i}[{j}]" for i in inputs)
    rest = any_of(f"has_{i} & body_{i} & path_{i}[{j}]" for i in inputs)
    yield f"wire wants_{j} = mid_{j} ? {rest} : {heads};"
    yield f"wire rests_{j} = wants_{j} & may_{j} & ~leave_{j};"
    yield f"reg {_FEW} idle_{j} = 0;"
    yield f"always @(posedge clk) idle_{j} <= rests_{j} ? idle_{j} + 8'd1 : 8'd0;"
    yield f"always @* assert (!rests_{j} | idle_{j} < {channels});"
    count = len(inputs)
    tails = (f"pop_{i} & aims_{i}[{j}] & {_last(names, names.shown(i))}" for i in inputs)
    yield f"wire {bits_of(count)} tails_{j} = {{{', '.join(reversed([*tails]))}}};"
    for at, i in enumerate(inputs):
        waits, seen = f"waits_{i}_{j}", f"seen_{i}_{j}"
        yield f"wire {waits} = has_{i} & ~body_{i} & aims_{i}[{j}] & ~pop_{i};"
        yield f"reg {bits_of(count)} {seen} = 0;"
        yield f"always @(posedge clk) {seen} <= {waits} ? {seen} | tails_{j} : {count}'d0;"
        yield f"always @* assert (!{waits} | ({seen} & tails_{j}) == 0);"
        # The owner comes nearer in the circle: those whose packets have gone first are behind it.
        apart = [(at - x) % count for x in range(count)]
        near = " : ".join(f"owners__owner_{j}[{x}] ? 8'd{far}" for x, far in enumerate(apart))
        yield f"wire {_FEW} near_{i}_{j} = {near} : 8'd{count - 1};"
        for x, far in enumerate(apart):
            yield f"always @* assert (!{seen}[{x}] | near_{i}_{j} < {far});"
