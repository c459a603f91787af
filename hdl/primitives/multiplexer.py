"""Multiplexers that take few tables in an FPGA."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = [
    "CodedMultiplexer",
    "MultiplexerForm",
    "QuickMultiplexer",
    "TreeMultiplexer",
    "form_of",
    "has_blank_form",
    "one_of",
    "one_of_next",
    "select_code",
    "tree_code",
]

_FEWEST = 4
"""With fewer words, tools find the least tables by themselves."""

_NARROWEST = 8
"""A code for fewer bits takes more tables than it saves."""


class MultiplexerForm(Protocol):
    """A multiplexer that is a module of its own, with the members `i`, `code` and `o`.

    Attributes
    ----------
    most : int
        Most words.
    blank : bool
        Whether the output is zero if no word is selected.
    """

    most: int
    blank: bool

    def __call__(self, count: int, width: int) -> Any:
        """One for so many words of so many bits."""

    def code_of(self, selected: Sequence[Value]) -> list[Value]:
        """The code for a word, from one bit for each word."""


def _masked(selected: Iterable[Value], words: Iterable[Value]) -> Value:
    """The word of several whose bit is 1, at most one; zero if none is."""
    return reduce(or_, (Mux(bit, word, 0) for bit, word in zip(selected, words)), Const(0))


class QuickMultiplexer(wiring.Component):
    """Shows one of several words, each selected by a bit of its own: little is behind these bits.

    Words are in pairs, and there is a table of four inputs per bit for each pair.

    Parameters
    ----------
    count : int
        Number of words, at least 2.
    width : int
        Bits of a word, at least 1.

    Members
    -------
    i : In(width).array(count)
    code : In(count)
        At most one is 1; if none is, the output is zero.
    o : Out(width)
    """

    def __init__(self, count: int, width: int) -> None:
        self.count = check_integer("Count", count, 2)
        self.width = check_integer("Width", width, 1)
        super().__init__({"i": In(width).array(count), "code": In(count), "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(_masked(self.code, self.i))
        return m


_MOST_CODED = 9
"""Two chains of four, and a word beside them."""


def select_code(selected: Sequence[Value]) -> list[Value]:
    """The code with which a `CodedMultiplexer` shows a word, from one bit for each word."""
    if len(selected) == _MOST_CODED:
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

    most = _MOST_CODED
    blank = True
    code_of = staticmethod(select_code)

    def __init__(self, count: int, width: int) -> None:
        self.count = check_integer("Count", count, _FEWEST, self.most)
        self.width = check_integer("Width", width, 1)
        code = In(7 if count == self.most else 1 + -(-count // 2))
        super().__init__({"i": In(width).array(count), "code": code, "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, code = list(self.i), list(self.code)
        if self.count == self.most:
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


_PER_TABLE = 4
"""Words that a table of six inputs chooses from, by two bits."""


def _inner_tables(count: int) -> int:
    """Tables of four words before the last one."""
    return max(0, -(-(count - _PER_TABLE) // (_PER_TABLE - 1)))


def tree_code(selected: Sequence[Value]) -> list[Value]:
    """The code with which a `TreeMultiplexer` shows a word, from one bit for each word."""
    inner = _inner_tables(len(selected))
    whole = _PER_TABLE * inner
    low = [at % _PER_TABLE for at in range(whole)]
    high = [at // _PER_TABLE for at in range(whole)]
    high += [inner + at for at in range(len(selected) - whole)]

    def bits(numbers: Sequence[int]) -> list[Value]:
        width = max(numbers, default=0).bit_length()
        return [
            Cat(one for one, number in zip(selected, numbers) if number >> bit & 1).any()
            for bit in range(width)
        ]

    return [*bits(low), *bits(high)]


class TreeMultiplexer(wiring.Component):
    """Shows one of several words, selected by a code that is made for 6-input tables.

    A table shows one of four words by two bits of the code. So four words take a table per bit,
    seven words two, and ten words three: the last one chooses among what the others show, and the
    words that are left.

    If no word is selected, the output is any of them.

    Parameters
    ----------
    count : int
        Number of words, from 4 to 10.
    width : int
        Bits of a word, at least 1.

    Members
    -------
    i : In(width).array(count)
    code : In(2 to 4)
        As `tree_code`: two bits for all tables but the last one, if there are several, and up to
        two for this.
    o : Out(width)
    """

    most = 10
    blank = False
    code_of = staticmethod(tree_code)

    def __init__(self, count: int, width: int) -> None:
        self.count = check_integer("Count", count, _FEWEST, self.most)
        self.width = check_integer("Width", width, 1)
        code = In(len(tree_code([Const(0)] * count)))
        super().__init__({"i": In(width).array(count), "code": code, "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, code = list(self.i), list(self.code)
        inner = _inner_tables(self.count)
        low, high = (code[:2], code[2:]) if inner else ([], code)
        whole = _PER_TABLE * inner
        firsts = [
            self._table(words[at : at + _PER_TABLE], low) for at in range(0, whole, _PER_TABLE)
        ]
        m.d.comb += self.o.eq(self._table([*firsts, *words[whole:]], high))
        return m

    def _table(self, words: Sequence[Value], code: Sequence[Value]) -> Value:
        if len(words) == 1:
            return words[0]
        half = 1 << (len(code) - 1)
        if len(words) <= half:
            return self._table(words, code[:-1])
        upper, lower = (self._table(part, code[:-1]) for part in (words[half:], words[:half]))
        return Mux(code[-1], upper, lower)


def form_of(platform: object, count: int, width: int, *, blank: bool) -> MultiplexerForm | None:
    """The module that chooses among so many words in exported Verilog, if it saves tables.

    With `blank`, it must show zero if no word is selected.
    """
    form = _form(platform, count, width, None)
    return None if form is None or (blank and not form.blank) else form


def has_blank_form(platform: object, count: int, width: int) -> bool:
    """Whether a module chooses among so many words that is zero if none is selected: of the
    platform, or in simulation of the default one."""
    form = _form(platform, count, width, CodedMultiplexer)
    return form is not None and form.blank


def _form(
    platform: object, count: int, width: int, simulated: MultiplexerForm | None
) -> MultiplexerForm | None:
    """The module of a platform, or that in simulation, if it saves tables."""
    form: MultiplexerForm | None = getattr(platform, "multiplexer", simulated)
    saves = form is not None and _FEWEST <= count <= form.most and width >= _NARROWEST
    return form if saves else None


def one_of(
    m: Module,
    platform: Any,
    name: str,
    selected: Sequence[Value],
    words: Sequence[Value],
    *,
    quick: bool = False,
    blank: bool = False,
) -> Value:
    """The word of several whose bit is 1, at most one.

    If no bit is, it is zero with `blank`, and of no meaning otherwise. If there is no word, it is
    zero.

    In exported Verilog it may be a module of its own: in a larger one, synthesis tools would take
    its tables apart, as they prefer shorter paths to fewer tables. If it is to be `quick`, it has a
    short path itself, and more tables.
    """
    if quick and len(words) > 1 and getattr(platform, "quick", None) is not None:
        return platform.get_multiplexer(m, name, Cat(selected), words, quick=True)
    form = form_of(platform, len(words), len(words[0]), blank=blank) if words else None
    if form is not None and not quick:
        return platform.get_multiplexer(m, name, Cat(form.code_of(selected)), words)
    return _masked(selected, words)


def one_of_next(
    m: Module, platform: Any, name: str, selected: Sequence[Value], words: Sequence[Value]
) -> Value:
    """As `one_of`, but a word is selected in the cycle before.

    A register holds what selects it as the multiplexer needs it: so nothing is before the tables.
    After reset the word has no meaning for a cycle.
    """
    count, width = len(words), len(words[0])
    form = _form(platform, count, width, CodedMultiplexer)
    code = Cat(selected if form is None else form.code_of(selected))
    held = Signal(len(code), reset_less=True, name=f"select_{name}")
    m.d.sync += held.eq(code)
    if form is None:
        return one_of(m, platform, name, list(held), words)
    if hasattr(platform, "get_multiplexer"):
        return platform.get_multiplexer(m, name, held, words)
    multiplexer = form(count, width)
    m.submodules[f"multiplexer_{name}"] = multiplexer
    m.d.comb += [port.eq(word) for port, word in zip(multiplexer.i, words)]
    m.d.comb += multiplexer.code.eq(held)
    return multiplexer.o
