"""All cells of one type in a machine, and the program made for all types."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np

from ....hdl.fabric.cell import CellType
from ....hdl.fabric.fabric import Fabric
from ....hdl.fabric.pins import Path
from .compiled_errors import CombinationalLoop
from .emit_c import LANES, InputKind, TypeCode, emit
from .lowered_module import Module
from .netlist import lowered
from .schedule import Schedule, schedule
from .slice_functions import plane_rows
from .slices import PLANE, Slices
from .words import word_widths

__all__ = ["Group", "Program", "Task", "lowered_types", "whole_vectors"]

_ALONE = 8 * LANES
"""Most cells of a level that are not worth a barrier, if the next level has few as well."""

Place = TypeVar("Place", int, np.ndarray)
"""Where a cell is, or an array of such numbers."""


def lowered_types(fabric: Fabric) -> tuple[dict[CellType, Module], Schedule]:
    """The modules of a fabric's cell types, and the order in which their outputs are computed.

    Raises
    ------
    CombinationalLoop
        If a signal depends on itself within a cycle.
    """
    types = fabric.types()
    modules = {type_: lowered(type_) for type_ in types}
    try:
        return modules, schedule(fabric, modules)
    except CombinationalLoop:  # perhaps only because wide words are computed as a whole
        modules = {type_: lowered(type_, by_bit=True) for type_ in types}
        return modules, schedule(fabric, modules)


def whole_vectors(count: int, block: int = LANES) -> int:
    """A number of cells, rounded up to whole vectors, or blocks of so many cells."""
    return -(-count // block) * block


class Group:
    """All cells of one type in all runs: their positions and arrays."""

    def __init__(
        self,
        type_: CellType,
        module: Module,
        classes: Sequence[np.ndarray],
        slices: Slices | None = None,
    ) -> None:
        self.type = type_
        self.module = module
        self.classes = classes
        # By position: the number of the cell, or -1, and its run.
        self.numbers: np.ndarray = np.zeros(0, np.int32)
        self.run_of: np.ndarray = np.zeros(0, np.int32)
        self.ranges: list[tuple[int, int]] = []
        self.outputs = tuple(
            (path, word) for path, widths in module.widths.items() for word in range(len(widths))
        )
        self.inputs = tuple(
            (path, word)
            for path, width in module.inputs.items()
            for word in range(len(word_widths(width)))
        )
        self.wires = {key: row for row, key in enumerate(self.outputs)}
        self.first_wire = 0
        # Of a sliced type: cells that are computed together, and rows of planes.
        self.slices = slices
        self.block = LANES if slices is None else PLANE * slices.words
        self.planes = {} if slices is None else plane_rows(self.outputs, module.widths)
        self.plane_count = 0
        if slices is not None:
            of_state = len(slices.registers) + len(slices.kept) + len(slices.pending)
            self.plane_count = len(self.planes) + of_state
        self.first_plane = 0
        self.shown: set[tuple[Path, int]] = set()
        self.read: set[Path] = set()
        self.terms: np.ndarray = np.zeros(0, np.uint64)
        self.strap_planes: np.ndarray = np.zeros(0, np.uint64)
        self.kept: np.ndarray = np.zeros(0, np.uint32)
        # The tables of `_CType`, filled when the machine is loaded.
        self.state: np.ndarray = np.zeros(0, np.uint32)
        self.index: np.ndarray = np.zeros(0, np.int32)
        self.straps: np.ndarray = np.zeros(0, np.uint32)
        self.live: np.ndarray = np.zeros(0, np.uint32)
        self.memories: dict[int, np.ndarray] = {}  # except those kept in registers
        self.kinds: tuple[InputKind, ...] = ()

    def arrange(self, runs: int) -> None:
        """Assign a position to each cell: by class, then by run; each class fills whole vectors.

        In a sliced type classes share blocks. So outputs of some cells are computed too early, or
        again. This does no harm: those that are too early are computed once more in their turn,
        before they are read.
        """
        end = 0
        for cells in self.classes:
            begin, end = end, end + whole_vectors(runs * len(cells))
            self.ranges.append((begin, end))
        end = whole_vectors(end, self.block)
        self.numbers = np.full(end, -1, np.int32)
        self.run_of = np.zeros(end, np.int32)
        for (begin, _), cells in zip(self.ranges, self.classes):
            used = slice(begin, begin + runs * len(cells))
            self.numbers[used] = np.tile(cells, runs)
            self.run_of[used] = np.repeat(np.arange(runs), len(cells))

    @property
    def cells(self) -> int:
        """Number of positions, including padding."""
        return len(self.numbers)

    @cached_property
    def used(self) -> np.ndarray:
        """The positions that have a cell."""
        return np.flatnonzero(self.numbers >= 0)

    @property
    def unread(self) -> frozenset[tuple[Path, int]]:
        """The outputs in lanes that no cell reads, of a sliced type; see `TypeCode`."""
        if self.slices is None:
            return frozenset()
        return frozenset(
            (path, word)
            for path, word in self.outputs
            if self.module.widths[path][word] > 1
            and path not in self.read
            and (path in self.slices.after or self.twin(path) != path)
        )

    def twin(self, path: Path) -> Path:
        """The output that is read in the place of one."""
        return path if self.slices is None else self.module.twins.get(path, path)

    def wire(self, path: Path, word: int, place: Place) -> Place:
        """Number of the wire for a word of an output of the cell at a position, or at several."""
        vector, lane = divmod(place, LANES)
        row = vector * len(self.outputs) + self.wires[path, word]
        return self.first_wire + row * LANES + lane

    def plane(self, path: Path, places: np.ndarray) -> np.ndarray:
        """The word among all planes that has an output of the cells at some positions."""
        assert self.slices is not None
        words = self.slices.words
        row = places // self.block * self.plane_count + self.planes[path, 0]
        return self.first_plane + row * words + places % self.block // PLANE


class Task(NamedTuple):
    """Late outputs to be evaluated: a function of a type, for a range of its positions.

    With several threads, `waits` says whether it follows a barrier, and `shared` whether its cells
    are divided among them.
    """

    type: int
    function: int
    begin: int
    end: int
    waits: bool
    shared: bool


@dataclass(frozen=True)
class Program:
    """The C of a machine.

    Attributes
    ----------
    sources : list[str]
        A program for each type.
    late : list[int]
        How many functions `late_N` each has.
    tasks : list[Task]
        The late outputs, in the order of evaluation.
    """

    sources: list[str]
    late: list[int]
    tasks: list[Task]

    @classmethod
    def of(cls, groups: Sequence[Group], plan: Schedule) -> "Program":
        """The program of groups whose tables are filled."""
        numbers = {group.type: number for number, group in enumerate(groups)}
        sets: list[dict[tuple[Path, ...], int]] = [{} for _ in groups]
        tasks: list[Task] = []
        was_shared = False
        for _, together in groupby(plan.tasks, lambda task: task.level):
            ranges: list[tuple[int, int, int, int]] = []
            for task in together:
                number = numbers[task.type]
                function = sets[number].setdefault(task.outputs, len(sets[number]))
                block = groups[number].block
                for begin, end in (groups[number].ranges[each] for each in task.classes):
                    begin, end = begin // block * block, whole_vectors(end, block)
                    if ranges and ranges[-1][:2] == (number, function) and ranges[-1][3] >= begin:
                        begin = ranges.pop()[2]
                    ranges.append((number, function, begin, end))
            shared = sum(end - begin for *_, begin, end in ranges) > _ALONE
            waits = bool(tasks) and (shared or was_shared)
            for place, each in enumerate(ranges):
                tasks.append(Task(*each, waits=waits and not place, shared=shared))
            was_shared = shared
        sources = [
            emit(
                TypeCode(
                    group.module,
                    group.inputs,
                    group.outputs,
                    group.kinds,
                    tuple(outputs),
                    group.slices,
                    frozenset(group.shown),
                    group.unread,
                )
            )
            for group, outputs in zip(groups, sets)
        ]
        return cls(sources, [len(outputs) for outputs in sets], tasks)
