"""Figure 9: cost-effectiveness of hypercube, PSNN and tree, which is looseness times cost."""

from collections.abc import Iterator, Sequence
from functools import partial

from ...theory.static_formulas import looseness
from ..item import Item, Options, Row, grouped
from . import SOURCE
from .fig5_8 import COLUMNS, JOINED, break_even_words, panel, rows_of, searched, table_value

__all__ = ["FIG9"]

_ALPHAS = {0.5: "L C", 0.0: "D C", 1.0: "F C"}
"""The products, by their alpha."""
_PRINTED = {0.5: "between N = 128 and 256", 0.0: "none", 1.0: "N = 256"}
"""Where PSNN and hypercube break even, as the paper says."""
_TITLES = {0.5: "alpha = 1/2: L C", 0.0: "alpha = 0: D C", 1.0: "alpha = 1: F C"}


def _product(alpha: float, name: str, n: int) -> float:
    """C times L of Table II, with F and D of the table."""
    if alpha == 0.5:
        return table_value("LC", name, n)
    mixed = looseness(table_value("F", name, n), table_value("D", name, n), alpha)
    return mixed * table_value("C", name, n)


def _rows(options: Options) -> Iterator[Row]:
    for alpha in _ALPHAS:
        found = searched(options, alpha, "LC")
        yield from rows_of(found, partial(_product, alpha), alpha=alpha)


def _notes(rows: Sequence[Row], options: Options) -> Iterator[str]:
    yield (
        "alpha = 1/2 is L C, 0 is D C, 1 is F C. Lines: Table II. Points: computed with the "
        "mean degree as C; " + JOINED
    )
    for (alpha,), own in grouped(rows, "alpha").items():
        yield (
            f"Break-even of {_ALPHAS[alpha]}, printed: {_PRINTED[alpha]}. {break_even_words(own)}."
        )


FIG9 = Item(
    "ginosar-fig9",
    "Cost-effectiveness of hypercube, perfect shuffle and tree",
    f"{SOURCE}, Fig. 9",
    columns=f"alpha | {COLUMNS}",
    rows=_rows,
    draw=panel(
        True,
        title=lambda row: _TITLES[row["alpha"]],
        ylabel="looseness times links of a node",
        by="alpha",
        size=(4.3, 4.8),
    ),
    notes=_notes,
    ignores=("cycles", "engine"),
)
