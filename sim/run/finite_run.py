"""A run of a finite number of packets, such as a trace: the window is the whole run."""

from ...hdl.networks.network import Network
from ...hdl.support.counted import counted
from ..measure.latency import Latency
from ..theory import predict
from ..workload.traffic import TRACE_START, Trace
from .probe import Probe
from .run import Run, amount, pace
from .run_steps import Steps, empty, patience, result_of

__all__ = ["finite_run"]


def finite_run(probe: Probe, network: Network, run: Run, engine: str) -> Steps:
    """A run of a finite number of packets, such as a trace: the window is the whole run."""
    traffic = run.traffic
    packets, span = amount(traffic, network)
    sent_by = traffic.sent
    if isinstance(traffic, Trace):
        what, delivery = "trace spans", "its delivery"
    else:
        what, delivery = "packets are generated in", "their delivery"
    batch = pace(network)
    partial = False
    probe.set("send", 1)
    probe.set("measure", 1)
    try:
        yield TRACE_START + span
        sent, moved = sum(probe.sources("injected")), probe.engine.cycle
        while sent < packets and probe.engine.cycle - moved < patience(network):
            yield batch
            before, sent = sent, sum(probe.sources("injected"))
            if sent != before:
                moved = probe.engine.cycle
        yield from empty(probe, batch, patience(network))
    except KeyboardInterrupt:
        partial = True
    cycles = max(1, max(probe.sinks("latest")) + 1 - TRACE_START)
    verdict = f"the {what} {counted(span, 'cycle')}, {delivery} took {cycles}"
    latencies = [probe.latency(kind, None) for kind in ("total", "network")]
    if cycles >= 2**probe.bench.time:
        latencies = [Latency.unknown(sum(probe.sinks("measured")))] * 2
        verdict += f"; latencies are only measured below 2^{probe.bench.time} cycles"
    return result_of(
        probe,
        network,
        traffic=traffic,
        engine=engine,
        seed=None if isinstance(traffic, Trace) else run.seed,
        cycles=cycles,
        warmup=TRACE_START,
        drain=0,
        settled=True,
        ended="interrupted" if partial else "finite",
        uncorrelated=True,
        untimed=None,
        partial=partial,
        offered_load=packets / (network.sources * span),
        packet_length=run.packet_length(network),
        throughput_ci99=None,
        generated=[sent_by.get(source, 0) for source in range(network.sources)],
        rejected=[0] * network.sources,
        latency=latencies[0],
        network_latency=latencies[1],
        predicted=predict(network, 0, uniform=False),
        saturated=False,
        verdict=verdict,
    )
