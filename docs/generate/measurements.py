"""What the pages of the networks show of measurements: `make docs-data` makes it, one command each.

The results are in `docs/data`: `curves/NAME.csv` is what `multicube sweep` writes, `cost/NAME.json`
and `measures/NAME.json` are what `multicube synth --json` and `multicube measure --json` print.
`multicube rerun docs/data/curves/NAME.csv` runs a sweep again.
"""

import json
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from multicube.hdl import FAMILIES, build
from multicube.hdl.fabric.cell_part import cell_part
from multicube.hdl.networks.family import Family
from multicube.hdl.support.output_file import whole_file
from multicube.sim.synthesis import Setup
from multicube.sim.synthesis.node_area import areas_of, samples_of
from tqdm import tqdm

from .commits import record

__all__ = [
    "CHOOSE",
    "COST",
    "CURVES",
    "MEASURES",
    "cost_command",
    "curve_command",
    "main",
    "measure_command",
    "words",
]

DATA = Path(__file__).parent.parent / "data"
CURVES = DATA / "curves"
COST = DATA / "cost"
MEASURES = DATA / "measures"
CHOOSE = DATA / "choose"
"""Networks of about 64 terminals each: `NAME.csv` is a sweep, `NAME.json` the graph's measures, and
`NAME-area.json` what all boxes or routers take in an FPGA."""

_DEVICE = "ecp5-85k"
_FLAGS = "-nowidelut"


def words(family: Family) -> list[str]:
    """The network that a family's page shows: its small example, as words of the command line."""
    return [family.name, *(f"{name}={value}" for name, value in family.example.items())]


def curve_command(family: Family) -> list[str]:
    """Measures latency and throughput by load."""
    return ["multicube", "sweep", *words(family)]


def cost_command(family: Family) -> list[str]:
    """Counts the primitives of an FPGA; nothing is placed."""
    return ["multicube", "synth", *words(family), "--seeds", "0", f"--flags={_FLAGS}", "--json"]


def measure_command(family: Family) -> list[str]:
    """Distances, fan-out time and bisection of a network of nodes and links."""
    return ["multicube", "measure", *words(family), "--json"]


def _chosen() -> dict[str, list[str]]:
    """The networks of the first table, as words of the command line."""
    text = (Path(__file__).parent / "networks.toml").read_text()
    return {
        name: [name, *size.split()] for name, (size, _) in tomllib.loads(text)["choose"].items()
    }


def _measure_chosen(name: str, network: Sequence[str]) -> None:
    """What the first table shows of a network."""
    if build(" ".join(network)).described is not None:
        measured = ["multicube", "measure", *network, "--json"]
        _print_into(CHOOSE / f"{name}.json", measured)
    sweep = ["multicube", "sweep", *network, "--cycles", "2000"]
    _run([*sweep, "-o", str(CHOOSE / f"{name}.csv")])


def _measure_area(name: str, network: Sequence[str]) -> None:
    """The look-up tables of a network of the first table: one cell of each kind times their number.

    Cells of one kind differ in their address, and in the contents of their tables, only.
    """
    fabric = build(" ".join(network)).fabric
    setup = Setup(_DEVICE, seeds=0, flags=_FLAGS)
    kinds = {each.cells[0]: each.nodes for each in samples_of(fabric, most=1)}
    areas = areas_of({cell: cell_part(fabric, cell) for cell in kinds}, setup)
    cells = [
        {"cell": cell, "number": number, "tables": areas[cell].tables}
        for cell, number in kinds.items()
    ]
    total = sum(number * areas[cell].tables for cell, number in kinds.items())
    found = {"network": shlex.join(network), "device": _DEVICE, "flags": _FLAGS, "cells": cells}
    with whole_file(CHOOSE / f"{name}-area.json") as file:
        file.write_text(json.dumps(found | {"tables": total}) + "\n")


def _run(command: Sequence[str]) -> str | None:
    """What a command prints; None if it refuses."""
    here = [sys.executable, "-m", *command]
    done = subprocess.run(here, capture_output=True, text=True, check=False)
    if done.returncode:
        tqdm.write(f"{shlex.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return done.stdout


def _print_into(path: Path, command: Sequence[str]) -> None:
    printed = _run(command)
    if printed is not None:
        with whole_file(path) as file:
            file.write_text(printed)


def main(names: Sequence[str]) -> None:
    """Measure the networks with these names; without a name, those that have not been measured."""
    for name, network in _chosen().items():
        if not (CHOOSE / f"{name}.csv").exists():
            _measure_chosen(name, network)
        if not (CHOOSE / f"{name}-area.json").exists():
            _measure_area(name, network)
    families = [FAMILIES[name] for name in names or FAMILIES]
    for family in tqdm(families, disable=None):
        curve, cost = CURVES / f"{family.name}.csv", COST / f"{family.name}.json"
        measures = MEASURES / f"{family.name}.json"
        if names or not curve.exists():
            _run([*curve_command(family), "-o", str(curve)])
        if names or not cost.exists():
            _print_into(cost, cost_command(family))
        described = family.build(**family.example).described is not None
        if described and (names or not measures.exists()):
            _print_into(measures, measure_command(family))
    record(path for folder in (CURVES, COST, MEASURES, CHOOSE) for path in folder.iterdir())


if __name__ == "__main__":
    main(sys.argv[1:])
