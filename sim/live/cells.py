"""What a page shows of the inside of a cell: queues, arbiters, and the state of its box.

All of it is found in the elaborated component: which of its parts are queues or arbiters, and which
signals, registers and memories they have.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from amaranth.hdl import Elaboratable, Shape
from amaranth.lib import data

from ...hdl.boxes.combining.queue import CombiningQueue
from ...hdl.boxes.combining.wait_buffer import WaitBuffer
from ...hdl.fabric.cell import CellType
from ...hdl.fabric.pins import Path
from ...hdl.families.connection_machine.buffer import Buffer
from ...hdl.primitives.arrival_queue import ArrivalQueue, row_order
from ...hdl.primitives.interchange_box import InterchangeBox
from ...hdl.primitives.lane_queue import LaneQueue
from ...hdl.primitives.round_robin import RoundRobin
from ..engines.amaranth_internals import component_design
from ..engines.compiled.ir import Node
from ..engines.compiled.lowered_module import Module
from ..engines.compiled.word_graph import Graph

__all__ = ["described", "fields"]


def fields(shape: Any, name: str = "", at: int = 0) -> list[tuple[str, int, int]]:
    """The parts of a layout: name (inner names after a dot), lowest bit, width."""
    if isinstance(shape, data.StructLayout):
        found = []
        for key, field in shape:
            inner = f"{name}.{key}" if name else str(key)
            found += fields(field.shape, inner, at + field.offset)
        return found
    if isinstance(shape, data.ArrayLayout):
        return [
            part
            for number, (_, field) in enumerate(shape)
            for part in fields(
                field.shape, f"{name}.{number}" if name else str(number), at + field.offset
            )
        ]
    width = Shape.cast(shape).width
    return [(name, at, width)] if width else []


def _parts(type_: CellType) -> dict[str, Elaboratable]:
    """The parts of a component by their hierarchical names, itself included."""
    design = component_design(type_.build(), type_.name)
    found: dict[str, Elaboratable] = {}
    for fragment, info in design.fragments.items():
        origins = getattr(fragment, "origins", None)
        if origins:
            found[".".join(info.name[1:])] = origins[0]
    return found


class _Cell:
    """The signals of a cell type, and the operations from which the page computes them."""

    def __init__(self, type_: CellType, module: Module) -> None:
        self.module = module
        self.parts = _parts(type_)
        self.names = set(module.signal_names)
        self.memories = {memory.name: n for n, memory in enumerate(module.memories)}
        self.numbers: dict[Node, int] = {}
        self.nodes: list[list[Any]] = []

    def signal(self, name: str) -> dict[str, Any]:
        """A signal: the operations of its words, and its width."""
        words, width = self.module.signals(name)
        return {"words": self._add(words), "width": width} if width else {"words": [], "width": 0}

    def _add(self, words: Iterable[Node]) -> list[int]:
        words = list(words)
        for node in Graph.cone(words):
            if node in self.numbers:
                continue
            attr = node.attr
            if node.op == "input":
                path, word = attr
                attr = [".".join(map(str, path)), word]
            self.numbers[node] = len(self.nodes)
            self.nodes.append([node.op, node.width, attr, *(self.numbers[a] for a in node.args)])
        return [self.numbers[node] for node in words]

    def registers(self, name: str) -> frozenset[int]:
        """The registers that a signal depends on."""
        if name not in self.names:
            return frozenset()
        words, _ = self.module.signals(name)
        return frozenset(n.attr for n in Graph.cone(words) if n.op == "register")


def described(type_: CellType, module: Module, names: Iterable[str] = ()) -> dict[str, Any]:
    """What a page shows of the cells of a type, as JSON; and some signals by their names."""
    cell = _Cell(type_, module)
    queues = list(_queues(cell))
    arbiters = [
        {
            "name": name,
            "kind": type(part).__name__,
            "request": cell.signal(f"{name}.request"),
            "granted": cell.signal(f"{name}.granted"),
            "turn": cell.signal(f"{name}.turn"),
        }
        for name, part in cell.parts.items()
        if isinstance(part, RoundRobin) and part.count > 1 and f"{name}.turn" in cell.names
    ]
    states = [
        {"name": name, "signal": cell.signal(f"{name}.state")}
        for name, part in cell.parts.items()
        if isinstance(part, InterchangeBox)
        and part.has_state
        and f"{name}.state" in cell.names
        and not isinstance(cell.parts.get(name.rpartition(".")[0]), ArrivalQueue)
    ]
    kind = type_.component.__name__
    text = (type_.component.__doc__ or "").strip().split("\n\n")[0]
    return {
        "kind": kind,
        "about": " ".join(text.split()),
        "queues": queues,
        "arbiters": arbiters,
        "states": states,
        "late": _late(module),
        "signals": {name: cell.signal(name) for name in names},
        "nodes": cell.nodes,
    }


def _late(module: Module) -> dict[str, int]:
    """The counters that are one cycle behind: of each such output the register of one bit that is
    added to it in the next cycle, whatever arrives."""
    found = {}
    for path, (word, *_) in module.outputs.items():
        if word.op != "register":
            continue
        cone = list(Graph.cone([module.registers[word.attr].next]))
        others = {n.attr for n in cone if n.op == "register"} - {word.attr}
        added = all(n.op in ("register", "const", "add", "slice", "cat") for n in cone)
        if added and [module.registers[n].width for n in others] == [1]:
            found[".".join(map(str, path))] = others.pop()
    return found


def _queues(cell: _Cell) -> Iterator[dict[str, Any]]:
    found = []
    for name, part in cell.parts.items():
        prefix = f"{name}." if name else ""
        if isinstance(part, ArrivalQueue):
            level, items, depth = f"{prefix}level", _arrival(cell, prefix, part), part.depth
        elif isinstance(part, LaneQueue):
            level, depth = f"{prefix}level", part.depth
            items = {"slots": [cell.signal(f"{prefix}slot_{n}") for n in range(depth)]}
            items["fields"] = fields(part.shape)
        elif isinstance(part, CombiningQueue):
            level, depth = f"{prefix}level", part.depth
            items = _combining(cell, prefix, part)
        elif isinstance(part, WaitBuffer):
            level, depth, items = f"{prefix}used", part.size, _records(cell, prefix, part)
        elif isinstance(part, Buffer):
            level, depth = f"{prefix}level", part.buffers
            slots = [cell.signal(f"{prefix}o__{n}") for n in range(depth)]
            items = {"slots": slots, "fields": fields(part.signature.members["o"].shape)}
            items["flag"] = next(at for key, at, _ in items["fields"] if key == "valid")
        else:
            continue
        found.append((name, part, level, depth, items))
    levels = [cell.registers(level) for _, _, level, _, _ in found]
    ends = [
        (path, [level for level in levels if level and level <= registers])
        for path, registers in _ends(cell.module)
    ]
    for (name, part, level, depth, items), own in zip(found, levels):
        ports = [path for path, those in ends if those == [own]]
        yield {
            "name": name,
            "kind": type(part).__name__,
            "depth": depth,
            "level": cell.signal(level),
            "ones": isinstance(part, WaitBuffer),
            # The interface whose handshake depends on the level of this queue and of no other.
            "port": ".".join(map(str, ports[0])) if ports else None,
            **items,
        }


def _ends(module: Module) -> list[tuple[Path, frozenset[int]]]:
    """The handshakes of a cell that it drives, and the registers that each depends on."""
    return [
        (path[:-1], frozenset(n.attr for n in Graph.cone(words) if n.op == "register"))
        for path, words in module.outputs.items()
        if path[-1] in ("valid", "ready")
    ]


def _arrival(cell: _Cell, prefix: str, queue: ArrivalQueue) -> dict[str, Any]:
    """Where the packets of a queue are, from its head on."""
    about: dict[str, Any] = {"fields": fields(queue.shape)}
    banks: list[int] = []
    while f"{prefix}bank_{len(banks)}" in cell.memories:
        banks.append(cell.memories[f"{prefix}bank_{len(banks)}"])
    if not banks:
        registers = [f"{prefix}{name}" for name in ("place", "head", "spare")]
        slots = [cell.signal(name) for name in registers if name in cell.names]
        return {**about, "slots": slots} if slots else about
    about["banks"] = banks
    about["order"] = row_order(cell.module.memories[banks[0]].rows)
    for name in ("head_bank", "head_row"):
        full = f"{prefix}{name}"
        about[name] = cell.signal(full) if full in cell.names else {"words": [], "width": 0}
    own: list[int] = []
    while f"{prefix}memory_{len(own)}" in cell.memories:
        own.append(cell.memories[f"{prefix}memory_{len(own)}"])
    if own:
        about["own"] = own
    return about


def _records(cell: _Cell, prefix: str, buffer: WaitBuffer) -> dict[str, Any]:
    """The records of a wait buffer: rows of a memory, each with a key in a register."""
    key, record = (buffer.signature.members[name].shape for name in ("key", "record"))
    width = Shape.cast(record).width
    return {
        "records": cell.memories[f"{prefix}records"],
        "keys": [cell.signal(f"{prefix}key_{row}") for row in range(buffer.size)],
        "width": width,
        "fields": fields(record) + fields(key, "for", width),
    }


def _combining(cell: _Cell, prefix: str, queue: CombiningQueue) -> dict[str, Any]:
    """The requests of a combining queue; each is in three registers."""
    members = queue.link.request_layout.members
    parts = ("name", "address", "work")
    slots = [[cell.signal(f"{prefix}{part}_{n}") for part in parts] for n in range(queue.depth)]
    layout = data.StructLayout(
        {
            "tag": members["tag"],
            "identity": members["identity"],
            "address": members["address"],
            "operation": members["operation"],
            "operand": members["operand"],
            "merged": 1,
        }
    )
    return {"joined": slots, "fields": fields(layout)}
