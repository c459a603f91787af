# amaranth: UnusedElaboratable=no
"""Flit switches with a pipeline, against a model written from their documentation; and networks."""

import itertools
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from driving import transport
from long_runs import long
from multicube.hdl import PacketNetwork, build, write_verilog
from multicube.hdl.boxes.pipelined_switches import PipelinedFlitSwitch
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.links.packet import Packet
from multicube.sim import Run, Trace, TracePacket, simulate_runs
from test_pipelined_boxes import check_engines
from test_wormhole import LONGEST, Wires, Worms, follow, packets, served
from verilog_tools import check_with_yosys

SEED = 27
pipelines = pytest.mark.parametrize("pipeline", [long(1), 2])


class Model:
    """A list at each input, and behind it, with two stages, a place for one flit.

    An output has an owner. It sends the flit that this has for it, if its register is free or
    becomes free, and the flit is shown in the next cycle. When the tail leaves, or the owner has
    nothing for it and is not inside a packet, the next input that has a flit for it becomes owner.
    With two stages a place of a queue is counted as free two cycles after its flit has left.
    """

    def __init__(self, wires: Wires, depth: int, pipeline: int, space: int) -> None:
        self.wires, self.pipeline, self.space = wires, pipeline, space
        radix = wires.radix
        self.queues: list[deque[int]] = [deque() for _ in range(radix)]
        self.heads: list[int | None] = [None] * radix
        self.targets = [0] * radix
        self.free = [depth + pipeline - 1] * radix
        self.freed = [False] * radix
        self.inside = [False] * radix
        self.owners: list[int | None] = [None] * radix
        self.busy = [False] * radix
        self.outputs: list[int | None] = [None] * radix

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        wires, everything = self.wires, range(self.wires.radix)
        shown = list(self.outputs)
        if self.pipeline == 1:
            self.heads = [queue[0] if queue else None for queue in self.queues]
        for i, head in enumerate(self.heads):
            if head is not None and wires.name(head)[2] == 0:
                self.targets[i] = wires.output(head, i)
        left = [False] * wires.radix
        for j in everything:
            room = shown[j] is None or ready[j]
            wants = [i for i in everything if self.heads[i] is not None and self.targets[i] == j]
            owner = self.owners[j]
            sends = owner in wants and room
            releases = not self.busy[j] if owner not in wants else False
            if sends:
                flit = self.heads[owner]
                left[owner] = True
                self.busy[j] = not wires.last(flit)
                releases = wires.last(flit)
            if room:
                self.outputs[j] = wires.forwarded(flit) if sends else None
            after = -1 if owner is None else owner
            turn = [*range(after + 1, wires.radix), *range(after + 1)]
            others = [i for i in turn if i in wants and i != owner]
            if releases and others:
                self.owners[j] = others[0]
        accepted = [False] * wires.radix
        for i, flit in enumerate(offered):
            needed = 1 if self.inside[i] else self.space
            accepted[i] = flit is not None and self.free[i] >= needed
            self.free[i] += (left if self.pipeline == 1 else self.freed)[i] - accepted[i]
            self.freed[i] = left[i]
            if self.pipeline == 1 and left[i]:
                self.queues[i].popleft()
            if self.pipeline == 2 and (left[i] or self.heads[i] is None):
                self.heads[i] = self.queues[i].popleft() if self.queues[i] else None
            if accepted[i]:
                self.queues[i].append(flit)
                self.inside[i] = not wires.last(flit)
        return accepted, shown


def switch(wires: Wires, depth: int, pipeline: int, switching: str) -> PipelinedFlitSwitch:
    return PipelinedFlitSwitch(
        wires.layout,
        **{"radix": wires.radix, "routing": wires.routing, "depth": depth},
        **{"pipeline": pipeline, "room": LONGEST if switching == "cut-through" else 1},
    )


@pytest.mark.parametrize(
    ("radix", "routing", "depth", "switching"),
    [
        (2, "xor", 2, "wormhole"),
        (3, "destination", 4, "wormhole"),
        (4, "destination", 7, "cut-through"),
        long(4, "xor", 3, "wormhole"),
        long(8, "destination", 16, "wormhole"),
        long(2, "destination", 5, "cut-through"),
        long(8, "xor", 12, "cut-through"),
    ],
)
@pipelines
def test_switch_follows_the_model(
    pipeline: int, radix: int, routing: str, depth: int, switching: str
) -> None:
    """Cycle by cycle under random traffic and waits; packets arrive whole and in order."""
    wires = Wires(radix, routing)
    dut = switch(wires, depth, pipeline, switching)
    model = Model(wires, depth, pipeline, LONGEST if switching == "cut-through" else 1)
    assert follow(dut, wires, model, 100 * radix + depth) > 30 * radix


@pytest.mark.parametrize(("radix", "more"), [(2, 0), (4, 1), long(8, 0)])
@pipelines
def test_switch_has_full_throughput(pipeline: int, radix: int, more: int) -> None:
    """Packets to one output each leave no cycle without a flit, once the first have left: with two
    places, or three with two stages, and with more."""
    wires = Wires(radix)
    dut = switch(wires, 1 + pipeline + more, pipeline, "wormhole")
    flits = packets(wires, [[(i + 1) % radix] * 12 for i in range(radix)], 3)
    rest = [deque(each) for each in flits]
    trace = transport(
        dut, cycles=36 + pipeline + 2, offer=lambda i, t: rest[i].popleft() if rest[i] else None
    )
    late = pipeline + 2
    assert all(cycle.shown == [None] * radix for cycle in trace[:late])
    for t, cycle in enumerate(trace[late:]):
        assert cycle.shown == [wires.forwarded(flits[(j - 1) % radix][t]) for j in range(radix)], t


@pytest.mark.parametrize("radix", [2, long(4)])
@pipelines
def test_switch_is_fair(pipeline: int, radix: int) -> None:
    """When all inputs want one output, it serves their packets in turn, whatever their length."""
    wires = Wires(radix)
    order = served(wires, switch(wires, 3, pipeline, "wormhole"))
    assert len(order) > 20
    assert order == [number % radix for number in range(len(order))]


@pipelines
def test_cut_through_stores_a_blocked_packet_whole(pipeline: int) -> None:
    """While nothing leaves, each input takes whole packets only."""
    wires = Wires(2)
    dut = switch(wires, 2 * LONGEST - 1, pipeline, "cut-through")
    worms = Worms(wires, SEED, load=1)
    trace = transport(dut, cycles=40, offer=worms.offer, ready=lambda port, cycle: False)
    entered: list[list[int]] = [[], []]
    for cycle in trace:
        for i, flit in cycle.entered():
            entered[i].append(flit)
    assert all(wires.last(flits[-1]) and len(flits) >= LONGEST for flits in entered)


def network(pipeline: int, **words: Any) -> PacketNetwork:
    return build("cube", **{"switch": "wormhole", "pipeline": pipeline, **words})


@pytest.mark.parametrize("words", [{"ports": 8}, long({"ports": 16, "radix": 4, "length": 5})])
@pipelines
def test_latency_is_that_of_the_stages(pipeline: int, words: dict[str, Any]) -> None:
    """A packet alone: pipeline + 2 cycles in a box, one less if its output belongs to its input."""
    dut = network(pipeline, **{"length": 3, **words})
    length = dut.lengths[1]
    assert dut.zero_load_cycles == dut.stages * (pipeline + 2)
    apart = dut.zero_load_cycles + length + 4
    pairs = list(itertools.product(range(dut.ports), repeat=2))
    trace = tuple(TracePacket(apart * at, *pair, length) for at, pair in enumerate(pairs))
    [result] = simulate_runs(dut, [Run(Trace("alone", trace))], engine="compiled")
    owners: dict[tuple[int, int, int], int] = {}
    total = 0
    for source, destination in pairs:
        total += length - 1
        for stage, box, input_, output in dut.plan.path(source, destination):
            total += pipeline + 2 - (owners.get((stage, box, output)) == input_)
            owners[stage, box, output] = input_
    assert (result.delivered, result.misrouted) == (dut.ports**2, 0)
    assert result.latency.mean == pytest.approx(total / len(pairs))


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        {"ports": 4, "length": "1:4"},
        long({"ports": 4, "length": 3, "switch": "cut-through"}),
        long({"ports": 16, "radix": 4, "length": "1:6", "depth": 3}),
        long({"ports": 16, "routing": "xor", "length": "geometric:3"}),
        long({"ports": 32, "radix": "4+", "depth": 2}),
        long({"ports": 8, "replication": 2, "length": 2}),
        long({"ports": 9, "radix": 3, "routing": "difference", "length": 2}),
    ],
)
@pytest.mark.parametrize("pipeline", [long(1), 2])
def test_engines_agree_and_nothing_is_lost(words: dict[str, Any], pipeline: int) -> None:
    """Under uniform traffic, and with a hot spot that fills all queues."""
    dut = network(pipeline, **words)
    check_engines(dut, 0.2, 0.4)


@pytest.mark.parametrize("ports", [4, long(16)])
@pipelines
def test_network_has_no_combinational_loop(tmp_path: Path, pipeline: int, ports: int) -> None:
    path = tmp_path / "network.v"
    write_verilog(network(pipeline, ports=ports).fabric, path)
    check_with_yosys([path])


def test_switch_rejects() -> None:
    flits = Packet(1, 8, flits=True)
    for packet, words, message in (
        (flits, {"pipeline": 0}, "Pipeline must be from 1 to 2, not 0"),
        (flits, {"depth": 1}, "Depth with pipeline=1 must be at least 2, not 1"),
        (Packet(1, 8), {}, "Packet must have flits"),
        (
            Packet(1, 8, flits=True, broadcast=True),
            {},
            "Packets must have no broadcast mask with pipeline=1",
        ),
        (
            flits,
            {"room": 5},
            "Depth must be at least the length of 5 flits with cut-through switching, not 4",
        ),
    ):
        with pytest.raises(InvalidValue, match=f"^{message}$"):
            PipelinedFlitSwitch(packet, **{"radix": 2, "depth": 4, "pipeline": 1, **words})
