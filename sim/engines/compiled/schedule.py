"""Orders the evaluation of cells within a cycle.

An output that depends only on registers is known right after the clock edge. An output that depends
on inputs of its cell must be evaluated after the outputs that drive those inputs. Its *level* is
the length of the longest such chain; all outputs of a level can be evaluated together.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....hdl.fabric.cell import CellType
from ....hdl.fabric.fabric import Fabric
from ....hdl.fabric.pins import Path, Pin
from .compiled_errors import CombinationalLoop
from .lowered_module import Module

__all__ = ["Schedule", "Task", "schedule"]


@dataclass(frozen=True)
class Task:
    """Outputs of cells of one type that can be evaluated together.

    Attributes
    ----------
    type : CellType
    outputs : tuple[Path, ...]
    classes : tuple[int, ...]
        The classes of cells of this type to evaluate; see `Schedule`.
    level : int
        Outputs of a level depend on those of lower levels only.
    """

    type: CellType
    outputs: tuple[Path, ...]
    classes: tuple[int, ...]
    level: int


@dataclass
class Schedule:
    """The order in which a fabric is evaluated.

    Attributes
    ----------
    classes : dict[CellType, list[np.ndarray]]
        The cells of each type, by their numbers, in classes; the cells of a class are evaluated
        together.
    tasks : list[Task]
        In order of evaluation.
    """

    classes: dict[CellType, list[np.ndarray]]
    tasks: list[Task]


def schedule(fabric: Fabric, modules: Mapping[CellType, Module]) -> Schedule:
    """Order those outputs of a fabric's cells that depend on inputs.

    Raises
    ------
    CombinationalLoop
        If such an output depends on itself; the message names the cells on the loop.
    """
    late = {
        type_: {path: sources for path, sources in module.depends.items() if sources}
        for type_, module in modules.items()
    }
    numbers = {type_: fabric.numbers(cells) for type_, cells in fabric.types().items()}
    late_outputs = _Outputs(fabric, numbers, late)
    levels = _levels(late_outputs)
    classes: dict[CellType, list[np.ndarray]] = {}
    wanted: dict[int, dict[CellType, dict[tuple[Path, ...], list[int]]]] = defaultdict(dict)
    for type_, cells in numbers.items():
        keys, which = _distinct(late_outputs.matrix(type_, levels))
        order = np.argsort(which, kind="stable")
        classes[type_] = np.split(cells[order], np.cumsum(np.bincount(which))[:-1])
        for number, key in enumerate(keys.tolist()):
            outputs: dict[int, list[Path]] = defaultdict(list)
            for path, level in zip(late[type_], key):
                outputs[level].append(path)
            for level, paths in outputs.items():
                together = wanted[level].setdefault(type_, {})
                together.setdefault(tuple(paths), []).append(number)
    tasks = [
        Task(type_, outputs, tuple(numbers), level)
        for level in sorted(wanted)
        for type_, together in wanted[level].items()
        for outputs, numbers in together.items()
    ]
    return Schedule(classes, tasks)


class _Outputs:
    """The late outputs of all cells, numbered: those of a type's cells are a matrix."""

    def __init__(
        self,
        fabric: Fabric,
        cells: Mapping[CellType, np.ndarray],
        late: Mapping[CellType, Mapping[Path, frozenset[Path]]],
    ) -> None:
        self._drivers = drivers = fabric.drivers
        self._cells, self._late = cells, late
        # By cell: its type and its first output. By type and path: which output of the cell it is.
        self._type = np.full(len(drivers.cells), len(cells), np.int32)
        self._first = np.zeros(len(drivers.cells), np.int64)
        self._place = np.full((len(cells) + 1, len(drivers.paths)), -1, np.int32)
        self._begin: dict[CellType, int] = {}
        self.count = 0
        for number, (type_, some) in enumerate(cells.items()):
            self._begin[type_] = self.count
            self._type[some] = number
            self._first[some] = self.count + len(late[type_]) * np.arange(len(some))
            for place, path in enumerate(late[type_]):
                if (known := drivers.paths.numbers.get(path)) is not None:
                    self._place[number, known] = place
            self.count += len(late[type_]) * len(some)

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of late outputs of which the second depends on the first."""
        before: list[np.ndarray] = [np.zeros(0, np.int64)]
        after: list[np.ndarray] = [np.zeros(0, np.int64)]
        for type_, some in self._cells.items():
            inputs = sorted(
                {path for paths in self._late[type_].values() for path in paths}, key=str
            )
            row = {path: number for number, path in enumerate(inputs)}
            driving = np.array([self._driving(some, path) for path in inputs], np.int64)
            for place, paths in enumerate(self._late[type_].values()):
                found = driving[[row[path] for path in paths]]
                known = found >= 0
                before.append(found[known])
                after.append(np.broadcast_to(self._first[some] + place, found.shape)[known])
        return np.concatenate(before), np.concatenate(after)

    def _driving(self, cells: np.ndarray, path: Path) -> np.ndarray:
        """The late outputs that drive an input of cells, or -1."""
        drivers, outputs = self._drivers.of(cells, path)
        places = self._place[self._type[drivers], outputs]
        return np.where((drivers >= 0) & (places >= 0), self._first[drivers] + places, -1)

    def matrix(self, type_: CellType, values: np.ndarray) -> np.ndarray:
        """Values of the outputs of a type: a row per cell."""
        shape = len(self._cells[type_]), len(self._late[type_])
        return values[self._begin[type_] :][: shape[0] * shape[1]].reshape(shape)

    def pin(self, output: int) -> Pin:
        """A late output."""
        type_ = [
            each for each, begin in self._begin.items() if begin <= output and self._late[each]
        ][-1]
        cell, place = divmod(output - self._begin[type_], len(self._late[type_]))
        number = int(self._cells[type_][cell])
        return Pin(self._drivers.cells.things[number], list(self._late[type_])[place])


def _levels(outputs: _Outputs) -> np.ndarray:
    """The level of each late output: those of a level have all drivers in lower levels."""
    before, after = outputs.edges()
    order = np.argsort(before, kind="stable")
    followers, counts = after[order], np.bincount(before, minlength=outputs.count)
    begins = np.cumsum(counts) - counts
    waiting = np.bincount(after, minlength=outputs.count)
    levels = np.zeros(outputs.count, np.int32)
    ready, level = np.flatnonzero(waiting == 0), 0
    while len(ready):
        level += 1
        levels[ready] = level
        many = counts[ready]
        places = np.repeat(begins[ready] - np.cumsum(many) + many, many) + np.arange(many.sum())
        served, times = np.unique(followers[places], return_counts=True)
        waiting[served] -= times
        ready = served[waiting[served] == 0]
    if not levels.all():
        raise CombinationalLoop(_loop(outputs, before, after, levels == 0))
    return levels


def _loop(outputs: _Outputs, before: np.ndarray, after: np.ndarray, left: np.ndarray) -> str:
    """The message that names a loop: each output that is left waits for another that is left."""
    some = left[before] & left[after]
    waits = dict(zip(after[some].tolist(), before[some].tolist()))
    passed: dict[int, None] = {}
    output = next(iter(waits))
    while output not in passed:
        passed[output] = None
        output = waits[output]
    loop = list(passed)
    names = [str(outputs.pin(each)) for each in loop[loop.index(output) :]]
    return f"Combinational loop through {' -> '.join([*names, names[0]])}"


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a matrix in the order of their first rows, and the index of each one."""
    if not rows.shape[1] or np.all(rows == rows[:1]):
        return rows[:1], np.zeros(len(rows), np.int64)
    found, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return found[order], rank[which.reshape(-1)]
