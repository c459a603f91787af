"""Runs workloads on networks."""

from collections.abc import Callable, Mapping

from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.bench.workload_bench import WorkloadBench, WorkloadPlan
from ...hdl.fabric.checks import check_kind, check_limit
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ..engines import Engine
from ..engines.engine_selection import open_engines, resolve_engine
from ..measure.critical_path import (
    Flow,
    MessageTimes,
    WorkloadRun,
    critical_chain,
    critical_path,
)
from ..measure.result import SimulationError
from ..workload.workload import Workload, WorkloadMessage
from .run import LONGEST, pace
from .run_steps import patience

__all__ = ["check_for_messages", "run_workload", "send_workload"]

_TOGETHER = 512
"""Most messages that are measured alone in one run, one after the other."""


def run_workload(
    network: PacketNetwork,
    workload: Workload,
    *,
    engine: str = "auto",
    threads: int | None = None,
) -> WorkloadRun:
    """Send the messages of a workload over a network, each when all that it depends on has arrived.

    A second run sends the messages of the critical path alone, to separate waiting from travelling.

    Parameters
    ----------
    network : PacketNetwork
        It has as many sources as sinks, and loses nothing.
    workload : Workload
        The messages, and what each depends on.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    threads : int, optional
        Processor cores that the engine `compiled` uses; one if not given.

    Returns
    -------
    WorkloadRun
        The times of all messages, and the critical path.

    Raises
    ------
    SimulationError
        If messages were lost, misrouted, duplicated or damaged, or got stuck.
    TypeError, ValueError
        If a message does not fit this network, or the network can't carry messages.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Workload, WorkloadMessage, run_workload
    >>> there = WorkloadMessage(0, source=0, destination=3)
    >>> back = WorkloadMessage(1, source=3, destination=0, after=(0,), delay=10)
    >>> run_workload(build("cube", ports=4), Workload("ping", (there, back)))
    <WorkloadRun of 2 messages in 16 cycles>
    """
    check_kind("Workload", workload, Workload, "a Workload")
    check_for_messages(network)
    name = resolve_engine(engine)
    sources = workload.sources(network)
    messages = send_workload(network, workload, sources, name, threads)
    chain = critical_chain(messages)
    return WorkloadRun(
        network=network.family,
        parameters=network.chosen,
        engine=name,
        workload=workload.name,
        cycles=chain[-1].arrived + 1,
        messages=messages,
        critical_path=critical_path(chain, _alone(network, chain, sources, name, threads)),
    )


def check_for_messages(network: PacketNetwork) -> None:
    """Check that messages can wait for each other in a network.

    Raises
    ------
    TypeError, ValueError
        If it carries no packets, or may lose some.
    """
    check_kind("Network", network, Network, "a network")
    if not isinstance(network, PacketNetwork):
        raise InvalidType("Network must carry packets for a workload, not requests of processors")
    if network.drops and not network.resubmits:
        raise InvalidValue("Network must not be one that loses packets, for a workload")


def send_workload(
    network: PacketNetwork,
    workload: Workload,
    sources: WorkloadPlan,
    name: str,
    threads: int | None,
    look: Callable[[WorkloadBench, Engine], None] | None = None,
) -> list[MessageTimes]:
    """Run a workload until all its messages have arrived, or nothing moves any more.

    `look` is called at the end, while the engine is open.
    """
    bench = WorkloadBench(network, sources)
    (engine,) = open_engines(name, [bench], threads=threads)
    with engine:
        batch = max(pace(network), workload.longest_delay // 16)
        most = patience(network) + workload.longest_delay
        counts, moved = (0, 0, 0), 0
        computations = len(workload.messages) - workload.sent_messages
        goal = (workload.sent_messages, workload.sent_messages, computations)
        engine.set("send", 1)
        engine.set("measure", 1)
        while True:
            check_limit("Cycles of a workload", engine.cycle + batch, LONGEST)
            engine.step(batch)
            last = counts
            counts = (
                sum(engine.read(bench.sources, "injected")),
                sum(engine.read(bench.sinks, "delivered")),
                sum(engine.read(bench.sources, "finished")),
            )
            # One more batch after the last delivery, in case there is one too many.
            if counts != last:
                moved = engine.cycle
            elif counts == goal or engine.cycle - moved > most:
                break
        recorded = _recorded(network, workload, bench, engine)
        _audit(network, workload, bench, engine, recorded["arrived"], *counts[:2])
        if look is not None:
            look(bench, engine)
    return _times(workload, recorded)


def _audit(
    network: PacketNetwork,
    workload: Workload,
    bench: WorkloadBench,
    engine: Engine,
    arrived: Mapping[int, int],
    sent: int,
    delivered: int,
) -> None:
    """Raise SimulationError if not every message arrived once, whole, and where it should."""
    wrong = []
    missing = [each for each in workload.ordered if each.id not in arrived]
    if missing or not workload.sent_messages == sent == delivered:
        wrong.append(f"{sent} of {workload.sent_messages} sent, {delivered} delivered")
    if missing:
        first = missing[0]
        wrong.append(f"not message {first.id} from {first.source} to {first.destination}")
    for what, checked in (
        ("misrouted", True),
        ("duplicated", bench.follows_flows),
        ("reordered", bench.follows_flows and network.ordered),
        ("damaged", network.packet.flits),
    ):
        count = sum(engine.read(bench.sinks, what)) if checked else 0
        if count:
            wrong.append(f"{count} {what}")
    if wrong:
        raise SimulationError(f"The messages do not balance: {', '.join(wrong)}", None)


def _recorded(
    network: PacketNetwork, workload: Workload, bench: WorkloadBench, engine: Engine
) -> dict[str, dict[int, int]]:
    """The times that the sources recorded, by what they are of and by the ids of the messages.

    A computation is sent, leaves and arrives when it ends.
    """
    sent, received = workload.sent_by(network.ports), workload.received_by(network.ports)

    def times(name: str, groups: list[list[WorkloadMessage]]) -> dict[int, int]:
        return {
            message.id: row - (1 << COUNT_BITS)
            for cell, group in zip(bench.sources, groups)
            for message, row in zip(group, engine.memory(cell, name))
            if row >> COUNT_BITS
        }

    ended = times("ended_at", sent)
    return {
        "sent": times("sent_at", sent) | ended,
        "left": times("left_at", sent) | ended,
        "arrived": times("arrived_at", received) | ended,
    }


def _times(workload: Workload, recorded: Mapping[str, Mapping[int, int]]) -> list[MessageTimes]:
    """The recorded times of each message, and when it was ready by them."""
    times: dict[int, MessageTimes] = {}
    for message in workload.ordered:
        known = [times[other].known_at(message.source) + 1 for other in message.after]
        ready = max(known, default=0) + message.delay
        three = (recorded[name][message.id] for name in ("sent", "left", "arrived"))
        times[message.id] = MessageTimes(message, ready, *three)
    return [times[message.id] for message in workload.messages]


def _alone(
    network: PacketNetwork,
    chain: list[MessageTimes],
    used: WorkloadPlan,
    name: str,
    threads: int | None,
) -> dict[Flow, int]:
    """The cycles that each message of a chain takes alone, and one of one flit in its place.

    Each is sent twice, and the faster counts: a pipelined router is slower with the first packet of
    a path than with the next one of the same path.
    """
    flows = {
        Flow(times.message.source, times.message.destination, length)
        for times in chain
        if not times.message.is_computation
        for length in (1, times.message.length)
    }
    apart = 16 + 2 * max(times.arrived - times.sent for times in chain)
    alone: dict[Flow, int] = {}
    twice = [flow for flow in sorted(flows) for _ in range(2)]
    for first in range(0, len(twice), _TOGETHER):
        part = twice[first : first + _TOGETHER]
        messages = tuple(
            WorkloadMessage(number, *flow, delay=number * apart) for number, flow in enumerate(part)
        )
        workload = Workload("alone", messages)
        sources = workload.sources(network, used)
        for flow, times in zip(part, send_workload(network, workload, sources, name, threads)):
            cycles = times.arrived + 1 - times.ready
            alone[flow] = min(cycles, alone.get(flow, cycles))
    return alone
