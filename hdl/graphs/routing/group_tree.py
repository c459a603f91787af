"""Trees of groups of terminals: by which a message is copied to all, and values of all are merged.

A packet for a group has the number of the group in place of a tag, and its `Kind`. Every router has
an entry for the group (`GroupNode`). A multicast starts at the root's terminal, and is copied to
several exits where its way divides. Packets that are merged come from all members; a router joins
those of its children, and sends one on towards the root.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ...fabric.checks import check_integer, check_several
from ...fabric.errors import InvalidValue
from ...fabric.numerals import is_natural
from ..graph import Channel, End, Graph, Turn
from .relation import Relation

__all__ = [
    "GroupNode",
    "GroupTree",
    "Kind",
    "checked_group",
    "group_tree",
    "parse_group",
    "parse_members",
]


_Tree = dict[int, Channel]
"""For each node of a tree but the first, its channel."""

_Steps = Callable[[int, Channel | None], Iterable[tuple[Turn, Channel, int]]]
"""From a node with its channel on: the turn, the channel and the node of each next step."""


class Kind(IntEnum):
    """What a packet is for: one terminal, or a group.

    `MULTICAST` is copied from the root to all members, `REDUCE` merged from all members to the
    root, and `ALL_REDUCE` merged, and from the root copied to all.
    """

    SINGLE = 0
    MULTICAST = 1
    REDUCE = 2
    ALL_REDUCE = 3


@dataclass(frozen=True)
class GroupNode:
    """A node's part in the tree of a group.

    Channels of terminals are those of `Graph.exits` and `Graph.entries`: their port is negative.

    Attributes
    ----------
    exits : tuple[Channel, ...]
        By which copies leave: links, and then the terminals of members.
    onward : Channel or None
        By which the merged packet leaves: the link towards the root, or the root's terminal. None
        if nothing is merged here.
    children : tuple[Channel, ...]
        By which packets come that are merged here: links, and then terminals of members.
    """

    exits: tuple[Channel, ...] = ()
    onward: Channel | None = None
    children: tuple[Channel, ...] = ()


@dataclass(frozen=True)
class GroupTree:
    """The tree of a group.

    Attributes
    ----------
    graph : Graph
    root : int
        The terminal that sends multicasts, and to which values are merged.
    members : tuple[int, ...]
        Terminals that get copies, and whose values are merged, in increasing order. The root may be
        one of them.
    nodes : Mapping[int, GroupNode]
        The part of each node that has one.
    """

    graph: Graph
    root: int
    members: tuple[int, ...]
    nodes: Mapping[int, GroupNode]

    @cached_property
    def copied(self) -> dict[Channel, Channel | None]:
        """The channels of a multicast, from the root on, each with the channel before it."""
        return _ordered(self.graph, self.graph.homes[self.root], self.nodes)

    @cached_property
    def turn(self) -> int | None:
        """The node at which an all-reduce turns from merging to copying: all values meet before it
        or in it, and no copy is made before it. It is the root's, if packets enter and leave at one
        node; None if there is no such node."""
        graph, last = self.graph, self.graph.exit_homes[self.root]
        meets, node = [last], self.nodes[last]
        while len(node.children) == 1 and node.children[0].port >= 0:
            meets.append(node.children[0].node)
            node = self.nodes[meets[-1]]
        starts = [graph.homes[self.root]]
        for channel in self.copied:
            if channel.port < 0 or len(self.nodes[channel.node].exits) > 1:
                break
            starts.append(graph.link_of(channel).peer)
        return next((node for node in meets if node in starts), None)

    @property
    def no_turn(self) -> str | None:
        """Why an all-reduce has no way; None if it has."""
        if self.turn is not None:
            return None
        return (
            f"Group must have a node for an all-reduce at which values of all members meet, and "
            f"from which all copies go: root {self.root} has none"
        )

    @cached_property
    def returned(self) -> dict[Channel, Channel | None]:
        """Those channels of a multicast that an all-reduce takes: from its turn on."""
        return {} if self.turn is None else _ordered(self.graph, self.turn, self.nodes)

    @cached_property
    def merged(self) -> dict[Channel, Channel]:
        """The links by which values are merged, each with the channel after it: from the root on,
        so the last ones come first."""
        found: dict[Channel, Channel] = {}
        waiting = [self.graph.exit_homes[self.root]]
        for node in waiting:
            part = self.nodes[node]
            for child in part.children:
                if child.port >= 0 and part.onward is not None:
                    found[child] = part.onward
                    waiting.append(child.node)
        return found

    @property
    def depth(self) -> int:
        """Links from the root to the farthest member."""
        far: dict[Channel | None, int] = {None: 0}
        for channel, before in self.copied.items():
            far[channel] = far[before] + (channel.port >= 0)
        return max(far.values())

    @property
    def height(self) -> int:
        """Links from the farthest member to the root."""
        far: dict[Channel, int] = {self.graph.exits[self.root]: 0}
        for channel, after in self.merged.items():
            far[channel] = far[after] + 1
        return max(far.values())


def _ordered(
    graph: Graph, root: int, nodes: Mapping[int, GroupNode]
) -> dict[Channel, Channel | None]:
    found: dict[Channel, Channel | None] = {}
    waiting: list[tuple[int, Channel | None]] = [(root, None)]
    for node, came in waiting:
        for channel in nodes[node].exits:
            found[channel] = came
            if channel.port >= 0:
                waiting.append((graph.link_of(channel).peer, channel))
    return found


def checked_group(
    relation: Relation, root: int, members: Iterable[int]
) -> tuple[int, tuple[int, ...]]:
    """The root and the members of a group, in their order. Raises as `group_tree`."""
    last = relation.ports - 1
    root = check_integer("Root of a group", root, 0, last)
    several = check_several("Members of a group", members, "terminals")
    found = tuple(sorted({check_integer("Member of a group", each, 0, last) for each in several}))
    if not found:
        raise InvalidValue("Group must have at least one member")
    if relation.phases is not None:
        raise InvalidValue("Routing with groups must have no intermediate terminals")
    return root, found


def group_tree(relation: Relation, root: int, members: Iterable[int]) -> GroupTree:
    """The tree of a group.

    If the ways of the relation from the root to all members are a tree, it is this one; and the
    same for the ways from all members to the root. Otherwise a tree is searched: by the turns that
    packets to one terminal take too, if there is one, so that it adds nothing that they do not
    wait for already.

    Parameters
    ----------
    relation : Relation
        Without intermediate terminals. Channels that are no escape channels are not used.
    root : int
        A terminal.
    members : Iterable[int]
        Terminals, at least one.

    Raises
    ------
    TypeError, ValueError
        If there is no such terminal, or a member can't be reached.

    Examples
    --------
    In a row of three nodes, from the middle to both ends:

    >>> from multicube.hdl.graphs.graph import Link
    >>> from multicube.hdl.graphs.listed_graph import ListedGraph
    >>> from multicube.hdl.graphs.routing.shortest import Shortest
    >>> row = ListedGraph(3, [Link(1, 0, 0, 0), Link(1, 1, 2, 0), Link(0, 0, 1, 0),
    ...                       Link(2, 0, 1, 1)])
    >>> tree = group_tree(Shortest(row), 1, [0, 2])
    >>> [(channel.node, channel.port) for channel in tree.nodes[1].exits]
    [(1, 0), (1, 1)]
    >>> tree.depth, tree.nodes[0].onward
    (1, Channel(node=0, port=0, number=0))
    """
    graph = relation.graph
    root, found = checked_group(relation, root, members)
    entering = _copying(relation, root, found)
    leaving = _merging(relation, root, found)
    exits: dict[int, list[Channel]] = {}
    for channel in sorted(entering.values()):
        exits.setdefault(channel.node, []).append(channel)
    children: dict[int, list[Channel]] = {}
    for channel in sorted(leaving.values()):
        if channel.port >= 0:
            children.setdefault(graph.link_of(channel).peer, []).append(channel)
    for member in found:
        exits.setdefault(graph.exit_homes[member], []).append(graph.exits[member])
        children.setdefault(graph.homes[member], []).append(graph.entries[member])
    nodes = {
        node: GroupNode(
            tuple(exits.get(node, ())), leaving.get(node), tuple(children.get(node, ()))
        )
        for node in sorted({*exits, *children, *leaving})
    }
    return GroupTree(graph, root, found, nodes)


def _copying(relation: Relation, root: int, members: Sequence[int]) -> dict[int, Channel]:
    """For each node of a multicast but the root's, the channel by which it comes."""
    graph, found = relation.graph, dict[int, Channel]()
    paths = (relation.path(root, member)[:-1] for member in members)
    if all(
        relation.is_escape(channel)
        and found.setdefault(graph.link_of(channel).peer, channel) == channel
        for path in paths
        for channel in path
    ):
        return found

    def steps(node: int, came: Channel | None) -> Iterator[tuple[Turn, Channel, int]]:
        entry = None if came is None else _entry(graph, came)
        for channel in filter(relation.is_escape, graph.leaving(node)):
            yield Turn(entry, _output(channel)), channel, graph.link_of(channel).peer

    ends = [graph.exit_homes[member] for member in members]
    return _searched(relation, graph.homes[root], ends, steps)


def _merging(relation: Relation, root: int, members: Sequence[int]) -> dict[int, Channel]:
    """For each node at which values are merged, the channel by which they leave it."""
    graph, found = relation.graph, dict[int, Channel]()
    paths = (relation.path(member, root) for member in members)
    if all(
        (channel.port < 0 or relation.is_escape(channel))
        and found.setdefault(channel.node, channel) == channel
        for path in paths
        for channel in path
    ):
        return found
    into: dict[int, list[Channel]] = {}
    for link in sorted(graph.links()):
        own = into.setdefault(link.peer, [])
        own += filter(relation.is_escape, link.each_channel())

    def steps(node: int, after: Channel | None) -> Iterator[tuple[Turn, Channel, int]]:
        output = None if after is None else _output(after)
        for channel in into.get(node, ()):
            yield Turn(_entry(graph, channel), output), channel, channel.node

    exit_ = graph.exits[root]
    ends = [graph.homes[member] for member in members]
    return {exit_.node: exit_} | _searched(relation, exit_.node, ends, steps)


def _searched(relation: Relation, start: int, ends: Sequence[int], steps: _Steps) -> _Tree:
    """A tree of channels between a node and some others: the channel at each of its nodes but the
    first.

    One after the other, the nodes are joined to it by the fewest links: the nearest ones first, or
    if some can't be joined then, the farthest. If both fail, also by turns that the relation does
    not make.
    """
    turns = relation.turns()
    wanted = [node for node in _nearest(start, steps) if node in set(ends)]
    for own in (turns, None):
        for nodes in (wanted, wanted[::-1]):
            tree: _Tree = {}
            if len(wanted) == len(set(ends)) and all(
                _join(tree, start, node, steps, own) for node in nodes
            ):
                return tree
    raise InvalidValue(
        f"There is no tree between node {relation.graph.name(start)} and all members of the group"
    )


def _join(
    tree: _Tree, start: int, end: int, steps: _Steps, turns: Mapping[int, Collection[Turn]] | None
) -> bool:
    """Add the shortest way to a node to a tree, if there is one, and say so.

    Of several channels of a link, the first that leads on is taken.
    """
    known: dict[int, Channel | None] = {start: None, **tree}
    before: dict[Channel, tuple[int, Channel | None]] = {}
    waiting = [*known.items()]
    for node, came in [] if end in known else waiting:
        for turn, channel, other in steps(node, came):
            allowed = turns is None or None in turn or turn in turns[node]
            if not allowed or other in known or channel in before:
                continue
            before[channel] = node, came
            if other != end:
                waiting.append((other, channel))
                continue
            way: _Tree = {}
            at, by = other, channel
            while at not in known and at not in way:  # A way passes no node twice.
                way[at] = by
                at, by = before[by]  # type: ignore[assignment]  # A known node ends the loop.
            if at in known:
                tree.update(way)
                return True
    return end in known


def _nearest(start: int, steps: _Steps) -> list[int]:
    """All nodes that can be joined to one, the nearest first."""
    found, waiting = {start}, [start]
    for node in waiting:
        fresh = dict.fromkeys(other for _, _, other in steps(node, None) if other not in found)
        found |= fresh.keys()
        waiting += fresh
    return waiting


def _entry(graph: Graph, channel: Channel) -> End:
    """The input that a channel leads to."""
    return graph.link_of(channel).peer_port, channel.number


def _output(channel: Channel) -> End | None:
    return None if channel.port < 0 else (channel.port, channel.number)


def parse_group(words: str, terminals: int) -> tuple[int, list[int]]:
    """The root and the members of a group, from words such as "0:all" or "5:0-7,12".

    Raises
    ------
    ValueError
        If it is not of this form.

    Examples
    --------
    >>> parse_group("5:0-2,7", 8)
    (5, [0, 1, 2, 7])
    """
    root, _, members = words.partition(":")
    if not members or not _is_number(root):
        raise InvalidValue(f"Group must be ROOT:MEMBERS as 0:all or 5:0-7,12, not {words!r}")
    return int(root), parse_members(members, terminals)


def parse_members(words: str, terminals: int) -> list[int]:
    """The members of a group, in the order of words such as "0,3,8-15", or "all" terminals.

    Raises
    ------
    ValueError
        If it is not of this form.

    Examples
    --------
    >>> parse_members("3,0-1", 4)
    [3, 0, 1]
    """
    if words == "all":
        return list(range(terminals))
    found: list[int] = []
    for part in words.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(map(_is_number, ends)):
            raise InvalidValue(
                f"Members of a group must be terminals such as 0,3,8-15, or all, not {words!r}"
            )
        low, high = map(int, ends)
        if low > high or high >= terminals:
            raise InvalidValue(
                f"Members of a group must be from 0 to {terminals - 1}, in order, not {part}"
            )
        found += range(low, high + 1)
    return found


def _is_number(word: str) -> bool:
    return is_natural(word) and len(word) < 10
