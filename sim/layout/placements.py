"""Layouts of kinds of networks."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod

from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.graph import Graph
from ...hdl.graphs.plans.multistage import MultistagePlan
from .columns import Connection, Side, columns
from .lines import lines
from .wire_grid import Layout

__all__ = [
    "folded",
    "rows_and_columns",
    "short_wires",
    "stages",
    "straight_paths",
    "wrapped_stages",
]


def stages(plan: MultistagePlan) -> Layout:
    """A multistage network as it is drawn (Siegel et al., figure 4).

    The columns are the inputs, the boxes of each stage, and the outputs, in the order of their
    numbers and with the first on top. Wires lead from column to column: first those from the
    inputs, then those from each stage. For N terminals the area is of order N^2, and the longest
    wire of order N.
    """
    count = [plan.ports, *plan.columns, plan.ports]
    return _multistage(plan, [range(each)[::-1] for each in count])


def short_wires(plan: MultistagePlan) -> Layout:
    """The same network without long wires: with N terminals and n stages, of order N / n.

    Only the order of the nodes within the columns differs from `stages`, and the area is still of
    order N^2. That there are such layouts is a theorem of R. Beigel and C. P. Kruskal (1989).

    This one follows the N paths that lead straight through all boxes. Let p_s be the port of a path
    at stage s, and b the radix (if stages differ, b^k is the product of k radices, beginning at the
    first stage or at the last). Two numbers from 0 to 1 belong to a path:

        early = p_0 / b + p_1 / b^2 + ...         with the ports of the first half of the stages,
        late = p_(n-1) / b + p_(n-2) / b^2 + ...  with those of the second half.

    The inputs are sorted by `late` and the outputs by `early`. Between them each path moves evenly
    from the one place to the other, by at most about N / n places from column to column: let t go
    from 0 at the inputs to 1 at the outputs; then the columns of the first half are sorted by
    late + 2 t early, and those of the second by early + 2 (1 - t) late. A box is at the mean height
    of its paths. They differ in its port alone, whose weight is small: early ports have a large
    weight only in the first stages, where t is small, late ones in the last.
    """
    reached = straight_paths(plan)
    n = len(plan.stages)
    half = (n + 1) // 2
    weights = [
        1 / prod(plan.radices[: stage + 1] if stage < half else plan.radices[stage:])
        for stage in range(n)
    ]
    digits = [
        [port * weight for (_, port), weight in zip(path, weights)] for path in zip(*reached[1:-1])
    ]
    early = [sum(path[:half]) for path in digits]
    late = [sum(path[half:]) for path in digits]
    order = []
    for number, column in enumerate(reached):
        t = number / (n + 1)
        heights: dict[int, float] = defaultdict(float)
        for path, (node, _) in enumerate(column):
            heights[node] += min(1, 2 * t) * early[path] + min(1, 2 - 2 * t) * late[path]
        order.append(sorted(range(len(heights)), key=heights.__getitem__))
    return _multistage(plan, order)


def straight_paths(plan: MultistagePlan) -> list[list[tuple[int, int]]]:
    """The paths that lead straight through all boxes.

    The columns are the inputs, the stages and the outputs. Each has for each path the number of the
    input, box or output, and the port of the box.
    """
    labels = list(range(plan.ports))
    found = [[(label, 0) for label in labels]]
    for stage in range(len(plan.stages)):
        labels = [plan.relabel(stage, label) for label in labels]
        found.append([plan.port(stage, label) for label in labels])
    found.append([(plan.relabel(len(plan.stages), label), 0) for label in labels])
    return found


def _multistage(plan: MultistagePlan, order: Sequence[Sequence[int]]) -> Layout:
    """The layout with the inputs, the boxes of each stage, and the outputs in a given order."""
    starts = list(accumulate([0, *map(len, order)]))
    connections = [
        Connection(start + node, Side.RIGHT, next_start + peer, Side.LEFT)
        for (start, here), (next_start, there) in pairwise(zip(starts, straight_paths(plan)))
        for (node, _), (peer, _) in zip(here, there)
    ]
    return columns([[start + node for node in c] for start, c in zip(starts, order)], connections)


def wrapped_stages(graph: Graph, stage: Callable[[int], int]) -> Layout:
    """A network whose nodes are in a ring of stages: a column for each stage, in this order.

    Nodes of a stage are in the order of their numbers, the first on top. Links lead to nodes of the
    next stage, of the one before, or of the same stage, which have a channel on either side of the
    column. Those between the last stage and the first pass all columns. A wire is a link in one
    direction.

    Parameters
    ----------
    graph : Graph
    stage : callable
        The stage of a node. There are at least three.

    Raises
    ------
    ValueError
        If there are fewer stages, or a link leads to another one than described.
    """
    order: list[list[int]] = [[] for _ in range(max(map(stage, range(graph.nodes))) + 1)]
    for node in reversed(range(graph.nodes)):
        order[stage(node)].append(node)
    connections = []
    for link in graph.links():
        steps = (stage(link.peer) - stage(link.node)) % len(order)
        if len(order) < 3 or steps not in (0, 1, len(order) - 1):
            raise InvalidValue(
                f"Link from node {link.node} to {link.peer} must lead to the same or a "
                f"neighbouring one of three or more stages, not from stage {stage(link.node)} to "
                f"{stage(link.peer)} of {len(order)}"
            )
        leaves = Side(steps == 1 or (steps == 0 and link.node < link.peer))
        enters = leaves if steps == 0 else Side(not leaves)
        connections.append(Connection(link.node, leaves, link.peer, enters))
    return columns(order, connections)


def rows_and_columns(graph: Graph, place: Callable[[int], tuple[int, int]]) -> Layout:
    """A network whose nodes are in rows and columns, and whose links lie along them.

    A wire is a link in one direction.

    Parameters
    ----------
    graph : Graph
    place : callable
        The column and the row of a node.
    """
    links = [(link.node, link.peer) for link in graph.links()]
    return lines([place(node) for node in range(graph.nodes)], links)


def folded(size: int) -> list[int]:
    """The place of each position of a ring that is folded: neighbours are at most two apart.

    >>> folded(5)
    [0, 2, 4, 3, 1]
    """
    return [min(2 * k, 2 * (size - k) - 1) for k in range(size)]
