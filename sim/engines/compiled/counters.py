"""Counters in planes: registers that only count, and that nothing reads while the clock runs.

The register stays in lanes. What is counted is added in `PENDING` planes, a few operations for many
cells, and from there to the register before they overflow, and when the clock stops.
"""

from collections.abc import Container
from typing import TYPE_CHECKING

from ....hdl.fabric.pins import Path
from .ir import Node
from .lowered_module import Module
from .word_graph import Graph

if TYPE_CHECKING:
    from .slices import Slices

__all__ = ["FLUSHED", "PENDING", "count_in_planes"]

PENDING = 4
"""Planes of a counter."""

FLUSHED = (1 << PENDING) - 1
"""Cycles after which they are added to the register."""


def count_in_planes(slices: "Slices", module: Module, read: Container[Path]) -> None:
    """Find the counters of a sliced module, of which some outputs are read by cells."""
    graph = slices.graph
    found = {
        number: bit
        for number, node in slices.lane_nexts.items()
        if number < len(module.registers)
        and (bit := _counted(node, number, module.registers[number].width)) is not None
    }
    late = [path for path, sources in module.depends.items() if sources]
    roots = [node for path in late for node in slices.outputs[path]]
    roots += [*slices.nexts, *slices.events, *found.values()]
    roots += [node for number, node in slices.lane_nexts.items() if number not in found]
    roots += [node for some in slices.writes for write in some for node in write.nodes]
    for path, words in slices.after.items():
        widths = module.widths[path]
        roots += [n for n, width in zip(words, widths) if width == 1 or path in read]
    used = {node.attr for node in Graph.cone(roots) if node.op == "register"}
    for number, bit in found.items():
        if number not in used:
            slices.counters.append(number)
            del slices.lane_nexts[number]
            carry = graph.collect(bit)
            for _ in range(PENDING):
                plane = graph.plane("register", ("pending", len(slices.pending), "plane"))
                slices.pending.append(graph.xor(plane, carry))
                carry = graph.and_(plane, carry)


def _counted(node: Node, number: int, width: int) -> Node | None:
    """The bit that the next value of a register adds to it."""
    bit, counters = None, []
    if node.op == "mux":
        bit, node, same = node.args
        counters.append(same)
    if node.op == "slice" and node.attr == 0 and node.width == width:
        node = node.args[0]
    if node.op != "add" or node.width < width:
        return None
    counter, more = node.args if node.args[0].width > 1 else node.args[::-1]
    if bit is None:
        bit = more
    elif not more.is_const or more.attr != 1:
        return None
    one_counter = all(
        each.op == "register" and each.attr == number for each in (*counters, counter)
    )
    return bit if one_counter and bit.width == 1 else None
