"""The contents of routers' tables, from a routing relation."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from ..fabric.errors import InvalidValue
from ..graphs.graph import Channel
from ..graphs.routing.relation import Relation
from ..switch.shape import RouterShape

__all__ = [
    "Rows",
    "TableMemories",
    "memory_rows",
    "phase_tables",
    "route_tables",
    "shared_memories",
    "table_memories",
    "weight_bits",
]

Rows = dict[int, int]
"""The outputs that a header may take, one bit each, or their weights, by its tag; only for tags
that can come."""


def weights_of(
    relation: Relation, channels: Sequence[Channel], destination: int
) -> dict[Channel, int]:
    """The weights of the channels that a header may take, divided by their common divisor; escape
    channels and others separately."""
    found: dict[Channel, int] = {}
    for kind in (True, False):
        own = {
            channel: relation.weight(channel, destination)
            for channel in channels
            if relation.is_escape(channel) == kind
        }
        common = gcd(*own.values())
        found |= {channel: weight // common for channel, weight in own.items()}
    return found


def weight_bits(relation: Relation) -> int:
    """The width of the largest weight."""
    most = 1
    for destination in range(relation.ports):
        seen: set[int] = set()
        for node, _, nexts in relation.steps(destination):
            if len(nexts) > 1 and (relation.looks_back or node not in seen):
                seen.add(node)
                most = max(most, *weights_of(relation, nexts, destination).values())
    return most.bit_length()


def route_tables(
    relation: Relation, shapes: Sequence[RouterShape], weights: int = 1
) -> list[list[Rows]]:
    """For each node and input, its rows.

    Parameters
    ----------
    relation : Relation
    shapes : Sequence[RouterShape]
        The shape of each node's router.
    weights : int
        Bits of an output's weight; 1 for no weights.

    Raises
    ------
    ValueError
        If tags do not hold the destination.
    """
    graph, tags = relation.graph, relation.tags
    if tags.routing != "destination":
        raise InvalidValue(f"Tables need tags that hold the destination, not {tags.routing} tags")

    def bit(channel: Channel) -> int:
        return 1 << shapes[channel.node].output((channel.port, channel.number)) * weights

    tables: list[list[Rows]] = [[{} for _ in shape.inputs] for shape in shapes]
    bits = {exit_: bit(exit_) for exit_ in graph.exits}
    # For each channel, the rows of the input behind it; for each node, those of its terminals.
    behind: dict[Channel, Rows] = {}
    for link in graph.links():
        for channel in link.each_channel():
            bits[channel] = bit(channel)
            entry = shapes[link.peer].input((link.peer_port, channel.number))
            behind[channel] = tables[link.peer][entry]
    sources = [
        [rows for entry, rows in zip(shape.inputs, own) if entry.is_terminal]
        for shape, own in zip(shapes, tables)
    ]
    for destination, exit_ in enumerate(graph.exits):
        tag = tags.tag(0, destination)
        known: dict[int, int] = {}
        for node, came, nexts in relation.steps(destination):
            if relation.looks_back or node not in known:
                exits = sum(bits[channel] for channel in nexts) if nexts else bits[exit_]
                if weights > 1 and nexts:
                    shares = weights_of(relation, nexts, destination)
                    exits = sum(bits[channel] * share for channel, share in shares.items())
                known[node] = exits
            for rows in sources[node] if came is None else (behind[came],):
                rows[tag] = known[node]
    return tables


def phase_tables(
    phases: tuple[Relation, Relation], shapes: Sequence[RouterShape]
) -> tuple[list[list[Rows]], list[list[Rows]]]:
    """As `route_tables`, for packets that go by way of an intermediate terminal.

    Returns
    -------
    tuple
        Rows by intermediate terminal, for inputs of the first phase; empty if it is at the node.
        And rows by destination, for all inputs: those of the first phase have those of the node's
        own terminals, where the second phase starts.
    """
    around, onward = (route_tables(phase, shapes) for phase in phases)
    for shape, first, second in zip(shapes, around, onward):
        links = sum(not output.is_terminal for output in shape.outputs)
        starts: Rows = {}
        for entry, rows in zip(shape.inputs, second):
            if entry.is_terminal:
                starts = rows
        for i, rows in enumerate(first):
            if rows:
                second[i] = starts
                first[i] = {tag: exits for tag, exits in rows.items() if not exits >> links}
    return around, onward


class TableMemories(NamedTuple):
    """The memories of all routers' tables.

    Attributes
    ----------
    readers, vias : Mapping[RouterShape, tuple[int | None, ...]]
        For each shape, the numbers of the memories that each input reads: by destination, and by
        intermediate terminal. There are no `vias` if packets have no intermediate terminal.
    contents : Sequence[Mapping[str, tuple[int, ...]]]
        For each node, the rows of each memory.
    """

    readers: Mapping[RouterShape, tuple[int | None, ...]]
    vias: Mapping[RouterShape, tuple[int | None, ...]]
    contents: Sequence[Mapping[str, tuple[int, ...]]]


@lru_cache(maxsize=1)
def table_memories(
    relation: Relation, shapes: tuple[RouterShape, ...], weights: int
) -> TableMemories:
    """The memories of all routers' tables, in which inputs with equal rows share one.

    Those of the last call are kept: a network is placed by itself, on the bench, and with other
    parameters of its routers.

    Parameters
    ----------
    relation, shapes, weights
        As in `route_tables`.
    """
    around: list[list[Rows]] = [[{} for _ in shape.inputs] for shape in shapes]
    if relation.phases is None:
        onward = route_tables(relation, shapes, weights)
    else:
        around, onward = phase_tables(relation.phases, shapes)
    readers: Mapping[RouterShape, tuple[int | None, ...]]
    if relation.rewritable:
        readers = {shape: tuple(range(len(shape.inputs))) for shape in shapes}
    else:
        readers = shared_memories(shapes, onward)
    vias = shared_memories(shapes, around, skip=True) if relation.phases else {}
    count = 1 << relation.tags.code.width
    contents = [
        memory_rows("rows", readers[shape], rows, count)
        | memory_rows("via", vias.get(shape, ()), via, count)
        for shape, rows, via in zip(shapes, onward, around)
    ]
    return TableMemories(readers, vias, contents)


def memory_rows(
    name: str, readers: Sequence[int | None], tables: Sequence[Rows], count: int
) -> dict[str, tuple[int, ...]]:
    """The contents of a node's memories, `count` rows each, from the rows of its inputs."""
    found: dict[str, list[int]] = {}
    for reader, rows in zip(readers, tables):
        if reader is not None:
            memory = found.setdefault(f"{name}_{reader}", [0] * count)
            for tag, exits in rows.items():
                memory[tag] = exits
    return {memory: tuple(rows) for memory, rows in found.items()}


def shared_memories(
    shapes: Sequence[RouterShape], tables: Sequence[Sequence[Rows]], skip: bool = False
) -> dict[RouterShape, tuple[int | None, ...]]:
    """For each shape, the number of the memory that each input reads.

    Inputs share one if their rows agree, wherever both have one, in all nodes of this shape. With
    `skip`, inputs without rows have None.
    """
    own: dict[RouterShape, list[Sequence[Rows]]] = {}
    for shape, table in zip(shapes, tables):
        own.setdefault(shape, []).append(table)
    return {shape: _grouped(len(shape.inputs), nodes, skip) for shape, nodes in own.items()}


def _grouped(inputs: int, nodes: Sequence[Sequence[Rows]], skip: bool) -> tuple[int | None, ...]:
    groups: list[list[Rows]] = []
    numbers: list[int | None] = []
    for i in range(inputs):
        if skip and not any(table[i] for table in nodes):
            numbers.append(None)
            continue
        fits = (
            number
            for number, group in enumerate(groups)
            if all(_agree(rows, table[i]) for rows, table in zip(group, nodes))
        )
        number = next(fits, len(groups))
        if number == len(groups):
            groups.append([{} for _ in nodes])
        for rows, table in zip(groups[number], nodes):
            rows.update(table[i])
        numbers.append(number)
    return tuple(numbers)


def _agree(one: Mapping[int, int], other: Mapping[int, int]) -> bool:
    return all(one[tag] == other[tag] for tag in one.keys() & other.keys())
