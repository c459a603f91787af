# amaranth: UnusedElaboratable=no
"""Traffic of one's own: lists, matrices, functions, files, bursts, and further permutations."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Call
from driving import exercise
from hypothesis import given, settings
from hypothesis import strategies as st
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench.bursts import Bursts
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.graphs.permutations import neighbor, random_permutation, tornado
from multicube.sim import Run, Trace, TracePacket, pattern, simulate, simulate_runs, sweep
from multicube.sim.workload.destinations import Destinations
from multicube.sim.workload.injection_process import InjectionProcess
from multicube.sim.workload.matrix import destination_tables, table_slots
from multicube.sim.workload.pattern import Pattern
from refusals import refusals
from scipy import stats

SEED = 20260
"""Of the matrices that tests draw."""

UNLIKELY = 1e-4
"""Probabilities below it are not chance."""


def some_matrix(ports: int) -> np.ndarray:
    """Weights between 0 and 1, of which a third are 0."""
    chance = np.random.default_rng(SEED)
    return chance.random((ports, ports)) * (chance.random((ports, ports)) > 1 / 3)


# Matrices.


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("ports", "radix"), [(8, 2), (9, 3)])
def test_destinations_have_the_frequencies_of_the_matrix(ports: int, radix: int) -> None:
    """Each terminal sends alone: what arrives where is what it sends."""
    network = build("cube", ports=ports, radix=radix)
    matrix = some_matrix(ports)
    runs = []
    for source in range(ports):
        rates = tuple(ports * (terminal == source) for terminal in range(ports))
        alone = replace(pattern(matrix, ports), when=InjectionProcess(rates=rates))
        runs.append(Run(alone, 0.9 / ports, 3000, 0, SEED + source, 16))
    for source, result in enumerate(simulate_runs(network, runs, bins=64)):
        counts = np.array(result.terminals["delivered"])
        assert [bool(count) for count in result.terminals["injected"]] == [
            terminal == source for terminal in range(ports)
        ]
        wanted = matrix[source] > 0
        assert not counts[~wanted].any()
        expected = matrix[source, wanted] / matrix[source].sum() * counts.sum()
        assert counts.sum() > 2000
        assert stats.chisquare(counts[wanted], expected).pvalue > UNLIKELY, source


def test_parallel_runs_need_the_same_parts() -> None:
    network = build("cube", ports=4)
    message = "Parallel runs must all have bursts, intervals, or tables of one size, or none"
    for one, other in ((halves, "uniform"), (halves, np.eye(4)), ("uniform", "uniform+bursts:2:2")):
        runs = [Run(pattern(traffic, 4), 0.1) for traffic in (one, other)]
        with pytest.raises(ValueError, match=f"^{message}$"):
            simulate_runs(network, runs)


def test_sums_of_rows_are_loads() -> None:
    """Terminals with larger sums send more, and the mean of all is the load."""
    matrix = some_matrix(8)
    matrix[3] = 0
    load, cycles = 0.2, 4000
    result = simulate(build("cube"), traffic=matrix, load=load, cycles=cycles, warmup=50, seed=3)
    expected = load * matrix.sum(axis=1) / matrix.sum(axis=1).mean() * cycles
    injected = np.array(result.terminals["injected"])
    assert injected[3] == 0
    assert abs(injected - expected).max() < 5 * expected.max() ** 0.5
    assert result.throughput == pytest.approx(load, rel=5 / (load * cycles * 8) ** 0.5)
    assert result.predicted["latency_mean"] is None


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.integers(1, 9).flatmap(
        lambda ports: st.lists(
            st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=ports, max_size=ports
        )
    )
)
def test_tables_hold_the_weights(weights: list[float]) -> None:
    """Summed over the slots, chances differ from the weights by less than a step."""
    ports = len(weights)
    code = AddressCode(max(2, ports), 1)
    matrix = np.array([weights] * ports)
    slots = table_slots(matrix)
    assert slots >= 2
    assert slots & (slots - 1) == 0
    table = next(iter(destination_tables(matrix, code)))
    found = np.zeros(ports)
    width = code.width
    for row in table:
        chance = row & (1 << 24) - 1
        found[row >> 24 & (1 << width) - 1] += chance
        found[row >> 24 + width] += 2**24 - chance
    if not any(weights):
        assert table == ()
        return
    assert len(table) == slots
    assert found.sum() == slots << 24
    assert not found[matrix[0] == 0].any()
    assert abs(found - matrix[0] / matrix[0].sum() * (slots << 24)).max() < 1 + 1e-6


# Engines.


MIXED = "matrix:0,1,2,0/1,0,0,0/0,0,0,0/1,1,1,5"


@pytest.mark.long
@pytest.mark.parametrize(
    ("traffic", "family", "parameters"),
    [
        long(MIXED, "cube", {}),
        long(f"{MIXED}+bursts:3:2", "cube", {"switch": "wormhole", "length": "1:3"}),
        long("3,x,0,0", "cube", {"broadcast": 1}),
        ("2,3,1,0+bursts:5:1", "cube", {"broadcast": 1}),
        long(f"{MIXED}+bursts:3:2", "combining", {"lengths": "1:2"}),
        long(MIXED, "combining", {"paths": 2, "radix": 2}),
        long("2,3,1,0+bursts:5:1", "combining", {}),
    ],
)
def test_engines_agree(traffic: str, family: str, parameters: dict[str, Any]) -> None:
    network = build(family, ports=4, **parameters)
    options = {"load": 0.15, "cycles": 150, "warmup": 20, "source_depth": 4, "bins": 16}
    compiled, reference = (
        simulate(network, traffic=traffic, engine=engine, **options)
        for engine in ("compiled", "amaranth")
    )
    assert compiled.injected > 20
    assert replace(compiled, engine="amaranth") == reference


# Bursts.


def states(on: float, off: float, cycles: int) -> list[int]:
    """What `Bursts` is in each cycle."""
    bursts = Bursts()
    found: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(bursts.seed, 2**100 + SEED)
        ctx.set(bursts.stops, round(2**32 / on))
        ctx.set(bursts.starts, round(2**32 / off))
        ctx.set(bursts.begins_on, 1)
        for _ in range(cycles):
            found.append(ctx.get(bursts.on))
            await ctx.tick()

    exercise(bursts, testbench)
    return found


@pytest.mark.long
@pytest.mark.parametrize(("on", "off"), [(4, 7), (1, 3), (9, 1)])
def test_lengths_of_bursts_are_geometric(on: int, off: int) -> None:
    found = states(on, off, 12_000)
    assert found[:2] == [0, 1]  # `begins_on` is read in the first cycle
    runs = [(state, len(list(same))) for state, same in itertools.groupby(found[1:])][1:-1]
    for state, mean in ((1, on), (0, off)):
        lengths = np.array([length for which, length in runs if which == state])
        if mean == 1:
            assert (lengths == 1).all()
            continue
        longest = next(k for k in itertools.count(2) if len(lengths) * (1 - 1 / mean) ** k < 8)
        counts = np.bincount(np.minimum(lengths, longest), minlength=longest + 1)[1:]
        shares = stats.geom.pmf(np.arange(1, longest), 1 / mean)
        expected = np.append(shares, 1 - shares.sum()) * len(lengths)
        assert stats.chisquare(counts, expected).pvalue > UNLIKELY, (state, mean)


@pytest.mark.long
def test_bursts_keep_the_load() -> None:
    """The share of cycles in which terminals send, and how much it varies, are those of a Markov
    chain.
    """
    on, off, load, cycles, ports = 40, 40, 0.4, 20_000, 16
    network = build("cube", ports=ports, depth=256)
    options = {"load": load, "cycles": cycles, "warmup": 0, "seed": 5, "source_depth": 2**12}
    bursty, steady = (
        simulate(network, traffic=traffic, bins=2, **options)
        for traffic in (f"uniform+bursts:{on}:{off}", "uniform")
    )
    share, memory = on / (on + off), 1 - 1 / on - 1 / off
    rate = load / share
    variance = share * (1 - share) * (1 + memory) / (1 - memory) * rate**2 + share * rate
    counts = bursty.generated / ports
    assert counts == pytest.approx(load * cycles, abs=4 * (variance * cycles / ports) ** 0.5)
    spread = np.std(bursty.terminals["injected"])
    low, high = (stats.chi2.ppf(p, ports - 1) / ports for p in (UNLIKELY, 1 - UNLIKELY))
    assert low < spread**2 / (variance * cycles) < high
    assert bursty.latency.mean > steady.latency.mean + steady.latency.ci99
    assert bursty.predicted["latency_mean"] is None


def test_terminals_begin_in_the_middle_of_bursts() -> None:
    network = build("cube", ports=256)
    straps = pattern("uniform+bursts:30:90", 256).sources(network, 0.1, 1, 16).straps
    begin = sum(strap["begins_on"] for strap in straps)
    assert stats.binomtest(begin, 256, 0.25).pvalue > UNLIKELY
    assert {strap["load"] for strap in straps} == {round(0.4 * 2**22)}


def test_bursts_of_the_highest_load_are_trains() -> None:
    """While it is on, a terminal sends in each cycle."""
    traffic = pattern("1,x+bursts:4:12", 2)
    assert traffic.when.highest_load == pytest.approx(1 / 8)
    straps = traffic.sources(build("cube", ports=2), 1 / 8, 1, 16).straps
    assert [strap["load"] for strap in straps] == [2**22, 0]


# Permutations.


@pytest.mark.parametrize(("k", "n"), [(8, 2), (5, 2), (3, 3), (4, 1)])
def test_tornado_and_neighbor_of_a_torus(k: int, n: int) -> None:
    """Paths of tornado go (k - 1) / 2 links, rounded down, in each dimension; of neighbor one."""
    network = build("torus", k=k, n=n)
    for name, step in (("tornado", (k - 1) // 2), ("neighbor", 1)):
        fixed = pattern(name, network.ports).destinations(network.code)
        assert sorted(fixed) == list(range(network.ports))
        for x, to in enumerate(fixed):
            for digit in range(n):
                assert (to // k**digit - x // k**digit - step) % k == 0
            assert len(network.path(x, to)) == n * step + 1


@pytest.mark.parametrize(("family", "size"), [("cube", {"ports": 16}), ("hypercube", {"n": 4})])
def test_binary_addresses_are_one_ring(family: str, size: dict[str, int]) -> None:
    code = build(family, **size).code
    assert tornado(code) == [(x + 7) % 16 for x in range(16)]
    assert neighbor(code) == [(x + 1) % 16 for x in range(16)]


def test_random_permutations() -> None:
    """They are permutations, and those of today are those of tomorrow."""
    assert random_permutation(8, 1) == [0, 3, 5, 4, 6, 2, 7, 1]
    every = {tuple(random_permutation(16, seed)) for seed in range(50)}
    assert len(every) == 50
    assert all(sorted(one) == list(range(16)) for one in every)
    firsts = np.bincount([random_permutation(4, seed)[0] for seed in range(400)])
    assert stats.chisquare(firsts).pvalue > UNLIKELY
    assert pattern("randperm", 16).where.favourites == pattern("randperm:1", 16).where.favourites
    assert pattern("randperm:2", 16).where.favourites != pattern("randperm:1", 16).where.favourites


# All ways to say the same.


def ahead(source: int, ports: int) -> int | None:
    return None if source == 1 else (source + 2) % ports


def halves(source: int, ports: int) -> list[int]:
    return [1 if destination < ports / 2 else 3 for destination in range(ports)]


def test_ways_to_give_destinations(tmp_path: Path) -> None:
    wanted = [2, None, 0, 1]
    ways: list[Any] = [
        ahead,
        wanted,
        tuple(wanted),
        np.array([2, -1, 0, 1]),
        "2,x,0,1",
        "2,-1,0,1",
    ]
    for name, text in (("column", "2\n-1\n0\n1\n"), ("row", "# mine\n\n2 x 0, 1\n")):
        path = tmp_path / name
        path.write_text(text)
        ways += [path, f"file:{path}", f"FILE:{path}"]
    for way in ways:
        found = pattern(way, 4)
        assert found.destinations(AddressCode(2, 2)) == wanted
        assert found.when.rates == pytest.approx((4 / 3, 0, 4 / 3, 4 / 3))
    result = simulate(build("cube", ports=4), traffic=ahead, load=0.3, cycles=300)
    assert result.traffic == "2,x,0,1"
    received, sent = (result.terminals[what] for what in ("delivered", "injected"))
    assert received[3] == sent[1] == 0
    each = simulate(build("cube", ports=4), traffic="one-each:2,x,0,1")
    assert each.terminals == {"delivered": [1, 1, 1, 0], "injected": [1, 0, 1, 1]}
    assert each.generated == 3


def test_ways_to_give_a_matrix(tmp_path: Path) -> None:
    wanted = np.array([halves(source, 4) for source in range(4)])
    path = tmp_path / "m.csv"
    np.savetxt(path, wanted, delimiter=",", header="weights")
    spaced = tmp_path / "spaced"
    np.savetxt(spaced, wanted)
    text = "matrix:1,1,3,3/1,1,3,3/1,1,3,3/1,1,3,3"
    for way in (halves, wanted, wanted.tolist(), wanted * 1.0, path, f"file:{spaced}", text):
        found = pattern(way, 4)
        assert found.where.matrix == pytest.approx(wanted / 3)
        assert found.when.rates == ()
        assert found.destinations(AddressCode(2, 2)) is None
        assert not found.uniform
    assert pattern(halves, 4).name == pattern(wanted, 4).name == text


@pytest.mark.parametrize(
    "traffic",
    [
        "uniform",
        "Tornado",
        "randperm:5+bursts:2.5:4",
        "one-each:neighbor",
        "matrix:0,1e-3,2,.5/1,0,0,0/0,0,0,0/1,1,1,5+BURSTS:3:2",
        [1, None, 2, 0],
        some_matrix(4),
        some_matrix(4) * 1e300,
        ahead,
        halves,
    ],
)
def test_names_give_the_same_traffic_again(traffic: Any) -> None:
    network = build("cube", ports=4)
    first = pattern(traffic, 4)
    again = pattern(first.name, 4)
    assert again == first
    assert again.sources(network, 0.1, 1, 16) == first.sources(network, 0.1, 1, 16)


def test_names_of_large_patterns_are_refused() -> None:
    """They tell patterns apart; the same traffic must be given again."""
    large = some_matrix(64)
    names = [pattern(large, 64).name, pattern(2 - large, 64).name]
    names.append(pattern(lambda source, ports: large[source], 64).name)
    names.append(pattern(lambda source, ports: source, 5000).name)
    assert names[0] != names[1]
    for name, kind in zip(names, ("array", "array", "function", "function")):
        assert name.startswith(f"{kind}:")
        message = f"Traffic {name} came from Python and is too large for a text: give that {kind}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)} again$"):
            pattern(name, 64)


def test_sweeps_take_the_same_traffic() -> None:
    curve = sweep(
        build("cube", ports=4), [0.1, 0.2], traffic=halves, cycles=100, warmup=10, processes=1
    )
    assert {point.traffic for point in curve.points} == {pattern(halves, 4).name}


test_rejects = refusals(
    lambda traffic: simulate(build("cube", ports=4), traffic=traffic),
    ([0, 1], "Traffic must have 4 destinations, not 2"),
    ("0,1,2,3,0", "Traffic must have 4 destinations, not 5"),
    ([0, 1, 2, 4], "Destination of terminal 3 must be from 0 to 3, not 4"),
    ([0, 1, -2, 3], "Destination of terminal 2 must be from 0 to 3, not -2"),
    ([0, 1.5, 2, 3], "Destination of terminal 1 must be an integer, not 1.5"),
    ([None] * 4, "Traffic must have at least one terminal that sends"),
    (np.eye(3), "Traffic matrix must have 4 rows, not 3"),
    (np.ones((4, 3)), "Row 0 of a traffic matrix must have 4 weights, not 3"),
    ([[1] * 4, [1] * 4, [1] * 3, [1] * 4], "Row 2 of a traffic matrix must have 4 weights..."),
    ([[1] * 4, [1, 2, 3, "x"], [1] * 4, [1] * 4], "Row 1 of a traffic matrix must hold num..."),
    ([[1] * 4, 3, [1] * 4, [1] * 4], "Row 1 of a traffic matrix must hold numbers only, not 3"),
    (np.diag([1, 2, -3, 1]), "Weight from 2 to 2 of a traffic matrix must be a finite number..."),
    ([[1, 2, 3, np.nan]] * 4, "Weight from 0 to 3 of a traffic matrix must be a finite number..."),
    ([[1, np.inf, 3, 1]] * 4, "Weight from 0 to 1 of a traffic matrix must be a finite number..."),
    (np.zeros((4, 4)), "Traffic matrix must have a weight above 0"),
    (np.zeros((4, 4, 4)), "Traffic must have one or two dimensions, not 3"),
    (np.ma.masked_less([1, 2, 0, 3], 1), "Traffic must be an array without masked values"),
    (np.array([["a"] * 4] * 4), "Row 0 of a traffic matrix must hold numbers only, not array(..."),
    ({0: 1}, "Traffic must be a text, a list of destinations, a matrix, a function or a pat..."),
    (lambda x: x, "Traffic function must take a terminal and the number of terminals, not (x)"),
    (lambda x, n: [1] * n if x else 0, "Traffic function must return destinations of all ter..."),
    (lambda x, n: "a", "Destination of terminal 0 must be an integer, not 'a'"),
    ("matrix:1,2/3,4", "Traffic matrix must have 4 rows, not 2"),
    ("matrix:1,a", "Traffic 'matrix:1,a' needs a number in place of 'a'"),
    ("randperm:-1", "Seed of randperm must not be negative, not -1"),
    ("one-each:hotspot:0.1", "Traffic one-each needs a permutation or destinations, not hots..."),
    ("one-each:shift:1+bursts:2:2", "Traffic one-each:shift:1 has no bursts: all packets are..."),
    ("uniform+bursts", "Bursts must be written as +bursts:ON:OFF, not as in 'uniform+bursts..."),
    ("uniform+bursts:1", "Bursts must be written as +bursts:ON:OFF, not as in 'uniform+bursts..."),
    ("uniform+bursts:0.5:2", "Mean length of a burst must be from 1 to 1048576 cycles, not..."),
    ("uniform+bursts:2:nan", "Mean length of a pause must be from 1 to 1048576 cycles, not..."),
    ("uniform+bursts:2:x", "Traffic 'uniform+bursts:2:x' needs a number in place of 'x'"),
    (pattern("uniform", 8), "Traffic uniform is for 8 terminals, not 4"),
    error=(ValueError, TypeError),
)


test_injection_process_rejects = refusals(
    lambda given: Pattern("own", Destinations((0,) * 4), InjectionProcess(**given)),
    ({"quota": -1}, "Packets of each terminal must be at least 0, not -1"),
    ({"rates": 1}, TypeError, "Rates must be a sequence of numbers, not 1"),
    ({"rates": (2, -1, 1, 2)}, "Rates must be at least 0 and 1 in the mean, not (2.0, -1.0, 1..."),
    ({"rates": (1, 1, 1, 2)}, "Rates must be at least 0 and 1 in the mean, not (1.0, 1.0, 1.0..."),
    ({"rates": (1, 1)}, "Rates must be those of 4 terminals, not of 2"),
    ({"bursts": (3, 0)}, "Mean length of a pause must be from 1 to 1048576 cycles, not 0"),
    ({"bursts": (3,)}, "Bursts must be two numbers, not (3,)"),
    ({"interval": -2}, "Mean interval must be from 0 to 32768 cycles, not -2"),
    ({"interval": 1, "quota": 1}, "Packets must have a quota, bursts or an interval, not several"),
)


def test_rejects_a_large_matrix_at_once() -> None:
    calls = []

    def even(source: int, ports: int) -> range:
        calls.append(source)
        return range(ports)

    message = "Entries of a traffic matrix must be at most 4194304, not 4294967296"
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(even, 65536)
    assert calls == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,0,3\n2\n", "line 1 must hold 4 weights, not 3"),
        ("1,0,3,1\n\n# two\n2,1\n", "line 4 must hold 4 weights, not 2"),
        ("1,0,3,1\n1,0,a,1\n", "line 2 must hold weights, not '1 0 a 1'"),
        ("1,0,3,1\n1,0,3,1\n", "Traffic matrix must have 4 rows, not 2"),
        ("1,0,1,1\n1,0,3,-1\n" * 2, "Weight from 1 to 3 of a traffic matrix must be a finite num"),
        ("1\n0\n3\n", "Traffic must have 4 destinations, not 3"),
        ("1\n0\n3\n4\n", "Destination of terminal 3 must be from 0 to 3, not 4"),
        ("1\n0\n3.5\n2\n", "line 3 must hold destinations, not '3.5'"),
        ("# of\v3\n0\n3\n2\n", "Traffic must have 4 destinations, not 3"),
        ("1\n0,,3,2", "line 2 must hold something before each comma"),
        ("", "Traffic must have 4 destinations, not 0"),
    ],
)
def test_rejects_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^Traffic {re.escape(f'{path}: {message}')}"):
        pattern(path, 4)


def test_rejects_files_that_can_not_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, reason in (
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (binary, "it is not a text file"),
    ):
        with pytest.raises(ValueError, match=f"^Traffic {path} can't be read: {reason}$"):
            pattern(f"file:{path}", 4)


@pytest.mark.parametrize(
    ("traffic", "load", "message"),
    [
        ("1,x,x,x", 0.3, "Load, which is the mean of all terminals, must be at most 0.25 with tra"),
        ("uniform+bursts:2:6", 0.5, "Load, which is the mean of bursts and pauses, must be at mos"),
        ([[0, 9, 0, 0], *[[1, 1, 1, 0]] * 3], 0.6, "Load, which is the mean of all terminals, mus"),
    ],
)
def test_rejects_loads_that_can_not_be_sent(traffic: Any, load: float, message: str) -> None:
    network = build("cube", ports=4)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        simulate(network, traffic=traffic, load=load)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        sweep(network, [0.1, load], traffic=traffic)


def test_sweep_rejects_traffic_that_does_not_suit() -> None:
    network = build("cube", ports=4)
    for traffic, message in (
        ("one-each", "Traffic one-each has no load to sweep: all is sent at once"),
        ("broadcast:0.1", "Traffic broadcast:0.1 needs a network with broadcast=1"),
        ("sphere:0.9:3", "Size of a block must be a power of 2, times a power of two that"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            sweep(network, [0.1], traffic=traffic)
    with pytest.raises(TypeError, match=r"^Traffic must be a text, a list of dest"):
        sweep(network, [0.1], traffic=Trace("a", (TracePacket(0, 0, 0),)))


# The command.


@pytest.mark.long
def test_rates_in_flits(call: Call) -> None:
    network = ["cube", "ports=4", "switch=wormhole", "length=4", "depth=8"]
    options = ["--unit", "flits", "--cycles", "100", "--warmup", "10"]
    status, out, _ = call("sim", *network, "--load", "0.2", *options)
    assert status == 0
    assert "flits per terminal per cycle (offered 0.2000)" in out
    single = ["--loads=0.2,0.95", "--no-refine", "--processes=1"]
    status, out, _ = call("sweep", *network, *single, *options)
    assert status == 0
    assert re.findall(r"│ (0\.\d{4}) │ 0", out) == ["0.2000", "0.9500"]
    assert call("sim", *network, "--unit", "words")[0] == 2


@pytest.mark.long
def test_commands_take_the_same_words(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("1\n0\n3\n2\n")
    for word in ("1,0,3,2", "file:own.csv", "Neighbor"):
        run = ["--cycles", "60", "--warmup", "10", "--traffic", word, "--json"]
        status, out, _ = call("sim", "cube", "ports=4", *run)
        assert status == 0
        assert json.loads(out)["traffic"] == word.lower()
        status, out, _ = call(
            "sweep", "cube", "ports=4", "--loads", "0.1", "--processes", "1", *run
        )
        assert status == 0
        assert json.loads(out)["traffic"] == word.lower()
        status, out, _ = call("permute", "cube", "ports=4", word, "--json")
        assert status == 0
        wanted = pattern(word, 4).destinations(build("cube", ports=4).code)
        assert json.loads(out)["destinations"] == wanted
