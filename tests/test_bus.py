"""The shared bus: a model of every packet, work conservation, fairness, and its closed forms."""

import itertools
from collections import Counter, deque

import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.families.bus.bus_graph import Bus
from multicube.hdl.families.bus.bus_network import BusNetwork
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.routing.survey import survey
from multicube.sim import Trace, TracePacket, simulate


def test_description() -> None:
    bus = Bus(5)
    check_graph(bus)
    assert survey(bus).cycle is None
    assert survey(bus).diameter == 1
    for source, destination in itertools.product(range(5), repeat=2):
        assert [channel[:2] for channel in bus.path(source, destination)] == [
            (0, 0),
            (1, -1 - destination),
        ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("length", [1, 3])
def test_latency(length: int) -> None:
    """D_t + c cycles."""
    for decision in (1, 3):
        network = BusNetwork(4, decision=decision, length=length)
        packet = TracePacket(0, 2, 1, length)
        result = simulate(network, traffic=Trace("one", (packet,)), cycles=30, engine="amaranth")
        assert result.latency.max == decision + length


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "arbiter"),
    [(4, "least-recent"), long(6, "round-robin"), long(16, "round-robin"), long(64, "random")],
)
def test_saturation(ports: int, arbiter: str) -> None:
    """One packet per cycle in all, and 1 / N from each terminal."""
    result = simulate(
        BusNetwork(ports, arbiter=arbiter), load=1.0, cycles=100 * ports, warmup=10 * ports
    )
    assert result.throughput == 1 / ports
    shares = result.terminals["injected"]
    spread = 0.5 if arbiter == "random" else 0.02
    assert max(shares) - min(shares) <= spread * 100 + 1
    assert sum(shares) == pytest.approx(100 * ports, abs=ports)


class Model:
    """A bus from its description: queues of the terminals, an arbiter, and a queue of receivers.

    All receivers take what comes, so the receivers' queue holds at most one packet.
    """

    def __init__(self, ports: int, arbiter: str) -> None:
        self.queues: list[deque[TracePacket]] = [deque() for _ in range(ports)]
        self.arbiter, self.turn = arbiter, 0
        self.last = dict.fromkeys(range(ports), -1)

    def choice(self, cycle: int) -> TracePacket | None:
        """The packet that crosses the bus in a cycle."""
        waiting = [t for t, queue in enumerate(self.queues) if queue]
        if not waiting:
            return None
        if self.arbiter == "fixed":
            chosen = waiting[0]
        elif self.arbiter == "least-recent":
            chosen = min(waiting, key=lambda t: (self.last[t], t))
        else:
            chosen = min(waiting, key=lambda t: (t - self.turn) % len(self.queues))
        self.turn, self.last[chosen] = chosen + 1, cycle
        return self.queues[chosen].popleft()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("arbiter", ["round-robin", "fixed", "least-recent"])
def test_each_packet_is_the_models(arbiter: str) -> None:
    """The latency of every packet of a burst: all packets of all terminals, one after the other."""
    ports, each = 5, 6
    sends = [
        TracePacket(cycle, source, (source * 3 + cycle) % ports)
        for source in range(ports)
        for cycle in range(each)
    ]
    sends.sort(key=lambda packet: (packet.cycle, packet.source))
    network = BusNetwork(ports, arbiter=arbiter, depth=8)
    burst = Trace("burst", tuple(sends))
    found = simulate(network, traffic=burst, cycles=60, engine="amaranth")
    model, latencies = Model(ports, arbiter), []
    for cycle in range(60):
        # A packet that is offered in a cycle is in its queue in the next one, and a packet that
        # crosses the bus is taken in the next cycle.
        if (packet := model.choice(cycle)) is not None:
            latencies.append(cycle + 1 - packet.cycle)
        for packet in sends:
            if packet.cycle == cycle:
                model.queues[packet.source].append(packet)
    histogram = Counter(latencies)
    assert found.delivered == sum(histogram.values()) == ports * each
    assert {x: count for x, count in enumerate(found.latency.histogram) if count} == histogram
    # Work-conserving: the last packet leaves after all others, one in each cycle.
    assert found.latency.max >= ports * each - each + 1


def test_random_arbiter_has_a_limit() -> None:
    message = "^Inputs that a random arbiter chooses from must be at most 64, not 65$"
    with pytest.raises(ValueError, match=message):
        build("bus ports=65 arbiter=random")


@pytest.mark.parametrize("ports", [long(64), long(256)])
def test_large(ports: int) -> None:
    result = simulate(BusNetwork(ports), load=1.0, cycles=4 * ports, warmup=2 * ports)
    assert result.throughput == 1 / ports
