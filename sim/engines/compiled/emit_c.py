"""Translates the intermediate representation to C with vectors of 32-bit lanes.

A lane is a cell: the code handles 16 or 8 cells of a type at a time, and loops over all. A node of
width 1 is a mask, so that a multiplexer needs no comparison; wider nodes are numbers. The number of
cells and their positions are not in the code but in tables, so that networks of any size share it.

Each type is a separate program, with the functions

- `late_N`: computes the Nth set of outputs that depend on inputs, from this cycle's wires;
- `update`: computes the next state, and the next cycle's outputs that depend on state only;
- `publish`: computes the same outputs from the present state (for the first cycle).

`DRIVER`, a program that is the same for all networks, finds them in the tables and calls them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ....hdl.fabric.pins import Path
from .batches import Batches
from .emit_slices import SliceEmitter
from .ir import Node
from .lane_prelude import LANE_PRELUDE
from .lowered_module import Module
from .slices import Slices
from .statements import LANES, Statements, element_bytes
from .word_graph import Graph

__all__ = [
    "DRIVER",
    "HALF",
    "LANES",
    "STRUCTURES",
    "InputKind",
    "TypeCode",
    "TypeEmitter",
    "element_bytes",
    "emit",
    "is_large",
]

InputKind = str
"""How the lanes read an input: "strap" (a constant per lane), "same" (one wire for all),
"row" (consecutive wires), "pair" (for each `HALF` lanes, wires of two rows, each of as many from a
multiple of `HALF` on) or "any"; of sliced types also `TURNED`, `STRAIGHT` or `IN_ORDER` with the
number of terms."""

HALF = 8
"""Lanes whose wires are found together if they are a pair: half of a vector or a whole one."""

STRUCTURES = (
    f"""\
#include <stdint.h>

#ifndef LANES
#define LANES {LANES}  /* cells whose words are adjacent in the tables */
#endif
#define HALF {HALF}
"""
    """
typedef struct Context Context;
typedef struct Type Type;

struct Type {
  void (*publish)(Context *, const Type *);
  void (*update)(Context *, const Type *, long begin, long end);
  long cells;              /* padded to a multiple of LANES */
  uint32_t *state;         /* [vector][register][lane] */
  const int32_t *index;    /* [vector][input word][lane]: the wire that drives it */
  const uint32_t *straps;  /* [vector][input word][lane] */
  void *const *memories;   /* [memory][cell][row][word] */
  const uint32_t *live;    /* [cell]: all ones, or zeros for padding */
  long first_wire;         /* of [vector][output word][lane] */
  /* Only of sliced types: others have zeros. */
  void (*enter)(Context *, const Type *);
  void (*leave)(Context *, const Type *);
  long block;              /* cells that are computed together */
  long first_plane;        /* of [block][plane][word] */
  /* [block][input][term][which word of all planes, by how many bits it is rotated or which of its
     bits are taken, which bits they become][word] */
  const uint64_t *terms;
  const uint64_t *strap_planes; /* [block][bit of a strap][word] */
  uint32_t *kept;          /* [vector][number][lane]: from late outputs to the update */
};

typedef struct {
  void (*late)(Context *, const Type *, long begin, long end);
  const Type *type;
  long begin, end;
  long waits;              /* whether it follows a barrier, if there are several threads */
  long shared;             /* whether its cells are divided among them */
} Task;

struct Context {
  uint32_t *now, *next;    /* wires of this cycle and of the next */
  const Type *types;
  long type_count;
  const Task *tasks;       /* late outputs in order, to be evaluated in each cycle */
  long task_count;
  const Type *event_type;
  long event, event_cell;
  uint64_t *planes, *next_planes; /* single bits of sliced types, of this cycle and the next */
  unsigned long turn;      /* cycles that were done */
};
"""
)
"""What the programs of all types, and the driver, declare in the same way."""

_PRELUDE = f"{STRUCTURES}\n{LANE_PRELUDE}"

DRIVER = (
    STRUCTURES
    + """
static void evaluate(Context *c) {
  for (const Task *t = c->tasks; t < c->tasks + c->task_count; t++)
    t->late(c, t->type, t->begin, t->end);
}

/* Sliced types have planes while the clock runs, and lanes otherwise. */
static void enter(Context *c) {
  for (const Type *t = c->types; t < c->types + c->type_count; t++)
    if (t->enter) t->enter(c, t);
}

static void leave(Context *c) {
  for (const Type *t = c->types; t < c->types + c->type_count; t++)
    if (t->leave) t->leave(c, t);
}

static void swap(Context *c) {
  uint32_t *wires = c->now;
  c->now = c->next;
  c->next = wires;
  uint64_t *planes = c->planes;
  c->planes = c->next_planes;
  c->next_planes = planes;
  c->turn++;
}

void settle(Context *c) {
  enter(c);
  evaluate(c);
  leave(c);
}

void publish(Context *c) {
  for (const Type *t = c->types; t < c->types + c->type_count; t++) t->publish(c, t);
}

/* Returns how many cycles were done; fewer than asked for after an event. */
long run(Context *c, long cycles) {
  long n = 0;
  enter(c);
  for (; n < cycles; n++) {
    evaluate(c);
    for (const Type *t = c->types; t < c->types + c->type_count; t++) t->update(c, t, 0, t->cells);
    if (c->event >= 0) break;
    swap(c);
  }
  leave(c);
  return n;
}
"""
)
"""The C program that runs any network, given the functions of its types."""


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
    slices : Slices, optional
        The module in planes and lanes.
    shown : frozenset[tuple[Path, int]]
        Port and word of the outputs that are planes, and are stored in lanes as well.
    unread : frozenset[tuple[Path, int]]
        Port and word of the outputs in lanes of a sliced type that no cell reads: they depend on
        registers only, or have twins that are read. They are stored when the clock stops.
    lanes : int
        Cells whose words are adjacent in the tables: `LANES`, or 1 if there is one cell only.
    """

    module: Module
    inputs: tuple[tuple[Path, int], ...]
    outputs: tuple[tuple[Path, int], ...]
    kinds: tuple[InputKind, ...]
    late: tuple[tuple[Path, ...], ...]
    slices: Slices | None = None
    shown: frozenset[tuple[Path, int]] = frozenset()
    unread: frozenset[tuple[Path, int]] = frozenset()
    lanes: int = LANES

    @property
    def prelude(self) -> str:
        """What its functions need."""
        return _PRELUDE if self.lanes == LANES else f"#define LANES {self.lanes}\n{_PRELUDE}"


@lru_cache(maxsize=256)
def emit(code: TypeCode) -> str:
    """The C program of a cell type."""
    emitter = TypeEmitter(code)
    if code.slices is not None:
        return "\n".join([_PRELUDE, SliceEmitter(emitter, code.slices).source()])
    late = [emitter.late(number, outputs) for number, outputs in enumerate(code.late)]
    return emitter.program([*late, emitter.publish(), emitter.update()])


STRAIGHT = 10_000
"""Most operations of a module that is compiled as a statement for each."""


def is_large(module: Module) -> bool:
    """Whether a module has more operations than that."""
    words = (node for words in module.outputs.values() for node in words)
    nexts = (register.next for register in module.registers)
    return len(Graph.cone([*words, *nexts])) > STRAIGHT


class TypeEmitter:
    """Writes the functions of a cell type.

    Attributes
    ----------
    input_numbers, output_numbers : dict[tuple[Path, int], int]
        The row of each word of the inputs and outputs in the type's tables.
    large : bool
        Whether its operations are tables (`Batches`), and not a statement each.
    """

    def __init__(self, code: TypeCode) -> None:
        self.code = code
        self.module = code.module
        self.input_numbers = {key: row for row, key in enumerate(code.inputs)}
        self.output_numbers = {key: row for row, key in enumerate(code.outputs)}
        self.early = [path for path, sources in self.module.depends.items() if not sources]
        self.large = code.lanes == LANES and is_large(self.module)
        self.bodies: list[Statements] = []

    def _body(self, wires: str) -> Statements:
        self.bodies.append(Batches(self, wires) if self.large else Statements(self, wires))
        return self.bodies[-1]

    def program(self, functions: Sequence[str]) -> str:
        """The program of some of its functions."""
        tables = []
        if self.large:
            tables.append(Batches.prelude([b for b in self.bodies if isinstance(b, Batches)]))
        return "\n".join([self.code.prelude, *tables, *functions])

    def late(self, number: int, outputs: Sequence[Path], wires: str = "now") -> str:
        body = self._body(wires)
        for path in outputs:
            for word, node in enumerate(self.module.outputs[path]):
                body.output(path, word, node)
        parameters = "Context *c, const Type *t, long begin, long end"
        return body.function(f"late_{number}", parameters, "begin", "end")

    def publish(self) -> str:
        body = self._body("now")
        for path in self.early:
            for word, node in enumerate(self.module.outputs[path]):
                body.output(path, word, node)
        return body.function("publish", "Context *c, const Type *t", "0", "t->cells")

    def show(self) -> str:
        """The function that stores the outputs of a sliced type that no cell reads."""
        body = self._body("now")
        for path, word in sorted(self.code.unread, key=str):
            if path in self.early:
                body.output(path, word, self.module.outputs[path][word])
            else:
                body.same_output(path, self.module.twins[path], word)
        return body.function("show", "Context *c, const Type *t", "0", "t->cells")

    def carry(self, slices: Slices) -> str:
        """The function that computes the registers that a sliced type has besides."""
        body = self._body("now")
        for number, node in enumerate(slices.carried):
            place = LANES * slices.place_of(number)
            body.lines.append(f"store(t->kept + AT(KEPT) + {place}, {body.number(node)});")
        return body.function("carry", "Context *c, const Type *t", "0", "t->cells")

    def update(self) -> str:
        module, body = self.module, self._body("next")
        for number, event in enumerate(module.events):
            body.event(number, event.hit)
        outputs = [
            (path, word, node)
            for path in self.early
            for word, node in enumerate(module.outputs[path])
        ]
        after = module.graph.copy((node for *_, node in outputs), self._advanced)
        writes = [(number, w) for number, m in enumerate(module.memories) for w in m.writes]
        written = [node for _, write in writes for node in write.nodes]
        moving = [each for each in enumerate(module.registers) if not each[1].holds(each[0])]
        cone = Graph.cone([*(register.next for _, register in moving), *written, *after])
        # All reads of the old rows are done: write, then read for the next cycle's outputs.
        body.need(*(node for node in cone if node.op == "read" and not node.attr[2]), *written)
        for number, write in writes:
            body.write(number, write)
        # A register's next value is stored at once, so that fewer values are kept; its old one may
        # be needed later.
        old = {node.attr: node for node in cone if node.op == "register"}
        for number, register in moving:
            if number in old:
                body.need(old[number])
            if register.next is not old.get(number):
                body.state(number, register)
        for (path, word, _), node in zip(outputs, after):
            body.output(path, word, node)
        parameters = "Context *c, const Type *t, long begin, long end"
        return body.function("update", parameters, "begin", "end")

    def _advanced(self, node: Node, args: Sequence[Node]) -> Node | None:
        """The node that has in this cycle the value that a node has in the next one."""
        if node.op == "register":
            return self.module.registers[node.attr].next
        if node.op == "read":
            memory, word, _ = node.attr
            return self.module.graph.read(memory, word, node.width, args[0], after=True)
        return None
