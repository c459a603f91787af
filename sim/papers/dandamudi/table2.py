"""Table II: how many neighbours in a mesh are in the same square.

They are counted in a torus of 3 x 3 squares.
"""

from collections.abc import Iterator
from math import sqrt

from ....hdl.families.torus.torus_graph import Torus
from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE

__all__ = ["TABLE2"]

_PRINTED_ALPHA = {4: 0.5, 9: 0.67, 16: 0.75, 25: 0.80, 36: 0.83, 49: 0.86, 64: 0.875}


def _rows(options: Options) -> Iterator[Row]:
    for size, printed in _PRINTED_ALPHA.items():
        side = round(sqrt(size))
        torus = Torus(3 * side, 2)
        squares = [
            (node // (3 * side) // side, node % (3 * side) // side) for node in range(torus.nodes)
        ]
        links = list(torus.links())
        inside = sum(squares[link.node] == squares[link.peer] for link in links)
        yield {
            "size": size,
            "published": printed,
            "predicted": 1 - 1 / sqrt(size),
            "counted": inside / len(links),
        }


TABLE2 = Item(
    "dandamudi-table2",
    "The share of neighbours in a mesh that are in the same square cluster",
    f"{SOURCE}, section III-A",
    columns="size = cluster size n | published = printed : .3f"
    " | predicted = 1 - 1 / sqrt(n) : .4f | counted = links inside, counted : .4f",
    rows=_rows,
    draw=Panel(
        "size",
        [
            Lines("published", "o-", "printed"),
            Lines("counted", "x--", "counted in a torus of 3 x 3 clusters", look={"color": "C1"}),
        ],
        xlabel="size",
        ylabel="alpha",
        size=(6.4, 4.2),
    ),
    ignores=("cycles", "engine", "seed"),
)
