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

__all__ = ["GROUP_KINDS", "Heard", "run_group_task"]

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


def run_group_task(
    network: PacketNetwork,
    kind: str,
    members: Sequence[int],
    root: int,
    own: Sequence[Sequence[int]],
    width: int,
    *,
    engine: str,
    threads: int | None = None,
) -> Heard:
    """Send the words of the members, or of the root in a broadcast, to their group.

    Raises
    ------
    SimulationError
        If the words that should be heard do not come.
    """
    sends = {
        member: words
        for member, words in zip(members, own)
        if kind != "broadcast" or member == root
    }
    (length,) = {len(words) for words in sends.values()}
    listeners = 1 if kind == "reduce" else len(members)
    bench = GroupBench(network, GroupTask(GROUP_KINDS[kind], root, members, sends, width))
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
            elif counts == (length * len(sends), length * listeners):
                break
            elif opened.cycle - moved > patience(network):
                raise SimulationError(
                    f"The words of the group do not come: {counts[0]} of {length * len(sends)} "
                    f"sent, {counts[1]} of {length * listeners} heard",
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
