"""What the pages of the networks show of measurements: `make docs-data` makes it, one command each.

The results are in `docs/data`: `curves/NAME.csv` is what `multicube sweep` writes, `cost/NAME.json`
and `measures/NAME.json` are what `multicube synth --json` and `multicube measure --json` print.
`multicube rerun docs/data/curves/NAME.csv` runs a sweep again.
"""

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from multicube.hdl import FAMILIES, build
from multicube.hdl.networks.family import Family
from multicube.hdl.support.output_file import whole_file
from tqdm import tqdm

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
"""Networks of about 64 terminals each: `NAME.csv` is a sweep, `NAME.json` the graph's measures."""


def words(family: Family) -> list[str]:
    """The network that a family's page shows: its small example, as words of the command line."""
    return [family.name, *(f"{name}={value}" for name, value in family.example.items())]


def curve_command(family: Family) -> list[str]:
    """Measures latency and throughput by load."""
    return ["multicube", "sweep", *words(family)]


def cost_command(family: Family) -> list[str]:
    """Counts the primitives of an FPGA; nothing is placed."""
    return ["multicube", "synth", *words(family), "--seeds", "0", "--flags=-nowidelut", "--json"]


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
    if build(" ".join(network)).relation is not None:
        measured = ["multicube", "measure", *network, "--json"]
        _print_into(CHOOSE / f"{name}.json", measured)
    sweep = ["multicube", "sweep", *network, "--cycles", "2000"]
    _run([*sweep, "-o", str(CHOOSE / f"{name}.csv")])


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
    families = [FAMILIES[name] for name in names or FAMILIES]
    for family in tqdm(families, disable=None):
        curve, cost = CURVES / f"{family.name}.csv", COST / f"{family.name}.json"
        measures = MEASURES / f"{family.name}.json"
        if names or not curve.exists():
            _run([*curve_command(family), "-o", str(curve)])
        if names or not cost.exists():
            _print_into(cost, cost_command(family))
        described = family.build(**family.example).relation is not None
        if described and (names or not measures.exists()):
            _print_into(measures, measure_command(family))


if __name__ == "__main__":
    main(sys.argv[1:])
