"""Orders the evaluation of cells within a cycle.

An output that depends only on registers is known right after the clock edge. An output that depends
on inputs of its cell must be evaluated after the outputs that drive those inputs. Its *level* is
the length of the longest such chain; all outputs of a level can be evaluated together.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ....hdl.core.fabric import CellType, Fabric, Path, Pin
from .errors import CombinationalLoop
from .ir import Module

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
    classes : dict[CellType, list[list[str]]]
        The cells of each type, in classes; the cells of a class are evaluated together.
    tasks : list[Task]
        In order of evaluation.
    """

    classes: dict[CellType, list[list[str]]]
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
    levels = _levels(fabric, late)
    classes: dict[CellType, list[list[str]]] = {}
    wanted: dict[int, dict[CellType, dict[tuple[Path, ...], list[int]]]] = defaultdict(dict)
    for type_, cells in fabric.types().items():
        groups: dict[tuple[int, ...], list[str]] = {}
        for cell in cells:
            key = tuple(levels[Pin(cell.name, path)] for path in late[type_])
            groups.setdefault(key, []).append(cell.name)
        classes[type_] = list(groups.values())
        for number, key in enumerate(groups):
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


def _levels(
    fabric: Fabric, late: Mapping[CellType, Mapping[Path, frozenset[Path]]]
) -> dict[Pin, int]:
    """The level of each late output, by depth-first search without recursion."""

    def before(pin: Pin) -> list[Pin]:
        assert pin.cell is not None  # the boundary has no late outputs
        cell = fabric.cells[pin.cell]
        found = []
        for path in late[cell.type][pin.path]:
            driver = fabric.drivers.get(Pin(cell.name, path))
            if driver is None or driver.cell is None:
                continue
            if driver.path in late[fabric.cells[driver.cell].type]:
                found.append(driver)
        return found

    levels: dict[Pin, int] = {}
    entered: dict[Pin, list[Pin]] = {}
    for cell in fabric.cells.values():
        for path in late[cell.type]:
            stack = [Pin(cell.name, path)]
            while stack:
                pin = stack[-1]
                if pin in levels:
                    stack.pop()
                elif pin in entered:
                    levels[pin] = 1 + max((levels[other] for other in entered[pin]), default=0)
                    del entered[pin]
                    stack.pop()
                else:
                    entered[pin] = before(pin)
                    for other in entered[pin]:
                        if other in entered:
                            raise CombinationalLoop(_loop(entered, pin, other))
                        if other not in levels:
                            stack.append(other)
    return levels


def _loop(entered: Mapping[Pin, list[Pin]], last: Pin, first: Pin) -> str:
    # Among the pins entered and not left, those from the first on lead to the last.
    pins = list(entered)
    names = [str(pin) for pin in pins[pins.index(first) : pins.index(last) + 1]]
    return f"Combinational loop through {' -> '.join([*names, names[0]])}"
