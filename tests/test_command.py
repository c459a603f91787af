"""The command `multicube`: what it prints, writes and refuses."""

import csv
import gc
import importlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint, version
from pathlib import Path
from typing import Any

import psutil
import pytest
from amaranth.lib.fifo import SyncFIFO
from command_line import Call
from long_runs import long
from multicube.hdl import FAMILIES
from multicube.hdl.catalogue.catalogue import find
from multicube.hdl.families.multistage.multistage_parameters import MultistageParameters
from multicube.sim import SimulationError
from started import run_on_full_disk, started, wait_for

SHORT = ("--cycles", "40", "--warmup", "10", "--bins", "32")
COMMANDS = ("list", "sim", "sweep", "export", "draw")


@pytest.mark.long
def test_sim_json(call: Call) -> None:
    words = "sim cube ports=4 radix=2 switch=output-queued depth=8 --traffic uniform --load 0.5"
    status, out, err = call(*words.split(), *SHORT, "--seed", "1", "--json")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    record = json.loads(out)
    assert set(record) >= {
        *("network", "parameters", "engine", "cycles", "offered_load", "throughput", "injected"),
        *("delivered", "lost", "misrouted", "duplicated", "reordered", "latency"),
        *("network_latency", "predicted"),
    }
    assert record["network"] == "cube"
    assert record["parameters"] == {
        "ports": 4,
        "radix": 2,
        "switch": "output-queued",
        "depth": 8,
        "payload": 16,
        "routing": "destination",
        **MultistageParameters.plain(),
    }
    assert record["cycles"] == 40
    for kind in ("latency", "network_latency"):
        assert set(record[kind]) >= {"mean", "p50", "p95", "p99", "max"}
    assert record["predicted"]["latency_mean"] == pytest.approx(2 + 0.25 + 0.3)
    assert call(*words.split(), *SHORT, "--seed", "1", "--json").out == out
    assert call(*words.split(), *SHORT, "--seed", "2", "--json").out != out


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        *(name if name in ("torus", "combining") else long(name) for name in FAMILIES),
        "generalized-cube",
        long("fly"),
    ],
)
def test_sim_knows_all_names(name: str, call: Call) -> None:
    size = [f"{parameter}={value}" for parameter, value in find(name).example.items()]
    status, out, _ = call("sim", name, *size, "--cycles", "5", "--warmup", "0", "--json")
    assert status == 0
    assert json.loads(out)["network"] in FAMILIES


def test_sim_for_the_eye(call: Call) -> None:
    words = ("--load", "0.3", "--warmup", "10", "--cycles", "1000")
    status, out, err = call("sim", "cube", "ports=4", *words)
    assert (status, err) == (0, "")
    for words in (
        "cube ports=4 radix=2 routing=destination switch=output-queued payload=16 depth=4\n",
        "uniform traffic, 10 + 1000 + ",
        "│ latency ",
        "│ in the network ",
        "│ predicted ",
        "packets per terminal per cycle (offered 0.3000);\n",
        "least served: terminal ",
        "0 lost, 0 misrouted, 0 duplicated, 0 reordered\n",
        "not saturated: delivered ",
        "window: its length was given (latency ± ",
    ):
        assert words in out


def test_sim_beyond_the_histogram_for_the_eye(call: Call) -> None:
    _, out, _ = call("sim", "cube", "ports=2", "--cycles", "40", "--warmup", "0", "--bins", "2")
    assert "beyond" in out
    _, out, _ = call("sim", "cube", "ports=2", "--load", "0", "--cycles", "9", "--warmup", "0")
    assert "│ latency        │ -    │ -   │" in out


def test_sim_trace(call: Call, tmp_path: Path) -> None:
    # A name that a text with markup would trip over.
    name = "[/b] trace.csv"
    (tmp_path / "[").mkdir()
    (tmp_path / name).write_text("cycle,source,destination\n0,0,1\n4,3,2\n")
    status, out, _ = call("sim", "cube", "ports=4", "--trace", name, "--json")
    record = json.loads(out)
    assert status == 0
    assert record["latency"]["histogram"] == [0, 0, 2]
    assert record["traffic"] == name
    assert record["seed"] is None
    assert set(record["predicted"].values()) == {None}
    status, out, _ = call("sim", "cube", "ports=4", "--trace", name)
    assert status == 0
    assert f"{name} traffic" in out
    assert "the trace spans 5 cycles, its delivery took 7\n" in out
    assert "predicted" not in out


def test_sim_waves(call: Call, tmp_path: Path) -> None:
    words = ("--engine", "amaranth", "--vcd", "waves.vcd", "--cycles", "5", "--warmup", "0")
    assert call("sim", "cube", "ports=2", *words).status == 0
    assert "$enddefinitions" in (tmp_path / "waves.vcd").read_text()


def test_sweep(call: Call, tmp_path: Path) -> None:
    outputs = [f"curve{ending}" for ending in (".png", ".svg", ".csv", ".json")]
    words = [word for output in outputs for word in ("-o", output)]
    status, out, err = call(
        *("sweep", "cube", "ports=2", "switch=input-queued", "--loads", "0.2,1", "--no-refine"),
        *("--cycles", "1500", "--warmup", "20", "--source-depth", "16", "--processes", "1"),
        *words,
    )
    assert (status, err) == (0, "")
    for text in (
        "zero-load latency: 1.0",
        "saturation begins between loads 0.2000 and 1.0000;\n",
        "highest throughput: 0.7",
        "sustained throughput: 0.7",
        ", at load 1.0000\n",
        *(f"wrote {output}\n" for output in outputs),
    ):
        assert text in out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(outputs)
    with (tmp_path / "curve.csv").open(newline="") as stream:
        assert [row["offered_load"] for row in csv.DictReader(stream)] == ["0.2", "1.0"]


@pytest.mark.parametrize("command", [("sweep", "cube ports=2"), long(("compare", "cube ports=2"))])
def test_a_full_disk_takes_one_file_only(command: tuple[str, str], call: Call) -> None:
    """The table is printed, and the other file written: a sweep may have taken hours."""
    Path("a.csv").symlink_to("/dev/full")
    name, network = command
    words = network.split() if name == "sweep" else [network]
    outputs = ("-o", "a.csv", "-o", "b.json")
    options = ("--loads", "0.2", "--no-refine", "--processes", "1", *SHORT, *outputs)
    found = call(name, *words, *options)
    assert (found.status, found.err) == (
        2,
        "multicube: [Errno 28] No space left on device: 'a.csv'\n",
    )
    assert "wrote b.json" in found.out
    assert "wrote a.csv" not in found.out
    assert json.loads(Path("b.json").read_text())


def test_sweep_json(call: Call) -> None:
    status, out, _ = call(
        *("sweep", "cube", "ports=2", "--loads", "0.1:0.3:0.2", "--cycles", "40", "--warmup", "0"),
        *("--processes", "1", "--json"),
    )
    record = json.loads(out)
    assert status == 0
    assert [point["offered_load"] for point in record["points"]] == [0.1, 0.3]
    assert all(not point["saturated"] and point["verdict"] for point in record["points"])
    assert record["saturation_throughput"] is None


def test_list(call: Call) -> None:
    record = call("list", "--json").record
    assert {network["name"] for network in record["networks"]} == set(FAMILIES)
    cube = next(network for network in record["networks"] if network["name"] == "cube")
    assert "generalized-cube" in cube["aliases"]
    ports = next(word for word in cube["parameters"] if word["name"] == "ports")
    assert ports["default"] == "auto"
    assert "auto" in record["engines"]
    assert "uniform" in record["traffic"]
    status, out, _ = call("list")
    assert status == 0
    for word in (*FAMILIES, "fly", "Traffic: uniform, hotspot:H[:T], "):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    # Most networks take one line or two, whatever their number.
    assert len(out.splitlines()) < 2 * len(FAMILIES)


def test_list_of_one_network_tells_its_own_limits(call: Call) -> None:
    text = call("list", "Torus").out
    assert re.search(r"^depth +4 +1 to 65536 +flits that fit into each queue *$", text, re.M)
    assert "radix" not in text
    assert max(map(len, text.splitlines())) <= 80
    text = call("list", "cedar").out
    assert "preset of processor-memory ports=64 radix=8 depth=2" in text
    assert re.search(r"^lengths +1:2:3 +LOAD:STORE:OTHER ", text, re.M)
    text = call("list", "tc2000").out
    assert "preset of butterfly ports=128 radix=8+ switch=wormhole" in text
    assert re.search(r"^radix +8\+ +2 to 64, AxBxC ", text, re.M)
    ports = call("list", "cube", "--json").record["networks"][0]["parameters"][0]
    assert (ports["name"], ports["least"], ports["most"]) == ("ports", 2, 65536)
    status, out, err = call("list", "tours")
    assert (status, out) == (2, "")
    assert err.endswith("not 'tours'; did you mean 'torus'?\n")


@pytest.mark.long
def test_export_with_partitions(call: Call, tmp_path: Path) -> None:
    """The privileged port is in the Verilog; a wiring that can't be divided is refused."""
    file = tmp_path / "parts.v"
    status, _, err = call("export", "cube", "ports=4", "--partitions", "-o", str(file))
    assert (status, err) == (0, "")
    ports = json.loads((tmp_path / "parts.v.json").read_text())["ports"]
    widths = {port["name"]: port["width"] for port in ports}
    assert [widths[name] for name in ("mask", "mask_member", "mask_write")] == [2, 2, 1]
    assert "partition_interface partition_3 (" in file.read_text()
    other = tmp_path / "other.v"
    status, _, err = call("export", "baseline", "ports=4", "--partitions", "-o", str(other))
    assert status == 2
    assert err.startswith("multicube: Partitions need a wiring ")
    assert not other.exists()


def test_export(call: Call, tmp_path: Path) -> None:
    status, out, _ = call("export", "cube", "ports=4", "-o", "net.v", "--top", "cube4")
    assert status == 0
    assert "module cube4" in out
    assert "module cube4" in (tmp_path / "net.v").read_text()
    assert json.loads((tmp_path / "net.v.json").read_text())
    status, out, _ = call("export", "cube", "ports=4", "-o", "net.v", "--json")
    assert json.loads(out)["output"] == "net.v"


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, call: Call) -> None:
    for flag in ("-h", "--help"):
        status, out, err = call(command, flag)
        assert (status, err) == (0, "")
        assert out.startswith(f"Usage: multicube {command}")


def test_help_of_all(call: Call) -> None:
    status, out, _ = call("--help")
    assert status == 0
    for command in COMMANDS:
        assert f"\n  {command} " in out
    assert call("--version") == (0, f"multicube {version('multicube')}\n", "")
    status, out, err = call()
    assert status == 2
    assert out == ""
    assert err.startswith("Usage: multicube")


def test_a_broken_command_of_another_package_costs_no_other(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("multicube.sim.command.entry_point")
    given = {"gone": "nowhere:command", "wrong": "math:pi"}
    pairs = (*given.items(), ("both", "one:command"), ("both", "other:command"), ("list", "far:it"))
    found = [EntryPoint(name, value, "multicube.commands") for name, value in pairs]
    monkeypatch.setattr(module, "entry_points", lambda group: found)
    module._plugins.cache_clear()
    listed = " ".join(call("--help").out.split())
    for name, why in (("gone", "can't be loaded: ModuleNotFound"), ("wrong", "must be a command")):
        message = f"Command {name} of another package ({given[name]}) {why}"
        status, _, err = call(name)
        assert status == 2
        assert message in err
        assert message in listed
    message = "Command both must be of one other package, not of one:command, other:command"
    assert message in listed
    assert message in call("both").err
    status, out, err = call("list", "ring", "--json")
    assert (status, err) == (0, "multicube: list is its own command, not far:it\n")
    assert json.loads(out)
    module._plugins.cache_clear()


# Each bad input: the words, and what the one line says (all of the parts).
BAD = [
    ("sim cube ports=0", "Ports must be ", "2", "not 0"),
    ("sim cube ports=-8", "Ports must be ", "2", "not -8"),
    ("sim cube ports=1", "Ports must be ", "2", "not 1"),
    ("sim cube ports=12 radix=2", "Ports must be a power of the radix 2, not 12"),
    ("sim cube ports=1000000000", "Ports must be ", "not 1000000000"),
    ("sim cube ports=eight", "Parameter ports must be an integer or auto, not 'eight'"),
    ("sim cube ports=", "Parameter ports must be an integer or auto, not ''"),
    ("sim cube ports=8.0", "Parameter ports must be an integer or auto, not '8.0'"),
    ("sim cube radix=1", "Radix must be ", "2", "not 1"),
    ("sim cube ports=9 radix=3 routing=xor", "XOR tags need a radix", "power of two, not 3"),
    ("sim cube depth=0", "Depth must be ", "1", "not 0"),
    ("sim cube payload=0", "Payload must be ", "1", "not 0"),
    ("sim cube switch=queued", "Parameter switch must be one of ", "not 'queued'"),
    ("sim cube routing=left", "Parameter routing must be one of ", "not 'left'"),
    ("sim cube colour=red", "Parameter of cube must be one of ports, ", "not 'colour'"),
    ("sim cube pörts=8", "Parameter of cube must be one of ports, ", "not 'pörts'"),
    ("sim cube ports", "Parameter must be written as name=value, not 'ports'"),
    ("sim cube =8", "Parameter must be written as name=value, not '=8'"),
    ("sim cube ports=8 ports=8", "Parameter ports is given twice"),
    ("sim kube", "Network must be one of cube, ", "not 'kube'"),
    ("sim", "Missing argument 'NETWORK'"),
    ("simul", "Command must be one of ", "not 'simul'; did you mean 'sim'?"),
    ("sim cube --lod 1", "No such option", "--lod"),
    ("sim cube --load 1.5", "Load must be from 0 to 1 packets per terminal per cycle, not 1.5"),
    ("sim cube --load -0.5", "Load must be from 0 to 1 packets per terminal per cycle, not -0.5"),
    ("sim cube --load nan", "Load must be from 0 to 1 packets per terminal per cycle, not nan"),
    ("sim cube --load inf", "Load must be from 0 to 1 packets per terminal per cycle, not inf"),
    ("sim cube --load abc", "--load", "'abc' is not a valid float"),
    ("sim cube --load 0_1", "--load", "'0_1' is not a valid float"),
    ("sim cube --cycles 0", "Cycles must be from 1 to 2147483648, not 0"),
    ("sim cube --cycles 1e3", "--cycles", "'1e3' is not a valid integer"),
    ("sim cube --cycles 1_0", "--cycles", "'1_0' is not a valid integer"),
    ("sim cube --seed \N{ARABIC-INDIC DIGIT THREE}", "--seed", "is not a valid integer"),
    ("board run ulx3s-85f cube --cycles 1_0", "--cycles", "'1_0' is not a valid integer"),
    ("studio --port 65536", "Port must be from 0 to 65535, not 65536"),
    ("sim cube --cycles 9999999999", "Cycles must be from 1 to 2147483648, not 9999999999"),
    ("sim cube --warmup later", "Warm-up must be auto or a number of cycles, not 'later'"),
    ("sim cube --warmup -1", "Warm-up must be from 0 to 2147483648, not -1"),
    ("sim cube --seed -1", "Seed must be at least 0, not -1"),
    ("sim cube --source-depth 0", "Source depth must be from 1 to 1048576, not 0"),
    ("sim cube --bins 1", "Bins must be from 2 to 1048576, not 1"),
    ("sim cube --engine warp", "Engine must be one of auto, ", "not 'warp'"),
    ("sim cube --traffic rush", "Traffic must be one of uniform, ", "not 'rush'"),
    ("sim cube --traffic shift:x", "Traffic 'shift:x' needs an integer in place of 'x'"),
    ("sim cube --traffic lambda:2:1", "Factor j of lambda must have no common factor", "not 2"),
    ("sim cube --traffic hotspot:2", "Fraction H of hotspot must be from 0 to 1, not 2"),
    (
        "sim cube ports=9 radix=3 --traffic bit-reversal",
        "Ports of this permutation must be a power of two, not 9",
    ),
    ("sim cube --trace none.csv", "Trace none.csv can't be read: No such file or directory"),
    ("sim cube --trace .", "Trace . can't be read: Is a directory"),
    ("sim cube --trace empty.csv", "Trace empty.csv", "cycle,source,destination"),
    ("sim cube --trace header.csv", "Trace header.csv holds no packets"),
    ("sim cube --trace bad.csv", "Trace bad.csv, line 4: ", "integers, not '7,x,1'"),
    ("sim cube ports=2 --trace far.csv", "line 2: destination must be ", "0 to 1, not 5"),
    ("sim cube --trace far.csv --load 0.5", "A trace takes no --load"),
    ("sim cube --trace far.csv --traffic uniform", "A trace takes no --traffic"),
    ("sim cube --trace far.csv --cycles 10", "A trace takes no --cycles"),
    ("sim cube --trace far.csv --source-depth 10", "A trace takes no --source-depth"),
    ("sim cube --cycles 9 --limit 99", "With --cycles alone there is no --limit: "),
    ("sweep cube --cycles 9 --limit 99", "With --cycles alone there is no --limit: "),
    ("compare cube --cycles 9 --limit 99", "With --cycles alone there is no --limit: "),
    ("bench cube --engine compiled --verilator-limit 9", "there is no --verilator-limit: "),
    ("sim cube --vcd none/x.vcd", "Output none/x.vcd can't be written: there is no folder none"),
    ("sweep cube -o none/x.png", "Output none/x.png can't be written: there is no folder none"),
    ("sweep cube -o x.gif", "Output x.gif must end in .csv, .json, .svg, .png, .pdf"),
    ("sweep cube -o folder.png", "Output folder.png is a folder, not a file"),
    ("sweep cube --loads 0.1:0.9:0", "Loads must be FIRST:LAST:STEP or ", "not '0.1:0.9:0'"),
    ("export cube ports=2 -o - --period 5", "Option --period needs files of constraints, "),
    ("sweep cube --loads=", "Loads must be FIRST:LAST:STEP or ", "not ''"),
    ("sweep cube --text -o a.png", "--text is for a picture of text: write one with -o FILE.svg"),
    ("draw cube -o - --json", "Output - and --json would both go to standard output"),
    ("sweep cube --loads high", "Loads must be FIRST:LAST:STEP or ", "not 'high'"),
    ("sweep cube --loads 0.5,1.5", "Load must be from 0 to 1 ", "not 1.5"),
    ("sweep cube --loads 0:1:1e-12", "Loads must be at most 1000", "'0:1:1e-12'"),
    ("sweep cube --processes 0", "Processes must be at least 1, not 0"),
    ("sweep kube --loads 0.1", "Network must be one of cube, ", "not 'kube'"),
    ("export cube -o none/net.v", "Output none/net.v can't be written: there is no folder none"),
    ("export cube ports=12 -o net.v", "Ports must be a power of the radix 2, not 12"),
    ("export cube", "Missing option '-o'"),
    ("export cube -o net.v --top module", "module"),
    ("export cube -o net.v --top 8ball", "8ball"),
    ("draw cube -o net.svg --path 0", "Path must be two terminals S:D, not '0'"),
    ("draw cube -o net.svg --path 0:8", "Address must be from 0 to 7, not 8"),
    ("draw cube -o net.gif", "Output net.gif must end in .svg, .png, .pdf"),
    ("draw cube -o none/net.svg", "Output none/net.svg can't be written: there is no folder none"),
    ("draw torus -o net.svg --path 0:16", "Address must be from 0 to 15, not 16"),
    ("draw omega ports=2048 -o net.svg", "Nodes of a drawing must be at most 8192, not 11264"),
    ("measure dcsh", "Only networks of nodes and links can be measured, not 'dcsh'"),
    ("sim hierarchical level1=delta", "There must be as many sources as sinks here, not 16 and 9"),
    ("draw dcsh -o net.svg --heat none.json", "File none.json can't be read: No such file"),
    ("list --jason", "No such option", "--jason"),
]


@pytest.mark.parametrize(("words", "parts"), [(row[0], row[1:]) for row in BAD])
def test_bad_input(words: str, parts: tuple[str, ...], call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "header.csv").write_text("cycle,source,destination\n")
    (tmp_path / "bad.csv").write_text("cycle,source,destination\n0,0,1\n\n7,x,1\n")
    (tmp_path / "far.csv").write_text("cycle,source,destination\n0,0,5\n")
    (tmp_path / "folder.png").mkdir()
    before = sorted(tmp_path.iterdir())
    status, out, err = call(*words.split())
    assert status == 2
    assert out == ""
    assert err.startswith("multicube: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for part in parts:
        assert part in err
    assert sorted(tmp_path.iterdir()) == before


def test_strange_words(call: Call) -> None:
    for word in ("", " ", "\x1b[31m", "网络", "a\nb", "%s", "\udcff"):
        status, out, err = call("sim", word)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert "\x1b" not in err


def replace_simulate(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    module = importlib.import_module("multicube.sim.run.simulation")
    original = module.simulate
    monkeypatch.setattr(module, "simulate", lambda *a, **o: change(original(*a, **o)))


@pytest.mark.parametrize(("interrupted", "status"), [(False, 1), (True, 130)])
def test_unbalanced_books(
    interrupted: bool, status: int, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(result: Any) -> None:
        result = replace(result, partial=interrupted)
        raise SimulationError("The books do not balance: 3 lost or stuck", result)

    replace_simulate(monkeypatch, lose)
    assert call("sim", "cube", "ports=2", *SHORT, "--json") == (
        status,
        "",
        "multicube: The books do not balance: 3 lost or stuck\n",
    )


@pytest.mark.long
def test_the_losses_of_a_fault_are_shown(call: Call) -> None:
    words = ("sim", "cube", "ports=2", "--fault", "link:0:1:lossy", *SHORT)
    status, out, err = call(*words)
    assert status == 1
    lost = re.search(r"^(\d+) lost, 0 misrouted", out, re.M)
    assert lost
    assert int(lost[1]) > 0
    assert err == f"multicube: The books do not balance: {lost[1]} lost or stuck\n"
    again = call(*words, "--json")
    assert (again.status, again.err) == (1, err)
    assert json.loads(again.out)["lost"] == int(lost[1])


@pytest.mark.long
def test_nothing_is_said_of_hardware_that_an_interrupt_left(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        unused = SyncFIFO(width=1, depth=2)
        raise KeyboardInterrupt(unused)

    module = importlib.import_module("multicube.sim.run.simulation")
    monkeypatch.setattr(module, "open_engines", stop)
    with warnings.catch_warnings(record=True) as warned:
        outcome = call("sim", "cube", "ports=2", *SHORT)
        gc.collect()
    assert (outcome.status, outcome.err.strip()) == (130, "multicube: interrupted")
    assert not warned


@pytest.mark.long
def test_partial_result(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_simulate(monkeypatch, lambda result: replace(result, partial=True, lost=None))
    status, out, err = call("sim", "cube", "ports=2", *SHORT)
    assert (status, err) == (130, "")
    assert "? lost, 0 misrouted" in out
    assert out.endswith("PARTIAL: the run was interrupted\n")
    status, out, _ = call("sim", "cube", "ports=2", *SHORT, "--json")
    assert status == 130
    assert json.loads(out)["partial"] is True


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "multicube: interrupted\n"),
        (MemoryError(), 2, "multicube: There is not enough memory for this\n"),
        (OSError(28, "No space left on device"), 2, "multicube: [Errno 28] No space left on"),
    ],
)
def test_trouble_is_one_line(
    error: BaseException, status: int, line: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise error

    replace_simulate(monkeypatch, fail)
    outcome = call("sim", "cube", "ports=2", *SHORT)
    assert outcome.status == status
    err = outcome.err.removeprefix("\n")  # click ends the line with ^C
    assert err.startswith(line)
    assert err.count("\n") == 1


# The installed program


def program() -> str:
    beside = Path(sys.executable).with_name("multicube")
    found = os.fspath(beside) if beside.exists() else shutil.which("multicube")
    if found is None:
        pytest.skip("the command is not installed")
    return found


def test_installed_program(tmp_path: Path) -> None:
    words = [program(), "sim", "cube", "ports=2", *SHORT, "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["lost"] == 0
    done = subprocess.run(
        [program(), "sim", "cube", "ports=12"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    line = "multicube: Ports must be a power of the radix 2, not 12\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
    assert not list(tmp_path.iterdir())


def open_sizes(process: int, folder: Path) -> Iterator[int]:
    """The sizes of the files in a folder that a process has open: some have no name until they are
    complete."""
    yield 0
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if os.readlink(file).startswith(f"{folder}/"):
                yield file.stat().st_size


@pytest.mark.parametrize(("number", "status"), [long(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_program(number: int, status: int, tmp_path: Path) -> None:
    # Small memories, so that the file grows by cycles and not by its first lines.
    words = (
        "sim cube ports=2 --cycles 100000000 --engine amaranth --vcd waves.vcd --json "
        "--bins 16 --source-depth 4"
    )
    with started([program(), *words.split()], cwd=tmp_path) as process:
        wait_for(lambda: max(open_sizes(process.pid, tmp_path)) > 400_000)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == status, err
    assert "Traceback" not in err
    record = json.loads(out)
    assert record["partial"] is True
    assert record["injected"] > 0
    assert [file.name for file in tmp_path.iterdir()] == ["waves.vcd"]


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), long(signal.SIGTERM, 143)])
def test_interrupted_sweep(number: int, status: int, tmp_path: Path) -> None:
    """Loads that had been simulated are written, and nobody goes on with the others."""
    words = "sweep cube ports=2 --loads 0.1,0.5 --no-refine --engine amaranth --processes 2 "
    words += "--bins 16 --source-depth 4 --warmup 0 --cycles 300 -o curve.csv --json "
    words += "--resume points.json"
    kept = tmp_path / "points.json"
    # The second load takes for ever; the bar on standard error is not shown without a terminal.
    patch = (
        "import time; from multicube.sim.run import simulation\n"
        "usual = simulation.random_run\n"
        "def slow(*words):\n"
        "    if words[2].load == 0.5:\n"
        "        open('begun', 'w').close(); time.sleep(600)\n"
        "    return usual(*words)\n"
        "simulation.random_run = slow\n"
    )
    (tmp_path / "patched.py").write_text(patch)
    program_ = (
        "import patched, multicube.sim.run.sweeps as sweeps, multicube.sim.command as command\n"
        "usual = sweeps.simulate_runs\n"
        "def run(*words, **options):\n"
        "    import patched\n"
        "    return usual(*words, **options)\n"
        "sweeps.simulate_runs = run\n"
        "command.main()"
    )
    with started([sys.executable, "-c", program_, *words.split()], cwd=tmp_path) as process:
        wait_for((tmp_path / "begun").exists)
        wait_for(lambda: kept.exists() and len(json.loads(kept.read_text())["points"]) == 2)
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (status, "")
    record = json.loads(out)
    assert record["partial"] is True
    assert [point["offered_load"] for point in record["points"]] == [0.1]
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 2
    assert not psutil.wait_procs(below, timeout=120)[1]


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), long(signal.SIGTERM, 143)])
def test_an_interrupted_compiler_ends(number: int, status: int, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\ncase $* in *--version*) exit;; esac\nsleep 300; true\n")
    compiler.chmod(0o700)
    cache = tmp_path / "cache"
    environment = {**os.environ, "CC": str(compiler), "MULTICUBE_CACHE": str(cache)}
    words = [program(), "sim", "cube", "ports=2", "--engine", "compiled"]
    with started(words, cwd=tmp_path, env=environment) as process:

        def below() -> list[psutil.Process]:
            return psutil.Process(process.pid).children(recursive=True)

        wait_for(lambda: any(each.name() == "sleep" for each in below()))
        programs = below()
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err.strip()) == (status, "", "multicube: interrupted")
    assert not psutil.wait_procs(programs, timeout=120)[1]
    assert not list(cache.iterdir())


def run(words: str, folder: Path, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program(), *words.split()], cwd=folder, capture_output=True, timeout=120, **options
    )


@pytest.mark.long
def test_output_is_standard_output(tmp_path: Path) -> None:
    done = run("export cube ports=2 -o - --top pair", tmp_path)
    assert done.returncode == 0
    assert b"\nmodule pair" in done.stdout
    assert done.stderr == b"-: module pair with 1 cell of 1 distinct module(s)\n"
    assert run("export cube ports=2 -o /dev/stdout --top pair", tmp_path).stdout == done.stdout

    short = " ".join(SHORT)
    done = run(f"sweep cube ports=2 --loads 0.2 --no-refine --processes 1 -o - {short}", tmp_path)
    assert done.returncode == 0
    (row,) = csv.DictReader(done.stdout.decode().splitlines())
    assert float(row["offered_load"]) == 0.2
    assert b"zero-load latency" in done.stderr

    done = run(f"sim cube ports=2 --vcd - {short}", tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b"$comment")
    assert b"0 lost" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words", ["sim cube --vcd -", "sweep cube -o -", "export cube -o /dev/stdout"]
)
def test_standard_output_takes_one_thing(words: str, tmp_path: Path) -> None:
    done = run(f"{words} --json", tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    output = words.rpartition(" ")[2].encode()
    line = b"multicube: Output %b and --json would both go to standard output\n"
    assert done.stderr == line % output


@pytest.mark.long
def test_nothing_is_beside_a_device(tmp_path: Path, call: Call) -> None:
    (tmp_path / "null.v").symlink_to("/dev/null")
    assert call("export", "cube", "ports=2", "-o", "null.v").status == 0
    status, _, err = call("export", "cube", "ports=2", "-o", "null.v", "--core")
    assert status == 2
    assert err == "multicube: A core file needs a Verilog file that it can name, not null.v\n"
    assert [path.name for path in tmp_path.iterdir()] == ["null.v"]
    assert (tmp_path / "null.v").is_symlink()


@pytest.mark.long
def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    words = [program().encode(), *b"export cube ports=2 -o \xff.v".split()]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*words, b"--core"], cwd=tmp_path, capture_output=True, timeout=120, env=environment
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"A core file can only name a file of ASCII letters" in done.stderr
    assert not list(tmp_path.iterdir())
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=120, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [
        b"\xff.sdc",
        b"\xff.v",
        b"\xff.v.json",
        b"\xff.xdc",
    ]


@pytest.mark.long
def test_terminals_of_ascii_only(tmp_path: Path) -> None:
    done = run(
        "sim cube ports=2 --cycles 200 --warmup 0",
        tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (row,) = (line for line in done.stdout.splitlines() if line.startswith(b"| latency "))
    assert b" +- " in row
    assert b"\\" not in done.stdout


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    words = "sim cube ports=2 --vcd waves.vcd --cycles 2000 --warmup 0"
    done = run_on_full_disk(program(), *words.split(), folder=tmp_path)
    line = "multicube: [Errno 27] File too large: 'waves.vcd'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["list"], ["list", "torus"], long(["--help"])])
def test_closed_pipe(words: list[str], tmp_path: Path) -> None:
    # As in `multicube list | head -1`.
    with started([program(), *words], cwd=tmp_path) as process:
        process.stdout.close()
        err = process.stderr.read()
    # Not 1, which says that packets were lost.
    assert process.wait() == 128 + signal.SIGPIPE
    assert "Traceback" not in err
    assert all(not line or line.startswith("multicube: ") for line in err.split("\n"))


@pytest.mark.long
def test_seeds_differ_from_point_to_point_only_in_load(call: Call) -> None:
    # The same words give the same text, for the eye too.
    words = ("sim", "cube", "ports=2", "--load", "0.7", *SHORT)
    assert call(*words) == call(*words)
    texts = [call(*words, "--seed", str(seed)).out for seed in (1, 2, 3)]
    assert all(a != b for a, b in itertools.combinations(texts, 2))


INTERRUPTED_IMPORT = """
import builtins
usual = builtins.__import__

def interrupted(name, *rest, **options):
    if name == "click":
        raise KeyboardInterrupt
    return usual(name, *rest, **options)

builtins.__import__ = interrupted
from multicube.sim.command import main
main(["list"])
"""


def test_interruption_while_the_command_is_loaded_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "multicube: interrupted\n")


def test_names_of_the_simulation_package_are_there() -> None:
    package = importlib.import_module("multicube.sim")
    assert dir(package) == package.__all__
    assert all(getattr(package, name).__name__ == name for name in package.__all__)
    with pytest.raises(AttributeError, match=r"has no attribute 'simulations'$"):
        package.simulations  # noqa: B018
