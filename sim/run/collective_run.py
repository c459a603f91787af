"""Runs collectives on networks: by algorithms of the terminals, with real words, all checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from amaranth.lib import wiring

from ...hdl.bench.workload_bench import WorkloadBench, WorkloadPlan
from ...hdl.fabric.checks import check_integer, check_kind, check_several, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Pin
from ...hdl.graphs.schedules.collective_program import CollectiveProgram
from ...hdl.graphs.schedules.collectives import (
    ALGORITHMS,
    Pair,
    check_collective,
    check_group,
    collective_program,
)
from ...hdl.graphs.schedules.copy_schedule import copy_schedule
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.operations.folds import REDUCTIONS, Fold, fold_of, is_component
from ..engines import Engine
from ..engines.engine_selection import resolve_engine
from ..measure.collective_bound import collective_bound, middle, request_cycles
from ..measure.result import SimulationError
from ..workload.collective_words import (
    collective_result,
    collective_sources,
    collective_workload,
    own_words,
)
from .counter_barrier import barrier_hops, passed_all, run_counter_barrier
from .group_collective import GROUP_KINDS, run_group_task
from .probe import link_flits
from .workload_run import check_for_messages, send_workload

__all__ = ["OPERATIONS", "CollectiveRun", "run_collective"]

OPERATIONS = tuple(REDUCTIONS)
"""The folds of a reduction: those for which the order of values does not matter."""

NETWORK = "network"
"""The algorithm of the network itself."""

_MOST_BITS = 1024
"""Members of a barrier by the network of which each has a bit of its own."""

_SUM_BITS = 64
"""Width of the words of more members, whose sum shows that all have come."""


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
        replies; None if boxes don't count what they combine.
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
        parameters = {
            name: _name(value) if is_component(value) else value
            for name, value in self.parameters.items()
        }
        return {**vars(self), "parameters": parameters, "group": list(self.group)}


def run_collective(
    network: Network,
    kind: str,
    *,
    root: int | None = None,
    group: Sequence[int] | None = None,
    flits: int = 1,
    algorithm: str = "auto",
    operation: str | type[wiring.Component] = "add",
    words: Sequence[Sequence[int]] | None = None,
    engine: str = "auto",
    threads: int | None = None,
) -> CollectiveRun:
    """Perform a collective on a network, and check every word of its result.

    Parameters
    ----------
    network : Network
        It has as many sources as sinks, and loses nothing. With memory it has barriers only.
    kind : str
        What is done: "broadcast", "reduce", "allreduce", "gather", "scatter", "alltoall" or
        "barrier".
    root : int, optional
        The terminal that has, or gets, all words; by default the first of the group. In a barrier
        and in `allreduce` all members get the same. There it is only the place where values meet,
        by default the member in the middle.
    group : Sequence[int], optional
        The members, in their order; by default all terminals.
    flits : int
        Words of the vector, or of each member for each other member.
    algorithm : str
        One of `ALGORITHMS` of this kind; `network`, where routers copy and merge packets of groups,
        or if there is memory, processors add to a counter and load it; or `auto`: all possible ones
        are run, and the fastest is returned. With `network` routers get `group_entries=1`, and the
        reduction that is asked for, if they have no groups.
    operation : str or type[wiring.Component]
        How words are folded in a reduction: "add", "add-saturating", "or", "and", "max" or
        "min"; or, with `network`, the component that is the reduction of the network. Its results
        are checked by its static method `perform`, in the order in which routers merge.
    words : Sequence[Sequence[int]], optional
        What each member has at the beginning; random words if not given.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    threads : int, optional
        Processor cores that the engine `compiled` uses; one if not given.

    Returns
    -------
    CollectiveRun
        What it took; with `auto`, the fastest.

    Raises
    ------
    SimulationError
        If messages were lost or damaged, or a word of the result is wrong.
    TypeError, ValueError
        If the network, or one of the arguments, does not allow it.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import run_collective
    >>> run_collective(build("hypercube", n=2), "broadcast", algorithm="halving")
    <CollectiveRun broadcast by halving of 4 members in 10 cycles>
    """
    check_kind("Network", network, Network, "a network")
    members = check_group(range(network.ports) if group is None else group, network.ports)
    free = root is None
    root, flits = check_collective(kind, members, members[0] if root is None else root, flits)
    if not is_component(operation):
        check_word("Operation", operation, OPERATIONS)
    if kind == "barrier":
        operation = "add" if algorithm == NETWORK and len(members) > _MOST_BITS else "or"
    network = _able(network, kind, algorithm, operation)
    names = _algorithms(network, kind, algorithm, operation)
    if isinstance(network, MemoryNetwork):
        return _counted(network, members, root, engine)
    check_for_messages(network)
    if free and kind in ("allreduce", "barrier"):
        root = middle(network, members)
    chosen = _Collective(network, kind, members, root, flits, operation, words)
    name = resolve_engine(engine)
    runs = chosen.run([each for each in names if each != NETWORK], name, threads)
    if NETWORK in names:
        runs.append(chosen.by_network(name, threads))
    best = min(runs, key=lambda run: run.cycles)
    tried = {run.algorithm: run.cycles for run in runs} if algorithm == "auto" else {}
    return CollectiveRun(**{**vars(best), "tried": tried})


def _algorithms(
    network: Network, kind: str, algorithm: str, operation: str | type[wiring.Component]
) -> Sequence[str]:
    """The algorithms that are to be run.

    Raises
    ------
    ValueError
        If there is no such algorithm, or the network can't do it.
    """
    if network.has_memory:
        if kind != "barrier":
            raise InvalidValue(f"Kind must be barrier, for a network with memory, not {kind}")
        check_word(f"Algorithm of {kind}", algorithm, (NETWORK, "auto"))
        return [NETWORK]
    able = [*ALGORITHMS[kind], *([NETWORK] if kind in GROUP_KINDS else [])]
    if is_component(operation):
        able = [NETWORK]  # Terminals have no such component.
    check_word(f"Algorithm of {kind}", algorithm, (*able, "auto"))
    if algorithm not in (NETWORK, "auto"):
        return [algorithm]
    wrong = _hindrance(network, kind, operation)
    if algorithm == "auto":
        return able if wrong is None else ALGORITHMS[kind]
    if wrong is not None:
        raise InvalidValue(wrong)
    return [NETWORK]


def _able(
    network: Network, kind: str, algorithm: str, operation: str | type[wiring.Component]
) -> Network:
    """The network, with a group and what it merges if these are asked for and it may have them."""
    asked = isinstance(algorithm, str) and algorithm == NETWORK and kind in GROUP_KINDS
    if not asked or network.parameters.get("group_entries") != 0:
        return network
    reduction = {} if kind == "broadcast" else {"reduction": operation}
    return network.altered(group_entries=1, **reduction)


def _name(operation: str | type[wiring.Component]) -> str:
    return operation if isinstance(operation, str) else operation.__name__


def _hindrance(network: Network, kind: str, operation: str | type[wiring.Component]) -> str | None:
    """Why routers can't perform a collective; None if they can."""
    if not isinstance(network, PacketNetwork) or not network.groups:
        return "Network must have group_entries=1 or more, for the algorithm network"
    merges, operation = _name(network.parameters["reduction"]), _name(operation)
    if kind == "barrier" and merges not in ("add", operation):
        allowed = " or ".join(dict.fromkeys(["add", operation]))
        return f"Reduction must be {allowed}, for a barrier by the network, not {merges}"
    if kind in ("reduce", "allreduce") and merges != operation:
        return f"Operation must be {merges}, the reduction of the network, not {operation}"
    return None


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


def _counted(
    network: MemoryNetwork, members: tuple[int, ...], root: int, engine: str
) -> CollectiveRun:
    """A barrier by a counter in memory."""
    done = run_counter_barrier(network, members, engine=engine)
    run = CollectiveRun(
        network=network.family,
        parameters=network.chosen,
        kind="barrier",
        algorithm=NETWORK,
        group=members,
        root=root,
        flits=1,
        operation="add",
        cycles=done.cycles,
        bound=request_cycles(network),
        flit_hops=barrier_hops(network, done),
        messages=done.requests,
        correct=passed_all(done, members),
        engine=done.engine,
        tried={},
    )
    if not run.correct:
        raise SimulationError("A processor passed the barrier before all had come", run)
    return run


class _Collective:
    """A collective on a network, whatever the algorithm."""

    def __init__(
        self,
        network: PacketNetwork,
        kind: str,
        members: tuple[int, ...],
        root: int,
        flits: int,
        operation: str | type[wiring.Component],
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
        self, algorithms: Sequence[str], engine: str, threads: int | None
    ) -> list[CollectiveRun]:
        """Run several algorithms; all sources have the same room, so that they are built once."""
        longest = self.network.lengths[1] if self.network.packet.flits else 1
        programs = [self._program(each).cut(longest) for each in algorithms]
        plans: list[WorkloadPlan] = []
        room: WorkloadPlan | None = None
        for _ in range(2 if len(programs) > 1 else 1):
            plans = [room := self._sources(program, room) for program in programs]
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

    def by_network(self, engine: str, threads: int | None) -> CollectiveRun:
        """Let the routers copy and merge the packets of the group."""
        heard = run_group_task(
            self.network,
            self.kind,
            self.members,
            self.root,
            self.own,
            self.width,
            engine=engine,
            threads=threads,
        )
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
