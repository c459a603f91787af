"""Table I: the orders of growth of links and distances, by the numbers of graphs."""

from collections.abc import Callable, Iterator

from ....hdl.families.complete_graph import Complete
from ....hdl.families.hypercube.hypercube_graph import RoutedHypercube
from ....hdl.families.torus.torus_graph import Torus
from ....hdl.graphs.graph import Graph
from ...measure.graph_measures import graph_measures
from ..item import Item, Options, Row
from ..panels import Lines, Panel, Plot
from . import SOURCE

__all__ = ["TABLE1"]

_KINDS: tuple[tuple[str, str, str, Callable[[int], Graph]], ...] = (
    ("complete connection", "O(N²)", "O(1)", lambda n: Complete(1 << n)),
    ("hypercube", "O(N log N)", "O(log N)", RoutedHypercube),
    ("ring", "O(N)", "O(N)", lambda n: Torus(1 << n, 1)),
)


def _rows(options: Options) -> Iterator[Row]:
    for name, links, distance, make in _KINDS:
        for n in (3, 5) if options.quick else (4, 5, 6, 7, 8):
            measures = graph_measures(make(n))
            yield {
                "network": name,
                "order_links": links,
                "order_distance": distance,
                "nodes": measures.nodes,
                "links": measures.links,
                "distance": measures.mean_distance,
            }


def _panel(y: str, ylabel: str) -> Panel:
    return Panel(
        "nodes",
        [Lines(y, "o-", "{network}")],
        ["network"],
        xlabel="nodes N",
        ylabel=ylabel,
        xlog=2,
        ylog=2,
    )


TABLE1 = Item(
    "dandamudi-table1",
    "Links and distances of complete networks, hypercubes and rings",
    f"{SOURCE}, section II-A",
    columns="network | order_links = links, printed | order_distance = distance, printed"
    " | nodes = N | links | distance = mean distance : .4f",
    rows=_rows,
    draw=Plot(
        [_panel("links", "links"), _panel("distance", "mean distance (links)")], size=(4.8, 4.2)
    ),
    ignores=("cycles", "engine", "seed"),
)
