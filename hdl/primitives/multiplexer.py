"""Multiplexers that take few 4-input tables in an FPGA."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..core.checks import check_integer

__all__ = ["CodedMultiplexer", "one_of", "select_code"]

_CHAIN = 8
"""Most words of a chain of tables."""

_FEWEST = 4
"""With fewer words, tools find the least tables by themselves."""


def _code_bits(count: int) -> int:
    if count > _CHAIN:
        first, second = _halves(count)
        return _code_bits(first) + _code_bits(second) + 1
    return 1 + -(-count // 2)


def _halves(count: int) -> tuple[int, int]:
    """The words of the two groups that a table joins, which adds the last word itself."""
    first = 2 * -(-(count - 1) // 4)
    return first, count - 1 - first


def select_code(selected: Sequence[Value]) -> list[Value]:
    """The code with which a `CodedMultiplexer` shows a word, from one bit for each word."""
    if len(selected) > _CHAIN:
        first, _ = _halves(len(selected))
        groups = selected[:first], selected[first:-1]
        return [*select_code(groups[0]), *select_code(groups[1]), selected[-1]]
    second = Cat(selected[3::2]).any()
    pairs = (Cat(selected[at : at + 2]).any() for at in range(2, len(selected), 2))
    return [selected[0] | second, selected[1] | second, *pairs]


class CodedMultiplexer(wiring.Component):
    """Shows one of several words, which is selected by a code made for 4-input tables.

    A table with the inputs t, c, d and z shows t while z is 0; while z is 1 it shows c or d, as t
    says. The first table of a chain makes t of two words, or makes it 0 or 1, by two bits of the
    code. So four words take two tables per bit, while a choice by the bits of a number, or by one
    bit for each word, takes three. With more than six words, a table joins two groups, one of which
    is zero, and adds a word: so nine words take five tables, three on each path.

    The output is zero while the code is.

    Parameters
    ----------
    count : int
        Number of words, at least 3.
    width : int
        Bits of a word, at least 1.

    Members
    -------
    i : In(width).array(count)
    code : In(bits)
        As `select_code`.
    o : Out(width)

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer as above.
    """

    def __init__(self, count: int, width: int) -> None:
        self.count = check_integer("Count", count, 3)
        self.width = check_integer("Width", width, 1)
        code = In(_code_bits(count))
        super().__init__({"i": In(width).array(count), "code": code, "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self._tree(list(self.i), list(self.code)))
        return m

    def _tree(self, words: Sequence[Value], code: Sequence[Value]) -> Value:
        if len(words) > _CHAIN:
            first, _ = _halves(len(words))
            bits = _code_bits(first)
            one = self._tree(words[:first], code[:bits])
            other = self._tree(words[first:-1], code[bits:-1])
            return one | other | (code[-1].replicate(self.width) & words[-1])
        x, y = (bit.replicate(self.width) for bit in code[:2])
        shown = (x & words[0]) | (y & words[1])
        if len(words) > 3:
            shown |= x & y
        for bit, at in zip(code[2:], range(2, len(words), 2)):
            low, high = words[at], words[(at + 1) % len(words)]
            shown = Mux(bit, (shown & high) | (~shown & low), shown)
        return shown


def exports(platform: object) -> bool:
    return hasattr(platform, "get_multiplexer")


def one_of(
    m: Module, platform: object, name: str, selected: Sequence[Value], words: Sequence[Value]
) -> Value:
    """The word of several whose bit is 1; zero if no bit is. At most one may be.

    In exported Verilog it is a `CodedMultiplexer` in a module of its own: if it were not, synthesis
    tools would take its tables apart, since those that choose later make a shorter path.
    """
    if exports(platform) and len(words) >= _FEWEST:
        return platform.get_multiplexer(m, name, Cat(select_code(selected)), words)
    return reduce(or_, (Mux(bit, word, 0) for bit, word in zip(selected, words)))
