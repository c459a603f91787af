"""Table I: orders, by how much each measure of nine networks grows when N grows fourfold."""

from collections.abc import Iterator, Sequence

from ...theory.static_formulas import MEASURES
from ...theory.static_networks import NETWORKS
from ..item import Item, Options, Row, deviation
from . import SOURCE
from .nine_networks import NINE, draw_measures, nine

__all__ = ["TABLE1"]


def _sizes(options: Options) -> tuple[int, int]:
    return (2, 3) if options.quick else (3, 4)


def _rows(options: Options) -> Iterator[Row]:
    for name, one, other in zip(NINE, *(nine(size, options) for size in _sizes(options))):
        before, after = one.found.ranges(), other.found.ranges()
        network = NETWORKS[name]
        for measure in MEASURES:
            order = network.growth(measure, other.size) / network.growth(measure, one.size)
            lower = after[measure][0] / before[measure][1]
            upper = after[measure][1] / before[measure][0]
            exact = lower if lower == upper else None
            yield {
                "network": name,
                "measure": measure,
                "formula": network.orders[measure],
                "published": order,
                "lower": lower,
                "upper": upper,
                "computed": f"{lower:.3f}" if exact else f"{lower:.3f} to {upper:.3f}",
                "deviation": deviation(order, exact),
            }


def _notes(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    small, large = _sizes(options)
    return (
        f"Growth: the measure at N = {4**large} over that at N = {4**small}. An order leaves "
        "out constants and smaller terms, so it is only approached.",
        "NN_n has k = 4 at both sizes, so n grows. Star: d is 2, LC is N only with the mean of "
        "C; Table A has C = N. D of the star and the tree is N by the node that is cut there; "
        "by the definition of 5.3, links are cut: the star has D = 2.",
        "PSNN: the D of the table, log N, is that of the upper bound on e of PSE; "
        "whether e grows faster is open, as the appendix says.",
    )


TABLE1 = Item(
    "ginosar-table1",
    "Orders of the measures of nine static networks",
    f"{SOURCE}, Table I",
    columns="network | measure | formula = order, printed | published = its growth : .3f"
    " | computed = growth, computed | deviation : +.1%",
    rows=_rows,
    draw=draw_measures,
    notes=_notes,
    ignores=("cycles", "engine"),
)
