"""The intermediate representation: the nodes of a graph of words.

A *word* is an unsigned number of at most 32 bits; wider values are tuples of words, low word first
(see `words`). A node's `width` is an upper bound: bits above it are zero, and a node may be used
wherever a wider word is expected. There are therefore no zero extensions. The graph is hash-consed:
equal nodes are one node, and the arguments of a node precede it in the order of `serial`.

Operations, with `w` for the node's width:

=========== =================== ==================================================================
op          attr                value
=========== =================== ==================================================================
const       the value
input       (port, word)        a word of an input port
register    index               the register before the clock edge
read        (memory, word,      the word of the addressed row, 0 outside of the memory; `after`
            after)              says whether this cycle's writes are seen
and or xor                      bitwise
add sub mul                     modulo 2**w
divide      (words, remainder,  word of a quotient or remainder of two unsigned values, 0 if the
            word)               divisor is 0; arguments: all words of one, then of the other
eq ult                          1 or 0
mux                             second argument if the first (of width 1) is 1, else the third
slice       low                 w bits from bit `low`
cat         offsets             the arguments side by side, each at its offset
spread                          a bit that is kept as a plane, as a mask in lanes; see `slices`
collect                         a bit that is a mask in lanes, as a plane
kept        number              what was kept of this cycle in lanes
=========== =================== ==================================================================
"""

from dataclasses import dataclass
from typing import Any

__all__ = ["WORD", "Node", "Words"]

WORD = 32
"""Width of a full word."""


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """An operation and its result. Made by `Graph` only."""

    op: str
    args: "tuple[Node, ...]"
    width: int
    attr: Any  # of the type that belongs to the operation
    serial: int

    def __repr__(self) -> str:
        args = ", ".join(f"%{arg.serial}" for arg in self.args)
        attr = "" if self.attr is None else f" {self.attr}"
        return f"%{self.serial}:{self.width} = {self.op}{attr}({args})"

    @property
    def is_const(self) -> bool:
        return self.op == "const"


Words = tuple[Node, ...]
