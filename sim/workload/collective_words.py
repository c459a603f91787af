"""Collectives as workloads: transfers as messages, and the words at the beginning and the end."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...hdl.bench.collective_source import CollectiveSource, Give, Take
from ...hdl.bench.workload_bench import WorkloadPlan
from ...hdl.graphs.schedules.collective_program import CollectiveProgram
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.operations.folds import Fold
from .workload import Workload, WorkloadMessage

__all__ = ["collective_result", "collective_sources", "collective_workload", "own_words"]


def collective_workload(program: CollectiveProgram) -> Workload:
    """The transfers of a program as messages, each numbered by its place."""
    messages = (
        WorkloadMessage(number, each.source, each.destination, each.words, after)
        for number, (each, after) in enumerate(zip(program.transfers, program.dependencies()))
    )
    return Workload(f"{program.kind} by {program.algorithm}", tuple(messages))


def own_words(
    kind: str, count: int, root: int, words: int, *, width: int, seed: int = 1
) -> list[list[int]]:
    """What each member of a group has at the beginning, by its number in the group: random words.

    In a barrier each has a bit of its own if there are as many, so that it shows who has been heard
    of.
    """
    if kind == "barrier" and width >= count:
        return [[1 << member] for member in range(count)]
    chance = random.Random(seed)
    each = {"alltoall": count * words}.get(kind, words)
    return [
        [chance.getrandbits(width) for _ in range(count * words if member == root else 0)]
        if kind == "scatter"
        else [chance.getrandbits(width) for _ in range(each)]
        for member in range(count)
    ]


def collective_result(
    kind: str,
    own: Sequence[Sequence[int]],
    root: int,
    words: int,
    total: Callable[[Sequence[int]], int],
) -> list[list[int]]:
    """What each member must have at the end, computed from all words; nothing if it gets none.
    `total` folds one word of each member."""
    members = range(len(own))

    def part(of: int, number: int) -> list[int]:
        return list(own[of][number * words : (number + 1) * words])

    if kind == "broadcast":
        return [list(own[root]) for _ in members]
    if kind == "scatter":
        return [part(root, member) for member in members]
    if kind == "alltoall":
        return [[word for other in members for word in part(other, member)] for member in members]
    if kind == "gather":
        everything = [word for each in own for word in each]
        return [everything if member == root else [] for member in members]
    totals = list(map(total, zip(*own)))
    return [totals if kind != "reduce" or member == root else [] for member in members]


def collective_sources(
    network: PacketNetwork,
    program: CollectiveProgram,
    workload: Workload,
    own: Sequence[Sequence[int]],
    fold: Fold,
    room: WorkloadPlan | None = None,
) -> WorkloadPlan:
    """Sources that run a program on these words, with at least the room of others."""
    plan = workload.sources(network, room)
    size = {
        name: max(number, room.parameters[name] if room else 0)
        for name, number in {"rows": program.rows, "banks": program.banks}.items()
    }
    width = fold.shape.width
    every = sum(1 << width * bank for bank in range(size["banks"]))
    gives, takes = Give(**size), Take(**size)
    added: list[dict[str, tuple[int, ...]]] = [{} for _ in range(network.ports)]
    for terminal, sent in enumerate(workload.sent_by(network.ports)):
        transfers = [program.transfers[each.id] for each in sent]
        added[terminal]["gives"] = tuple(
            _row(gives, {"first": each.first, "bank": each.bank}) for each in transfers
        )
    for terminal, received in enumerate(workload.received_by(network.ports)):
        transfers = [program.transfers[each.id] for each in received]
        added[terminal]["takes"] = tuple(
            _row(takes, {"place": each.place, "banks": each.banks, "folds": each.folds})
            for each in transfers
        )
    for member, rows, words in zip(program.members, program.inputs, own):
        memory = [0] * size["rows"]
        for row, word in zip(rows, words):
            memory[row] = word * every
        added[member]["words"] = tuple(memory)
    return replace(
        plan,
        component=CollectiveSource,
        parameters={**plan.parameters, **size, "word": width, "operation": fold.name},
        contents=[{**old, **new} for old, new in zip(plan.contents, added)],
    )


def _row(kind: Give | Take, values: Mapping[str, Any]) -> int:
    """A row of a table of the sources."""
    return kind.const(values).as_value().value
