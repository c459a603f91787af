"""Makes the nodes of the intermediate representation, and folds what is constant or trivial."""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from ....hdl.fabric.pins import Path
from .ir import WORD, Node, Words

__all__ = ["Graph"]


_SUMS = ("add", "sub")
"""Their lowest bit needs no carry."""


def _ones(width: int) -> int:
    return (1 << width) - 1


_EVALUATE: dict[str, Callable[..., int]] = {
    "and": lambda attr, a, b: a & b,
    "or": lambda attr, a, b: a | b,
    "xor": lambda attr, a, b: a ^ b,
    "add": lambda attr, a, b: a + b,
    "sub": lambda attr, a, b: a - b,
    "mul": lambda attr, a, b: a * b,
    "eq": lambda attr, a, b: int(a == b),
    "ult": lambda attr, a, b: int(a < b),
    "mux": lambda attr, c, a, b: a if c else b,
    "slice": lambda attr, a: a >> attr,
    "cat": lambda attr, *parts: sum(part << at for part, at in zip(parts, attr)),
    "divide": lambda attr, *words: _divide(attr, words),
}


def _divide(attr: tuple[int, bool, int], words: Sequence[int]) -> int:
    count, remainder, word = attr
    a, b = (
        sum(part << WORD * i for i, part in enumerate(half))
        for half in (words[:count], words[count:])
    )
    if b == 0:
        return 0
    return (a % b if remainder else a // b) >> WORD * word


def evaluate(node: Node, args: Sequence[int]) -> int:
    """The value of a node without state or ports, from the values of its arguments."""
    return _EVALUATE[node.op](node.attr, *args) & _ones(node.width)


class Graph:
    """Makes nodes, and folds constant and trivial operations."""

    def __init__(self) -> None:
        self._nodes: dict[tuple, Node] = {}
        self._serial = 0
        self.zero = self.const(0)
        self.one = self.const(1)

    def _node(self, op: str, args: Sequence[Node], width: int, attr: Any = None) -> Node:
        key = (op, tuple(arg.serial for arg in args), width, attr)
        node = self._nodes.get(key)
        if node is None:
            node = Node(op, tuple(args), width, attr, self._serial)
            if args and op != "read" and all(arg.is_const for arg in args):
                node = self.const(evaluate(node, [arg.attr for arg in args]))
            self._nodes[key] = node
            self._serial += 1
        return node

    def const(self, value: int) -> Node:
        return self._node("const", (), max(1, value.bit_length()), value)

    def input(self, port: Path, word: int, width: int) -> Node:
        return self._node("input", (), width, (port, word))

    def register(self, index: int, width: int) -> Node:
        return self._node("register", (), width, index)

    def plane(self, op: str, source: tuple[Any, ...]) -> Node:
        """A bit of an input or a register that is kept as a plane; the bit is the last number."""
        return self._node(op, (), 1, source)

    def read(self, memory: int, word: int, width: int, address: Node, after: bool = False) -> Node:
        return self._node("read", (address,), width, (memory, word, after))

    def and_(self, a: Node, b: Node) -> Node:
        while (
            a.width != b.width
        ):  # a part may be narrower than asked for, since zeros have no width
            width = min(a.width, b.width)
            a, b = self.slice(a, 0, width), self.slice(b, 0, width)
        a, b = self._ordered(a, b)
        if a is b:
            return a
        if b.is_const:
            if b.attr == 0:
                return self.zero
            if b.attr == _ones(a.width):
                return a
        elif a.width == 1:
            if self._opposite(a, b):
                return self.zero
            if self._is_not(a) and self._is_not(b):
                return self.not_(self.or_(a.args[0], b.args[0]), 1)
        return self._node("and", (a, b), a.width)

    def or_(self, a: Node, b: Node) -> Node:
        a, b = self._ordered(a, b)
        if a is b or (b.is_const and b.attr == 0):
            return a
        width = max(a.width, b.width)
        if b.is_const and b.attr == _ones(width):
            return b
        if width == 1:
            if self._opposite(a, b):
                return self.one
            if self._is_not(a) and self._is_not(b):
                return self.not_(self.and_(a.args[0], b.args[0]), 1)
        return self._node("or", (a, b), width)

    def xor(self, a: Node, b: Node) -> Node:
        a, b = self._ordered(a, b)
        if a is b:
            return self.zero
        if b.is_const:
            if b.attr == 0:
                return a
            if a.op == "xor" and a.args[1].is_const:
                return self.xor(a.args[0], self.const(a.args[1].attr ^ b.attr))
        elif a.width == b.width == 1 and self._opposite(a, b):
            return self.one
        return self._node("xor", (a, b), max(a.width, b.width))

    def not_(self, a: Node, width: int) -> Node:
        return self.xor(a, self.const(_ones(width)))

    def _is_not(self, a: Node) -> bool:
        """Whether a bit is the opposite of another one."""
        return a.op == "xor" and a.args[1] is self.one

    def _opposite(self, a: Node, b: Node) -> bool:
        return (self._is_not(a) and a.args[0] is b) or (self._is_not(b) and b.args[0] is a)

    def add(self, a: Node, b: Node, width: int) -> Node:
        a, b = self._ordered(self.slice(a, 0, width), self.slice(b, 0, width))
        if b.is_const and b.attr == 0:
            return a
        if width == 1:
            return self.xor(a, b)
        return self._node("add", (a, b), min(width, max(a.width, b.width) + 1))

    def sub(self, a: Node, b: Node, width: int) -> Node:
        a, b = self.slice(a, 0, width), self.slice(b, 0, width)
        if b.is_const and b.attr == 0:
            return a
        if a is b:
            return self.zero
        if width == 1:
            return self.xor(a, b)
        return self._node("sub", (a, b), width)

    def mul(self, a: Node, b: Node, width: int) -> Node:
        a, b = self._ordered(self.slice(a, 0, width), self.slice(b, 0, width))
        if b.is_const and b.attr in (0, 1):
            return a if b.attr else b
        if b.is_const and b.attr.bit_count() == 1:
            by = b.attr.bit_length() - 1
            return self.cat([(self.slice(a, 0, width - by), by)])
        if a.width == 1:
            return self.mux(a, b, self.zero)
        if b.width == 1:
            return self.mux(b, a, self.zero)
        return self._node("mul", (a, b), min(width, a.width + b.width))

    def divide(self, a: Words, b: Words, remainder: bool, word: int) -> Node:
        # A quotient is at most the dividend, a remainder less than the divisor; but a lower word
        # of such a number may be anything.
        bound = b if remainder else a
        above = any(not (node.is_const and node.attr == 0) for node in bound[word + 1 :])
        width = WORD if above else bound[word].width
        return self._node("divide", (*a, *b), width, (len(a), remainder, word))

    def eq(self, a: Node, b: Node) -> Node:
        a, b = self._ordered(a, b)
        if a is b:
            return self.one
        if b.is_const:
            if b.attr > _ones(a.width):
                return self.zero
            if a.width == 1:
                return a if b.attr else self.xor(a, self.one)
            if a.op == "cat":
                return self._each_equals(a, b.attr)
        if a.width == b.width == 1:
            return self.xor(self.xor(a, b), self.one)
        return self._node("eq", (a, b), 1)

    def _each_equals(self, a: Node, value: int) -> Node:
        """Whether all parts of a concatenation have those of a value, and there are no others."""
        found, constant = self.one, 0
        for part, at in zip(a.args, a.attr):
            if part.is_const:  # all constant bits, with zeros where other parts are
                constant = part.attr << at
            else:
                found = self.and_(found, self.eq(part, self.const(value >> at & _ones(part.width))))
                value &= ~(_ones(part.width) << at)
        return found if value == constant else self.zero

    def ult(self, a: Node, b: Node) -> Node:
        if a is b or (b.is_const and b.attr == 0):
            return self.zero
        if b.is_const:
            if b.attr > _ones(a.width):
                return self.one
            if b.attr == 1:
                return self.eq(a, self.zero)
        if a.is_const and a.attr >= _ones(b.width):
            return self.zero
        if a.is_const and a.attr == 0:
            return self.xor(self.eq(b, self.zero), self.one)
        if a.width == b.width == 1:
            return self.and_(self.xor(a, self.one), b)
        return self._node("ult", (a, b), 1)

    def mux(self, condition: Node, a: Node, b: Node) -> Node:
        if a is b:
            return a
        if condition.is_const:
            return a if condition.attr else b
        if self._is_not(condition):
            return self.mux(condition.args[0], b, a)
        width = max(a.width, b.width)
        if width == 1:
            if a is condition or self._opposite(a, condition):
                a = self.one if a is condition else self.zero
            if b is condition or self._opposite(b, condition):
                b = self.zero if b is condition else self.one
            if self._opposite(a, b):
                return self.xor(condition, b)
            if a.is_const:
                if a.attr:
                    return self.or_(condition, b)
                return self.and_(self.xor(condition, self.one), b)
            if b.is_const:
                if b.attr:
                    return self.or_(self.xor(condition, self.one), a)
                return self.and_(condition, a)
        if a.op == "mux" and a.args[0] is condition:
            return self.mux(condition, a.args[1], b)
        if b.op == "mux" and b.args[0] is condition:
            return self.mux(condition, a, b.args[2])
        return self._node("mux", (condition, a, b), width)

    def slice(self, a: Node, low: int, width: int) -> Node:
        width = min(width, a.width - low)
        if width <= 0:
            return self.zero
        if low == 0 and width == a.width:
            return a
        if a.is_const:
            return self.const(a.attr >> low & _ones(width))
        if a.op == "slice":
            return self.slice(a.args[0], a.attr + low, width)
        if a.op == "cat":
            parts = []
            for part, at in zip(a.args, a.attr):
                start, stop = max(low, at), min(low + width, at + part.width)
                if start < stop:
                    parts.append((self.slice(part, start - at, stop - start), start - low))
            return self.cat(parts)
        if width == 1 and low == 0 and a.op in _SUMS and not any(b.op in _SUMS for b in a.args):
            return self.xor(*[self.slice(arg, 0, 1) for arg in a.args])
        if width == 1 and a.op in ("and", "or", "xor", "mux"):
            numbers = a.args[a.op == "mux" :]
            if all(each.is_const or each.op == "cat" or each.width == 1 for each in numbers):
                bits = [self.slice(each, low, 1) for each in numbers]
                return self.rebuilt(a, [*a.args[: a.op == "mux"], *bits])
        if a.op == "mux" and low == 0 and (a.args[1].is_const or a.args[2].is_const):
            return self.mux(
                a.args[0], self.slice(a.args[1], 0, width), self.slice(a.args[2], 0, width)
            )
        return self._node("slice", (a,), width, low)

    def cat(self, parts: Iterable[tuple[Node, int]]) -> Node:
        """Concatenate parts, each given with its offset, in ascending order."""
        flat: list[tuple[Node, int]] = []
        constant = 0
        for part, at in parts:
            inner = zip(part.args, part.attr) if part.op == "cat" else ((part, 0),)
            for piece, low in inner:
                if piece.is_const:
                    constant |= piece.attr << at + low
                elif flat and (joined := self._joined(flat[-1], (piece, at + low))):
                    flat[-1] = (joined, flat[-1][1])
                else:
                    flat.append((piece, at + low))
        if constant:
            flat.append((self.const(constant), 0))
        if not flat:
            return self.zero
        if len(flat) == 1 and flat[0][1] == 0:
            return flat[0][0]
        flat.sort(key=lambda item: item[1])
        width = max(at + part.width for part, at in flat)
        return self._node("cat", [p for p, _ in flat], width, tuple(at for _, at in flat))

    def _joined(self, left: tuple[Node, int], right: tuple[Node, int]) -> Node | None:
        """One slice in place of two adjacent ones, if they are adjacent in their source too."""
        (a, a_at), (b, b_at) = left, right
        if b.op != "slice" or a_at + a.width != b_at:
            return None
        if a.op == "slice" and a.args[0] is b.args[0] and a.attr + a.width == b.attr:
            return self.slice(b.args[0], a.attr, a.width + b.width)
        return None

    def spread(self, a: Node) -> Node:
        if a.is_const:
            return a
        return a.args[0] if a.op == "collect" else self._node("spread", (a,), 1)

    def collect(self, a: Node) -> Node:
        if a.is_const:
            return a
        return a.args[0] if a.op == "spread" else self._node("collect", (a,), 1)

    def kept(self, number: int, width: int) -> Node:
        return self._node("kept", (), width, number)

    def any(self, a: Node) -> Node:
        """1 if some bit is set."""
        return self.xor(self.eq(a, self.zero), self.one)

    def copy(
        self, roots: Iterable[Node], replace: Callable[[Node, Sequence[Node]], Node | None]
    ) -> list[Node]:
        """Copy the graphs of the roots; `replace` returns a node to use instead, or None."""
        roots = list(roots)
        copies = self.copies(roots, replace)
        return [copies[root] for root in roots]

    def copies(
        self, roots: Iterable[Node], replace: Callable[[Node, Sequence[Node]], Node | None]
    ) -> dict[Node, Node]:
        """The copies of all nodes that the roots depend on; see `copy`."""
        found: dict[Node, Node] = {}
        for node in self.cone(roots):
            args = [found[arg] for arg in node.args]
            other = replace(node, args)
            found[node] = other if other is not None else self.rebuilt(node, args)
        return found

    def rebuilt(self, node: Node, args: Sequence[Node]) -> Node:
        """The same operation on other arguments."""
        match node.op:
            case "and":
                return self.and_(*args)
            case "or":
                return self.or_(*args)
            case "xor":
                return self.xor(*args)
            case "add":
                return self.add(args[0], args[1], node.width)
            case "sub":
                return self.sub(args[0], args[1], node.width)
            case "mul":
                return self.mul(args[0], args[1], node.width)
            case "eq":
                return self.eq(*args)
            case "ult":
                return self.ult(*args)
            case "mux":
                return self.mux(*args)
            case "slice":
                return self.slice(args[0], node.attr, node.width)
            case "cat":
                return self.cat(zip(args, node.attr))
            case "spread":
                return self.spread(*args)
            case "collect":
                return self.collect(*args)
            case "const" | "input" | "register":
                return node
        return self._node(node.op, args, node.width, node.attr)

    @staticmethod
    def cone(roots: Iterable[Node], known: Container[Node] = ()) -> list[Node]:
        """All nodes that the roots depend on, arguments first, except those already known."""
        seen: dict[int, Node] = {}
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node.serial not in seen and node not in known:
                seen[node.serial] = node
                stack.extend(node.args)
        return [seen[serial] for serial in sorted(seen)]

    @staticmethod
    def _ordered(a: Node, b: Node) -> tuple[Node, Node]:
        """Arguments of a commutative operation: constants last."""
        if a.is_const and not b.is_const:
            return b, a
        if a.is_const == b.is_const and a.serial > b.serial:
            return b, a
        return a, b
