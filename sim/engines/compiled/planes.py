"""Which cell types are sliced, and the tables of their planes: where each bit comes from."""

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ....hdl.fabric.fabric import CellType, Fabric, Path
from .emit_c import LANES, is_large
from .ir import Module
from .schedule import Schedule
from .slices import PLANE, Slices, plane_words, saving, sliced

__all__ = ["TERM", "aligned_terms", "slicing"]

_FEWEST = PLANE // 2
"""Cells of a type that is sliced, at least."""

_WORTH = 1.05
"""A type is sliced if its operations then cost less than this part of what they cost in lanes."""

_MOST_PADDING = 2
"""So many times the positions may a sliced type have that it would have in lanes."""

TERM = np.dtype([("mask", np.uint64), ("word", np.int32), ("turn", np.int32)])
"""As in C: bits of a word of the planes, where they are after a rotation."""


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
    first = {type_: cells[0] for type_, cells in fabric.types().items()}
    wanted: dict[CellType, tuple[int, _Inputs]] = {}
    for type_, module in modules.items():
        counts = [runs * len(cells) for cells in plan.classes[type_]]
        words = plane_words(counts)
        if sum(counts) < _FEWEST or _padded(counts, PLANE) > _MOST_PADDING * _padded(counts, LANES):
            continue
        straps = frozenset(path for path in module.inputs if str(path[0]) in first[type_].straps)
        single = frozenset(path for path, width in module.inputs.items() if width == 1) - straps
        if not is_large(module) and saving(module, words, straps, single) < _WORTH:
            wanted[type_] = words, _Inputs(straps, single)
    types = [None] * len(fabric.drivers.cells)
    for type_ in wanted:
        for number in fabric.numbers(fabric.types()[type_]).tolist():
            types[number] = type_
    found = {}
    for type_, (words, inputs) in wanted.items():
        cells = np.concatenate(plan.classes[type_])
        planes = frozenset(
            path for path in inputs.single if _is_plane(fabric, modules, types, cells, path, runs)
        )
        found[type_] = sliced(modules[type_], words, inputs.straps, planes)
    return found


def _padded(counts: list[int], block: int) -> int:
    return sum(-(-count // block) * block for count in counts)


def _is_plane(
    fabric: Fabric,
    modules: Mapping[CellType, Module],
    types: list[CellType | None],
    cells: np.ndarray,
    path: Path,
    runs: int,
) -> bool:
    """Whether an input of single bits can be a plane: all that drives it is, or it is one wire."""
    drivers, outputs = fabric.drivers.of(cells, path)
    names = fabric.drivers.paths.things
    kinds = set(zip(drivers.tolist(), outputs.tolist()))
    if len(kinds) == 1 and runs == 1:
        return True
    return all(
        driver >= 0
        and (type_ := types[driver]) is not None
        and modules[type_].widths[names[output]] == [1]
        for driver, output in kinds
    )


def aligned_terms(
    places: np.ndarray, words: np.ndarray, bits: np.ndarray, count: int
) -> np.ndarray:
    """The terms of an input: [word][term].

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
    turns = (at - bits) % PLANE
    keys = np.stack([to, words, turns], axis=1)
    kinds, which = np.unique(keys, axis=0, return_inverse=True)
    masks = np.zeros(len(kinds), np.uint64)
    np.bitwise_or.at(masks, which.reshape(-1), np.uint64(1) << at.astype(np.uint64))
    counts = np.bincount(kinds[:, 0], minlength=count)
    terms = np.zeros((count, max(1, counts.max())), TERM)
    begins = np.cumsum(counts) - counts
    number = np.arange(len(kinds)) - begins[kinds[:, 0]]
    terms["mask"][kinds[:, 0], number] = masks
    terms["word"][kinds[:, 0], number] = kinds[:, 1]
    terms["turn"][kinds[:, 0], number] = kinds[:, 2]
    return terms
