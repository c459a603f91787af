"""Schedules as the programs of the nodes: what each does in each step, and where words are kept.

A processor has places for words: its own value, its result, and rows of a memory for messages that
it passes on. `bench.ensemble` runs these programs on hardware.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from ..permutations import Permutation
from .communication_steps import Schedule

__all__ = ["OWN", "RESULT", "ROWS", "Instruction", "StepProgram", "accumulating", "delivering"]

RESULT = 0
"""The place of the result. It begins as the node's own value."""

OWN = 1
"""The place of the node's own value, which does not change."""

ROWS = 2
"""The place of the memory's first row; the others follow."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a node does in a step.

    Attributes
    ----------
    to, source : int or None, int
        The neighbour that it sends to, and the place of the word; None if it sends nothing.
    from_, target : int or None, int
        The neighbour that it receives from, and the place of the word; None if it receives nothing.
    combines : bool
        Whether the word is merged into the result, instead of stored.
    """

    to: int | None = None
    source: int = RESULT
    from_: int | None = None
    target: int = RESULT
    combines: bool = False


class StepProgram(NamedTuple):
    """The programs of all nodes.

    Attributes
    ----------
    instructions : list[list[Instruction]]
        For each node, that of each step; all nodes have as many.
    rows : int
        Rows of memory that a node needs for messages it passes on; the most of any node.
    """

    instructions: list[list[Instruction]]
    rows: int

    @property
    def steps(self) -> int:
        return max(map(len, self.instructions), default=0)


def accumulating(nodes: int, schedule: Schedule, *, combines: bool) -> StepProgram:
    """The programs of a schedule in which each node sends its result, and receives into it.

    This is a broadcast, or if a word received `combines` with the result, a concentration.
    """
    programs = []
    for transfers in schedule:
        step = [Instruction()] * nodes
        for sender, receiver, _ in transfers:
            step[sender] = _sending(step[sender], receiver, RESULT)
            step[receiver] = _receiving(step[receiver], sender, RESULT, combines)
        programs.append(step)
    return StepProgram(_by_node(nodes, programs), 0)


def delivering(schedule: Schedule, destinations: Permutation) -> StepProgram:
    """The programs of a schedule that takes each node's own value to its destination.

    A message that is on its way is in the lowest row that is free in its node. A row that is freed
    in a step can be filled in the same step. At the destination it becomes the result.
    """
    nodes = len(destinations)
    place = [OWN] * nodes
    free: list[list[int]] = [[] for _ in range(nodes)]
    used = [0] * nodes
    programs = []
    for transfers in schedule:
        step = [Instruction()] * nodes
        for sender, receiver, message in transfers:
            step[sender] = _sending(step[sender], receiver, place[message])
            if place[message] >= ROWS:
                heappush(free[sender], place[message])
        for sender, receiver, message in transfers:
            if receiver == destinations[message]:
                place[message] = RESULT
            elif free[receiver]:
                place[message] = heappop(free[receiver])
            else:
                place[message] = ROWS + used[receiver]
                used[receiver] += 1
            step[receiver] = _receiving(step[receiver], sender, place[message], False)
        programs.append(step)
    return StepProgram(_by_node(nodes, programs), max(used))


def _sending(old: Instruction, to: int, source: int) -> Instruction:
    return Instruction(to, source, old.from_, old.target, old.combines)


def _receiving(old: Instruction, from_: int, target: int, combines: bool) -> Instruction:
    return Instruction(old.to, old.source, from_, target, combines)


def _by_node(nodes: int, steps: Sequence[Sequence[Instruction]]) -> list[list[Instruction]]:
    return [[step[node] for step in steps] for node in range(nodes)]
