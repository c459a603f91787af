"""The graph's simplifications: each node has the value that it would have without them."""

import random
from collections.abc import Callable

import pytest
from multicube.sim.engines.compiled.ir import Node
from multicube.sim.engines.compiled.word_graph import Graph, evaluate

WIDTHS = (1, 1, 2, 3)
VALUES = [(a, b, c, d) for a in range(2) for b in range(2) for c in range(4) for d in range(8)]
"""All values of four inputs of these widths."""

Column = list[int]
"""A value for each of `VALUES`."""


class Expressions:
    """Random nodes, each with its values as Python's numbers have them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.graph = Graph()
        self.made: list[tuple[Node, Column]] = [
            (self.graph.input((f"i{index}",), 0, width), [values[index] for values in VALUES])
            for index, width in enumerate(WIDTHS)
        ]

    def argument(self) -> tuple[Node, Column]:
        if self.random.random() < 0.3:
            value = self.random.choice((0, 1, 1, self.random.randrange(16)))
            return self.graph.const(value), [value] * len(VALUES)
        return self.random.choice(self.made)

    def add(self) -> None:
        graph, pick = self.graph, self.random
        (a, x), (b, y), (c, z) = [self.argument() for _ in range(3)]
        width = pick.randint(1, 6)

        def each(function: Callable[..., int], *columns: Column) -> Column:
            return [function(*values) for values in zip(*columns)]

        def joined() -> tuple[Node, Column]:
            parts, at, values = [], 0, [0] * len(VALUES)
            for node, column in ((a, x), (b, y), (c, z))[: pick.randint(1, 3)]:
                at += pick.choice((0, 0, 1))  # a gap
                parts.append((node, at))
                values = each(lambda v, w, at=at: v | w << at, values, column)
                at += node.width
            return graph.cat(parts), values

        low = pick.randrange(4)
        makers: list[Callable[[], tuple[Node, Column]]] = [
            lambda: (graph.and_(a, b), each(lambda v, w: v & w, x, y)),
            lambda: (graph.or_(a, b), each(lambda v, w: v | w, x, y)),
            lambda: (graph.xor(a, b), each(lambda v, w: v ^ w, x, y)),
            lambda: (graph.not_(a, a.width), each(lambda v: v ^ (1 << a.width) - 1, x)),
            lambda: (graph.add(a, b, width), each(lambda v, w: v + w & (1 << width) - 1, x, y)),
            lambda: (graph.sub(a, b, width), each(lambda v, w: v - w & (1 << width) - 1, x, y)),
            lambda: (graph.mul(a, b, width), each(lambda v, w: v * w & (1 << width) - 1, x, y)),
            lambda: (graph.eq(a, b), each(lambda v, w: int(v == w), x, y)),
            lambda: (graph.ult(a, b), each(lambda v, w: int(v < w), x, y)),
            lambda: (graph.slice(a, low, width), each(lambda v: v >> low & (1 << width) - 1, x)),
            lambda: (graph.any(a), each(lambda v: int(v != 0), x)),
            joined,
            joined,
        ]
        if a.width == 1:
            choice = (graph.mux(a, b, c), each(lambda v, w, u: w if v else u, x, y, z))
            makers += [lambda: choice] * 2
        node, values = pick.choice(makers)()
        number = pick.choice(values)
        equal = graph.eq(node, graph.const(number)), each(lambda v: int(v == number), values)
        less = graph.ult(node, graph.const(number)), each(lambda v: int(v < number), values)
        self.made += [(node, values), equal, less] if node.width <= 12 else [equal, less]


def computed(nodes: list[Node]) -> dict[Node, Column]:
    found: dict[Node, Column] = {}
    for node in Graph.cone(nodes):
        match node.op:
            case "input":
                found[node] = [values[int(node.attr[0][0][1:])] for values in VALUES]
            case "const":
                found[node] = [node.attr] * len(VALUES)
            case _:
                columns = zip(*(found[arg] for arg in node.args))
                found[node] = [evaluate(node, values) for values in columns]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed: int) -> None:
    expressions = Expressions(seed)
    for _ in range(80):
        expressions.add()
    found = computed([node for node, _ in expressions.made])
    for node, values in expressions.made:
        assert found[node] == values, node
        assert max(values) < 1 << node.width, node
