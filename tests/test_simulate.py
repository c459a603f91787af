# amaranth: UnusedElaboratable=no
"""Whole runs: latency, seeds, saturation, traces, broken networks, interruption."""

import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from long_runs import long
from multicube.hdl import MultistageNetwork, build
from multicube.hdl.bench import stamp
from multicube.hdl.boxes import OutputQueuedSwitch
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.graphs.plans.named_plans import PLANS
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.network_records import Terminals
from multicube.sim import (
    Result,
    Run,
    SimulationError,
    Trace,
    TracePacket,
    pattern,
    simulate,
    simulate_runs,
)
from multicube.sim.run.simulation import whole_run, whole_runs

SWITCHES = ("output-queued", "input-queued")


def play(network: MultistageNetwork, packets: Iterable[tuple[int, int, int]]) -> Result:
    """Replay packets (cycle, source, destination)."""
    return simulate(
        network, traffic=Trace("mine", tuple(TracePacket(*packet) for packet in packets)), bins=64
    )


def values(histogram: list[int]) -> list[int]:
    return np.repeat(np.arange(len(histogram)), histogram).tolist()


# Latency of packets that never wait


@pytest.mark.one_in(8)
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(("ports", "radix"), [(2, 2), (8, 2), long(16, 4), (9, 3), long(8, 8)])
def test_zero_load_latency_of_all_pairs(ports: int, radix: int, switch: str) -> None:
    # The cube passes every cyclic shift, so all pairs can be sent in N cycles without a conflict.
    network = build("cube", ports=ports, radix=radix, switch=switch, depth=1)
    result = play(network, ((k, x, (x + k) % ports) for k in range(ports) for x in range(ports)))
    n = network.stages
    assert result.latency.histogram == [0] * n + [ports**2]
    assert result.network_latency.histogram == [0] * n + [ports**2]
    assert result.cycles == ports + n
    assert result.terminals == {"injected": [ports] * ports, "delivered": [ports] * ports}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("wiring_name", PLANS)
def test_zero_load_latency_of_all_wirings(wiring_name: str) -> None:
    pairs = itertools.product(range(4), repeat=2)
    network = build(wiring_name, ports=4)
    result = play(network, ((3 * at, *pair) for at, pair in enumerate(pairs)))
    assert result.latency.histogram == [0, 0, 16]


# Books


@pytest.mark.one_in(12)
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("load", [0.01, 0.2, 0.6, 0.9, 1])
def test_nothing_is_lost(load: float, depth: int, switch: str) -> None:
    network = build("cube", ports=4, switch=switch, depth=depth)
    result = simulate(network, load=load, cycles=150, warmup=20, bins=32, source_depth=16)
    check_books(result)


def check_books(result: Result) -> None:
    assert result.violations(ordered=True, finite=False) == ""
    assert result.injected == result.delivered
    assert result.generated == result.injected + result.rejected + result.unsent
    assert result.injected > 0 or result.generated <= 4


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(
    ("ports", "radix", "depth"), [(27, 3, 2), (16, 4, 1), (64, 8, 4), (64, 2, 4), (64, 4, 1)]
)
@pytest.mark.parametrize("load", [0.01, 0.3, 0.6, 0.9, 1])
@pytest.mark.long
def test_nothing_is_lost_in_large_networks(
    load: float, ports: int, radix: int, depth: int, switch: str
) -> None:
    network = build("omega", ports=ports, radix=radix, switch=switch, depth=depth)
    check_books(simulate(network, load=load, cycles=300, warmup=50, bins=256, source_depth=64))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("traffic", ["hotspot:0.5", "bit-reversal", "perfect-shuffle"])
def test_nothing_is_lost_in_jams(traffic: str) -> None:
    network = build("cube", ports=4, switch="input-queued", depth=1)
    check_books(simulate(network, traffic=traffic, load=1, cycles=80, warmup=0, source_depth=8))


# Seeds and routing


@pytest.mark.long
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("wiring_name", ["cube", "omega", "baseline"])
def test_tags_of_both_kinds_give_the_same_run(wiring_name: str, switch: str) -> None:
    results = [
        simulate(
            build(wiring_name, ports=4, switch=switch, routing=routing),
            load=0.7,
            cycles=80,
            warmup=20,
            bins=32,
        ).to_json()
        for routing in ("destination", "xor")
    ]
    assert [result["parameters"].pop("routing") for result in results] == ["destination", "xor"]
    assert len({result["run"].pop("network_digest") for result in results}) == 2
    assert results[0] == results[1]


def test_seed_decides_everything() -> None:
    def run(seed: int) -> str:
        network = build("cube", ports=4)
        result = simulate(network, load=0.6, cycles=100, bins=32, seed=seed)
        return json.dumps(result.to_json())

    assert run(5) == run(5)
    assert run(5).replace('"seed": 5', '"seed": 6') != run(6)


@pytest.mark.long
def test_payload_changes_no_cycle() -> None:
    results = [
        simulate(build("cube", ports=4, payload=payload), load=0.6, cycles=80, bins=32).to_json()
        for payload in (1, 100)
    ]
    assert [result["parameters"].pop("payload") for result in results] == [1, 100]
    assert len({result["run"].pop("network_digest") for result in results}) == 2
    assert results[0] == results[1]


@pytest.mark.long
def test_runs_side_by_side() -> None:
    network = build("cube", ports=2)
    runs = [
        Run(pattern(name, 2), 0.4, 60, 10, seed) for name, seed in (("shift:1", 1), ("uniform", 2))
    ]
    together = simulate_runs(network, runs, bins=32)
    assert together == [simulate_runs(network, [run], bins=32)[0] for run in runs]
    assert [result.traffic for result in together] == ["shift:1", "uniform"]


# Saturation


@pytest.mark.one_in(3)
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("load", [0, 0.02, 0.3])
def test_low_load_is_not_saturated(load: float, switch: str) -> None:
    for seed in (1, 2):
        result = simulate(
            build("cube", ports=4, switch=switch), load=load, cycles=150, bins=32, seed=seed
        )
        assert not result.saturated
        assert result.rejected == 0


@pytest.mark.long
@pytest.mark.parametrize(("ports", "radix", "depth"), [(2, 2, 1), (2, 2, 8), (4, 2, 4), (4, 4, 4)])
def test_full_load_saturates_input_queues(ports: int, radix: int, depth: int) -> None:
    network = build("cube", ports=ports, radix=radix, switch="input-queued", depth=depth)
    for seed in (1, 2):
        for source_depth in (16, 4096):
            result = simulate(
                network,
                load=1,
                cycles=300,
                warmup=50,
                bins=32,
                seed=seed,
                source_depth=source_depth,
            )
            assert result.saturated
            assert result.verdict.startswith("saturated: ")


@pytest.mark.long
def test_head_of_line_blocking_of_one_box() -> None:
    # One 2 x 2 box with input queues: 3/4 of the outputs are busy, as in an unbuffered box whose
    # losers try again (both heads want the same output half of the time).
    network = build("cube", ports=2, switch="input-queued", depth=4)
    result = simulate(network, load=1, cycles=2000, warmup=50, bins=32, source_depth=64)
    assert result.throughput == pytest.approx(0.75, abs=result.throughput_ci99)


@pytest.mark.long
@pytest.mark.parametrize("h", [0.2, 0.5])
def test_hot_spot_saturates_at_its_terminal(h: float) -> None:
    # Terminal 0 is offered p (1 + h (N - 1)) packets a cycle and can take one.
    limit = 1 / (1 + 3 * h)
    network = build("cube", ports=4, depth=8)

    def run(load: float) -> Result:
        return simulate(
            network, traffic=f"hotspot:{h}", load=load, cycles=800, warmup=200, source_depth=128
        )

    below, above = run(0.85 * limit), run(1.15 * limit)
    assert not below.saturated
    assert above.saturated
    assert above.terminals["delivered"][0] == 800
    assert above.links["stage 1, box 0 -> terminal 0"] == 1
    assert below.predicted["latency_mean"] is None


# Traces


def test_trace_of_one_packet() -> None:
    network = build("cube")
    result = play(network, [(0, 3, 6)])
    assert result.latency.histogram == [0, 0, 0, 1]
    assert result.cycles == 4  # 0 to 3
    assert result.seed is None
    assert result.generated == result.injected == result.delivered == 1
    assert result.offered_load == 1 / 8
    assert result.verdict == "the trace spans 1 cycle, its delivery took 4"
    assert not result.saturated
    assert not result.partial
    used = {name for name, share in result.links.items() if share}
    assert used == {network.wires[pin].link for pin in network.path(3, 6)}


def test_trace_burst_of_one_source() -> None:
    # Ten packets are born at once; one enters the network in each cycle.
    result = play(build("cube", ports=4), [(7, 1, 2)] * 10)
    assert values(result.latency.histogram) == list(range(2, 12))
    assert values(result.network_latency.histogram) == [2] * 10
    assert result.cycles == 7 + 2 + 10
    assert result.least_served == {"terminal": 1, "throughput": 10 / 19}  # no other sends
    assert result.terminals["injected"] == [0, 10, 0, 0]
    assert result.terminals["delivered"] == [0, 0, 10, 0]


def test_trace_burst_of_all_sources() -> None:
    # One terminal takes one packet a cycle.
    result = play(build("cube", ports=8, depth=8), [(0, source, 5) for source in range(8)])
    assert values(result.latency.histogram) == list(range(3, 11))
    assert result.cycles == 3 + 8


def test_trace_with_a_long_gap() -> None:
    # Longer than the patience with a network in which nothing moves.
    result = play(build("cube", ports=2), [(0, 0, 1), (2500, 1, 0), (2500, 0, 0)])
    assert sum(result.latency.histogram) == 3
    assert result.cycles in (2502, 2503)  # both packets of cycle 2500 go to terminal 0
    assert result.latency.max == 2


def test_trace_in_any_order() -> None:
    packets = [(t, t % 4, (3 * t + 1) % 4) for t in range(30)]
    orderly, shuffled = (
        play(build("cube", ports=4), packets),
        play(build("cube", ports=4), packets[::-1]),
    )
    digests = [result.run.pop("traffic_digest") for result in (orderly, shuffled)]
    assert digests[0] != digests[1]
    assert orderly == shuffled
    assert orderly.delivered == 30


def test_trace_jam_is_emptied() -> None:
    # 4 x 40 packets to one terminal through queues of one: births are long past at delivery.
    result = play(
        build("cube", ports=4, switch="input-queued", depth=1),
        [(0, source, 0) for source in range(4) for _ in range(40)],
    )
    assert result.delivered == 160
    assert result.cycles == 2 + 160
    assert result.latency.beyond == result.latency.max - 62  # from 63 on, one a cycle
    assert result.latency.max == 161


@pytest.mark.long
def test_json_has_what_was_promised() -> None:
    keys = {
        *("network", "parameters", "engine", "cycles", "offered_load", "throughput"),
        *("injected", "delivered", "lost", "misrouted", "duplicated", "reordered"),
        *("latency", "network_latency", "predicted"),
    }
    for result in (
        play(build("cube", ports=2), [(0, 0, 1)]),
        simulate(build("cube", ports=2), cycles=20, warmup=0),
    ):
        record = result.to_json()
        assert keys <= set(record)
        for kind in ("latency", "network_latency"):
            assert {"mean", "p50", "p95", "p99", "max"} <= set(record[kind])
        assert set(record["predicted"]) == {"latency_mean", "throughput", "attempts"}
        assert record["parameters"]["ports"] == 2
        assert record["parameters"]["switch"] == "output-queued"


# Broken networks


class BrokenSwitch(wiring.Component):
    """An output-queued switch that goes wrong at every eighth packet of its output 0.

    `drop`, `duplicate` and `overtake` do so with that packet; `swap` sends it to output 1 and that
    output's to output 0 (in the last column only, whose outputs are always taken); `stop` never
    shows it. `repeat` shows the packet before in its place. `greedy` takes a packet when any output
    has room, not just its own, and `deaf` takes none.
    """

    def __init__(self, fault: str, **parameters: Any) -> None:
        self.fault = fault
        self.inner = OutputQueuedSwitch(**parameters)
        super().__init__(self.inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self.inner
        for mine, its in zip(self.i, inner.i):
            wiring.connect(m, wiring.flipped(mine), its)
        for mine, its in zip(self.o, inner.o):
            wiring.connect(m, wiring.flipped(mine), its)
        source, sink = inner.o[0], self.o[0]
        count = Signal(3)
        due = count == 6
        step = Signal()
        m.d.comb += step.eq(sink.valid & sink.ready)
        m.d.sync += count.eq(count + step)
        match self.fault:
            case "drop":
                with m.If(due):
                    m.d.comb += [sink.valid.eq(0), source.ready.eq(1), step.eq(source.valid)]
            case "duplicate":
                with m.If(due):
                    m.d.comb += source.ready.eq(0)
            case "stop":
                with m.If(due):
                    m.d.comb += [sink.valid.eq(0), source.ready.eq(0)]
            case "repeat":
                before = Signal.like(sink.payload)
                with m.If(step):
                    m.d.sync += before.eq(source.payload)
                with m.If(due):
                    m.d.comb += sink.payload.eq(before)
            case "overtake":
                held, holding, passed = Signal.like(sink.payload), Signal(), Signal()
                with m.If(passed):
                    m.d.comb += [source.ready.eq(0), sink.valid.eq(1), sink.payload.eq(held)]
                    with m.If(sink.ready):
                        m.d.sync += [holding.eq(0), passed.eq(0)]
                with m.Elif(holding):
                    m.d.sync += passed.eq(step)
                with m.Elif(due):
                    m.d.comb += [sink.valid.eq(0), source.ready.eq(1), step.eq(source.valid)]
                    m.d.sync += [held.eq(source.payload), holding.eq(source.valid)]
            case "swap":
                both = inner.o[0].valid & inner.o[1].valid
                m.d.comb += step.eq(sink.valid & sink.ready & (~due | both))
                with m.If(due & both):
                    m.d.comb += [
                        self.o[0].payload.eq(inner.o[1].payload),
                        self.o[1].payload.eq(inner.o[0].payload),
                    ]
            case "greedy":
                anywhere = Cat(port.ready for port in inner.i).any()
                m.d.comb += [port.ready.eq(anywhere) for port in self.i]
            case "deaf":
                m.d.comb += [port.ready.eq(0) for port in self.i]
                m.d.comb += [port.valid.eq(0) for port in inner.i]
            case "nothing":
                pass
        return m


def broken(fault: str, only: str | None = None) -> type[MultistageNetwork]:
    """Networks whose boxes (or the one of this name) have a fault."""

    class BrokenNetwork(MultistageNetwork):
        def _boxes(self, packet: Packet) -> list[CellType]:
            given = self.parameters
            shape = {"packet": packet, "radix": given.radix, "routing": given.routing}
            box = CellType(BrokenSwitch, fault=fault, depth=given.depth, **shape)
            return [box] * self.stages

        def place(self, fabric: Fabric, packet: Packet | None = None) -> Terminals:
            terminals = super().place(fabric, packet)
            (sound, *_) = super()._boxes(packet or self.packet)
            for name, cell in fabric.cells.items():
                if only not in (None, name) and name.startswith("box_"):
                    fabric.cells[name] = replace(cell, type=sound)
            return terminals

    return BrokenNetwork


FAULTS = [
    ("drop", "uniform", r"\d+ lost or stuck"),
    ("duplicate", "uniform", r"\d+ duplicated"),
    ("swap", "uniform", r"\d+ misrouted"),
    ("overtake", "shift:1", r"\d+ reordered"),
    ("stop", "uniform", r"\d+ lost or stuck"),
    ("greedy", "hotspot:0.9", r"\d+ lost or stuck"),
]


@pytest.mark.long
@pytest.mark.parametrize(("fault", "traffic", "message"), FAULTS, ids=[row[0] for row in FAULTS])
@pytest.mark.parametrize("routing", [long("destination"), "xor"])
def test_broken_box_fails_the_run(fault: str, traffic: str, message: str, routing: str) -> None:
    network = broken(fault, "box_1_1" if fault == "swap" else None)(4, depth=2, routing=routing)
    with pytest.raises(SimulationError, match=f"^The books do not balance: .*{message}") as raised:
        simulate(network, traffic=traffic, load=0.6, cycles=200, warmup=0, bins=32)
    result = raised.value.result
    assert result.throughput > 0
    if fault == "duplicate":
        assert (result.lost, result.misrouted) == (0, 0)
        assert result.delivered == result.injected + result.duplicated
    if fault == "overtake":
        assert (result.misrouted, result.duplicated) == (0, 0)
        assert result.lost <= 4  # one packet may be held for ever in each box
    if fault == "swap":
        assert (result.lost, result.duplicated) == (0, 0)
    if fault in ("drop", "stop", "greedy"):
        assert result.delivered + result.lost == result.injected + result.duplicated
    if fault in ("drop", "stop"):
        assert (result.misrouted, result.duplicated, result.reordered) == (0, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("repeat", "other packets delivered than sent"),
        ("drop", r"\d+ lost or stuck, other packets delivered than sent"),
        ("duplicate", r"\d+ more delivered than sent, other packets delivered than sent"),
        ("nothing", ""),
    ],
)
def test_stamps_are_added_up_where_flows_are_not_followed(
    fault: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in networks of more than 8,192 terminals."""
    monkeypatch.setattr(stamp, "MOST_FOLLOWED", 2)
    network = broken(fault)(4, depth=2)

    def run() -> Result:
        return simulate(network, load=0.5, cycles=200, warmup=0, bins=32)

    if fault == "nothing":
        result = run()
    else:
        with pytest.raises(
            SimulationError, match=f"^The books do not balance: {message}$"
        ) as error:
            run()
        result = error.value.result
    assert result.stamps_differ is (fault != "nothing")
    assert (result.duplicated, result.reordered) == (None, None)
    assert (result.lost == 0) is (fault in ("repeat", "nothing"))


@pytest.mark.long
def test_one_broken_box_of_many_is_enough() -> None:
    network = broken("drop", only="box_2_3")(8)
    with pytest.raises(SimulationError, match=r"^The books do not balance: \d+ lost or stuck$"):
        simulate(network, load=0.6, cycles=100, warmup=0, bins=32)


@pytest.mark.long
def test_the_wrapper_itself_breaks_nothing() -> None:
    options = {"load": 0.6, "cycles": 100, "warmup": 0, "bins": 32}
    wrapped = simulate(broken("nothing")(4), **options)
    plain = simulate(build("cube", ports=4), **options)
    digests = [result.run.pop("network_digest") for result in (wrapped, plain)]
    assert digests[0] != digests[1]
    assert wrapped == plain


@pytest.mark.long
def test_trace_that_is_never_taken_fails() -> None:
    with pytest.raises(SimulationError, match=r"^The books do not balance: 2 never taken$"):
        play(broken("deaf")(2), [(0, 0, 1), (5, 1, 1)])


# Interruption


class Interrupting:
    """An engine whose user presses Ctrl-C in some cycle."""

    def __init__(self, engine: Any, at: int) -> None:
        self.engine = engine
        self.at = at

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def step(self, cycles: int) -> None:
        before = self.engine.cycle
        self.engine.step(min(cycles, max(self.at - before, 0)))
        if before < self.at <= before + cycles:
            raise KeyboardInterrupt

    def __enter__(self) -> "Interrupting":
        return self

    def __exit__(self, *exception: object) -> None:
        self.engine.close()


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let all runs be interrupted in this cycle."""
    module = importlib.import_module(
        "multicube.sim.run.simulation"
    )  # the package has a function simulate
    original = module.open_engines

    def at(cycle: int) -> None:

        def open_engines(*arguments: Any, **options: Any) -> list[Interrupting]:
            return [Interrupting(engine, cycle) for engine in original(*arguments, **options)]

        monkeypatch.setattr(module, "open_engines", open_engines)

    return at


def interrupted_run(**options: Any) -> Result:
    return simulate(build("cube", ports=2), load=0.5, cycles=200, bins=32, **options)


@pytest.mark.long
def test_interrupted_window(interrupt: Callable[[int], None]) -> None:
    interrupt(150)
    result = interrupted_run(warmup=20)
    assert result.partial
    assert (result.warmup, result.cycles, result.drain) == (20, 130, 0)
    assert result.lost is None
    assert result.throughput == pytest.approx(0.5, abs=0.15)
    assert result.throughput_ci99 is not None
    assert result.untimed is not None
    assert sum(result.latency.histogram) <= sum(result.terminals["delivered"]) <= 2 * 130
    assert 0 <= result.untimed <= 5
    assert result.ended == "interrupted"
    assert result.verdict.startswith("interrupted; undecided: ")
    json.dumps(result.to_json())


@pytest.mark.long
@pytest.mark.parametrize("warmup", [120, "auto"])
def test_interrupted_warm_up(warmup: int | str, interrupt: Callable[[int], None]) -> None:
    interrupt(60)
    result = interrupted_run(warmup=warmup)
    assert result.partial
    assert (result.warmup, result.cycles, result.drain) == (60, 0, 0)
    assert result.latency.mean is None
    assert result.throughput == 0
    assert result.injected > 0
    assert not result.saturated
    assert not result.settled
    assert result.verdict == "interrupted; no cycle of the window was simulated"


def test_interrupted_drain(interrupt: Callable[[int], None]) -> None:
    interrupt(221)
    result = interrupted_run(warmup=20)
    assert result.partial
    assert (result.warmup, result.cycles) == (20, 200)
    assert result.lost is None
    assert result.latency.mean is not None


def test_interrupted_trace(interrupt: Callable[[int], None]) -> None:
    interrupt(30)
    result = play(build("cube", ports=2), [(0, 0, 1), (500, 0, 1)])
    assert result.partial
    assert (result.delivered, result.unsent) == (1, 1)


@pytest.mark.long
def test_interruption_ends_the_runs_behind(interrupt: Callable[[int], None]) -> None:
    interrupt(30)
    network = build("cube", ports=2)
    runs = [Run(pattern("uniform", 2), 0.5, 60, 10, seed) for seed in (1, 2, 3)]
    results = simulate_runs(network, runs, bins=32)
    assert results[0].partial
    assert all(result.partial for result in results)


@pytest.mark.long
def test_who_needs_whole_results_hears_of_an_interruption(interrupt: Callable[[int], None]) -> None:
    network = build("cube", ports=2)
    run = Run(pattern("uniform", 2), 0.5, 60, 10)
    assert not whole_runs(network, [run], bins=32)[0].partial
    assert not whole_run(network, cycles=60, warmup=10, bins=32).partial
    interrupt(30)
    with pytest.raises(KeyboardInterrupt):
        whole_runs(network, [run], bins=32)
    with pytest.raises(KeyboardInterrupt):
        whole_run(network, cycles=60, warmup=10, bins=32)


# Long latencies


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        long("cube", {"ports": 4}),
        long("combining", {"ports": 4, "combine": "none"}),
        long("connection-machine", {"n": 1, "processors": 4}),
    ],
    ids=["cube", "combining", "connection-machine"],
)
def test_latencies_beyond_a_million_cycles(name: str, parameters: dict) -> None:
    """A terminal that all send to takes one packet a cycle: the books tell how long each waited.

    In a first-in first-out queue at full load the packet number p is born in cycle p + 1. A source
    served at the rate r delivers the packets born in the first r of the window. The last of these
    waited for 1 - r of the window, and their mean for half as long.
    """
    network = build(name, **parameters)
    window = 1_500_000
    result = simulate(
        network, traffic="hotspot:1", load=1, cycles=window, warmup=0, source_depth=2**20
    )
    shares = [count / window for count in result.terminals["injected"]]
    waited = [window * (1 - share) for share in shares if share]
    assert max(waited) > 2**20
    assert result.latency.max == pytest.approx(max(waited), rel=0.01)
    weighted = sum(share * window * (1 - share) / 2 for share in shares)
    assert result.latency.mean == pytest.approx(weighted / sum(shares), rel=0.01)


def test_times_are_wide_enough_for_the_run() -> None:
    network = build("cube", ports=8)
    uniform, each = pattern("uniform", 8), pattern("one-each", 8)
    assert Run(uniform, cycles=2000).time_bits(network) == 20
    assert Run(uniform).time_bits(network) == 20
    assert Run(uniform, cycles=2**19 - 1, warmup=1).time_bits(network) == 20
    assert Run(uniform, cycles=2**19 - 1, warmup=2).time_bits(network) == 32
    assert Run(uniform, limit=2**19).time_bits(network) == 32
    assert Run(uniform, cycles=2000, warmup=2**20).time_bits(network) == 32
    assert Run(each).time_bits(network) == 20
    assert Run(Trace("late", (TracePacket(2**21, 0, 1),))).time_bits(network) == 32


# Arguments


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cycles": 0}, ValueError, "Cycles must be from 1 to 2147483648, not 0"),
        ({"cycles": 10**10}, ValueError, "Cycles must be from 1 to 2147483648, not 10000000000"),
        ({"cycles": 2.5}, TypeError, "Cycles must be an integer, not 2.5"),
        ({"warmup": -1}, ValueError, "Warm-up must be from 0 to 2147483648, not -1"),
        (
            {"warmup": 2**31, "cycles": 1},
            ValueError,
            "Warm-up and cycles together must be at most 2147483648, not 2147483649",
        ),
        ({"warmup": "soon"}, TypeError, "Warm-up must be an integer, not 'soon'"),
        ({"seed": -1}, ValueError, "Seed must be at least 0, not -1"),
        ({"seed": "1"}, TypeError, "Seed must be an integer, not '1'"),
        ({"source_depth": 0}, ValueError, "Source depth must be from 1 to 1048576, not 0"),
        (
            {"source_depth": 2**21},
            ValueError,
            "Source depth must be from 1 to 1048576, not 2097152",
        ),
        ({"bins": 1}, ValueError, "Bins must be from 2 to 1048576, not 1"),
        (
            {"load": -1},
            ValueError,
            "Load must be from 0 to 1 packets per terminal per cycle, not -1",
        ),
    ],
)
def test_simulate_rejects(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        simulate(build("cube", ports=2), **options)


def test_simulate_rejects_engine() -> None:
    with pytest.raises(ValueError, match=r"^Engine must be one of auto, .*, not 'magic'$"):
        simulate(build("cube", ports=2), engine="magic")


def test_runs_side_by_side_must_match() -> None:
    network = build("cube", ports=2)
    trace = Run(Trace("mine", (TracePacket(0, 0, 1),)))
    random = Run(pattern("uniform", 2))
    with pytest.raises(ValueError, match=r"^Traces can't run in parallel$"):
        simulate_runs(network, [random, trace])
    with pytest.raises(ValueError, match=r"^Parallel runs must have the same source depth$"):
        simulate_runs(network, [random, Run(pattern("uniform", 2), source_depth=8)])


@pytest.mark.long
def test_waves(tmp_path: Path) -> None:
    path = tmp_path / "waves.vcd"
    simulate(build("cube", ports=2), cycles=5, warmup=0, bins=8, engine="amaranth", vcd=path)
    text = path.read_text()
    assert "$enddefinitions" in text
    assert "box_0_0" in text
