"""Runs the generated code on its tables, and reads and sets what they hold."""

import ctypes
from collections.abc import Sequence

import numpy as np
from amaranth.lib.wiring import In

from ....hdl.fabric.errors import InvalidValue
from ....hdl.fabric.pins import Pin
from .activity_meter import ActivityMeter
from .build import load_libraries
from .c_structures import c_fields
from .compiled_errors import AssertionViolated
from .emit_c import DRIVER, LANES, STRUCTURES
from .ir import WORD, Node
from .program import Group
from .state import Form, check_words
from .tables import Tables, aligned, lane_word, ones
from .threads import THREADED
from .word_graph import Graph, evaluate
from .words import word_widths

__all__ = ["CContext", "CType", "Machine", "function_address"]

_MOST_LOCATIONS = 64
"""Lists of cells whose places are remembered."""


class CType(ctypes.Structure):
    """`Type` of the C programs."""

    _fields_ = c_fields("Type", STRUCTURES)


class _CTask(ctypes.Structure):
    _fields_ = c_fields("Task", STRUCTURES)


class CContext(ctypes.Structure):
    """`Context` of the C programs."""

    _fields_ = c_fields("Context", STRUCTURES)


_DRIVER_FUNCTIONS = ("publish", "settle", "run", "run_threads")


def function_address(library: ctypes.CDLL, function: str) -> int:
    """Where a function of a library is."""
    return ctypes.cast(getattr(library, function), ctypes.c_void_p).value or 0


class Machine(Tables):
    """Some runs of a fabric whose cells share vectors: the state of all, and the code for it.

    Parameters are those of `Tables`.
    """

    cycle = 0
    _settled = False
    _meter: ActivityMeter | None = None

    def load(self) -> None:
        """Allocate and fill the tables, and compile. This takes memory and time."""
        self._locations: dict[tuple[tuple[str, ...], int], tuple[Group, np.ndarray] | None] = {}
        self.fill()
        self._now = aligned(self.wire_count, np.uint32)
        self._next = aligned(self.wire_count, np.uint32)
        # What they hold is made anew from the lanes whenever the clock begins to run.
        self._planes = [aligned(max(1, self.plane_words), np.uint64) for _ in range(2)]
        self._bind()
        self._driver.publish(self._context)

    def _bind(self) -> None:
        """Compile the program and load it, with the tables' addresses."""
        program = self.program
        late = [[f"late_{number}" for number in range(count)] for count in program.late]
        borders = [("enter", "leave") if group.slices else () for group in self.groups]
        wanted = [
            (source, ("publish", "update", *border, *names))
            for source, border, names in zip(program.sources, borders, late)
        ]
        self._driver, *self._libraries = load_libraries(
            [(DRIVER + THREADED, _DRIVER_FUNCTIONS), *wanted]
        )
        self._driver.run.argtypes = [ctypes.c_void_p, ctypes.c_long]
        self._driver.run.restype = ctypes.c_long
        self._driver.run_threads.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
        self._driver.run_threads.restype = ctypes.c_long
        self._c_types = (CType * len(self.groups))()
        self._keep: list[object] = []
        for c_type, group, library in zip(self._c_types, self.groups, self._libraries):
            addresses = {number: rows.ctypes.data for number, rows in group.memories.items()}
            pointers = [addresses.get(number) for number in range(len(group.module.memories))]
            memories = (ctypes.c_void_p * len(pointers))(*pointers)
            self._keep.append(memories)
            c_type.publish = function_address(library, "publish")
            c_type.update = function_address(library, "update")
            c_type.cells = group.cells
            c_type.state = group.state.ctypes.data
            c_type.index = group.index.ctypes.data
            c_type.straps = group.straps.ctypes.data
            c_type.memories = ctypes.addressof(memories)
            c_type.live = group.live.ctypes.data
            c_type.first_wire = group.first_wire
            c_type.block = group.block
            if group.slices is not None:
                c_type.enter = function_address(library, "enter")
                c_type.leave = function_address(library, "leave")
                c_type.first_plane = group.first_plane
                c_type.terms = group.terms.ctypes.data
                c_type.strap_planes = group.strap_planes.ctypes.data
                c_type.kept = group.kept.ctypes.data
        tasks = [
            _CTask(
                function_address(self._libraries[task.type], f"late_{task.function}"),
                ctypes.addressof(self._c_types[task.type]),
                task.begin,
                task.end,
                task.waits,
                task.shared,
            )
            for task in program.tasks
        ]
        self._c_tasks = (_CTask * len(tasks))(*tasks)
        self._c = CContext(
            now=self._now.ctypes.data,
            next=self._next.ctypes.data,
            types=ctypes.addressof(self._c_types),
            type_count=len(self.groups),
            tasks=ctypes.addressof(self._c_tasks),
            task_count=len(tasks),
            event=-1,
            planes=self._planes[0].ctypes.data,
            next_planes=self._planes[1].ctypes.data,
        )
        self._context = ctypes.byref(self._c)

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

    def reset(self) -> None:
        """Make the last clock edge one with the reset asserted."""
        for group in self.groups:
            for number, register in enumerate(group.module.registers):
                if register.resets:
                    group.state[:, number] = lane_word(register.init, 0, register.width)
        self._changed()

    def _raise_event(self) -> None:
        offset = self._c.event_type - ctypes.addressof(self._c_types)
        group = self.groups[offset // ctypes.sizeof(CType)]
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

    def set(self, port: str, value: int, run: int) -> None:
        base, widths = self.boundary[port,]
        for word, width in enumerate(widths):
            wire = base + word * self.runs + run
            self._now[wire] = self._next[wire] = lane_word(value, word, width)
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
            self._now[group.wire((port,), word, places)] & np.uint32(ones(bits))
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
            part = lane_word(value, word, group.module.registers[register].width)
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
        return group.state[vectors, number, lanes] & np.uint32(ones(width))

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
                    values[node] = self.get(Pin(cell, path), run) >> WORD * word & ones(node.width)
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

    def save(self) -> tuple[np.ndarray, ...]:
        """A copy of the whole state."""
        return tuple(array.copy() for array in self._arrays())

    def forms(self) -> tuple[Form, ...]:
        """Shapes and types of the arrays that hold the state."""
        return tuple((array.shape, array.dtype) for array in self._arrays())

    def check(self, saved: Sequence[np.ndarray]) -> None:
        """Check arrays that are to be restored as the state.

        Raises
        ------
        ValueError
            If their shapes or types differ, or they hold values that no run can have.
        """
        found = tuple((np.shape(array), getattr(array, "dtype", None)) for array in saved)
        if found != self.forms():
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
            live = group.live.reshape(-1, 1, LANES)  # lanes without a cell have any values
            of_group = wires[group.first_wire :][: group.cells * len(group.outputs)]
            widths = [module.widths[path][word] for path, word in group.outputs]
            check_words("wires", of_group.reshape(-1, len(widths), LANES) & live, widths)
            check_words("registers", next(parts) & live, [each.width for each in module.registers])
            for memory in module.memories:
                if memory.registers is None:
                    limits = [ones(width) for width in word_widths(memory.width)]
                    if np.any(next(parts)[group.used] > np.array(limits, np.uint32)):
                        raise InvalidValue(f"State has rows wider than memory {memory.name}")

    def restore(self, cycle: int, saved: Sequence[np.ndarray]) -> None:
        """Restore a saved state that `check` has accepted."""
        for array, old in zip(self._arrays(), saved):
            array[:] = old
        self._next[:] = self._now
        self.cycle = cycle
        self._settled = False
