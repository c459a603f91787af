"""The operators of a netlist as graphs of words."""

from collections.abc import Sequence

from ..amaranth_internals import nir
from .compiled_errors import UnsupportedConstruct
from .ir import Node, Words
from .words import Arithmetic

__all__ = ["matched", "operator_words", "part_words", "place"]


def place(cell: nir.Cell) -> str:
    """Where in the source a cell is from."""
    if cell.src_loc is None:
        return "an unknown place"
    return f"{cell.src_loc[0]}:{cell.src_loc[1]}"


def operator_words(arithmetic: Arithmetic, cell: nir.Operator, inputs: Sequence[Words]) -> Words:
    """What an operator makes of its operands."""
    a, g = arithmetic, arithmetic.graph
    width = len(cell.inputs[0])
    x = inputs[0]
    if not width:
        return a.const(int(cell.operator in ("r&", "==", "u<=", "s<=", "u>=", "s>=")), 1)
    match cell.operator, *inputs[1:]:
        case ("-",):
            return a.sub(a.const(0, width), x, width)
        case ("b" | "r|",):
            return (a.any(x),)
        case ("r&",):
            return (a.all(x, width),)
        case ("r^",):
            return (a.parity(x),)
        case "+", y:
            return a.add(x, y, width)
        case "-", y:
            return a.sub(x, y, width)
        case "*", y:
            return a.mul(x, y, width)
        case ("u//" | "s//" | "u%" | "s%") as op, y:
            return a.divide(x, y, width, signed=op[0] == "s", remainder=op[1] == "%")
        case "<<", y:
            return a.shift_left(x, y, width)
        case ("u>>" | "s>>") as op, y:
            fill = a.bit(x, width - 1) if op[0] == "s" else g.zero
            return a.shift_right(x, y, width, fill)
        case "==", y:
            return (a.eq(x, y),)
        case "!=", y:
            return (g.not_(a.eq(x, y), 1),)
        case ((("u<" | "u>" | "u<=" | "u>=" | "s<" | "s>" | "s<=" | "s>=") as op), y):
            first, second = (x, y) if op[1:] in ("<", ">=") else (y, x)
            less = a.slt(first, second, width) if op[0] == "s" else a.ult(first, second)
            return (less if op[1:] in ("<", ">") else g.not_(less, 1),)
    raise UnsupportedConstruct(f"Operator {cell.operator} at {place(cell)}")


def part_words(arithmetic: Arithmetic, cell: nir.Part, value: Words, offset: Words) -> Words:
    """The part of a value that begins at an offset, in steps of a stride."""
    a, width = arithmetic, len(cell.value)
    if not width:
        return a.const(0, cell.width)
    fill = a.bit(value, width - 1) if cell.value_signed else a.graph.zero
    # Wide enough that no part of the result comes from outside the shifted value.
    total = width + cell.width
    extended = a.cat(
        [
            *a.pieces(value, 0, width),
            *((p, at + width) for p, at in a.pieces(a.replicated(fill, cell.width), 0, cell.width)),
        ],
        total,
    )
    offset_width = len(cell.offset) + cell.stride.bit_length()
    shift = a.mul(a.part(offset, 0, offset_width), a.const(cell.stride, offset_width), offset_width)
    return a.part(a.shift_right(extended, shift, total, fill), 0, cell.width)


def matched(arithmetic: Arithmetic, cell: nir.Cell, value: Words) -> Node:
    """Whether a value is one of the patterns of a cell."""
    a, g = arithmetic, arithmetic.graph
    hit = g.zero
    for pattern in cell.patterns:
        care = int(pattern.replace("0", "1").replace("-", "0") or "0", 2)
        want = int(pattern.replace("-", "0") or "0", 2)
        width = max(1, len(pattern))
        masked = a.bitwise(g.and_, value, a.const(care, width))
        hit = g.or_(hit, a.eq(masked, a.const(want, width)))
    return hit
