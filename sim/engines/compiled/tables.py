"""The tables that the generated code works on: states, wires, and which wire each input reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.lib.wiring import In

from ....hdl.fabric.cell import Cell, CellType
from ....hdl.fabric.digest import Digest
from ....hdl.fabric.errors import InvalidValue
from ....hdl.fabric.fabric import Fabric
from ....hdl.fabric.pins import Path, Pin
from .emit_c import HALF, LANES, InputKind, element_bytes
from .emit_slices import TURNED
from .ir import WORD
from .lowered_module import Module
from .planes import arranged, slicing, terms_of
from .program import Group, Program, whole_vectors
from .schedule import Schedule
from .slices import PLANE
from .words import word_widths

__all__ = ["Tables", "aligned", "lane_word", "ones", "reading"]

_MOST_IN_PAIRS = 1 << 29
"""Wires whose addresses, in bytes, fit an index."""

_PLANES_ALIGNED = 8
"""Words to a multiple of which the planes of each type begin."""


def lane_word(value: int, word: int, width: int) -> int:
    """A word of a value as wires and registers hold it: a single bit is a mask."""
    part = value >> WORD * word & ones(width)
    return -part & 0xFFFFFFFF if width == 1 else part


def ones(width: int) -> int:
    """The number whose bits are all 1."""
    return (1 << width) - 1


def aligned(shape: int | tuple[int, ...], kind: type | np.dtype) -> np.ndarray:
    """An array of zeros that begins at a multiple of 64 bytes.

    Behind wires is room for what lanes without a cell read there, see `reading`.
    """
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64 + 4 * LANES, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)


@dataclass(frozen=True)
class _Drivers:
    """Wires of one output, in many cells.

    Attributes
    ----------
    numbers : np.ndarray
        Positions, within a group, of the cells that they drive.
    first : list[int]
        By word: number of the wire of the first cell.
    offsets : np.ndarray
        Offset from it to the wire that drives each of the cells.
    """

    numbers: np.ndarray
    first: list[int]
    offsets: np.ndarray


class Tables:
    """The tables of some runs of a fabric whose cells share vectors.

    Parameters
    ----------
    fabrics : Sequence[Fabric]
        One per run; they differ only in straps and contents of memories.
    modules : Mapping[CellType, Module]
    plan : Schedule
    planes : bool
        Whether types of many cells with single bits are sliced; see `slices`.

    Attributes
    ----------
    groups : list[Group]
        The cells of each type.
    boundary : dict[Path, tuple[int, list[int]]]
        The first wire of each input of the fabric, and the widths of its words.
    wire_count : int
    plane_words : int
        Words of all planes.
    program : Program
        Once the tables are filled.
    """

    def __init__(
        self,
        fabrics: Sequence[Fabric],
        modules: Mapping[CellType, Module],
        plan: Schedule,
        *,
        planes: bool = False,
    ) -> None:
        self.fabrics = fabrics
        self.fabric = fabrics[0]
        self.runs = len(fabrics)
        self._plan = plan
        self._groups: dict[CellType, Group] = {}
        slices = slicing(self.fabric, modules, plan, self.runs) if planes else {}
        for type_, module in modules.items():
            group = Group(type_, module, plan.classes[type_], slices.get(type_))
            self._groups[type_] = group
            group.arrange(self.runs)
        self.groups = list(self._groups.values())
        # By cell: its group, -1 for the boundary; by run and cell: its position in the group.
        cells = len(self.fabric.drivers.cells)
        self._group_of = np.full(cells, -1, np.int32)
        self._places = np.full((self.runs, cells), -1, np.int32)
        for number, group in enumerate(self.groups):
            cell = group.numbers[group.used]
            self._group_of[cell] = number
            self._places[group.run_of[group.used], cell] = group.used
        self._lay_wires()

    def fill(self) -> None:
        """Allocate and fill the tables but for the wires, and write the program."""
        for group in self.groups:
            self._fill(group)
        self.program = Program.of(self.groups, self._plan)

    def _lay_wires(self) -> None:
        """Number all wires: first those of the boundary's inputs, then those of the cells."""
        count = LANES  # wire 0 is always 0
        self.boundary: dict[Path, tuple[int, list[int]]] = {}
        for path, leaf in self.fabric.boundary.items():
            if leaf.flow == In:
                widths = word_widths(leaf.width)
                self.boundary[path] = count, widths
                count += len(widths) * self.runs
        count = whole_vectors(count)
        for group in self.groups:
            group.first_wire = count
            count += group.cells * len(group.outputs)
        self.wire_count = count
        count = 0
        for group in self.groups:
            if group.slices is not None:
                group.first_plane = whole_vectors(count, _PLANES_ALIGNED)
                count = group.first_plane + group.cells // PLANE * group.plane_count
        self.plane_words = count

    def wire(self, run: int, driver: Pin, word: int) -> int:
        if driver.cell is None:
            base, _ = self.boundary[driver.path]
            return base + word * self.runs + run
        group = self._groups[self.fabric.cells[driver.cell].type]
        return group.wire(driver.path, word, self.place(run, driver.cell))

    def place(self, run: int, cell: str) -> int:
        """The position of a cell in its group."""
        return int(self._places[run, self.fabric.drivers.cells.numbers[cell]])

    def group(self, cell: str) -> Group:
        """All cells of the type of this one."""
        return self._groups[self.fabric.cells[cell].type]

    def width(self, driver: Pin) -> int:
        """The width of a pin that drives a wire."""
        leaves = (
            self.fabric.boundary
            if driver.cell is None
            else self.fabric.cells[driver.cell].type.leaves
        )
        return leaves[driver.path].width

    def names(self, group: Group) -> list[tuple[int, str] | None]:
        """Run and name of the cell at each position of a group; None at positions without one."""
        known = self.fabric.drivers.cells.things
        owners = zip(group.run_of.tolist(), group.numbers.tolist())
        return [(run, str(known[cell])) if cell >= 0 else None for run, cell in owners]

    @property
    def bytes(self) -> int:
        """Bytes of memory that the tables take."""
        total = 8 * self.wire_count + 16 * self.plane_words
        for group in self.groups:
            total += 4 * group.cells * (len(group.module.registers) + 2 * len(group.inputs))
            for memory in group.module.memories:
                if memory.registers is None:
                    words = len(word_widths(memory.width))
                    size = element_bytes(memory.width)
                    total += group.cells * memory.rows * words * size
        return total

    def identity(self) -> str:
        """The digest of the runs: names of cells, logic of their types, wires, straps, contents."""
        known = Digest(self.program.sources, self.runs, [*self.boundary.items()])
        for group in self.groups:
            module = group.module
            known.add(group.type.name, self.names(group))
            known.add([*module.inputs.items()], [*module.widths.items()])
            known.add([(register.width, register.init) for register in module.registers])
            for memory in module.memories:
                known.add(memory.name, memory.width, memory.rows, memory.init)
            known.add(group.index, group.straps)
            known.add([cell.contents for cell in self._cells(group) if cell.contents])
        return str(known)

    def _fill(self, group: Group) -> None:
        module, cells = group.module, group.cells
        vectors = cells // LANES
        group.state = aligned((vectors, len(module.registers), LANES), np.uint32)
        for number, register in enumerate(module.registers):
            group.state[:, number] = lane_word(register.init, 0, register.width)
        group.index = aligned((vectors, len(group.inputs), LANES), np.int32)
        group.straps = aligned((vectors, len(group.inputs), LANES), np.uint32)
        group.live = aligned(cells, np.uint32)
        group.live[group.used] = 0xFFFFFFFF
        for number, memory in enumerate(module.memories):
            if memory.registers is not None:
                continue
            words = len(word_widths(memory.width))
            kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes(memory.width)]
            array = aligned((cells, memory.rows, words), kind)
            if any(memory.init):  # pages that are not written need no memory
                array[:] = _rows(memory.init, words)
            group.memories[number] = array
        here = self._cells(group)
        for place, cell in zip(group.used.tolist(), here):
            for memory_name, rows in cell.contents.items():
                self._set_contents(group, place, memory_name, rows)
        self._connect(group, here)
        if group.slices is not None:
            self._fill_planes(group, here)

    def _cells(self, group: Group) -> list[Cell]:
        """The cell at each position of a group that has one."""
        things = self.fabric.drivers.cells.things
        names: Any = map(things.__getitem__, group.numbers[group.used].tolist())
        if self.runs == 1:
            return list(map(self.fabric.cells.__getitem__, names))
        return [self.fabrics[run].cells[name] for run, name in zip(group.run_of[group.used], names)]

    def _connect(self, group: Group, cells: Sequence[Cell]) -> None:
        """Record the source of each input of each cell: a strap's value, or a wire's number.

        All cells are handled at once for each path and word: there can be hundreds of thousands.
        """
        vectors, lanes = np.divmod(group.used, LANES)
        kinds = []
        drivers: dict[Path, list[_Drivers]] = {}
        strapped = cells[0].straps
        for row, (path, word) in enumerate(group.inputs):
            port = str(path[0])
            if port in strapped:
                width = word_widths(group.module.inputs[path])[word]
                group.straps[vectors, row, lanes] = [
                    lane_word(cell.straps[port], word, width) for cell in cells
                ]
                kinds.append("strap")
                continue
            if group.slices is not None and self._is_plane(group, path):
                kinds.append(TURNED)
                continue
            if path not in drivers:
                drivers[path] = list(self._drivers(group, path))
            for some in drivers[path]:
                wires = some.first[word] + some.offsets
                group.index[vectors[some.numbers], row, lanes[some.numbers]] = wires
            kind, group.index[:, row] = reading(group.index[:, row], group.live)
            kinds.append(kind)
        group.kinds = tuple(kinds)

    def _is_plane(self, group: Group, path: Path) -> bool:
        """Whether all that drives an input of a sliced type are planes, and not one wire."""
        assert group.slices is not None
        if path not in group.slices.single:
            return False
        cells, outputs = self.fabric.drivers.of(group.numbers[group.used], path)
        one_wire = self.runs == 1 and bool(np.all((cells == cells[0]) & (outputs == outputs[0])))
        return not one_wire

    def _fill_planes(self, group: Group, cells: Sequence[Cell]) -> None:
        """The terms of inputs that are planes, and the planes of straps."""
        slices = group.slices
        assert slices is not None
        words, blocks = slices.words, group.cells // group.block
        tables, kinds = [], list(group.kinds)
        for row, (path, _) in enumerate(group.inputs):
            if kinds[row] == TURNED:
                way, terms = self._terms(group, path)
                way, table = arranged(way, terms, words)
                kinds[row] = f"{way}{terms.shape[1]}"
                tables.append(table)
        group.kinds = tuple(kinds)
        empty = np.zeros((blocks, 1), np.uint64)
        found = np.concatenate(tables or [empty], axis=1)
        group.terms = aligned(found.shape, np.uint64)
        group.terms[:] = found
        kept = len(slices.kept_lanes) + len(slices.carried)
        group.kept = aligned((group.cells // LANES, kept, LANES), np.uint32)
        group.strap_planes = aligned((blocks, max(1, len(slices.straps)), words), np.uint64)
        block, at = np.divmod(group.used, group.block)
        word, bit = np.divmod(at, PLANE)
        for number, (path, part, place) in enumerate(slices.straps):
            values = [cell.straps[str(path[0])] >> WORD * part + place & 1 for cell in cells]
            bits = np.array(values, np.uint64) << bit.astype(np.uint64)
            np.bitwise_or.at(group.strap_planes[:, number], (block, word), bits)

    def _terms(self, group: Group, path: Path) -> tuple[str, np.ndarray]:
        runs = group.run_of[group.used]
        cells, outputs = self.fabric.drivers.of(group.numbers[group.used], path)
        names, groups = self.fabric.drivers.paths.things, self._group_of[cells]
        places = self._places[runs, cells]
        words = np.zeros(len(cells), np.int64)
        kinds = groups.astype(np.int64) * len(names) + outputs
        for kind in np.unique(kinds).tolist():
            some = kinds == kind
            number, output = divmod(kind, len(names))
            words[some] = self.groups[number].plane(names[output], places[some])
        return terms_of(group.used, words, places % PLANE, group.cells // PLANE)

    def _drivers(self, group: Group, path: Path) -> Iterator["_Drivers"]:
        """The outputs that drive an input of the cells of a group, with the cells of each."""
        runs = group.run_of[group.used]
        cells, outputs = self.fabric.drivers.of(group.numbers[group.used], path)
        names = self.fabric.drivers.paths.things
        groups = self._group_of[cells]
        kinds = (groups.astype(np.int64) + 1) * len(names) + outputs
        uniform = bool(np.all(kinds == kinds[0]))
        for kind in kinds[:1].tolist() if uniform else np.unique(kinds).tolist():
            some = np.arange(len(kinds)) if uniform else np.flatnonzero(kinds == kind)
            number, output = divmod(kind, len(names))
            type_, path = None, names[output]
            if number:  # The last word of an output of 33 bits is a plane too.
                driver = self.groups[number - 1]
                type_, path = driver.type, driver.twin(path)
                driver.read.add(path)
                driver.shown.update(each for each in driver.planes if each[0] == path)
            places = self._places[runs[some], cells[some]] if number else runs[some]
            yield self._output(type_, path, some, places)

    def _output(
        self, type_: CellType | None, path: Path, numbers: np.ndarray, places: np.ndarray
    ) -> "_Drivers":
        if type_ is None:
            base, widths = self.boundary[path]
            return _Drivers(
                numbers, [base + word * self.runs for word in range(len(widths))], places
            )
        group = self._groups[type_]
        words = range(len(group.module.widths[path]))
        vectors, lanes = np.divmod(places, LANES)
        offsets = vectors * len(group.outputs) * LANES + lanes
        return _Drivers(numbers, [group.wire(path, word, 0) for word in words], offsets)

    def _set_contents(
        self, group: Group, place: int, name: str, rows: Sequence[int], first: int = 0
    ) -> None:
        number = self._memory_number(group, name)
        memory = group.module.memories[number]
        words = len(word_widths(memory.width))
        if memory.registers is None:
            group.memories[number][place, first : first + len(rows)] = _rows(rows, words)
            return
        for value, registers in zip(rows, memory.registers[first:]):
            for word, register in enumerate(registers):
                width = group.module.registers[register].width
                group.state[place // LANES, register, place % LANES] = lane_word(value, word, width)

    @staticmethod
    def _memory_number(group: Group, name: str) -> int:
        for number, memory in enumerate(group.module.memories):
            if memory.name == name:
                return number
        known = ", ".join(memory.name for memory in group.module.memories) or "none"
        raise InvalidValue(f"Memory of {group.type.name} must be one of {known}, not {name!r}")


def _rows(values: Sequence[int], words: int) -> np.ndarray:
    mask = (1 << WORD) - 1
    parts = [[value >> WORD * word & mask for word in range(words)] for value in values]
    return np.array(parts, np.uint32).reshape(len(values), words)


def reading(wires: np.ndarray, live: np.ndarray) -> tuple[InputKind, np.ndarray]:
    """How the lanes of all vectors read an input, from the wires that drive them, and its index."""
    alive = live.reshape(-1, LANES) != 0
    # The lanes without a cell read like the others, whatever the width of the vectors.
    same = np.broadcast_to(wires[:, :1], wires.shape)
    row = same + np.arange(LANES, dtype=np.int32)
    for kind, index in (("same", same), ("row", row)):
        if np.all((wires == index) | ~alive):
            return kind, index
    halves, alive = wires.reshape(-1, HALF), alive.reshape(-1, HALF)
    rows, places = np.divmod(halves, HALF)
    every = np.arange(len(halves))
    one = rows[every, alive.argmax(axis=1)]
    second = alive & (rows != one[:, None])
    other = rows[every, second.argmax(axis=1)]
    if wires.max() >= _MOST_IN_PAIRS or np.any(second & (rows != other[:, None])):
        return "any", wires
    # See `half` in the C program.
    index = np.where(alive, places + HALF * second, 0)
    index[:, 0] |= one * 4 * HALF
    index[:, 1] |= other * 4 * HALF
    return "pair", index.reshape(wires.shape)
