"""Parts of a run: its steps, the drain of the network, and the result."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from ...hdl.networks.network import Network
from ...hdl.support.garbage import nothing_collected
from ..measure.latency import ClassResult, Latency
from ..measure.result import Result
from ..workload.traffic import Pattern, Trace
from .probe import Probe

__all__ = ["SINK_DELAY", "Steps", "empty", "patience", "result_of"]

SINK_DELAY = 2
"""Cycles until a delivery shows in a sink's counters."""

Steps = Generator[int, None, Result]
"""A run in progress: it yields how many cycles to step next, and returns its result.

A KeyboardInterrupt thrown into it ends the measurement; the result is then partial.
"""


def empty(probe: Probe, batch: int, patience: int) -> Generator[int, None, int]:
    """Step until the network is empty, or no packet has moved for `patience` cycles."""
    start = moved = probe.engine.cycle
    left = probe.unfinished
    least = abs(left)
    while left and probe.engine.cycle - moved < patience:
        yield batch
        left = probe.unfinished
        # A broken network may keep delivering packets that were never sent: that is no progress.
        if abs(left) < least:
            least, moved = abs(left), probe.engine.cycle
    yield SINK_DELAY
    return probe.engine.cycle - start


def patience(network: Network) -> int:
    """Cycles without any delivery after which a draining network is considered stuck."""
    return 1000 + 20 * network.zero_load_cycles + 4 * (network.lengths[1] + network.longest_delay)


def result_of(
    probe: Probe,
    network: Network,
    *,
    traffic: Pattern | Trace,
    cycles: int,
    partial: bool,
    generated: list[int],
    rejected: list[int],
    network_latency: Latency,
    **rest: Any,
) -> Result:
    injected = sum(probe.sources("injected"))
    delivered = sum(probe.sinks("delivered"))
    packets = not network.has_memory
    dropped = probe.drops("total")
    followed = probe.bench.follows_flows
    duplicated = sum(probe.sinks("duplicated")) if followed else None
    entered = probe.sources("entered")
    measured = probe.sinks("measured")
    # A packet that is sent again is one, whatever the number of its copies.
    tried = sum(entered if network.broadcasts and network.resubmits else measured)
    senders = traffic.senders
    slowest = min(senders, key=entered.__getitem__)
    counts = {
        "generated": generated,
        "rejected": rejected,
        "injected": entered,
        "delivered": measured,
    }
    window = max(cycles, 1)
    span = window * len(probe.runs)
    with nothing_collected():
        links = probe.links()
    return Result(
        network=network.family,
        parameters=network.chosen,
        traffic=traffic.name,
        cycles=cycles,
        partial=partial,
        throughput=sum(measured) / (network.sources * span),
        generated=sum(generated),
        rejected=sum(rejected),
        unsent=sum(generated) - sum(rejected) - injected,
        injected=injected,
        delivered=delivered,
        dropped=dropped,
        corrupted=probe.corrupted,
        attempts=1 + probe.drops("measured") / tried if tried else None,
        lost=None if partial else probe.in_flight + (duplicated or 0),
        damaged=sum(probe.sinks("damaged")) if packets and network.flits else 0,
        misrouted=sum(probe.sinks("misrouted")),
        duplicated=duplicated,
        reordered=(sum(probe.sinks("reordered")) if packets else 0) if followed else None,
        stamps_differ=None if partial else probe.stamps_differ,
        network_latency=network_latency,
        round_trip=None if packets else network_latency,
        background_latency=probe.background_latency,
        serializable=None if partial else probe.serializable,
        least_served={"terminal": slowest, "throughput": entered[slowest] / span},
        terminals={"injected": entered, "delivered": measured},
        links={link: sum(flits) / span for link, flits in links.items()},
        channels={
            link: [each / span for each in flits] for link, flits in links.items() if len(flits) > 1
        },
        statistics=probe.statistics(window),
        classes=_classes(probe, network, senders, counts, span),
        **rest,
    )


def _classes(
    probe: Probe,
    network: Network,
    senders: Sequence[int],
    counts: Mapping[str, Sequence[int]],
    span: int,
) -> list[ClassResult]:
    """The results of each class of messages, if there are several.

    Counts are those of packets by terminal, and the terminals are spread over the classes in turn.
    """
    count = network.classes
    if count == 1:
        return []
    terminals = network.sources // count
    entered, measured = counts["injected"], counts["delivered"]
    return [
        ClassResult(
            **{name: sum(each[own::count]) for name, each in counts.items()},
            throughput=sum(measured[own::count]) / (terminals * span),
            least_served=min((entered[n] for n in senders if n % count == own), default=0) / span,
            latency=probe.latency("total", None, probe.bench.sinks[own::count]),
            network_latency=probe.latency("network", None, probe.bench.sinks[own::count]),
        )
        for own in range(count)
    ]
