"""Translates a sliced module to C: planes in words of 64 cells, the rest in vectors of lanes.

A function computes a block of cells at a time, in steps: planes, lanes, planes and so on. Each step
needs what was computed before it: lanes that are to be planes are collected in a step of lanes, and
used in the next one of planes. What goes from step to step is kept in two arrays, `m` of planes and
`x` of lanes.

Registers that are planes, and outputs of single bits, are rows of `planes`, which are those of this
cycle, and those of the next one. The driver has them made from states and wires in lanes when it
begins to run (`enter`), and stores them there when it ends (`leave`). So nobody else sees planes.
"""

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from ....hdl.fabric.fabric import Path
from .ir import Graph, Node
from .slices import Slices, plane_nodes
from .statements import LANES, LONGEST, Statements, indented, pointers

if TYPE_CHECKING:
    from .emit_c import TypeEmitter

__all__ = ["IN_ORDER", "TURNED", "SliceEmitter", "plane_rows"]

TURNED, IN_ORDER = "turned", "in order"
"""How an input that is a plane is made of others: by rotations, or by moves that keep the order.
The number of terms follows."""

_PRELUDE = """\
#define BLOCK (64 * WORDS)  /* cells that are computed at a time */
#define VECTORS (BLOCK / WIDTH)
#if WORDS == 1
typedef uint64_t P;
#else
typedef uint64_t P __attribute__((vector_size(8 * WORDS)));
#endif
#if WIDTH == 16
typedef uint16_t Bits;
#else
typedef uint8_t Bits;
#endif
typedef uint32_t U1 __attribute__((aligned(1)));
#define ALL (~(P){0})
#define NONE ((P){0})

/* The bits of a plane for vector v of a block, as a mask of each lane. */
INLINE V spread(const P *p, long v) {
#if WIDTH == 16 && !defined __clang__ && defined __AVX512DQ__
  return (V)__builtin_ia32_cvtmask2d512(((const Bits *)p)[v]);
#else
  static const uint32_t places[] __attribute__((aligned(64))) = {
      1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7,
      1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
      1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
      1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};
  V place = load(places + v * WIDTH % 32);
  return (V)((splat(((const uint32_t *)p)[v * WIDTH / 32]) & place) == place);
#endif
}
INLINE unsigned part(const P *p, long v) { return ((const Bits *)p)[v]; }
INLINE void collect(P *p, long v, unsigned bits) { ((Bits *)p)[v] = bits; }
/* A bit for each lane: of bit n of a number, and of comparisons. */
INLINE unsigned bit_of(V x, int n) {
#if WIDTH == 16 && !defined __clang__
  return (unsigned short)__builtin_ia32_ptestmd512((S)x, (S)splat(1u << n), -1);
#else
  return bits((V)((S)(x << (31 - n)) >> 31));
#endif
}
INLINE unsigned equal(V a, V b) {
#if WIDTH == 16 && !defined __clang__
  return (unsigned short)__builtin_ia32_pcmpeqd512_mask((S)a, (S)b, -1);
#else
  return bits((V)(a == b));
#endif
}
INLINE unsigned lower(V a, V b) {
#if WIDTH == 16 && !defined __clang__
  return (unsigned short)__builtin_ia32_ucmpd512_mask((S)a, (S)b, 1, -1);
#else
  return bits(ltu(a, b));
#endif
}
/* The lowest bytes of lanes, from which planes are then taken. */
INLINE void keep_bytes(uint8_t *p, long v, V x) {
  p += v * WIDTH;
#if WIDTH == 16 && !defined __clang__
  typedef char B __attribute__((vector_size(16), aligned(1)));
  *(B *)p = __builtin_ia32_pmovdb512_mask((S)x, (B){0}, -1);
#elif WIDTH == 8 && defined __AVX2__
  typedef char B __attribute__((vector_size(32)));
  const B low = {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  V y = (V)__builtin_ia32_pshufb256((B)x, low);
  *(U1 *)p = y[0];
  *(U1 *)(p + 4) = y[4];
#else
  for (int l = 0; l < WIDTH; l++) p[l] = x[l];
#endif
}
INLINE uint64_t word_of(const uint8_t *p, int n) {
#if defined __AVX512BW__ && !defined __clang__
  typedef char B __attribute__((vector_size(64)));
  typedef short W __attribute__((vector_size(64)));
  return __builtin_ia32_cvtb2mask512((B)(*(const W *)p << (7 - n)));
#elif defined __AVX2__
  typedef char B __attribute__((vector_size(32)));
  typedef short W __attribute__((vector_size(32)));
  const W *w = (const W *)p;
  return (uint32_t)__builtin_ia32_pmovmskb256((B)(w[0] << (7 - n))) |
         (uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((B)(w[1] << (7 - n))) << 32;
#else
  uint64_t r = 0;
  for (int l = 0; l < 8; l++)
    r |= (((const uint64_t *)p)[l] >> n & 0x0101010101010101) * 0x0102040810204080 >> 56 << 8 * l;
  return r;
#endif
}
#if WORDS == 1
#define PLANE_OF(p, n) word_of(p, n)
#else
#define PLANE_OF(p, n) ((P){word_of(p, n), word_of(p + 64, n), word_of(p + 128, n), word_of(p + 192, n)})
#endif
/* A word of a plane whose bits come from elsewhere: each term moves some of them. */
INLINE uint64_t turned(const uint64_t *planes, const Term *term, int count) {
  uint64_t r = 0;
  _Pragma("GCC unroll 8") for (int n = 0; n < count; n++) {
    const uint64_t w = planes[term[n].word];
    r |= (w << term[n].turn | w >> (-term[n].turn & 63)) & term[n].given;
  }
  return r;
}
INLINE uint64_t in_order(const uint64_t *planes, const Term *term, int count) {
  uint64_t r = 0;
  for (int n = 0; n < count; n++) {
    const uint64_t w = planes[term[n].word], taken = term[n].taken, given = term[n].given;
#ifdef __BMI2__
    r |= __builtin_ia32_pdep_di(__builtin_ia32_pext_di(w, taken), given);
#else
    for (uint64_t from = taken, to = given; from; from &= from - 1, to &= to - 1)
      if (w & from & -from) r |= to & -to;
#endif
  }
  return r;
}
#if WORDS == 1
#define PLANE(way, planes, terms, n) way(planes, terms, n)
#else
#define PLANE(way, planes, terms, n)                                               \\
  ((P){way(planes, terms, n), way(planes, (terms) + (n), n),                        \\
       way(planes, (terms) + 2 * (n), n), way(planes, (terms) + 3 * (n), n)})
#endif
/* A bit that is the same in all cells. */
INLINE P everywhere(uint32_t mask) { return -(uint64_t)(mask & 1) - NONE; }
static void fail_plane(Context *c, const Type *t, long event, long b, const P *hit) {
  for (long v = 0; v < VECTORS; v++)
    for (unsigned e = part(hit, v); e; e &= e - 1) {
      const long cell = b + v * WIDTH + __builtin_ctz(e);
      if (!t->live[cell] || c->event >= 0) continue;
      c->event_type = t;
      c->event = event;
      c->event_cell = cell;
    }
}

/* A word in lanes whose bits are planes, from row `plane` on. */
typedef struct { int wire, row, bits, plane; } Word;

"""

_BORDERS = """\
/* Make the planes from states and wires in lanes. */
void enter(Context *c, const Type *t) {
  for (long b = 0; b < t->cells; b += BLOCK) {
    P *here = (P *)(c->planes + t->first_plane) + b / BLOCK * ROWS;
    for (const Word *w = words; w < words + word_count; w++)
      for (long v = 0; v < VECTORS; v++) {
        const long i = b + v * WIDTH;
        const uint32_t *from =
            w->wire ? c->now + t->first_wire + AT(OUTPUTS) : t->state + AT(REGISTERS);
        const V x = load(from + LANES * w->row);
        for (int n = 0; n < w->bits; n++) collect(here + w->plane + n, v, bit_of(x, n));
      }
  }
}

/* Store the planes in states and wires in lanes. */
void leave(Context *c, const Type *t) {
  for (long b = 0; b < t->cells; b += BLOCK) {
    const P *here = (const P *)(c->planes + t->first_plane) + b / BLOCK * ROWS;
    for (const Word *w = words; w < words + word_count; w++)
      for (long v = 0; v < VECTORS; v++) {
        const long i = b + v * WIDTH;
        uint32_t *to = w->wire ? c->now + t->first_wire + AT(OUTPUTS) : t->state + AT(REGISTERS);
        V x = spread(here + w->plane, v);
        if (w->bits > 1) {
          x &= splat(1);
          for (int n = 1; n < w->bits; n++) x |= spread(here + w->plane + n, v) & splat(1u << n);
        }
        store(to + LANES * w->row, x);
      }
  }
}
"""

_NAME = re.compile(r"\b[bnp]\d+(?:t\d+)?\b")
"""Bytes of lanes, lanes, and planes, in the text of a function."""

_BYTE = 3
"""So many bits of one byte, and more, are collected as bytes first."""

_FOUND = ("pair", "any")
"""How inputs are read that are not read twice, since it takes long."""


def plane_rows(
    outputs: Sequence[tuple[Path, int]], widths: dict[Path, list[int]]
) -> dict[tuple[Path, int], int]:
    """The row of each output of a single bit among the planes; the registers' rows follow."""
    single = [(path, word) for path, word in outputs if widths[path][word] == 1]
    return {key: row for row, key in enumerate(single)}


class _Function:
    """One function of a sliced type.

    Parameters
    ----------
    emitter : SliceEmitter
    wires, planes : str
        Where outputs are stored: "now" and "planes", or "next" and "next_planes".
    """

    def __init__(self, emitter: "SliceEmitter", wires: str, planes: str) -> None:
        self.emitter, self.wires, self.planes = emitter, wires, planes
        self.stores: list[tuple[str, int, Node]] = []  # planes, by row
        self.lane_stores: list[tuple[Path, int, Node]] = []
        self.states: list[tuple[int, Node]] = []
        self.kept: list[tuple[int, Node]] = []
        self.events: list[Node] = []
        self.writing = False

    # Steps

    def _plan(self) -> None:
        """Find the step of each node: planes in even ones, lanes in odd ones."""
        writes = self.emitter.slices.writes if self.writing else []
        written = [node for some in writes for write in some for node in write.nodes]
        roots = [node for *_, node in self.stores + self.lane_stores + self.states + self.kept]
        self.cone = [
            node for node in Graph.cone([*roots, *self.events, *written]) if not node.is_const
        ]
        self.in_planes = plane_nodes(self.cone)
        self.step: dict[Node, int] = {}
        # First all that does not depend on what is read after the writes.
        waits: set[Node] = set()
        for node in self.cone:
            if (node.op == "read" and node.attr[2]) or any(arg in waits for arg in node.args):
                waits.add(node)
        early = [node for node in self.cone if node not in waits]
        for node in early:
            self._place(node, 0)
        self.write_steps: list[list[int]] = []
        ends: dict[int, int] = {}
        for number, some in enumerate(writes):
            reads = [self.step[n] for n in early if n.op == "read" and n.attr[0] == number]
            end, steps = max(reads, default=1), []
            for write in some:
                known = [n for n in write.nodes if not n.is_const]
                end = max([end, *(self._lane_step(n) for n in known)])
                steps.append(end)
            self.write_steps.append(steps)
            ends[number] = end
        for node in self.cone:
            if node in waits:
                self._place(node, ends.get(node.attr[0], 1) if node.op == "read" else 0)
        self._move_late(waits)
        self._keep_registers()
        self._find_bytes()
        events = [self.step[node] for node in self.events if not node.is_const]
        self.event_step = max(events, default=0)

    def _keep_registers(self) -> None:
        """Find the step that stores each register in lanes: none that uses the old one is later."""
        used: list[tuple[Node, int]] = []
        for node in self.cone:
            used += [(arg, self._use_step(node)) for arg in node.args]
        if self.writing:
            for some, steps in zip(self.emitter.slices.writes, self.write_steps):
                used += [(node, at) for write, at in zip(some, steps) for node in write.nodes]
        used += [(node, self._first_step(node)) for *_, node in self.lane_stores + self.kept]
        states = {number: self._first_step(node) for number, node in self.states}
        while True:
            known = [*used, *((node, states[number]) for number, node in self.states)]
            last: dict[int, int] = {}
            self.loads: dict[int, list[Node]] = {}
            for node, step in known:
                if node.op == "register" and node not in self.in_planes:
                    last[node.attr] = max(last.get(node.attr, 0), step)
                    self.loads.setdefault(step, []).append(node)
            new = {number: max(step, last.get(number, 0)) for number, step in states.items()}
            if new == states:
                break
            states = new
        self.state_steps = states

    def _find_bytes(self) -> None:
        """Find what is collected as bytes: where, by the lowest of their bits, and which bit."""
        found: dict[tuple[int, Node], list[tuple[int, Node]]] = {}
        for node in self.cone:
            if node.op == "collect" and node.args[0].op == "slice":
                part = node.args[0]
                found.setdefault((self.step[node], part.args[0]), []).append((part.attr, node))
        self.bytes: dict[Node, tuple[str, int]] = {}
        self.kept_bytes: dict[int, list[tuple[str, Node, int]]] = {}
        for (step, source), bits in found.items():
            bits.sort(key=lambda each: each[0])
            while bits:
                low = bits[0][0]
                some = [each for each in bits if each[0] < low + 8]
                bits = bits[len(some) :]
                if len(some) >= _BYTE:
                    name = f"b{some[0][1].serial}"
                    self.bytes |= {node: (name, bit - low) for bit, node in some}
                    self.kept_bytes.setdefault(step - 1, []).append((name, source, low))

    def _first_step(self, node: Node) -> int:
        return 1 if node.is_const else self._lane_step(node)

    def _place(self, node: Node, least: int) -> None:
        plane = node in self.in_planes
        step = max(least, 0 if plane else 1)
        for arg in node.args:
            if not arg.is_const:
                step = max(step, self.step[arg] + (plane != (arg in self.in_planes)))
        self.step[node] = step

    def _lane_step(self, node: Node) -> int:
        """The first step of lanes in which a node can be used."""
        return self.step[node] + (node in self.in_planes)

    def _use_step(self, node: Node) -> int:
        """The step of lanes in which a node uses its arguments in lanes."""
        return self.step[node] - (node.op == "collect")

    def _move_late(self, fixed: Container[Node]) -> None:
        """Compute what is in lanes as late as it is needed, so that less is kept."""
        last: dict[Node, int] = {}

        def used(node: Node, step: int) -> None:
            if not node.is_const and node not in self.in_planes:
                last[node] = min(last.get(node, step), step)

        for _, node in self.states:
            if not node.is_const:
                used(node, self._lane_step(node))
        for *_, node in self.lane_stores + self.kept:
            if not node.is_const:
                used(node, self._lane_step(node))
        if self.writing:
            for some, steps in zip(self.emitter.slices.writes, self.write_steps):
                for write, step in zip(some, steps):
                    for node in write.nodes:
                        used(node, step)
        for node in reversed(self.cone):
            if node not in self.in_planes and node not in fixed and node.op != "read":
                self.step[node] = max(self.step[node], last.get(node, self.step[node]))
            step = self._use_step(node)
            for arg in node.args:
                used(arg, step)

    # Text

    def text(self, name: str, head: str, begin: str, end: str) -> str:
        self._plan()
        steps = {*self.step.values(), *self.state_steps.values(), self.event_step}
        parts: list[tuple[bool, list[str]]] = []
        for step in range(max(steps, default=0) + 1):
            lines = self._lane_lines(step) if step % 2 else self._plane_lines(step)
            for at in range(0, len(lines), LONGEST):
                parts.append((step % 2 == 1, lines[at : at + LONGEST]))
        counts = _connect(parts)
        bodies = [self._part(lane, lines) for lane, lines in parts]
        arrays = [
            f"P m[{counts['p'] or 1}];",
            f"V x[{counts['n'] or 1} * VECTORS];",
            f"uint8_t y[{counts['b'] or 1}][BLOCK] __attribute__((aligned(64)));",
        ]
        inner = ""
        if sum(len(lines) for _, lines in parts) > LONGEST:
            arguments = "Context *c, const Type *t, long b, P *m, V *x, uint8_t (*y)[BLOCK]"
            inner = "\n".join(
                f"static __attribute__((noinline)) void {name}_part_{number}({arguments}) {{\n"
                f"{indented(body)}\n}}\n"
                for number, body in enumerate(bodies)
            )
            calls = [f"{name}_part_{number}(c, t, b, m, x, y);" for number in range(len(bodies))]
        else:
            calls = [line for body in bodies for line in ("{", *body, "}")]
        return (
            f"{inner}\nvoid {name}({head}) {{\n"
            f"  for (long b = {begin}; b < {end}; b += BLOCK) {{\n"
            f"{indented([*arrays, *calls])}\n  }}\n}}\n"
        )

    def _part(self, lane: bool, lines: Sequence[str]) -> list[str]:
        rows = self.emitter.row_counts
        place = "+ b / BLOCK *"
        here = [
            f"const P *here = (const P *)(c->planes + t->first_plane) {place} ROWS;",
            f"const P *constants = (const P *)t->strap_planes {place} STRAPS;",
        ]
        there = f"P *there = (P *)(c->{self.planes} + t->first_plane) {place} ROWS;"
        if lane:
            found = pointers(*rows, f"c->{self.wires}")
            return [
                *here,
                there,
                "for (long v = 0; v < VECTORS; v++) {",
                "  const long i = b + v * WIDTH;",
                "  uint32_t *kept = t->kept + AT(KEPT);",
                *(f"  {line}" for line in (*found, *lines)),
                "}",
            ]
        return [
            *here,
            "const uint32_t *now = c->now;",
            f"const int32_t *index = t->index + b * {rows[1]};",
            there,
            f"const Term *terms = t->terms {place} TERMS;",
            *lines,
        ]

    def _plane_lines(self, step: int) -> list[str]:
        body = _Planes(self, step)
        for place, row, node in self.stores:
            if node.is_const:
                if step == 0:
                    body.lines.append(f"{place}[{row}] = {'ALL' if node.attr else 'NONE'};")
            elif self.step[node] == step:
                body.need(node)
                body.lines.append(f"{place}[{row}] = {body.name(node)};")
        body.need(*(n for n in self.cone if n in self.in_planes and self._is_here(n, step)))
        if step == self.event_step:
            for number, node in enumerate(self.events):
                if not node.is_const:
                    body.need(node)
                    value = body.name(node)
                    body.lines.append(
                        f"{{ P hit = {value}; fail_plane(c, t, {number}, b, &hit); }}"
                    )
                elif node.attr:
                    body.lines.append(f"{{ P hit = ALL; fail_plane(c, t, {number}, b, &hit); }}")
        return body.lines

    def _is_here(self, node: Node, step: int) -> bool:
        if node.op == "collect" and node not in self.bytes:
            return False
        return self.step[node] == step and node.op != "register"

    def _lane_lines(self, step: int) -> list[str]:
        body = _Lanes(self, step)
        here = [
            n
            for n in self.cone
            if (n not in self.in_planes and self.step[n] == step and not self.emitter.loads(n))
            or (n.op == "collect" and self.step[n] == step + 1 and n not in self.bytes)
        ]
        old = {node.attr: node for node in self.loads.get(step, ())}
        if self.writing:
            writes = self.emitter.slices.writes
            body.need(*(n for n in here if n.op == "read" and not n.attr[2]))
            for number, (some, steps) in enumerate(zip(writes, self.write_steps)):
                for write, at in zip(some, steps):
                    if at == step:
                        body.need(*write.nodes)
                        body.write(number, write)
        for number, node in self.states:
            if self.state_steps[number] == step:
                if number in old:
                    body.need(old[number])
                if node.op != "register" or node.attr != number:
                    body.state_of(number, node, self.emitter.module.registers[number].width)
        for path, word, node in self.lane_stores:
            if self._first_step(node) == step:
                body.output(path, word, node)
        for place, node in self.kept:
            if self._first_step(node) == step:
                body.keep(place, node)
        for name, source, low in self.kept_bytes.get(step, ()):
            body.keep_bytes(name, source, low)
        body.need(*here)
        return body.lines


def _connect(parts: list[tuple[bool, list[str]]]) -> dict[str, int]:
    """Let values be kept that go from part to part; return how many places they need."""
    named = [[list(dict.fromkeys(_NAME.findall(line))) for line in lines] for _, lines in parts]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    kept: set[str] = set()
    for number, lines in enumerate(named):
        for names in lines:
            for name in names:
                first.setdefault(name, number)
                last[name] = number
                if first[name] != number or (parts[number][0] and name[0] != "n"):
                    kept.add(name)
    places = _homes(parts, named, first)
    kept -= places.keys()
    forms = {"b": "y[{}]", "n": "x[{} * VECTORS + v]", "p": "m[{}]"}
    free: dict[str, list[str]] = {kind: [] for kind in forms}
    counts = dict.fromkeys(forms, 0)
    for number, (lane, lines) in enumerate(parts):
        known: set[str] = set()
        text: list[str] = []
        for line, names in zip(lines, named[number]):
            new = [name for name in names if name not in known]
            known.update(new)
            for name in new:
                if name in kept and name not in places:
                    kind = name[0]
                    if free[kind]:
                        places[name] = free[kind].pop()
                    else:
                        places[name] = forms[kind].format(counts[kind])
                        counts[kind] += 1
            there = "n" if lane else "p"  # what has a name of its own; other places are known
            local = [name for name in new if name in places and name[0] == there]
            text += [
                f"{'V' if lane else 'P'} {name} = {places[name]};"
                for name in local
                if first[name] < number
            ]
            other = {name: places[name] for name in names if name[0] != there}
            text.append(_NAME.sub(lambda m: other.get(m[0], m[0]), line) if other else line)
            text += [
                f"{places[name]} = {name};"
                for name in local
                if first[name] == number and name in kept
            ]
        for name in known & kept:
            if last[name] == number:
                free[name[0]].append(places[name])
        lines[:] = text
    return counts


_STORED = re.compile(r"(?:store\(((?:state|out|kept) \+ \d+), (n\w+)\)|(there\[\d+\]) = (p\w+));")
_LOADED_FROM = re.compile(r"V (n\w+) = (load\((\w+) \+ [^()]+\)|splat\(now[^()]+\));")


def _homes(
    parts: list[tuple[bool, list[str]]], named: list[list[list[str]]], first: dict[str, int]
) -> dict[str, str]:
    """Where values are besides, that go from part to part: where they are stored or come from."""
    homes: dict[str, str] = {}
    stores: dict[str, tuple[int, int]] = {}  # by what is loaded from there
    loads: dict[str, str] = {}
    for number, (_, lines) in enumerate(parts):
        for at, line in enumerate(lines):
            if stored := _STORED.fullmatch(line):
                place, name, plane, plane_name = stored.groups()
                if place:
                    stores[f"load({place})"] = number, at
                    if first[name] == number:
                        homes.setdefault(name, f"load({place})")
                elif first[plane_name] == number:
                    homes.setdefault(plane_name, plane)
            elif loaded := _LOADED_FROM.fullmatch(line):
                loads[loaded[1]] = loaded[2]
    # What is loaded can be loaded again, but for registers that have got their next value.
    for number, lines_ in enumerate(named):
        seen: set[str] = set()
        for at, names in enumerate(lines_):
            for name in names:
                if name not in seen and name in loads:
                    seen.add(name)
                    if stores.get(loads[name], (number, at)) < (number, at):
                        del loads[name]
    return {**loads, **homes}


class _Planes:
    """The statements of one step of planes."""

    def __init__(self, function: _Function, step: int) -> None:
        self.emitter, self._in_planes = function.emitter, function.in_planes
        self._steps, self._step, self._bytes = function.step, step, function.bytes
        self.lines: list[str] = []
        self._done: set[Node] = set()

    def __contains__(self, node: Node) -> bool:
        """Whether a node needs no statement here."""
        if node.is_const or node in self._done or node not in self._in_planes:
            return True
        if node.op == "collect" and node not in self._bytes:
            return True
        return node.op != "register" and self._steps[node] != self._step

    def need(self, *nodes: Node) -> None:
        for node in Graph.cone(nodes, known=self):
            self._done.add(node)
            self.lines.append(f"P {self.name(node)} = {self._expression(node)};")

    def name(self, node: Node) -> str:
        return f"p{node.serial}" + (f"t{self._step}" if node.op == "register" else "")

    def _value(self, node: Node) -> str:
        if node.is_const:
            return "ALL" if node.attr else "NONE"
        return self.name(node)

    def _expression(self, node: Node) -> str:
        if node.op == "register":
            return f"here[{self.emitter.register_rows[node.attr[:2]]}]"
        if node.op == "input":
            return self._input(node)
        if node.op == "collect":
            name, bit = self._bytes[node]
            return f"PLANE_OF({name}, {bit})"
        values = [self._value(arg) for arg in node.args]
        match node.op:
            case "and" | "or":
                return f" {'&' if node.op == 'and' else '|'} ".join(values)
            case "xor":
                return f"~{values[0]}" if node.args[1].is_const else f"{values[0]} ^ {values[1]}"
            case "mux":
                return f"{values[2]} ^ (({values[1]} ^ {values[2]}) & {values[0]})"
        raise AssertionError(f"no code for {node}")

    def _input(self, node: Node) -> str:
        path, word, bit, _ = node.attr
        emitter = self.emitter
        if (path, word, bit) in emitter.strap_rows:
            return f"constants[{emitter.strap_rows[path, word, bit]}]"
        row = emitter.base.input_numbers[path, word]
        kind = emitter.base.code.kinds[row]
        if kind == "same":
            return f"everywhere(now[index[{LANES * row}]])"
        return emitter.inputs[row]


class _Lanes(Statements):
    """The statements of one step of lanes."""

    def __init__(self, function: _Function, step: int) -> None:
        emitter = function.emitter
        super().__init__(emitter.base, function.wires)
        self._slices, self._in_planes = emitter, function.in_planes
        self._steps, self._step = function.step, step
        self._names = _Names(step, emitter)

    def __contains__(self, node: Node) -> bool:
        """Whether a node needs no statement here."""
        if node in self._names.done or node.is_const:
            return True
        if node in self._in_planes:
            return node.op != "collect" or self._steps[node] != self._step + 1
        return not self._slices.loads(node) and self._steps[node] != self._step

    def need(self, *nodes: Node) -> None:
        for node in Graph.cone(nodes, known=self):
            self._names.done.add(node)
            if node.op == "collect":
                self.lines.append(f"collect(&p{node.serial}, v, {self._collected(node.args[0])});")
            elif node.op == "spread":
                source = self._source(node.args[0])
                self.lines.append(f"V {self._names[node]} = spread({source}, v);")
            else:
                first = len(self.lines)
                name = self._names[node]
                self.lines.append(f"V {name} = {self._expression(node, name)};")
                self._join(first)

    def _source(self, node: Node) -> str:
        """Where a plane is."""
        if node.op == "register":
            return f"here + {self._slices.register_rows[node.attr[:2]]}"
        if node.op == "input" and node.attr[:3] in self._slices.strap_rows:
            return f"constants + {self._slices.strap_rows[node.attr[:3]]}"
        return f"&p{node.serial}"

    def _collected(self, node: Node) -> str:
        """A bit for each lane of a mask."""
        if node not in self:
            match node.op:
                case "slice":
                    return f"bit_of({self.number(node.args[0])}, {node.attr})"
                case "eq":
                    return f"equal({self.number(node.args[0])}, {self.number(node.args[1])})"
        return f"bits({self.mask(node)})"

    def _lanes(self, node: Node) -> str:
        if node.is_const:
            return "(1u << WIDTH) - 1" if node.attr else "0"
        return f"part({self._source(node)}, v)"

    def keep_bytes(self, name: str, node: Node, low: int) -> None:
        value = self.number(node)
        self.lines.append(f"keep_bytes({name}, v, {value}{f' >> {low}' if low else ''});")

    def keep(self, place: int, node: Node) -> None:
        self.need(node)
        self.lines.append(f"store(kept + {LANES * place}, {self._names[node]});")

    def _expression(self, node: Node, name: str) -> str:
        if node.op == "kept":
            return f"load(kept + {LANES * node.attr})"
        return super()._expression(node, name)

    def state_of(self, number: int, node: Node, width: int) -> None:
        self.lines.append(f"store(state + {LANES * number}, {self._of_width(node, width)});")


class _Names:
    """The names of nodes in a step of lanes; what is loaded has one of its own in each."""

    def __init__(self, step: int, emitter: "SliceEmitter") -> None:
        self._step, self._emitter = step, emitter
        self.done: set[Node] = set()

    def __getitem__(self, node: Node) -> str:
        return f"n{node.serial}" + (f"t{self._step}" if self._emitter.loads(node) else "")


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
        kept = [("kept", place) for place in range(len(slices.kept))]
        self.register_rows: dict[tuple[str | int, int], int] = {
            key: first + row for row, key in enumerate([*slices.registers, *kept])
        }
        self.strap_rows = {key: row for row, key in enumerate(slices.straps)}
        self.inputs: dict[int, str] = {}
        self._term_count = 0
        for row, kind in enumerate(code.kinds):
            for way, function in ((TURNED, "turned"), (IN_ORDER, "in_order")):
                if kind.startswith(way):
                    count = int(kind.removeprefix(way))
                    place = f"terms + {self._term_count}"
                    self.inputs[row] = f"PLANE({function}, c->planes, {place}, {count})"
                    self._term_count += count * slices.words

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
            "KEPT": len(self.slices.kept_lanes),
            "REGISTERS": self.row_counts[0],
            "OUTPUTS": self.row_counts[2],
        }
        late = [self._late(number, outputs) for number, outputs in enumerate(code.late)]
        return "\n".join(
            [
                *(f"#define {name} {size}" for name, size in sizes.items()),
                _PRELUDE,
                self._words(),
                _BORDERS,
                *late,
                self.base.publish(),
                self._update(),
            ]
        )

    def _words(self) -> str:
        """The words in lanes, some of whose bits are planes."""
        rows = [
            f"{{1, {self.base.output_numbers[key]}, 1, {row}}}"
            for key, row in self.output_rows.items()
        ]
        for number, bit in self.slices.registers:
            if bit == 0:
                row = self.register_rows[number, bit]
                rows.append(f"{{0, {number}, {self.module.registers[number].width}, {row}}}")
        items = ", ".join(rows) or "{0, 0, 0, 0}"
        return (
            f"static const Word words[] = {{{items}}};\n"
            f"static const long word_count = {len(rows)};\n"
        )

    def _output(self, function: _Function, path: Path, word: int, node: Node) -> None:
        if self.module.widths[path][word] > 1:
            function.lane_stores.append((path, word, node))
            return
        function.stores.append(("there", self.output_rows[path, word], node))
        if (path, word) in self.base.code.shown:
            function.lane_stores.append((path, word, self.slices.graph.spread(node)))

    def _late(self, number: int, outputs: Sequence[Path]) -> str:
        function = _Function(self, "now", "planes")
        for path in outputs:
            for word, node in enumerate(self.slices.outputs[path]):
                self._output(function, path, word, node)
        made = set(Graph.cone([node for path in outputs for node in self.slices.outputs[path]]))
        for place, node in enumerate(self.slices.kept):
            if node in made:
                function.stores.append(("there", self.register_rows["kept", place], node))
        function.kept = [
            (place, node) for place, node in enumerate(self.slices.kept_lanes) if node in made
        ]
        parameters = "Context *c, const Type *t, long begin, long end"
        return function.text(f"late_{number}", parameters, "begin", "end")

    def _update(self) -> str:
        slices, function = self.slices, _Function(self, "next", "next_planes")
        function.writing = True
        function.events = slices.events
        for key, node in zip(slices.registers, slices.nexts):
            function.stores.append(("there", self.register_rows[key], node))
        function.states = list(slices.lane_nexts.items())
        for path, words in slices.after.items():
            for word, node in enumerate(words):
                self._output(function, path, word, node)
        parameters = "Context *c, const Type *t, long begin, long end"
        return function.text("update", parameters, "begin", "end")
