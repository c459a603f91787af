"""The ends of wires: one pin, or many as arrays."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

__all__ = ["Numbered", "Path", "Pin", "Pins"]

Path = tuple[str | int, ...]

Thing = TypeVar("Thing", bound=Hashable)


class Pin(NamedTuple):
    """One end of a wire: a member of a cell's signature, or of the fabric's own if `cell` is None.

    Attributes
    ----------
    cell : str or None
        The name of the cell.
    path : Path
        It leads to an interface such as `("o", 1)` or to one leaf of it, `("o", 1, "valid")`.
    """

    cell: str | None
    path: Path

    def __str__(self) -> str:
        return ".".join(str(part) for part in ((self.cell or "(boundary)"), *self.path))


class Numbered(Generic[Thing]):
    """Things that are numbered in the order in which they are first named."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self.numbers: dict[Thing, int] = {}

    def __len__(self) -> int:
        return len(self.things)

    def number(self, thing: Thing) -> int:
        """The number of a thing; a new one if it has none."""
        found = self.numbers.get(thing)
        if found is None:
            found = self.numbers[thing] = len(self.things)
            self.things.append(thing)
        return found

    def add_all(self, things: Collection[Thing]) -> None:
        """Number things of which none was named before."""
        self.numbers.update(zip(things, range(len(self), len(self) + len(things))))
        self.things += things

    def copy(self) -> "Numbered[Thing]":
        other = Numbered[Thing]()
        other.things, other.numbers = list(self.things), dict(self.numbers)
        return other


@dataclass(frozen=True, slots=True, eq=False)
class Pins:
    """Many pins as arrays, without an object for each, which takes time and memory.

    Attributes
    ----------
    cells : Sequence[str | None]
        Cells that pins are of.
    paths : Sequence[Path]
        Paths that pins have.
    cell, path : np.ndarray
        By pin: the indices of its cell and of its path.
    """

    cells: Sequence[str | None]
    paths: Sequence[Path]
    cell: np.ndarray
    path: np.ndarray

    @classmethod
    def of(cls, pins: Iterable[Pin]) -> Self:
        """These pins."""
        cells, paths = Numbered[str | None](), Numbered[Path]()
        found = [(cells.number(cell), paths.number(path)) for cell, path in pins]
        cell, path = np.array(found, np.int32).reshape(-1, 2).T
        return cls(cells.things, paths.things, cell, path)

    @classmethod
    def of_each(cls, cells: Sequence[str | None], path: Path) -> Self:
        """The pin of this path of each cell."""
        return cls(cells, [path], np.arange(len(cells)), np.zeros(len(cells), np.int32))

    @classmethod
    def same(cls, pin: Pin, count: int) -> Self:
        """One pin, so many times."""
        zeros = np.zeros(count, np.int32)
        return cls([pin.cell], [pin.path], zeros, zeros)

    @classmethod
    def joined(cls, parts: Sequence["Pins"]) -> Self:
        """All pins of some parts, which share their lists of cells and of paths."""
        cell, path = (
            np.concatenate([getattr(part, each) for part in parts]) for each in ("cell", "path")
        )
        return cls(parts[0].cells, parts[0].paths, cell, path)

    def __len__(self) -> int:
        return len(self.cell)

    def some(self, which: np.ndarray) -> Self:
        """Some of the pins, by their indices or by a flag for each."""
        return replace(self, cell=self.cell[which], path=self.path[which])

    def below(self, path: Path) -> Self:
        """The pins that this path leads to from each of these."""
        used, own = np.unique(self.path, return_inverse=True)
        return replace(self, paths=[(*self.paths[each], *path) for each in used], path=own)

    def pin(self, index: int) -> Pin:
        """One of the pins."""
        return Pin(self.cells[self.cell[index]], self.paths[self.path[index]])

    def each(self) -> Iterator[Pin]:
        """The pins one by one."""
        cells, paths = self.cells, self.paths
        return (
            Pin(cells[cell], paths[path])
            for cell, path in zip(self.cell.tolist(), self.path.tolist())
        )
