"""Bitstreams: the top of a board, the tools that build it, and their reports."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, Signal, Value
from amaranth.lib import io

from ..hdl.export.verilog import verilog_text
from ..hdl.fabric.checks import check_integer
from ..hdl.fabric.errors import InvalidValue
from ..hdl.support.children import run_program, scratch_folder
from ..sim.synthesis import SynthesisError
from .computer_board import BoardDesign
from .platforms import Board

__all__ = ["BoardTop", "Build", "build_board", "write_plan"]

_MODULE = "multicube_board"
_NAME = "top"
_REPORT = "report.json"

_OSCILLATOR = 600e6
"""What the oscillator of an ECP5's PLL runs at, in Hz: 400 to 800 MHz."""

_KEEP = "setattr -mod -set keep_hierarchy 1 *_paused_node* *_computer_node*"

_TOOLS = {
    "ecp5": {"NEXTPNR_ECP5": "nextpnr-ecp5", "ECPPACK": "ecppack"},
    "ice40": {"NEXTPNR_ICE40": "nextpnr-ice40", "ICEPACK": "icepack"},
}


class BoardTop(Elaboratable):
    """The design for amaranth-boards: a test bench, its clock, and the pins of its serial line.

    Parameters
    ----------
    board : Board
    bench : BoardDesign
        Its divisor must match the board.
    """

    def __init__(self, board: Board, bench: BoardDesign) -> None:
        self.board = board
        self.bench = bench

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.board.uart is not None:
            platform.add_resources([_line(self.board.uart)])
        # Its Verilog has each distinct module once, whatever the number of cells.
        platform.add_file(f"{_MODULE}.v", verilog_text(self.bench, name=_MODULE))
        pins = platform.request("uart", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", pins.rx)
        m.submodules.tx = tx = io.Buffer("o", pins.tx)
        # Registers get their initial values when the board is configured, so no reset is needed.
        m.submodules.bench = Instance(_MODULE, i_clk=self._clock(m), i_rst=0, i_rx=rx.i, o_tx=tx.o)
        return m

    def _clock(self, m: Module) -> Value:
        """The clock of the board, or a slower one from a PLL of an ECP5.

        Tools derive the frequency of the slower one from the board's.
        """
        divide = self.board.divide
        if divide == 1:
            return ClockSignal()
        slow = Signal()
        locked = Signal()
        clock = Signal()
        m.submodules.pll = Instance(
            "EHXPLLL",
            p_FEEDBK_PATH="CLKOP",
            p_CLKI_DIV=divide,
            p_CLKFB_DIV=1,
            p_CLKOP_DIV=round(_OSCILLATOR * divide / self.board.clock),
            p_CLKOP_ENABLE="ENABLED",
            i_CLKI=ClockSignal(),
            i_CLKFB=slow,
            o_CLKOP=slow,
            o_LOCK=locked,
        )
        # Until the PLL has locked, cycles may be too short: there are none.
        m.submodules.gate = Instance("DCCA", i_CLKI=slow, i_CE=locked, o_CLKO=clock)
        return clock


def _line(pins: Mapping[str, Any]) -> Any:
    """The serial line of a board without a chip for it."""
    from amaranth.build import Attrs
    from amaranth_boards.resources import UARTResource

    return UARTResource(0, **{**pins, "attrs": Attrs(**pins["attrs"])})


@dataclass(frozen=True)
class Build:
    """The result of a build.

    Attributes
    ----------
    board, device, network : str
    parameters : dict
    instruments : dict
    bitstream : str
        Path of the bitstream file.
    clock_mhz, fmax_mhz : float
        Clock of the test bench: required, and reached.
    luts, flipflops, memories : int
        Look-up tables (including those used as memories or carries), registers, block memories.
    utilization : dict[str, dict[str, int]]
        All resources that the placer counts: `used` and `available`.
    """

    board: str
    device: str
    network: str
    parameters: dict[str, Any]
    instruments: dict[str, Any]
    bitstream: str
    clock_mhz: float
    fmax_mhz: float
    luts: int
    flipflops: int
    memories: int
    utilization: dict[str, dict[str, int]]

    @property
    def meets_timing(self) -> bool:
        return self.fmax_mhz >= self.clock_mhz

    def to_json(self) -> dict[str, Any]:
        """All fields as plain lists, dictionaries, numbers and strings."""
        return asdict(self)


def write_plan(
    board: Board, bench: BoardDesign, folder: Path, *, seed: int = 1, keep_modules: bool = False
) -> str:
    """Write all inputs of the tools to a folder; return the name of the script that runs them.

    Parameters
    ----------
    board, bench, folder, seed, keep_modules
        As in `build_board`.

    Raises
    ------
    ValueError
        If amaranth-boards is not installed, or the tools know no such seed.
    """
    seed = check_integer("Seed", seed, 0, 2**31 - 1)
    platform = board.make()
    options = {}
    if board.tools:
        commands = ["hierarchy -top top", *bench.prunes, *([_KEEP] if keep_modules else [])]
        options["script_after_read"] = "\n".join(commands)
        options["nextpnr_opts"] = f"--report {_REPORT} --timing-allow-fail --seed {seed}"
    if board.tools == "ecp5":
        # Tables of more than four inputs take several sites, and cost more room than they save
        # time.
        options["synth_opts"] = "-nowidelut"
        # The default router takes many hours if three quarters of the device are used.
        options["nextpnr_opts"] += " --router router2"
    plan = platform.build(BoardTop(board, bench), name=_NAME, do_build=False, **options)
    plan.extract(folder)
    return f"{plan.script}.sh"


def build_board(
    board: Board, bench: BoardDesign, folder: Path, *, seed: int = 1, keep_modules: bool = False
) -> Build:
    """Build a bitstream.

    Parameters
    ----------
    board : Board
    bench : BoardDesign
    folder : Path
        Folder for all files; created if necessary.
    seed : int
        Seed of the placer.
    keep_modules : bool
        Boxes, routers and cores are synthesised once each, and not one by one, in which the
        addresses of their places are known. That takes less time, and less of the tool's stack,
        which passes that recurse along the logic of a large network exhaust; it takes up to a tenth
        more tables.

    Raises
    ------
    ValueError
        If the board needs its vendor's tools, or its tools are not installed.
    SynthesisError
        If the network does not fit, or another tool fails, or timing is not met.
    """
    if not board.tools:
        raise InvalidValue(f"Board {board.name} needs its vendor's tools: write a plan with --plan")
    environment = _environment(board)
    script = write_plan(board, bench, folder, seed=seed, keep_modules=keep_modules)
    bitstream = folder / f"{_NAME}.bit" if board.tools == "ecp5" else folder / f"{_NAME}.bin"
    bitstream.unlink(missing_ok=True)
    try:
        with scratch_folder() as temporary:
            done = run_program(
                ["sh", script], folder=folder, environment=environment, temporary=temporary
            )
        if done.returncode:
            said = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
            errors = [line for line in said if "ERROR" in line]
            # A tool that ran out of memory or stack says why in its last line, not as an error.
            last = [line for line in said if line][-1:]
            reason = (errors + last + [f"{script} ended with status {done.returncode}"])[0]
            if "stack exhausted" in reason and not keep_modules:
                reason += "; try --keep-modules"
            raise SynthesisError(f"The build of {board.name} failed: {reason}")
        result = _report(board, bench, folder, bitstream)
        if not result.meets_timing:
            raise SynthesisError(
                f"Timing is not met: {result.fmax_mhz:.1f} MHz of the {result.clock_mhz:g} MHz "
                f"that {board.name} needs"
            )
    except BaseException:  # leave no bitstream that was not checked
        bitstream.unlink(missing_ok=True)
        raise
    return result


def _environment(board: Board) -> dict[str, str]:
    """The environment for the scripts: tools that are named, or those from PyPI, or native ones."""
    folders = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": folders}
    # OrangeCrab's bitstream gets an optional suffix, which only the tool of its loader can add.
    environment.setdefault("DFU_SUFFIX", "true")
    for variable, tool in {"YOSYS": "yosys", **_TOOLS[board.tools]}.items():
        if variable in environment:
            continue
        found = [name for name in (f"yowasp-{tool}", tool) if shutil.which(name, path=folders)]
        if not found:
            raise InvalidValue(f"Tool {tool} is missing: pip install 'multicube[boards]'")
        environment[variable] = found[0]
    return environment


def _report(board: Board, bench: BoardDesign, folder: Path, bitstream: Path) -> Build:
    report = json.loads((folder / _REPORT).read_text("utf-8"))
    # The clock that is slowest relative to its target: the test bench's, unless the divider's is.
    slowest = min(
        report["fmax"].values(), key=lambda clock: clock["achieved"] / clock["constraint"]
    )
    log = (folder / f"{_NAME}.tim").read_text("utf-8")
    used = {name: row["used"] for name, row in report["utilization"].items()}
    luts, flipflops = (_ecp5_cells if board.tools == "ecp5" else _ice40_cells)(used, log)
    return Build(
        board=board.name,
        device=board.make().device,
        network=bench.network.family,
        parameters=bench.network.chosen,
        instruments=bench.settings,
        bitstream=str(bitstream),
        clock_mhz=slowest["constraint"],
        fmax_mhz=slowest["achieved"],
        luts=luts,
        flipflops=flipflops,
        memories=used.get("DP16KD", 0) + used.get("ICESTORM_RAM", 0),
        utilization=report["utilization"],
    )


def _ecp5_cells(used: Mapping[str, int], log: str) -> tuple[int, int]:
    return used["TRELLIS_COMB"], used["TRELLIS_FF"]


def _ice40_cells(used: Mapping[str, int], log: str) -> tuple[int, int]:
    """A logic cell of the iCE40 is a table, a register, or both; the packer's log says which."""

    def count(what: str) -> int:
        found = re.search(rf"(\d+) LCs used as {what}", log)
        return int(found[1]) if found else 0

    both, registers = count("LUT4 and DFF"), count("DFF only")
    return used["ICESTORM_LC"] - registers, both + registers
