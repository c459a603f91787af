"""The printed formulas for static networks beside computed values."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose

from .static_formulas import Formula, Size, StaticNetwork

__all__ = ["Comparison", "Range", "compared"]


Range = tuple[float, float]
"""A lower and an upper bound; equal if the number is known."""


@dataclass(frozen=True)
class Comparison:
    """A formula beside a computed value.

    Attributes
    ----------
    measure, printed, source, why : str
        As in `Formula`.
    value, corrected : float or None
        Values of the formula as printed and as corrected.
    lower, upper : float or None
        Bounds of the computed value; equal if it is exact.
    deviation : float or None
        Of the printed value from the computed one, relative; from the nearer bound if it is not
        between both, and None if it is.
    """

    measure: str
    printed: str
    source: str
    value: float | None
    corrected: float | None
    lower: float | None
    upper: float | None
    deviation: float | None
    why: str


def compared(
    network: StaticNetwork,
    size: Size,
    computed: Mapping[str, Range],
    formulas: Mapping[str, Formula] | None = None,
) -> list[Comparison]:
    """The formulas of a network, by default those of Table A, beside computed values by measure."""
    rows = []
    for measure, formula in (network.exact if formulas is None else formulas).items():
        value = None if formula.value is None else formula.value(size)
        right = None if formula.corrected is None else formula.corrected(size)
        lower, upper = computed.get(measure, (None, None))
        off = None if value is None or lower is None else _deviation(value, lower, upper or lower)
        text = formula.printed, formula.source
        rows.append(Comparison(measure, *text, value, right, lower, upper, off, formula.why))
    return rows


def _deviation(value: float, lower: float, upper: float) -> float | None:
    # Logarithms are rounded.
    if isclose(value, lower, rel_tol=1e-9) and lower == upper:
        return 0.0
    if lower < value < upper:
        return None
    return value / (lower if value <= lower else upper) - 1
