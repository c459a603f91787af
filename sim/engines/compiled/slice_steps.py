"""Orders the operations of a function of a sliced type in steps: planes, lanes, planes, ..."""

from collections.abc import Container
from itertools import chain

from ....hdl.fabric.pins import Path
from .ir import Node
from .slices import Slices, plane_nodes
from .word_graph import Graph

__all__ = ["Steps"]

_BYTE = 3
"""So many bits of one byte, and more, are collected as bytes first."""


class Steps:
    """What a function stores, and in which step each operation is done.

    Planes are computed in even steps, lanes in odd ones.

    Parameters
    ----------
    slices : Slices

    Attributes
    ----------
    stores : list[tuple[int, Node]]
        Planes to be stored, by row.
    lane_stores : list[tuple[Path, int, Node]]
        Outputs to be stored in lanes.
    states : list[tuple[int, Node]]
        Registers to be stored in lanes.
    kept : list[tuple[int, Node]]
        What is kept in lanes for the update.
    events : list[Node]
        Planes.
    writing : bool
        Whether memories are written.
    """

    def __init__(self, slices: Slices) -> None:
        self.slices = slices
        self.stores: list[tuple[int, Node]] = []
        self.lane_stores: list[tuple[Path, int, Node]] = []
        self.states: list[tuple[int, Node]] = []
        self.kept: list[tuple[int, Node]] = []
        self.events: list[Node] = []
        self.writing = False

    def plan(self) -> None:
        """Find the step of each node: planes in even ones, lanes in odd ones."""
        writes = self.slices.writes if self.writing else []
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
        self.state_steps = {number: self.first_step(node) for number, node in self.states}
        for _ in range(2):  # where old values are used is known after the first time
            self._move_late(waits)
            self._keep_registers()
        self._find_bytes()
        events = [self.step[node] for node in self.events if not node.is_const]
        self.event_step = max(events, default=0)
        self.last_step = max(
            [
                self.event_step,
                *self.step.values(),
                *self.state_steps.values(),
                *(self.first_step(node) for *_, node in self.lane_stores + self.kept),
                *chain.from_iterable(self.write_steps),
            ]
        )

    def _keep_registers(self) -> None:
        """Find the step that stores each register in lanes: none that uses the old one is later."""
        used: list[tuple[Node, int]] = []
        for node in self.cone:
            used += [(arg, self._use_step(node)) for arg in node.args]
        if self.writing:
            for some, steps in zip(self.slices.writes, self.write_steps):
                used += [(node, at) for write, at in zip(some, steps) for node in write.nodes]
        used += [(node, self.first_step(node)) for *_, node in self.lane_stores + self.kept]
        states = {number: self.first_step(node) for number, node in self.states}
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

    def first_step(self, node: Node) -> int:
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

        # The next value of a register is stored where it is used besides.
        others = {arg for node in self.cone if node not in self.in_planes for arg in node.args}
        for number, node in self.states:
            if node not in others:
                used(node, self.state_steps[number])
        for *_, node in self.lane_stores + self.kept:
            if not node.is_const:
                used(node, self._lane_step(node))
        if self.writing:
            for some, steps in zip(self.slices.writes, self.write_steps):
                for write, step in zip(some, steps):
                    for node in write.nodes:
                        used(node, step)
        for node in reversed(self.cone):
            if node not in self.in_planes and node not in fixed and node.op != "read":
                self.step[node] = max(self.step[node], last.get(node, self.step[node]))
            step = self._use_step(node)
            for arg in node.args:
                used(arg, step)
