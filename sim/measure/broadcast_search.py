"""Broadcasts in as few steps as possible, where a node sends to one neighbour in a step.

This is the communication model of Ginosar and Egozi (1989, section 3): in a step, each node that
has the message may send it over one of its links. Sets of nodes are integers with a bit for each.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

__all__ = ["Step", "Wires", "by_ports", "greedy", "least_steps", "search"]

Step = list[tuple[int, int]]
"""The (sender, receiver) pairs of a step."""


@dataclass(frozen=True)
class Wires:
    """The links of a graph, and the nodes that are to get the message.

    Attributes
    ----------
    to : tuple[tuple[int, ...], ...]
        For each node, those to which a link leads.
    goal : int
        The set of nodes to be reached; the others may pass the message on.
    """

    to: tuple[tuple[int, ...], ...]
    goal: int

    @cached_property
    def masks(self) -> list[int]:
        """For each node, the set of those to which a link leads."""
        return [sum(1 << node for node in nodes) for nodes in self.to]

    @cached_property
    def froms(self) -> list[int]:
        """For each node, the set of those from which a link leads to it."""
        found = [0] * len(self.to)
        for node, peers in enumerate(self.to):
            for peer in peers:
                found[peer] |= 1 << node
        return found


def _members(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def _useful(wires: Wires, informed: int) -> int:
    """The nodes that are still to be reached, and those that can pass the message on to them."""
    found = newest = wires.goal & ~informed
    while newest:
        before = 0
        for node in _members(newest):
            before |= wires.froms[node]
        newest = before & ~(found | informed)
        found |= newest
    return found


def _layers(wires: Wires, informed: int, useful: int) -> list[int]:
    """The useful nodes at distance 1, 2, ... from a set, until the goal is reached."""
    found: list[int] = []
    missing, newest = useful, informed
    while wires.goal & missing and newest:
        reached = 0
        for node in _members(newest):
            reached |= wires.masks[node]
        newest = reached & missing
        missing &= ~newest
        found.append(newest)
    return found


def least_steps(wires: Wires, informed: int, most: int) -> int:
    """A lower bound on the steps that a set of nodes needs to inform all others of the goal.

    In t steps at most the nodes at distance up to t are reached. An informed node informs at most
    its uninformed neighbours, one in a step. A node that is informed later informs at most (largest
    degree - 1) nodes. Of all nodes those count that are of any use.

    Parameters
    ----------
    wires : Wires
    informed : int
    most : int
        The bound is at most one more than this.
    """
    masks, froms = wires.masks, wires.froms
    missing = (wires.goal & ~informed).bit_count()
    if not missing:
        return 0
    unknown = _useful(wires, informed)
    layers = _layers(wires, informed, unknown)
    if len(layers) > most:
        return most + 1
    sends = [(masks[node] & unknown).bit_count() for node in _members(informed)]
    cap = 0
    for node in _members(unknown):
        own = (masks[node] & unknown).bit_count()
        got = froms[node] & (informed | unknown)
        # Whoever sends to it, it knows one neighbour more that is informed.
        cap = max(cap, own - (not got & informed and not got & ~masks[node]))
    born: list[int] = []  # at most so many more are informed in each step
    near = total = 0
    while total < missing or len(born) < len(layers):
        step = len(born) + 1
        if step > most:
            return step
        new = sum(count >= step for count in sends) + sum(born[max(0, step - 1 - cap) :])
        if step <= len(layers):
            near += layers[step - 1].bit_count()
            new = min(new, near - total)
        born.append(new)
        total += born[-1]
    return len(born)


def _placed(wires: Wires, informed: int, receiver: dict[int, int], node: int) -> bool:
    """Add a node to those that get the message in a step, if others can get it from others.

    `receiver` is the step so far: receivers by sender.
    """
    tried = 0

    def place(node: int) -> bool:
        nonlocal tried
        for sender in _members(wires.froms[node] & informed):
            if not tried >> sender & 1:
                tried |= 1 << sender
                if sender not in receiver or place(receiver[sender]):
                    receiver[sender] = node
                    return True
        return False

    return place(node)


def _urgent(wires: Wires, informed: int, random: np.random.Generator) -> list[int]:
    """The neighbours of a set, those first that seem to need most steps for the nodes behind them.

    For the estimate, each node gets the message from one of the nearer ones, and these share them
    out evenly (after Harutyunyan and Wang, 2010). Among equals the order is random. Nodes that
    can't pass the message on to the goal are left out, and those come last that only can to nodes
    that are as near.
    """
    layers = _layers(wires, informed, _useful(wires, informed))
    needs: dict[int, int] = {}
    for near, far in zip(reversed(layers[:-1]), reversed(layers[1:])):
        children: dict[int, int] = {}
        own = [node for node in _members(far) if node in needs or wires.goal >> node & 1]
        for index in sorted(random.permutation(len(own)), key=lambda i: -needs.get(own[i], 0)):
            child = own[index]
            parents = list(_members(wires.froms[child] & near))
            turn = int(random.integers(len(parents)))
            need = needs.get(child, 0) + 1
            parent = min(
                parents[turn:] + parents[:turn],
                key=lambda p: max(needs.get(p, 0), need + children.get(p, 0)),
            )
            needs[parent] = max(needs.get(parent, 0), need + children.get(parent, 0))
            children[parent] = children.get(parent, 0) + 1
    first = list(_members(layers[0]))
    order = random.permutation(len(first))
    rank = {node: needs.get(node, (wires.goal >> node & 1) - 1) for node in first}
    return [first[i] for i in sorted(order, key=lambda i: -rank[first[i]])]


def greedy(wires: Wires, source: int, random: np.random.Generator) -> list[Step]:
    """A broadcast in which, in each step, those get the message that seem to need it most.

    As many as possible get it, and of these the most urgent ones: sets that can get it in a step
    are a matroid, so it is enough to add one node after the other.
    """
    informed, steps = 1 << source, []
    while wires.goal & ~informed:
        receiver: dict[int, int] = {}
        for node in _urgent(wires, informed, random):
            _placed(wires, informed, receiver, node)
        steps.append(sorted(receiver.items()))
        for node in receiver.values():
            informed |= 1 << node
    return steps


def search(
    wires: Wires, source: int, steps: int, end: float, random: np.random.Generator
) -> list[Step] | bool:
    """A broadcast in so many steps, by trying all.

    In a step the nodes that get the message are as many as possible: more informed nodes never
    hurt. Sets of informed nodes that have failed are not tried again.

    Returns
    -------
    list[Step] or bool
        False if there is none; True if it is `end`, by `time.thread_time`, before that is known.
    """
    failed: set[tuple[int, int]] = set()

    def go(informed: int, left: int) -> list[Step] | bool:
        if not wires.goal & ~informed:
            return []
        if time.thread_time() > end:
            return True
        if (informed, left) in failed or least_steps(wires, informed, left) > left:
            return False
        for receiver in _fullest(wires, informed, _urgent(wires, informed, random)):
            found = go(informed | sum(1 << node for node in receiver.values()), left - 1)
            if found is True:
                return True
            if found is not False:
                return [sorted(receiver.items()), *found]
        failed.add((informed, left))
        return False

    return go(1 << source, steps)


def _fullest(wires: Wires, informed: int, nodes: Sequence[int]) -> Iterator[dict[int, int]]:
    """Every set of as many nodes as can get the message in one step, as receivers by sender."""

    def rank(receiver: dict[int, int], rest: Sequence[int]) -> int:
        trial = dict(receiver)
        return len(trial) + sum(_placed(wires, informed, trial, node) for node in rest)

    most = rank({}, nodes)

    def choose(receiver: dict[int, int], index: int) -> Iterator[dict[int, int]]:
        if len(receiver) == most:
            yield receiver
            return
        with_it = dict(receiver)
        if _placed(wires, informed, with_it, nodes[index]):
            yield from choose(with_it, index + 1)
            if rank(receiver, nodes[index + 1 :]) < most:
                return
        yield from choose(receiver, index + 1)

    yield from choose({}, 0)


def by_ports(wires: Wires, source: int, together: int = 1) -> list[Step]:
    """A broadcast in which all that have the message send by the same port in a step, or by any of
    so many ports `together`.

    They are the ports by which most nodes get the message. A port leads to the node of that index
    in `Wires.to`. In a hypercube, where ports are dimensions, the number of informed nodes doubles;
    in a torus of k = 4 it doubles with two ports, which are the directions of a dimension.
    """
    informed, steps = 1 << source, []
    parts = [
        Wires(
            tuple(tuple(peers[port] for port in ports if port < len(peers)) for peers in wires.to),
            wires.goal,
        )
        for ports in combinations(range(max(map(len, wires.to))), together)
    ]
    while wires.goal & ~informed:
        best: dict[int, int] = {}
        for part in parts:
            reached = 0
            for node in _members(informed):
                reached |= part.masks[node]
            reached &= ~informed
            if reached.bit_count() > len(best):
                receiver: dict[int, int] = {}
                for node in _members(reached):
                    _placed(part, informed, receiver, node)
                best = max(best, receiver, key=len)
        steps.append(sorted(best.items()))
        for node in best.values():
            informed |= 1 << node
    return steps
