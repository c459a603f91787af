"""Traffic of flows, each with a rate, a length and times of its own."""

import math
import random
import re
from pathlib import Path

import pytest
from command_line import exit_status
from long_runs import long
from multicube import LivePage, build, simulate
from multicube.hdl.bench import bench_for
from multicube.hdl.export.verilog import verilog_text
from multicube.sim import Flow, pattern
from multicube.sim.engines.engine_selection import open_engines
from refusals import refusals

HEADER = "source,destination,rate,length,on,off,period"


def births(flows: list[Flow], cycles: int, engine: str = "compiled") -> list[int]:
    """The cycles in which terminal 0 generates packets: those of their stamps, one later."""
    network = build("torus", k=4, n=1)
    plan = pattern(flows, 4).sources(network, 0.5, 1, 8)
    bench = bench_for(network, plan, bins=2)
    (opened,) = open_engines(engine, [bench])
    found, before = [], 0
    with opened:
        opened.set("send", 1)
        for cycle in range(cycles):
            opened.step(1)
            count = opened.read(bench.sources, "generated")[0]
            found += [cycle + 1] * (count - before)
            before = count
    return found


@pytest.mark.parametrize("engine", ["compiled", long("amaranth")])
def test_windows_are_on_in_their_cycles(engine: str) -> None:
    """At rate 1 in all cycles of a window, and in no other."""
    flows = [Flow(0, 1, 0.5, on=3, off=7, period=10), Flow(0, 2, 0.5, on=3, off=7, period=10)]
    assert births(flows, 60, engine) == [c for c in range(3, 61) if 3 <= c % 10 < 7]
    once = [Flow(0, 1, 0.5, on=20, off=25), Flow(0, 1, 0.5, on=22)]
    found = births(once, 60, engine)
    assert min(found) >= 20
    assert [cycle for cycle in found if cycle >= 25], "the second has no end"
    assert births([Flow(0, 1, 1, on=0, off=4)], 60, engine) == [3], "as soon as a flow is drawn"


def test_rates_are_those_of_the_file(tmp_path: Path) -> None:
    """Each flow has a destination of its own; binomial, to within 4.5 standard deviations."""
    rng = random.Random(5)
    chosen = [
        Flow(to % 5, to, rate, length, on, off, period)
        for to, (rate, length, on, off, period) in enumerate(
            (
                round(rng.uniform(0.01, 0.15), 3),
                rng.choice((1, 2, 4)),
                *rng.choice(((None, None, None), (10, 40, 100), (0, 25, 50))),
            )
            for _ in range(16)
        )
    ]
    path = tmp_path / "flows.csv"
    lines = (
        ",".join("" if value is None else str(value) for value in vars(flow).values())
        for flow in chosen
    )
    path.write_text("\n".join((HEADER, "# a comment", *lines, "")))
    network = build("torus", k=4, n=2, length="1:4")
    found = simulate(network, traffic=path, cycles=8000, warmup=0)
    assert found.offered_load == pytest.approx(sum(flow.mean_rate for flow in chosen) / 16)
    flits = sum(flow.mean_rate * flow.length for flow in chosen if flow.length)
    assert found.packet_length == pytest.approx(flits / 16 / found.offered_load)
    for flow, count in zip(chosen, found.terminals["delivered"]):
        cycles = 8000 * flow.mean_rate / flow.rate
        spread = math.sqrt(cycles * flow.rate * (1 - flow.rate))
        assert abs(count - cycles * flow.rate) < 4.5 * spread + 2, flow
    for source in range(16):
        own = [flow for flow in chosen if flow.source == source]
        assert bool(found.terminals["injected"][source]) == bool(own)


@pytest.mark.long
def test_each_flow_has_its_length() -> None:
    """On an idle network a packet of four flits takes three cycles more than one of one flit."""
    network = build("torus", k=4, n=1, length="1:4")
    short, long_ = (
        simulate(network, traffic=[Flow(0, 2, 0.01, length)], cycles=3000).latency.p50
        for length in (1, 4)
    )
    assert long_ == short + 3


def test_engines_agree_on_flows() -> None:
    flows = [Flow(0, 3, 0.2, on=5, off=30, period=40), Flow(0, 2, 0.3), Flow(3, 3, 0.5)]
    network = build("cube", ports=4)
    one, other = (
        simulate(network, traffic=flows, cycles=60, warmup=0, engine=engine)
        for engine in ("compiled", "amaranth")
    )
    assert one.terminals == other.terminals
    assert one.latency == other.latency
    assert one.delivered > 20


def test_runs_differ_by_their_seeds() -> None:
    network = build("cube", ports=8)
    found = [
        simulate(network, traffic=[Flow(0, 1, 0.3)], cycles=300, seed=seed).delivered
        for seed in (1, 1, 2, 3)
    ]
    assert found[0] == found[1]
    assert len(set(found)) > 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,1"], "line 2: there must be 7 fields, not 2"),
        (["0,9,0.1,,,,"], "line 2: destination must be a terminal from 0 to 3, not 9"),
        (["-1,1,0.1,,,,"], "line 2: Source must be from 0 to 2147483647, not -1"),
        (["0,1,x,,,,"], "line 2: rate must be a number, not 'x'"),
        (["0,1,nan,,,,"], "line 2: Rate must be above 0 and at most 1, not nan"),
        (["0,1,0,,,,"], "line 2: Rate must be above 0 and at most 1, not 0"),
        (["0,1,1.5,,,,"], "line 2: Rate must be above 0 and at most 1, not 1.5"),
        (["0,1,0.1,2.5,,,"], "line 2: length must be an integer, not '2.5'"),
        (["0,1,0.1,9,,,"], "line 2: length must be from 1 to 4 in this network, not 9"),
        (
            ["0,1,0.1,,,,"],
            "line 2: length must be given, since packets have from 1 to 4 flits in this network",
        ),
        (["0,1,0.1,1,30,20,"], "line 2: Off must be after on, which is 30, not 20"),
        (["0,1,1,1,0,3,"], "line 2: Off must be after 3, the first cycle of packets, not 3"),
        (["0,1,0.1,1,,30,20"], "line 2: Off must be within the period of 20 cycles, not 30"),
        (
            ["1,1,0.6,1,,,", "1,2,0.6,1,,,"],
            "Rates of source 1 must add up to at most 1 packet per cycle, not 1.2",
        ),
        (
            ["1,1,0.2,4,,,", "1,2,0.3,2,,,"],
            "Flows of source 1 must need at most 1 flit per cycle, rates times lengths, not 1.4",
        ),
        ([], "Flows must be given, at least one"),
    ],
)
def test_a_wrong_line_is_named(
    lines: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("\n".join((HEADER, *lines)))
    words = ["sim", "torus", "k=4", "n=1", "length=1:4", "--traffic", f"file:{path}"]
    assert exit_status(*words) == 2
    said = capsys.readouterr().err
    assert said.removeprefix("multicube: ").removeprefix(f"Traffic {path}: ") == f"{message}\n"


def test_a_wrong_header_is_told(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("source,destination,pir\n0,1,0.1\n")
    with pytest.raises(ValueError, match=r"line 1: the header must be source,destination,rate\["):
        pattern(path, 4)


test_refusals = refusals(
    lambda traffic, network, **options: simulate(network, traffic=traffic, **options),
    (
        [Flow(0, 1, 0.1), 3],
        build("cube", ports=4),
        TypeError,
        "Traffic must hold flows only, or none",
    ),
    (
        [Flow(0, 1, 0.1)],
        build("combining", ports=4),
        "Traffic flows:... is not for networks with memory",
    ),
    (
        [Flow(0, 1, 0.01, on=number, off=100, period=200) for number in range(1, 67)],
        build("cube", ports=4),
        "Flows of source 0 must have at most 64 different times, not 66",
    ),
)


@pytest.mark.long
@pytest.mark.parametrize(
    "traffic", [[Flow(0, 1, 0.1), Flow(1, 1, 0.3)], long("matrix:1,0,3,1/1,1,1,1/0,1,0,1/1,1,1,1")]
)
def test_verilog_has_the_tables_of_all_sources(traffic: str | list[Flow]) -> None:
    """Though `table` is a keyword: Verilator would otherwise not run them."""
    network = build("cube", ports=4)
    plan = pattern(traffic, 4).sources(network, 0.1, 1, 4)
    text = verilog_text(bench_for(network, plan, bins=2), "top")
    rows = [
        tuple(int(row, 16) for row in each)
        for each in (
            re.findall(r"table_\[\d+\] = \d+'h([0-9a-f]+);", module)
            for module in text.split("endmodule")
        )
    ]
    for own in {contents["table"] for contents in plan.contents}:
        assert any(found[: len(own)] == own for found in rows if found)


def test_a_live_page_needs_a_load() -> None:
    found = pattern([Flow(0, 1, 0.1)], 4)
    with pytest.raises(ValueError, match=r"^Traffic of a live page must have a load: its flows"):
        LivePage(build("cube", ports=4), found)


def test_traffic_with_rates_takes_no_load(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("source,destination,rate\n0,1,0.1\n")
    for words, message in (
        (["sim", "--load", "0.2"], f"Traffic file:{path} takes no --load: its flows have rates"),
        (["sweep"], f"Traffic file:{path} has no load to sweep: its flows have rates"),
    ):
        command, *rest = words
        assert exit_status(command, "cube", "ports=4", "--traffic", f"file:{path}", *rest) == 2
        assert message[:60] in capsys.readouterr().err
    for ending in ("bursts:2:2", "interval:3"):
        with pytest.raises(ValueError, match="has no"):
            pattern(f"file:{path}+{ending}", 4)
