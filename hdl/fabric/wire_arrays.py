"""The wires of a fabric in arrays: which pin drives which, and which pins were linked.

A fabric of a million cells has tens of millions of wires. As a pair of `Pin` each would take
hundreds of bytes; here a leaf that receives takes 8, and a link 16. Pins are made when asked for.
"""

from array import array
from collections.abc import (
    Hashable,
    ItemsView,
    Iterable,
    Iterator,
    MutableMapping,
    MutableSequence,
    Sequence,
    ValuesView,
)
from itertools import repeat
from typing import Any, overload

import numpy as np

from .errors import InvalidValue
from .pins import Numbered, Path, Pin, Pins

__all__ = ["Drivers", "Links"]


class Drivers(MutableMapping[Pin, Pin]):
    """The driver of each receiving leaf, as a mapping of pins.

    The inputs of a cell are adjacent in the arrays, once `reserve` has said which they are. Other
    receivers are possible, too; they are kept in a dictionary.

    Attributes
    ----------
    cells : Numbered[str | None]
        The numbers of cells; None is the boundary.
    paths : Numbered[Path]
        The numbers of paths.
    """

    def __init__(self) -> None:
        self.cells: Numbered[str | None] = Numbered()
        self.paths: Numbered[Path] = Numbered()
        self._kinds: dict[Hashable, int] = {}
        # By kind of cell and path: where the input is among all of the cell. Kind 0 has none.
        self._places: list[dict[int, int]] = [{}]
        # By cell: its kind, and where its inputs begin.
        self._kind = array("i")
        self._first = array("q")
        # By input: the numbers of the cell and of the output that drive it, or -1; then, free room.
        self._cell = array("i")
        self._path = array("i")
        self._used = 0
        self._others: dict[tuple[int, int], tuple[int, int]] = {}
        self._count = 0

    def number(self, cell: str | None) -> int:
        """The number of a cell; a new one if it has none."""
        found = self.cells.numbers.get(cell)
        if found is None:
            found = self.cells.number(cell)
            self._kind.append(0)
            self._first.append(0)
        return found

    def reserve(self, cell: str | None, kind: Hashable, inputs: Sequence[Path]) -> None:
        """Make room for the inputs of a new cell, which are those of all cells of its kind.

        A cell that was wired before stays as it is.
        """
        if cell in self.cells.numbers:
            return
        number = self.number(cell)
        self._kind[number] = self._kind_of(kind, inputs)
        self._first[number] = self._used
        self._use(len(inputs))

    def reserve_all(self, cells: Sequence[str], kind: Hashable, inputs: Sequence[Path]) -> None:
        """`reserve` for many cells of a kind, of which none was named before."""
        count = len(cells)
        self.cells.add_all(cells)
        self._kind.frombytes(np.full(count, self._kind_of(kind, inputs), np.int32).tobytes())
        begin = self._used + len(inputs) * np.arange(count, dtype=np.int64)
        self._first.frombytes(begin.tobytes())
        self._use(count * len(inputs))

    def _kind_of(self, kind: Hashable, inputs: Sequence[Path]) -> int:
        """The number of a kind of cells."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = len(self._places)
            self._places.append({self.paths.number(path): at for at, path in enumerate(inputs)})
        return known

    def _use(self, inputs: int) -> None:
        """Take room for so many inputs."""
        self._used += inputs
        if self._used > len(self._cell):
            room = array("i", (-1,)) * max(inputs, len(self._cell))
            # Not in place: a profiler may still hold a frame with an array's view.
            self._cell = self._cell + room
            self._path = self._path + room

    def connect(self, cell: int, path: int, driver: int, output: int) -> bool:
        """Drive an input, all given by their numbers; False if it is driven already."""
        place = self._places[self._kind[cell]].get(path)
        if place is None:
            if (cell, path) in self._others:
                return False
            self._others[cell, path] = driver, output
        else:
            slot = self._first[cell] + place
            if self._cell[slot] >= 0:
                return False
            self._cell[slot], self._path[slot] = driver, output
        self._count += 1
        return True

    def numbered(self, pins: Pins) -> Pins:
        """The same pins, by the numbers of all cells and paths; cells that have none are -1."""
        cells, paths = self.cells, self.paths
        cell, path = pins.cell, pins.path
        if pins.cells is not cells.things:
            known = map(cells.numbers.get, pins.cells, repeat(-1))
            cell = np.fromiter(known, np.int32, len(pins.cells))[cell]
        if pins.paths is not paths.things:
            number = np.zeros(len(pins.paths), np.int32)
            for used in np.flatnonzero(np.bincount(path)).tolist():
                number[used] = paths.number(pins.paths[used])
            path = number[path]
        return Pins(cells.things, paths.things, cell, path)

    def kinds(self, cells: np.ndarray) -> np.ndarray:
        """The kinds of cells, given by their numbers; 0 for those without reserved inputs."""
        return np.frombuffer(self._kind, np.int32)[cells]

    def slots(self, cells: np.ndarray, path: int) -> np.ndarray:
        """Where an input of cells of the same kind is in the arrays."""
        place = self._places[self._kind[cells[0]]][path]
        return np.frombuffer(self._first, np.int64)[cells] + place

    def connect_all(self, slots: np.ndarray, drivers: np.ndarray, outputs: np.ndarray) -> bool:
        """`connect` for many inputs; changes nothing and returns False if one has two drivers."""
        cells, paths = np.frombuffer(self._cell, np.int32), np.frombuffer(self._path, np.int32)
        if np.any(cells[slots] >= 0):
            return False
        cells[slots] = every = np.arange(len(slots))
        if np.any(cells[slots] != every):
            cells[slots] = -1
            return False
        cells[slots], paths[slots] = drivers, outputs
        self._count += len(slots)
        return True

    def of(self, cells: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """What drives one input of many cells, by numbers: the cells and the paths of the outputs.

        Both are -1 where nothing does.
        """
        number = self.paths.numbers.get(path, -1)
        drivers = np.full(len(cells), -1, np.int32)
        outputs = np.full(len(cells), -1, np.int32)
        kinds = self.kinds(cells)
        firsts = np.frombuffer(self._first, np.int64)[cells]
        for kind in np.unique(kinds).tolist():
            if (place := self._places[kind].get(number)) is not None:
                some = kinds == kind
                slots = firsts[some] + place
                drivers[some] = np.frombuffer(self._cell, np.int32)[slots]
                outputs[some] = np.frombuffer(self._path, np.int32)[slots]
        others = {cell: ends for (cell, own), ends in self._others.items() if own == number}
        if others:
            for at, cell in enumerate(cells.tolist()):
                if cell in others:
                    drivers[at], outputs[at] = others[cell]
        return drivers, outputs

    def copy(self) -> "Drivers":
        """A copy that can be changed; both number paths in the same way."""
        other = Drivers()
        other.cells, other.paths = self.cells.copy(), self.paths
        other._kinds, other._places = dict(self._kinds), list(self._places)
        other._kind, other._first = self._kind[:], self._first[:]
        other._cell, other._path = self._cell[:], self._path[:]
        other._others = dict(self._others)
        other._count, other._used = self._count, self._used
        return other

    def _find(self, pin: Pin) -> tuple[int, int]:
        """The numbers of a pin's cell and path; KeyError if there are none."""
        return self.cells.numbers[pin.cell], self.paths.numbers[pin.path]

    def pin(self, cell: int, path: int) -> Pin:
        """The pin of which these are the numbers of cell and path."""
        return Pin(self.cells.things[cell], self.paths.things[path])

    def __getitem__(self, pin: Pin) -> Pin:
        try:
            cell, path = self._find(pin)
            place = self._places[self._kind[cell]].get(path)
            if place is None:
                return self.pin(*self._others[cell, path])
        except KeyError:
            raise KeyError(pin) from None
        slot = self._first[cell] + place
        if self._cell[slot] < 0:
            raise KeyError(pin)
        return self.pin(self._cell[slot], self._path[slot])

    def __setitem__(self, pin: Pin, driver: Pin) -> None:
        if pin in self:
            del self[pin]
        self.connect(
            self.number(pin.cell),
            self.paths.number(pin.path),
            self.number(driver.cell),
            self.paths.number(driver.path),
        )

    def __delitem__(self, pin: Pin) -> None:
        if pin not in self:
            raise KeyError(pin)
        cell, path = self._find(pin)
        place = self._places[self._kind[cell]].get(path)
        if place is None:
            del self._others[cell, path]
        else:
            slot = self._first[cell] + place
            self._cell[slot] = self._path[slot] = -1
        self._count -= 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pin]:
        return (receiver for receiver, _ in self._pairs())

    def _pairs(self) -> Iterator[tuple[Pin, Pin]]:
        """All wires, by the cells that receive."""
        things = self.paths.things
        for number, cell in enumerate(self.cells.things):
            first = self._first[number]
            for path, place in self._places[self._kind[number]].items():
                if (driver := self._cell[first + place]) >= 0:
                    yield Pin(cell, things[path]), self.pin(driver, self._path[first + place])
        for receiver, ends in self._others.items():
            yield self.pin(*receiver), self.pin(*ends)

    def items(self) -> ItemsView[Pin, Pin]:
        return _Items(self)

    def values(self) -> ValuesView[Pin]:
        return _Values(self)

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


class _Items(ItemsView[Pin, Pin]):
    _mapping: Drivers

    def __iter__(self) -> Iterator[tuple[Pin, Pin]]:
        return self._mapping._pairs()


class _Values(ValuesView[Pin]):
    _mapping: Drivers

    def __iter__(self) -> Iterator[Pin]:
        return (driver for _, driver in self._mapping._pairs())


class Links(MutableSequence[tuple[Pin, Pin]]):
    """The pairs of pins that were linked, in order.

    Parameters
    ----------
    drivers : Drivers
        Has the numbers of cells and paths.
    """

    def __init__(self, drivers: Drivers) -> None:
        self._drivers = drivers
        self._ends = array("i")

    def add(self, a: int, path_a: int, b: int, path_b: int) -> None:
        """Append a pair, each pin as the numbers of its cell and its path."""
        self._ends.extend((a, path_a, b, path_b))

    def add_all(self, ends: np.ndarray) -> None:
        """Append pairs, each as a row of the four numbers of `add`."""
        self._ends.frombytes(ends.astype(np.int32).tobytes())

    def pins(self, begin: int = 0, end: int | None = None) -> tuple[Pins, Pins]:
        """The first and the second pins of adjacent pairs."""
        tables = self._drivers.cells.things, self._drivers.paths.things
        ends = np.array(self._ends, np.int32).reshape(-1, 4)[begin:end]
        return Pins(*tables, ends[:, 0], ends[:, 1]), Pins(*tables, ends[:, 2], ends[:, 3])

    def copy(self, drivers: Drivers) -> "Links":
        """The same pairs, with the numbers of a copy of the drivers."""
        other = Links(drivers)
        other._ends = self._ends[:]
        return other

    def _slice(self, index: int | slice) -> slice:
        """The slice of the array that has a pair, or adjacent pairs."""
        if isinstance(index, int):
            at = range(len(self))[index]
            return slice(4 * at, 4 * at + 4)
        begin, end, step = index.indices(len(self))
        if step != 1:
            raise InvalidValue(f"Links must be a slice of step 1, not {step}")
        return slice(4 * begin, 4 * max(begin, end))

    def __len__(self) -> int:
        return len(self._ends) // 4

    @overload
    def __getitem__(self, index: int) -> tuple[Pin, Pin]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[Pin, Pin]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Pin, Pin] | list[tuple[Pin, Pin]]:
        ends, pin = iter(self._ends[self._slice(index)]), self._drivers.pin
        pairs = [(pin(a, at), pin(b, to)) for a, at, b, to in zip(ends, ends, ends, ends)]
        return pairs if isinstance(index, slice) else pairs[0]

    @overload
    def __setitem__(self, index: int, value: tuple[Pin, Pin]) -> None: ...

    @overload
    def __setitem__(self, index: slice, value: Iterable[tuple[Pin, Pin]]) -> None: ...

    def __setitem__(self, index: int | slice, value: Any) -> None:
        pairs = value if isinstance(index, slice) else [value]
        cell, path = self._drivers.number, self._drivers.paths.number
        self._ends[self._slice(index)] = array(
            "i",
            [
                number
                for pair in pairs
                for pin in pair
                for number in (cell(pin.cell), path(pin.path))
            ],
        )

    def __delitem__(self, index: int | slice) -> None:
        del self._ends[self._slice(index)]

    def insert(self, index: int, value: tuple[Pin, Pin]) -> None:
        self[index:index] = [value]

    def __iter__(self) -> Iterator[tuple[Pin, Pin]]:
        return (self[number] for number in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))
