"""Collectives by the network itself: routers copy the packets of a group, and merge them."""

from collections.abc import Sequence
from typing import NamedTuple

from ...hdl.bench.group_bench import GroupBench, GroupTask
from ...hdl.graphs.routing.group_tree import Kind
from ...hdl.networks.packet_network import PacketNetwork
from ..engines.engine_selection import open_engines
from ..measure.result import SimulationError
from .probe import link_flits
from .run import pace
from .run_steps import patience

__all__ = ["GROUP_KINDS", "Heard", "group_bench", "run_group_task"]

GROUP_KINDS = {
    "broadcast": Kind.MULTICAST,
    "reduce": Kind.REDUCE,
    "allreduce": Kind.ALL_REDUCE,
    "barrier": Kind.ALL_REDUCE,
}
"""The collectives that are one kind of packets of a group."""


class Heard(NamedTuple):
    """What came of a task.

    Attributes
    ----------
    words : list[list[int]]
        By terminal, all words that it heard.
    cycles : int
        Until the last one.
    flit_hops : int
    """

    words: list[list[int]]
    cycles: int
    flit_hops: int


def group_bench(
    network: PacketNetwork,
    kind: str,
    members: Sequence[int],
    root: int,
    own: Sequence[Sequence[int]],
    width: int,
) -> GroupBench:
    """A bench on which the members, or the root in a broadcast, send their words to their group."""
    sends = {
        member: words
        for member, words in zip(members, own)
        if kind != "broadcast" or member == root
    }
    return GroupBench(network, GroupTask(GROUP_KINDS[kind], root, members, sends, width))


def run_group_task(bench: GroupBench, *, engine: str, threads: int | None = None) -> Heard:
    """Let the members send, until all has been heard.

    Raises
    ------
    SimulationError
        If the words that should be heard do not come.
    """
    task, network = bench.task, bench.network
    due = task.length * len(task.words), task.length * len(task.listeners)
    (opened,) = open_engines(engine, [bench], threads=threads)
    with opened:
        opened.set("send", 1)
        opened.set("measure", 1)
        moved, last = 0, (0, 0)
        while True:
            opened.step(pace(network))
            counts = (
                sum(opened.read(bench.sources, "sent")),
                sum(opened.read(bench.sinks, "heard")),
            )
            if counts != last:
                moved, last = opened.cycle, counts
            elif counts == due:
                break
            elif opened.cycle - moved > patience(network):
                raise SimulationError(
                    f"The words of the group do not come by the network: {counts[0]} of {due[0]} "
                    f"sent, {counts[1]} of {due[1]} heard; multicube deadlock --group says whether "
                    "its packets can block each other",
                    None,
                )
        heard = opened.read(bench.sinks, "heard")
        return Heard(
            [
                opened.memory(cell, "stored")[:count] if count else []
                for cell, count in zip(bench.sinks, heard)
            ],
            1 + max(opened.read(bench.sinks, "latest")),
            link_flits(opened, bench),
        )
