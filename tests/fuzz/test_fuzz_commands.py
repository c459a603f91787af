"""Random command lines: each runs, or is refused in one line and writes nothing."""

import contextlib
import io
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from fuzzing import fuzz, mutated
from hypothesis import strategies as st
from long_runs import long
from multicube.hdl import FAMILIES
from multicube.sim.command import main

TRAFFIC = ["uniform", "hotspot:0.3:1", "one-each", "shift:1", "tornado", "bit-reversal", "1,0"]
TRAFFIC += ["uniform+bursts:20:60", "uniform+interval:16", "sphere:0.8", "neighbor", "randperm"]
TRAFFIC += ["broadcast:0.2", "all-to-one:1", "file:trace.csv", "matrix:1,1/1,2", "3,x,0,1"]

NUMBERS = st.sampled_from(["0", "1", "2", "3", "4", "7", "8", "-1", "0.5", "1e12", "9" * 20])

SMALL = ["--cycles", "20", "--warmup", "0", "--bins", "8", "--source-depth", "2"]
"""The last words of simulations, which keep them short whatever came before."""

OPTIONS = {
    "--load": ["0", "0.3", "1"],
    "--traffic": TRAFFIC,
    "--unit": ["packets", "flits"],
    "--precision": ["5%", "0.3"],
    "--seeds": ["1", "2"],
    "--seed": ["0", "1", "77"],
    "--history": ["0", "4"],
    "--operations": ["all", "load", "fetch-and-add,store"],
    "--engine": ["auto", "amaranth", "compiled"],
    "--json": [],
}

TIGHT = ("sim", "sweep", "compare", "bench", "synth", "export", "board build", "board run")
"""Commands that elaborate all hardware."""

RUNS: dict[str, dict[str, list[str]]] = {
    "sim": {
        **OPTIONS,
        "--trace": ["trace.csv", "run.json"],
        "--fault": [
            *("link:0:1", "box:0:0:lossy", "entry:1:flip=0:rate=0.5", "box:0:0:straight"),
            *("link:router_0.o.0:severed", "random:1:link:babbling:begins=0.1:ends=0.5"),
            "random:2:state:rate=0.1",
        ],
        "--reroute": ["0", "5"],
        "--vcd": ["waves.vcd", "-", "none/x.vcd"],
        "--activity": ["a.saif", "-", "none/a.saif"],
    },
    "sweep": {**OPTIONS, "-o": ["a.csv", "a.json", "-", "a.gif", "none/a.csv"]},
    "compare": {
        **OPTIONS,
        "--per": ["terminal", "wire", "bisection"],
        "-o": ["a.csv", "a.json", "-", "a.gif", "none/a.csv"],
    },
}

SLOW: dict[str, dict[str, list[str]]] = {"bench": {"--load": OPTIONS["--load"], "--json": []}}
"""Each run takes seconds."""

OTHERS: dict[str, dict[str, list[str]]] = {
    "list": {"--json": []},
    "deadlock": {"--json": []},
    "export": {
        "-o": ["a.v", "-", "none/a.v", "b.sv"],
        "--top": ["network", "pair", "module", "8x"],
        "--partitions": [],
        "--group-port": [],
        "--node": [],
        "--core": [],
        "--ports": ["streams", "axis"],
        "--terminal-clocks": ["each", "one", "own"],
        "--crossing-depth": ["4", "6"],
        "--json": [],
    },
    "draw": {
        "-o": ["a.svg", "a.gif", "-"],
        "--path": ["0:1", "1:0", "0:99"],
        "--heat": ["none.json"],
        "--json": [],
    },
    "measure": {"--alpha": ["0", "0.3", "2"], "--seed": ["1"], "--json": []},
    "permute": {"--passes": [], "--json": []},
    "steps": {"--operation": ["add", "max"], "--tries": ["1", "2"], "--seed": ["3"], "--json": []},
    "paper": {
        "-o": ["a.csv", "a.json", "-", "a.gif", "none/a.csv"],
        "--cycles": ["1", "50"],
        "--seed": ["0", "7"],
        "--engine": OPTIONS["--engine"],
        "--json": [],
    },
    "synth": {
        "--device": ["ecp5-85k", "ice40-up5k"],
        "--seeds": ["0", "1", "2"],
        "--node": [],
        "--cell": ["box_0_0", "router_0", "none"],
        "--verilog": ["counter.v", "trace.csv", "none.v"],
        "--top": ["counter", "counter WIDTH=3", "none"],
        "--clock": ["clk", ""],
        "--other-clock": ["clk", "none"],
        "--reset": ["rst", ""],
        "--flags": ["-abc9", "-nowidelut -nodffe", "; ls"],
        "--json": [],
    },
    "rerun": {"--row": ["1", "2"], "--json": []},
    "board list": {"--json": []},
    "board build": {
        "--baud": ["1000000", "9600", "7"],
        "--counter-bits": ["10", "99"],
        "-o": ["trace.csv", "none/x"],  # a plan takes long to write
    },
    "board run": {"--baud": ["1000000"], "--load": ["0.5"], "--no-flows": []},
}

ENDS = {
    "sweep": ["--no-refine", "--processes", "1", "--loads", "0.2", *SMALL],
    "sim": SMALL,
    "compare": ["--no-refine", "--processes", "1", "--loads", "0.2", *SMALL],
    "bench": ["--seconds", "0.01", "--runs", "1", "--engine", "amaranth", "--engine", "compiled"],
    "paper": ["--quick"],
    "synth": ["--limit", "0.01"],  # that no tool keeps
    "measure": ["--limit", "0.1"],
    "steps": ["--engine", "amaranth"],
    "board build": ["--json", "--plan"],  # the first one may become the folder of an -o before
}

TINY = {"cube": "ports=2", "ring": "k=2", "hypercube": "n=1"}
"""Networks whose simulation is built in a fraction of a second."""

ITEMS = ["siegel-fig4", "siegel-crossings", "siegel-tags", "dandamudi-table1", "ginosar-fig6"]
"""Items of `paper` that take a fraction of a second."""

COUNTER = """
module counter(input clk, input rst, output reg [7:0] count);
  always @(posedge clk) count <= rst ? 0 : count + 1;
endmodule
"""

WORDS = st.one_of(NUMBERS, st.sampled_from([*FAMILIES, *OPTIONS, *TRAFFIC, "--help", "ports=2"]))


@st.composite
def networks(draw: st.DrawFn, tiny: bool) -> list[str]:
    """A network and some of its parameters; it is tiny, or as small as its example."""
    family = FAMILIES[draw(st.sampled_from(sorted(TINY if tiny else FAMILIES)))]
    given: dict[str, Any] = dict(family.example)
    if tiny:
        given = dict([TINY[family.name].split("=")])
    for parameter in draw(st.lists(st.sampled_from(family.parameters), max_size=3)):
        if parameter.words and draw(st.booleans()):
            given[parameter.name] = draw(st.sampled_from(parameter.words))
        elif parameter.least is not None and parameter.name not in given:
            given[parameter.name] = parameter.least + draw(st.integers(-1, 2))
    return [family.name, *(f"{name}={value}" for name, value in given.items())]


@st.composite
def options(draw: st.DrawFn, known: dict[str, list[str]]) -> list[str]:
    found = []
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True)):
        values = known[name]
        found += [name, draw(st.sampled_from(values))] if values else [name]
    return found


@st.composite
def command_lines(draw: st.DrawFn, commands: dict[str, dict[str, list[str]]]) -> list[str]:
    name = draw(st.sampled_from(sorted(commands)))
    first = draw(networks(tiny=name in TIGHT))
    match name:
        case "rerun":
            first = [draw(st.sampled_from(["run.json", "trace.csv", "none"]))]
        case "permute":
            first = [*first, draw(st.sampled_from(TRAFFIC))]
        case "steps":
            first = [*first, draw(st.sampled_from(["broadcast", "concentration", *TRAFFIC]))]
        case "compare":
            first = [" ".join(first), " ".join(draw(networks(tiny=True)))]
        case "paper":
            first = [draw(st.sampled_from(ITEMS))]
        case "synth":
            first = first[: draw(st.sampled_from([0, len(first)]))]
        case "list":
            first = first[: draw(st.integers(0, 1))]
        case "board list":
            first = []
        case "board build":
            first = [draw(st.sampled_from(["icebreaker", "ulx3s-85f", "arty-a7-35"])), *first]
        case "board run":
            first = [draw(st.sampled_from(["/dev/null", "none"])), *first]
    # The last words stay: most of all they say how little is to be simulated.
    rest = draw(mutated(st.just([*first, *draw(options(commands[name]))]), WORDS))
    limit = ["--limit", "400"] if "--precision" in rest else []
    return [*name.split(), *rest, *ENDS.get(name, []), *limit]


def call(words: list[str]) -> tuple[int, str, str]:
    """The status and the output of the command, run here."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as left,
    ):
        main(words)
    texts = []
    for each in (out, err):
        each.flush()
        texts.append(each.buffer.getvalue().decode("utf-8", "replace"))
    return left.value.code, texts[0], texts[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which each command finds the same files."""
    monkeypatch.chdir(tmp_path)
    status, text, _ = call(["sim", "cube", "ports=2", "--json", *SMALL])
    assert status == 0
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "counter.v").write_text(COUNTER)
    (tmp_path / "trace.csv").write_text("cycle,source,destination\n0,0,1\n3,1,0\n")
    return tmp_path


def run(words: list[str], folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    try:
        check(words, folder, before)
    finally:  # the next command finds the same files, also after one that took too long
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in before.items():
            (folder / name).write_bytes(content)
    assert os.getcwd() == str(folder)


def check(words: list[str], folder: Path, before: dict[str, bytes]) -> None:
    status, out, err = call(words)
    lines = err.splitlines()
    assert status in (0, 1, 2), err
    # A refusal is one line; but without a subcommand, and with --help, the usage is printed.
    if status == 2:
        assert err.startswith("Usage: ") or (out == "" and len(lines) == 1), err
    assert len(lines) <= 1 or status == 0 or err.startswith("Usage: "), err
    assert "\x1b" not in err
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    if status == 2:
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("commands", "count"), [(RUNS, 6), (OTHERS, 24), long(SLOW, 4)], ids=["runs", "others", "slow"]
)
def test_command_lines(commands: dict[str, dict[str, list[str]]], count: int, folder: Path) -> None:
    fuzz(lambda words: run(words, folder), command_lines(commands), count=count)
