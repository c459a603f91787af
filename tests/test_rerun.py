"""Records of runs, and the same runs again."""

import csv
import dataclasses
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import exit_status
from long_runs import families
from multicube.hdl import FAMILIES, build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim import (
    Record,
    Result,
    Run,
    SimulationError,
    Sweep,
    Trace,
    TracePacket,
    read_records,
    rerun,
    save_sweep,
    simulate,
    simulate_runs,
    sweep,
)
from multicube.sim.measure.row import row_of
from multicube.sim.workload.destinations import Destinations
from multicube.sim.workload.traffic import Pattern, pattern, read_trace

SHORT: dict[str, Any] = {"cycles": 60, "warmup": 20, "bins": 32}

NOT_DEFAULT = {
    "load": 0.35,
    "cycles": 71,
    "warmup": 13,
    "seed": 2**70,
    "source_depth": 9,
    "operations": ("load", "store"),
    "history": 7,
    "precision": 0.3,
    "limit": 150,
    "seeds": 2,
}
"""A value of each field of `Run` that is not its default; fields that are added have theirs."""


def table(results: list[Result]) -> str:
    """Results as `save_sweep` writes them."""
    stream = io.StringIO()
    rows = list(map(row_of, results))
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def same(a: Result, b: Result) -> bool:
    return a.to_json() == b.to_json()


@pytest.fixture(scope="module")
def curves() -> list[Sweep]:
    options: dict[str, Any] = {"processes": 1, "refine": False, **SHORT}
    return [
        sweep(build("cube", ports=4), [0.2, 0.6], traffic="hotspot:0.2:3", seed=3, **options),
        sweep(build("torus", k=3, n=1, length="1:4"), [0.1], **options),
    ]


@pytest.fixture
def joined(curves: list[Sweep], tmp_path: Path) -> Callable[[str], Path]:
    """A file that holds both curves, one behind the other."""

    def join(suffix: str) -> Path:
        for number, curve in enumerate(curves):
            save_sweep(curve, tmp_path / f"{number}{suffix}")
        path = tmp_path / f"all{suffix}"
        path.write_text("".join((tmp_path / f"{n}{suffix}").read_text() for n in range(2)))
        return path

    return join


@pytest.mark.one_in(2)
@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_each_point_of_joined_sweeps_is_the_same_again(
    suffix: str, joined: Callable[[str], Path], curves: list[Sweep]
) -> None:
    records = read_records(joined(suffix))
    points = [point for curve in curves for point in curve.points]
    assert len(records) == len(points) == 3
    for record, point in zip(records, points):
        again = rerun(record)
        assert same(again, point)
        assert record.differences(again) == {}


@pytest.mark.long
def test_columns_are_the_same_for_every_network(curves: list[Sweep]) -> None:
    memory = simulate(build("combining", ports=4), operations=["load"], **SHORT)
    rows = [*curves[0].rows(), *curves[1].rows(), row_of(memory)]
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0]["parameters"].startswith("ports=4 radix=2 routing=destination ")
    assert rows[-1]["operations"] == "load"


@pytest.mark.long
@pytest.mark.parametrize(
    "name", families("crossbar", "dragonfly", "lssn", "connection-machine", "bus", "torus", "delta")
)
def test_parameters_of_every_network_are_read_again(name: str, tmp_path: Path) -> None:
    """From JSON and from a table; the network is the same, and so are its numbers."""
    family = FAMILIES[name]
    network = family.build(**family.example)
    result = simulate(network, load=0.1, **SHORT)
    for text in (json.dumps(result.to_json()), table([result])):
        path = tmp_path / "file"
        path.write_text(text)
        (record,) = read_records(path)
        assert dict(build(record.network, **record.parameters).parameters) == dict(
            network.parameters
        )
    assert same(rerun(result), result)


@pytest.mark.long
def test_every_field_of_a_run_is_carried(tmp_path: Path) -> None:
    """Also those that this test does not know."""
    network = build("combining", ports=4)
    known = {each.name for each in dataclasses.fields(Run)}
    run = Run(pattern("hotspot:0.3", 4), **NOT_DEFAULT)
    for name, value in NOT_DEFAULT.items():
        assert value != next(f for f in dataclasses.fields(Run) if f.name == name).default
    (result,) = simulate_runs(network, [run], bins=19)
    assert known <= result.run.keys()
    for suffix, text in ((".json", json.dumps(result.to_json())), (".csv", table([result]))):
        path = tmp_path / f"one{suffix}"
        path.write_text(text)
        (record,) = read_records(path)
        assert record.run == result.run
        assert same(rerun(record), result)


def test_names_of_several_lines_are_read_from_a_table(tmp_path: Path) -> None:
    name = "a\nb\u2028c\x0bd.json"
    table = tmp_path / "table.csv"
    table.write_text(f"network,parameters,throughput\r\ngraph,\"'file={name}' depth=2\",1\r\n")
    assert read_records(table)[0].parameters == {"file": name, "depth": "2"}


@pytest.mark.long
def test_faults_are_carried() -> None:
    network = build("cube", ports=4, switch="unbuffered", extra_stage=0)
    result = simulate(
        network, traffic=Trace("none", (TracePacket(0, 0, 0),)), faults=["link:0:3:dead"], bins=8
    )
    assert result.run["faults"] == ["link:0:3:dead"]
    assert row_of(result)["faults"] == "link:0:3:dead"


def test_a_run_that_loses_packets_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    network = build("cube", ports=4)
    with pytest.raises(SimulationError) as raised:
        simulate(network, load=0.2, faults=["link:0:3:lossy"], **SHORT)
    lossy = raised.value.result
    assert isinstance(lossy, Result)
    assert lossy.lost
    assert same(rerun(lossy), lossy)
    path = tmp_path / "lossy.json"
    for lost, code in ((lossy.lost, 0), (0, 1)):
        path.write_text(json.dumps(lossy.to_json() | {"lost": lost}))
        end, out, err = command(str(path), capsys=capsys)
        assert (end, err) == (code, "")
        what = f"DIFFERENT (cube, uniform, load 0.2): lost {lossy.lost}, not 0"
        assert out == f"row 1: {what if code else 'equal (cube, uniform, load 0.2)'}\n"


@pytest.mark.long
def test_trace_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("cycle,source,destination\n0,1,2\n3,2,0\n")
    network = build("cube", ports=4)
    result = simulate(network, traffic=read_trace(path, 4), bins=8)
    assert (result.run["traffic"], result.run["trace"]) == (None, str(path))
    assert same(rerun(result.to_json()), result)
    path.unlink()
    with pytest.raises(InvalidValue, match=r"^Trace .*trace.csv can't be read: No such file"):
        rerun(result)


def test_faults_that_are_no_list_are_refused() -> None:
    run = {"traffic": "uniform", "faults": "link:0:0"}
    with pytest.raises(TypeError, match=r"^Faults must be a sequence of texts, not 'link:0:0'$"):
        rerun({"network": "cube", "parameters": {"ports": 4}, "run": run})


def test_traffic_without_a_text_is_refused() -> None:
    result = simulate(
        build("cube", ports=4), traffic=Pattern("mine", Destinations((1, 2, 3, 0), 1)), **SHORT
    )
    with pytest.raises(InvalidValue, match=r"^Traffic must be one of .*, not 'mine'"):
        rerun(result)


@pytest.mark.long
def test_random_runs_again() -> None:
    """Any parameters of any run, through a row of a table."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(4):
        network = build(
            "cube",
            ports=8,
            switch=rng.choice(["output-queued", "wormhole"]),
            depth=rng.choice([2, 4]),
        )
        result = simulate(
            network,
            traffic=rng.choice(
                ["uniform", "bit-reversal", "hotspot:0.1", "one-each", "sphere:0.7:4"]
            ),
            load=rng.random(),
            cycles=rng.randrange(20, 90),
            warmup=rng.choice(["auto", rng.randrange(40)]),
            seed=rng.getrandbits(40),
            source_depth=rng.randrange(1, 20),
            bins=rng.choice([None, 8]),
        )
        assert same(rerun(json.loads(json.dumps(result.to_json()))), result)


# The command


def command(*words: str, capsys: pytest.CaptureFixture) -> tuple[int, str, str]:
    end = exit_status("rerun", *words)
    out, err = capsys.readouterr()
    return end, out, err


@pytest.mark.long
def test_command_says_equal(joined: Callable[[str], Path], capsys: pytest.CaptureFixture) -> None:
    status, out, err = command(str(joined(".csv")), capsys=capsys)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "row 1: equal (cube, hotspot:0.2:3, load 0.2)",
        "row 2: equal (cube, hotspot:0.2:3, load 0.6)",
        "row 3: equal (torus, uniform, load 0.1)",
    ]


@pytest.mark.long
def test_command_chooses_rows_and_engine(
    joined: Callable[[str], Path], curves: list[Sweep], capsys: pytest.CaptureFixture
) -> None:
    words = [str(joined(".json")), "--row", "3", "--row", "2", "--json", "--engine", "amaranth"]
    status, out, _ = command(*words, capsys=capsys)
    said = json.loads(out)
    assert status == 0
    assert [each["row"] for each in said["rows"]] == [3, 2]
    assert [each["result"]["engine"] for each in said["rows"]] == ["amaranth"] * 2
    assert said["rows"][0]["result"]["links"] == curves[1].points[0].links
    assert all(each["equal"] and each["differences"] == {} for each in said["rows"])


def test_command_shows_differences(
    curves: list[Sweep], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    point = curves[0].points[0]
    path = tmp_path / "changed.json"
    for other in (1, str(point.delivered)):
        path.write_text(json.dumps(point.to_json() | {"delivered": other}))
        status, out, _ = command(str(path), capsys=capsys)
        assert status == 1
        assert out == (
            "row 1: DIFFERENT (cube, hotspot:0.2:3, load 0.2): "
            f"delivered {point.delivered}, not {other!r}\n"
        )


def test_a_difference_at_the_end_of_a_long_value_is_shown(
    curves: list[Sweep], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Both had been cut before it, and looked the same."""
    path = tmp_path / "cut.csv"
    path.write_text(table(curves[0].points[:1]).rstrip()[:-5])
    status, out, _ = command(str(path), capsys=capsys)
    assert status == 1
    now, was = out.rstrip().rpartition(": ")[2].split(", not ")
    assert now.removeprefix("verdict ") != was
    assert all(len(each) < 60 for each in (now, was))


def test_the_file_that_a_sweep_resumes_from_is_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "points.json"
    options: dict[str, Any] = {"refine": False, "processes": 1, **SHORT}
    sweep("cube", [0.2], ports=4, resume=path, **options)
    count = len(json.loads(path.read_text())["points"])
    status, out, _ = command(str(path), capsys=capsys)
    assert (status, out.count(": equal (cube, uniform")) == (0, count)
    path.write_text(path.read_text().replace('"ports": 4', '"ports": 8'))
    status, _, err = command(str(path), capsys=capsys)
    assert status == 2
    assert err == f"multicube: File {path}: Points must be those that a sweep has written\n"


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_other_versions_are_told_and_tried(
    kind: str, curves: list[Sweep], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    point = curves[0].points[0]
    other = dataclasses.replace(point, run=point.run | {"version": "0.0.7"})
    text = json.dumps(other.to_json()) if kind == "json" else table([other])
    path = tmp_path / "old"
    # What only that version knows is not compared.
    path.write_text(text.replace("verdict", "judgement"))
    status, out, err = command(str(path), capsys=capsys)
    assert status == 0
    assert err.startswith("multicube: row 1 is of version 0.0.7, this is ")
    assert out.startswith("row 1: equal")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "records no run"),
        ("[]", "records no run"),
        ("[" * 100_000, "Its values are nested too deeply"),
        ("a,b\n1,2\n", "It must be JSON, or have columns network and parameters"),
        ("{}", "Recorded run must have network, parameters, run"),
        ('{"network": "cube"', "Line 1 is not JSON: Expecting ',' delimiter"),
        ('{"network": "cube", "parameters": [], "run": {}}', "must be JSON objects"),
        ("network,load,parameters,load\n", "Column 'load' must be there once, not 2 times"),
        ("network,parameters,traffic\ncube,ports=4\n", "Line 2 must have 3 cells, not 2"),
        ("network,parameters,traffic\ncube,'ports=4,uniform\n", "can't be read"),
        (
            "network,parameters,traffic\ncube,ports=4 ports=8,uniform\n",
            "Parameter ports is given twice",
        ),
        (
            "network,parameters,traffic\ncube,ports 4,uniform\n",
            "Parameter must be written as name=value, not 'ports'",
        ),
        (
            '{"network": "cube", "parameters": {"ports": 4, "ports": 8}, "run": {}}',
            "Entry 'ports' must be given once, not twice",
        ),
    ],
)
def test_files_without_runs(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    status, out, err = command(str(path), capsys=capsys)
    assert (status, out) == (2, "")
    assert err.startswith(f"multicube: File {path}")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("least_served_throughput", "most_served", "Column 'most_served' is not one"),
        ("ports=4", "ports=5", "Row 1 of {}: Ports must be a power of the radix 2, not 5"),
        ("ports=4", "gates=4", "Row 1 of {}: Parameter of cube must be one of"),
        ("hotspot:0.2:3", "northward", "Row 1 of {}: Traffic must be one of"),
        ("hotspot:0.2:3", "", "Row 1 of {}: Run must have traffic or a trace"),
        ("cube,", "cuba,", "Row 1 of {}: Network must be one of"),
        (",20,3,", ",later,3,", "Row 1 of {}: Warm-up must be an integer, not 'later'"),
        (",20,3,", ",2_0,3,", "Row 1 of {}: Warm-up must be an integer, not '2_0'"),
    ],
)
def test_rows_that_cannot_be_run(
    old: str,
    new: str,
    message: str,
    curves: list[Sweep],
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
) -> None:
    path = tmp_path / "file"
    text = table(curves[0].points)
    assert old in text
    path.write_text(text.replace(old, new))
    status, _, err = command(str(path), capsys=capsys)
    assert status == 2
    assert message.format(path) in err
    assert err.count("\n") == 1


def test_row_must_exist(joined: Callable[[str], Path], capsys: pytest.CaptureFixture) -> None:
    for row in ("0", "4"):
        status, _, err = command(str(joined(".csv")), "--row", row, capsys=capsys)
        assert status == 2
        assert "Row must be from 1 to 3 in " in err
    status, _, err = command("missing.csv", capsys=capsys)
    assert (status, err) == (
        2,
        "multicube: File missing.csv can't be read: No such file or directory\n",
    )


def test_a_graph_that_was_given_is_not_recorded() -> None:
    """As of BookSim2's cmesh."""
    record = Record("graph", {"file": "given"}, {}, {})
    with pytest.raises(InvalidValue, match=r"^Its graph is not recorded: run again what made it"):
        rerun(record)
