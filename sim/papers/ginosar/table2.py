"""Table II: measures of hypercube, PSNN and binary tree of 2^n nodes."""

from collections.abc import Iterator
from itertools import product

from ...theory.static_networks import NETWORKS
from ..item import Item, Options, Row
from . import SOURCE
from .nine_networks import (
    BOUNDS,
    TABLE_COLUMNS,
    comparison_rows,
    draw_measures,
    measured,
    three,
    why,
)

__all__ = ["TABLE2"]

_NAMES = [*three(3)]


def _rows(options: Options) -> Iterator[Row]:
    for name, n in product(_NAMES, (3, 4) if options.quick else range(3, 9)):
        each = measured(*three(n)[name], options)
        yield from comparison_rows(each, NETWORKS[name].table_2, name)


TABLE2 = Item(
    "ginosar-table2",
    "Measures of hypercube, perfect shuffle and tree",
    f"{SOURCE}, Table II",
    columns=TABLE_COLUMNS,
    rows=_rows,
    draw=draw_measures,
    notes=lambda rows, options: (
        BOUNDS,
        "The tree has 2^n nodes as the table says, so one node more than n full levels.",
        *why({name: NETWORKS[name].table_2 for name in _NAMES}, rows),
    ),
    ignores=("cycles", "engine"),
)
