"""Traffic matrices: how much each terminal sends to each other one."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...hdl.bench.destination_table import CHANCE_BITS, table_row
from ...hdl.fabric.checks import check_limit
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.graphs.address_codes import AddressCode

__all__ = [
    "MOST_ENTRIES",
    "alias_slots",
    "check_matrix",
    "destination_tables",
    "shares_of",
    "table_slots",
]

MOST_ENTRIES = 2**22
"""Most entries of a matrix: 2,048 terminals."""


def check_matrix(given: Any, ports: int, sinks: int) -> np.ndarray:
    """A matrix of weights, checked, as an array of floats: a row for each source.

    Raises
    ------
    TypeError, ValueError
        If it is not `ports` rows of `sinks` numbers, all finite and not negative, and some above
        0; or if it is too large.
    """
    check_limit("Entries of a traffic matrix", ports * sinks, MOST_ENTRIES)
    rows = given if isinstance(given, np.ndarray) else list(given)
    if len(rows) != ports:
        raise InvalidValue(f"Traffic matrix must have {ports} rows, not {len(rows)}")
    matrix = np.array([_row(row, source, sinks) for source, row in enumerate(rows)])
    for source, destination in np.argwhere(~(np.isfinite(matrix) & (matrix >= 0))):
        raise InvalidValue(
            f"Weight from {source} to {destination} of a traffic matrix must be a finite number of "
            f"at least 0, not {matrix[source, destination]:g}"
        )
    if not matrix.any():
        raise InvalidValue("Traffic matrix must have a weight above 0")
    # Sums of the largest numbers would overflow.
    return matrix / matrix.max()


def _row(row: Any, source: int, sinks: int) -> np.ndarray:
    try:
        found = np.asarray(row)
    except ValueError:  # a row with a row in it
        found = np.array(None)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iuf"):
        raise InvalidType(f"Row {source} of a traffic matrix must hold numbers only, not {row!r}")
    if len(found) != sinks:
        raise InvalidValue(
            f"Row {source} of a traffic matrix must have {sinks} weights, not {len(found)}"
        )
    return found.astype(float)


def table_slots(matrix: np.ndarray) -> int:
    """Slots of the tables for a matrix: a power of two, at least the destinations of any source."""
    most = int((matrix > 0).sum(axis=1).max())
    return max(2, 1 << (most - 1).bit_length())


def destination_tables(matrix: np.ndarray, code: AddressCode) -> Iterator[tuple[int, ...]]:
    """For each source, the slots of its table (`table_row`); zeros for a source without weights.

    The probability of each destination is its weight in the row's sum, rounded up or down to a
    multiple of 2^-24 / slots.
    """
    slots = table_slots(matrix)
    layout = table_row(code)
    first_bit, other_bit = layout["first"].offset, layout["other"].offset
    codes = [code.encode(terminal) for terminal in range(matrix.shape[1])]
    for row in matrix:
        shares = shares_of(row, slots << CHANCE_BITS)
        yield tuple(
            chance | codes[first] << first_bit | codes[other] << other_bit
            for chance, first, other in alias_slots(shares, slots)
        )


def shares_of(row: np.ndarray, whole: int) -> dict[int, int]:
    """By destination: integers in proportion to the weights, with the sum `whole`."""
    used = np.flatnonzero(row)
    if not len(used):
        return {}
    exact = row[used] / row[used].sum() * whole
    shares = np.floor(exact).astype(np.int64)
    # What is left over goes to those that were rounded down the most.
    left = whole - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:left]] += 1
    return dict(zip(used.tolist(), shares.tolist()))


def alias_slots(shares: dict[int, int], slots: int) -> list[tuple[int, int, int]]:
    """Slots (chance, first, other) of a table for shares that add up to 2^24 for each slot."""
    if not shares:
        return []
    full = 1 << CHANCE_BITS
    items = [*shares.items(), *[(0, 0)] * (slots - len(shares))]
    small = [item for item in items if item[1] < full]
    large = [item for item in items if item[1] >= full]
    table = []
    # The shares that are left are always as many as there are slots left, times `full`.
    while small:
        to, share = small.pop()
        other, rest = large.pop()
        table.append((share, to, other))
        rest -= full - share
        (small if rest < full else large).append((other, rest))
    return table + [(0, to, to) for to, _ in large]
