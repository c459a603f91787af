# amaranth: UnusedElaboratable=no
"""The tables of groups beside routers: their cells, and what is in them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.graph import Channel, End, Graph, Turn
from ..graphs.partitions import Subnetwork
from ..graphs.routing.group_deadlock import MERGE, SENDS, Wait, group_deadlock
from ..graphs.routing.group_tree import GroupTree, Kind
from ..graphs.routing.relation import Relation
from ..operations.folds import fold_some
from ..routers.group_table import GroupTable
from ..switch.merge import Groups, MergeRow
from ..switch.shape import InputChannel, RouterShape

__all__ = [
    "Missing",
    "check_inside",
    "group_cycle",
    "group_rows",
    "group_total",
    "group_turns",
    "missing",
    "place_group_tables",
]


class Missing(NamedTuple):
    """A child whose packet does not come.

    Attributes
    ----------
    group : int
        The number of the group.
    node : str
        Where the packets of other children wait for it.
    child : str
        The node or terminal from which it should come.
    """

    group: int
    node: str
    child: str

    def __str__(self) -> str:
        return f"group {self.group}: node {self.node} waits for {self.child}"


def missing(
    graph: Graph, shapes: Sequence[RouterShape], signal: Callable[[str, str], int]
) -> list[Missing]:
    """The children for which packets have waited for long; `signal` reads one of a cell."""
    into = {(link.peer, link.peer_port): link.node for link in graph.links()}
    terminals = {(one.node, one.port): number for number, one in enumerate(graph.entries)}
    found = []
    for node, shape in enumerate(shapes):
        bits = signal(f"router_{node}", "late")
        for number, entry in enumerate(shape.inputs) if bits else ():
            if bits >> number & 1:
                place = node, entry.end[0]
                child = f"terminal {terminals[place]}" if place in terminals else ""
                child = child or f"node {graph.name(into[place])}"
                group = signal(f"router_{node}", "late_group")
                found.append(Missing(group, graph.name(node), child))
    return found


def group_cycle(
    relation: Relation,
    trees: Mapping[int, GroupTree],
    kinds: Collection[Kind],
    *,
    passes: bool,
    named: Callable[[Channel], str],
) -> list[str] | None:
    """A cycle of channels on which packets may wait for each other (`group_deadlock`), in words;
    `named` are those of a channel between nodes."""
    numbers = list(trees)
    single = "a packet for one terminal" + (" or a copy" if passes else "")
    found = group_deadlock(relation, list(trees.values()), kinds, passes=passes)

    def said(wait: Wait) -> str:
        graph, channel = relation.graph, wait.channel
        node = graph.name(channel.node)
        if channel.port == MERGE:
            words = f"what merges packets in node {node}"
        elif channel.number == SENDS:
            entry = channel._replace(number=0)
            words = f"the queue of terminal {graph.entries.index(entry)}"
        elif channel.port < 0:
            words = f"node {node} to terminal {graph.exits.index(channel)}"
        else:
            words = named(channel)
        whose = single if wait.tree is None else f"group {numbers[wait.tree]}"
        return f"{words}, held by {whose}"

    return None if found is None else list(map(said, found))


def check_inside(relation: Relation, number: int, tree: GroupTree, part: Subnetwork) -> None:
    """Raise ValueError if a group, or its number, is not inside of the subnetwork of its root."""
    for member in tree.members:
        if member not in part:
            raise InvalidValue(
                f"Members of group {number} must be in the subnetwork of its root {tree.root} "
                f"({part}), not {member}"
            )
    if number & ~part.mask != part.value:
        raise InvalidValue(
            f"Number of a group must be the address of a terminal of its subnetwork ({part}), "
            f"not {number}"
        )
    own = {one for pair in product(part.members, repeat=2) for one in relation.reached(*pair)}
    for channel in [*tree.copied, *tree.merged]:
        if channel not in own:
            node = relation.graph.name(channel.node)
            raise InvalidValue(
                f"Group {number} must have a tree inside of its subnetwork ({part}), not one that "
                f"leaves it at node {node}"
            )


def place_group_tables(
    fabric: Fabric | Scope,
    shapes: Sequence[RouterShape],
    groups: Groups,
    rows: Mapping[str, Mapping[str, Sequence[int]]],
) -> None:
    """Place the cells `groups_{node}` beside the routers, with these rows."""
    types: dict[RouterShape, CellType] = {}
    for node, shape in enumerate(shapes):
        if shape not in types:
            size = {"inputs": len(shape.inputs), "outputs": len(shape.outputs)}
            types[shape] = CellType(GroupTable, groups=groups, **size)
        here, there = f"router_{node}", f"groups_{node}"
        contents = {name: tuple(own) for name, own in rows[there].items()}
        fabric.place(Cell(there, types[shape], contents=contents))
        for i in range(len(shape.inputs)):
            fabric.link(Pin(here, ("group", i)), Pin(there, ("group", i)))
            fabric.link(Pin(there, ("exits", i)), Pin(here, ("copies", i)))
        if groups.merges:
            fabric.link(Pin(here, ("merged",)), Pin(there, ("merged",)))
            fabric.link(Pin(there, ("row",)), Pin(here, ("row",)))
            fabric.link(Pin(there, ("mergeable",)), Pin(here, ("mergeable",)))


def group_turns(
    inputs: Iterable[InputChannel], outputs: Iterable[tuple[End, bool, int]], *, every: bool
) -> set[Turn]:
    """The turns that copies make besides those of packets for one terminal: to the terminals, and
    if a tree may be any, all but those back along a link."""
    found = {Turn(None, None)}
    ends = [end for end, escape, _ in outputs if escape]
    for entry in inputs:
        found.add(Turn(entry.end, None))
        if every:
            found |= {Turn(entry.end, end) for end in ends}
    return found | ({Turn(None, end) for end in ends} if every else set())


def group_rows(
    trees: Mapping[int, GroupTree], shapes: Sequence[RouterShape], groups: Groups
) -> dict[str, dict[str, list[int]]]:
    """The rows of all tables, by cell and memory.

    Parameters
    ----------
    trees : Mapping[int, GroupTree]
        By the number of their group; entries of other groups are empty.
    shapes : Sequence[RouterShape]
    groups : Groups

    Raises
    ------
    ValueError
        If there is no such entry, or routers can't make a turn.
    """
    size = 1 << groups.bits
    found: dict[str, dict[str, list[int]]] = {}
    for node in range(len(shapes)):
        own = found[f"groups_{node}"] = {"copies": [0] * size}
        if groups.merges:
            own |= {"merges": [0] * size, "children": [0]}
    for number, tree in trees.items():
        if number not in range(groups.count):
            raise InvalidValue(f"Group must be from 0 to {groups.count - 1}, not {number}")
        _check_turns(tree, shapes)
        for node, part in tree.nodes.items():
            shape, rows = shapes[node], found[f"groups_{node}"]
            copies = _outputs(shape, part.exits)
            rows["copies"][number] = copies
            if groups.merges:
                exits = () if part.onward is None else (part.onward,)
                values = {
                    "children": _inputs(tree, shape, part.children),
                    "exits": _outputs(shape, exits),
                    "around": copies if node == tree.turn else 0,
                }
                row = MergeRow(len(shape.inputs), len(shape.outputs))
                rows["merges"][number] = row.number(values)
                rows["children"][0] |= values["children"]
    return found


def group_total(
    tree: GroupTree,
    shapes: Sequence[RouterShape],
    words: Mapping[int, int],
    perform: Callable[[int, int], int],
) -> int:
    """What routers make of one word of each member: each merges those of its children, in the order
    of its inputs (`operations.folds.fold_some`)."""
    graph = tree.graph
    terminals = {channel: number for number, channel in enumerate(graph.entries)}
    totals: dict[int, int] = {}
    root = graph.exit_homes[tree.root]
    for node in reversed([root, *(child.node for child in tree.merged)]):
        values: list[int | None] = [None] * len(shapes[node].inputs)
        for child in tree.nodes[node].children:
            value = totals[child.node] if child.port >= 0 else words[terminals[child]]
            values[shapes[node].input(_entry(tree, child))] = value
        totals[node] = fold_some(perform, values)
    return totals[root]


def _outputs(shape: RouterShape, channels: Iterable[Channel]) -> int:
    return sum(1 << shape.output((channel.port, channel.number)) for channel in channels)


def _entry(tree: GroupTree, channel: Channel) -> End:
    """The input that a channel leads to, or that is a terminal's."""
    if channel.port < 0:
        return channel.port, channel.number
    return tree.graph.link_of(channel).peer_port, channel.number


def _inputs(tree: GroupTree, shape: RouterShape, channels: Iterable[Channel]) -> int:
    return sum(1 << shape.input(_entry(tree, channel)) for channel in channels)


def _check_turns(tree: GroupTree, shapes: Sequence[RouterShape]) -> None:
    """Raise ValueError if a router has no wires for a turn of a multicast."""
    graph = tree.graph
    for channel, before in tree.copied.items():
        shape = shapes[channel.node]
        came = graph.entries[tree.root] if before is None else before
        entry = shape.input(_entry(tree, came))
        output = shape.outputs[shape.output((channel.port, channel.number))]
        if entry not in output.inputs:
            raise InvalidValue(
                f"Router of node {graph.name(channel.node)} has no way for copies from terminal "
                f"{tree.root} to all members"
            )
