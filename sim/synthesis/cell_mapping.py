"""Maps designs by Yosys and abc to the standard cells of any library in Liberty's format."""

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ...hdl.fabric.checks import check_path
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import number_of
from ...hdl.support.children import scratch_folder
from ...hdl.support.input_file import read_content
from .cell_power import CycleEnergy, Switching, cycle_energy
from .cell_timing import CellTiming, has_timer, time_cells
from .design import Design
from .harness import HARNESS, SUBJECT, Roles, harness_text
from .liberty_file import cell_energies, liberty_group
from .measurement import Storage, check_limit, read_design, stat_of
from .tools import need_tools, run_yosys

__all__ = ["CellArea", "CellMeasurement", "CellSetup", "measure_cells"]

LIBRARY = "library.lib"


class CellArea(NamedTuple):
    """The standard cells that a design takes.

    Attributes
    ----------
    total, sequential : float
        Area of all cells, and of flip-flops and latches, in the library's unit: mostly um2.
    cells : int
        Number of all cells.
    by_type : dict[str, int]
        Number of cells by their name in the library.
    without : tuple[str, ...]
        Cells whose area is 0 in the library.
    """

    total: float
    sequential: float
    cells: int
    by_type: dict[str, int]
    without: tuple[str, ...]


@dataclass(frozen=True)
class CellSetup:
    """How a design is mapped to standard cells.

    Parameters
    ----------
    liberty : path-like
        The library.
    limit : float
        Seconds for each run of a tool, at most 1,000,000.

    Raises
    ------
    ValueError
        If Yosys is not installed.
    """

    liberty: str | os.PathLike[str]
    limit: float = 600
    verilog: ClassVar[str] = "asic"
    """What Verilog is made for that is measured so."""

    def __post_init__(self) -> None:
        check_path("Liberty file", self.liberty)
        check_limit(self.limit)
        need_tools()


@dataclass(frozen=True)
class CellMeasurement:
    """The measured area, storage, energy and, with OpenSTA, speed.

    Attributes
    ----------
    setup : CellSetup
        How it was measured.
    area : CellArea
        Area of the design alone.
    storage : Storage
        Bits that it has to store.
    timing : CellTiming, optional
        None without OpenSTA.
    energy : CycleEnergy, optional
        None if the switching activity is not known.
    tools : dict[str, str]
        Version of each tool.
    seconds : float
        Time that the tools took.
    """

    setup: CellSetup
    area: CellArea
    storage: Storage
    timing: CellTiming | None
    energy: CycleEnergy | None
    tools: dict[str, str]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON.

        Returns
        -------
        dict[str, Any]
            Of JSON's types.
        """
        return {
            "liberty": os.fspath(self.setup.liberty),
            "area": self.area._asdict(),
            "storage": {**self.storage._asdict(), "bits": sum(self.storage)},
            "timing": None if self.timing is None else self.timing.as_dict(),
            "energy_pj": self.energy and {**self.energy._asdict(), "total": self.energy.total},
            "tools": self.tools,
            "seconds": self.seconds,
        }


def measure_cells(
    design: Design,
    setup: CellSetup,
    *,
    switching: Mapping[str, Switching] | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> CellMeasurement:
    """Measure a design in standard cells.

    Without OpenSTA (`sta` on the path) the clock is not measured.

    Parameters
    ----------
    design : Design
        What is measured.
    setup : CellSetup
        The library, and how to map to it.
    switching : Mapping[str, Switching], optional
        The activity of a run: of bits of inputs, registers and rows of memories, by their names in
        the design's Verilog, such as `box_0_0.queue_1__bank_0[3][7]`. Without it there is no power.
    progress : Callable[[str], None]
        Called at the start of each step with its description, three at most.

    Returns
    -------
    CellMeasurement
        Area, storage and, if it can be had, clock and energy.

    Raises
    ------
    ValueError
        If a file can't be read, Yosys does not accept it, or the library lacks a needed cell.
    SynthesisError
        If a tool fails or takes too long.

    Examples
    --------
    With a library of inverters, NAND gates and flip-flops:

    >>> from multicube.sim.synthesis import CellSetup, Design, measure_cells
    >>> text = "module both(input a, b, output y); assign y = a & b; endmodule"
    >>> design = Design({"both.v": text}, top="both")
    >>> measure_cells(design, CellSetup("tiny.lib")).area.by_type
    {'INV': 1, 'NAND2': 1}
    """
    versions = need_tools()
    begin = time.monotonic()
    library = read_content("Library", setup.liberty)
    with scratch_folder() as folder:
        progress("reading")
        (folder / LIBRARY).write_bytes(library)
        roles, storage = read_design(design, folder, setup.limit)
        energies = None
        if switching is not None and roles.clock is not None:
            energies = cell_energies(liberty_group(library.decode(errors="replace")))
        progress("mapping")
        area = _mapped(setup, roles, folder)
        timing = energy = None
        if has_timer() and roles.clock is not None:
            progress("timing")
            timing, versions["opensta"] = time_cells(folder, LIBRARY, setup.limit)
        if energies is not None and switching is not None and roles.clock is not None:
            mapped, functions = folder / "cells.json", folder / "functions.json"
            energy = cycle_energy(mapped, functions, energies, roles.clock, switching)
    seconds = time.monotonic() - begin
    return CellMeasurement(setup, area, storage, timing, energy, versions, seconds)


_ABC = (
    "strash; &get -n; &fraig -x; &put; scorr; dc2; dch -f; map -B 0.9 -D 1; topo; "
    "buffer -c; upsize -D 1; dnsize -D 1"
)
"""Yosys' own script for libraries, which adds buffers and larger cells on the longest path only if
it also gets what drives the inputs."""

_TO_CELLS = (
    f"dfflibmap -liberty {LIBRARY}\n"
    f"abc -liberty {LIBRARY} -script +{_ABC.replace('; ', ';').replace(' ', ',')}\n"
    "opt_clean -purge"
)
"""Flip-flops and latches first, then gates, for the shortest path."""


def _mapped(setup: CellSetup, roles: Roles, folder: Path) -> CellArea:
    """Map design.il to cells, in cells.v and cells.json, and in its harness, in harness_cells.*."""
    (folder / "harness.v").write_text(harness_text(roles), "utf-8")
    read_cells = f"read_liberty -lib -ignore_miss_func {LIBRARY}"
    design = [
        "read_rtlil design.il",
        "setattr -mod -unset keep_hierarchy *",
        f"synth -noabc -flatten -top {SUBJECT}",
        _TO_CELLS,
        f"tee -o area.json stat -json -liberty {LIBRARY}",
        "rename -enumerate -pattern cell_% c:*",
        "write_verilog -noattr cells.v",
        "write_rtlil cells.il",
        read_cells,
        f"select {SUBJECT}; write_json -selected cells.json; select -clear",
    ]
    around = [
        "read_verilog harness.v",
        f"synth -noabc -top {HARNESS}",
        _TO_CELLS,
        f"delete {SUBJECT}",
        "read_rtlil cells.il",
        read_cells,
        f"hierarchy -check -top {HARNESS}",
        "flatten; opt_clean",
        "rename -enumerate -pattern scan_% c:*",
        "write_verilog -noattr -simple-lhs harness_cells.v",
        "write_json harness_cells.json",
        f"design -reset; read_liberty -ignore_miss_func {LIBRARY}; write_json functions.json",
    ]
    # Each in a process of its own: abc runs only once in one.
    for script in (design, around):
        run_yosys("\n".join(script), folder, setup.limit)
    areas = _areas(folder)
    stat = stat_of(folder / "area.json", SUBJECT)
    types = dict(stat.get("num_cells_by_type", {}))
    total, sequential = (stat.get(field, 0.0) for field in ("area", "sequential_area"))
    without = tuple(name for name in types if not areas[name])
    return CellArea(total, sequential, stat["num_cells"], types, without)


def _areas(folder: Path) -> dict[str, float]:
    """The areas of the library's cells, 0 of those without one."""
    modules = json.loads((folder / "functions.json").read_text("utf-8"))["modules"]
    return {
        name: _area(name, each["attributes"].get("area", "0")) for name, each in modules.items()
    }


def _area(name: str, given: str) -> float:
    """The area of a cell, as the library states it."""
    try:
        area = number_of(given)
    except ValueError:
        area = -1.0
    if not 0 <= area < math.inf:
        raise InvalidValue(
            f"Area of cell {name} in the Liberty file must be a number from 0 on, not {given!r}"
        )
    return area
