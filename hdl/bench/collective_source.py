# amaranth: UnusedElaboratable=no
"""A dependent source with a memory of words, which its messages carry, and arrivals change."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from ..fabric.checks import check_integer
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..operations.folds import Fold
from .dependent_source import DependentSource

__all__ = ["CollectiveSource", "Give", "Take"]


class Give(data.StructLayout):
    """Which words a message carries: the row of the first one, and their bank."""

    def __init__(self, rows: int, banks: int) -> None:
        super().__init__({"first": range(rows), "bank": range(banks)})


class Take(data.StructLayout):
    """What becomes of the words that arrive: the row of the first one, the banks that change, and
    whether words are folded with those that are there."""

    def __init__(self, rows: int, banks: int) -> None:
        super().__init__({"place": range(rows), "banks": banks, "folds": 1})


class CollectiveSource(DependentSource):
    """A `DependentSource` whose flits carry words of a memory, one each.

    A row of the memory has a word in each bank. A word leaves as it is in the cycle in which the
    network takes its flit, and one that arrives is stored, or folded with the word that is there,
    at the end of the cycle.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp` with a `message` and a `word`.
    word : int
        Width of a word.
    rows, banks : int
        Of the memory.
    operation : str
        The fold of words, one of `REDUCTIONS`.
    gives : tuple[int, ...]
        By row of the list: a `Give` as a number.
    takes : tuple[int, ...]
        By row of arrivals: a `Take` as a number.
    words : tuple[int, ...]
        The first contents of the memory: by row, the words of all banks.
    tags, blocks, arrivals, lengths, geometric, orders, awaited, followed
        As for a `DependentSource`.

    Attributes
    ----------
    words : Memory
        A submodule of this name. Bank 0 is in the low bits.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        word: int,
        rows: int,
        banks: int,
        operation: str = "add",
        gives: tuple[int, ...] = (),
        takes: tuple[int, ...] = (),
        words: tuple[int, ...] = (),
        **others: Any,
    ) -> None:
        self.word = check_integer("Word", word, 1)
        self.rows = check_integer("Rows", rows, 1)
        self.banks = check_integer("Banks", banks, 1)
        self.fold = Fold(operation, word)
        super().__init__(packet, tags, **others)
        self._init |= {"gives": gives, "takes": takes}
        self.words = Memory(shape=word * banks, depth=rows, init=words)

    def _fill(self, m: Module, order: data.View, pick: Signal, departure: Value) -> None:
        m.submodules.words = self.words
        kind = Give(self.rows, self.banks)
        give = data.View(kind, self._read(m, self._table(m, "gives", self.depth, kind.size), pick))
        number = Signal(range(self.rows))
        leaving = self.words.read_port(domain="comb")
        m.d.comb += [
            leaving.addr.eq(give.first + number),
            order.word.eq(leaving.data.word_select(give.bank, self.word)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += number.eq(Mux(departure, 0, number + 1))
        self._take(m)

    def _take(self, m: Module) -> None:
        """Change the rows for which words arrive."""
        kind = Take(self.rows, self.banks)
        takes = self._table(m, "takes", self.arrivals, kind.size)
        take = data.View(kind, self._read(m, takes, self.heard.payload.message))
        number = Signal(range(self.rows))
        old = self.words.read_port(domain="comb")
        new = self.words.write_port()
        arriving = self.heard.payload.word
        words = []
        for bank in range(self.banks):
            here = old.data.word_select(bank, self.word)
            merged = Mux(take.folds, self.fold.build(here, arriving), arriving)
            words.append(Mux(take.banks[bank], merged, here))
        m.d.comb += [
            old.addr.eq(take.place + number),
            new.addr.eq(old.addr),
            new.data.eq(Cat(words)),
            new.en.eq(self.heard_valid),
        ]
        last = self.heard.last if self.packet.flits else 1
        with m.If(self.heard_valid):
            m.d.sync += number.eq(Mux(last, 0, number + 1))
