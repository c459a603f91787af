"""The tables that the generated code works on, and access to their contents."""

import ctypes
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from amaranth.lib.wiring import In

from ....hdl.core.errors import InvalidValue
from ....hdl.core.fabric import Cell, CellType, Fabric, Path, Pin
from .activity import ActivityMeter
from .build import load_libraries
from .emit_c import DRIVER, HALF, LANES, InputKind, element_bytes
from .errors import AssertionViolated
from .ir import WORD, Graph, Module, Node, evaluate
from .program import Group, Program, whole_vectors
from .schedule import Schedule
from .state import check_words
from .threads import THREADED
from .words import word_widths

__all__ = ["Machine"]

_MOST_LOCATIONS = 64
"""Lists of cells whose places are remembered."""


class _CType(ctypes.Structure):
    _fields_ = [
        ("publish", ctypes.c_void_p),
        ("update", ctypes.c_void_p),
        ("cells", ctypes.c_long),
        ("state", ctypes.c_void_p),
        ("index", ctypes.c_void_p),
        ("straps", ctypes.c_void_p),
        ("memories", ctypes.c_void_p),
        ("live", ctypes.c_void_p),
        ("first_wire", ctypes.c_long),
    ]


_MOST_IN_PAIRS = 1 << 29
"""Wires whose addresses, in bytes, fit an index."""


class _CTask(ctypes.Structure):
    _fields_ = [
        ("late", ctypes.c_void_p),
        ("type", ctypes.c_void_p),
        ("begin", ctypes.c_long),
        ("end", ctypes.c_long),
        ("waits", ctypes.c_long),
        ("shared", ctypes.c_long),
    ]


class _CContext(ctypes.Structure):
    _fields_ = [
        ("now", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
        ("type_count", ctypes.c_long),
        ("tasks", ctypes.c_void_p),
        ("task_count", ctypes.c_long),
        ("event_type", ctypes.c_void_p),
        ("event", ctypes.c_long),
        ("event_cell", ctypes.c_long),
    ]


_DRIVER_FUNCTIONS = ("publish", "settle", "run", "run_threads")


def _address(library: ctypes.CDLL, function: str) -> int | None:
    return ctypes.cast(getattr(library, function), ctypes.c_void_p).value


def _word(value: int, word: int, width: int) -> int:
    """A word of a value as wires and registers hold it: a single bit is a mask."""
    part = value >> WORD * word & (1 << width) - 1
    return -part & 0xFFFFFFFF if width == 1 else part


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


class Machine:
    """Some runs of a fabric whose cells share vectors: the state of all, and the code for it.

    Parameters
    ----------
    fabrics : Sequence[Fabric]
        One per run; they differ only in straps and contents of memories.
    modules : Mapping[CellType, Module]
    plan : Schedule
    """

    def __init__(
        self,
        fabrics: Sequence[Fabric],
        modules: Mapping[CellType, Module],
        plan: Schedule,
    ) -> None:
        self.fabrics = fabrics
        self.fabric = fabrics[0]
        self.runs = len(fabrics)
        self.cycle = 0
        self._plan = plan
        self._settled = False
        self._meter: ActivityMeter | None = None
        self._groups: dict[CellType, Group] = {}
        self._locations: dict[tuple[tuple[str, ...], int], tuple[Group, np.ndarray] | None] = {}
        for type_, module in modules.items():
            group = self._groups[type_] = Group(type_, module, plan.classes[type_])
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

    def load(self) -> None:
        """Allocate and fill the tables, and compile. This takes memory and time."""
        self.fill()
        self._now = _aligned(self.wire_count, np.uint32)
        self._next = _aligned(self.wire_count, np.uint32)
        self._bind()
        self._driver.publish(self._context)

    def fill(self) -> None:
        """Allocate and fill the tables but for the wires, and write the program."""
        for group in self.groups:
            self._fill(group)
        self.program = Program.of(self.groups, self._plan)

    # Layout

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

    def wire(self, run: int, driver: Pin, word: int) -> int:
        if driver.cell is None:
            base, _ = self.boundary[driver.path]
            return base + word * self.runs + run
        group = self._groups[self.fabric.cells[driver.cell].type]
        return group.wire(driver.path, word, self.place(run, driver.cell))

    def place(self, run: int, cell: str) -> int:
        """The position of a cell in its group."""
        return int(self._places[run, self.fabric.drivers.cells.numbers[cell]])

    def names(self, group: Group) -> list[tuple[int, str] | None]:
        """Run and name of the cell at each position of a group; None at positions without one."""
        known = self.fabric.drivers.cells.things
        owners = zip(group.run_of.tolist(), group.numbers.tolist())
        return [(run, str(known[cell])) if cell >= 0 else None for run, cell in owners]

    @property
    def bytes(self) -> int:
        """Bytes of memory that the tables take."""
        total = 8 * self.wire_count
        for group in self.groups:
            total += 4 * group.cells * (len(group.module.registers) + 2 * len(group.inputs))
            for memory in group.module.memories:
                if memory.registers is None:
                    words = len(word_widths(memory.width))
                    size = element_bytes(memory.width)
                    total += group.cells * memory.rows * words * size
        return total

    def _fill(self, group: Group) -> None:
        module, cells = group.module, group.cells
        vectors = cells // LANES
        group.state = _aligned((vectors, len(module.registers), LANES), np.uint32)
        for number, register in enumerate(module.registers):
            group.state[:, number] = _word(register.init, 0, register.width)
        group.index = _aligned((vectors, len(group.inputs), LANES), np.int32)
        group.straps = _aligned((vectors, len(group.inputs), LANES), np.uint32)
        group.live = _aligned(cells, np.uint32)
        group.live[group.used] = 0xFFFFFFFF
        for number, memory in enumerate(module.memories):
            if memory.registers is not None:
                continue
            words = len(word_widths(memory.width))
            kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes(memory.width)]
            array = _aligned((cells, memory.rows, words), kind)
            if any(memory.init):  # pages that are not written need no memory
                array[:] = _rows(memory.init, words)
            group.memories[number] = array
        here = self._cells(group)
        for place, cell in zip(group.used.tolist(), here):
            for memory_name, rows in cell.contents.items():
                self._set_contents(group, place, memory_name, rows)
        self._connect(group, here)

    def _cells(self, group: Group) -> list[Cell]:
        """The cell at each position of a group that has one."""
        known = self.fabric.drivers.cells.things
        cells = [fabric.cells for fabric in self.fabrics]
        owners = zip(group.run_of[group.used].tolist(), group.numbers[group.used].tolist())
        return [cells[run][str(known[number])] for run, number in owners]

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
                    _word(cell.straps[port], word, width) for cell in cells
                ]
                kinds.append("strap")
                continue
            if path not in drivers:
                drivers[path] = list(self._drivers(group, path))
            for some in drivers[path]:
                wires = some.first[word] + some.offsets
                group.index[vectors[some.numbers], row, lanes[some.numbers]] = wires
            kind, group.index[:, row] = _reading(group.index[:, row], group.live)
            kinds.append(kind)
        group.kinds = tuple(kinds)

    def _drivers(self, group: Group, path: Path) -> Iterator["_Drivers"]:
        """The outputs that drive an input of the cells of a group, with the cells of each."""
        runs = group.run_of[group.used]
        cells, outputs = self.fabric.drivers.of(group.numbers[group.used], path)
        names = self.fabric.drivers.paths.things
        groups = self._group_of[cells]
        kinds = (groups.astype(np.int64) + 1) * len(names) + outputs
        alike = bool(np.all(kinds == kinds[0]))
        for kind in kinds[:1].tolist() if alike else np.unique(kinds).tolist():
            some = np.arange(len(kinds)) if alike else np.flatnonzero(kinds == kind)
            number, output = divmod(kind, len(names))
            type_ = self.groups[number - 1].type if number else None
            places = self._places[runs[some], cells[some]] if number else runs[some]
            yield self._output(type_, names[output], some, places)

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
                group.state[place // LANES, register, place % LANES] = _word(value, word, width)

    @staticmethod
    def _memory_number(group: Group, name: str) -> int:
        for number, memory in enumerate(group.module.memories):
            if memory.name == name:
                return number
        known = ", ".join(memory.name for memory in group.module.memories) or "none"
        raise InvalidValue(f"Memory of {group.type.name} must be one of {known}, not {name!r}")

    def _bind(self) -> None:
        """Compile the program and load it, with the tables' addresses."""
        program = self.program
        late = [[f"late_{number}" for number in range(count)] for count in program.late]
        wanted = [
            (source, ("publish", "update", *names)) for source, names in zip(program.sources, late)
        ]
        self._driver, *self._libraries = load_libraries(
            [(DRIVER + THREADED, _DRIVER_FUNCTIONS), *wanted]
        )
        self._driver.run.argtypes = [ctypes.c_void_p, ctypes.c_long]
        self._driver.run.restype = ctypes.c_long
        self._driver.run_threads.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
        self._driver.run_threads.restype = ctypes.c_long
        self._c_types = (_CType * len(self.groups))()
        self._keep: list[object] = []
        for c_type, group, library in zip(self._c_types, self.groups, self._libraries):
            addresses = {number: rows.ctypes.data for number, rows in group.memories.items()}
            pointers = [addresses.get(number) for number in range(len(group.module.memories))]
            memories = (ctypes.c_void_p * len(pointers))(*pointers)
            self._keep.append(memories)
            c_type.publish = _address(library, "publish")
            c_type.update = _address(library, "update")
            c_type.cells = group.cells
            c_type.state = group.state.ctypes.data
            c_type.index = group.index.ctypes.data
            c_type.straps = group.straps.ctypes.data
            c_type.memories = ctypes.addressof(memories)
            c_type.live = group.live.ctypes.data
            c_type.first_wire = group.first_wire
        tasks = [
            _CTask(
                _address(self._libraries[task.type], f"late_{task.function}"),
                ctypes.addressof(self._c_types[task.type]),
                task.begin,
                task.end,
                task.waits,
                task.shared,
            )
            for task in program.tasks
        ]
        self._c_tasks = (_CTask * len(tasks))(*tasks)
        self._c = _CContext(
            now=self._now.ctypes.data,
            next=self._next.ctypes.data,
            types=ctypes.addressof(self._c_types),
            type_count=len(self.groups),
            tasks=ctypes.addressof(self._c_tasks),
            task_count=len(tasks),
            event=-1,
        )
        self._context = ctypes.byref(self._c)

    # Running

    def run(self, cycles: int, threads: int) -> None:
        """Advance all runs, whose cells are divided among some threads.

        Raises
        ------
        AssertionViolated
            If an assertion fails; the cycle in which it fails is not completed.
        """
        if self._meter is not None:
            done = self._meter.advance(self._context, cycles)
        elif threads == 1:
            done = self._driver.run(self._context, cycles)
        else:
            done = self._driver.run_threads(self._context, cycles, threads)
        self.cycle += done
        if done % 2:
            self._now, self._next = self._next, self._now
        self._settled = False
        if done < cycles:
            self._raise_event()

    def _raise_event(self) -> None:
        offset = self._c.event_type - ctypes.addressof(self._c_types)
        group = self.groups[offset // ctypes.sizeof(_CType)]
        event = group.module.events[self._c.event]
        owner = self.names(group)[self._c.event_cell]
        assert owner is not None
        run, cell = owner
        self._c.event = -1
        where = f" of run {run}" if self.runs > 1 else ""
        raise AssertionViolated(
            f"Assertion at {event.place} failed in cell {cell}{where} at cycle {self.cycle}"
            + (f": {event.message}" if event.message else "")
        )

    def _settle(self) -> None:
        if not self._settled:
            self._driver.settle(self._context)
            self._settled = True

    def observe(self, meter: ActivityMeter | None) -> None:
        """Let a meter count what changes from this cycle on; None ends the count of the last."""
        if self._meter is not None:
            self._meter.close(self._context)
        self._meter = meter

    # Access

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

    def set(self, port: str, value: int, run: int) -> None:
        base, widths = self.boundary[port,]
        for word, width in enumerate(widths):
            wire = base + word * self.runs + run
            self._now[wire] = self._next[wire] = _word(value, word, width)
        self._settled = False

    def get(self, pin: Pin, run: int) -> int:
        if pin.cell is not None:
            cell = self.fabrics[run].cells[pin.cell]
            leaf = cell.type.leaves[pin.path]
            if leaf.flow == In:
                if (port := str(pin.path[0])) in cell.straps:
                    return cell.straps[port]
                return self._driven(self.fabric.drivers[pin], leaf.width, run)
            return self._driven(pin, leaf.width, run)
        leaf = self.fabric.boundary[pin.path]
        driver = pin if leaf.flow == In else self.fabric.drivers[pin]
        return self._driven(driver, leaf.width, run)

    def _driven(self, driver: Pin, width: int, run: int) -> int:
        self._settle()
        value = 0
        for word, bits in enumerate(word_widths(width)):
            wire = int(self._now[self.wire(run, driver, word)])
            value |= (wire & (1 << bits) - 1) << WORD * word
        return value

    def read(self, cells: Sequence[str], port: str, run: int) -> list[int]:
        self._settle()
        located = self._located(tuple(cells), run)
        widths = located and located[0].module.widths.get((port,))
        if located is None or widths is None:
            return [self.get(Pin(name, (port,)), run) for name in cells]
        group, places = located
        words = [
            self._now[group.wire((port,), word, places)] & np.uint32(_ones(bits))
            for word, bits in enumerate(widths)
        ]
        if len(words) == 2:
            return (words[0] | words[1].astype(np.uint64) << np.uint64(WORD)).tolist()
        values: list[int] = words[0].tolist()
        for word, found in enumerate(words[1:], 1):
            values = [a | b << WORD * word for a, b in zip(values, found.tolist())]
        return values

    def _located(self, cells: tuple[str, ...], run: int) -> tuple[Group, np.ndarray] | None:
        """The group that has all these cells and their places in it; None if there are several.

        Runs read the same thousands of cells again and again.
        """
        if (cells, run) not in self._locations:
            if len(self._locations) == _MOST_LOCATIONS:
                self._locations.clear()
            kinds = {self.fabric.cells[name].type for name in cells}
            located = None
            if len(kinds) == 1:
                group = self._groups[kinds.pop()]
                known = self.fabric.drivers.cells.numbers
                numbers = np.fromiter((known[name] for name in cells), np.int64, len(cells))
                located = group, self._places[run, numbers]
            self._locations[cells, run] = located
        return self._locations[cells, run]

    def memory(self, cell: str, name: str, run: int) -> list[int]:
        group = self._groups[self.fabric.cells[cell].type]
        number = self._memory_number(group, name)
        place = self.place(run, cell)
        memory = group.module.memories[number]
        if memory.registers is None:
            rows = group.memories[number][place]
            if rows.shape[1] == 1:
                return rows[:, 0].tolist()
            return [sum(part << WORD * i for i, part in enumerate(row)) for row in rows.tolist()]
        return [
            sum(
                self._register(group, register, place) << WORD * word
                for word, register in enumerate(registers)
            )
            for registers in memory.registers
        ]

    def write_memory(self, cell: str, name: str, first: int, rows: Sequence[int], run: int) -> None:
        """Overwrite rows of a memory, from the row `first` on."""
        group = self._groups[self.fabric.cells[cell].type]
        number = self._memory_number(group, name)
        memory = group.module.memories[number]
        last = memory.rows - 1
        if not 0 <= first <= first + len(rows) - 1 <= last:
            raise InvalidValue(f"Rows of {cell}.{name} must be from 0 to {last}, not {first}")
        if any(row >> memory.width for row in rows):
            raise InvalidValue(f"Rows of {cell}.{name} must fit {memory.width} bits")
        self._set_contents(group, self.place(run, cell), name, rows, first)
        self._changed()

    def write_register(self, cell: str, name: str, value: int, run: int) -> None:
        """Overwrite a register that is a signal inside a cell."""
        group = self._groups[self.fabric.cells[cell].type]
        registers = self._registers(group, name)
        if registers is None:
            raise InvalidValue(f"Cell {cell} has no register {name!r}")
        place = self.place(run, cell)
        width = sum(group.module.registers[register].width for register in registers)
        if value >> width:
            raise InvalidValue(f"Register {name} of {cell} must fit {width} bits, not {value}")
        for word, register in enumerate(registers):
            part = _word(value, word, group.module.registers[register].width)
            group.state[place // LANES, register, place % LANES] = part
        self._changed()

    @staticmethod
    def _registers(group: Group, name: str) -> list[int] | None:
        """The registers of which a signal consists, word by word; None if it has other parts."""
        try:
            words, _ = group.module.signals(name)
        except KeyError:
            return None
        whole = all(
            node.op == "register" and node.width == group.module.registers[node.attr].width
            for node in words
        )
        return [node.attr for node in words] if whole and words else None

    def _changed(self) -> None:
        """Compute the outputs of all cells anew from the present state."""
        self._driver.publish(self._context)
        self._settled = False

    def memory_sum(self, cells: Sequence[str], name: str, run: int) -> list[int]:
        located = self._located(tuple(cells), run)
        if located is None:
            raise KeyError(f"{name} of cells of several types")
        group, places = located
        memory = group.module.memories[number := self._memory_number(group, name)]
        if memory.registers is None:
            total = group.memories[number][places].sum(axis=0, dtype=np.uint64)
        else:
            vectors, lanes = np.divmod(places, LANES)
            total = np.array(
                [
                    [self._masked(group, each, vectors, lanes).sum(dtype=np.uint64) for each in row]
                    for row in memory.registers
                ]
            )
        return [sum(part << WORD * i for i, part in enumerate(row)) for row in total.tolist()]

    @staticmethod
    def _masked(group: Group, number: int, vectors: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """A register of many cells."""
        width = group.module.registers[number].width
        return group.state[vectors, number, lanes] & np.uint32(_ones(width))

    @staticmethod
    def _register(group: Group, number: int, place: int) -> int:
        width = group.module.registers[number].width
        return int(group.state[place // LANES, number, place % LANES]) & (1 << width) - 1

    def signal_names(self, cell: str) -> dict[str, int]:
        """Width of each signal inside a cell, by its hierarchical name."""
        module = self._groups[self.fabric.cells[cell].type].module
        return {name: module.signals(name)[1] for name in module.signal_names}

    def signal_width(self, cell: str, name: str) -> int:
        module = self._groups[self.fabric.cells[cell].type].module
        try:
            return module.signals(name)[1]
        except KeyError:
            raise InvalidValue(f"Cell {cell} has no signal {name!r}") from None

    def memory_width(self, cell: str, name: str) -> int:
        group = self._groups[self.fabric.cells[cell].type]
        return group.module.memories[self._memory_number(group, name)].width

    def signal(self, cell: str, name: str, run: int) -> int:
        """Any signal inside a cell, recomputed from the state if the code does not store it."""
        group = self._groups[self.fabric.cells[cell].type]
        try:
            words, _ = group.module.signals(name)
        except KeyError:
            raise InvalidValue(f"Cell {cell} has no signal {name!r}") from None
        place = self.place(run, cell)
        values: dict[Node, int] = {}
        for node in Graph.cone(words):
            args = [values[arg] for arg in node.args]
            match node.op:
                case "const":
                    values[node] = node.attr
                case "register":
                    values[node] = self._register(group, node.attr, place)
                case "input":
                    path, word = node.attr
                    values[node] = self.get(Pin(cell, path), run) >> WORD * word & _ones(node.width)
                case "read":
                    memory, word, _ = node.attr
                    rows = group.memories[memory][place]
                    values[node] = int(rows[args[0], word]) if args[0] < len(rows) else 0
                case _:
                    values[node] = evaluate(node, args)
        return sum(values[node] << WORD * word for word, node in enumerate(words))

    def _arrays(self) -> list[np.ndarray]:
        arrays = [self._now]
        for group in self.groups:
            arrays += [group.state, *group.memories.values()]
        return arrays

    def identity(self) -> str:
        """A hash of the runs: names of cells, logic of their types, wires and straps."""
        known = hashlib.sha256("\0".join(self.program.sources).encode())
        boundary = [[path, *place] for path, place in self.boundary.items()]
        known.update(json.dumps([self.runs, boundary]).encode())
        for group in self.groups:
            module = group.module
            ports = [*module.inputs.items(), *module.widths.items()]
            registers = [register.width for register in module.registers]
            memories = [(each.name, each.width, each.rows) for each in module.memories]
            words = [group.type.name, self.names(group), ports, registers, memories]
            known.update(json.dumps(words).encode())
            known.update(group.index.tobytes())
            known.update(group.straps.tobytes())
        return known.hexdigest()

    def save(self) -> tuple[np.ndarray, ...]:
        """A copy of the whole state."""
        return tuple(array.copy() for array in self._arrays())

    def check(self, saved: Sequence[np.ndarray]) -> None:
        """Check arrays that are to be restored as the state.

        Raises
        ------
        ValueError
            If their shapes or types differ, or they hold values that no run can have.
        """
        forms = [(array.shape, array.dtype) for array in self._arrays()]
        if [(np.shape(array), getattr(array, "dtype", None)) for array in saved] != forms:
            raise InvalidValue("State has arrays of other shapes or types")
        wires, *rest = saved
        groups = self.groups
        first = groups[0].first_wire if groups else self.wire_count
        widths = [0] * first
        for base, words in self.boundary.values():
            for word, width in enumerate(words):
                at = base + word * self.runs
                widths[at : at + self.runs] = [width] * self.runs
        check_words("inputs", wires[:first].reshape(1, first, 1), widths)
        parts = iter(rest)
        for group in groups:
            module = group.module
            of_group = wires[group.first_wire :][: group.cells * len(group.outputs)]
            widths = [module.widths[path][word] for path, word in group.outputs]
            check_words("wires", of_group.reshape(-1, len(widths), LANES), widths)
            check_words("registers", next(parts), [each.width for each in module.registers])
            for memory in module.memories:
                if memory.registers is None:
                    limits = [_ones(width) for width in word_widths(memory.width)]
                    if np.any(next(parts) > np.array(limits, np.uint32)):
                        raise InvalidValue(f"State has rows wider than memory {memory.name}")

    def restore(self, cycle: int, saved: Sequence[np.ndarray]) -> None:
        """Restore a saved state that `check` has accepted."""
        for array, old in zip(self._arrays(), saved):
            array[:] = old
        self._next[:] = self._now
        self.cycle = cycle
        self._settled = False


def _ones(width: int) -> int:
    return (1 << width) - 1


def _aligned(shape: int | tuple[int, ...], kind: type) -> np.ndarray:
    """An array of zeros that begins at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)


def _rows(values: Sequence[int], words: int) -> np.ndarray:
    mask = (1 << WORD) - 1
    parts = [[value >> WORD * word & mask for word in range(words)] for value in values]
    return np.array(parts, np.uint32).reshape(len(values), words)


def _reading(wires: np.ndarray, live: np.ndarray) -> tuple[InputKind, np.ndarray]:
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
