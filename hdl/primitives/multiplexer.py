"""Multiplexers that take few 4-input tables in an FPGA."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = ["CodedMultiplexer", "is_coded", "one_of", "one_of_next", "select_code"]

_FEWEST, _MOST = 4, 9
"""With fewer words than four, tools find the least tables by themselves."""

_NARROWEST = 8
"""A code for fewer bits takes more tables than it saves."""


def select_code(selected: Sequence[Value]) -> list[Value]:
    """The code with which a `CodedMultiplexer` shows a word, from one bit for each word."""
    if len(selected) == _MOST:
        return [*select_code(selected[:4]), *select_code(selected[4:8]), selected[8]]
    second = Cat(selected[3::2]).any()
    pairs = (Cat(selected[at : at + 2]).any() for at in range(2, len(selected), 2))
    return [selected[0] | second, selected[1] | second, *pairs]


class CodedMultiplexer(wiring.Component):
    """Shows one of several words, selected by a code that is made for 4-input tables.

    The words are in pairs, and there is a table per bit for each pair. The first one shows a word
    of its pair, 0 or 1, as two bits of the code say. Every other one shows what comes from the
    table before it or, if its bit of the code is 1, a word of its pair: the first if what comes is
    0, and the second if it is 1. So four words take two tables per bit; a choice by a number, or by
    a bit for each word, takes three. Nine words are two chains of four, and a table that joins them
    and adds a word.

    The output is zero while the code is.

    Parameters
    ----------
    count : int
        Number of words, from 4 to 9.
    width : int
        Bits of a word, at least 1.

    Members
    -------
    i : In(width).array(count)
    code : In(1 + ceil(count / 2)), of nine words In(7)
        As `select_code`.
    o : Out(width)
    """

    def __init__(self, count: int, width: int) -> None:
        self.count = check_integer("Count", count, _FEWEST, _MOST)
        self.width = check_integer("Width", width, 1)
        code = In(7 if count == _MOST else 1 + -(-count // 2))
        super().__init__({"i": In(width).array(count), "code": code, "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, code = list(self.i), list(self.code)
        if self.count == _MOST:
            shown = self._chain(words[:4], code[:3]) | self._chain(words[4:8], code[3:6])
            shown |= code[6].replicate(self.width) & words[8]
        else:
            shown = self._chain(words, code)
        m.d.comb += self.o.eq(shown)
        return m

    def _chain(self, words: Sequence[Value], code: Sequence[Value]) -> Value:
        first, second = (bit.replicate(self.width) for bit in code[:2])
        shown = (first & words[0]) | (second & words[1]) | (first & second)
        for bit, at in zip(code[2:], range(2, len(words), 2)):
            # A word without another one is paired with the first word, which is never shown here.
            low, high = words[at], words[(at + 1) % len(words)]
            shown = Mux(bit, (shown & high) | (~shown & low), shown)
        return shown


def is_coded(platform: object, count: int, width: int) -> bool:
    """Whether a choice of so many words is a `CodedMultiplexer`: in exported Verilog, if there are
    four to nine, of at least eight bits."""
    return hasattr(platform, "get_multiplexer") and _saves_tables(count, width)


def _saves_tables(count: int, width: int) -> bool:
    return _FEWEST <= count <= _MOST and width >= _NARROWEST


def one_of(
    m: Module,
    platform: Any,
    name: str,
    selected: Sequence[Value],
    words: Sequence[Value],
    *,
    quick: bool = False,
) -> Value:
    """The word of several whose bit is 1, at most one; zero if no bit is, or there is no word.

    A `CodedMultiplexer` is a module of its own: in a larger one, synthesis tools would take its
    tables apart, as they prefer shorter paths to fewer tables. If it is to be `quick`, it is left
    to them.
    """
    if words and not quick and is_coded(platform, len(words), len(words[0])):
        return platform.get_multiplexer(m, name, Cat(select_code(selected)), words)
    return reduce(or_, (Mux(bit, word, 0) for bit, word in zip(selected, words)), Const(0))


def one_of_next(
    m: Module, platform: Any, name: str, selected: Sequence[Value], words: Sequence[Value]
) -> Value:
    """As `one_of`, but a word is selected in the cycle before.

    A register holds what selects it as the multiplexer needs it: so nothing is before the tables.
    After reset the word has no meaning for a cycle.
    """
    coded = _saves_tables(len(words), len(words[0]))
    code = Cat(select_code(selected) if coded else selected)
    held = Signal(len(code), reset_less=True, name=f"select_{name}")
    m.d.sync += held.eq(code)
    if not coded:
        return one_of(m, platform, name, list(held), words)
    if is_coded(platform, len(words), len(words[0])):
        return platform.get_multiplexer(m, name, held, words)
    multiplexer = CodedMultiplexer(len(words), len(words[0]))
    m.submodules[f"multiplexer_{name}"] = multiplexer
    m.d.comb += [port.eq(word) for port, word in zip(multiplexer.i, words)]
    m.d.comb += multiplexer.code.eq(held)
    return multiplexer.o
