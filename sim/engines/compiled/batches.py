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

from ....hdl.fabric.pins import Path
from .ir import Node
from .lowered_module import Register, Write
from .statements import LANES, LONGEST, Statements, indented, pointers, side_by_side

if TYPE_CHECKING:
    from .emit_c import TypeEmitter

__all__ = ["Batches"]

_KINDS = {
    "constant": (2, "x[p[0]] = splat(p[1]);"),
    "constant mask": (2, "y[p[0]] = p[1] ? YES : NO;"),
    "register": (2, "x[p[0]] = load(state + p[1]);"),
    "strap": (2, "x[p[0]] = load(straps + p[1]);"),
    "same": (2, "x[p[0]] = splat(now[index[p[1]]]);"),
    "row": (2, "x[p[0]] = load(now + index[p[1]]);"),
    "pair": (2, "x[p[0]] = pair(now, index + p[1]);"),
    "any": (2, "x[p[0]] = gather(now, index + p[1]);"),
    "mask": (2, "y[p[0]] = mask(x[p[1]]);"),
    "number": (2, "x[p[0]] = where(y[p[1]], 1);"),
    "and": (3, "x[p[0]] = x[p[1]] & x[p[2]];"),
    "or": (3, "x[p[0]] = x[p[1]] | x[p[2]];"),
    "xor": (3, "x[p[0]] = x[p[1]] ^ x[p[2]];"),
    "and mask": (3, "y[p[0]] = y[p[1]] & y[p[2]];"),
    "or mask": (3, "y[p[0]] = y[p[1]] | y[p[2]];"),
    "xor mask": (3, "y[p[0]] = y[p[1]] ^ y[p[2]];"),
    "eq mask": (3, "y[p[0]] = y[p[1]] ^ y[p[2]] ^ YES;"),
    "eq": (3, "y[p[0]] = equal(x[p[1]], x[p[2]]);"),
    "lts": (3, "y[p[0]] = lts(x[p[1]], x[p[2]]);"),
    "ltu": (3, "y[p[0]] = ltu(x[p[1]], x[p[2]]);"),
    "mux": (4, "x[p[0]] = mux(y[p[1]], x[p[2]], x[p[3]]);"),
    "mux mask": (4, "y[p[0]] = either(y[p[1]], y[p[2]], y[p[3]]);"),
    "add": (4, "x[p[0]] = (x[p[1]] + x[p[2]]) & splat(p[3]);"),
    "sub": (4, "x[p[0]] = (x[p[1]] - x[p[2]]) & splat(p[3]);"),
    "mul": (4, "x[p[0]] = (x[p[1]] * x[p[2]]) & splat(p[3]);"),
    "slice": (4, "x[p[0]] = x[p[1]] >> p[2] & splat(p[3]);"),
    "bit": (3, "y[p[0]] = bit_of(x[p[1]], p[2]);"),
    "cat": (
        4,
        "V v = splat(p[3]); V *to = x + p[0]; long words = p[1], bits = p[2]; "
        "for (; words; words--, p += 2) v |= x[p[4]] << p[5]; "
        "for (; bits; bits--, p += 2) v |= where(y[p[4]], p[5]); "
        "*to = v;",
    ),
    "output": (2, "store(out + p[0], x[p[1]]);"),
    "output mask": (2, "store(out + p[0], full(y[p[1]]));"),
    "state": (2, "store(state + p[0], x[p[1]]);"),
    "state mask": (2, "store(state + p[0], full(y[p[1]]));"),
    "code": (1, "f->code[p[0]](c, t, i);"),
}
"""For each kind of operation, how many numbers a row of it has at least, and what it does: numbers
are in `x`, masks in `y`."""

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
  V *x = values;
  M *y = masks;
  __asm__("" : "+r"(x), "+r"(y)); /* else the thread's place is asked for in each loop */
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


def _kind(kind: str, width: int) -> str:
    """The kind of an operation whose values are masks if `width` is 1."""
    return f"{kind} mask" if width == 1 else kind


class Batches(Statements):
    """The operations of one function, in batches of one kind.

    The interface is that of `Statements`. Operations wait in `_pending` with their levels: one more
    than the highest level of the arguments. A statement that must follow them, such as a write to a
    memory, moves them to the program.
    """

    def __init__(self, emitter: "TypeEmitter", wires: str) -> None:
        super().__init__(emitter, wires)
        self._levels: dict[str, int] = {}
        self.places = {"x": 0, "y": 0}
        """How many numbers and masks it has."""
        self._placed: dict[tuple, str] = {}
        self._pending: list[tuple[int, str, Sequence[int] | str]] = []
        self._batches: list[tuple[str, int]] = []
        self._table: list[int] = []
        self._code: list[list[str]] = []

    @classmethod
    def prelude(cls, bodies: Sequence["Batches"]) -> str:
        """What precedes the functions, whose values need places."""
        numbers, masks = (max(1, *(body.places[kind] for body in bodies)) for kind in "xy")
        return (
            f"static _Thread_local V values[{numbers}];\n"
            f"static _Thread_local M masks[{masks}];\n{_REPLAY}"
        )

    def function(self, name: str, parameters: str, begin: str, end: str) -> str:
        self._flush()
        module = self.emitter.module
        # As arguments they would make a compiler's work ten times as long.
        arrays = "V *const x = values;", "M *const y = masks;"
        code = [
            f"static void {name}_code_{number}(Context *c, const Type *t, long i) {{\n"
            f"{indented([*arrays, *self._pointers, *lines])}\n}}\n"
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
        row = LANES * self.emitter.output_numbers[path, word]
        self._stores("output", row, node, self._output_width(path, word))

    def state(self, number: int, register: Register) -> None:
        self._stores("state", LANES * number, register.next, register.width)

    def _stores(self, kind: str, row: int, node: Node, width: int) -> None:
        place = self._number(self._value(node, width))
        self._pending.append((_LAST, _kind(kind, width), (row, place)))

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

    def _define(self, node: Node) -> str:
        if node.is_const:
            return ""
        args, width = node.args, node.width
        ones = (1 << width) - 1
        match node.op:
            case "input":
                row = self.emitter.input_numbers[node.attr]
                return self._loaded(self.emitter.code.kinds[row], LANES * row, width)
            case "register":
                return self._loaded("register", LANES * node.attr, width)
            case "and" | "or" | "xor":
                return self._place(_kind(node.op, width), [self._value(arg, width) for arg in args])
            case "eq":
                form = 1 if all(arg.width == 1 for arg in args) else 2
                return self._place(_kind("eq", form), [self._value(arg, form) for arg in args])
            case "ult":
                kind = "lts" if all(arg.width < 32 for arg in args) else "ltu"
                return self._place(kind, [self._value(arg, 2) for arg in args])
            case "mux":
                values = [self._value(arg, width) for arg in args[1:]]
                return self._place(_kind("mux", width), [self._value(args[0], 1), *values])
            case "add" | "sub" | "mul" if width > 1:
                return self._place(node.op, [self._value(arg, 2) for arg in args], ones)
            case "slice":
                source = self._value(args[0], 2)
                if width == 1:
                    return self._place("bit", [source], node.attr)
                return self._place("slice", [source], node.attr, ones)
            case "cat":
                return self._joined(node)
        return self._stated(node)

    def _joined(self, node: Node) -> str:
        constant, numbers, bits = side_by_side(node)
        parts = [(self._value(part, 2), at) for part, at in numbers]
        parts += [(self._value(part, 1), ones) for part, ones in bits.items()]
        level = max(self._levels[place] for place, _ in parts) + 1
        row = (number for place, at in parts for number in (self._number(place), at))
        return self._added("cat", (len(numbers), len(bits), constant, *row), level)

    def _stated(self, node: Node) -> str:
        """A statement for an operation that is no row of a table."""
        value = self._expression(node, f"n{node.serial}")
        places = [self._value(arg, arg.width) for arg in node.args if not arg.is_const]
        level = max((self._levels[place] for place in places), default=0) + 1
        name = self._new("y" if node.width == 1 else "x", level)
        text = " ".join([*self.lines, f"{name} = {value};"])
        self.lines.clear()
        self._pending.append((level, "code", f"{{ {text} }}"))
        return name

    def _loaded(self, kind: str, row: int, width: int) -> str:
        """What is in a row of a table."""
        name = self._place(kind, [], row)
        return self._place("mask", [name]) if width == 1 else name

    def _value(self, node: Node, width: int) -> str:
        """The name of a node's value: a mask if `width` is 1, else a number."""
        if node.is_const:
            return self._place(_kind("constant", width), [], node.attr)
        self.need(node)
        name = self._names[node]
        return self._place("number", [name]) if width > 1 and node.width == 1 else name

    @staticmethod
    def _number(name: str) -> int:
        return int(name[2:-1])

    def _place(self, kind: str, places: Sequence[str], *numbers: int) -> str:
        """The name of the result of an operation, which is added if it is new."""
        key = (kind, *places, *numbers)
        if key not in self._placed:
            level = max((self._levels[place] for place in places), default=-1) + 1
            row = (*map(self._number, places), *numbers)
            self._placed[key] = self._added(kind, row, level)
        return self._placed[key]

    def _added(self, kind: str, row: Sequence[int], level: int) -> str:
        name = self._new("y" if _KINDS[kind][1].startswith("y") else "x", level)
        self._pending.append((level, kind, (self._number(name), *row)))
        return name

    def _new(self, kind: str, level: int) -> str:
        name = f"{kind}[{self.places[kind]}]"
        self.places[kind] += 1
        self._levels[name] = level
        return name

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
