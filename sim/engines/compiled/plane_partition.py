"""Chooses which values of a module are planes and which are lanes, by their costs.

It is a minimum cut: a value that is a plane is on one side, one in lanes on the other, and what is
cut are the costs of the operations and of the conversions.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from ....hdl.fabric.pins import Path
from .ir import Node
from .lowered_module import Module
from .word_graph import Graph

__all__ = ["WIDE_PLANE", "Partition"]

WIDE_PLANE = 4
"""Words of a plane that are computed at a time where there are cells enough."""

_WIDEST = 16
"""Bits of the widest word that can be planes."""

_LANES = 32
"""Cost of an operation in the lanes of 64 cells: four vectors of two steps, or eight of one."""

_SPREAD = 48
_COLLECT = 48
_COLLECT_MORE = 20
"""Costs of the conversion of a bit in 64 cells: from planes, to planes, and of each one of several
bits of a word."""

_PLANES = {1: 4, WIDE_PLANE: 1}
"""By the words of a plane: the cost of an operation on a bit in 64 cells."""

_FOREVER = 1 << 30


def _roots(module: Module) -> Iterable[Node]:
    for words in module.outputs.values():
        yield from words
    for register in module.registers:
        yield register.next
    for memory in module.memories:
        for write in memory.writes:
            yield from write.nodes
    for event in module.events:
        yield event.hit


class Partition:
    """Which nodes of a module's graph are planes.

    Parameters
    ----------
    module : Module
    words : int
        Of a plane that are computed at a time.
    straps : frozenset[Path]
        Inputs whose bits are constants of each cell.
    single : frozenset[Path]
        Inputs of single bits that are planes.
    """

    def __init__(
        self, module: Module, words: int, straps: frozenset[Path], single: frozenset[Path]
    ) -> None:
        self.module, self.straps, self.single = module, straps, single
        self.cone = [node for node in Graph.cone(_roots(module)) if not node.is_const]
        self._plane = _PLANES[words]
        self._edges: list[tuple[int, int, int]] = []
        # 0 is the side of the planes, 1 that of the lanes.
        self._place = {node: 2 + number for number, node in enumerate(self.cone)}
        self._count = 2 + len(self.cone)
        self.lanes_only = 0
        users: dict[Node, list[int]] = {}
        taken: dict[Node, int] = {}
        for node in self.cone:
            if node.op == "slice":
                taken[node.args[0]] = taken.get(node.args[0], 0) + node.width
        for node in self.cone:
            place = self._place[node]
            planes, lanes = self._costs(node)
            self.lanes_only += 2 * _LANES if node.op == "input" else lanes
            self._edges += [(place, 1, planes), (0, place, lanes)]
            for arg in node.args:
                if self.is_strap(arg):
                    continue
                if node.op == "slice":  # only the bits that it takes are converted
                    bits = node.width
                    self._edges.append((self._place[arg], place, bits * (_SPREAD + _LANES)))
                    each = _COLLECT if taken[arg] < 3 else _COLLECT_MORE
                    self._edges.append((place, self._place[arg], bits * each))
                elif not arg.is_const:
                    users.setdefault(arg, []).append(place)
        self.registers = {node.attr: node for node in self.cone if node.op == "register"}
        for number, node in self.registers.items():
            self._used(users, module.registers[number].next, self._place[node])
        for words_ in module.outputs.values():
            for node in words_:
                self._used(users, node, 0 if node.width == 1 else 1)
        for memory in module.memories:
            for write in memory.writes:
                self._used(users, write.enable, 0)
                for node in (write.address, *write.data, *(write.mask or ())):
                    self._used(users, node, 1)
        for event in module.events:
            self._used(users, event.hit, 0)
        for node, places in users.items():
            self._convert(node, sorted(set(places)))
        self.cost, self.planes = self._cut()

    def _used(self, users: dict[Node, list[int]], node: Node, place: int) -> None:
        if not node.is_const and not self.is_strap(node):
            users.setdefault(node, []).append(place)

    def _convert(self, node: Node, users: Sequence[int]) -> None:
        """Costs if a value is on one side and some that use it are on the other."""
        place, width = self._place[node], node.width
        spread, collect = self._count, self._count + 1
        self._count += 2
        to_lanes = width * (_SPREAD if width == 1 else _SPREAD + _LANES)
        to_planes = width * (_COLLECT if width < 3 else _COLLECT_MORE)
        self._edges += [(place, spread, to_lanes), (collect, place, to_planes)]
        for user in users:
            if user != 0:
                self._edges.append((spread, user, _FOREVER))
            if user != 1:
                self._edges.append((user, collect, _FOREVER))

    def is_strap(self, node: Node) -> bool:
        """Whether a node is a constant of each cell, which has both forms."""
        return node.op == "input" and node.attr[0] in self.straps and node.width <= _WIDEST

    def _costs(self, node: Node) -> tuple[int, int]:
        """The costs of a node as planes and in lanes."""
        width, plane = node.width, self._plane
        lanes = _LANES
        if node.op == "input":
            if self.is_strap(node):
                return 0, 0
            return (8, _FOREVER) if node.attr[0] in self.single else (_FOREVER, 2 * _LANES)
        if node.op == "register":
            return (_FOREVER if width > _WIDEST else 3 * plane * width), 2 * _LANES
        if node.op == "slice":
            return (_FOREVER if width > _WIDEST else 0), _LANES + _LANES // 2
        if node.op == "read":
            return _FOREVER, 16 * _LANES
        numbers = [arg for arg in node.args if not arg.is_const]
        widest = max(arg.width for arg in node.args)
        bits = sum(arg.width for arg in numbers)
        match node.op:
            case "and" | "or" | "xor":
                planes = width
            case "mux":
                planes = 3 * width
                lanes += _LANES // 2
            case "eq":
                planes = bits + len(numbers) - 1
            case "ult":
                planes = 2 * bits
            case "add" | "sub":
                planes = 2 * bits + len(numbers) * width
            case "cat":
                planes = 0
                lanes *= 2 * len(node.args) - 1
            case _:
                return _FOREVER, 4 * _LANES
        if width > _WIDEST or (node.op in ("eq", "ult") and widest > _WIDEST):
            return _FOREVER, lanes
        return plane * planes, lanes

    def _cut(self) -> tuple[int, set[Node]]:
        if not self._edges:  # a module without logic
            return 0, set()
        # As slow to import as Amaranth.
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import breadth_first_order, maximum_flow

        rows, columns, capacities = np.array(self._edges, np.int64).T
        graph = coo_array(
            (np.minimum(capacities, _FOREVER).astype(np.int32), (rows, columns)),
            shape=(self._count, self._count),
        ).tocsr()
        graph.sum_duplicates()
        graph.data = np.minimum(graph.data, _FOREVER).astype(np.int32)
        found = maximum_flow(graph, 0, 1)
        left = graph - found.flow
        left.data = np.maximum(left.data, 0)
        left.eliminate_zeros()
        reached = set(breadth_first_order(left, 0, return_predecessors=False).tolist())
        planes = {node for node in self.cone if self._place[node] in reached}
        return int(found.flow_value), planes
