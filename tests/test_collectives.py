"""Collectives of terminals, as programs and on hardware, against a plain computation."""

import random
from collections.abc import Sequence

import pytest
from multicube.hdl.graphs.schedules.collectives import (
    ALGORITHMS,
    CollectiveProgram,
    binomial_pairs,
    collective_program,
)
from multicube.hdl.graphs.schedules.copy_schedule import copy_schedule

MODULUS = 1 << 16


def expected(
    kind: str, own: Sequence[Sequence[int]], root: int, words: int
) -> list[list[int] | None]:
    """What each member has at the end, by what MPI says of the operation. Sums are modulo 2^16."""
    count = len(own)
    members = range(count)
    total = [sum(column) % MODULUS for column in zip(*own)] if kind.endswith("reduce") else []
    if kind == "broadcast":
        return [list(own[root]) for _ in members]
    if kind == "reduce":
        return [total if member == root else None for member in members]
    if kind == "allreduce":
        return [total for _ in members]
    if kind == "gather":
        everything = [word for each in own for word in each]
        return [everything if member == root else None for member in members]
    if kind == "scatter":
        return [list(own[root][member * words :][:words]) for member in members]
    if kind == "alltoall":
        return [
            [word for other in members for word in own[other][member * words :][:words]]
            for member in members
        ]
    everyone = 0
    for (bit,) in own:
        everyone |= bit
    return [[everyone] for _ in members]


def perform(
    program: CollectiveProgram, own: Sequence[Sequence[int]], chance: random.Random
) -> list[list[int] | None]:
    """Do the transfers one by one, in any order that their dependencies allow.

    Words are read when a transfer begins, and written when it ends, any time later.
    """
    memory = {
        member: [[0] * program.banks for _ in range(program.rows)] for member in program.members
    }
    for member, rows, words in zip(program.members, program.inputs, own):
        for row, word in zip(rows, words):
            memory[member][row] = [word] * program.banks
    after = program.dependencies()
    begun: dict[int, list[int]] = {}
    ended: set[int] = set()
    merge = int.__or__ if program.kind == "barrier" else lambda x, y: (x + y) % MODULUS

    def known(number: int, other: int) -> bool:
        """Whether a terminal has seen another transfer: it arrived there, or left from there."""
        here = program.transfers[number].source
        there = program.transfers[other]
        return other in (ended if there.destination == here else begun)

    while len(ended) < len(program.transfers):
        able = [
            number
            for number, others in enumerate(after)
            if number not in begun and all(known(number, other) for other in others)
        ]
        moving = [number for number in begun if number not in ended]
        number = chance.choice(able + moving)
        source, to, first, place, words, bank, banks, folds, _ = program.transfers[number]
        if number in begun:
            for at, word in enumerate(begun[number]):
                row = memory[to][place + at]
                for each in range(program.banks):
                    if banks >> each & 1:
                        row[each] = merge(row[each], word) if folds else word
            ended.add(number)
        else:
            begun[number] = [memory[source][first + at][bank] for at in range(words)]
    return [
        [memory[member][row][-1] for row in rows] if rows else None
        for member, rows in zip(program.members, program.outputs)
    ]


CASES = [(kind, algorithm) for kind, several in ALGORITHMS.items() for algorithm in several]


@pytest.mark.parametrize(("kind", "algorithm"), CASES, ids=map("-".join, CASES))
def test_programs_do_what_they_should_in_any_order(kind: str, algorithm: str) -> None:
    """For 2 to 9 members, in orders of arrival that no network may ever show."""
    chance = random.Random(kind + algorithm)
    for count in range(2, 10):
        words = 1 if kind == "barrier" else chance.choice((1, 3, 8, 11))
        members = chance.sample(range(100), count)
        root = chance.randrange(count)
        chains = [(rank, rank + 1) for rank in range(count - 1)]
        program = collective_program(
            kind,
            algorithm,
            members,
            members[root],
            words,
            pairs=lambda folding, chains=chains: [p[::-1] for p in chains[::-1]]
            if folding
            else chains,
        )
        own = [[chance.randrange(MODULUS) for _ in rows] for rows in program.inputs]
        if kind == "barrier":
            own = [[1 << member] for member in range(count)]
        wanted = expected(kind, own, root, words)
        for each in (program, program.cut(2)):
            assert perform(each, own, chance) == wanted
