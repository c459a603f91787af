# amaranth: UnusedElaboratable=no
"""Boxes with a pipeline, against a model written from their documentation; and their networks."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from driving import transport
from long_runs import long
from multicube.hdl import PacketNetwork, build, write_verilog
from multicube.hdl.boxes.pipelined_switches import PipelinedSwitch
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.links.packet import Packet
from multicube.sim import Run, Trace, TracePacket, pattern, simulate_runs
from refusals import refusals
from switch_models import Wires, follow, pass_whole, permutations, sometimes, traffic
from verilog_tools import check_with_yosys

SEED = 26
pipelines = pytest.mark.parametrize("pipeline", [1, long(2)])


class Model:
    """A list at each input; each output serves the head of the input it served longest ago.

    With one register an output takes a packet if the register is free, or becomes free. With two it
    has three credits: a packet takes one when it is granted, and gives it back when it leaves.
    """

    def __init__(self, wires: Wires, depth: int, pipeline: int) -> None:
        self.wires, self.depth, self.pipeline = wires, depth, pipeline
        self.queues: list[list[int]] = [[] for _ in range(wires.radix)]
        self.order = [list(range(wires.radix)) for _ in range(wires.outputs)]
        self.coming: list[int | None] = [None] * wires.outputs
        self.leaving: list[list[int]] = [[] for _ in range(wires.outputs)]
        self.credits = [3] * wires.outputs

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        shown = [queue[0] if queue else None for queue in self.leaving]
        accepted = [
            packet is not None and len(queue) < self.depth
            for packet, queue in zip(offered, self.queues)
        ]
        heads = [queue[0] if queue else None for queue in self.queues]
        for j, queue in enumerate(self.leaving):
            room = not queue or ready[j] if self.pipeline == 1 else self.credits[j] > 0
            wanting = [
                i
                for i in self.order[j]
                if heads[i] is not None and self.wires.output(heads[i], i) == j
            ]
            if queue and ready[j]:
                queue.pop(0)
                self.credits[j] += 1
            arrived, self.coming[j] = self.coming[j], None
            if wanting and room:
                served = wanting[0]
                self.order[j].remove(served)
                self.order[j].append(served)
                self.credits[j] -= 1
                self.coming[j] = self.wires.forwarded(self.queues[served].pop(0))
            if self.pipeline == 1:
                arrived, self.coming[j] = self.coming[j], None
            if arrived is not None:
                queue.append(arrived)
        for i, packet in enumerate(offered):
            if accepted[i]:
                self.queues[i].append(packet)
        return accepted, shown


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("radix", "routing", "depth", "outputs"),
    [
        (2, "xor", 2, None),
        (4, "destination", 4, None),
        long(3, "destination", 3, 4),
        long(2, "destination", 5, None),
        long(4, "xor", 2, None),
        long(8, "xor", 4, None),
        long(4, "destination", 64, 2),
    ],
)
@pytest.mark.parametrize("pipeline", [1, 2])
def test_pipelined_switch_follows_the_model(
    pipeline: int, radix: int, routing: str, depth: int, outputs: int | None
) -> None:
    """Cycle by cycle under random traffic and waits; nothing lost, doubled or out of order."""
    wires = Wires(radix, routing, outputs)
    dut = PipelinedSwitch(
        wires.layout,
        **{"radix": radix, "depth": depth, "pipeline": pipeline},
        **{"routing": routing, "outputs": outputs},
    )
    model = Model(wires, depth, pipeline)
    busy, waits = traffic(wires, 100 * radix + depth, 0.7), sometimes(depth)
    trace = transport(
        dut,
        cycles=220 + 4 * depth,
        offer=lambda port, cycle: busy(port, cycle) if cycle < 150 else None,
        ready=lambda port, cycle: cycle >= 150 or waits(port, cycle),
    )
    assert follow(trace, wires, model) > 25 * radix


@pytest.mark.parametrize(("radix", "depth"), [(2, 2), (4, 4), long(8, 2)])
@pipelines
def test_pipelined_switch_has_full_throughput(pipeline: int, radix: int, depth: int) -> None:
    """A new permutation every cycle leaves 1 + pipeline cycles later, whole."""
    wires = Wires(radix, "destination")
    dut = PipelinedSwitch(wires.layout, radix=radix, depth=depth, pipeline=pipeline)
    pass_whole(transport(dut, cycles=40, offer=permutations(wires)), wires, late=1 + pipeline)


@pytest.mark.parametrize("radix", [2, long(4), long(8)])
@pipelines
def test_pipelined_switch_is_fair(pipeline: int, radix: int) -> None:
    """When all inputs want one output, it serves them in turn, and never rests."""
    wires = Wires(radix, "destination")
    dut = PipelinedSwitch(wires.layout, radix=radix, depth=2, pipeline=pipeline)
    trace = transport(
        dut, cycles=80, offer=lambda port, cycle: wires.make(port, radix - 1, cycle % 16)
    )
    served = [wires.name(packet)[0] for cycle in trace for _, packet in cycle.moved()]
    assert len(served) == 80 - 1 - pipeline
    assert served == [number % radix for number in range(len(served))]


def network(pipeline: int, **words: Any) -> PacketNetwork:
    return build("cube", switch="input-queued", pipeline=pipeline, **words)


@pytest.mark.long
@pipelines
def test_latency_is_that_of_the_stages(pipeline: int) -> None:
    """A packet alone from each source to each destination: stages (1 + pipeline) cycles."""
    dut = network(pipeline, ports=16, radix=4)
    assert dut.zero_load_cycles == dut.stages * (1 + pipeline) == 2 * (1 + pipeline)
    apart = dut.zero_load_cycles + 1
    pairs = itertools.product(range(dut.ports), repeat=2)
    packets = [TracePacket(apart * at, *pair) for at, pair in enumerate(pairs)]
    [result] = simulate_runs(dut, [Run(Trace("alone", tuple(packets)))], engine="compiled")
    assert (result.delivered, result.misrouted) == (dut.ports**2, 0)
    assert result.latency.mean == result.latency.max == dut.zero_load_cycles


@pytest.mark.long
@pipelines
def test_a_permutation_passes_at_the_full_rate(pipeline: int) -> None:
    """The cube passes the identity without conflicts: a packet each cycle, and none waits."""
    dut = network(pipeline, ports=16, radix=4, depth=2)
    run = Run(pattern("identity", dut.ports), 1.0, 200, 20, SEED)
    [result] = simulate_runs(dut, [run], engine="compiled")
    assert result.throughput == 1
    assert result.latency.max == dut.zero_load_cycles


def check_engines(dut: PacketNetwork, load: float, hot_load: float) -> None:
    """Two runs at these loads, uniform and with a hot spot, are equal on both engines."""
    runs = [
        Run(pattern("uniform", dut.ports), load, 60, 10, SEED),
        Run(pattern("hotspot:0.3", dut.ports), hot_load, 60, 10, SEED),
    ]
    compiled, reference = (
        simulate_runs(dut, runs, engine=engine) for engine in ("compiled", "amaranth")
    )
    for one, other in zip(compiled, reference):
        assert (one.lost, one.misrouted, one.duplicated) == (0,) * 3
        assert one.reordered == 0 or not dut.ordered  # copies of a network keep no order
        assert one.injected == one.delivered > 0
        assert one.to_json() | {"engine": ""} == other.to_json() | {"engine": ""}


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "pipeline"),
    [
        ({"ports": 4}, 1),
        long({"ports": 4, "radix": 4}, 2),
        long({"ports": 16, "radix": 4}, 1),
        long({"ports": 16, "radix": 4}, 2),
        long({"ports": 16, "routing": "xor"}, 2),
        long({"ports": 32, "radix": "4+", "depth": 2}, 1),
        long({"ports": 8, "extra_stage": 1, "faults": "box:1:2"}, 2),
        long({"ports": 8, "replication": 2, "parity": "packet"}, 1),
    ],
)
def test_engines_agree_and_nothing_is_lost(words: dict[str, Any], pipeline: int) -> None:
    """Under uniform traffic, and with a hot spot that fills all queues."""
    dut = network(pipeline, **words)
    check_engines(dut, 0.5, 0.6)


@pytest.mark.long
@pytest.mark.parametrize("ports", [4, long(16)])
@pipelines
def test_pipelined_network_has_no_combinational_loop(
    tmp_path: Path, pipeline: int, ports: int
) -> None:
    path = tmp_path / "network.v"
    write_verilog(network(pipeline, ports=ports).fabric, path)
    check_with_yosys([path])


test_pipeline_is_refused = refusals(
    lambda words: build("cube", **{"switch": "input-queued", "pipeline": 1, **words}),
    ({"switch": "output-queued"}, "Pipeline must be 0 with switch=output-queued..."),
    ({"switch": "single-buffered"}, "Pipeline must be 0 with switch=single-buffered..."),
    ({"switch": "circuit"}, "Pipeline must be 0 with switch=circuit..."),
    ({"switch": "wormhole", "policy": "drop"}, "Policy must be hold with pipeline=1, not drop..."),
    (
        {"switch": "cut-through", "queues": "crosspoint"},
        "Queues must be input with pipeline=1, not crosspoint...",
    ),
    ({"depth": 1}, "Depth with pipeline=1 must be from 2 to 64, not 1..."),
    ({"depth": 65}, "Depth with pipeline=1 must be from 2 to 64, not 65..."),
    ({"dilation": 2}, "Dilation must be 1 with pipeline=1, not 2..."),
    ({"broadcast": 1}, "Broadcast must be 0 with pipeline=1, not 1..."),
    ({"refill": "yes"}, "Refill must be no or auto with pipeline=1, not yes..."),
    error=InvalidValue,
)


def test_pipelined_switch_rejects() -> None:
    size = {"radix": 2, "depth": 2}
    with pytest.raises(InvalidValue, match=r"^Pipeline must be from 1 to 2, not 0$"):
        PipelinedSwitch(Packet(1, 8), pipeline=0, **size)
    with pytest.raises(
        InvalidValue, match=r"^Packets must have no broadcast mask with pipeline=2$"
    ):
        PipelinedSwitch(Packet(1, 8, broadcast=True), pipeline=2, **size)
