"""A barrier of processors on a network with memory: a counter that all add 1 to, and then load.

Requests for one word meet in the boxes. Where these combine, the counter is added to once, whatever
the number of processors, and so are the loads of those that wait.
"""

from collections.abc import Sequence

from ...hdl.networks.memory_network import MemoryNetwork
from .program_requests import Program, Request
from .programs import ProgramRun, run_programs

__all__ = ["barrier_hops", "meet", "passed_all", "run_counter_barrier"]

_COUNTER = 0
"""The word of the counter."""


def run_counter_barrier(
    network: MemoryNetwork, members: Sequence[int], *, engine: str = "auto"
) -> ProgramRun:
    """Let these processors wait for each other, once. A result is what a processor saw last."""
    inside = set(members)
    programs = [
        meet(len(inside)) if number in inside else _idle() for number in range(1 + max(inside))
    ]
    return run_programs(network, programs, engine=engine)


def meet(count: int) -> Program:
    """Add 1, and load the counter until all have; return the numbers that were seen."""
    seen = [(yield Request("fetch-and-add", _COUNTER, 1))]
    while seen[-1] < count - (len(seen) == 1):
        seen.append((yield Request("load", _COUNTER)))
    return seen


def _idle() -> Program:
    """A processor outside of the group."""
    yield []


def passed_all(run: ProgramRun, members: Sequence[int]) -> bool:
    """Whether each member got a number of its own, and went on only when all had one."""
    seen = [run.results[member] for member in members]
    count = len(seen)
    return (
        sorted(each[0] for each in seen) == list(range(count))
        and all(each[-1] == count - (len(each) == 1) for each in seen)
        and run.memory[_COUNTER] == count
        and run.serializable
    )


def barrier_hops(network: MemoryNetwork, run: ProgramRun) -> int | None:
    """Links between boxes that requests and replies passed; None if the boxes don't count what they
    combine, or are not in stages."""
    staged = len(run.combined) == network.stages
    if not staged or run.requests - sum(run.combined) != run.memory_requests:
        return None
    going = run.requests
    hops = 0
    for combined in run.combined[:-1]:
        going -= combined
        hops += 2 * going
    return hops
