"""Rows of a list of messages that wait: what each has seen of the others, and for how long."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = ["ROWS", "WaitingRows", "sliced"]

ROWS = 32
"""Rows of a `WaitingRows`. It is small, so that building it takes no time; a list has many."""

_INDEX_BITS = ROWS.bit_length() - 1


class WaitingRows(wiring.Component):
    """Some rows of the list of a `DependentSource`: tells which of them are ready.

    A row is *ready* from `delay` cycles after the first cycle in which all that it needs has come,
    until it is taken. Everything counts in the same cycle, whatever comes together.

    A number of every row is stored as slices: a word with the lowest bit of each, a word with the
    next bit of each, and so on. So an operation on all rows is a few operations on words.

    Parameters
    ----------
    count_bits : int
        Width of the number of messages that a row needs.
    delay_bits : int
        Width of a delay.

    Members
    -------
    open : In(1)
        Nothing is ready, and no delay passes, while it is 0.
    needs : In(32 * count_bits)
        How many messages each row needs, as slices. Constant; 1 in an unused row.
    delays : In(32 * delay_bits)
        The delay of each row, as slices. Constant.
    computes : In(32)
        Which rows are computations, and no messages. Constant.
    arrived, left, ended : In(32)
        Which rows need what has arrived, left or ended in this cycle.
    sent, stopped : In(1)
        The row of `first`, or of `computed`, is taken: it is not ready any more.
    sent_row : In(5)
        The row that is taken by `sent`.
    ready, first : Out(1), Out(5)
        Whether a message is ready, and the first that is.
    computed, last : Out(1), Out(5)
        Whether a computation is ready, which means that it has ended, and the first that is.
    """

    def __init__(self, *, count_bits: int, delay_bits: int) -> None:
        self.count_bits = check_integer("Bits of a count", count_bits, 1)
        self.delay_bits = check_integer("Bits of a delay", delay_bits, 1)
        super().__init__(
            {
                "open": In(1),
                "needs": In(ROWS * count_bits),
                "delays": In(ROWS * delay_bits),
                "computes": In(ROWS),
                "arrived": In(ROWS),
                "left": In(ROWS),
                "ended": In(ROWS),
                "sent": In(1),
                "sent_row": In(_INDEX_BITS),
                "stopped": In(1),
                "ready": Out(1),
                "first": Out(_INDEX_BITS),
                "computed": Out(1),
                "last": Out(_INDEX_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        counts = [Signal(ROWS, name=f"count_{bit}") for bit in range(self.count_bits)]
        waited = [Signal(ROWS, name=f"waited_{bit}") for bit in range(self.delay_bits)]
        free, due, done, ready = (Signal(ROWS, name=n) for n in ("free", "due", "done", "ready"))
        a, b, c = self.arrived, self.left, self.ended
        _add(m, counts, [a ^ b ^ c, _majority(a, b, c)])
        m.d.comb += [
            free.eq(_equal(counts, self.needs) & self.open.replicate(ROWS)),
            due.eq(_equal(waited, self.delays)),
            ready.eq(free & due & ~done),
        ]
        _add(m, waited, [free & ~due])
        first = _lowest(m, "messages", ready & ~self.computes)
        last = _lowest(m, "computations", ready & self.computes)
        m.d.comb += [
            self.ready.eq(first.any()),
            self.first.eq(_index(first)),
            self.computed.eq(last.any()),
            self.last.eq(_index(last)),
        ]
        sent = Signal(ROWS)
        m.d.comb += sent.eq(self.sent << self.sent_row)
        m.d.sync += done.eq(done | sent | (last & self.stopped.replicate(ROWS)))
        return m


def sliced(numbers: Sequence[int], bits: int) -> int:
    """Numbers of rows as slices."""
    return sum(
        (number >> bit & 1) << bit * ROWS + row
        for row, number in enumerate(numbers)
        for bit in range(bits)
    )


def _equal(slices: Sequence[Value], other: Value) -> Value:
    """For each row whether two numbers are equal."""
    words = (word ^ other.word_select(bit, ROWS) for bit, word in enumerate(slices))
    return ~reduce(or_, words)


def _add(m: Module, slices: Sequence[Signal], more: Sequence[Value]) -> None:
    """Add to the number of each row another one, of at most as many slices."""
    carry: Value | None = None
    for bit, word in enumerate(slices):
        terms = [*more[bit : bit + 1], *([] if carry is None else [carry])]
        total = Signal(ROWS, name=f"{word.name}_next")
        m.d.comb += total.eq(reduce(lambda one, other: one ^ other, terms, word))
        m.d.sync += word.eq(total)
        carry = _majority(word, *terms) if len(terms) == 2 else word & terms[0]


def _majority(a: Value, b: Value, c: Value) -> Value:
    return (a & b) | (a & c) | (b & c)


def _lowest(m: Module, name: str, word: Value) -> Signal:
    """The lowest bit that is 1, alone."""
    all_, found = Signal(ROWS, name=name), Signal(ROWS, name=f"{name}_lowest")
    m.d.comb += [all_.eq(word), found.eq(all_ & (~all_ + 1))]
    return found


def _index(single: Value) -> Value:
    """The place of the only bit that is 1."""
    masks = (sum(1 << row for row in range(ROWS) if row >> bit & 1) for bit in range(_INDEX_BITS))
    return Cat((single & mask).any() for mask in masks)
