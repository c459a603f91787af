"""The memory of the compiled engine for a page: its tables, and the C that declares them."""

import zlib
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.pins import Pin
from ..engines.compiled.emit_c import DRIVER, HALF, LANES, STRUCTURES, element_bytes
from ..engines.compiled.program import Group, lowered_types
from ..engines.compiled.tables import Tables
from ..engines.compiled.words import word_count, word_widths
from .wasm import Unit, webassembly

__all__ = ["Entry", "Image", "Table"]


class Table(NamedTuple):
    """An array of the engine's memory.

    Attributes
    ----------
    name : str
        Its name in C.
    bytes : int
    contents : np.ndarray or None
        What it holds at first; None if it is all zeros, and not part of the page.
    """

    name: str
    bytes: int
    contents: np.ndarray | None = None


class Entry(NamedTuple):
    """A link by which packets of several flits enter a network: their headers are kept.

    Attributes
    ----------
    link : int
        Its number among the links.
    payload : Pin
    width : int
        Of the payload.
    last : int
        The bit of the payload that is 1 in the last flit of a packet.
    """

    link: int
    payload: Pin
    width: int
    last: int


KEPT = 32
"""So many packets of each entry have their headers kept."""


class Image:
    """A fabric as a program in WebAssembly, and the first contents of its memory.

    The C of the cell types is that of the compiled engine. Its structures have pointers, which are
    shorter in WebAssembly: a small C program declares the tables and fills the structures, and the
    page copies the contents to the addresses that it asks for.

    Parameters
    ----------
    fabric : Fabric
    links : Sequence[tuple[Pin, Pin]]
        The outputs whose handshakes are counted in each cycle: the pins of valid and of ready.
    entries : Sequence[Entry]

    Raises
    ------
    UnsupportedConstruct, CombinationalLoop
        As for `CompiledEngine`.
    """

    def __init__(
        self, fabric: Fabric, links: Sequence[tuple[Pin, Pin]], entries: Sequence[Entry] = ()
    ) -> None:
        fabric.check()
        self.fabric = fabric
        self.links = links
        self.entries = entries
        self.header_words = max((word_count(entry.width) for entry in entries), default=0)
        modules, plan = lowered_types(fabric)
        self.engine_tables = Tables([fabric], modules, plan)
        self.engine_tables.fill()

    @cached_property
    def tables(self) -> list[Table]:
        """All tables, in the order of their numbers in the program."""
        wires = 4 * self.engine_tables.wire_count
        counts = 4 * len(self.links)
        tables = [Table("now", wires), Table("next", wires)]
        tables += [Table("crossed", counts), Table("refused", counts)]
        kept = KEPT * (1 + self.header_words)
        entries = len(self.entries)
        tables += [Table("headers", 4 * entries * kept), Table("begun", 4 * entries)]
        tables.append(Table("amid", 4 * entries))
        for number, group in enumerate(self.engine_tables.groups):
            for name in ("state", "index", "straps", "live"):
                array = getattr(group, name)
                tables.append(Table(f"{name}_{number}", array.nbytes, array))
            for memory, rows in group.memories.items():
                contents = rows if rows.any() else None
                tables.append(Table(f"memory_{number}_{memory}", rows.nbytes, contents))
        return tables

    def contents(self) -> bytes:
        """The contents of all tables that have some, one after the other, compressed (zlib)."""
        parts = (each.contents for each in self.tables if each.contents is not None)
        return zlib.compress(b"".join(np.ascontiguousarray(part).tobytes() for part in parts), 9)

    def program(self) -> bytes:
        """The WebAssembly module.

        Raises
        ------
        NoCompiler, CompilerFailed
        """
        program = self.engine_tables.program
        driver = DRIVER + files(__package__).joinpath("live.c").read_text("utf-8")
        units = {"driver": Unit(driver), "tables": Unit(STRUCTURES + self._declarations())}
        for number, source in enumerate(program.sources):
            names = ["publish", "update", *(f"late_{n}" for n in range(program.late[number]))]
            units[f"type_{number}"] = Unit(source, tuple(f"-D{n}={n}_{number}" for n in names))
        return webassembly(units)

    def _declarations(self) -> str:
        """The C program that declares the tables, and the structures that refer to them."""
        groups, program = self.engine_tables.groups, self.engine_tables.program
        lines = [
            f"_Alignas(64) static unsigned char {each.name}[{max(each.bytes, 1)}];"
            for each in self.tables
            if each.name not in ("crossed", "refused", "headers", "begun", "amid")
        ]
        counts = {
            each.name: max(each.bytes // 4, 1)
            for each in self.tables
            if each.name in ("crossed", "refused", "headers", "begun", "amid")
        }
        lines += [f"uint32_t {name}[{count}];" for name, count in counts.items()]
        types = []
        for number, group in enumerate(groups):
            lines.append(f"void publish_{number}(Context *, const Type *);")
            lines += [
                f"void {name}_{number}(Context *, const Type *, long, long);"
                for name in ("update", *(f"late_{n}" for n in range(program.late[number])))
            ]
            memories = ", ".join(
                f"memory_{number}_{n}" if n in group.memories else "0"
                for n in range(len(group.module.memories))
            )
            lines.append(f"static void *const memories_{number}[] = {{{memories or 0}}};")
            types.append(
                f"{{publish_{number}, update_{number}, {group.cells}, (void *)state_{number}, "
                f"(void *)index_{number}, (void *)straps_{number}, memories_{number}, "
                f"(void *)live_{number}, {group.first_wire}}}"
            )
        tasks = [
            f"{{late_{task.function}_{task.type}, types + {task.type}, {task.begin}, {task.end}}}"
            for task in program.tasks
        ]
        watched = [f"{{{self.wire(valid)}, {self.wire(ready)}}}" for valid, ready in self.links]
        lines += [
            _array("static const Type types[]", types),
            _array("static const Task tasks[]", tasks or ["{0, 0, 0, 0}"]),
            _array("const int32_t watched[][2]", watched or ["{0, 0}"]),
            f"const long watched_count = {len(self.links)};",
            _array("const int32_t entries[]", [self._entry(each) for each in self.entries] or "0"),
            f"const long entry_count = {len(self.entries)}, header_words = {self.header_words}, "
            f"kept = {KEPT};",
            f"Context context = {{(void *)now, (void *)next, types, {len(types)}, tasks, "
            f"{len(tasks)}, 0, -1, 0}};",
            _array("void *const tables[]", [each.name for each in self.tables]),
        ]
        return "\n".join(lines) + "\n"

    def _entry(self, entry: Entry) -> str:
        """The link of an entry, the place of the mark of the last flit, and the wires."""
        count = word_count(entry.width)
        wires = [self.wire(entry.payload, min(n, count - 1)) for n in range(self.header_words)]
        last = self.wire(entry.payload, entry.last // 32)
        return ", ".join(map(str, (entry.link, last, entry.last % 32, *wires)))

    # Where things are

    def wire(self, pin: Pin, word: int = 0) -> int:
        """The number of the wire that a leaf has, or that drives it; 0, which is never 1, if it is
        strapped to 0."""
        driver = self.fabric.drivers.get(pin, pin)
        return self.engine_tables.wire(0, driver, word)

    def group_of(self, cell: str) -> int:
        """The number of the group of a cell."""
        type_ = self.fabric.cells[cell].type
        return next(n for n, group in enumerate(self.engine_tables.groups) if group.type == type_)

    def about(self) -> dict[str, Any]:
        """What the page must know of the memory, as JSON."""
        boundary = {
            ".".join(map(str, path)): [base, widths]
            for path, (base, widths) in self.engine_tables.boundary.items()
        }
        return {
            "lanes": LANES,
            "half": HALF,
            "kept": KEPT,
            "header_words": self.header_words,
            "wires": self.engine_tables.wire_count,
            "tables": [[each.name, each.bytes, each.contents is not None] for each in self.tables],
            "boundary": boundary,
            "groups": [_group(self.engine_tables, group) for group in self.engine_tables.groups],
        }


def _array(declaration: str, items: Sequence[str]) -> str:
    return f"{declaration} = {{\n" + ",\n".join(items) + "\n};"


def _group(tables: Tables, group: Group) -> dict[str, Any]:
    module = group.module
    return {
        "type": group.type.name,
        "cells": [place and place[1] for place in tables.names(group)],
        "first": group.first_wire,
        "registers": [register.width for register in module.registers],
        "outputs": _ports(group.outputs, {p: sum(w) for p, w in module.widths.items()}),
        "inputs": _ports(group.inputs, module.inputs),
        "rows": [len(group.outputs), len(group.inputs)],
        "pairs": [row for row, kind in enumerate(group.kinds) if kind == "pair"],
        "memories": [
            {
                "name": memory.name,
                "width": memory.width,
                "rows": memory.rows,
                "words": len(word_widths(memory.width)),
                "bytes": element_bytes(memory.width),
                "registers": memory.registers,
            }
            for memory in module.memories
        ],
    }


def _ports(rows: Sequence[tuple[tuple, int]], widths: Any) -> dict[str, list[int]]:
    """Of each port: the first of its rows, and its width."""
    return {
        ".".join(map(str, path)): [row, widths[path]]
        for row, (path, word) in enumerate(rows)
        if word == 0
    }
