# amaranth: UnusedElaboratable=no
"""What multistage networks have of routers: channels, long links, arbiters, and decision times."""

from typing import Any

import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.families.multistage.multistage_parameters import StageParameters
from multicube.sim import Run, Trace, TracePacket, pattern, simulate, simulate_runs
from refusals import refusals

SEED = 23
PLAIN = [
    long("omega ports=8 switch=wormhole length=1:4 depth=2 routing=xor"),
    long("cube ports=16 radix=4 switch=wormhole length=3 depth=1"),
    long("cube ports=8 switch=cut-through length=1:4 depth=4"),
    "cube ports=8 switch=store-and-forward length=1:4",
    long("omega ports=8 switch=input-queued depth=3 replication=2"),
    "delta inputs=4 outputs=3 switch=input-queued",
]


@pytest.mark.long
@pytest.mark.parametrize("words", PLAIN)
def test_a_box_is_a_switch_with_one_channel(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made of the switch of routers, a network does the same, packet by packet."""
    print("seed", SEED)

    def outcome() -> dict[str, Any]:
        network = build(words)
        run = Run(
            pattern("uniform", network.sources),
            1.6 / sum(network.lengths),
            *(300, 20, SEED),
            source_depth=8,
        )
        (result,) = simulate_runs(network, [run], bins=64, engine="compiled")
        cells = {cell.type.component.__name__ for cell in network.fabric.cells.values()}
        assert ("Switch" in cells) == StageParameters.has_links.fget(network.parameters)  # type: ignore[attr-defined]
        return result.to_json()

    before = outcome()
    monkeypatch.setattr(StageParameters, "has_links", property(lambda self: True))
    monkeypatch.setattr(StageParameters, "_check_links", lambda self: None)
    assert outcome() == before
    assert before["delivered"] > 300


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "omega ports=8 switch=wormhole length=3 channels=2 latency=4 decision=2",
        long("cube ports=16 radix=4 switch=cut-through length=2 latency=2 channels=3"),
        long("cube ports=8 switch=input-queued decision=5 arbiter=least-recent"),
        "crossbar ports=4 switch=wormhole length=2 decision=4 channels=2",
        long("delta inputs=2 outputs=3 stages=3 switch=wormhole length=2 latency=3"),
    ],
)
def test_a_lone_packet_takes_the_cycles_of_its_links(words: str) -> None:
    """Between all terminals: D + L - 1 for each link between two stages, and 1 for each flit."""
    network = build(words)
    given: Any = network.parameters
    links, flits = network.stages - 1, network.lengths[1]
    cycles = links * (given.decision + given.latency - 1) + flits
    assert network.zero_load_cycles == cycles - flits + 1
    pairs = [(i, j) for i in range(network.sources) for j in range(network.sinks)]
    packets = tuple(TracePacket(60 * at, i, j, flits) for at, (i, j) in enumerate(pairs))
    result = simulate(network, traffic=Trace("alone", packets), bins=128, engine="compiled")
    assert result.delivered == len(pairs)
    assert (result.network_latency.mean, result.network_latency.max) == (cycles, cycles)


def test_channels_let_packets_pass_others_that_wait() -> None:
    """Worms of 8 flits in queues of 4: Dally's reason for virtual channels."""
    print("seed", SEED)
    delivered = []
    for channels in (1, 2, 4):
        network = build("omega ports=16 switch=wormhole length=8 depth=4", channels=channels)
        result = simulate(network, load=1, cycles=2000, warmup=300, seed=SEED)
        delivered.append(result.throughput)
    one, two, four = delivered
    assert one * 1.1 < two < four


@pytest.mark.long
def test_a_link_of_several_cycles_needs_places_for_full_throughput() -> None:
    """A place is in use for 2 L cycles (`CreditLink`), so d of them carry d / 2 L flits a cycle."""
    for depth, share in ((4, 4 / 8), (8, 1)):
        network = build("cube ports=4 switch=wormhole latency=4 length=4", depth=depth)
        packets = tuple(TracePacket(0, 0, 0, 4) for _ in range(200))
        result = simulate(network, traffic=Trace("stream", packets), bins=4096, engine="compiled")
        assert result.cycles == pytest.approx(200 * 4 / share, rel=0.05)


test_refusals = refusals(
    lambda words: build(f"cube ports=8 {words}"),
    ("channels=2", "Channels must be 1 with switch=output-queued, not 2"),
    ("switch=circuit latency=2", "Latency must be 1 with switch=circuit, not 2"),
    ("switch=wormhole channels=2 pipeline=1", "Pipeline must be 0 with channels=2, not 1"),
    ("switch=wormhole arbiter=fixed policy=drop", "Policy must be hold with arbiter=fixed..."),
    ("switch=input-queued dilation=2 latency=2", "Dilation must be 1 with latency=2, not 2"),
    ("switch=wormhole channels=2 refill=yes", "Refill must be no or auto with channels=2, not yes"),
    ("switch=cut-through queues=crosspoint decision=2", "Queues must be input with decision..."),
    ("switch=wormhole channels=9", "Channels must be from 1 to 8, not 9"),
    ("switch=wormhole switching=wormhole", "Parameter switch is given twice"),
)


def test_a_long_link_is_drawn_as_a_short_one() -> None:
    words = "omega ports=8 switch=wormhole channels=2"
    short, long = (build(f"{words} latency={latency}").diagram for latency in (1, 3))
    assert [line.points for line in short.lines] == [line.points for line in long.lines]
    assert [line.label for line in short.lines] == [line.label for line in long.lines]
    assert [node.x for node in short.nodes] == [node.x for node in long.nodes]
