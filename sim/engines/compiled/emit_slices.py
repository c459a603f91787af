"""Translates a sliced module to C: planes in words of 64 cells, the rest in vectors of lanes.

A function computes a block of cells at a time, in steps: planes, lanes, planes and so on. Each step
needs what was computed before it: lanes that are to be planes are collected in a step of lanes, and
used in the next one of planes. What goes from step to step is kept in two arrays, `m` of planes and
`x` of lanes.

Registers that are planes, and outputs of single bits, are rows of `planes`, which are those of this
cycle, and those of the next one. The driver has them made from states and wires in lanes when it
begins to run (`enter`), and stores them there when it ends (`leave`). So nobody else sees planes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....hdl.fabric.pins import Path
from .counters import FLUSHED, PENDING
from .ir import Node
from .slice_functions import SliceFunction, plane_rows
from .slice_prelude import SLICE_BORDERS, SLICE_PRELUDE
from .slices import Slices
from .word_graph import Graph

if TYPE_CHECKING:
    from .emit_c import TypeEmitter

__all__ = ["IN_ORDER", "STRAIGHT", "TURNED", "SliceEmitter"]

TURNED, STRAIGHT, IN_ORDER = "turned", "straight", "in_order"
"""How an input that is a plane is made of others: by rotations of words, also of such as follow
each other, or by moves that keep the order. The number of terms follows."""

_FOUND = ("pair", "any")
"""How inputs are read that are not read twice, since it takes long."""


class SliceEmitter:
    """Writes the functions of a sliced cell type.

    Parameters
    ----------
    base : TypeEmitter
        That of the type without slices, whose function `publish` remains.
    slices : Slices
    """

    def __init__(self, base: "TypeEmitter", slices: Slices) -> None:
        self.base, self.slices, self.module = base, slices, base.module
        code = base.code
        self.row_counts = len(self.module.registers), len(code.inputs), len(code.outputs)
        self.output_rows = plane_rows(code.outputs, self.module.widths)
        first = len(self.output_rows)
        rows: list[tuple[str | int, int]] = [*slices.registers]
        rows += [("kept", place) for place in range(len(slices.kept))]
        rows += [("pending", place) for place in range(len(slices.pending))]
        self.register_rows = {key: first + row for row, key in enumerate(rows)}
        self.strap_rows = {key: row for row, key in enumerate(slices.straps)}
        self.inputs: dict[int, str] = {}
        self._term_count = 0
        for row, kind in enumerate(code.kinds):
            for way in (TURNED, STRAIGHT, IN_ORDER):
                if kind.startswith(way):
                    count = int(kind.removeprefix(way))
                    place = f"terms + {self._term_count}"
                    self.inputs[row] = f"{way}(c->planes, {place}, {count})"
                    self._term_count += 3 * count * slices.words

    def loads(self, node: Node) -> bool:
        """Whether a node in lanes is loaded anew in each step that uses it."""
        if node.op == "input":
            return self.base.code.kinds[self.base.input_numbers[node.attr]] not in _FOUND
        return node.op in ("register", "spread", "kept")

    def source(self) -> str:
        """All functions of the type."""
        code = self.base.code
        rows = len(self.output_rows) + len(self.register_rows)
        sizes = {
            "WORDS": self.slices.words,
            "ROWS": max(rows, 1),
            "STRAPS": max(len(self.strap_rows), 1),
            "TERMS": max(self._term_count, 1),
            "KEPT": len(self.slices.kept_lanes) + len(self.slices.carried),
            "REGISTERS": self.row_counts[0],
            "OUTPUTS": self.row_counts[2],
            "PENDING": PENDING,
        }
        late = [self._late(number, outputs) for number, outputs in enumerate(code.late)]
        return "\n".join(
            [
                *(f"#define {name} {size}" for name, size in sizes.items()),
                SLICE_PRELUDE,
                self._words(),
                self.base.show(),
                self.base.carry(self.slices),
                SLICE_BORDERS,
                *late,
                self.base.publish(),
                self._update(),
            ]
        )

    def _words(self) -> str:
        """The words in lanes, some of whose bits are planes, and the counters."""
        rows = [
            f"{{1, {self.base.output_numbers[key]}, 1, {row}}}"
            for key, row in self.output_rows.items()
        ]
        for number, bit in self.slices.registers:
            if bit == 0:
                row = self.register_rows[number, bit]
                rows.append(f"{{0, {number}, {self.module.registers[number].width}, {row}}}")
        counters = [
            f"{{{number}, {self.register_rows['pending', PENDING * place]}, "
            f"{(1 << self.module.registers[number].width) - 1}u}}"
            for place, number in enumerate(self.slices.counters)
        ]
        return (
            f"static const Word words[] = {{{', '.join(rows) or '{0}'}}};\n"
            f"static const long word_count = {len(rows)};\n"
            f"static const Counter counters[] = {{{', '.join(counters) or '{0}'}}};\n"
            f"static const long counter_count = {len(counters)};\n"
        )

    def _output(self, function: SliceFunction, path: Path, word: int, node: Node) -> None:
        if self.module.widths[path][word] > 1:
            if (path, word) not in self.base.code.unread:
                function.lane_stores.append((path, word, node))
            return
        function.stores.append((self.output_rows[path, word], node))
        if (path, word) in self.base.code.shown:
            function.lane_stores.append((path, word, self.slices.graph.spread(node)))

    def _late(self, number: int, outputs: Sequence[Path]) -> str:
        function = SliceFunction(self, "now", "planes")
        for path in outputs:
            for word, node in enumerate(self.slices.outputs[path]):
                self._output(function, path, word, node)
        made = set(Graph.cone([node for path in outputs for node in self.slices.outputs[path]]))
        for place, node in enumerate(self.slices.kept):
            if node in made:
                function.stores.append((self.register_rows["kept", place], node))
        function.kept = [
            (place, node) for place, node in enumerate(self.slices.kept_lanes) if node in made
        ]
        parameters = "Context *c, const Type *t, long begin, long end"
        return function.text(f"late_{number}", parameters, "begin", "end")

    def _update(self) -> str:
        slices, function = self.slices, SliceFunction(self, "next", "next_planes")
        function.writing = True
        function.events = slices.events
        for key, node in zip(slices.registers, slices.nexts):
            function.stores.append((self.register_rows[key], node))
        for place, node in enumerate(slices.pending):
            function.stores.append((self.register_rows["pending", place], node))
        function.states = list(slices.lane_nexts.items())
        for path, words in slices.after.items():
            for word, node in enumerate(words):
                self._output(function, path, word, node)
        parameters = "Context *c, const Type *t, long begin, long end"
        first = f"if (c->turn % {FLUSHED} == 0) count(c, t, begin, end);"
        return function.text("update", parameters, "begin", "end", first if slices.counters else "")
