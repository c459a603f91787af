"""Arithmetic on values of any width, as graphs of words of at most 32 bits.

A value is a tuple of nodes, low word first. It does not record its own width; operations that need
the width take it as an argument. All values are unsigned; signed operations interpret their top
bit.
"""

from collections.abc import Callable, Sequence

from .ir import WORD, Node, Words
from .word_graph import Graph

__all__ = ["Arithmetic", "word_count", "word_widths"]


def word_count(width: int) -> int:
    return max(1, -(-width // WORD))


def word_widths(width: int) -> list[int]:
    """Widths of the words of a value."""
    return [min(WORD, width - WORD * i) for i in range(word_count(width))]


class Arithmetic:
    """Operations on values in a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def const(self, value: int, width: int) -> Words:
        mask = (1 << WORD) - 1
        return tuple(self.graph.const(value >> WORD * i & mask) for i in range(word_count(width)))

    def part(self, a: Words, low: int, width: int) -> Words:
        """`width` bits from bit `low`; zeros beyond the end."""
        return self.cat(self.pieces(a, low, width), width)

    def pieces(self, a: Words, low: int, width: int) -> list[tuple[Node, int]]:
        """Bits of a value as parts with offsets; each part lies within one word of the value."""
        parts = []
        at = 0
        while at < width:
            word, bit = divmod(low + at, WORD)
            count = min(WORD - bit, width - at)
            if word < len(a):
                parts.append((self.graph.slice(a[word], bit, count), at))
            at += count
        return parts

    def cat(self, parts: Sequence[tuple[Node, int]], width: int) -> Words:
        """The value made of parts with their offsets, in ascending order."""
        bins: list[list[tuple[Node, int]]] = [[] for _ in range(word_count(width))]
        for part, offset in parts:
            word, bit = divmod(offset, WORD)
            if bit + part.width <= WORD:
                bins[word].append((part, bit))
            else:
                low = WORD - bit
                bins[word].append((self.graph.slice(part, 0, low), bit))
                bins[word + 1].append((self.graph.slice(part, low, WORD), 0))
        return tuple(self.graph.cat(bin_) for bin_ in bins)

    def bit(self, a: Words, index: int) -> Node:
        word, bit = divmod(index, WORD)
        return self.graph.slice(a[word], bit, 1) if word < len(a) else self.graph.zero

    def replicated(self, bit: Node, width: int) -> Words:
        """A value of `width` equal bits."""
        return tuple(
            self.graph.mux(bit, self.graph.const((1 << count) - 1), self.graph.zero)
            for count in word_widths(width)
        )

    def bitwise(self, op: Callable[[Node, Node], Node], a: Words, b: Words) -> Words:
        return tuple(op(x, y) for x, y in self._aligned(a, b))

    def not_(self, a: Words, width: int) -> Words:
        return tuple(self.graph.not_(x, count) for x, count in zip(a, word_widths(width)))

    def mux(self, condition: Node, a: Words, b: Words) -> Words:
        return tuple(self.graph.mux(condition, x, y) for x, y in self._aligned(a, b))

    def add(self, a: Words, b: Words, width: int) -> Words:
        g = self.graph
        total: list[Node] = []
        carry = g.zero
        for (x, y), count in zip(self._aligned(a, b), word_widths(width)):
            partial = g.add(x, y, count)
            result = g.add(partial, carry, count)
            if count == WORD and len(total) + 1 < word_count(width):
                carry = g.or_(g.ult(partial, x), g.ult(result, carry))
            total.append(result)
        return tuple(total)

    def sub(self, a: Words, b: Words, width: int) -> Words:
        g = self.graph
        total: list[Node] = []
        borrow = g.zero
        for (x, y), count in zip(self._aligned(a, b), word_widths(width)):
            partial = g.sub(x, y, count)
            total.append(g.sub(partial, borrow, count))
            borrow = g.or_(g.ult(x, y), g.ult(partial, borrow))
        return tuple(total)

    def mul(self, a: Words, b: Words, width: int) -> Words:
        g = self.graph
        if width <= WORD:
            return (g.mul(a[0], b[0], width),)
        half = WORD // 2
        limbs = -(-width // half)
        x, y = ([self.part(v, half * i, half)[0] for i in range(limbs)] for v in (a, b))
        total = self.const(0, width)
        for i in range(limbs):
            for j in range(limbs - i):
                product = g.mul(x[i], y[j], WORD)
                term = self.cat([(product, half * (i + j))], width + WORD)
                total = self.add(total, term[: len(total)], width)
        return self.part(total, 0, width)

    def eq(self, a: Words, b: Words) -> Node:
        return self._all([self.graph.eq(x, y) for x, y in self._aligned(a, b)])

    def ult(self, a: Words, b: Words) -> Node:
        g = self.graph
        less = g.zero
        for x, y in self._aligned(a, b):
            less = g.or_(g.ult(x, y), g.and_(g.eq(x, y), less))
        return less

    def slt(self, a: Words, b: Words, width: int) -> Node:
        top = self.const(1 << width - 1, width)
        xor = self.graph.xor
        return self.ult(self.bitwise(xor, a, top), self.bitwise(xor, b, top))

    def any(self, a: Words) -> Node:
        zero = (self.graph.zero,)
        return self.graph.xor(self.eq(a, zero * len(a)), self.graph.one)

    def all(self, a: Words, width: int) -> Node:
        return self.eq(a, self.const((1 << width) - 1, width))

    def parity(self, a: Words) -> Node:
        g = self.graph
        word = a[0]
        for other in a[1:]:
            word = g.xor(word, other)
        while word.width > 1:
            half = (word.width + 1) // 2
            word = g.xor(g.slice(word, 0, half), g.slice(word, half, half))
        return word

    def shift_left(self, a: Words, amount: Words, width: int) -> Words:
        def moved(value: Words, by: int) -> Words:
            kept = max(0, width - by)
            return self.cat([(p, at + by) for p, at in self.pieces(value, 0, kept)], width)

        return self._shifted(a, amount, width, moved, self.const(0, width))

    def shift_right(self, a: Words, amount: Words, width: int, fill: Node) -> Words:
        """Shift a value of `width` bits; `fill` is shifted in."""
        filling = self.replicated(fill, width)

        def moved(value: Words, by: int) -> Words:
            kept = width - by
            fills = [(p, at + kept) for p, at in self.pieces(filling, 0, by)]
            return self.cat([*self.pieces(value, by, kept), *fills], width)

        return self._shifted(a, amount, width, moved, filling)

    def _shifted(
        self,
        value: Words,
        amount: Words,
        width: int,
        moved: Callable[[Words, int], Words],
        emptied: Words,
    ) -> Words:
        """Shift by each bit of the amount in turn; too large amounts shift out the whole value."""
        steps = (width - 1).bit_length()
        for step in range(steps):
            value = self.mux(self.bit(amount, step), moved(value, 1 << step), value)
        rest = self.part(amount, steps, WORD * len(amount))
        return self.mux(self.any(rest), emptied, value)

    def divide(self, a: Words, b: Words, width: int, *, signed: bool, remainder: bool) -> Words:
        """Quotient rounded towards minus infinity, or its remainder; 0 if the divisor is 0."""
        if not signed:
            return self._divide(a, b, remainder)
        g = self.graph
        zero = self.const(0, width)
        minus_a, minus_b = self.bit(a, width - 1), self.bit(b, width - 1)
        x = self.mux(minus_a, self.sub(zero, a, width), a)
        y = self.mux(minus_b, self.sub(zero, b, width), b)
        opposite = g.xor(minus_a, minus_b)
        rest = self._divide(x, y, True)
        ragged = g.and_(opposite, self.any(rest))
        if remainder:
            rest = self.mux(ragged, self.sub(y, rest, width), rest)
            return self.mux(minus_b, self.sub(zero, rest, width), rest)
        quotient = self._divide(x, y, False)
        negative = self.not_(self.sub(quotient, zero, width), width)
        less = self.sub(zero, quotient, width)
        result = self.mux(opposite, self.mux(ragged, negative, less), quotient)
        return self.mux(self.any(b), result, zero)

    def _divide(self, a: Words, b: Words, remainder: bool) -> Words:
        pairs = self._aligned(a, b)
        x, y = tuple(p for p, _ in pairs), tuple(q for _, q in pairs)
        return tuple(self.graph.divide(x, y, remainder, i) for i in range(len(pairs)))

    def _all(self, bits: Sequence[Node]) -> Node:
        result = self.graph.one
        for bit in bits:
            result = self.graph.and_(result, bit)
        return result

    def _aligned(self, a: Words, b: Words) -> list[tuple[Node, Node]]:
        count = max(len(a), len(b))
        zero = self.graph.zero
        return list(zip(a + (zero,) * (count - len(a)), b + (zero,) * (count - len(b))))
