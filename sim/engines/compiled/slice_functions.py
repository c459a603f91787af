"""The functions in C of slices: planes of bits, and lanes of words."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ....hdl.fabric.pins import Path
from .carried import connected
from .ir import Node
from .slice_steps import Steps
from .statements import LANES, LONGEST, Statements, indented, name_of, pointers
from .word_graph import Graph

if TYPE_CHECKING:
    from .emit_slices import SliceEmitter

__all__ = ["SliceFunction", "plane_rows"]


def plane_rows(
    outputs: Sequence[tuple[Path, int]], widths: dict[Path, list[int]]
) -> dict[tuple[Path, int], int]:
    """The row of each output of a single bit among the planes; the registers' rows follow."""
    single = [(path, word) for path, word in outputs if widths[path][word] == 1]
    return {key: row for row, key in enumerate(single)}


class SliceFunction(Steps):
    """One function of a sliced type.

    Parameters
    ----------
    emitter : SliceEmitter
    wires, planes : str
        Where outputs are stored: "now" and "planes", or "next" and "next_planes".
    """

    def __init__(self, emitter: "SliceEmitter", wires: str, planes: str) -> None:
        super().__init__(emitter.slices)
        self.emitter, self.wires, self.planes = emitter, wires, planes

    def text(self, name: str, head: str, begin: str, end: str, first: str = "") -> str:
        """The function, which does something else first."""
        self.plan()
        parts: list[tuple[bool, list[str]]] = []
        for step in range(self.last_step + 1):
            lines = self._lane_lines(step) if step % 2 else self._plane_lines(step)
            # In lanes it costs more to hand on values.
            most = 2 * LONGEST if step % 2 else LONGEST
            for at in range(0, len(lines), most):
                parts.append((step % 2 == 1, lines[at : at + most]))
        counts = connected(parts)
        bodies = [self._part(lane, lines) for lane, lines in parts]
        arrays = [
            f"P m[{counts['p'] or 1}];",
            f"V x[{counts['n'] or 1} * VECTORS];",
            f"M y[{counts['k'] or 1} * VECTORS];",
            f"uint8_t z[{counts['b'] or 1}][BLOCK] __attribute__((aligned(64)));",
        ]
        inner = ""
        if sum(len(lines) for _, lines in parts) > LONGEST:
            arguments = "Context *c, const Type *t, long b, P *m, V *x, M *y, uint8_t (*z)[BLOCK]"
            inner = "\n".join(
                f"static __attribute__((noinline)) void {name}_part_{number}({arguments}) {{\n"
                f"{indented(body)}\n}}\n"
                for number, body in enumerate(bodies)
            )
            calls = [f"{name}_part_{number}(c, t, b, m, x, y, z);" for number in range(len(bodies))]
        else:
            calls = [line for body in bodies for line in ("{", *body, "}")]
        return (
            f"{inner}\nvoid {name}({head}) {{\n  {first}\n"
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
            f"const uint64_t *terms = t->terms {place} TERMS;",
            *lines,
        ]

    def _plane_lines(self, step: int) -> list[str]:
        body = _Planes(self, step)
        for row, node in self.stores:
            if node.is_const:
                if step == 0:
                    body.lines.append(f"there[{row}] = {'ALL' if node.attr else 'NONE'};")
            elif self.step[node] == step:
                body.need(node)
                body.lines.append(f"there[{row}] = {body.name(node)};")
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
            writes = self.slices.writes
            body.need(*(n for n in here if n.op == "read" and not n.attr[2]))
            for number, (some, steps) in enumerate(zip(writes, self.write_steps)):
                for write, at in zip(some, steps):
                    if at == step:
                        body.need(*write.nodes)
                        body.write(number, write)
        users: dict[Node, list[Node]] = {}
        for user in here:
            for arg in user.args:
                users.setdefault(arg, []).append(user)
        for number, node in self.states:
            if self.state_steps[number] == step:
                # What uses the old value comes before the new one is stored, where it is known;
                # what uses the new one comes next.
                if number in old:
                    body.need(*users.get(old[number], ()), old[number])
                if node.op != "register" or node.attr != number:
                    body.state_of(number, node)
                body.need(*users.get(node, ()))
        shown = [each for each in self.lane_stores if self.first_step(each[2]) == step]
        for path, words in groupby(shown, lambda each: each[0]):
            together = list(words)
            body.need(*(node for *_, node in together))
            for _, word, node in together:
                body.output(path, word, node)
        for place, node in self.kept:
            if self.first_step(node) == step:
                body.keep(place, node)
        for name, source, low in self.kept_bytes.get(step, ()):
            body.keep_bytes(name, source, low)
        body.need(*here)
        return body.lines


class _Planes:
    """The statements of one step of planes."""

    def __init__(self, function: SliceFunction, step: int) -> None:
        self.emitter, self._in_planes = function.emitter, function.in_planes
        self._steps, self._step, self._bytes = function.step, step, function.bytes
        self._turned: set[str] = set()
        self.lines: list[str] = []
        self._done: set[Node] = set()

    def __contains__(self, node: object) -> bool:
        """Whether a node needs no statement here."""
        assert isinstance(node, Node)
        if node.is_const or node in self._done or node not in self._in_planes:
            return True
        if node.op == "collect" and node not in self._bytes:
            return True
        return node.op != "register" and self._steps[node] != self._step

    def need(self, *nodes: Node) -> None:
        for node in Graph.cone(nodes, known=self):
            self._done.add(node)
            if node.op == "collect" and (name := self._bytes[node][0]) not in self._turned:
                self._turned.add(name)
                bits = sum(1 << bit for other, bit in self._bytes.values() if other == name)
                self.lines.append(f"to_planes({name}, {bits});")
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
            return f"((const P *){name})[{bit}]"
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

    def __init__(self, function: SliceFunction, step: int) -> None:
        emitter = function.emitter
        super().__init__(emitter.base, function.wires)
        self._slices, self._in_planes = emitter, function.in_planes
        self._steps, self._step = function.step, step
        self._names = _Names(step, emitter)
        self._done: set[Node] = set()

    def __contains__(self, node: object) -> bool:
        """Whether a node needs no statement here."""
        assert isinstance(node, Node)
        if node in self._done or node.is_const:
            return True
        if node in self._in_planes:
            return node.op != "collect" or self._steps[node] != self._step + 1
        return not self._slices.loads(node) and self._steps[node] != self._step

    def need(self, *nodes: Node) -> None:
        for node in Graph.cone(nodes, known=self):
            self._done.add(node)
            if node.op == "collect":
                self.lines.append(f"collect(&p{node.serial}, v, {self.mask(node.args[0])});")
            elif node.op == "spread":
                source = self._source(node.args[0])
                self.lines.append(f"M {self._names[node]} = spread({source}, v);")
            else:
                first = len(self.lines)
                self.lines.append(self._definition(node, self._names[node]))
                self._join(first)

    def _source(self, node: Node) -> str:
        """Where a plane is."""
        if node.op == "register":
            return f"here + {self._slices.register_rows[node.attr[:2]]}"
        if node.op == "input" and node.attr[:3] in self._slices.strap_rows:
            return f"constants + {self._slices.strap_rows[node.attr[:3]]}"
        return f"&p{node.serial}"

    def _lanes(self, node: Node) -> str:
        if node.is_const:
            return "(1u << WIDTH) - 1" if node.attr else "0"
        return f"part({self._source(node)}, v)"

    def keep_bytes(self, name: str, node: Node, low: int) -> None:
        value = self.number(node)
        self.lines.append(f"keep_bytes({name}, v, {value}{f' >> {low}' if low else ''});")

    def keep(self, place: int, node: Node) -> None:
        value = self._of_width(node, node.width)
        self.lines.append(f"store(kept + {LANES * place}, {value});")

    def _expression(self, node: Node, name: str) -> str:
        if node.op == "kept":
            return self._stored(node, f"load(kept + {LANES * node.attr})")
        if node.op == "register" and node.attr >= len(self._slices.module.registers):
            return f"load({self._carried(node.attr)})"
        return super()._expression(node, name)

    def state_of(self, number: int, node: Node) -> None:
        registers = self._slices.module.registers
        if number < len(registers):
            value = self._of_width(node, registers[number].width)
            place = f"state + {LANES * number}"
        else:
            value, place = self.number(node), self._carried(number)
        self.lines.append(f"store({place}, {value});")

    def _carried(self, number: int) -> str:
        """Where a register is that the module does not have."""
        place = self._slices.slices.place_of(number - len(self._slices.module.registers))
        return f"kept + {LANES * place}"


class _Names(dict[Node, str]):
    """The names of nodes in a step of lanes; what is loaded has one of its own in each."""

    def __init__(self, step: int, emitter: "SliceEmitter") -> None:
        super().__init__()
        self._step, self._emitter = step, emitter

    def __missing__(self, node: Node) -> str:
        return name_of(node) + (f"t{self._step}" if self._emitter.loads(node) else "")
