"""Which cell types are sliced, and the tables of their planes: where each bit comes from."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....hdl.fabric.cell import CellType
from ....hdl.fabric.fabric import Fabric
from ....hdl.fabric.pins import Path
from .emit_c import LANES, is_large
from .emit_slices import IN_ORDER, STRAIGHT, TURNED
from .lowered_module import Module
from .schedule import Schedule
from .slices import PLANE, Slices, plane_words, saving, sliced

__all__ = ["FEWEST", "arranged", "slicing", "terms_of"]

FEWEST = PLANE // 2
"""Cells of a type that is sliced, at least."""

_WORTH = 1.05
"""A type is sliced if its operations then cost less than this part of what they cost in lanes."""

_TERM = np.dtype(
    [("taken", np.uint64), ("given", np.uint64), ("word", np.int32), ("turn", np.int32)]
)
"""Some bits of a word of the planes, by how many bits it is rotated, and which bits they become."""

_MOST_TURNS = 4
"""Rotated words of which an input is made, at most, if there is another way."""


class _Inputs(NamedTuple):
    """The inputs of a type that are constants of each cell, and those of single bits."""

    straps: frozenset[Path]
    single: frozenset[Path]


def slicing(
    fabric: Fabric, modules: Mapping[CellType, Module], plan: Schedule, runs: int
) -> dict[CellType, Slices]:
    """The types that are sliced in some runs of a fabric whose cells share vectors."""
    if sys.byteorder != "little":  # the code finds vectors in the bytes of planes
        return {}
    cells_of = fabric.types()
    wanted: dict[CellType, tuple[int, _Inputs]] = {}
    for type_, module in modules.items():
        counts = [runs * len(cells) for cells in plan.classes[type_]]
        words = plane_words(sum(-(-count // LANES) * LANES for count in counts))
        if sum(counts) < FEWEST:
            continue
        straps = frozenset(
            path for path in module.inputs if str(path[0]) in cells_of[type_][0].straps
        )
        single = frozenset(path for path, width in module.inputs.items() if width == 1) - straps
        if not is_large(module) and saving(module, words, straps, single) < _WORTH:
            wanted[type_] = words, _Inputs(straps, single)
    if not wanted:
        return {}
    kind_of = np.full(len(fabric.drivers.cells), -1, np.int64)
    for kind, cells in enumerate(cells_of.values()):
        kind_of[fabric.numbers(cells)] = kind
    kinds = [modules[type_] if type_ in wanted else None for type_ in cells_of]
    read = _read(fabric, modules, kind_of)
    found = {}
    for type_, (words, inputs) in wanted.items():
        members = np.concatenate(plan.classes[type_])
        planes = frozenset(
            path for path in inputs.single if _is_plane(fabric, kinds, kind_of, members, path, runs)
        )
        same = _same(fabric, kinds, kind_of, modules[type_], members)
        slices = sliced(modules[type_], words, inputs.straps, planes, same, read[type_])
        found[type_] = slices
    return found


def _read(
    fabric: Fabric, modules: Mapping[CellType, Module], kind_of: np.ndarray
) -> dict[CellType, frozenset[Path]]:
    """The outputs of each type that some cell reads; twins have the name of the first."""
    names = fabric.drivers.paths.things
    types = list(fabric.types())
    found: dict[CellType, set[Path]] = {type_: set() for type_ in types}
    for own, type_ in enumerate(types):
        for path in modules[type_].inputs:
            drivers, outputs = fabric.drivers.of(np.flatnonzero(kind_of == own), path)
            some = drivers >= 0
            keys = kind_of[drivers[some]] * len(names) + outputs[some]
            for kind, output in (divmod(key, len(names)) for key in np.unique(keys).tolist()):
                if kind >= 0:
                    path_ = names[output]
                    found[types[kind]].add(modules[types[kind]].twins.get(path_, path_))
    return {type_: frozenset(paths) for type_, paths in found.items()}


def _same(
    fabric: Fabric,
    kinds: Sequence[Module | None],
    kind_of: np.ndarray,
    module: Module,
    cells: np.ndarray,
) -> frozenset[tuple[Path, Path]]:
    """The inputs that have the values of an earlier one, since twins drive both."""
    numbers = fabric.drivers.paths.numbers
    first = np.tile(np.arange(len(numbers)), (len(kinds) + 1, 1))
    for kind, other in enumerate(kinds):
        for path, twin in other.twins.items() if other else ():
            if path != twin and path in numbers and twin in numbers:
                first[kind, numbers[path]] = numbers[twin]
    if np.all(first == first[-1]):
        return frozenset()
    found: dict[tuple[bytes, bytes], Path] = {}
    same = set()
    for path, width in module.inputs.items():
        drivers, outputs = fabric.drivers.of(cells, path)
        if width > 1 and np.all(drivers >= 0):  # others are constants
            key = drivers.tobytes(), first[kind_of[drivers], outputs].tobytes()
            if (earlier := found.setdefault(key, path)) != path:
                same.add((path, earlier))
    return frozenset(same)


def _is_plane(
    fabric: Fabric,
    kinds: Sequence[Module | None],
    kind_of: np.ndarray,
    cells: np.ndarray,
    path: Path,
    runs: int,
) -> bool:
    """Whether an input of single bits can be a plane: all that drives it is, or it is one wire."""
    drivers, outputs = fabric.drivers.of(cells, path)
    if runs == 1 and np.all((drivers == drivers[0]) & (outputs == outputs[0])):
        return True
    if np.any(drivers < 0) or np.any(kind_of[drivers] < 0):
        return False
    names = fabric.drivers.paths.things
    keys = np.unique(kind_of[drivers] * len(names) + outputs).tolist()
    pairs = [(kinds[key // len(names)], names[key % len(names)]) for key in keys]
    return all(driving and driving.widths[output] == [1] for driving, output in pairs)


def terms_of(
    places: np.ndarray, words: np.ndarray, bits: np.ndarray, count: int
) -> tuple[str, np.ndarray]:
    """How the words of an input are made from those that drive it, and the terms: [word][term].

    A term either rotates a word and takes some bits, or takes some bits of a word and spreads them
    to others in the same order. Rotations do where wiring is regular.

    Parameters
    ----------
    places : np.ndarray
        Of the cells that have the input.
    words, bits : np.ndarray
        By cell: word among the planes, and its bit, that drives it.
    count : int
        Words of the input.
    """
    to, at = np.divmod(places, PLANE)
    one = np.uint64(1)
    most_words = int(words.max()) + 1
    turned, which = np.unique(
        (to * most_words + words) * PLANE + (at - bits) % PLANE, return_inverse=True
    )
    targets = turned // PLANE // most_words
    masks = np.zeros(len(turned), np.uint64)
    np.bitwise_or.at(masks, which.reshape(-1), one << at.astype(np.uint64))
    most = np.bincount(targets, minlength=count).max(initial=1)
    if most > _MOST_TURNS:
        rows = list(_in_order(to, words, bits, at))
        if np.bincount([row[0] for row in rows], minlength=count).max() < most:
            return IN_ORDER, _table(rows, count)
    sources, turns = np.divmod(turned % (most_words * PLANE), PLANE)
    parts = (each.tolist() for each in (targets, np.zeros_like(turns), masks, sources, turns))
    return TURNED, _table(list(zip(*parts)), count)


def _table(rows: list[tuple[int, int, int, int, int]], count: int) -> np.ndarray:
    """Terms by the word that they are of; rows begin with its number, in ascending order."""
    to = np.array([row[0] for row in rows], np.int64)
    counts = np.bincount(to, minlength=count)
    table = np.zeros((count, max(1, counts.max(initial=0))), _TERM)
    number = np.arange(len(rows)) - (np.cumsum(counts) - counts)[to]
    table[to, number] = np.array([row[1:] for row in rows], _TERM)
    return table


def arranged(way: str, terms: np.ndarray, words: int) -> tuple[str, np.ndarray]:
    """The terms as the code reads them, a row for each block of so many words.

    Rotated words that follow each other in all blocks are read together.
    """
    blocks = terms.reshape(-1, words, terms.shape[1])
    place = np.arange(words)[:, None]
    if way == TURNED and words > 1 and np.all(blocks["given"]):
        first = blocks["word"][:, :1]
        if np.all(blocks["word"] == first + place):
            way = STRAIGHT
    moved = blocks["turn" if way != IN_ORDER else "taken"]
    found = [blocks["word"].astype(np.uint64), moved.astype(np.uint64), blocks["given"]]
    return way, np.stack(found, axis=1).transpose(0, 3, 1, 2).reshape(len(blocks), -1)


def _in_order(
    to: np.ndarray, words: np.ndarray, bits: np.ndarray, at: np.ndarray
) -> Iterator[tuple[int, int, int, int, int]]:
    """Terms that keep the order of bits."""
    order = np.lexsort((at, bits, words, to))
    keys = np.stack([to[order], words[order]], axis=1)
    begins = np.flatnonzero(np.r_[True, np.any(keys[1:] != keys[:-1], axis=1)])
    pairs = np.stack([bits[order], at[order]], axis=1)
    for begin, some in zip(begins.tolist(), np.split(pairs, begins[1:])):
        word, source = keys[begin].tolist()
        for taken, given in _ascending(tuple(map(tuple, some.tolist()))):
            yield word, taken, given, source, 0


@lru_cache(maxsize=4096)
def _ascending(pairs: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Pairs of bits in as few parts as ascend in both: the masks of each part."""
    parts: list[list[int]] = []  # last bits, and masks
    for bit, at in pairs:
        fitting = [part for part in parts if part[0] < bit and part[1] < at]
        if fitting:
            part = max(fitting, key=lambda part: part[1])
        else:
            part = [0, 0, 0, 0]
            parts.append(part)
        part[:] = bit, at, part[2] | 1 << bit, part[3] | 1 << at
    return [(taken, given) for _, _, taken, given in parts]
