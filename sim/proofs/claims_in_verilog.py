"""Claims that are written into the Verilog of a switch, and what they share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...hdl.primitives.arrival_queue import row_order
from ...hdl.switch.routed_switch import RoutedSwitch
from .route_gates import gates_text

__all__ = [
    "any_of",
    "bits_of",
    "choice_of",
    "forwarded",
    "gate_claims",
    "part_of",
    "places_full_from_below",
    "row_number",
    "stays",
    "sum_of",
    "with_claims",
    "with_gates",
]

_BEGAN = (
    "  reg began = 1'b0;",
    "  always @(posedge clk) began <= 1'b1;",
    "  always @* assume (rst == ~began);",
)


def bits_of(width: int) -> str:
    """The range of a vector of so many bits."""
    return f"[{width - 1}:0]"


def with_claims(text: str, lines: Sequence[str]) -> str:
    """A module with statements at its end. The first cycle is a reset: nothing is claimed of it.

    A name that the module does not have is an error, and not a wire that may be anything.
    """
    begun = [
        line.replace("assert (", "assert (!began | ")
        .replace("assume (", "assume (!began | ")
        .replace("@(posedge clk)", "@(posedge clk) if (began)")
        for line in lines
    ]
    body, _, end = text.rpartition("endmodule")
    own = (f"  {line}" for line in begun)
    body = f"`default_nettype none\n{body}".rstrip("\n")
    return "\n".join([body, *_BEGAN, *own, f"endmodule{end}"])


def gate_claims(switch: RoutedSwitch, i: int, tag: str) -> Iterator[str]:
    """`gated_{i}`: the outputs that a header with a tag may take from input i, one bit each."""
    here = ", .address(address)" if switch.logic is not None and switch.logic.address else ""
    yield f"wire {bits_of(len(switch.shape.outputs))} gated_{i};"
    yield f"route_gates gates_{i} (.tag({tag}){here}, .exits__{i}(gated_{i}));"


def with_gates(switch: RoutedSwitch, text: str) -> str:
    """A text with the module that `gate_claims` names."""
    return text if switch.logic is None else f"{text}\n{gates_text(switch, 'route_gates')}"


def forwarded(switch: RoutedSwitch, word: str, size: int | None = None) -> str:
    """A word as it leaves: with its tag rotated, if there are boxes behind that find theirs so."""
    size = switch.packet.size if size is None else size
    turned = switch.logic.rotates if switch.logic is not None else 0
    if not turned:
        return f"{word}[{size - 1}:0]"
    tag = switch.packet["tag"].width
    rest = tag - turned
    low = f"{word}[{rest - 1}:0], " if rest else ""
    return f"{{{word}[{size - 1}:{tag}], {low}{word}[{tag - 1}:{rest}]}}"


def part_of(name: str, low: int, high: int) -> str:
    """Bits of a vector, or of a part of one."""
    whole, _, part = name.partition("[")
    first = int(part.rstrip("]").rpartition(":")[2]) if part else 0
    return f"{whole}[{first + high - 1}:{first + low}]"


def row_number(row: str, rows: int) -> str:
    """Where a row of an `ArrivalQueue` stands in the order of use."""
    *others, _ = row_order(rows)
    return " : ".join(
        [*(f"({row} == {r}) ? 8'd{at}" for at, r in enumerate(others)), f"8'd{rows - 1}"]
    )


def places_full_from_below(free: str, depth: int) -> Iterator[str]:
    """The places that `Places` counts are free from the lowest bit on."""
    if depth > 8:
        yield f"always @* assert ({free} <= {depth});"
        return
    for at in range(depth - 1):
        yield f"always @* assert ({free}[{at}] | ~{free}[{at + 1}]);"


def stays(verb: str, stream: str, size: int) -> Iterator[str]:
    """What a stream shows stays until it is taken."""
    was = f"{stream}_was"
    yield f"reg {was}_stuck = 0; reg {bits_of(size)} {was} = 0;"
    yield f"always @(posedge clk) begin {was}_stuck <= {stream}__valid & ~{stream}__ready;"
    yield f"  {was} <= {stream}__payload; end"
    yield f"always @* {verb} (!{was}_stuck | ({stream}__valid & {stream}__payload == {was}));"


def any_of(texts: Iterable[str]) -> str:
    return f"({' | '.join(f'({text})' for text in texts)})"


def sum_of(bits: Iterable[str]) -> str:
    return " + ".join(f"({bit} ? 8'd1 : 8'd0)" for bit in bits)


def choice_of(when: Mapping[int, str], values: Sequence[str]) -> str:
    """The value of which the condition holds, the last if none does."""
    *first, last = zip(when.values(), values, strict=True)
    return "(" + " : ".join([*(f"({one}) ? {value}" for one, value in first), last[1]]) + ")"
