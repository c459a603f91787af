"""Figure 5: links of hierarchical networks by size, by formula and counted in the graphs."""

from collections.abc import Iterator

from ..item import Item, Options, Row
from ..panels import Lines, Panel
from . import SOURCE
from .two_levels import LARGEST, by_size, colour_of, graph_of, name_of

__all__ = ["FIG5"]


def _rows(options: Options) -> Iterator[Row]:
    for network in by_size(options):
        small = network.nodes <= LARGEST
        yield {
            "network": name_of(network),
            "nodes": network.nodes,
            "links": network.links(),
            "counted": len(graph_of(network).edges) if small else None,
        }


FIG5 = Item(
    "dandamudi-fig5",
    "Links of hierarchical networks by size",
    f"{SOURCE}, section III-A",
    columns="network | nodes = N | links = L, printed : .0f | counted = L, graph",
    rows=_rows,
    draw=Panel(
        "nodes",
        [Lines("links", "-", "{network}")],
        ["network"],
        xlabel="nodes N",
        ylabel="links L",
        xlog=2,
        ylog=10,
        size=(6.4, 4.4),
        colour=colour_of,
    ),
    ignores=("cycles", "engine", "seed"),
)
