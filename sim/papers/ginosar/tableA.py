"""Table A: exact measures of nine static networks, printed, corrected and computed."""

from collections.abc import Iterator

from ...theory.static_networks import NETWORKS
from ..item import Item, Options, Row
from . import SOURCE
from .nine_networks import BOUNDS, NINE, TABLE_COLUMNS, comparison_rows, draw_measures, nine, why

__all__ = ["TABLE_A"]


def _rows(options: Options) -> Iterator[Row]:
    for dimensions in (2,) if options.quick else (3, 4):
        for each, name in zip(nine(dimensions, options), NINE):
            yield from comparison_rows(each, NETWORKS[name].exact, name)


TABLE_A = Item(
    "ginosar-tableA",
    "Exact measures of nine static networks",
    f"{SOURCE}, Table A",
    columns=TABLE_COLUMNS,
    rows=_rows,
    draw=draw_measures,
    notes=lambda rows, options: (
        BOUNDS,
        "NN_n has k = 4, and the tree is binary with full levels. L and LC are for alpha = 1/2.",
        "Scan errors, not counted as deviations: D of NN_n is N^(1/n)/2, that of the hypercube "
        "is 2; d and F of NN_2 have sqrt(N)/2; L and LC of PSNN follow from its F, D and C.",
        *why({name: NETWORKS[name].exact for name in NINE}, rows),
    ),
    ignores=("cycles", "engine"),
)
