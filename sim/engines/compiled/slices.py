"""Bit slices: which values of a module are planes, with a bit for each cell, and which are lanes.

A *plane* holds one bit of a value in many cells, 64 in each word, so that an operation on it does
the same in 64 cells and more at once. In *lanes* each cell has a word of 32 bits of its own. Single
bits, and words of a few bits bit by bit, are cheaper as planes; payloads and wide counters are
cheaper in lanes, and a value can be converted: see `plane_partition`.

The module's graph is rewritten accordingly. In the new graph a plane is a node of width 1 that is
made of planes, and two operations convert: `spread` and `collect` (see `ir`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ....hdl.fabric.pins import Path
from .counters import count_in_planes
from .ir import Node, Words
from .lowered_module import Module, Write
from .plane_partition import WIDE_PLANE, Partition
from .word_graph import Graph

__all__ = ["PLANE", "Slices", "plane_nodes", "plane_words", "saving", "sliced"]

PLANE = 64
"""Cells in a word of a plane."""


def plane_words(cells: int) -> int:
    """Words of a plane that are computed at a time, for so many cells."""

    def padded(words: int) -> int:
        return -(-cells // (PLANE * words)) * PLANE * words

    return WIDE_PLANE if 8 * padded(WIDE_PLANE) <= 9 * padded(1) else 1


@dataclass(eq=False)
class Slices:
    """A module whose values are planes and lanes.

    Attributes
    ----------
    graph : Graph
    words : int
        Of a plane that are computed at a time.
    single : frozenset[Path]
        Inputs of single bits that are planes.
    registers : list[tuple[int, int]]
        Number and bit of the register that each plane of state is, lowest bits first.
    straps : list[tuple[Path, int, int]]
        Port, word and bit of each plane of constants.
    nexts : list[Node]
        By plane of state: its next value.
    lane_nexts : dict[int, Node]
        The next values of the registers that are lanes.
    outputs : dict[Path, Words]
        Single bits are planes.
    writes : list[list[Write]]
        By memory. What enables a write is a plane.
    events : list[Node]
        Planes.
    after : dict[Path, Words]
        The outputs that depend on registers only, of the next cycle.
    kept : list[Node]
        Planes that are computed for outputs that depend on inputs, and then used for next values.
    kept_lanes : list[Node]
        The same in lanes.
    carried : list[Node]
        By number from that of the module's registers on: what is computed in lanes for the outputs
        of the next cycle, and is a register since the next cycle uses it again. The nodes are those
        of the module's graph.
    counters : list[int]
        The registers that count in planes; see `counters`.
    pending : list[Node]
        The next values of these planes, some for each counter, lowest bits first.
    """

    graph: Graph
    words: int
    single: frozenset[Path]
    registers: list[tuple[int, int]] = field(default_factory=list)
    straps: list[tuple[Path, int, int]] = field(default_factory=list)
    nexts: list[Node] = field(default_factory=list)
    lane_nexts: dict[int, Node] = field(default_factory=dict)
    outputs: dict[Path, Words] = field(default_factory=dict)
    writes: list[list[Write]] = field(default_factory=list)
    events: list[Node] = field(default_factory=list)
    after: dict[Path, Words] = field(default_factory=dict)
    kept: list[Node] = field(default_factory=list)
    kept_lanes: list[Node] = field(default_factory=list)
    carried: list[Node] = field(default_factory=list)
    counters: list[int] = field(default_factory=list)
    pending: list[Node] = field(default_factory=list)

    def place_of(self, number: int) -> int:
        """Where one of `carried` is, behind what is kept in lanes."""
        return len(self.kept_lanes) + number


def plane_nodes(cone: Iterable[Node]) -> set[Node]:
    """The planes among nodes of a sliced graph, which come after their arguments."""
    found: set[Node] = set()
    for node in cone:
        if node.op in ("register", "input"):
            if isinstance(node.attr, tuple) and node.attr[-1] == "plane":
                found.add(node)
        elif node.op == "collect" or (
            node.width == 1 and node.op != "spread" and any(arg in found for arg in node.args)
        ):
            found.add(node)
    return found


def saving(module: Module, words: int, straps: frozenset[Path], single: frozenset[Path]) -> float:
    """The cost of a module's operations in planes and lanes, as a part of that in lanes alone."""
    partition = Partition(module, words, straps, single)
    return partition.cost / max(1, partition.lanes_only)


@lru_cache(maxsize=256)
def sliced(
    module: Module,
    words: int,
    straps: frozenset[Path],
    single: frozenset[Path],
    same: frozenset[tuple[Path, Path]],
    read: frozenset[Path],
) -> Slices:
    """A module in planes and lanes.

    Parameters are those of `Partition`, and `same`: inputs, each with another of the same values
    that is read in its place; and `read`: the outputs that cells read.
    """
    partition = Partition(module, words, straps, single)
    slices = _Slicer(module, partition, words, dict(same)).result
    count_in_planes(slices, module, read)
    return slices


class _Slicer:
    """Rewrites a module's graph."""

    def __init__(
        self, module: Module, partition: Partition, words: int, same: Mapping[Path, Path]
    ) -> None:
        self.graph = graph = Graph()
        self.module, self._partition, self._same = module, partition, same
        self.result = result = Slices(graph, words, partition.single)
        self._bits: dict[Node, list[Node]] = {}
        self._lanes: dict[Node, Node] = {}
        for node in partition.cone:
            if partition.is_strap(node):
                self._lanes[node] = self._input(node)
            elif node in partition.planes:
                self._bits[node] = self._as_planes(node)
            else:
                self._lanes[node] = self._as_lanes(node)
        known = partition.registers
        for number, register in enumerate(module.registers):
            if known.get(number) in partition.planes:
                for bit in range(register.width):
                    result.registers.append((number, bit))
                    result.nexts.append(self._bit(register.next, bit))
            else:
                result.lane_nexts[number] = self._lane(register.next)
        for path, some in module.outputs.items():
            result.outputs[path] = tuple(
                self._bit(node, 0) if width == 1 else self._lane(node)
                for node, width in zip(some, module.widths[path])
            )
        for memory in module.memories:
            result.writes.append([self._write(write) for write in memory.writes])
        result.events += [self._bit(event.hit, 0) for event in module.events]
        self._look_ahead()
        self._carry()
        self._keep()

    def _look_ahead(self) -> None:
        """Find the early outputs of the next cycle."""
        early = [path for path, sources in self.module.depends.items() if not sources]
        nodes = [node for path in early for node in self.result.outputs[path]]
        self._planes_next = dict(zip(self.result.registers, self.result.nexts))
        self._ahead = self.graph.copies(nodes, self._advanced)
        for path in early:
            self.result.after[path] = tuple(self._ahead[n] for n in self.result.outputs[path])

    def _advanced(self, node: Node, args: Sequence[Node]) -> Node | None:
        """The node that has in this cycle the value that a node has in the next one."""
        if node.op == "register":
            if isinstance(node.attr, tuple):
                return self._planes_next[node.attr[:2]]
            return self.result.lane_nexts[node.attr]
        if node.op == "read":
            memory, word, _ = node.attr
            return self.graph.read(memory, word, node.width, args[0], after=True)
        return None

    def _late(self) -> list[Node]:
        """The outputs that depend on inputs."""
        outputs, depends = self.result.outputs, self.module.depends
        return [node for path, words in outputs.items() if depends[path] for node in words]

    def _carry(self) -> None:
        """Let what the next cycle's early outputs are made of be carried over to it."""
        result = self.result
        original = {node: key for key, node in self._lanes.items()}
        roots = [*self._late(), *self._updated()]
        cone = Graph.cone(roots)
        planes = plane_nodes(cone)
        found = {
            node
            for node in cone
            if node in self._ahead
            and node in original
            and node not in planes
            and self._is_worth_carrying(node)
        }
        used = {arg for node in cone if node not in found for arg in node.args} | {*roots}
        first = len(self.module.registers)
        new: dict[Node, Node] = {}
        for node in cone:
            if node in found and node in used:
                number = first + len(result.carried)
                new[node] = self.graph.register(number, node.width)
                result.carried.append(original[node])
                result.lane_nexts[number] = self._ahead[node]
        self._replace(new)

    def _is_worth_carrying(self, node: Node) -> bool:
        """Whether it is more than a load to compute a value in lanes."""
        return node.op == "mux" and node.width > 1 and any(a.op == "mux" for a in node.args)

    def _updated(self) -> list[Node]:
        """What the update computes."""
        result = self.result
        writes = [node for some in result.writes for write in some for node in write.nodes]
        return [
            *result.nexts,
            *result.lane_nexts.values(),
            *result.events,
            *writes,
            *(node for words in result.after.values() for node in words),
        ]

    def _keep(self) -> None:
        """Let what late outputs are made of be kept, where the update needs it again."""
        result = self.result
        found = {node for node in Graph.cone(self._late()) if self._is_worth_keeping(node)}
        roots = self._updated()
        cone = Graph.cone(roots)
        needed = {arg for node in cone if node not in found for arg in node.args} | set(roots)
        planes = plane_nodes(cone)
        new: dict[Node, Node] = {}
        for node in cone:
            if node in found and node in needed:
                if node in planes:
                    new[node] = self.graph.plane("register", ("kept", len(result.kept), "plane"))
                    result.kept.append(node)
                else:
                    new[node] = self.graph.kept(len(result.kept_lanes), node.width)
                    result.kept_lanes.append(node)
        self._replace(new, kept=True)

    def _replace(self, new: Mapping[Node, Node], kept: bool = False) -> None:
        """Use other nodes in the place of some; those that are kept, not where outputs are made."""
        result = self.result
        if not new:
            return
        if not kept:
            made = self.graph.copies(
                [node for words in result.outputs.values() for node in words],
                lambda node, args: new.get(node),
            )
            result.outputs = {
                path: tuple(made[node] for node in words) for path, words in result.outputs.items()
            }
        copied = iter(self.graph.copy(self._updated(), lambda node, args: new.get(node)))
        result.nexts = [next(copied) for _ in result.nexts]
        result.lane_nexts = {number: next(copied) for number in result.lane_nexts}
        result.events = [next(copied) for _ in result.events]
        for some in result.writes:
            for number, write in enumerate(some):
                address, enable, *rest = (next(copied) for _ in write.nodes)
                data = tuple(rest[: len(write.data)])
                mask = None if write.mask is None else tuple(rest[len(write.data) :])
                some[number] = Write(address, enable, data, mask)
        result.after = {
            path: tuple(next(copied) for _ in words) for path, words in result.after.items()
        }

    def _is_worth_keeping(self, node: Node) -> bool:
        if not node.args or node.op == "spread":
            return False
        return node.op == "read" or any(arg.args and arg.op != "spread" for arg in node.args)

    def _write(self, write: Write) -> Write:
        mask = None if write.mask is None else tuple(self._lane(node) for node in write.mask)
        data = tuple(self._lane(node) for node in write.data)
        return Write(self._lane(write.address), self._bit(write.enable, 0), data, mask)

    def _bit(self, node: Node, bit: int) -> Node:
        """A bit of a node, as a plane."""
        graph = self.graph
        if node.is_const:
            return graph.const(node.attr >> bit & 1)
        if bit >= node.width:
            return graph.zero
        if node in self._bits:
            return self._bits[node][bit]
        if self._partition.is_strap(node):
            return self._strap((*node.attr, bit))
        return graph.collect(graph.slice(self._lanes[node], bit, 1))

    def _strap(self, key: tuple[Path, int, int]) -> Node:
        if key not in self.result.straps:
            self.result.straps.append(key)
        return self.graph.plane("input", (*key, "plane"))

    def _lane(self, node: Node) -> Node:
        """A node in lanes."""
        graph = self.graph
        if node.is_const:
            return graph.const(node.attr)
        if node not in self._lanes:
            bits = self._bits[node]
            self._lanes[node] = graph.cat([(graph.spread(x), at) for at, x in enumerate(bits)])
        return self._lanes[node]

    def _input(self, node: Node) -> Node:
        port, word = node.attr
        return self.graph.input(self._same.get(port, port), word, node.width)

    def _as_lanes(self, node: Node) -> Node:
        graph = self.graph
        if node.op == "input":
            return self._input(node)
        if node.op == "register":
            return graph.register(node.attr, node.width)
        if node.op == "slice" and node.args[0] in self._bits:
            bits = self._bits[node.args[0]][node.attr : node.attr + node.width]
            return graph.cat([(graph.spread(x), at) for at, x in enumerate(bits)])
        return graph.rebuilt(node, [self._lane(arg) for arg in node.args])

    def _as_planes(self, node: Node) -> list[Node]:
        graph, width = self.graph, node.width
        if node.op in ("input", "register"):
            source = node.attr if isinstance(node.attr, tuple) else (node.attr,)
            return [graph.plane(node.op, (*source, bit, "plane")) for bit in range(width)]
        if node.op == "slice":
            return [self._bit(node.args[0], node.attr + bit) for bit in range(width)]
        if node.op == "cat":
            found = [graph.zero] * width
            for arg, at in zip(node.args, node.attr):
                for bit in range(arg.width):
                    found[at + bit] = graph.or_(found[at + bit], self._bit(arg, bit))
            return found
        if node.op == "mux":
            condition = self._bit(node.args[0], 0)
            both = [[self._bit(arg, bit) for arg in node.args[1:]] for bit in range(width)]
            return [graph.mux(condition, *pair) for pair in both]
        widest = max(width, *(arg.width for arg in node.args))
        pairs = [(self._bit(node.args[0], b), self._bit(node.args[1], b)) for b in range(widest)]
        match node.op:
            case "and" | "or" | "xor":
                gate = {"and": graph.and_, "or": graph.or_, "xor": graph.xor}[node.op]
                return [gate(*pair) for pair in pairs[:width]]
            case "eq":
                found_ = graph.one
                for pair in pairs:
                    found_ = graph.and_(found_, graph.eq(*pair))
                return [found_]
            case "ult":
                less = graph.zero
                for a, b in pairs:
                    less = graph.mux(graph.xor(a, b), b, less)
                return [less]
        return self._sum(pairs[:width], node.op == "sub")

    def _sum(self, pairs: Sequence[tuple[Node, Node]], minus: bool) -> list[Node]:
        graph = self.graph
        found, carry = [], graph.zero
        for a, b in pairs:
            differ = graph.xor(a, b)
            found.append(graph.xor(differ, carry))
            # Where the bits differ, b is borrowed, or what was carried is carried on.
            carry = graph.mux(differ, b, carry) if minus else graph.mux(differ, carry, a)
        return found
