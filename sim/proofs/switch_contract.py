"""The contract of a switch with queues at its inputs, as claims in its Verilog module.

The claims are written into the text that is exported, so what is proved is proved of it. There are
two proofs. In that of the *crossing* what the queues show is cut off: it may be anything that a
queue of whole packets shows. In that of the *queues* their memories, or the two registers of a
queue of two places, are as they are.
"""

import re
from collections.abc import Iterator
from itertools import combinations

from amaranth.hdl import Const

from ...hdl.fabric.errors import InvalidValue
from ...hdl.links.packet import Packet
from ...hdl.networks.channel_model import FAIR
from ...hdl.switch.pipelined import Pipelined
from ...hdl.switch.shape import space_needed
from ...hdl.switch.switch import Switch
from .claims_in_verilog import bits_of, forwarded, gate_claims, with_claims, with_gates

__all__ = ["SwitchNames", "crossing_claims"]


class SwitchNames:
    """What the claims of a switch name: ports, registers and fields."""

    def __init__(self, switch: Switch | Pipelined, text: str) -> None:
        self.switch = switch
        self.text = text
        self.inputs = range(len(switch.shape.inputs))
        self.outputs = range(len(switch.shape.outputs))
        self.depth = switch.entry.depth
        plain = isinstance(switch, Switch)
        self.flit: Packet = switch._stored_flit if plain else switch.packet
        self.behind = plain and switch.behind
        self.registers = plain and switch.registers
        self.witness = max(1, (len(self.inputs) - 1).bit_length())
        payload = self.flit["payload"]
        if payload.width < self.witness:
            raise InvalidValue(f"Payload must have at least {self.witness} bits to tell inputs by")
        self.payload = payload.offset

    def exits(self, i: int) -> list[int]:
        return self.switch._exits(i)

    @property
    def used(self) -> list[int]:
        """Inputs from which some turn is made."""
        return [i for i in self.inputs if self.exits(i)]

    def width(self, i: int) -> int:
        """Bits that the queue of an input stores of a word."""
        return self.flit.size + (0 if self.behind else len(self.exits(i)))

    def free(self, i: int) -> str:
        """The register of a queue's free places; that of one place is `ready`, without refill."""
        refills = self.depth > 1 or self.switch.entry.refill
        return f"queue_{i}__free" if refills else f"i__{i}__ready"

    def level(self, i: int) -> str:
        """The number of words in a queue."""
        free = self.free(i)
        if self.depth > 8:
            return f"({self.depth} - {free})"
        return "(" + " + ".join(f"(~{free}[{at}] & 1'b1)" for at in range(self.depth)) + ")"

    def admits(self, i: int) -> Iterator[str]:
        """Claims that an input accepts a word if and only if there is room for it: for a header, as
        much as the entry asks for.

        `enters_{i}` and, with refill, `pop_{i}` say whether a word comes and leaves.
        """
        entry, needs = self.switch.entry, "8'd1"
        if entry.room > 1:
            last = f"i__{i}__payload[{self.switch.packet['last'].offset}]"
            yield f"reg opens_{i} = 1'b1;"
            yield f"always @(posedge clk) if (enters_{i}) opens_{i} <= {last};"
            yield f"always @* assert (begins_input_{i} == opens_{i});"
            needs = f"(opens_{i} ? 8'd{entry.room} : 8'd1)"
        places = f"{self.depth} + pop_{i}" if entry.refill else f"{self.depth}"
        yield f"always @* assert (i__{i}__ready == ({self.level(i)} + {needs} <= {places}));"

    def wanted(self, i: int, j: int) -> str:
        """Whether the header that arrives at an input may leave by an output."""
        return f"exits__{i}[{j}]" if self.switch.logic is None else f"gated_{i}[{j}]"

    def guard(self, j: int) -> str | None:
        """The input that says whether a header may take an output, if it must ask."""
        guarded = self.switch.guarded_outputs if isinstance(self.switch, Switch) else []
        return f"open__{guarded.index(j)}" if j in guarded else None

    def tag(self, word: str) -> str:
        at = self.flit["tag"].offset
        return f"{word}[{at + self.flit['tag'].width - 1}:{at}]"

    def known(self, i: int) -> str:
        """That a register has what the route of the header that a queue shows needs of its tag.

        Where the switch has `registers`: assumed in the proof of the crossing, proved in that of
        the queues.
        """
        assert isinstance(self.switch, Switch)
        tag = self.flit["tag"]
        high = tag.offset + tag.width
        low = high - len(self.switch._needed(Const(0, tag.width)))
        return (
            f"!(begins_{i} & {self.level(i)} != 0) | kept_{i} == {self.shown(i)}[{high - 1}:{low}]"
        )

    def shown(self, i: int) -> str:
        """The name of what a queue shows: a register, or the word of its memory at the head."""
        if self.depth > 2:
            return self._read(i)[1]
        return f"queue_{i}__{'head' if self.depth == 2 else 'o__payload'}"

    def _read(self, i: int) -> re.Match[str]:
        """Where the memory of a queue is read."""
        pattern = rf"^  assign (\w+) = queue_{i}__bank_0\[queue_{i}__head_row\];$"
        found = re.search(pattern, self.text, re.MULTILINE)
        if found is None:
            raise InvalidValue(f"Queue {i} of the module has no memory of the usual name")
        return found

    def cut(self, i: int, text: str) -> str:
        """The module in which `any_{i}` is what a queue shows."""
        shown = self.shown(i)
        if self.depth > 2:
            return text.replace(self._read(i)[0], f"  assign {shown} = any_{i};")
        text = re.sub(rf"\b{shown}(?= <?= )", f"cut_{i}", text)
        reg = rf"^  reg (\[.*\]) {shown};$"
        wire = rf"  reg \1 cut_{i};\n  wire \1 {shown};\n  assign {shown} = any_{i};"
        text, places = re.subn(reg, wire, text, count=1, flags=re.MULTILINE)
        if not places:
            raise InvalidValue(f"Queue {i} of the module has no register of the usual name")
        return text


def crossing_claims(switch: Switch, text: str) -> str:
    """The module with claims about all but its queues' memories.

    - An output shows only what is first in the queue of an input, unchanged, and only if the route
      of its header has this output.
    - What leaves a queue leaves by one output, and the queue has one word less; what is accepted
      makes it one more, and a word is accepted if and only if there is room.
    - The flits of a packet leave by one output, and those of no other between them.
    - A flit whose output is free and ready, and has the wires in turn, leaves.
    - A header that waits lets at most one packet of each other input go first.

    With a choice of outputs a header may be for several. It leaves by one of them; once it has
    taken one, it waits for no other, and no other header has this one. It takes an output that is
    guarded only while the queue behind it has the space, of which the switch behind says the truth.
    """
    names = SwitchNames(switch, text)
    lines = list(_crossing(names))
    for i in names.used:
        text = names.cut(i, text)
    if switch.logic is not None and switch.logic.address:
        lines += [
            f"reg {bits_of(switch.logic.address)} address_was = 0; reg later = 1'b0;",
            "always @(posedge clk) begin address_was <= address; later <= 1'b1; end",
            "always @* assume (!later | address == address_was);",
        ]
    text = with_claims(text, lines)
    return with_gates(switch, text) if switch.behind else text


def _crossing(names: SwitchNames) -> Iterator[str]:
    switch = names.switch
    flit, size = names.flit, names.flit.size
    wide = switch.packet.size
    low, high = names.payload, names.payload + names.witness - 1
    single = switch.single
    turn_bits = len(names.outputs)
    for j in names.outputs:
        yield f"wire leave_{j} = o__{j}__valid & o__{j}__ready;"
        yield f"wire {bits_of(names.witness)} src_{j} = o__{j}__payload[{high}:{low}];"
    for i in names.used:
        width, exits = names.width(i), names.exits(i)
        shown = names.shown(i)
        yield f"(* anyseq *) reg {bits_of(width)} any_{i};"
        yield f"wire has_{i} = {names.level(i)} != 0;"
        pops = " | ".join(f"(leave_{j} & src_{j} == {i})" for j in exits)
        yield f"wire pop_{i} = {pops};"
        yield f"wire enters_{i} = i__{i}__valid & i__{i}__ready;"
        yield f"always @* assume ({shown}[{high}:{low}] == {i});"
        if names.registers:
            yield f"always @* assume ({names.known(i)});"
        # The outputs of the header, one bit each.
        bits = ["1'b0"] * turn_bits
        if switch.behind:
            yield from gate_claims(names.switch, i, names.tag(shown))
        for at, j in enumerate(exits):
            bits[j] = f"gated_{i}[{j}]" if switch.behind else f"{shown}[{size + at}]"
        yield f"wire {bits_of(turn_bits)} own_{i} = {{{', '.join(reversed(bits))}}};"
        if switch.shape.choice:
            yield from _taken(names, i)
        yield from _guards(names, i)
        asks = f"aims_{i}" if switch.shape.choice else f"own_{i}"
        yield f"reg kept_back_{i} = 1'b0;"
        yield f"always @(posedge clk) kept_back_{i} <= has_{i} & ~pop_{i};"
        steady = [f"own_{i}"]
        if not single:
            last = flit["last"].offset
            steady.append(f"{shown}[{last}]")
            yield f"wire last_{i} = {shown}[{last}];"
            yield f"reg inside_{i} = 1'b0; reg {bits_of(turn_bits)} worm_{i} = 0;"
            by = f"by_{i}" if switch.shape.choice else f"own_{i}"
            yield (
                f"always @(posedge clk) if (pop_{i}) begin inside_{i} <= ~last_{i}; "
                f"if (!inside_{i}) worm_{i} <= {by}; end"
            )
            yield f"wire {bits_of(turn_bits)} towards_{i} = inside_{i} ? worm_{i} : {asks};"
            yield f"wire header_{i} = has_{i} & ~inside_{i};"
        else:
            yield f"wire last_{i} = 1'b1;"
            yield f"wire {bits_of(turn_bits)} towards_{i} = {asks};"
            yield f"wire header_{i} = has_{i};"
        for k, what in enumerate(steady):
            name = f"steady_{i}_{k}"
            yield f"reg {bits_of(turn_bits if k == 0 else 1)} {name} = 0;"
            yield f"always @(posedge clk) {name} <= {what};"
            yield f"always @* assume (!kept_back_{i} | {what} == {name});"
        if switch.shape.choice:
            yield f"always @* assume (!header_{i} | own_{i} != 0);"
            # A terminal has no alternative.
            ends = "".join(str(int(o.is_terminal)) for o in reversed(switch.shape.outputs))
            more = f"(own_{i} & {turn_bits}'b{ends}) != 0 & (own_{i} & (own_{i} - 1'b1)) != 0"
            yield f"always @* assume (!header_{i} | !({more}));"
            several = f"kept_{i} & (kept_{i} - 1'b1)"
            yield f"always @* assert (!header_{i} | (kept_{i} & ~own_{i} | {several}) == 0);"
        else:  # A header has one exit.
            several = f"(own_{i} & (own_{i} - 1'b1)) != 0"
            yield f"always @* assume (!header_{i} | (own_{i} != 0 & !({several})));"
        # Claims about the queue's count.
        yield f"reg {bits_of(8)} level_was_{i} = 0; reg {bits_of(2)} came_{i} = 0, went_{i} = 0;"
        yield (
            f"always @(posedge clk) begin level_was_{i} <= {names.level(i)}; "
            f"came_{i} <= enters_{i}; went_{i} <= pop_{i}; end"
        )
        yield f"always @* assert ({names.level(i)} == level_was_{i} + came_{i} - went_{i});"
        yield from names.admits(i)
    if switch.shape.equal_choices:
        for one, other in combinations(names.used, 2):
            equal_or_disjoint = f"own_{one} == own_{other} | (own_{one} & own_{other}) == 0"
            yield f"always @* assume (!header_{one} | !header_{other} | {equal_or_disjoint});"
    has = {i: f"has_{i}" for i in names.used}
    for j in names.outputs:
        inputs = switch.shape.outputs[j].inputs
        if not inputs:
            yield f"always @* assert (!o__{j}__valid);"
            continue
        for i in names.used:
            same = f"o__{j}__payload[{size - 1}:0] == {forwarded(switch, names.shown(i), size)}"
            good = f"({has[i]} & towards_{i}[{j}] & {same})" if i in inputs else "1'b0"
            yield f"always @* assert (!(o__{j}__valid & src_{j} == {i}) | {good});"
        if wide > size:
            yield f"always @* assert (!o__{j}__valid | o__{j}__payload[{wide - 1}]);"
        most = max(names.inputs)
        if most + 1 < 1 << names.witness:
            yield f"always @* assert (!o__{j}__valid | src_{j} <= {most});"
        for other in names.outputs:
            if other > j:
                yield f"always @* assert (!(leave_{j} & leave_{other} & src_{j} == src_{other}));"
        if not single:
            yield f"reg mid_{j} = 1'b0; reg {bits_of(names.witness)} owner_{j} = 0;"
            last = f"o__{j}__payload[{flit['last'].offset}]"
            yield (
                f"always @(posedge clk) if (leave_{j}) begin mid_{j} <= ~{last}; "
                f"owner_{j} <= src_{j}; end"
            )
            yield f"always @* assert (!(o__{j}__valid & mid_{j}) | src_{j} == owner_{j});"
    if switch.shape.choice:
        yield from _choices(names)
    yield from _turns(names)


def _taken(names: SwitchNames, i: int) -> Iterator[str]:
    """`aims_{i}`: the outputs that a header waits for; `by_{i}`: that by which it leaves."""
    bits, outputs = bits_of(len(names.outputs)), names.outputs
    yield f"wire {bits} aims_{i} = kept_{i} != 0 ? kept_{i} : own_{i};"
    left = [f"leave_{j} & src_{j} == {i}" for j in reversed(outputs)]
    yield f"wire {bits} by_{i} = {{{', '.join(left)}}};"


def _guards(names: SwitchNames, i: int) -> Iterator[str]:
    """A header takes a guarded output only while it is open, and `space` says what it has to."""
    for j in names.outputs:
        if (guard := names.guard(j)) is not None:
            yield f"reg open_was_{i}_{j} = 1'b0, kept_was_{i}_{j} = 1'b0;"
            yield (
                f"always @(posedge clk) begin open_was_{i}_{j} <= {guard}; "
                f"kept_was_{i}_{j} <= kept_{i}[{j}]; end"
            )
            new = f"kept_{i}[{j}] & ~kept_was_{i}_{j}"
            yield f"always @* assert (!({new}) | open_was_{i}_{j});"
            yield (
                f"always @* assert (!(o__{j}__valid & src_{j} == {i}) | kept_{i}[{j}] | {guard});"
            )
    switch = names.switch
    if isinstance(switch, Switch) and i in switch.guarded_inputs:
        needed = space_needed(switch.exit.switching, names.depth, switch.exit.longest)
        space = f"space__{switch.guarded_inputs.index(i)}"
        yield f"always @* assert ({space} == ({names.level(i)} <= {names.depth - needed}));"


def _choices(names: SwitchNames) -> Iterator[str]:
    """A header that has taken no output does so before it could have for as many cycles as others
    may be granted its outputs first, each once. Then it has it alone until its tail has left.

    If choices do not overlap, and it has none, another takes its output in each such cycle.
    """
    shape, decision = names.switch.shape, names.switch.grant.decision
    for j in names.outputs:
        for one, other in combinations(shape.outputs[j].inputs, 2):
            yield f"always @* assert (!(kept_{one}[{j}] & kept_{other}[{j}]));"
    for i in names.used:
        yield f"reg {bits_of(len(names.outputs))} took_{i} = 0;"
        yield f"always @(posedge clk) took_{i} <= kept_{i};"
        yield f"always @* assert (!(kept_back_{i} & took_{i} != 0) | kept_{i} == took_{i});"
        if not names.switch.single:
            yield f"always @* assert (!inside_{i} | kept_{i} == worm_{i});"
        free = []
        for j in names.exits(i):
            others = [f"kept_{k}[{j}]" for k in shape.outputs[j].inputs if k != i]
            guard = names.guard(j)
            terms = [f"own_{i}[{j}]", *([guard] if guard else [])]
            terms += [f"~({' | '.join(others)})"] if others else []
            free.append(f"({' & '.join(terms)})")
        yield f"wire could_{i} = header_{i} & kept_{i} == 0 & ~pop_{i} & ({' | '.join(free)});"
        yield f"reg {bits_of(8)} passed_by_{i} = 0;"
        yield (
            f"always @(posedge clk) passed_by_{i} <= (header_{i} & kept_{i} == 0 & ~pop_{i}) "
            f"? passed_by_{i} + could_{i} : 8'd0;"
        )
        turns = [
            f"(own_{i}[{j}] ? 8'd{len(shape.outputs[j].inputs) - 1} : 8'd0)" for j in names.exits(i)
        ]
        most = f"{' + '.join(turns)} + {decision}"
        yield f"always @* assert (!could_{i} | passed_by_{i} < {most});"
        if shape.equal_choices:
            yield from _alone(names, i)


def _alone(names: SwitchNames, i: int) -> Iterator[str]:
    """A header with one output does not take it, nor does another, while it is decided only."""
    leaves = ", ".join(f"leave_{j}" for j in reversed(names.outputs))
    others = " | ".join(f"kept_{k}" for k in names.used if k != i) or "0"
    yield f"reg missed_{i} = 1'b0; reg {bits_of(8)} wasted_{i} = 0;"
    single = f"(own_{i} & (own_{i} - 1'b1)) == 0 & (own_{i} & {{{leaves}}}) == 0"
    yield f"always @(posedge clk) missed_{i} <= could_{i} & {single};"
    yield f"wire waste_{i} = missed_{i} & kept_{i} == 0 & (own_{i} & ({others})) == 0;"
    yield (
        f"always @(posedge clk) wasted_{i} <= (header_{i} & kept_{i} == 0 & ~pop_{i}) "
        f"? wasted_{i} + waste_{i} : 8'd0;"
    )
    yield f"always @* assert (!waste_{i} | wasted_{i} < {names.switch.grant.decision - 1});"


def _turns(names: SwitchNames) -> Iterator[str]:
    switch = names.switch
    single = switch.single
    link_of = {j: len(link) for link in switch.shape.links for j in link}
    for j in names.outputs:
        inputs = switch.shape.outputs[j].inputs
        if not inputs:
            continue
        guard = names.guard(j)
        may = {i: f" & (kept_{i}[{j}] | {guard})" if guard else "" for i in inputs}
        heads = " | ".join(f"(header_{i} & towards_{i}[{j}]{may[i]})" for i in inputs)
        if switch.shape.choice:
            took = " | ".join(f"(kept_{i}[{j}] & has_{i})" for i in inputs)
            yield f"wire wants_{j} = {took};"
        elif single:
            yield f"wire wants_{j} = {heads};"
        else:
            rest = " | ".join(f"(owner_{j} == {i} & has_{i})" for i in inputs)
            yield f"wire wants_{j} = mid_{j} ? ({rest}) : ({heads});"
        yield f"reg {bits_of(4)} idle_{j} = 0;"
        yield (
            f"always @(posedge clk) idle_{j} <= "
            f"(wants_{j} & o__{j}__ready & ~leave_{j}) ? idle_{j} + 1'b1 : 4'd0;"
        )
        most = link_of[j] - 1 + (0 if switch.shape.choice else switch.grant.decision - 1)
        yield f"always @* assert (!(wants_{j} & o__{j}__ready & ~leave_{j}) | idle_{j} < {most});"
        if switch.grant.arbiter not in FAIR:
            continue
        for i in inputs:
            ends = f"leave_{j}"
            if not single:
                ends = f"(leave_{j} & o__{j}__payload[{names.flit['last'].offset}])"
            yield f"wire waits_{i}_{j} = header_{i} & towards_{i}[{j}] & ~pop_{i};"
            many = 1 << names.witness
            yield f"reg {bits_of(many)} seen_{i}_{j} = 0;"
            yield (
                f"always @(posedge clk) seen_{i}_{j} <= waits_{i}_{j} ? "
                f"seen_{i}_{j} | ({ends} ? {many}'d1 << src_{j} : {many}'d0) : {many}'d0;"
            )
            yield f"always @* assert (!(waits_{i}_{j} & {ends}) | ~seen_{i}_{j}[src_{j}]);"
