# amaranth: UnusedElaboratable=no
"""Combining networks on the bench: round trips, shares combined, and serial orders."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from command_line import Call
from hypothesis import given, settings
from hypothesis import strategies as st
from long_runs import long
from multicube.hdl import CombiningNetwork, build
from multicube.hdl.bench import bench_for
from multicube.hdl.networks.network import Network
from multicube.hdl.operations.memory import OPERATIONS
from multicube.hdl.operations.operation_unit import OperationUnit
from multicube.hdl.terminals.memory_module import MemoryModule
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
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.measure.access_history import access_histories, is_serializable

SMALL = {"bins": 256}


def run_of(network: Network, traffic: str = "uniform", load: float = 1, **changes: Any) -> Run:
    """A short run with small memories, so that networks compile to the same program."""
    given_ = {"cycles": 120, "warmup": 20, "source_depth": 64, "history": 192, **changes}
    if not isinstance(network, CombiningNetwork):
        del given_["history"]
    return Run(pattern(traffic, network.ports), load, **given_)


def play(network: Network, *runs: Run, **options: Any) -> list[Result]:
    """Run a network, and check what must hold whatever it does."""
    results = simulate_runs(network, runs, **SMALL, **options)
    for result in results:
        check(result, network)
    return results


def check(result: Result, network: Network) -> None:
    assert json.loads(json.dumps(result.to_json())) == result.to_json()
    finite = pattern(result.traffic, network.ports).when.quota > 0
    assert result.violations(ordered=True, finite=finite) == ""
    assert result.injected == result.delivered + result.dropped
    assert result.generated == result.injected + result.rejected + result.unsent
    if isinstance(network, CombiningNetwork):
        assert result.round_trip == result.network_latency
        assert len(result.statistics["combined"]) == network.stages
        assert 0 <= sum(result.statistics["combined"]) < 1
        if result.round_trip.mean is not None:
            shortest = 2 * network.stages * network.parameters["delay"] + 1
            assert not any(result.round_trip.histogram[:shortest])
            assert result.latency.mean >= result.round_trip.mean
    else:
        assert (result.round_trip, result.statistics, result.serializable) == (None, {}, None)
        assert result.background_latency is None


# Round trips


@pytest.mark.long
@pytest.mark.parametrize(
    ("parameters", "operations", "cycles"),
    [
        long({"ports": 8}, ("all",), 7),
        long({"ports": 16, "radix": 4, "combine": "none"}, ("load",), 5),
        # 2 n, the words of the request, and those of the reply less one.
        ({"ports": 8, "lengths": "2:4"}, ("fetch-and-add",), 6 + 4 + 1),
        long({"ports": 8, "lengths": "2:4"}, ("load",), 6 + 2 + 1),
        (
            {
                "ports": 8,
                "lengths": "1:3",
                "queues": "input",
                "combine": "none",
                "delay": 2,
                "depth": 12,
            },
            ("store",),
            12 + 3 + 0,
        ),
    ],
)
def test_zero_load_round_trip(
    parameters: dict[str, Any], operations: tuple[str, ...], cycles: int
) -> None:
    """The cube passes cyclic shifts without a conflict, and their replies on the way back."""
    network = CombiningNetwork(**parameters)
    runs = [
        run_of(network, f"shift:{k}", load, operations=operations, cycles=150, warmup=0)
        for k, load in ((0, 1), (3, 0.2))
    ]
    for result in play(network, *runs):
        assert result.round_trip.histogram[:-1] == [0] * cycles
        assert result.round_trip.histogram[cycles] == sum(result.round_trip.histogram) > 50
        assert result.round_trip.mean == cycles
        assert result.background_latency is None  # all are meant for a favourite


@pytest.mark.long
@pytest.mark.parametrize("ports", [2, long(4), 8, long(16), long(32), long(64)])
def test_all_to_one(ports: int) -> None:
    """All meet in pairs in every stage, so one reaches the memory, and nobody waits."""
    network = CombiningNetwork(ports, radix=2)
    targets = (0, ports - 1) if ports < 64 else (21,)
    runs = [run_of(network, f"all-to-one:{target}", seed=target) for target in targets]
    n = network.stages
    for result in play(network, *runs, engine="amaranth" if ports < 8 else "auto"):
        assert result.round_trip.histogram == [0] * (2 * n + 1) + [ports]
        assert result.statistics["combined"] == [2.0 ** -(stage + 1) for stage in range(n)]
        assert result.serializable is True
        assert (result.generated, result.delivered) == (ports, ports)
        assert result.cycles == 2 * n + 1 + 1  # of which the first is that of the requests


@pytest.mark.parametrize(
    ("merge", "shares"), [("pairwise", [2 / 4, 1 / 4]), ("unlimited", [3 / 4, 3 / 16])]
)
@pytest.mark.long
def test_all_to_one_of_larger_boxes(merge: str, shares: list[float]) -> None:
    """Of four requests two pairs remain, or one; of twice four in the second stage, four."""
    network = CombiningNetwork(16, radix=4, merge=merge)
    (result,) = play(network, run_of(network, "all-to-one"))
    assert result.serializable is True
    assert result.statistics["combined"] == shares


# Hot spots


PLAIN = CombiningNetwork(16, combine="none")
COMBINING = CombiningNetwork(16)


@pytest.mark.long
def test_all_to_one_without_combining() -> None:
    """The memory answers one request a cycle, so the last one 2 n + N cycles after it came."""
    (result,) = play(PLAIN, run_of(PLAIN, "all-to-one:3"))
    n, ports = PLAIN.stages, PLAIN.ports
    assert result.round_trip.histogram == [0] * (2 * n + 1) + [1] * ports
    assert result.round_trip.max == 2 * n + ports
    assert result.statistics["combined"] == [0] * n
    assert result.serializable is True


@pytest.mark.long
def test_hot_spot() -> None:
    """Without combining the hot module is the limit: x (1 + h (N - 1)) = 1; with it, it isn't."""
    fractions = (0.1, 0.3)
    plain, combining = (
        play(
            network,
            *(run_of(network, f"hotspot:{h}", 1, cycles=6000, warmup=600) for h in fractions),
        )
        for network in (PLAIN, COMBINING)
    )
    for h, without, with_ in zip(fractions, plain, combining):
        limit = 1 / (1 + h * (PLAIN.ports - 1))
        assert without.throughput == pytest.approx(
            limit, abs=without.throughput_ci99 + 0.01 * limit
        )
        assert with_.throughput > 1.2 * limit
        assert without.saturated
        assert without.serializable is None  # more requests than the processors keep
        assert sum(with_.statistics["combined"]) > 0.05
        assert sum(without.statistics["combined"]) == 0


@pytest.mark.long
def test_latency_of_the_background() -> None:
    """Requests for other modules suffer from a hot spot (tree saturation), unless it combines."""
    loads = (("hotspot:0.2", 0.01), ("hotspot:0.2", 0.5), ("uniform", 0.5), ("hotspot:1", 0.05))
    plain, combining = (
        play(network, *(run_of(network, *load, cycles=1500) for load in loads))
        for network in (PLAIN, COMBINING)
    )
    for quiet, hot, uniform, all_hot in (plain, combining):
        assert quiet.background_latency == pytest.approx(2 * PLAIN.stages + 1, abs=0.3)
        assert uniform.background_latency is None
        assert all_hot.background_latency is None
        assert hot.background_latency > quiet.background_latency + 1
    assert plain[1].background_latency > 1.5 * combining[1].background_latency


# Serial orders


MIXES = [
    long({"ports": 2, "merge": "unlimited"}, 0.5),
    long({"ports": 4, "radix": 4, "combine": "ultracomputer", "merge": "unlimited"}, 0.5),
    ({"ports": 4, "combine": "ultracomputer", "merge": "unlimited"}, 0.3),
    long({"ports": 8, "paths": 2}, 0.3),
    (
        {
            "ports": 8,
            "queues": "input",
            "combine": "none",
            "delay": 2,
            "lengths": "2:4",
            "depth": 8,
        },
        0.2,
    ),
    long({"ports": 16, "lengths": "2:4", "wiring": "omega", "wait": 1}, 0.4),
    long({"ports": 16, "radix": 4, "combine": "rp3", "depth": 2}, 0.4),
    long({"ports": 32, "wiring": "baseline", "merge": "unlimited"}, 0.5),
    long({"ports": 64}, 0.5),
]


@pytest.mark.long
@pytest.mark.parametrize(("parameters", "hot"), MIXES)
def test_random_mixes_are_serializable(parameters: dict[str, Any], hot: float) -> None:
    network = CombiningNetwork(**parameters)
    cycles, busy = (40, 0.4) if network.ports > 16 else (150, 1)
    runs = [
        run_of(network, traffic, load, operations=("all",), cycles=cycles, seed=seed)
        for seed, (traffic, load) in enumerate(
            ((f"hotspot:{hot}", 0.3), (f"hotspot:{hot}:1", busy), ("uniform", 1)), 7
        )
    ]
    results = play(network, *runs)
    assert [result.serializable for result in results] == [True] * 3
    assert all(result.delivered > 40 for result in results)
    if network.parameters["combine"] != "none":
        assert sum(results[1].statistics["combined"]) > 0.003


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [long({"ports": 9, "radix": 3, "combine": "none"}), {"ports": 4, "paths": 2, "lengths": "1:2"}],
)
def test_histories_of_additions_are_chains(parameters: dict[str, Any]) -> None:
    """Of each word: from 0, each addition returns what the one before left, up to what is there.

    Operands of 40 bits say whose turn it is, so that no search is needed.
    """
    network = CombiningNetwork(**parameters, width=40, outstanding=4)
    run = run_of(network, "hotspot:0.3:2", 0.6)
    bench = bench_for(network, run.sources(network), bins=16)
    engine = CompiledEngine([bench])
    engine.set("send", 1)
    engine.step(120)
    engine.set("send", 0)
    engine.step(100)
    histories = access_histories(engine, bench)
    assert histories is not None
    assert is_serializable(engine, bench) is True
    injected = engine.read(bench.sources, "injected")
    counts: dict[int, int] = defaultdict(int)
    contents = [engine.memory(name, "words") for name in bench.memories]
    for word, accesses in histories.items():
        value = 0
        following = {access.reply: access for access in accesses}
        assert len(following) == len(accesses)
        while value in following:
            value = (value + following.pop(value).operand) % 2**40
        assert not following, f"word {word}"
        row, module = divmod(word, network.ports)
        assert contents[module][row] == value
        contents[module][row] = 0
        for access in accesses:
            counts[access.processor] += 1
            assert access.answered - access.sent >= 2 * network.stages + network.lengths[1]
        for processor in range(network.ports):
            sent = [access.sent for access in accesses if access.processor == processor]
            assert sent == sorted(set(sent))
    assert not any(map(any, contents)), "a word that nobody asked for has changed"
    assert [counts[processor] for processor in range(network.ports)] == injected
    assert len(histories) > network.ports
    assert len(histories[2]) > 0.2 * sum(injected)


@pytest.mark.long
def test_unchecked_orders() -> None:
    """Nothing kept, or too little: the run is as good as otherwise, but nobody knows."""
    network = CombiningNetwork(2)
    whole, none, short = (
        play(network, run_of(network, history=history, cycles=60), engine="amaranth")[0]
        for history in (192, 0, 10)
    )
    assert [result.serializable for result in (whole, none, short)] == [True, None, None]
    books = [result.to_json() for result in (whole, none, short)]
    for book in books:
        del book["serializable"], book["run"]["history"]
    assert books[0] == books[1] == books[2]


class Forgetful(MemoryModule):
    """A memory module that forgets every eighth update: it answers, and changes nothing."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        count = Signal(3)
        request = self.i.request
        with m.If(request.valid & request.ready):
            m.d.sync += count.eq(count + 1)
        (write,) = self.words.write_ports
        with m.If(count == 7):
            m.d.comb += write.en.eq(0)
        return m


def without_results(operations: tuple, width: int, *, used: Any = None) -> OperationUnit:
    """A unit that leaves every value as it is."""
    return OperationUnit(operations, width, used=frozenset())


BREAKS: list[Any] = [
    ("multicube.hdl.boxes.combining.combining_switch.OperationUnit", without_results),
    long("multicube.hdl.terminals.memory_module.OperationUnit", without_results),
    long("multicube.hdl.families.combining_network.MemoryModule", Forgetful),
]


@pytest.mark.parametrize(("place", "broken"), BREAKS, ids=["boxes", "memory", "updates"])
def test_wrong_replies_are_found(place: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, broken)
    network = CombiningNetwork(2)
    run = run_of(network, "hotspot:0.8", 0.8, cycles=60)
    words = "^The books do not balance: replies that no serial order of the operations explains$"
    with pytest.raises(SimulationError, match=words) as error:
        simulate_runs(network, [run], engine="amaranth", **SMALL)
    result = error.value.result
    assert result.serializable is False
    assert (result.lost, result.misrouted, result.duplicated) == (0, 0, 0)
    # Who keeps no history does not see it.
    assert play(network, run_of(network, "hotspot:0.8", 0.8, history=0), engine="amaranth")


# Runs


@pytest.mark.long
def test_runs_side_by_side() -> None:
    network = CombiningNetwork(4)
    runs = [
        run_of(network, traffic, load, seed=seed, operations=("all",))
        for traffic, load, seed in (
            *(("uniform", 0.1, 1), ("uniform", 0.9, 1), ("hotspot:0.2", 0.5, 2)),
            *(("one-each", 1, 3), ("all-to-one:2", 1, 4), ("bit-reversal", 0.5, 5)),
        )
    ]
    together = play(network, *runs)
    alone = {at: play(network, runs[at])[0] for at in (2, 4)}
    assert all(together[at] == result for at, result in alone.items())
    assert [result.traffic for result in together] == [run.traffic.name for run in runs]
    assert all(result.serializable for result in together)


@pytest.mark.long
@pytest.mark.parametrize("traffic", ["hotspot:0.4", long("all-to-one")])
def test_engines_agree(traffic: str) -> None:
    network = CombiningNetwork(2)
    results = []
    for engine in ("amaranth", "compiled"):
        (result,) = play(network, run_of(network, traffic, 0.8, cycles=60), engine=engine)
        results.append(result.to_json())
        assert results[-1].pop("engine") == engine
    assert results[0] == results[1]


def test_runs_that_can_t_be_side_by_side() -> None:
    network = CombiningNetwork(2)
    first = run_of(network)
    for name, other in (
        ("operations", run_of(network, operations=("load",))),
        ("history", run_of(network, history=5)),
        ("source depth", run_of(network, source_depth=3)),
    ):
        with pytest.raises(ValueError, match=f"^Parallel runs must have the same {name}$"):
            simulate_runs(network, [first, other])


@pytest.mark.long
def test_seed_decides_everything() -> None:
    network = CombiningNetwork(2)

    def result(seed: int) -> Result:
        run = run_of(network, "hotspot:0.5", 0.5, seed=seed, cycles=60)
        return play(network, run, engine="amaranth")[0]

    first, again, other = (result(seed) for seed in (3, 3, 4))
    assert first == again
    assert first.latency != other.latency


# Traffic of a number of packets


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cube", {"ports": 8}),
        long("omega", {"ports": 9, "radix": 3, "switch": "input-queued"}),
        ("cube", {"ports": 8, "switch": "wormhole", "length": "2:5"}),
        ("cube", {"ports": 8, "switch": "unbuffered"}),
        long("cube", {"ports": 8, "switch": "circuit", "length": 4}),
    ],
)
def test_finite_traffic_of_packets(name: str, parameters: dict[str, Any]) -> None:
    network = build(name, **parameters)
    ports = network.ports
    runs = [run_of(network, "one-each"), run_of(network, "all-to-one:5", 0.1)]
    each, one = play(network, *runs)
    for result in (each, one):
        assert (result.generated, result.rejected, result.unsent) == (ports, 0, 0)
        assert result.offered_load == 1
        if not result.dropped or network.resubmits:
            assert result.delivered == ports
        assert sum(result.terminals["injected"]) == ports
        assert result.cycles == result.latency.max + 1
        assert result.verdict == (
            f"the packets are generated in 1 cycle, their delivery took {result.cycles}"
        )
    delivered = [0] * ports
    delivered[5] = one.delivered
    assert one.terminals["delivered"] == delivered
    if name == "cube" and set(parameters) == {"ports"}:
        # One a cycle comes out, the first after as many cycles as there are stages.
        assert one.latency.histogram == [0] * network.stages + [1] * ports


# The command


@pytest.mark.long
def test_command(call: Call) -> None:
    words = "sim combining ports=16 combine=all --traffic hotspot:0.1 --load 0.5 --json"
    record = call(*words.split()).record
    assert record["serializable"] is True
    assert len(record["statistics"]["combined"]) == 4
    assert 0.01 < sum(record["statistics"]["combined"]) < 0.1
    assert record["round_trip"]["p50"] >= 9
    assert record["background_latency"] > 9
    assert record["network"] == "combining"
    assert record["lost"] == record["misrouted"] == record["duplicated"] == 0


@pytest.mark.long
def test_command_for_packets_says_nothing_of_memory(call: Call) -> None:
    status, out, _ = call("sim", "cube", "ports=2", "--cycles", "20", "--warmup", "0", "--json")
    record = json.loads(out)
    assert status == 0
    for key in ("serializable", "round_trip", "background_latency"):
        assert record[key] is None


TRACE = "cycle,source,destination\n0,0,1\n"
BAD = [
    ("sim combining --trace good.csv", "A trace holds no memory requests"),
    ("sim cube --operations load", "Operations and history are for networks with memory"),
    ("sim cube --history 5", "Operations and history are for networks with memory"),
    ("sim combining --operations load,fetch-and-foo", "Operation must be one of load, store, "),
    ("sim combining operations=rp3 --operations fetch-and-store-if-nonnegative", "not 'fetch-and-"),
    ("sim combining --operations all,load", "not 'all'"),
    ("sim combining --operations load,", "not ''"),
    ("sim combining --operations=", "not ''"),
    ("sim combining --traffic hotspot:2", "Fraction H of hotspot must be from 0 to 1, not 2"),
    ("sim combining --traffic all-to-one:8", "Terminal T of all-to-one must be from 0 to 7, not 8"),
    ("sim combining --traffic all-to-one:x", "needs an integer in place of 'x'"),
    ("sim combining --traffic one-each:1", "Traffic must have 8 destinations, not 1"),
    ("sim combining --traffic broadcast:0.5", "needs a network with broadcast=1"),
    ("sim combining --history -1", "History must be from 0 to 262144, not -1"),
    ("sim combining --history 262145", "History must be from 0 to 262144, not 262145"),
    (
        "sim combining --fault link:1:1",
        "Places with a stage are only in an unreplicated multistage network of square boxes",
    ),
    *(
        (
            f"sim {network} --traffic {traffic} --{option} 1",
            f"Traffic {traffic} takes no --{option}",
        )
        for network in ("cube", "combining")
        for traffic in ("one-each", "all-to-one:1")
        for option in ("load", "cycles", "warmup")
    ),
]


@pytest.mark.parametrize(("words", "part"), BAD)
def test_bad_input(words: str, part: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(TRACE)
    call(*words.split()).refuses(f"...{part}...")


def test_bad_input_in_python() -> None:
    network = CombiningNetwork(2)
    trace = Trace("mine", (TracePacket(0, 0, 1),))
    for options, words in (
        ({"traffic": trace}, "A trace holds no memory requests: this network can't replay it"),
        ({"operations": ("jump",)}, r"Operation must be one of load, .*, not 'jump'"),
        ({"history": -1}, "History must be from 0 to 262144, not -1"),
    ):
        with pytest.raises(ValueError, match=f"^{words}$"):
            simulate(network, **options)
    with pytest.raises(TypeError, match=r"^History must be an integer, not 1\.5$"):
        simulate(network, history=1.5)


# Anything


NAMES = tuple(operation.name for operation in OPERATIONS)


@st.composite
def networks(draw: st.DrawFn, most: int) -> CombiningNetwork:
    radix = draw(st.sampled_from([2, 3, 4]))
    stages = draw(st.integers(1, 4))
    while radix**stages > most:
        stages -= 1
    return CombiningNetwork(
        radix ** max(stages, 1),
        radix=radix,
        combine=draw(st.sampled_from(["all", "rp3", "ultracomputer", "none"])),
        merge=draw(st.sampled_from(["pairwise", "unlimited"])),
        depth=draw(st.integers(2, 6)),
        wait=draw(st.integers(1, 5)),
        outstanding=draw(st.integers(1, 9)),
        lengths=draw(st.sampled_from(["1", "2:4", "1:2"])),
    )


def check_any(data: st.DataObject, most: int, engine: str) -> None:
    network = data.draw(networks(most))
    hot = data.draw(st.sampled_from([0, 0.1, 0.3])) * (1 if network.ports < 9 else 0.3)
    mix = data.draw(st.sets(st.sampled_from(NAMES), min_size=1))
    run = run_of(
        network,
        f"hotspot:{hot}",
        data.draw(st.sampled_from([0.1, 0.5, 1])),
        operations=tuple(name for name in NAMES if name in mix),
        seed=data.draw(st.integers(0, 2**32)),
        cycles=60,
    )
    (result,) = play(network, run, engine=engine)
    assert result.serializable is True
    assert result.lost == 0


@pytest.mark.long
@settings(max_examples=3, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_any_small_network_is_serializable(data: st.DataObject) -> None:
    check_any(data, 4, "amaranth")


@pytest.mark.long
@settings(max_examples=12, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_any_network_is_serializable(data: st.DataObject) -> None:
    check_any(data, 16, "auto")
