"""The statements of one function of a generated program, one for each operation."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....hdl.fabric.pins import Path
from .ir import Node
from .lowered_module import Register, Write
from .word_graph import Graph

if TYPE_CHECKING:
    from .emit_c import TypeEmitter

__all__ = [
    "C_TYPES",
    "LANES",
    "LONGEST",
    "Places",
    "Statements",
    "element_bytes",
    "indented",
    "name_of",
    "pointers",
    "side_by_side",
]

LANES = 16
"""Cells whose words are adjacent in the tables."""

LONGEST = 300
"""Most statements of a C function."""


def element_bytes(width: int) -> int:
    """Bytes of a memory's element: a narrow row is one element, a wider one several words."""
    return 1 if width <= 8 else 2 if width <= 16 else 4


C_TYPES = {"k": "M", "n": "V", "p": "P"}
"""Of masks and numbers in lanes, and of planes, by the first letters of their names."""

_NODE = re.compile(r"\b[kn]\d+\b")
"""Masks and numbers in the text of a function."""


def indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def pointers(registers: int | str, inputs: int | str, outputs: int | str, wires: str) -> list[str]:
    """Statements that find the words of the lanes from cell i on, once for all accesses.

    Parameters
    ----------
    registers, inputs, outputs : int or str
        The numbers of rows of the tables.
    wires : str
        The wires that are stored.
    """
    return [
        "const uint32_t *now = c->now;",
        f"uint32_t *state = t->state + AT({registers});",
        f"const int32_t *index = t->index + AT({inputs});",
        f"const uint32_t *straps = t->straps + AT({inputs});",
        f"uint32_t *out = {wires} + t->first_wire + AT({outputs});",
    ]


def name_of(node: Node) -> str:
    """The name of a value in lanes: a mask if its width is 1."""
    return f"{'k' if node.width == 1 else 'n'}{node.serial}"


def side_by_side(node: Node) -> tuple[int, list[tuple[Node, int]], Counter[Node]]:
    """What is side by side in a word, the result of "cat".

    These are its constant bits; numbers, each with its place; and single bits, each with a 1 at all
    its places, of which a sign, say, has many.
    """
    constant, numbers, bits = 0, [], Counter[Node]()
    for part, at in zip(node.args, node.attr):
        if part.is_const:
            constant |= part.attr << at
        elif part.width == 1:
            bits[part] += 1 << at
        else:
            numbers.append((part, at))
    return constant, numbers, bits


class Places:
    """Places in arrays for values that go from part to part of a function; free ones are used
    again.

    Parameters
    ----------
    forms : Mapping[str, str]
        By the first letter of a value's name: how a place is written, with {} for its number.

    Attributes
    ----------
    counts : dict[str, int]
        How many places there are of each form.
    """

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._forms = forms
        self._free: dict[str, list[str]] = {kind: [] for kind in forms}
        self.counts = dict.fromkeys(forms, 0)

    def take(self, name: str) -> str:
        """A place for a value."""
        kind = name[0]
        if self._free[kind]:
            return self._free[kind].pop()
        self.counts[kind] += 1
        return self._forms[kind].format(self.counts[kind] - 1)

    def leave(self, name: str, place: str) -> None:
        """Let the place of a value be used again."""
        self._free[name[0]].append(place)


def _divided(lines: Sequence[str]) -> tuple[list[list[str]], dict[str, int]]:
    """Parts of a list of statements, each with those that load and store what goes from part to
    part; and the number of places for this, by the first letter of a name."""
    parts = [list(lines[at : at + LONGEST]) for at in range(0, len(lines), LONGEST)]
    named = [[dict.fromkeys(_NODE.findall(line)) for line in part] for part in parts]
    last = {name: at for at, part in enumerate(named) for names in part for name in names}
    every = Places({"k": "y[{}]", "n": "x[{}]"})
    places: dict[str, str] = {}
    for number, part in enumerate(parts):
        known: set[str] = set()
        placed: list[str] = []
        for line, names in zip(part, named[number]):
            new = [name for name in names if name not in known]
            known.update(new)
            for name in new:
                if name in places:
                    placed.append(f"{C_TYPES[name[0]]} {name} = {places[name]};")
            placed.append(line)
            for name in new:
                if last[name] > number and name not in places:
                    places[name] = every.take(name)
                    placed.append(f"{places[name]} = {name};")
        for name in [name for name in places if last[name] == number]:
            every.leave(name, places.pop(name))
        part[:] = placed
    return parts, every.counts


class Statements:
    """The statements of one function's loop.

    Parameters
    ----------
    emitter : TypeEmitter
    wires : str
        The wires that the function stores: "now", those of this cycle, or "next".
    """

    def __init__(self, emitter: "TypeEmitter", wires: str) -> None:
        self.emitter = emitter
        self.wires = wires
        self.lanes = emitter.code.lanes
        self.lines: list[str] = []
        self._names: dict[Node, str] = {}

    def function(self, name: str, parameters: str, begin: str, end: str) -> str:
        """The function: all statements for each vector of cells.

        A compiler takes more than twice the time for a function of twice the length, so a long one
        is divided into parts. They hand on in `x` and `y` what later parts need.
        """
        if len(self.lines) <= LONGEST:
            return self._loop(f"{name}({parameters})", begin, end, [*self._pointers, *self.lines])
        parts, counts = _divided(self.lines)
        arguments = "Context *c, const Type *t, long i, V *x, M *y"
        # Called once in a run.
        attributes = 'noinline, optimize("O0")' if name == "publish" else "noinline"
        inner = [
            f"static __attribute__(({attributes})) void {name}_part_{number}({arguments}) {{\n"
            f"{indented([*self._pointers, *part])}\n}}\n"
            for number, part in enumerate(parts)
        ]
        arrays = [f"V x[{counts['n'] or 1}];", f"M y[{counts['k'] or 1}];"]
        calls = [f"{name}_part_{number}(c, t, i, x, y);" for number in range(len(parts))]
        whole = self._loop(f"{name}({parameters})", begin, end, [*arrays, *calls])
        return "\n".join([*inner, whole])

    @staticmethod
    def _loop(head: str, begin: str, end: str, lines: Sequence[str]) -> str:
        """A function that does the same for each vector of cells."""
        return (
            f"void {head} {{\n"
            f"  for (long i = {begin}; i < {end}; i += WIDTH) {{\n{indented(lines)}\n  }}\n}}\n"
        )

    @property
    def _pointers(self) -> list[str]:
        code = self.emitter.code
        rows = len(self.emitter.module.registers), len(code.inputs), len(code.outputs)
        return pointers(*rows, f"c->{self.wires}")

    def need(self, *nodes: Node) -> None:
        """Emit code for nodes that have not been computed yet."""
        for node in Graph.cone(nodes, known=self._names):
            self._names[node] = self._define(node)

    def output(self, path: Path, word: int, node: Node) -> None:
        width = self._output_width(path, word)
        value = self._of_width(node, width)
        number = self.emitter.output_numbers[path, word]
        self.lines.append(f"store(out + {self.lanes * number}, {value});")

    def same_output(self, path: Path, other: Path, word: int) -> None:
        """Store a word that has been stored for another output."""
        to, there = (self.lanes * self.emitter.output_numbers[each, word] for each in (path, other))
        self.lines.append(f"store(out + {to}, load(out + {there}));")

    def _output_width(self, path: Path, word: int) -> int:
        return self.emitter.code.module.widths[path][word]

    def state(self, number: int, register: Register) -> None:
        """Store the next value of a register."""
        value = self._of_width(register.next, register.width)
        self.lines.append(f"store(state + {self.lanes * number}, {value});")

    def event(self, number: int, hit: Node) -> None:
        """Stop the run where `hit` is 1."""
        self.lines.append(f"fail(c, t, {number}, i, {self.mask(hit)});")

    def _of_width(self, node: Node, width: int) -> str:
        """A node as it is stored, if `width` is 1 as a mask, else as a number."""
        return f"full({self.mask(node)})" if width == 1 else self.number(node)

    def mask(self, node: Node) -> str:
        """A node of width 1 as a mask."""
        if node.is_const:
            return "YES" if node.attr else "NO"
        self.need(node)
        return self._names[node]

    def number(self, node: Node) -> str:
        """A node as a number."""
        if node.is_const:
            return f"splat({node.attr}u)"
        self.need(node)
        return f"where({self._names[node]}, 1)" if node.width == 1 else self._names[node]

    def _define(self, node: Node) -> str:
        if node.is_const:
            return ""
        name, first = name_of(node), len(self.lines)
        self.lines.append(self._definition(node, name))
        self._join(first)
        return name

    def _definition(self, node: Node, name: str) -> str:
        return f"{'M' if node.width == 1 else 'V'} {name} = {self._expression(node, name)};"

    def _join(self, first: int) -> None:
        """Make one statement of the last lines, so that they stay in one part of the function."""
        self.lines[first:] = ["\n".join(self.lines[first:])]

    def _expression(self, node: Node, name: str) -> str:
        args, width = node.args, node.width
        match node.op:
            case "input":
                return self._stored(node, self._input(node))
            case "register":
                return self._stored(node, f"load(state + {self.lanes * node.attr})")
            case "read":
                return self._read(node)
            case "and" | "or" | "xor":
                sign = {"and": "&", "or": "|", "xor": "^"}[node.op]
                form = self.mask if width == 1 else self.number
                return f" {sign} ".join(form(arg) for arg in args)
            case "eq":
                if all(arg.width == 1 for arg in args):
                    return f"{self.mask(args[0])} ^ {self.mask(args[1])} ^ YES"
                return f"equal({self.number(args[0])}, {self.number(args[1])})"
            case "ult":
                compare = "lts" if all(arg.width < 32 for arg in args) else "ltu"
                return f"{compare}({self.number(args[0])}, {self.number(args[1])})"
            case "mux":
                form = self.mask if width == 1 else self.number
                name = "either" if width == 1 else "mux"
                return f"{name}({self.mask(args[0])}, {form(args[1])}, {form(args[2])})"
            case "add":
                return self._cut(self._sum(*args), width, max(arg.width for arg in args) + 1)
            case "sub":
                return self._cut(f"{self.number(args[0])} - {self.number(args[1])}", width, 33)
            case "mul":
                text = f"{self.number(args[0])} * {self.number(args[1])}"
                return self._cut(text, width, sum(arg.width for arg in args))
            case "slice":
                source, low = self.number(args[0]), node.attr
                if width == 1:
                    return f"bit_of({source}, {low})"
                moved = f"{source} >> {low}" if low else source
                return self._cut(moved, width, args[0].width - low)
            case "cat":
                constant, numbers, bits = side_by_side(node)
                parts = [f"splat({constant}u)"] if constant else []
                parts += [
                    f"({self.number(part)} << {at})" if at else self.number(part)
                    for part, at in numbers
                ]
                parts += [f"where({self.mask(part)}, {ones}u)" for part, ones in bits.items()]
                return " | ".join(parts)
            case "divide":
                return self._divide(node, name)
        raise AssertionError(f"no code for {node}")

    def _sum(self, a: Node, b: Node) -> str:
        """The sum of two numbers, one of which may be a mask."""
        if b.width == 1 and not b.is_const:
            a, b = b, a
        if a.width > 1:
            return f"{self.number(a)} + {self.number(b)}"
        return f"plus({self.number(b)}, {self.mask(a)})"

    @staticmethod
    def _cut(text: str, width: int, may_have: int) -> str:
        if width == 1:
            return f"bit_of({text}, 0)"
        if width >= 32 or may_have <= width:
            return text
        return f"({text}) & {(1 << width) - 1}u"

    @staticmethod
    def _stored(node: Node, text: str) -> str:
        """A node that is read from a table."""
        return f"mask({text})" if node.width == 1 else text

    def _input(self, node: Node) -> str:
        row = self.emitter.input_numbers[node.attr]
        match self.emitter.code.kinds[row]:
            case "strap":
                return f"load(straps + {self.lanes * row})"
            case "same":
                return f"splat(now[index[{self.lanes * row}]])"
            case "row":
                return f"load(now + index[{self.lanes * row}])"
            case "pair":
                return f"pair(now, index + {self.lanes * row})"
        return f"gather(now, index + {self.lanes * row})"

    def _rows(self, number: int) -> tuple[str, int, int]:
        """C type of a memory's elements, elements per row, and number of rows."""
        memory = self.emitter.module.memories[number]
        type_ = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t"}[element_bytes(memory.width)]
        return type_, -(-memory.width // 32), memory.rows

    def _memory(self, number: int) -> str:
        """Where the rows of a memory begin, of the cells from i on."""
        type_, words, rows = self._rows(number)
        return f"({type_} *)t->memories[{number}] + i * {rows * words}L"

    def _address(self, node: Node) -> str:
        """An address, within its width also in lanes without a cell, which may read any wires."""
        return f"{self.number(node)} & {(1 << node.width) - 1}u"

    def _read(self, node: Node) -> str:
        number, word, _ = node.attr
        type_, words, rows = self._rows(number)
        address, exists = self._address(node.args[0]), ""
        if rows < 1 << node.args[0].width:
            exists = f"ltu({address}, splat({rows}u))"
            address = f"mux({exists}, {address}, splat(0u))"
        value = f"read_{type_}({self._memory(number)} + {word}, {address}, {rows}, {words})"
        if exists:
            value = f"mux({exists}, {value}, splat(0u))"
        return f"bit_of({value}, 0)" if node.width == 1 else value

    def _lanes(self, node: Node) -> str:
        """A bit for each lane of a node of width 1."""
        return f"bits({self.mask(node)})"

    def write(self, number: int, write: Write) -> None:
        type_, words, rows = self._rows(number)
        first = len(self.lines)
        self.lines.append(f"{{ unsigned e = {self._lanes(write.enable)}; if (e) {{")
        self.lines.append(
            f"  {type_} *m = {self._memory(number)}; V a = {self._address(write.address)};"
        )
        values = [self.number(node) for node in write.data]
        masks = [self.number(node) for node in write.mask or ()]
        for word, value in enumerate(values):
            self.lines.append(f"  V d{word} = {value};")
        for word, value in enumerate(masks):
            self.lines.append(f"  V mask{word} = {value};")
        self.lines.append("  for (; e; e &= e - 1) { const int l = __builtin_ctz(e);")
        if rows < 1 << write.address.width:
            self.lines.append(f"    if (a[l] >= {rows}u) continue;")
        self.lines.append(f"    {type_} *row = m + (l * {rows}L + a[l]) * {words};")
        for word in range(len(values)):
            if masks:
                merged = f"(row[{word}] & ~mask{word}[l]) | (d{word}[l] & mask{word}[l])"
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
            f"for (int l = 0; l < WIDTH; l++) {{ uint32_t a[{2 * count}]; "
            f"for (int w = 0; w < {2 * count}; w++) a[w] = x_{name}[w][l]; "
            f"r_{name}[l] = divide(a, a + {count}, {count}, {int(remainder)}, {word}); }}"
        )
        return f"bit_of(r_{name}, 0)" if node.width == 1 else f"r_{name}"
