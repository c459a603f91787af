"""Configurations of BookSim2: their language, and what stands for what they describe.

What BookSim2 itself says was measured with its commit 28f43299, at an injection rate of 0.002
packets (`use_noc_latency=0; sample_period=20000`).
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Call
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim import simulate
from multicube.sim.measure.latency import Latency
from multicube.sim.run.booksim_counterpart import Counterpart, booksim_counterpart, booksim_results
from multicube.sim.workload.booksim_config import read_booksim
from refusals import refusals


def counterpart(text: str, folder: Path = Path()) -> Counterpart:
    return booksim_counterpart(read_booksim(text), folder)


def test_language() -> None:
    text = """
    // a comment; k = 3;
    topology = torus;  k=4 ; n
      = 1;
    traffic = hotspot({{1,2},{3,4}});   // another
    """
    config = read_booksim(text, ["k=5", "injection_rate = 0.3"])
    assert dict(config.given) == {
        "topology": "torus",
        "n": "1",
        "traffic": "hotspot({{1,2},{3,4}})",
        "k": "5",
        "injection_rate": "0.3",
    }
    assert (config.integer("k"), config["num_vcs"], config.cycles_per_hop) == (5, "16", 4)


@pytest.mark.parametrize("traffic", ["bitrev", "hotspot({{1,2},{3,1}})", "tornado({4,2})"])
def test_a_list_for_one_class_is_its_entry(traffic: str) -> None:
    text = "routing_function=dim_order;num_vcs=2;k=4;"
    plain = counterpart(
        f"{text}traffic={traffic};injection_rate=0.1;injection_process=on_off(0.1);"
    )
    listed = counterpart(
        f"{text}traffic={{{traffic}}};injection_rate={{0.1}};injection_process={{ on_off(0.1) }};"
    )
    assert (listed.load, repr(listed.traffic)) == (plain.load, repr(plain.traffic))


test_language_rejects = refusals(
    read_booksim,
    ("k = 3\n n = 2;", "Line 1 must be of the form name = value; not 'k = 3'"),
    ("k = 3;\nn 2;", "Line 2 must be of the form name = value; not 'n 2;'"),
    ("k=2;\n\ntopologie = torus;", "Line 3: BookSim2 has no parameter 'topologie'; did you ..."),
    ("", ["k"], "Parameter must be written as NAME=VALUE, not 'k'"),
    ("", ["kk=2"], "BookSim2 has no parameter 'kk'..."),
    error=InvalidValue,
)

LIST = """
router 0 node 0 node 1 node 2 router 1
router 1 node 3 node 4 node 5
router 2 node 6 node 7 node 8 router 1 router 0
"""

GRID = "k=4;n=2;c=4;x=4;y=4;xr=2;yr=2;"

MEASURED = {
    "topology=torus;k=8;routing_function=dim_order;num_vcs=2;": (4.9856, 26.947),
    "topology=mesh;k=4;routing_function=dor;num_vcs=2;": (3.48968, 19.4505),
    "topology=fly;k=2;n=4;routing_function=dest_tag;": (4, 22.0046),
    "topology=fattree;k=4;n=3;routing_function=nca;": (4.37199, 23.8665),
    f"topology=flatfly;{GRID}routing_function=ran_min;": (2.50945, 14.5527),
    f"topology=cmesh;{GRID}routing_function=dor_no_express;": (3.49531, 19.4894),
    "topology=anynet;network_file=list;routing_function=min;": (1.67156, 10.3706),
    "topology=dragonflynew;k=2;n=1;routing_function=min;": (3.31456, None),
}
"""Mean hops and mean packet latency that BookSim2 measures."""


@pytest.mark.parametrize("text", MEASURED)
def test_hops_are_those_that_booksim_measures(text: str, tmp_path: Path) -> None:
    """And the latency at zero load, with the cycles that its routers take more.

    A packet of one flit takes as many cycles here as it passes routers.
    """
    (tmp_path / "list").write_text(LIST)
    found = counterpart(text + "use_noc_latency=0;", tmp_path)
    hops, latency = MEASURED[text]
    assert found.hops == pytest.approx(hops, rel=0.005)
    if latency is not None:
        assert found.hops + found.further_cycles == pytest.approx(latency, rel=0.005)


@pytest.mark.long
def test_latency_at_zero_load_is_the_number_of_hops() -> None:
    found = counterpart(
        "topology=cmesh;k=2;n=2;c=4;x=2;y=2;xr=2;yr=2;routing_function=dor_no_express;"
        "use_noc_latency=0;injection_rate=0.005;"
    )
    result = simulate(found.network, traffic=found.traffic, load=found.load, cycles=20_000)
    assert result.latency.mean == pytest.approx(found.hops, rel=0.03)


@pytest.mark.long
def test_destinations_are_those_of_booksims_functions() -> None:
    """Its functions `dest`, with all values that its random numbers can take."""
    k, n, ports = 4, 2, 16

    def digits(shift: int) -> Callable[[int], list[int]]:
        def ends(source: int) -> list[int]:
            steps = ((source // k**i % k + shift) % k * k**i for i in range(n))
            return [sum(steps)]

        return ends

    def taper(source: int) -> list[int]:
        near = [(64 + source + 8 * a + b) % 64 for a in (-1, 0, 1) for b in (-1, 0, 1)]
        return near * 64 + list(range(64)) * 9

    own = {
        "tornado": digits((k + 1) // 2 - 1),
        "neighbor": digits(1),
        "neighbor({2,4})": lambda source: [~source & ports - 1],
        "tornado({8,1})": lambda source: [(source + 3) % 8],
        "badperm_yarc": lambda source: [draw * k + source // k for draw in range(k)],
        "hotspot({{3,5},{1,2}})": lambda _: [3, 5, 5],
        "background({{1,2}})": lambda _: [end for end in range(ports) if end not in (1, 2)],
        "bitcomp": lambda source: [~source & ports - 1],
        "hotspot({3,5})": lambda _: [3],
        "neighbor(2)": lambda source: [~source & 3],
        "bad_dragon(1)": lambda source: [(2 * (source // 2 + 1) + draw) % 16 for draw in (0, 1)],
    }
    grid = f"topology=torus;k={k};n={n};routing_function=dim_order;num_vcs=2;"
    cases = [(grid, word, function) for word, function in own.items()]
    cases.append((grid.replace("k=4", "k=8"), "taper64", taper))
    # Of 27 nodes a group of 18 reaches into the next one, and into the first.
    last = [[(draw + group * 18) % 27 for draw in range(18)] for group in (1, 2)]
    cases.append((grid.replace("k=4;n=2", "k=3;n=3"), "bad_dragon", lambda at: last[at // 18]))
    rows = [[0, 2], [1, 3], [2, 4], [3, 5]]
    cases.append((grid.replace("k=4;n=2", "k=2;n=3"), "badperm_yarc", lambda at: rows[at // 2]))
    flat = "topology=flatfly;k=16;n=1;c=1;x=4;y=4;xr=1;yr=1;routing_function=ran_min;"
    cases.append((flat, "hotspot({{3,5},{1,2}})", own["hotspot({{3,5},{1,2}})"]))
    group = 2 * 2 * 2
    dragonfly = "topology=dragonflynew;k=2;n=1;routing_function=min;"
    cases.append(
        (
            dragonfly,
            "bad_dragon",
            lambda source: [(draw + (source // group + 1) * group) % 72 for draw in range(group)],
        )
    )
    for text, word, function in cases:
        found = counterpart(f"{text}traffic={word};").traffic
        for source in range(found.terminals):
            ends = Counter(function(source))
            if found.where.matrix is None:
                favourite = found.where.favourites[source]
                assert dict(ends) == {favourite: 1}, word
            else:
                row = found.where.matrix[source] / found.where.matrix[source].sum()
                share = [ends[end] / ends.total() for end in range(len(row))]
                assert row.tolist() == pytest.approx(share), word


def test_nodes_of_a_concentrated_mesh_are_where_booksim_has_them() -> None:
    """Its function NodeToRouter: a router has a block of 2 x 2 nodes of a grid of 8 x 8."""
    text = f"topology=cmesh;{GRID}routing_function=dor_no_express;traffic=bitcomp;"
    found = counterpart(text)
    homes = found.network.relation.graph.homes
    ends = found.traffic.where.favourites
    routers = Counter((homes[terminal], homes[end]) for terminal, end in enumerate(ends))
    there = Counter(
        tuple(node // 8 // 2 * 4 + node % 8 // 2 for node in (source, 63 - source))
        for source in range(64)
    )
    assert routers == there


def test_load_process_and_length() -> None:
    base = "topology=fly;k=2;n=2;routing_function=dest_tag;injection_rate=0.2;"
    assert counterpart(base).load == 0.2
    flits = counterpart(base + "packet_size=4;injection_rate_uses_flits=1;")
    assert flits.load == 0.05
    assert flits.network.lengths == (4, 4)
    bursts = counterpart(base + "injection_process=on_off;burst_alpha=0.05;burst_beta=0.1;").traffic
    called = counterpart(base + "injection_process=on_off({0.05,0.1});burst_beta=0.3;").traffic
    assert called.name == bursts.name
    assert bursts.when.bursts == (10, 20)
    rate = counterpart(
        base + "injection_process=on_off;burst_alpha=-1;burst_beta=0.1;burst_r1=0.6;"
    ).traffic
    assert rate.when.bursts == (10, pytest.approx(20))  # on in a third of the cycles
    # InjectionProcess::Load of BookSim2 divides the rate by the length before it is used.
    rate = counterpart(
        base + "packet_size=2;injection_rate_uses_flits=1;"
        "injection_process=on_off;burst_alpha=-1;burst_beta=0.1;burst_r1=0.6;"
    ).traffic
    assert rate.when.bursts == (10, pytest.approx(50))  # on in a sixth of the cycles


def test_traffic_that_is_too_large_for_a_text_has_bursts_too() -> None:
    text = TORUS + "traffic=taper64;injection_process=on_off;burst_alpha=0.5;burst_beta=0.25;"
    plain, bursts = (counterpart(each).traffic for each in (TORUS + "traffic=taper64;", text))
    assert bursts.when.bursts == (4, 2)
    assert bursts.where.matrix == pytest.approx(plain.where.matrix)


def test_the_window_is_at_most_as_long_as_booksims(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few packets it would have to grow for long, and BookSim2 gives up as early."""
    base = "topology=fly;k=2;n=2;routing_function=dest_tag;injection_rate=0.001;"
    assert counterpart(base).limit == 1000 * 10
    monkeypatch.chdir(tmp_path)
    Path("rare").write_text(base)
    code, out, _ = call("booksim", "rare", "sample_period=300", "max_samples=2")
    assert code == 0
    assert out.splitlines()[-1] == (
        "the window ended at sample_period max_samples = 600 cycles, before the results were "
        "within 5 %"
    )


def test_what_has_no_counterpart_is_named() -> None:
    base = "topology=fly;k=2;n=2;routing_function=dest_tag;num_vcs=2;"
    text = "input_speedup=2;output_speedup=1;priority=age;watch_out=-;credit_delay=2;"
    notes = dict(counterpart(base + text).notes)
    assert set(notes) == {"input_speedup=2", "priority=age", "credit_delay=2", "num_vcs=2"}
    assert all(notes.values())
    assert counterpart(TORUS + "use_read_write={0};class_priority=0;classes=1;").notes == []


def test_links_are_long_only_if_the_flag_is_1() -> None:
    for flag, latency in ((1, 2), (0, 1), (2, 1)):
        text = f"{TORUS}use_noc_latency={flag};"
        assert counterpart(text).network.parameters["latency"] == latency


TORUS = "routing_function=dim_order;num_vcs=2;"

test_what_is_refused = refusals(
    counterpart,
    ("topology=qtree;", "topology must be one of torus, mesh, cmesh, ..., not 'qtree'..."),
    ("routing_function=valiant;", "routing_function must be dim_order with ..."),
    (TORUS + "use_read_write=1;", "use_read_write=1 has no counterpart here"),
    (TORUS + "sim_type=batch;", "sim_type=batch has no counterpart here"),
    (TORUS + "packet_size={1,5};", "packet_size must be one number of flits, not {1,5}"),
    (TORUS + "traffic=taper64(2);k=4;", "traffic=taper64(2) has no counterpart here for 16 nodes"),
    (TORUS + "traffic=hotspot;", "traffic=hotspot must name its nodes: hotspot({{3,5}})"),
    (TORUS + "traffic=hotspot({x});", "Node of hotspot must be from 0 to 63, not x"),
    (TORUS + "traffic=hotspot({{3},{x}});", "Rate of hotspot must be from 0 to ..., not x"),
    (TORUS + "traffic=background({64});", "Node of background must be from 0 to 63, not 64"),
    (TORUS + "traffic=background({-1});", "Node of background must be from 0 to 63, not -1"),
    (TORUS + "traffic=randperm(x);", "perm_seed must be an integer, not 'x'"),
    (TORUS + "traffic=tornado({4,2,1,3});", "traffic=tornado({4,2,1,3}) has no counterpart ..."),
    (TORUS + "traffic=background({1,2});", "traffic=background({1,2}) has no counterpart ..."),
    (TORUS + "traffic=hotspot({3},{2});", "Arguments of hotspot must be one, or a list ..."),
    (TORUS + "traffic=tornado(8,2);", "Arguments of tornado must be one, or a list ..."),
    (TORUS + "k=3;traffic=bitcomp;", "traffic=bitcomp has no counterpart here for 9 nodes"),
    (TORUS + "n=1;traffic=transpose;", "traffic=transpose has no counterpart here for 8 nodes"),
    (TORUS + "n=1;traffic=badperm_yarc;", "traffic=badperm_yarc has no counterpart ..."),
    (TORUS + "traffic=tornado(9);", "traffic=tornado(9) has no counterpart ..."),
    (TORUS + "traffic=badperm_yarc(0);", "k must be from 1 to 65536, not 0"),
    (TORUS + "traffic={uniform,bitrev};", "traffic={uniform,bitrev} has no counterpart ..."),
    (TORUS + "injection_rate={0.1,0.2};", "injection_rate must be a number, not '{0.1,0.2}'"),
    (TORUS + "x=abc;", "x must be an integer, not 'abc'"),
    (TORUS + "burst_r1=abc;", "burst_r1 must be a number, not 'abc'"),
    (TORUS + "injection_process=gaussian;", "injection_process must be bernoulli or on_off, ..."),
    (TORUS + "injection_rate=x;", "injection_rate must be a number, not 'x'"),
    (TORUS + "sample_period=0;", "sample_period must be at least 1, not 0"),
    (TORUS + "max_samples=x;", "max_samples must be an integer, not 'x'"),
    (TORUS + "routing_delay=-5;", "routing_delay must be at least 0, not -5"),
    (TORUS + "k=x;", "k must be an integer, not 'x'"),
    (TORUS + "injection_rate=1.5;", "Load must be from 0 to 1 ..."),
    ("topology=anynet;routing_function=min;", "network_file must be named with topology=anynet"),
    error=InvalidValue,
)


@pytest.mark.long
def test_latency_of_a_saturated_network_is_not_known() -> None:
    found = counterpart("topology=fly;k=2;n=1;routing_function=dest_tag;injection_rate=1;")
    result = simulate(found.network, traffic=found.traffic, load=1, cycles=20, engine="amaranth")
    unknown = replace(result, latency=Latency.unknown(5))
    values = booksim_results(unknown, found.hops)
    assert values["Packet latency average"] is None
    assert values["Hops average"] == 1
    rates = [count / result.cycles for count in result.terminals["delivered"]]
    assert values["Accepted flit rate maximum"] == max(rates)
    assert values["Accepted packet rate average"] == pytest.approx(sum(rates) / 2)


@pytest.mark.long
def test_command(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "list").write_text(LIST)
    (folder / "a.cfg").write_text(
        "topology = anynet; network_file = list; routing_function = min;\n"
        "num_vcs = 1; injection_rate = 0.9; vc_allocator = islip;\n"
    )
    words = ["configs/a.cfg", "injection_rate=0.1", "--cycles", "300"]
    status, out, err = call("booksim", *words)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert (
        "left out: vc_allocator=islip (each output has an arbiter, and a worm holds its channel)"
        in lines
    )
    assert "Hops average = 1.66667" in lines
    assert any(line.startswith("Packet latency average = 1.") for line in lines)
    record = call("booksim", *words, "--json").record
    assert record["booksim"]["Hops average"] == pytest.approx(5 / 3)
    accepted = record["booksim"]["Accepted packet rate average"]
    assert accepted == pytest.approx(record["result"]["throughput"], abs=0.01)
    assert record["booksim"]["Injected packet rate minimum"] <= accepted
    (tmp_path / "record.json").write_text(json.dumps(record))
    monkeypatch.chdir(folder)
    assert call("rerun", "../record.json").status == 0
    status, out, err = call("booksim", "configs/a.cfg", "topology=qtree")
    assert (status, out, err.count("\n")) == (2, "", 1)
