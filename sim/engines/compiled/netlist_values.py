"""The words of any value in a netlist: its logic, as a graph."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise

from ....hdl.fabric.pins import Path
from ..amaranth_internals import Matches, PriorityMatch, nir
from .compiled_errors import UnsupportedConstruct
from .ir import Node, Words
from .netlist_operators import matched, operator_words, part_words, place
from .word_graph import Graph
from .words import Arithmetic, word_widths

__all__ = ["NetlistValues"]

_WIDE = 16
"""A bitwise cell of at least this width is computed as a whole if its bits are used apart, ..."""

_APART = 16
"""... which is in at least this many parts, or in parts that overlap."""

_BITWISE = ("&", "|", "^", "~", "m")
"""Operators whose result has a bit for each bit of their last operands."""

_FRAMES = 8
"""At most so many calls lead from a bit of the netlist to one that it depends on."""


@dataclass(frozen=True)
class _Choice:
    """A choice among cases by the value of a number; case i is that of `numbers[i]`."""

    enable: nir.Net
    value: nir.Value
    numbers: tuple[int, ...]


def _segments(nets: Sequence[nir.Net]) -> Iterator[tuple[int, int, int]]:
    """A value as parts, each with its cell, first bit and width. Constants have cell -1, and their
    value in the place of the bit."""
    if nets and not nets[0].is_const:  # most are a single part
        first = int(nets[0])
        if (
            nets[-1].is_cell
            and nets[-1].cell == nets[0].cell
            and [*nets] == [*range(first, first + len(nets))]
        ):
            yield nets[0].cell, nets[0].bit, len(nets)
            return
    at = 0
    while at < len(nets):
        net, end = nets[at], at + 1
        if net.is_const:
            yield -1, net.const, 1
        else:
            while end < len(nets) and nets[end] == net + (end - at) and nets[end].cell == net.cell:
                end += 1
            yield net.cell, net.bit, end - at
        at = end


def _part(value: nir.Value, low: int, high: int) -> Sequence[nir.Net]:
    """Bits of a value. (A slice of a `nir.Value` would check all its bits again.)"""
    return value if (low, high) == (0, len(value)) else tuple.__getitem__(value, slice(low, high))


def _operands(cell: nir.Cell) -> Iterator[Sequence[nir.Net]]:
    """The values that a cell uses."""
    match cell:
        case nir.Operator():
            yield from cell.inputs
        case nir.AssignmentList():
            yield cell.default
            yield from (assignment.value for assignment in cell.assignments)
        case nir.FlipFlop():
            yield cell.data
        case Matches() | nir.Part():
            yield cell.value
        case PriorityMatch():
            yield cell.inputs
        case nir.SyncWritePort():
            yield from (cell.data, cell.addr, cell.en)
        case nir.Top():
            yield from cell.ports_o.values()


class NetlistValues(ABC):
    """Makes the graph of a netlist's logic. What registers and memories hold, a subclass says."""

    def __init__(
        self, name: str, netlist: nir.Netlist, paths: Mapping[str, Path], by_bit: bool
    ) -> None:
        self.name = name
        self.netlist = netlist
        self.paths = paths
        self.graph = Graph()
        self.arithmetic = Arithmetic(self.graph)
        self._segments: dict[tuple[int, int, int], Words] = {}
        self._choices: dict[int, _Choice | None] = {}
        self._whole = set() if by_bit else self._used_apart()
        self._inputs: list[tuple[int, int, str]] = sorted(
            (start, width, port) for port, (start, width) in netlist.top.ports_i.items()
        )
        self._bits = sum(len(cell.output_nets(index)) for index, cell in enumerate(netlist.cells))

    @contextmanager
    def deep_recursion(self) -> Iterator[None]:
        """Let a chain of all bits be followed by recursion: a bus has a gate for each terminal.

        The functions that recurse call each other from Python only, in lists and not in generators,
        which takes no space on the stack.
        """
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(usual + _FRAMES * self._bits)
        try:
            yield
        finally:
            sys.setrecursionlimit(usual)

    @abstractmethod
    def _state_words(self, index: int) -> Words:
        """What a flip-flop or a read port holds."""

    @abstractmethod
    def _read(self, memory_index: int, address: Words) -> Words:
        """The row of a memory at an address."""

    def _used_apart(self) -> set[int]:
        """Wide bitwise cells that are used in many parts, or in parts that overlap."""
        parts: dict[int, set[tuple[int, int]]] = {}
        wide = {
            index: cell.width
            for index, cell in enumerate(self.netlist.cells)
            if isinstance(cell, nir.Operator) and cell.operator in _BITWISE and cell.width >= _WIDE
        }
        for cell in self.netlist.cells:
            for value in _operands(cell):
                for index, bit, count in _segments(value):
                    if index in wide:
                        parts.setdefault(index, set()).add((bit, count))
        return {
            index
            for index, found in parts.items()
            if len(found) >= _APART or sum(count for _, count in found) > wide[index]
        }

    def value(self, nets: Sequence[nir.Net]) -> Words:
        """The words of any value."""
        parts: list[tuple[Node, int]] = []
        at = 0
        for index, bit, count in _segments(nets):
            if index >= 0:
                words = self.segment(index, bit, count)
                parts += [(part, at + low) for part, low in self.arithmetic.pieces(words, 0, count)]
            elif bit:
                parts.append((self.graph.one, at))
            at += count
        return self.arithmetic.cat(parts, len(nets))

    def segment(self, index: int, start: int, count: int) -> Words:
        """Bits of the output of a cell of the netlist."""
        key = (index, start, count)
        if key not in self._segments:
            self._segments[key] = self._segment(index, start, count)
        return self._segments[key]

    def _segment(self, index: int, start: int, count: int) -> Words:
        a, cell = self.arithmetic, self.netlist.cells[index]
        if index in self._whole:
            # While it is computed, bits that it depends on itself are computed one by one.
            self._whole.remove(index)
            whole = self.segment(index, 0, cell.width)
            self._whole.add(index)
            return a.part(whole, start, count)
        cut = (start, start + count)
        match cell:
            case nir.Top():
                return self._input(start, count)
            case nir.FlipFlop() | nir.SyncReadPort():
                return a.part(self._state_words(index), start, count)
            case nir.Operator(operator="&" | "|" | "^"):
                g = self.graph
                gate = {"&": g.and_, "|": g.or_, "^": g.xor}[cell.operator]
                left, right = [self.value(_part(value, *cut)) for value in cell.inputs]
                return a.bitwise(gate, left, right)
            case nir.Operator(operator="~"):
                return a.not_(self.value(_part(cell.inputs[0], *cut)), count)
            case nir.Operator(operator="m"):
                condition = self.value(cell.inputs[0])[0]
                return a.mux(
                    condition, *[self.value(_part(value, *cut)) for value in cell.inputs[1:]]
                )
            case nir.AssignmentList():
                return self._assigned(cell, start, count)
            case PriorityMatch():
                bits = [self._priority(index, bit) for bit in range(start, start + count)]
                return a.cat(list(zip(bits, range(count))), count)
            case nir.Operator():
                inputs = [self.value(value) for value in cell.inputs]
                whole, width = operator_words(a, cell, inputs), cell.width
            case nir.Part():
                value, offset = self.value(cell.value), self.value(cell.offset)
                whole, width = part_words(a, cell, value, offset), cell.width
            case Matches():
                whole, width = (matched(a, cell, self.value(cell.value)),), 1
            case nir.AsyncReadPort():
                whole, width = self._read(cell.memory, self.value(cell.addr)), cell.width
            case _:
                raise UnsupportedConstruct(f"{type(cell).__name__} at {place(cell)}")
        if (start, count) == (0, width):
            return whole
        self._segments[index, 0, width] = whole
        return a.part(self.segment(index, 0, width), start, count)

    def _input(self, start: int, count: int) -> Words:
        """Bits of the module's inputs, which may span several ports."""
        parts: list[tuple[Node, int]] = []
        for first, width, port in self._inputs:
            low, high = max(first, start), min(first + width, start + count)
            if low < high and port in self.paths:  # otherwise reset, or clock used as data: 0
                words = tuple(
                    self.graph.input(self.paths[port], word, bits)
                    for word, bits in enumerate(word_widths(width))
                )
                pieces = self.arithmetic.pieces(words, low - first, high - low)
                parts += [(part, at + low - start) for part, at in pieces]
        return self.arithmetic.cat(parts, count)

    def _assigned(self, cell: nir.AssignmentList, start: int, count: int) -> Words:
        edges = {start, start + count}
        for assignment in cell.assignments:
            for edge in (assignment.start, assignment.start + len(assignment.value)):
                if start < edge < start + count:
                    edges.add(edge)
        parts: list[tuple[Node, int]] = []
        cuts = sorted(edges)
        for low, high in pairwise(cuts):
            words = self.value(_part(cell.default, low, high))
            covering = [
                (each.cond, self.value(_part(each.value, low - each.start, high - each.start)))
                for each in cell.assignments
                if each.start <= low and high <= each.start + len(each.value)
            ]
            for choice, group in groupby(covering, lambda each: self._choice(each[0])):
                if choice is None:
                    for condition, new in group:
                        chosen = self.value(nir.Value(condition))[0]
                        words = self.arithmetic.mux(chosen, new, words)
                else:
                    cases = {condition.bit: new for condition, new in group}
                    words = self._chosen(choice, cases, words)
            pieces = self.arithmetic.pieces(words, 0, high - low)
            parts += [(part, low - start + at) for part, at in pieces]
        return self.arithmetic.cat(parts, count)

    def _choice(self, condition: nir.Net) -> _Choice | None:
        """The choice that a condition is a case of, if it is one by the value of a number."""
        if condition.is_const:
            return None
        if condition.cell not in self._choices:
            self._choices[condition.cell] = self._found_choice(condition.cell)
        return self._choices[condition.cell]

    def _found_choice(self, index: int) -> _Choice | None:
        cell = self.netlist.cells[index]
        if not isinstance(cell, PriorityMatch) or len(cell.inputs) < 3:
            return None
        value: nir.Value | None = None
        numbers = []
        for net in cell.inputs:
            match = None if net.is_const else self.netlist.cells[net.cell]
            if not isinstance(match, Matches) or len(match.patterns) != 1:
                return None
            if "-" in match.patterns[0] or value not in (None, match.value):
                return None
            value = match.value
            numbers.append(int("0" + match.patterns[0], 2))  # which may be empty
        if value is None or 1 << len(value) > 4 * len(numbers):
            return None
        return _Choice(cell.en, value, tuple(numbers))

    def _chosen(self, choice: _Choice, cases: Mapping[int, Words], otherwise: Words) -> Words:
        """The words of the case that applies: a tree of multiplexers, by the bits of the number."""
        leaves = [otherwise] * (1 << len(choice.value))
        for case, words in cases.items():
            if choice.numbers.index(choice.numbers[case]) == case:  # the first that has this number
                leaves[choice.numbers[case]] = words
        a, number = self.arithmetic, self.value(choice.value)
        for digit in range(len(choice.value)):
            bit = a.bit(number, digit)
            leaves = [a.mux(bit, one, zero) for zero, one in zip(leaves[::2], leaves[1::2])]
        return a.mux(self.value(nir.Value(choice.enable))[0], leaves[0], otherwise)

    def _priority(self, index: int, bit: int) -> Node:
        """Whether input `bit` of a priority cell is the first that is 1."""
        cell, g = self.netlist.cells[index], self.graph
        mine = self.value(nir.Value(cell.inputs[bit]))[0]
        free = self._none_before(index, bit)
        return g.and_(free, mine)

    def _none_before(self, index: int, bit: int) -> Node:
        key = (index, -1 - bit, 0)
        if key not in self._segments:
            cell, g = self.netlist.cells[index], self.graph
            if bit == 0:
                node = self.value(nir.Value(cell.en))[0]
            else:
                before = self.value(nir.Value(cell.inputs[bit - 1]))[0]
                node = g.and_(self._none_before(index, bit - 1), g.not_(before, 1))
            self._segments[key] = (node,)
        return self._segments[key][0]
