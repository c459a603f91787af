"""Large programs as tables: operations of one kind are a loop, not a statement each.

A C compiler takes a third of a millisecond for a statement, so a module of 100,000 operations would
take it half a minute. Here the operations are data. Each value has a place in an array, an
operation is a row of numbers (where its result goes, and what its arguments are), and one loop
computes all operations of a kind whose arguments are known. What is rare, or has a form of its own
(accesses to memories, division, assertions), remains statements.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ....hdl.fabric.fabric import Path
from .ir import Node, Register, Write
from .statements import LANES, LONGEST, Statements, indented, pointers

if TYPE_CHECKING:
    from .emit_c import TypeEmitter

__all__ = ["Batches"]

_KINDS = {
    "constant": (2, "x[p[0]] = splat(p[1]);"),
    "register": (2, "x[p[0]] = load(state + p[1]);"),
    "strap": (2, "x[p[0]] = load(straps + p[1]);"),
    "same": (2, "x[p[0]] = splat(now[index[p[1]]]);"),
    "row": (2, "x[p[0]] = load(now + index[p[1]]);"),
    "pair": (2, "x[p[0]] = pair(now, index + p[1]);"),
    "any": (2, "x[p[0]] = gather(now, index + p[1]);"),
    "and": (3, "x[p[0]] = x[p[1]] & x[p[2]];"),
    "or": (3, "x[p[0]] = x[p[1]] | x[p[2]];"),
    "xor": (3, "x[p[0]] = x[p[1]] ^ x[p[2]];"),
    "eq": (3, "x[p[0]] = full(equal(x[p[1]], x[p[2]]));"),
    "lts": (3, "x[p[0]] = full(lts(x[p[1]], x[p[2]]));"),
    "ltu": (3, "x[p[0]] = full(ltu(x[p[1]], x[p[2]]));"),
    "mux": (4, "x[p[0]] = mux(mask(x[p[1]]), x[p[2]], x[p[3]]);"),
    "add": (4, "x[p[0]] = (x[p[1]] + x[p[2]]) & splat(p[3]);"),
    "sub": (4, "x[p[0]] = (x[p[1]] - x[p[2]]) & splat(p[3]);"),
    "mul": (4, "x[p[0]] = (x[p[1]] * x[p[2]]) & splat(p[3]);"),
    "slice": (4, "x[p[0]] = x[p[1]] >> p[2] & splat(p[3]);"),
    "bit": (3, "x[p[0]] = (V)((S)(x[p[1]] << p[2]) >> 31);"),
    "cat": (
        3,
        "V v = splat(p[2]); V *to = x + p[0]; "
        "for (long parts = p[1]; parts; parts--, p += 3) v |= x[p[3]] << p[4] & splat(p[5]); "
        "*to = v;",
    ),
    "output": (2, "store(out + p[0], x[p[1]]);"),
    "state": (2, "store(state + p[0], x[p[1]]);"),
    "code": (1, "f->code[p[0]](c, t, i);"),
}
"""For each kind of operation, how many numbers a row of it has at least, and what it does."""

_ORDER = {kind: number for number, kind in enumerate(_KINDS)}

_LAST = 1 << 30
"""The level of what is stored when all values are known."""

_REPLAY = (
    """\
typedef struct { uint32_t kind, count; } Batch;
typedef struct {
  const Batch *batches, *end;
  const uint32_t *rows;
  void (*const *code)(Context *, const Type *, long);
  long registers, inputs, outputs, next;
} Function;

static void replay(Context *c, const Type *t, long i, const Function *f) {
  V *const x = values;
"""
    + indented(pointers("f->registers", "f->inputs", "f->outputs", "(f->next ? c->next : c->now)"))
    + """
  const uint32_t *p = f->rows;
  for (const Batch *b = f->batches; b < f->end; b++) {
    long n = b->count;
    switch (b->kind) {
"""
    + "".join(
        f"      case {_ORDER[kind]}: for (; n; n--, p += {length}) {{ {statement} }} break;\n"
        for kind, (length, statement) in _KINDS.items()
    )
    + "    }\n  }\n}\n"
)


class Batches(Statements):
    """The operations of one function, in batches of one kind.

    The interface is that of `Statements`. Operations wait in `_pending` with their levels: one more
    than the highest level of the arguments. A statement that must follow them, such as a write to a
    memory, moves them to the program.
    """

    def __init__(self, emitter: "TypeEmitter", wires: str) -> None:
        super().__init__(emitter, wires)
        self._levels: list[int] = []
        self._placed: dict[tuple, int] = {}
        self._pending: list[tuple[int, str, Sequence[int] | str]] = []
        self._batches: list[tuple[str, int]] = []
        self._table: list[int] = []
        self._code: list[list[str]] = []

    @classmethod
    def prelude(cls, places: int) -> str:
        """What precedes the functions, whose values need so many places."""
        return f"static _Thread_local V values[{places}];\n{_REPLAY}"

    @property
    def places(self) -> int:
        """How many values it has."""
        return len(self._levels)

    def function(self, name: str, parameters: str, begin: str, end: str) -> str:
        self._flush()
        module = self.emitter.module
        code = [
            f"static void {name}_code_{number}(Context *c, const Type *t, long i) {{\n"
            f"  V *const x = values;\n{indented([*self._pointers, *lines])}\n}}\n"
            for number, lines in enumerate(self._code)
        ]
        names = ", ".join(f"{name}_code_{number}" for number in range(len(code)))
        batches = ", ".join(f"{{{_ORDER[kind]}, {count}}}" for kind, count in self._batches)
        rows = ", ".join(map(str, self._table))
        tables = (
            f"static const uint32_t {name}_rows[] = {{{rows or 0}}};\n"
            f"static const Batch {name}_batches[] = {{{batches or '{0, 0}'}}};\n"
            f"static void (*const {name}_code[])(Context *, const Type *, long) = "
            f"{{{names or 0}}};\n"
            f"static const Function {name}_function = {{{name}_batches, "
            f"{name}_batches + {len(self._batches)}, {name}_rows, {name}_code, "
            f"{len(module.registers)}, {len(self.emitter.code.inputs)}, "
            f"{len(self.emitter.code.outputs)}, {int(self.wires == 'next')}}};\n"
        )
        call = f"replay(c, t, i, &{name}_function);"
        whole = self._loop(f"{name}({parameters})", begin, end, [call])
        return "\n".join([*code, tables, whole])

    # What follows all operations before it

    def output(self, path: Path, word: int, node: Node) -> None:
        place = self._value(node, self._output_width(path, word))
        row = self.emitter.output_numbers[path, word]
        self._pending.append((_LAST, "output", (LANES * row, place)))

    def state(self, number: int, register: Register) -> None:
        place = self._value(register.next, register.width)
        self._pending.append((_LAST, "state", (LANES * number, place)))

    def event(self, number: int, hit: Node) -> None:
        super().event(number, hit)
        self._follow()

    def write(self, number: int, write: Write) -> None:
        super().write(number, write)
        self._follow()

    def _follow(self) -> None:
        """Let the statements in `lines` follow the operations so far."""
        self._flush()
        self._batch_of_code(self.lines)
        self.lines.clear()

    # Operations

    def mask(self, node: Node) -> str:
        return super().mask(node) if node.is_const else f"mask({super().mask(node)})"

    def _define(self, node: Node) -> str:
        if node.is_const:
            return ""
        args, width = node.args, node.width
        ones = (1 << width) - 1
        match node.op:
            case "input":
                row = self.emitter.input_numbers[node.attr]
                return self._place(self.emitter.code.kinds[row], LANES * row)
            case "register":
                return self._place("register", LANES * node.attr)
            case "and" | "or" | "xor":
                return self._place(node.op, places=[self._value(arg, width) for arg in args])
            case "eq":
                form = 1 if all(arg.width == 1 for arg in args) else 2
                return self._place("eq", places=[self._value(arg, form) for arg in args])
            case "ult":
                kind = "lts" if all(arg.width < 32 for arg in args) else "ltu"
                return self._place(kind, places=[self._value(arg, 2) for arg in args])
            case "mux":
                values = [self._value(arg, width) for arg in args[1:]]
                return self._place("mux", places=[self._value(args[0], 1), *values])
            case "add" | "sub" | "mul" if width > 1:
                return self._place(node.op, ones, places=[self._value(arg, 2) for arg in args])
            case "slice":
                source = self._value(args[0], 2)
                if width == 1:
                    return self._place("bit", 31 - node.attr, places=[source])
                return self._place("slice", node.attr, ones, places=[source])
            case "cat":
                return self._joined(node)
        return self._stated(node)

    def _joined(self, node: Node) -> str:
        parts: list[tuple[int, int, int]] = []
        constant = 0
        for part, at in zip(node.args, node.attr):
            if part.is_const:
                constant |= part.attr << at
            elif part.width == 1:
                parts.append((self._value(part, 1), 0, 1 << at))
            else:
                parts.append((self._value(part, 2), at, 0xFFFFFFFF))
        level = max(self._levels[place] for place, _, _ in parts) + 1
        row = (len(parts), constant, *(number for part in parts for number in part))
        return self._added("cat", row, level)

    def _stated(self, node: Node) -> str:
        """A statement for an operation that is no row of a table."""
        name = f"n{node.serial}"
        value = self._expression(node, name)
        if node.width == 1:
            value = f"full({value})"
        places = [self._value(arg, arg.width) for arg in node.args if not arg.is_const]
        level = max((self._levels[place] for place in places), default=0) + 1
        place = len(self._levels)
        self._levels.append(level)
        text = " ".join([*self.lines, f"x[{place}] = {value};"])
        self.lines.clear()
        self._pending.append((level, "code", f"{{ {text} }}"))
        return f"x[{place}]"

    def _value(self, node: Node, width: int) -> int:
        """The place of a node's value: a mask if `width` is 1, else a number."""
        if node.is_const:
            value = -node.attr & 0xFFFFFFFF if width == 1 else node.attr
            return self._number(self._place("constant", value))
        self.need(node)
        place = self._number(self._names[node])
        if node.width > 1 or width == 1:
            return place
        return self._number(self._place("and", places=[place, self._value(self._one, 2)]))

    @property
    def _one(self) -> Node:
        return self.emitter.module.graph.one

    @staticmethod
    def _number(name: str) -> int:
        return int(name[2:-1])

    def _place(self, kind: str, *numbers: int, places: Sequence[int] = ()) -> str:
        """The name of the result of an operation, which is added if it is new."""
        key = (kind, *places, *numbers)
        place = self._placed.get(key)
        if place is None:
            self._placed[key] = len(self._levels)
            level = max((self._levels[place] for place in places), default=-1) + 1
            return self._added(kind, (*places, *numbers), level)
        return f"x[{place}]"

    def _added(self, kind: str, row: Sequence[int], level: int) -> str:
        place = len(self._levels)
        self._levels.append(level)
        self._pending.append((level, kind, (place, *row)))
        return f"x[{place}]"

    def _flush(self) -> None:
        """Move the pending operations to the program, by level and kind."""
        self._pending.sort(key=lambda each: (each[0], _ORDER[each[1]]))
        for (_, kind), group in groupby(self._pending, lambda each: each[:2]):
            rows = [row for _, _, row in group]
            if kind == "code":
                self._batch_of_code([row for row in rows if isinstance(row, str)])
                continue
            self._batches.append((kind, len(rows)))
            for row in rows:
                self._table += [int(number) for number in row]
        self._pending.clear()

    def _batch_of_code(self, lines: Sequence[str]) -> None:
        for at in range(0, len(lines), LONGEST):
            self._batches.append(("code", 1))
            self._table.append(len(self._code))
            self._code.append(list(lines[at : at + LONGEST]))
