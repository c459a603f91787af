# amaranth: UnusedElaboratable=no
"""Networks with one control line a stage: the permutations they make, and packets sent through."""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from driving import evaluate, transport
from long_runs import long
from multicube.hdl import write_verilog
from multicube.hdl.boxes import InterchangeBox
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.multistage.stage_controlled import (
    StageControlledNetwork,
    StageControls,
    place_stage_controlled,
)
from multicube.hdl.families.multistage.stage_sequenced_network import StageSequencedNetwork
from multicube.hdl.graphs.plans.multistage import MultistagePlan
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.sim import Trace, TracePacket, simulate
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from refusals import refusals
from verilog_tools import assert_lint_free, lint_with_verilator

BYTE = data.StructLayout({"low": 4, "high": 4})


def reversed_bits(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


STRAIGHT: dict[str, Callable[[int, int], int]] = {
    "flip": lambda x, n: x,
    "cube": lambda x, n: x,
    "indirect-cube": lambda x, n: x,
    "omega": lambda x, n: x,
    "baseline": reversed_bits,
    "butterfly": lambda x, n: x >> 1 | (x & 1) << n - 1,
}
"""What each wiring does when all boxes are straight, as the documentation says."""


def followed(plan: MultistagePlan, source: int, exchanges: Sequence[int]) -> int:
    """Where a line leads to, from box to box."""
    line = source
    for s, exchange in enumerate(exchanges):
        box, port = plan.port(s, plan.relabel(s, line))
        line = plan.line(s, box, port ^ exchange)
    return plan.relabel(len(plan.stages), line)


def images(network: StageControlledNetwork) -> list[list[int]]:
    """For each control, the output at which each input shows."""
    found: list[list[int]] = []

    async def testbench(ctx: Any) -> None:
        for line, port in enumerate(network.i):
            ctx.set(port, line)
        for control in range(network.ports):
            ctx.set(network.control, control)
            await ctx.delay(1e-9)
            shown = [ctx.get(port) for port in network.o]
            assert sorted(shown) == list(range(network.ports))
            found.append([shown.index(line) for line in range(network.ports)])

    evaluate(network, testbench)
    return found


def test_every_wiring_is_tested() -> None:
    assert STRAIGHT.keys() == PLANS.keys()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("wiring", PLANS)
@pytest.mark.parametrize("ports", [2, 8, 16])
def test_control_makes_its_permutation(ports: int, wiring: str) -> None:
    """All 2^n controls: the documented permutation, and the one found box by box."""
    network = StageControlledNetwork(ports, wiring=wiring, shape=(ports - 1).bit_length())
    n = ports.bit_length() - 1
    assert network.straight == [STRAIGHT[wiring](x, n) for x in range(ports)]
    permutations = images(network)
    for control, permutation in enumerate(permutations):
        assert permutation == [STRAIGHT[wiring](x, n) ^ control for x in range(ports)]
    settings = [[word >> s & 1 for s in range(n)] for word in range(ports)]
    by_hand = [[followed(network.plan, x, word) for x in range(ports)] for word in settings]
    assert sorted(permutations) == sorted(by_hand)


def test_flip_control_bit_is_stage() -> None:
    """In the default wiring bit j is the control line of stage j."""
    assert StageControlledNetwork(8, shape=1).fabric.cells["controls"].type == CellType(
        StageControls, bits=(0, 1, 2)
    )


def test_carries_any_shape_in_both_halves() -> None:
    network = StageControlledNetwork(4, shape=BYTE)
    shown = []

    async def testbench(ctx: Any) -> None:
        ctx.set(network.i[1], {"low": 3, "high": 12})
        ctx.set(network.control, 3)
        await ctx.delay(1e-9)
        shown.append((ctx.get(network.o[2].low), ctx.get(network.o[2].high)))

    evaluate(network, testbench)
    assert shown == [(3, 12)]


class Talker(wiring.Component):
    """Says something else in every cycle, and each something else."""

    number: In(8)
    o: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.o * 5 + self.number)
        return m


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wiring", ["flip", "butterfly"])
def test_engines_agree(wiring: str) -> None:
    plan = multistage_plan(wiring, 16)
    fabric = Fabric({"control": In(4)})
    columns = place_stage_controlled(
        fabric,
        plan,
        CellType(InterchangeBox, radix=2, shape=8),
        Pin(None, ("control",)),
        plan.tags("xor").destination_digits,
    )
    for line, entry in enumerate(columns.inputs):
        fabric.place(Cell(f"talker_{line}", CellType(Talker), {"number": 2 * line + 1}))
        fabric.link(Pin(f"talker_{line}", ("o",)), entry)
    generator = random.Random(3)
    print("seed 3")
    with AmaranthEngine(fabric) as reference, CompiledEngine(fabric) as compiled:
        for _ in range(30):
            control = generator.randrange(16)
            said = reference.read([f"talker_{line}" for line in range(16)], "o")
            for engine in (reference, compiled):
                engine.set("control", control)
                shown = [engine.get(pin) for pin in columns.outputs]
                assert [shown[STRAIGHT[wiring](x, 4) ^ control] for x in range(16)] == said
                engine.step(1)


test_stage_controlled_network_rejects = refusals(
    lambda arguments: StageControlledNetwork(**arguments, shape=1),
    ({"ports": 8.0}, TypeError, "Ports must be an integer, not 8.0"),
    ({"ports": 12}, "Ports must be a power of the radix 2, not 12"),
    ({"ports": 2**17}, "Ports must be at most 65536, not 131072"),
    ({"ports": 8, "wiring": "mesh"}, "Wiring must be one of cube, omega, ..."),
)


test_stage_controls_rejects_bits = refusals(
    StageControls,
    ((0, "1"), TypeError, "Bit must be an integer, not '1'"),
    ((0, 2), "Bit must be from 0 to 1, not 2"),
    ((1, 1), "Bits must name each stage once, not (1, 1)"),
)


# Packets through a flip network that a sequencer sets.


class Model:
    """A sequenced network, from its description: registers at both ends, one permutation a cycle.

    `destination(setting, source)` is the permutation of a setting.
    """

    def __init__(self, ports: int, destination: Callable[[int, int], int]) -> None:
        self.destination = destination
        self.cycle = 0
        self.waiting: list[tuple[int, int] | None] = [None] * ports
        self.arrived: list[int | None] = [None] * ports

    def step(self, offered: Sequence[int | None], ready: Sequence[bool], tag_bits: int) -> list:
        """One cycle: which offers are accepted. Words have the tag in their low bits."""
        ports = len(offered)
        setting = self.cycle % ports
        self.cycle += 1
        free = [word is None or taken for word, taken in zip(self.arrived, ready)]
        arrived = [None if taken else word for word, taken in zip(self.arrived, ready)]
        accepted = []
        for source in range(ports):
            word = self.waiting[source]
            if word is not None and word % (1 << tag_bits) == setting:
                target = self.destination(setting, source)
                if free[target]:
                    assert arrived[target] is None
                    arrived[target] = word
                    word = None
            accepted.append(word is None)
            self.waiting[source] = offered[source] if word is None else word
        self.arrived = arrived
        return accepted


def test_model_sees_conflicts() -> None:
    """A setting that is no permutation would be noticed."""
    model = Model(2, lambda setting, source: 0)
    model.step([1, 1], [True, True], 1)
    with pytest.raises(AssertionError):
        model.step([None, None], [True, True], 1)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("load", [0.1, 1.0])
@pytest.mark.parametrize("eagerness", [1.0, 0.3])
@pytest.mark.parametrize(
    ("ports", "wiring"), [(2, "flip"), long(8, "flip"), (8, "baseline"), long(16, "cube")]
)
def test_sequenced_network_is_its_model(
    ports: int, wiring: str, load: float, eagerness: float
) -> None:
    """Every handshake and every packet of every cycle; at the end nothing is inside."""
    network = StageSequencedNetwork(ports, wiring=wiring, payload=16)
    n = ports.bit_length() - 1
    if wiring == "flip":

        def destination(setting: int, source: int) -> int:
            return source ^ reversed_bits(setting, n)
    else:
        destination = network.tags.destination
    generator = random.Random(ports)
    print(f"seed {ports}")
    sending, cycles = 8 * ports + 50, 14 * ports + 60
    sent = []

    def offer(port: int, cycle: int) -> int | None:
        if cycle >= sending or generator.random() >= load:
            return None
        sent.append((len(sent), port, generator.randrange(ports)))
        return network.tags.tag(*sent[-1][1:]) | (len(sent) - 1) << n

    trace = transport(
        network,
        cycles=cycles,
        offer=offer,
        ready=lambda port, cycle: cycle >= sending or generator.random() < eagerness,
        watch=lambda: network.instances["sequencer"].control,
    )
    model = Model(ports, destination)
    received = []
    for number, cycle in enumerate(trace):
        assert cycle.watched == number % ports
        assert cycle.shown == model.arrived, number
        assert cycle.accepted == model.step(cycle.offered, cycle.ready, n), number
        received += [(word >> n, port) for port, word in cycle.moved()]
    assert sorted(received) == [(number, to) for number, _, to in sent]
    for source in range(ports):
        for to in range(ports):
            flow = {number for number, *pair in sent if pair == [source, to]}
            order = [number for number, port in received if port == to and number in flow]
            assert order == sorted(order)


@pytest.mark.long
@pytest.mark.parametrize(
    "wiring", [name if name in ("flip", "omega") else long(name) for name in PLANS]
)
def test_packet_takes_its_path(wiring: str) -> None:
    network = StageSequencedNetwork(8, wiring=wiring)
    for source, destination in ((3, 6), (5, 0), (7, 7)):
        trace = Trace("one", (TracePacket(0, source, destination),))
        result = simulate(network, traffic=trace)
        used = {link for link, utilisation in result.links.items() if utilisation}
        assert used == {network.wires[pin].link for pin in network.path(source, destination)}
        least = network.zero_load_cycles
        assert least <= result.latency.mean <= least + 7


@pytest.mark.long
def test_exchange_meets_its_cycle_at_once() -> None:
    """Source X sends to its partner of the cycle in every cycle: nothing waits, nothing is free."""
    ports = 4
    network = StageSequencedNetwork(ports)
    packets = tuple(
        TracePacket(cycle, source, source ^ reversed_bits(cycle % ports, 2))
        for cycle in range(3 * ports)
        for source in range(ports)
    )
    results = []
    for shift in range(ports):
        moved = tuple(TracePacket(p.cycle + shift, p.source, p.destination) for p in packets)
        results.append(simulate(network, traffic=Trace("exchanges", moved)))
    # A trace begins in some cycle of the sequencer's turn: one of the shifts meets it.
    best = min(results, key=lambda result: result.latency.mean)
    assert (best.latency.mean, best.latency.max) == (2, 2)
    assert best.delivered == 3 * ports**2


def predicted_latency(ports: int, load: float) -> float:
    """As the documentation of the network says."""
    return 1 + (ports + 1) / 2 + load * (ports**2 - 1) / (6 - 3 * load * (ports + 1))


def modelled_latency(ports: int, load: float, seed: int) -> float:
    """Mean latency of one terminal, packet by packet."""
    rng = np.random.default_rng(seed)
    births = np.flatnonzero(rng.random(int(200_000 / load)) < load).tolist()
    settings = rng.integers(0, ports, len(births)).tolist()
    departed, total = 0, 0
    for birth, setting in zip(births, settings):
        first = max(birth + 1, departed + 1)  # the first cycle in its input's register
        departed = first + (setting - first) % ports
        total += departed + 1 - birth
    return total / len(births)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("ports", "share"), [(2, 0.5), (8, 0.1), (8, 0.7), (32, 0.5)])
def test_latency_formula_is_the_models(ports: int, share: float) -> None:
    """`share` of the saturation throughput."""
    load = share * 2 / (ports + 1)
    print("seed 5")
    assert modelled_latency(ports, load, 5) == pytest.approx(
        predicted_latency(ports, load), rel=0.01
    )


@pytest.mark.long
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6])
@pytest.mark.parametrize("ports", [8, long(32)])
def test_latency_is_predicted(ports: int, share: float) -> None:
    """Within the run's 99 % confidence interval. At low load, about N / 2."""
    load = share * 2 / (ports + 1)
    print("seed 11")
    result = simulate(
        StageSequencedNetwork(ports), load=load, cycles=60_000, warmup=2000, seed=11, bins=1024
    )
    assert not result.saturated
    expected = predicted_latency(ports, load)
    assert result.latency.mean == pytest.approx(expected, abs=result.latency.ci99)
    assert result.latency.ci99 < 0.1 * expected
    if share == 0.01:
        assert result.latency.mean == pytest.approx(ports / 2 + 1.5, rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("ports", [2, 8, *(long(ports) for ports in (32, 64))])
def test_saturation_throughput_is_predicted(ports: int) -> None:
    """2 / (N + 1): a head's tag comes, on average, half a turn and half a cycle after the last."""
    print("seed 2")
    result = simulate(
        StageSequencedNetwork(ports), load=1.0, cycles=20_000, warmup=2000, seed=2, source_depth=8
    )
    assert result.saturated
    assert result.throughput == pytest.approx(2 / (ports + 1), abs=result.throughput_ci99)
    assert result.throughput_ci99 < 0.02 * result.throughput


@pytest.mark.long
def test_fixed_destination_gets_one_packet_a_turn() -> None:
    result = simulate(
        StageSequencedNetwork(16), traffic="shift:1", load=1.0, cycles=1600, warmup=200
    )
    assert result.throughput == 1 / 16


@pytest.mark.long
def test_engines_give_the_same_run() -> None:
    network = StageSequencedNetwork(8, wiring="butterfly")
    runs = [
        simulate(network, load=0.15, cycles=200, warmup=50, engine=engine).to_json()
        for engine in ("amaranth", "compiled")
    ]
    for run in runs:
        del run["engine"]
    assert runs[0] == runs[1]
    assert runs[0]["delivered"] > 100


def test_sequenced_network_keeps_its_parameters() -> None:
    network = StageSequencedNetwork(8, wiring="cube", payload=5)
    assert network.parameters == {"ports": 8, "wiring": "cube", "payload": 5}
    assert (network.ports, network.stages, network.ordered) == (8, 3, True)
    assert (network.tags.routing, network.packet.size) == ("xor", 8)
    assert network.altered(payload=BYTE).parameters == network.parameters | {"payload": BYTE}


test_sequenced_network_rejects = refusals(
    lambda arguments: StageSequencedNetwork(**arguments),
    ({"ports": 24}, "Ports must be a power of the radix 2, not 24"),
    ({"ports": 1024}, "Ports must be from 2 to 512, not 1024"),
    ({"wiring": "torus"}, "Wiring must be one of cube, ..."),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"payload": 5000}, "Payload must be from 1 to 4096, not 5000"),
)


@pytest.mark.long
def test_verilog_is_clean(tmp_path: Path) -> None:
    write_verilog(StageSequencedNetwork(8, payload=BYTE).fabric, tmp_path / "sequenced.v")
    assert_lint_free([tmp_path / "sequenced.v"])
    network = StageControlledNetwork(8, shape=BYTE)
    write_verilog(network.fabric, tmp_path / "controlled.v")
    # Nothing in it has a clock; the top module has one like all others.
    said = lint_with_verilator(tmp_path / "controlled.v")
    for complaint in re.findall(r"^%Warning.*", said, re.M):
        assert re.search(r"UNUSEDSIGNAL: .*Signal is not used: '(clk|rst)'$", complaint)
