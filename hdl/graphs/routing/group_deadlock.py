"""Deadlock of packets of groups, beside those for one terminal.

A multicast holds the channels of several branches. *At once*, with wormhole switching, all branches
advance together: a copy that waits holds the channels of all others. Then a channel waits for every
channel of the tree that the packet may not have yet: all but itself and those before it. *In
passes*, where queues hold whole packets, a copy that waits holds only the queue that it is in, and
waits for the next channels as a packet for one terminal does.

A packet that is to be merged waits for those of its siblings, and so for all channels below them: a
channel waits for every channel of the tree but itself and those below it. What merges packets in a
node does so for one group at a time, and is held and waited for as a channel is. So are the queues
in which terminals send: a packet of a group may stand there behind another one. What is merged goes
on from a terminal's queue, so this terminal's packets wait for it; and it waits for one of them
that has begun to leave, which in passes needs nothing more.

*Order*: the packets of one tree follow each other everywhere in the same order, provided that its
members start operations in the same order. Let packets A, and B behind it, of one tree be in a
cycle of packets that wait for each other. What A waits for, B waits for too, if it is not something
that B could have passed; so there is a shorter cycle with one of both. Hence a deadlock needs a
cycle in which every tree has one dependency at most. (Those of packets for one terminal may be any
number.) This is what is searched.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...fabric.errors import InvalidValue
from ..graph import Channel
from .deadlock import dependencies, dependency_cycle
from .group_tree import GroupTree, Kind
from .relation import Relation

__all__ = ["MERGE", "SENDS", "Wait", "group_deadlock", "group_waits"]

MERGE = 1 << 20
"""The port of what stands for the merging of packets in a node, among its channels."""

SENDS = 1 << 20
"""The number of what stands for the queue in which a terminal sends, among channels; its port is
that of the terminal."""

_MOST = 10
"""Most different trees: the search takes twice the time for each."""

Waits = dict[Channel, set[Channel]]


class Wait(NamedTuple):
    """A channel that is held, while its packet waits for the next one of a cycle.

    `tree` is the number of the tree of this packet, or None if it is for one terminal.
    """

    channel: Channel
    tree: int | None


def _merge_at(node: int) -> Channel:
    return Channel(node, MERGE)


def _sends(entry: Channel) -> Channel:
    return entry._replace(number=SENDS)


def _merging(tree: GroupTree, last: int) -> dict[Channel, Channel | None]:
    """The channels of packets that are merged, up to a node, each with the one after it."""
    found: dict[Channel, Channel | None] = {_merge_at(last): None}
    waiting = [last]
    for node in waiting:
        for child in tree.nodes[node].children:
            if child.port < 0:
                found[_sends(child)] = _merge_at(node)
            else:
                found |= {child: _merge_at(node), _merge_at(child.node): child}
                waiting.append(child.node)
    return found


def _lanes(tree: GroupTree, nodes: Iterable[int]) -> dict[Channel, Channel]:
    """The queues of terminals at these nodes that what is merged may go on from, though their
    values are not."""
    merged = {node: tree.nodes[node].children for node in nodes}
    entries = (one for one in tree.graph.entries if one not in merged.get(one.node, (one,)))
    return {_sends(one): _merge_at(one.node) for one in entries}


def _every(after: Mapping[Channel, Channel | None]) -> Waits:
    """For each channel of a tree, all but itself and those from which its packet came; `after` has
    for each the one that is nearer to the root of the tree."""
    inside: Waits = {channel: {channel} for channel in after}
    for channel in after:
        above = after[channel]
        while above is not None:
            inside[above].add(channel)
            above = after[above]
    return {channel: after.keys() - own for channel, own in inside.items()}


def group_waits(
    tree: GroupTree, kinds: Collection[Kind], passes: bool
) -> tuple[list[Waits], Waits]:
    """What packets of a tree wait for.

    Returns, for each order of packets, dependencies of which a cycle needs at most one; and others,
    of which a cycle may need any number.

    Parameters
    ----------
    tree : GroupTree
    kinds : Collection[Kind]
        Kinds of packets that there are, if they have a way.
    passes : bool
        Whether multicasts are copied in passes.
    """
    ordered: list[Waits] = []
    others: Waits = {}
    down, entry = tree.copied, _sends(tree.graph.entries[tree.root])
    turn = None
    if Kind.ALL_REDUCE in kinds and tree.turn is not None:
        turn = _merge_at(tree.turn)
    if passes:
        if turn is not None or Kind.MULTICAST in kinds:
            for channel, before in down.items():
                starts = [before] if before is not None else [entry] * (Kind.MULTICAST in kinds)
                if turn is not None and channel.node == turn.node:
                    starts.append(turn)
                for one in starts:
                    others.setdefault(one, set()).add(channel)
    elif Kind.MULTICAST in kinds:
        ordered.append(_copied_at_once(down, entry))
    merged: Waits = {}
    if Kind.REDUCE in kinds:
        exit_ = tree.graph.exits[tree.root]
        for channel, own in _merged(tree, exit_.node, passes).items():
            merged[channel] = own | {exit_} - {channel}
    if turn is not None:
        back = {} if passes else tree.returned
        for channel, own in _merged(tree, turn.node, passes).items():
            merged.setdefault(channel, set()).update(own, back.keys() - {channel})
        for channel, own in _copied_at_once(back, turn).items():
            merged.setdefault(channel, set()).update(own)
    if merged:
        ordered.append(merged)
    return ordered, others


def _merged(tree: GroupTree, last: int, passes: bool) -> Waits:
    """What packets wait for that are merged up to a node."""
    merging = _merging(tree, last)
    lanes = _lanes(tree, {one.node for one in merging})
    waits = _every(merging | lanes)
    return {channel: own - lanes.keys() for channel, own in waits.items()} if passes else waits


def _copied_at_once(down: Mapping[Channel, Channel | None], start: Channel) -> Waits:
    """For each channel of a multicast, all of its tree but itself and those before it; `start` is
    held before them all."""
    found: Waits = {}
    for channel, before in down.items():
        passed = {channel}
        while before is not None:
            passed.add(before)
            before = down[before]
        found[channel] = down.keys() - passed
    return found | {start: set(down)}


def _of_terminals(relation: Relation) -> Waits:
    """For the queue of each terminal, the channels that packets for one terminal wait for there."""
    graph = relation.graph
    firsts: dict[int, set[Channel]] = {
        node: set() for node, own in enumerate(graph.terminals) if own
    }
    for destination, exit_ in enumerate(graph.exits):
        for header in relation.headers(destination):
            for node, own in firsts.items():
                own.update(relation.choices(node, None, header) or [exit_])
    return {
        _sends(entry): {
            one for one in firsts[entry.node] if one.port < 0 or relation.is_escape(one)
        }
        for entry in graph.entries
    }


def group_deadlock(
    relation: Relation, trees: Sequence[GroupTree], kinds: Collection[Kind], *, passes: bool
) -> list[Wait] | None:
    """A cycle of channels on which packets may wait for each other, or None.

    Packets for one terminal are examined too. Terminals accept all that arrives, and the members of
    a tree start its operations in the same order.

    Parameters
    ----------
    relation : Relation
    trees : Sequence[GroupTree]
        Those of the groups that there are at the same time; groups of one tree count as one.
    kinds : Collection[Kind]
        Kinds of packets that they use, if these have a way.
    passes : bool
        Whether queues hold whole packets, so that multicasts are copied in passes.

    Returns
    -------
    list[Wait] or None
        Each channel is held by a packet that waits for the next one, and the last for the first.

    Raises
    ------
    ValueError
        If there are more than ten different trees.
    """
    moves = map(relation.moves, range(relation.ports))
    common = dependencies(moves, lambda channel: channel.port < 0 or relation.is_escape(channel))
    common |= _of_terminals(relation)
    labels: list[tuple[int, Waits]] = []
    distinct = {(tree.root, tree.members): number for number, tree in enumerate(trees)}
    if len(distinct) > _MOST:
        raise InvalidValue(f"Groups must have at most {_MOST} different trees, not {len(distinct)}")
    for number in distinct.values():
        ordered, others = group_waits(trees[number], kinds, passes)
        labels += [(number, waits) for waits in ordered]
        for channel, nexts in others.items():
            common.setdefault(channel, set()).update(nexts)
    if (cycle := dependency_cycle(common)) is not None:
        return [Wait(channel, None) for channel in cycle[:0:-1]]
    return _Search(common, labels).cycle()


class _Search:
    """The search of a cycle in which every label has one dependency at most. Sets of channels are
    the bits of numbers."""

    def __init__(self, common: Waits, labels: Sequence[tuple[int, Waits]]) -> None:
        everywhere = [common, *(waits for _, waits in labels)]
        channels: dict[Channel, None] = {}
        for waits in everywhere:
            for channel, nexts in waits.items():
                channels |= dict.fromkeys([channel, *sorted(nexts)])
        self.channels = list(channels)
        number = {channel: at for at, channel in enumerate(self.channels)}
        self.common, *self.labels = [
            {number[one]: sum(1 << number[to] for to in nexts) for one, nexts in waits.items()}
            for waits in everywhere
        ]
        self.trees = [tree for tree, _ in labels]
        self._known: dict[tuple[int, int], int] = {}
        self._reach: dict[int, int] = {}
        for at in _from_the_end(self.common):
            found = 1 << at
            for to in _bits(self.common.get(at, 0)):
                found |= self._reach[to]
            self._reach[at] = found

    def _onward(self, some: int) -> int:
        """All that packets for one terminal lead to."""
        found = some
        for at in _bits(some):
            found |= self._reach.get(at, 0)
        return found

    def _reached(self, some: int, left: int) -> int:
        """All that can be reached from some channels, with each of the labels from `left` at most
        once."""
        if (known := self._known.get((some, left))) is not None:
            return known
        found = start = self._onward(some)
        for label, waits in enumerate(self.labels):
            if left >> label & 1:
                nexts = 0
                for at in _bits(start):
                    nexts |= waits.get(at, 0)
                found |= self._reached(nexts, left & ~(1 << label)) if nexts & ~start else 0
        self._known[some, left] = found
        return found

    def cycle(self) -> list[Wait] | None:
        for label, waits in enumerate(self.labels):
            # The label is the lowest one of the cycle.
            left = (1 << len(self.labels)) - (2 << label)
            for at, nexts in waits.items():
                if self._reached(nexts, left) >> at & 1:
                    return self._shown(at, label, left)
        return None

    def _shown(self, start: int, label: int, left: int) -> list[Wait]:
        """A shortest cycle from a channel on, with a dependency of a label first."""
        State = tuple[int, int]
        before: dict[State, tuple[State | None, Wait]] = {}
        held = Wait(self.channels[start], self.trees[label])
        waiting: deque[State] = deque()
        for at in _bits(self.labels[label][start]):
            before[at, left] = None, held
            waiting.append((at, left))
        while waiting:
            state = at, own = waiting.popleft()
            if at == start:
                found = []
                one: State | None = state
                while one is not None:
                    one, wait = before[one]
                    found.append(wait)
                return found[::-1]
            ways: list[tuple[int | None, int, int]] = [(None, own, self.common.get(at, 0))]
            for number, waits in enumerate(self.labels):
                if own >> number & 1:
                    ways.append((self.trees[number], own & ~(1 << number), waits.get(at, 0)))
            for tree, rest, nexts in ways:
                for to in _bits(nexts):
                    if (to, rest) not in before:
                        before[to, rest] = state, Wait(self.channels[at], tree)
                        waiting.append((to, rest))
        raise AssertionError("the cycle that was found is gone")


def _bits(some: int) -> Iterable[int]:
    while some:
        low = some & -some
        yield low.bit_length() - 1
        some ^= low


def _from_the_end(waits: Mapping[int, int]) -> list[int]:
    """The channels without a cycle, each behind those that it waits for."""
    order: dict[int, None] = {}
    for start in waits:
        stack = [(start, False)]
        while stack:
            at, done = stack.pop()
            if done:
                order[at] = None
            elif at not in order:
                stack.append((at, True))
                stack += [(to, False) for to in _bits(waits.get(at, 0)) if to not in order]
    return list(order)
