"""Broadcasts in as few steps as possible, where a node sends to one neighbour in a step.

This is the communication model of Ginosar and Egozi (1989, section 3): in a step, each node that has
the message may send it over one of its links. Sets of nodes are integers with a bit for each.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Step", "Wires", "greedy", "least_steps"]

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

    @property
    def masks(self) -> list[int]:
        """For each node, the set of those to which a link leads."""
        return [sum(1 << node for node in nodes) for nodes in self.to]


def _members(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def _layers(masks: Sequence[int], informed: int, goal: int) -> list[int]:
    """The nodes at distance 1, 2, ... from a set, until the goal is reached."""
    found: list[int] = []
    seen = newest = informed
    while goal & ~seen and newest:
        reached = 0
        for node in _members(newest):
            reached |= masks[node]
        newest = reached & ~seen
        seen |= newest
        found.append(newest)
    return found


def least_steps(masks: Sequence[int], informed: int, goal: int, most: int) -> int:
    """A lower bound on the steps that a set of nodes needs to inform all others of the goal.

    In t steps at most the nodes at distance up to t are reached. An informed node informs at most
    its uninformed neighbours; one informed later at most as many as any has, one step after the
    other.

    Parameters
    ----------
    masks : Sequence[int]
        For each node, the set of those to which a link leads.
    informed, goal : int
    most : int
        The bound is at most one more than this.
    """
    layers = _layers(masks, informed, goal)
    missing = (goal & ~informed).bit_count()
    if len(layers) > most or not missing:
        return len(layers) if missing else 0
    sends = [(masks[node] & ~informed).bit_count() for node in _members(informed)]
    open_ = 0
    for layer in layers:
        open_ |= layer
    cap = max((masks[node] & open_).bit_count() for node in _members(open_))
    born: list[int] = []  # at most so many are newly informed by each step
    reach = total = relays = 0
    while total - relays < missing or len(born) < len(layers):
        step = len(born) + 1
        if step > most:
            return step
        reach += layers[step - 1].bit_count() if step <= len(layers) else 0
        new = sum(count >= step for count in sends) + sum(born[max(0, step - 1 - cap) :])
        new = min(new, reach - total)
        if new <= 0 and step > len(layers):
            return most + 1
        born.append(max(0, new))
        total += born[-1]
    return len(born)


def _matching(
    masks: Sequence[int], informed: int, wanted: Sequence[int], froms: Sequence[int]
) -> dict[int, int]:
    """Senders by receiver: as many receivers as possible, and of these the first ones wanted.

    Sets of receivers that can be matched are a matroid, so it is enough to add one after the other.
    """
    receiver: dict[int, int] = {}

    def place(node: int, tried: set[int]) -> bool:
        for sender in _members(froms[node] & informed):
            if sender not in tried:
                tried.add(sender)
                if sender not in receiver or place(receiver[sender], tried):
                    receiver[sender] = node
                    return True
        return False

    for node in wanted:
        place(node, set())
    return {node: sender for sender, node in receiver.items()}


def _backward(masks: Sequence[int]) -> list[int]:
    froms = [0] * len(masks)
    for node, mask in enumerate(masks):
        for peer in _members(mask):
            froms[peer] |= 1 << node
    return froms


def _urgency(
    masks: Sequence[int], froms: Sequence[int], informed: int, goal: int, random: np.random.Generator
) -> dict[int, tuple[int, float]]:
    """For each neighbour of a set, the steps that it is estimated to need for the nodes behind it.

    Each node gets the message from one of the nearer ones, and these share them out evenly
    (Harutyunyan and Wang, 2010, estimate so).
    """
    layers = _layers(masks, informed, goal)
    needs: dict[int, int] = {}
    for near, far in zip(reversed(layers[:-1]), reversed(layers[1:])):
        children: dict[int, int] = {}
        own = [node for node in _members(far) if node in needs or goal >> node & 1]
        order = random.permutation(len(own))
        for index in sorted(order, key=lambda i: -needs.get(own[i], 0)):
            child = own[index]
            parents = list(_members(froms[child] & near))
            offset = int(random.integers(len(parents)))
            parents = parents[offset:] + parents[:offset]
            parent = min(parents, key=lambda p: max(needs.get(p, 0), needs.get(child, 0) + children.get(p, 0) + 1))
            children[parent] = children.get(parent, 0) + 1
            needs[parent] = max(needs.get(parent, 0), needs.get(child, 0) + children[parent])
    first = list(_members(layers[0]))
    ties = random.random(len(first))
    return {
        node: (needs.get(node, 0), tie)
        for node, tie in zip(first, ties.tolist())
        if node in needs or goal >> node & 1
    }


def greedy(wires: Wires, source: int, random: np.random.Generator) -> list[Step]:
    """A broadcast in which, in each step, those get the message that seem to need it most."""
    masks = wires.masks
    froms = _backward(masks)
    informed, steps = 1 << source, []
    while wires.goal & ~informed:
        urgency = _urgency(masks, froms, informed, wires.goal, random)
        wanted = sorted(urgency, key=lambda node: urgency[node], reverse=True)
        matched = _matching(masks, informed, wanted, froms)
        steps.append(sorted((sender, node) for node, sender in matched.items()))
        for node in matched:
            informed |= 1 << node
    return steps
