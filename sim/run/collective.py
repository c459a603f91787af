"""A collective: the words of its members, what must become of them, and how it is performed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from amaranth.lib import wiring

from ...hdl.bench.group_bench import GroupBench
from ...hdl.bench.workload_bench import WorkloadBench, WorkloadPlan
from ...hdl.fabric.checks import check_integer, check_several
from ...hdl.fabric.errors import InvalidValue, TooLarge
from ...hdl.fabric.parameters import plain_values
from ...hdl.fabric.pins import Pin
from ...hdl.graphs.schedules.collective_draft import Pair
from ...hdl.graphs.schedules.collective_program import CollectiveProgram
from ...hdl.graphs.schedules.collectives import collective_program
from ...hdl.graphs.schedules.copy_schedule import copy_schedule
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.operations.folds import Fold, fold_of
from ..engines import Engine
from ..measure.collective_bound import collective_bound
from ..measure.result import SimulationError
from ..workload.collective_words import (
    collective_result,
    collective_sources,
    collective_workload,
    own_words,
)
from .group_collective import group_bench, run_group_task
from .probe import link_flits
from .workload_run import send_workload

__all__ = ["NETWORK", "Collective", "CollectiveRun", "Operation", "operation_name"]

NETWORK = "network"
"""The algorithm of the network itself."""

Operation = str | type[wiring.Component]
"""How words are folded: a name, or a component of a user's."""

_SUM_BITS = 64
"""Width of the words of a barrier by sums, which shows that all have come."""


@dataclass(frozen=True)
class CollectiveRun:
    """The result of a collective.

    Attributes
    ----------
    network : str
        Family.
    parameters : dict[str, Any]
        Parameters of the network.
    kind, algorithm : str
        What was done, and how; never `auto`.
    group : tuple[int, ...]
        The members, in their order.
    root : int
        The terminal that had, or got, all words.
    flits : int
        Words of the vector, or of each member for each other member.
    operation : str
        How words were combined; for a barrier `or`, since each member has a bit of its own, but of
        more than 1,024 by the network `add`, of words of 64 random bits.
    cycles : int
        From the first cycle until the last flit has arrived.
    bound : int
        No algorithm takes fewer cycles.
    flit_hops : int or None
        Flits that links between switches carried: the sum over all links. With memory, requests and
        replies; None if boxes don't count what they combine, or are not in stages.
    messages : int
        Messages, or requests.
    correct : bool
        Whether each word of each member's result is right.
    engine : str
        The engine that was used.
    tried : dict[str, int]
        With `auto`: the cycles of all algorithms that were tried.
    """

    network: str
    parameters: dict[str, Any]
    kind: str
    algorithm: str
    group: tuple[int, ...]
    root: int
    flits: int
    operation: str
    cycles: int
    bound: int
    flit_hops: int | None
    messages: int
    correct: bool
    engine: str
    tried: dict[str, int]

    def __repr__(self) -> str:
        return (
            f"<CollectiveRun {self.kind} by {self.algorithm} of {len(self.group)} members "
            f"in {self.cycles} cycles>"
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as plain lists, dictionaries, numbers and strings.

        Returns
        -------
        dict[str, Any]
            The fields by name.
        """
        plain = {"parameters": plain_values(self.parameters), "group": list(self.group)}
        return {**vars(self), **plain}


def operation_name(operation: Operation) -> str:
    return operation if isinstance(operation, str) else operation.__name__


def _given(
    words: Sequence[Sequence[int]], like: Sequence[Sequence[int]], width: int
) -> list[list[int]]:
    """Words that are given: as many as there would be of random ones.

    Raises
    ------
    TypeError, ValueError
        If they are not, or do not fit into the payload.
    """
    found = [
        [
            check_integer("Word", word, 0, (1 << width) - 1)
            for word in check_several("Words of a member", own, "integers")
        ]
        for own in check_several("Words", words, "lists")
    ]
    if [len(own) for own in found] != [len(own) for own in like]:
        raise InvalidValue(
            f"Words must be {len(like)} lists of {max(map(len, like))}, one for each member"
        )
    return found


class Collective:
    """A collective on a network, whatever the algorithm."""

    def __init__(
        self,
        network: PacketNetwork,
        kind: str,
        members: tuple[int, ...],
        root: int,
        flits: int,
        operation: Operation,
        words: Sequence[Sequence[int]] | None,
    ) -> None:
        self.network = network
        self.kind = kind
        self.members = members
        self.root = root
        self.flits = flits
        at = members.index(root)
        width = network.packet["payload"].width
        if kind == "barrier":
            width = max(width, len(members) if operation == "or" else _SUM_BITS)
        self.width = width
        self.fold = fold_of(operation, width)
        random_words = own_words(kind, len(members), at, flits, width=width)
        self.own = random_words if words is None else _given(words, random_words, width)
        self.wanted = collective_result(kind, self.own, at, flits, self._total)

    def _total(self, column: Sequence[int]) -> int:
        """What is to come of one word of each member."""
        if isinstance(self.fold, Fold):
            return reduce(self.fold.perform, column)
        by_member = dict(zip(self.members, column))
        return self.network.group_total(self.root, by_member, self.fold.perform)

    def run(
        self, algorithms: Sequence[str], engine: str, threads: int | None, *, others: bool = False
    ) -> list[CollectiveRun]:
        """Run several algorithms; all sources have the same room, so that they are built once.

        Those whose lists are too large are left out, if there are `others` or some that are not.
        """
        longest = self.network.lengths[1] if self.network.packet.flits else 1
        programs: list[CollectiveProgram] = []
        room: WorkloadPlan | None = None
        for each in algorithms:
            try:
                program = self._program(each).cut(longest)
                room = self._sources(program, room)
            except TooLarge:
                if each == algorithms[-1] and not programs and not others:
                    raise
            else:
                programs.append(program)
        if room is None:
            return []
        # The last one's are as large already.
        plans = [*(self._sources(program, room) for program in programs[:-1]), room]
        return [
            self._perform(program, plan, engine, threads) for program, plan in zip(programs, plans)
        ]

    def _program(self, algorithm: str) -> CollectiveProgram:
        return collective_program(
            self.kind, algorithm, self.members, self.root, self.flits, pairs=self._pairs
        )

    def _pairs(self, folding: bool) -> list[Pair]:
        """The pairs of the algorithm `schedule`, in which rank 0 is the root."""
        count, at = len(self.members), self.members.index(self.root)
        ranks = [self.members[(at + rank) % count] for rank in range(count)]

        def path(one: int, other: int) -> list[Pin]:
            ends = (ranks[other], ranks[one]) if folding else (ranks[one], ranks[other])
            # A reduction is a broadcast backwards in time, so its paths are, too.
            return self.network.path(*ends)[:: -1 if folding else 1]

        copies = copy_schedule(path, count, self.flits)
        if folding:
            return [(copy.receiver, copy.sender) for copy in reversed(copies)]
        return [(copy.sender, copy.receiver) for copy in copies]

    def _sources(self, program: CollectiveProgram, room: WorkloadPlan | None) -> WorkloadPlan:
        assert isinstance(self.fold, Fold)
        workload = collective_workload(program)
        return collective_sources(self.network, program, workload, self.own, self.fold, room)

    def _perform(
        self, program: CollectiveProgram, plan: WorkloadPlan, engine: str, threads: int | None
    ) -> CollectiveRun:
        found: list[list[int]] = []
        hops = 0

        def look(bench: WorkloadBench, opened: Engine) -> None:
            nonlocal hops
            width = self.width
            last = width * (program.banks - 1)
            for member, rows in zip(program.members, program.outputs):
                memory = opened.memory(bench.sources[member], "words") if rows else []
                found.append([memory[row] >> last & (1 << width) - 1 for row in rows])
            hops = link_flits(opened, bench)

        workload = collective_workload(program)
        times = send_workload(self.network, workload, plan, engine, threads, look)
        cycles = 1 + max(each.arrived for each in times)
        return self._judged(program.algorithm, found, cycles, hops, len(program.transfers), engine)

    @property
    def group_bench(self) -> GroupBench:
        """The bench on which the network itself performs it."""
        return group_bench(self.network, self.kind, self.members, self.root, self.own, self.width)

    def by_network(self, engine: str, threads: int | None) -> CollectiveRun:
        """Let the routers copy and merge the packets of the group."""
        heard = run_group_task(self.group_bench, engine=engine, threads=threads)
        found = [heard.words[member] for member in self.members]
        senders = 1 if self.kind == "broadcast" else len(self.members)
        packets = senders * -(-self.flits // self.network.lengths[1])
        return self._judged(NETWORK, found, heard.cycles, heard.flit_hops, packets, engine)

    def _judged(
        self,
        algorithm: str,
        found: list[list[int]],
        cycles: int,
        hops: int,
        messages: int,
        engine: str,
    ) -> CollectiveRun:
        """The result, if all words are right."""
        run = CollectiveRun(
            network=self.network.family,
            parameters=self.network.chosen,
            kind=self.kind,
            algorithm=algorithm,
            group=self.members,
            root=self.root,
            flits=self.flits,
            operation=self.fold.name,
            cycles=cycles,
            bound=collective_bound(self.network, self.kind, self.members, self.root, self.flits),
            flit_hops=hops,
            messages=messages,
            correct=found == self.wanted,
            engine=engine,
            tried={},
        )
        if not run.correct:
            wrong = next(
                member
                for member, words, wanted in zip(self.members, found, self.wanted)
                if words != wanted
            )
            raise SimulationError(f"Terminal {wrong} has other words than the {self.kind}'s", run)
        return run
