"""Figures 8 and 9: delays of hypercubes and of BH/BH under local traffic, by formula and on RTL."""

from collections.abc import Callable

from ...theory.hierarchical import Hypercube, Rates, TwoLevel
from ..item import Item, Options
from . import SOURCE
from .delays_by_alpha import (
    COLUMNS,
    DRAW_DELAYS,
    Line,
    about_delays,
    alphas_of,
    delays,
    small_and_large,
)

__all__ = ["FIG8", "FIG9"]

_SIZES = range(5, 9)
"""Dimensions of the networks by size."""


def _hypercubes(options: Options) -> list[Line]:
    alphas = alphas_of(options)
    lines = [
        Line("a", f"D = {d}, d = {c}", [(Hypercube(d, c), a) for a in alphas], Rates(1, 0.75, 0.75))
        for d, c in ((6, 3), (3, 2))
    ]
    lines += [
        Line("b", f"d = {c}", [(Hypercube(d, c), 0.8) for d in _SIZES], Rates(1, 1, 1))
        for c in (3, 2)
    ]
    return lines


def _two_levels(options: Options) -> list[Line]:
    lines = small_and_large(options)
    for c, rates in ((3, Rates(1, 1.2, 1.5)), (2, Rates(1, 1.2, 1.2))):
        points = [(TwoLevel("bh", c, d - c), 0.8) for d in _SIZES]
        lines.append(Line("b", f"d = {c}", points, rates))
    return lines


def _figure(number: int, name: str, lines: Callable[[Options], list[Line]]) -> Item:
    return Item(
        f"dandamudi-fig{number}",
        f"Delays of {name} under local traffic",
        f"{SOURCE}, section III-B",
        columns=f"panel | line | nodes = N | alpha : .2f | {COLUMNS}",
        rows=lambda options: delays(lines(options), options),
        draw=DRAW_DELAYS,
        notes=about_delays,
        parallel=True,
    )


FIG8 = _figure(8, "hypercubes", _hypercubes)
FIG9 = _figure(9, "BH/BH", _two_levels)
