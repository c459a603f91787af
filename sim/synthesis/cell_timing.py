"""Clock and longest path of a design in standard cells, by OpenSTA.

The clock is that of the design between registers: in the harness of `harness`, of the same cells.
Wires have no delay and no capacitance, and the clock arrives everywhere at once.
"""

import json
import math
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from ...hdl.support.children import run_program
from .cell_power import driving, names_of
from .harness import HARNESS
from .measurement import source_name
from .tools import SynthesisError, ToolTimeout

__all__ = ["CellTiming", "has_timer", "time_cells"]


@dataclass(frozen=True)
class CellTiming:
    """What OpenSTA says of a design.

    Attributes
    ----------
    period : float
        The shortest period of the clock, in ns.
    path : tuple[str, ...]
        Along the longest path, the names of registers, memories and signals of the source; "an
        input" and "an output" are ports of the design.
    cells : tuple[str, ...]
        The cells along it.
    """

    period: float
    path: tuple[str, ...]
    cells: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON.

        Returns
        -------
        dict[str, Any]
            Of JSON's types.
        """
        return {"period_ns": self.period, "path": self.path, "cells": self.cells}


def has_timer() -> bool:
    """Whether OpenSTA is on the path."""
    return shutil.which("sta") is not None


# With a slack at period p, p - slack is the period if the longest path takes a whole cycle. If it
# takes half of one, as from a gate of the clock, the next slack is not zero yet. Times would be in
# the library's unit.
_SEARCH = """
set_cmd_units -time ns
set period {first}
for {{set n 0}} {{$n < 30}} {{incr n}} {{
  create_clock -name it -period $period [get_ports clk]
  set slack [sta::worst_slack]
  if {{abs($slack) < 0.0005}} {{ break }}
  set period [expr $period - $slack]
}}
puts "PERIOD $period"
"""


def time_cells(folder: Path, library: str, limit: float) -> tuple[CellTiming, str]:
    """Time the files that `measure_cells` has written to a folder; also the version of OpenSTA.

    Raises
    ------
    SynthesisError
        If it fails or takes too long.
    """
    script = f"read_liberty {library}\nread_verilog harness_cells.v\nlink_design {HARNESS}\n"
    script += _SEARCH.format(first=10)
    script += "puts BEGIN\nreport_checks -format full -digits 4\nputs END\n"
    said = _sta(script, folder, limit)
    found = re.search(r"^PERIOD (\S+)$", said, re.M)
    if found is None:
        raise SynthesisError(f"OpenSTA found no path: {said.strip()[-300:]}")
    period = float(found[1])
    module = json.loads((folder / "harness_cells.json").read_text("utf-8"))["modules"][HARNESS]
    names = names_of(module)
    outputs = {cell: names.get(bit, []) for cell, _, bit in driving(module)}
    # There is a path of each group: gates of the clock are one.
    groups = said.partition("BEGIN")[2].split("Startpoint:")[1:]
    longest = min(groups, key=_slack, default="")
    passed = re.findall(r"^ .*? [v^] (\S+)/\S+ \((\S+)\)$", longest, re.M)
    steps = list(dict.fromkeys(passed))
    named = [outputs[cell] for cell, _ in steps if outputs.get(cell)]
    # Of the names of a net, the design's own and not the harness's.
    own = [min(names, key=lambda name: not name.startswith("subject.")) for names in named]
    path = dict.fromkeys(map(source_name, own))
    timing = CellTiming(period, tuple(path), tuple(kind for _, kind in steps))
    return timing, _sta("", folder, limit, "-version").split()[0]


def _slack(path: str) -> float:
    found = re.search(r"(\S+) +slack", path)
    return float(found[1]) if found else math.inf


def _sta(script: str, folder: Path, limit: float, *words: str) -> str:
    (folder / "timing.tcl").write_text(script, "utf-8")
    command = ["sta", *(words or ["-no_splash", "-exit", "timing.tcl"])]
    try:
        done = run_program(command, folder=folder, temporary=folder, limit=limit)
    except TimeoutExpired:
        raise ToolTimeout(f"OpenSTA took longer than the limit of {limit:g} s") from None
    failed = re.search(r"^Error: *(.*)", done.stderr + done.stdout, re.M)
    if done.returncode or failed:
        raise SynthesisError(f"OpenSTA failed: {failed[1] if failed else done.returncode}")
    return done.stdout
