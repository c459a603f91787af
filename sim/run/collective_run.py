"""Runs collectives on networks: by algorithms of the terminals, with real words, all checked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...hdl.bench.group_bench import GroupBench
from ...hdl.fabric.checks import check_kind, check_limit, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.schedules.collectives import ALGORITHMS, check_collective, check_group
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.operations.folds import REDUCTIONS, is_component
from ..engines.engine_selection import resolve_engine
from ..measure.collective_bound import middle, request_cycles
from ..measure.result import SimulationError
from .collective import NETWORK, Collective, CollectiveRun, Operation, operation_name
from .counter_barrier import barrier_hops, passed_all, run_counter_barrier
from .group_collective import GROUP_KINDS
from .workload_run import check_for_messages

__all__ = ["OPERATIONS", "collective_bench", "run_collective"]

OPERATIONS = tuple(REDUCTIONS)
"""The folds of a reduction: those for which the order of values does not matter."""

_MOST_BITS = 1024
"""Members of a barrier by the network of which each has a bit of its own."""


_MOST_TRIED = 2**14
"""Most terminals of a network on which all algorithms are tried: sources of 4,096 take 0.6 GB."""

_NO_GROUPS = "Network must have group_entries=1 or more, for the algorithm network"


def run_collective(
    network: Network,
    kind: str,
    *,
    root: int | None = None,
    group: Sequence[int] | None = None,
    flits: int = 1,
    algorithm: str = "auto",
    operation: Operation = "add",
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
        whose lists are not too large are run, and the fastest is returned. With `network` routers
        get `group_entries=1`, and the reduction that is asked for, if they have no groups.
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
    asked = _asked(network, kind, root, group, flits, algorithm, operation)
    if isinstance(asked.network, MemoryNetwork):
        return _counted(asked.network, asked.members, asked.root, engine)
    chosen = asked.collective(words)
    name = resolve_engine(engine)
    by_network = NETWORK in asked.algorithms
    terminals = [each for each in asked.algorithms if each != NETWORK]
    runs = chosen.run(terminals, name, threads, others=by_network)
    if by_network:
        runs.append(chosen.by_network(name, threads))
    best = min(runs, key=lambda run: run.cycles)
    tried = {run.algorithm: run.cycles for run in runs} if algorithm == "auto" else {}
    return replace(best, tried=tried)


def collective_bench(
    network: Network,
    kind: str,
    *,
    root: int | None = None,
    group: Sequence[int] | None = None,
    flits: int = 1,
    operation: Operation = "add",
) -> GroupBench:
    """The bench on which the network itself performs a collective of random words.

    Raises
    ------
    TypeError, ValueError
        As in `run_collective`, or if the network has memory.
    """
    asked = _asked(network, kind, root, group, flits, NETWORK, operation)
    if isinstance(asked.network, MemoryNetwork):
        raise InvalidValue(_NO_GROUPS)
    return asked.collective(None).group_bench


class _Asked(NamedTuple):
    """A collective that a network can perform, by these algorithms."""

    network: Network
    kind: str
    members: tuple[int, ...]
    root: int
    flits: int
    operation: Operation
    algorithms: Sequence[str]

    def collective(self, words: Sequence[Sequence[int]] | None) -> Collective:
        assert isinstance(self.network, PacketNetwork)
        return Collective(
            self.network, self.kind, self.members, self.root, self.flits, self.operation, words
        )


def _asked(
    network: Network,
    kind: str,
    root: int | None,
    group: Sequence[int] | None,
    flits: int,
    algorithm: str,
    operation: Operation,
) -> _Asked:
    """What is asked for."""
    check_kind("Network", network, Network, "a network")
    members = check_group(range(network.ports) if group is None else group, network.ports)
    first, flits = check_collective(kind, members, members[0] if root is None else root, flits)
    if root is not None and kind == "alltoall":
        raise InvalidValue("Kind alltoall takes no root: all members are alike")
    if root is not None and isinstance(network, MemoryNetwork):
        raise InvalidValue("A barrier by memory takes no root: its counter is the place")
    if not is_component(operation):
        check_word("Operation", operation, OPERATIONS)
    elif algorithm == "auto":
        algorithm = NETWORK  # Terminals have no such component.
    if operation != "add" and kind not in ("reduce", "allreduce"):
        raise InvalidValue(
            f"Operation is for reduce and allreduce; for {kind} it can't be "
            f"{operation_name(operation)}"
        )
    if kind == "barrier":
        operation = "add" if algorithm == NETWORK and len(members) > _MOST_BITS else "or"
    network = _able(network, kind, algorithm, operation)
    if not isinstance(network, MemoryNetwork):
        check_for_messages(network)
        if root is None and kind in ("allreduce", "barrier"):
            first = middle(network, members)
    algorithms = _algorithms(network, kind, algorithm, operation, first, members)
    return _Asked(network, kind, members, first, flits, operation, algorithms)


def _algorithms(
    network: Network,
    kind: str,
    algorithm: str,
    operation: Operation,
    root: int,
    members: Sequence[int],
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
        width = network.parameters["width"]
        check_limit(
            f"Members of a barrier by words of {width} bits", len(members), (1 << width) - 1
        )
        return [NETWORK]
    able = [*ALGORITHMS[kind], *([NETWORK] if kind in GROUP_KINDS else [])]
    if is_component(operation):
        able = [NETWORK]
    check_word(f"Algorithm of {kind}", algorithm, (*able, "auto"))
    if algorithm not in (NETWORK, "auto"):
        return [algorithm]
    wrong = _hindrance(network, kind, operation, root, members)
    if algorithm == "auto" and network.ports > _MOST_TRIED:
        if wrong is None:
            return [NETWORK]
        raise InvalidValue(
            f"Algorithm must be named with more than {_MOST_TRIED} terminals: to run all takes too "
            "much memory"
        )
    if algorithm == "auto":
        return able if wrong is None else ALGORITHMS[kind]
    if wrong is not None:
        raise InvalidValue(wrong)
    return [NETWORK]


def _able(network: Network, kind: str, algorithm: str, operation: Operation) -> Network:
    """The network, with a group and what it merges if these are asked for and it may have them."""
    asked = isinstance(algorithm, str) and algorithm == NETWORK and kind in GROUP_KINDS
    if not asked or network.parameters.get("group_entries") != 0:
        return network
    reduction = {} if kind == "broadcast" else {"reduction": operation}
    return network.altered(group_entries=1, **reduction)


def _hindrance(
    network: Network, kind: str, operation: Operation, root: int, members: Sequence[int]
) -> str | None:
    """Why routers can't perform a collective; None if they can."""
    if not isinstance(network, PacketNetwork) or not network.groups or kind not in GROUP_KINDS:
        return _NO_GROUPS
    merges, operation = operation_name(network.parameters["reduction"]), operation_name(operation)
    allowed = {"broadcast": [merges], "barrier": ["add", operation]}.get(kind, [operation])
    if merges not in allowed:
        either = " or ".join(dict.fromkeys(allowed))
        return f"Reduction must be {either} for the kind {kind} by the network, not {merges}"
    return network.group_refusal(GROUP_KINDS[kind], root, members)


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
