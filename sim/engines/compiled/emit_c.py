"""Translates the intermediate representation to C with vectors of eight 32-bit lanes.

A lane is a cell: the code handles eight cells of a type at a time, and loops over all. A node of
width 1 is a mask, all ones or all zeros, so that a multiplexer needs no comparison; wider nodes are
numbers. The number of cells and their positions are not in the code but in tables, so that networks
of any size share it.

Each type is a separate program, with the functions

- `late_N`: computes the Nth set of outputs that depend on inputs, from this cycle's wires;
- `update`: computes the next state, and the next cycle's outputs that depend on state only;
- `publish`: computes the same outputs from the present state (for the first cycle).

`DRIVER`, a program that is the same for all networks, finds them in the tables and calls them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ....hdl.core.fabric import Path
from .ir import Graph, Module, Node, Register, Write

__all__ = ["DRIVER", "LANES", "InputKind", "TypeCode", "element_bytes", "emit"]

LANES = 8

InputKind = str
"""How the lanes read an input: "strap" (a constant per lane), "same" (one wire for all eight),
"row" (eight consecutive wires) or "any"."""

_TABLES = """\
#include <stdint.h>

typedef struct Context Context;
typedef struct Type Type;

struct Type {
  void (*publish)(Context *, const Type *);
  void (*update)(Context *, const Type *);
  long cells;              /* padded to a multiple of LANES */
  uint32_t *state;         /* [vector][register][lane] */
  const int32_t *index;    /* [vector][input word][lane]: the wire that drives it */
  const uint32_t *straps;  /* [vector][input word][lane] */
  void *const *memories;   /* [memory][cell][row][word] */
  const uint32_t *live;    /* [cell]: all ones, or zeros for padding */
  long first_wire;         /* of [vector][output word][lane] */
};

typedef struct {
  void (*late)(Context *, const Type *, long begin, long end);
  const Type *type;
  long begin, end;
} Task;

struct Context {
  uint32_t *now, *next;    /* wires of this cycle and of the next */
  const Type *types;
  long type_count;
  const Task *tasks;       /* late outputs in order, to be evaluated in each cycle */
  long task_count;
  const Type *event_type;
  long event, event_cell;
};
"""

_PRELUDE = (
    _TABLES
    + """\

typedef uint32_t V __attribute__((vector_size(32)));
typedef int32_t S __attribute__((vector_size(32)));
typedef uint32_t U __attribute__((vector_size(32), aligned(4)));
typedef int32_t I __attribute__((vector_size(32), aligned(4)));
typedef long long L __attribute__((vector_size(32)));
#define LANES 8
#define INLINE static inline __attribute__((always_inline))

INLINE V splat(uint32_t x) { return (V){x, x, x, x, x, x, x, x}; }
INLINE V load(const uint32_t *p) { return *(const U *)p; }
INLINE void store(uint32_t *p, V x) { *(U *)p = x; }
INLINE V mux(V c, V a, V b) { return b ^ ((a ^ b) & c); }
INLINE V ltu(V a, V b) { return (V)(a < b); }
INLINE V lts(V a, V b) { return (V)((S)a < (S)b); }
INLINE int any(V x) {
#ifdef __AVX2__
  return !__builtin_ia32_ptestz256((L)x, (L)x);
#else
  uint32_t r = 0;
  for (int l = 0; l < LANES; l++) r |= x[l];
  return r != 0;
#endif
}
INLINE V gather(const uint32_t *wires, const int32_t *index) {
#if defined __AVX2__ && defined __clang__
  return (V)__builtin_ia32_gatherd_d256((S){0}, (const int *)wires, *(const I *)index, ~(S){0}, 4);
#elif defined __AVX2__
  return (V)__builtin_ia32_gathersiv8si((S){0}, (const int *)wires, *(const I *)index, ~(S){0}, 4);
#else
  V x;
  for (int l = 0; l < LANES; l++) x[l] = wires[index[l]];
  return x;
#endif
}
INLINE void fail(Context *c, const Type *t, long event, long i, V hit) {
  hit &= load(t->live + i);
  if (!any(hit) || c->event >= 0) return;
  for (int l = 0; l < LANES; l++)
    if (hit[l]) { c->event_type = t; c->event = event; c->event_cell = i + l; return; }
}
/* A word of the quotient or remainder of two numbers of `n` words each. */
static uint32_t divide(const uint32_t *a, const uint32_t *b, int n, int remainder, int word) {
  uint32_t q[n], r[n];
  int zero = 1;
  for (int i = 0; i < n; i++) {
    q[i] = r[i] = 0;
    zero &= b[i] == 0;
  }
  if (zero) return 0;
  for (int bit = 32 * n - 1; bit >= 0; bit--) {
    uint32_t carry = a[bit / 32] >> bit % 32 & 1;
    uint32_t over = 0;
    for (int i = 0; i < n; i++) {
      over = r[i] >> 31;
      r[i] = r[i] << 1 | carry;
      carry = over;
    }
    int less = 0;
    if (!over)
      for (int i = 0; i < n; i++) less = r[i] < b[i] || (r[i] == b[i] && less);
    if (less) continue;
    uint32_t borrow = 0;
    for (int i = 0; i < n; i++) {
      uint64_t d = (uint64_t)r[i] - b[i] - borrow;
      r[i] = (uint32_t)d;
      borrow = d >> 63;
    }
    q[bit / 32] |= 1u << bit % 32;
  }
  return remainder ? r[word] : q[word];
}
"""
)

DRIVER = (
    _TABLES
    + """
static void evaluate(Context *c) {
  for (const Task *t = c->tasks; t < c->tasks + c->task_count; t++)
    t->late(c, t->type, t->begin, t->end);
}

void settle(Context *c) { evaluate(c); }

void publish(Context *c) {
  for (const Type *t = c->types; t < c->types + c->type_count; t++) t->publish(c, t);
}

/* Returns how many cycles were done; fewer than asked for after an event. */
long run(Context *c, long cycles) {
  for (long n = 0; n < cycles; n++) {
    evaluate(c);
    for (const Type *t = c->types; t < c->types + c->type_count; t++) t->update(c, t);
    if (c->event >= 0) return n;
    uint32_t *wires = c->now;
    c->now = c->next;
    c->next = wires;
  }
  return cycles;
}
"""
)
"""The C program that runs any network, given the functions of its types."""


def element_bytes(width: int) -> int:
    """Bytes of a memory's element: a narrow row is one element, a wider one several words."""
    return 1 if width <= 8 else 2 if width <= 16 else 4


@dataclass(frozen=True)
class TypeCode:
    """The facts about a cell type that the emitter needs.

    Attributes
    ----------
    module : Module
    inputs : tuple[tuple[Path, int], ...]
        Port and word of each row of the type's input tables.
    outputs : tuple[tuple[Path, int], ...]
        Port and word of each entry of its table of wires.
    kinds : tuple[InputKind, ...]
        How each input is read.
    late : tuple[tuple[Path, ...], ...]
        Sets of outputs that depend on inputs; each becomes a function.
    """

    module: Module
    inputs: tuple[tuple[Path, int], ...]
    outputs: tuple[tuple[Path, int], ...]
    kinds: tuple[InputKind, ...]
    late: tuple[tuple[Path, ...], ...]


@lru_cache(maxsize=256)
def emit(code: TypeCode) -> str:
    """The C program of a cell type."""
    emitter = _TypeEmitter(code)
    late = [emitter.late(number, outputs) for number, outputs in enumerate(code.late)]
    return "\n".join([_PRELUDE, *late, emitter.publish(), emitter.update()])


class _TypeEmitter:
    def __init__(self, code: TypeCode) -> None:
        self.code = code
        self.module = code.module
        self.input_numbers = {key: row for row, key in enumerate(code.inputs)}
        self.output_numbers = {key: row for row, key in enumerate(code.outputs)}
        self.early = [path for path, sources in self.module.depends.items() if not sources]

    def late(self, number: int, outputs: Sequence[Path]) -> str:
        body = _Body(self)
        for path in outputs:
            for word, node in enumerate(self.module.outputs[path]):
                body.output("now", path, word, node)
        parameters = "Context *c, const Type *t, long begin, long end"
        return body.function(f"late_{number}", parameters, "begin", "end")

    def publish(self) -> str:
        body = _Body(self)
        for path in self.early:
            for word, node in enumerate(self.module.outputs[path]):
                body.output("now", path, word, node)
        return body.function("publish", "Context *c, const Type *t", "0", "t->cells")

    def update(self) -> str:
        module, body = self.module, _Body(self)
        for number, event in enumerate(module.events):
            hit = body.mask(event.hit)
            body.lines.append(f"fail(c, t, {number}, i, {hit});")
        for register in module.registers:
            body.need(register.next)
        for memory in module.memories:
            for write in memory.writes:
                body.need(write.address, write.enable, *write.data, *(write.mask or ()))
        # All reads of the old rows are done: write, then read for the next cycle's outputs.
        for number, memory in enumerate(module.memories):
            for write in memory.writes:
                body.write(number, write)
        nodes = [
            (path, word, node)
            for path in self.early
            for word, node in enumerate(module.outputs[path])
        ]
        after = module.graph.copy((node for _, _, node in nodes), self._advanced)
        for (path, word, _), node in zip(nodes, after):
            body.output("next", path, word, node)
        for number, register in enumerate(module.registers):
            old = module.graph.register(number, register.width)
            if register.next is not old:
                body.lines.append(
                    f"store(state + {body.at(number, len(module.registers))}, "
                    f"{body.as_width(register)});"
                )
        return body.function("update", "Context *c, const Type *t", "0", "t->cells")

    def _advanced(self, node: Node, args: Sequence[Node]) -> Node | None:
        """The node that has in this cycle the value that a node has in the next one."""
        if node.op == "register":
            return self.module.registers[node.attr].next
        if node.op == "read":
            memory, word, _ = node.attr
            return self.module.graph.read(memory, word, node.width, args[0], after=True)
        return None


_LONGEST = 300
"""Most statements of a C function."""

_POINTERS = (
    "  const uint32_t *now = c->now;\n  uint32_t *next = c->next, *state = t->state;\n"
    "  (void)now; (void)next; (void)state;\n"
)

_NODE = re.compile(r"\bn\d+\b")


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _loop(head: str, begin: str, end: str, lines: Sequence[str]) -> str:
    """A function that does the same for each vector of cells."""
    return (
        f"{head} {{\n{_POINTERS}"
        f"  for (long i = {begin}; i < {end}; i += LANES) {{\n{_indented(lines)}\n  }}\n}}\n"
    )


def _divided(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """Parts of a list of statements, each with those that load and store what goes from part to
    part; and the number of places for this."""
    parts = [list(lines[at : at + _LONGEST]) for at in range(0, len(lines), _LONGEST)]
    named = [dict.fromkeys(_NODE.findall("\n".join(part))) for part in parts]
    last = {name: number for number, names in enumerate(named) for name in names}
    places: dict[str, int] = {}
    free: list[int] = []
    count = 0
    for number, (part, names) in enumerate(zip(parts, named)):
        loads = [f"V {name} = x[{places[name]}];" for name in names if name in places]
        free += [places.pop(name) for name in names if name in places and last[name] == number]
        stores = []
        for name in names:
            if last[name] > number and name not in places:
                places[name] = free.pop() if free else count
                count = max(count, places[name] + 1)
                stores.append(f"x[{places[name]}] = {name};")
        part[:] = [*loads, *part, *stores]
    return parts, count


class _Body:
    """The statements of one function's loop."""

    def __init__(self, emitter: _TypeEmitter) -> None:
        self.emitter = emitter
        self.lines: list[str] = []
        self._names: dict[Node, str] = {}

    def function(self, name: str, parameters: str, begin: str, end: str) -> str:
        """The function: all statements for each vector of cells.

        A compiler takes more than twice the time for a function of twice the length, so a long one
        is divided into parts. They hand on in `x` what later parts need.
        """
        if len(self.lines) <= _LONGEST:
            return _loop(f"void {name}({parameters})", begin, end, self.lines)
        parts, slots = _divided(self.lines)
        arguments = "Context *c, const Type *t, long i, V *x"
        # Called once in a run.
        attributes = 'noinline, optimize("O0")' if name == "publish" else "noinline"
        inner = [
            f"static __attribute__(({attributes})) void {name}_part_{number}({arguments}) {{\n"
            f"{_POINTERS}  (void)x;\n{_indented(part)}\n}}\n"
            for number, part in enumerate(parts)
        ]
        calls = [f"{name}_part_{number}(c, t, i, x);" for number in range(len(parts))]
        head = f"void {name}({parameters})"
        return "\n".join([*inner, _loop(head, begin, end, [f"V x[{slots or 1}];", *calls])])

    @staticmethod
    def at(row: int, rows: int) -> str:
        """Index of the vector of cell i, for a row of an array [vector][row][lane]."""
        return f"i * {rows} + {LANES * row}"

    def need(self, *nodes: Node) -> None:
        """Emit code for nodes that have not been computed yet."""
        for node in Graph.cone(nodes, known=self._names):
            self._names[node] = self._define(node)

    def output(self, wires: str, path: Path, word: int, node: Node) -> None:
        width = self._output_width(path, word)
        value = self._of_width(node, width)
        number = self.emitter.output_numbers[path, word]
        target = wires if wires == "next" else "c->now"
        place = self.at(number, len(self.emitter.code.outputs))
        self.lines.append(f"store({target} + t->first_wire + {place}, {value});")

    def _output_width(self, path: Path, word: int) -> int:
        return self.emitter.code.module.widths[path][word]

    def as_width(self, register: Register) -> str:
        return self._of_width(register.next, register.width)

    def _of_width(self, node: Node, width: int) -> str:
        """A node as a mask if `width` is 1, else as a number."""
        return self.mask(node) if width == 1 else self.number(node)

    def mask(self, node: Node) -> str:
        """A node of width 1 as a mask."""
        if node.is_const:
            return "splat(-1)" if node.attr else "splat(0)"
        self.need(node)
        return self._names[node]

    def number(self, node: Node) -> str:
        """A node as a number."""
        if node.is_const:
            return f"splat({node.attr}u)"
        self.need(node)
        return f"({self._names[node]} & 1)" if node.width == 1 else self._names[node]

    def _define(self, node: Node) -> str:
        if node.is_const:
            return ""
        name, first = f"n{node.serial}", len(self.lines)
        self.lines.append(f"V {name} = {self._expression(node, name)};")
        self._join(first)
        return name

    def _join(self, first: int) -> None:
        """Make one statement of the last lines, so that they stay in one part of the function."""
        self.lines[first:] = ["\n".join(self.lines[first:])]

    def _expression(self, node: Node, name: str) -> str:
        args, width = node.args, node.width
        match node.op:
            case "input":
                return self._input(node)
            case "register":
                return f"load(state + {self.at(node.attr, len(self.emitter.module.registers))})"
            case "read":
                return self._read(node, name)
            case "and" | "or" | "xor":
                sign = {"and": "&", "or": "|", "xor": "^"}[node.op]
                form = self.mask if width == 1 else self.number
                return f" {sign} ".join(form(arg) for arg in args)
            case "eq":
                form = self.mask if all(arg.width == 1 for arg in args) else self.number
                return f"(V)({form(args[0])} == {form(args[1])})"
            case "ult":
                compare = "lts" if all(arg.width < 32 for arg in args) else "ltu"
                return f"{compare}({self.number(args[0])}, {self.number(args[1])})"
            case "mux":
                form = self.mask if width == 1 else self.number
                return f"mux({self.mask(args[0])}, {form(args[1])}, {form(args[2])})"
            case "add":
                text = f"{self.number(args[0])} + {self.number(args[1])}"
                return self._cut(text, width, max(arg.width for arg in args) + 1)
            case "sub":
                return self._cut(f"{self.number(args[0])} - {self.number(args[1])}", width, 33)
            case "mul":
                text = f"{self.number(args[0])} * {self.number(args[1])}"
                return self._cut(text, width, sum(arg.width for arg in args))
            case "slice":
                source, low = self.number(args[0]), node.attr
                if width == 1:
                    return f"(V)((S)({source} << {31 - low}) >> 31)"
                moved = f"{source} >> {low}" if low else source
                return self._cut(moved, width, args[0].width - low)
            case "cat":
                parts = []
                for part, at in zip(args, node.attr):
                    if part.is_const:
                        parts.append(f"splat({part.attr << at}u)")
                    elif part.width == 1:
                        parts.append(f"({self.mask(part)} & {1 << at}u)")
                    else:
                        parts.append(f"({self.number(part)} << {at})" if at else self.number(part))
                return " | ".join(parts)
            case "divide":
                return self._divide(node, name)
        raise AssertionError(f"no code for {node}")

    @staticmethod
    def _cut(text: str, width: int, may_have: int) -> str:
        if width == 1:
            return f"-(({text}) & 1)"
        if width >= 32 or may_have <= width:
            return text
        return f"({text}) & {(1 << width) - 1}u"

    def _input(self, node: Node) -> str:
        row = self.emitter.input_numbers[node.attr]
        place = self.at(row, len(self.emitter.code.inputs))
        match self.emitter.code.kinds[row]:
            case "strap":
                return f"load(t->straps + {place})"
            case "same":
                return f"splat(now[t->index[{place}]])"
            case "row":
                return f"load(now + t->index[{place}])"
        return f"gather(now, t->index + {place})"

    def _rows(self, number: int) -> tuple[str, int, int]:
        """C type of a memory's elements, elements per row, and number of rows."""
        memory = self.emitter.module.memories[number]
        type_ = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t"}[element_bytes(memory.width)]
        return type_, -(-memory.width // 32), memory.rows

    def _read(self, node: Node, name: str) -> str:
        number, word, _ = node.attr
        type_, words, rows = self._rows(number)
        address = node.args[0]
        row = f"a_{name}[l]"
        place = f"((i + l) * {rows}L + {row}) * {words} + {word}"
        value = f"m_{name}[{place}]"
        if rows < 1 << address.width:
            value = f"({row} < {rows}u ? {value} : 0)"
        self.lines.append(
            f"V a_{name} = {self.number(address)}, r_{name}; "
            f"{{ const {type_} *m_{name} = t->memories[{number}]; "
            f"for (int l = 0; l < LANES; l++) r_{name}[l] = {value}; }}"
        )
        return f"-r_{name}" if node.width == 1 else f"r_{name}"

    def write(self, number: int, write: Write) -> None:
        type_, words, rows = self._rows(number)
        first = len(self.lines)
        self.lines.append(f"{{ V e = {self.mask(write.enable)}; if (any(e)) {{")
        self.lines.append(
            f"  {type_} *m = t->memories[{number}]; V a = {self.number(write.address)};"
        )
        values = [self.number(node) for node in write.data]
        masks = [self.number(node) for node in write.mask or ()]
        for word, value in enumerate(values):
            self.lines.append(f"  V d{word} = {value};")
        for word, value in enumerate(masks):
            self.lines.append(f"  V k{word} = {value};")
        inside = f"e[l] && a[l] < {rows}u" if rows < 1 << write.address.width else "e[l]"
        self.lines.append(f"  for (int l = 0; l < LANES; l++) if ({inside}) {{")
        self.lines.append(f"    {type_} *row = m + ((i + l) * {rows}L + a[l]) * {words};")
        for word in range(len(values)):
            if masks:
                merged = f"(row[{word}] & ~k{word}[l]) | (d{word}[l] & k{word}[l])"
            else:
                merged = f"d{word}[l]"
            self.lines.append(f"    row[{word}] = {merged};")
        self.lines.append("  } } }")
        self._join(first)

    def _divide(self, node: Node, name: str) -> str:
        count, remainder, word = node.attr
        numbers = [self.number(arg) for arg in node.args]
        self.lines.append(f"V x_{name}[] = {{{', '.join(numbers)}}}, r_{name};")
        self.lines.append(
            f"for (int l = 0; l < LANES; l++) {{ uint32_t a[{2 * count}]; "
            f"for (int w = 0; w < {2 * count}; w++) a[w] = x_{name}[w][l]; "
            f"r_{name}[l] = divide(a, a + {count}, {count}, {int(remainder)}, {word}); }}"
        )
        return f"-r_{name}" if node.width == 1 else f"r_{name}"
