"""The contract of a memory module, as claims in its Verilog, and what operations are."""

from ...hdl.fabric.errors import InvalidValue
from ...hdl.links.memory_link import MemoryLink
from ...hdl.terminals.memory_module import MemoryModule
from .claims_in_verilog import bits_of, with_claims

__all__ = ["memory_claims", "perform_text"]

_RESULTS = {
    "load": "x",
    "store": "e",
    "fetch-and-store": "e",
    "fetch-and-add": "x + e",
    "fetch-and-min": "$signed(x) < $signed(e) ? x : e",
    "fetch-and-max": "$signed(x) < $signed(e) ? e : x",
    "fetch-and-or": "x | e",
    "fetch-and-and": "x & e",
    "fetch-and-store-if-zero": "x == 0 ? e : x",
    "fetch-and-store-if-nonnegative": "x[{sign}] ? x : e",
}
"""What each operation makes of the value x of a word and its operand e, as a contract has it."""


def perform_text(link: MemoryLink) -> str:
    """The Verilog function `perform(operation, x, e)`."""
    if unknown := [one.name for one in link.operations if one.name not in _RESULTS]:
        raise InvalidValue(f"no proof for the operation {unknown[0]}")
    value, code = bits_of(link.width), bits_of(link.request_layout["operation"].width)
    cases = (
        f"{number}: perform = {_RESULTS[operation.name].format(sign=link.width - 1)};"
        for number, operation in enumerate(link.operations)
    )
    return (
        f"function {value} perform; input {code} operation; input {value} x; input {value} e;\n"
        f"    case (operation) {' '.join(cases)} default: perform = 0; endcase endfunction"
    )


def memory_claims(module: MemoryModule, text: str) -> str:
    """The module with claims about any one of its words.

    Requests are performed in the order in which they are taken, one at a time. Each is answered
    once, under its name, by the value that its word had before it. While replies are taken,
    requests are.
    """
    link = module.link
    if module.latency != 1 or module.interval != 1 or module.lengths != (1, 1) or link.part_bits:
        raise InvalidValue("no proof for these options of a memory module")
    name = link.tag + link.identity
    at = name + link.address
    code = link.request_layout["operation"].width
    value, size = bits_of(link.width), link.request_layout.size
    asked, reply = "i__request__payload", "i__reply__payload"
    here = f"{asked}[{at - 1}:{name}]"
    performed = f"perform({asked}[{at + code - 1}:{at}], word, {asked}[{size - 1}:{at + code}])"
    lines = [
        perform_text(link),
        f"(* anyconst *) reg {bits_of(link.address)} row;",
        f"always @* assume (row < {module.rows});",
        f"always @* assume ({here} < {module.rows});",
        f"always @* assume ({asked}[{at + code - 1}:{at}] < {len(link.operations)});",
        "wire enters = i__request__valid & i__request__ready;",
        "wire leaves = i__reply__valid & i__reply__ready;",
        # The word as it is when all requests that have been taken are performed.
        f"reg awaited = 0, mine = 0; reg {value} word; reg {value} old; reg {bits_of(size)} taken;",
        "reg first = 1'b1; always @(posedge clk) first <= 1'b0;",
        "always @* assume (!first | word == words[row]);",
        "always @(posedge clk) awaited <= enters | (awaited & ~leaves);",
        f"always @(posedge clk) if (enters) begin mine <= {here} == row; taken <= {asked};",
        f"  old <= word; if ({here} == row) word <= {performed}; end",
        "always @* assert (i__reply__valid == awaited);",
        "always @* assert (i__request__ready == (~awaited | i__reply__ready));",
        f"always @* assert (!awaited | {reply}[{name - 1}:0] == taken[{name - 1}:0]);",
        f"wire {value} answer = {reply}[{link.reply_layout.size - 1}:{name}];",
        "always @* assert (!(awaited & mine) | answer == old);",
        # Where the word is: in its row, until a request for it is answered.
        "always @* assert (words[row] == (awaited & mine ? old : word));",
        "always @* assert (!awaited | current == taken);",
        f"always @* assert (!awaited | mine == (taken[{at - 1}:{name}] == row));",
        f"always @* assert (!(awaited & mine) | word == perform(taken[{at + code - 1}:{at}], old,",
        f"  taken[{size - 1}:{at + code}]));",
    ]
    return with_claims(text, lines)
