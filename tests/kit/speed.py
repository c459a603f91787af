"""How fast the compiled engine is here, beside another commit: `make speed BASE=main`.

Each case is a network under load, or the making of its engine. Both trees take turns, each time in
a process of its own; times are of the processor, and what counts is the ratio of each pair. A case
is slower if the median of its ratios is more than 1.05, and faster below 1 / 1.05. Status 1 if a
case is slower. `--keep` adds the times to docs/data/speed.jsonl, with the commit and the machine.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs/data/speed.jsonl"
FOLDERS = ("hdl", "sim", "boards")
TOLERANCE = 1.05

CASES: dict[str, tuple[str, dict[str, Any], float, int]] = {
    "torus of 64, load 0.1": ("torus", {"k": 8, "depth": 4, "length": 4}, 0.1, 300_000),
    "torus of 64, load 0.2": ("torus", {"k": 8, "depth": 4, "length": 4}, 0.2, 200_000),
    "hypercube of 256": ("hypercube", {"n": 8, "depth": 4}, 0.1, 40_000),
    "cube of 64": ("cube", {"ports": 64, "depth": 4}, 0.5, 600_000),
    "cube of 1,024": ("cube", {"ports": 1024, "depth": 4}, 0.5, 20_000),
    "omega of worms": ("omega", {"ports": 64, "switch": "wormhole", "length": 4}, 0.1, 300_000),
    "combining cube of 64": ("combining", {"ports": 64}, 0.3, 60_000),
    "torus that combines": ("combining-graph", {"network": "torus:k=8,n=2"}, 0.3, 4_000),
    "graph made ready": ("torus", {"k": 16, "length": 4}, 0.1, 0),
    "boxes made ready": ("cube", {"ports": 2048}, 0.1, 0),
}
"""By name: family, parameters, load and cycles; 0 is for the making of network and engine."""

PROGRAM = """\
import json, sys, time
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.sim import Run, pattern
from multicube.sim.engines.engine_selection import open_engines
family, parameters, load, cycles = json.loads(sys.argv[1])
start = time.process_time()
network = build(family, **parameters)
run = Run(pattern("uniform", network.sources), load, seed=1, source_depth=4)
(engine,) = open_engines("compiled", [bench_for(network, run.sources(network), bins=2)], threads=1)
if cycles:
    engine.set("send", 1)
    engine.set("measure", 1)
    engine.step(cycles // 10)
    start = time.process_time()
    engine.step(cycles)
print(time.process_time() - start)
"""


def unpacked(commit: str, folder: Path) -> Path:
    """The library of a commit."""
    archive = subprocess.run(
        ["git", "archive", commit, *FOLDERS], cwd=ROOT, check=True, capture_output=True
    )
    subprocess.run(["tar", "x"], cwd=folder, input=archive.stdout, check=True)
    return folder


def package(tree: Path, folder: Path) -> Path:
    """A folder in which a tree is the package `multicube`."""
    inside = folder / "multicube"
    inside.mkdir(parents=True)
    for name in FOLDERS:
        (inside / name).symlink_to(tree / name)
    for file in (tree / "sim/multicube").glob("*.py*"):
        (inside / file.name).symlink_to(file)
    return folder


def seconds(library: Path, case: str) -> float:
    """The processor time of a case, with the library in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(CASES[case])],
        env=os.environ | {"PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{case}: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout.split()[-1])


def machine() -> str:
    """The kind of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model = next((line for line in lines if line.startswith("model name")), platform.machine())
    wide = any(line.startswith("flags") and " avx512f" in line for line in lines)
    return model.partition(": ")[2] + (", AVX-512" if wide else "")


def verdict(ratios: Sequence[float]) -> str:
    middle = median(ratios)
    if middle > TOLERANCE:
        return "slower"
    return "faster" if middle < 1 / TOLERANCE else "alike"


def shown(times: Mapping[str, Sequence[tuple[float, float]]], base: str) -> Table:
    table = Table("case", "cycles/s here", f"{base}, seconds", "here", "ratio", "from", "to", "")
    for case, pairs in times.items():
        cycles = CASES[case][3]
        before, here = (median(each) for each in zip(*pairs))
        ratios = [mine / other for other, mine in pairs]
        table.add_row(
            case,
            f"{cycles / here:,.0f}" if cycles else "",
            *(f"{time:.2f}" for time in (before, here)),
            *(f"{ratio:.3f}" for ratio in (median(ratios), min(ratios), max(ratios))),
            verdict(ratios),
        )
    return table


def keep(times: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Add what was measured here to the data, beside what is there."""
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h %cs"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    name, date = commit.stdout.split()
    here = {case: round(median(mine for _, mine in pairs), 4) for case, pairs in times.items()}
    line = {"commit": name, "date": date, "machine": machine(), "seconds": here}
    before = KEPT.read_text() if KEPT.exists() else ""
    beside = KEPT.with_suffix(".new")
    beside.write_text(f"{before}{json.dumps(line)}\n")
    beside.replace(KEPT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="A commit to be compared with")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=[*CASES])
    parser.add_argument(
        "--keep", action="store_true", help="Add the times to docs/data/speed.jsonl"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        (room / "tree").mkdir()
        base = package(unpacked(given.base, room / "tree"), room / "base")
        mine = package(ROOT, room / "mine")
        times: dict[str, list[tuple[float, float]]] = {case: [] for case in given.cases}
        for case, pairs in times.items():
            seconds(mine, case), seconds(base, case)  # compiled libraries are kept from here on
            for turn in range(given.pairs):
                order = (base, mine) if turn % 2 else (mine, base)
                found = {library: seconds(library, case) for library in order}
                pairs.append((found[base], found[mine]))
    Console(width=None if sys.stdout.isatty() else 120).print(shown(times, given.base))
    if given.keep:
        keep(times)
    slow = [
        case
        for case, pairs in times.items()
        if verdict([here / before for before, here in pairs]) == "slower"
    ]
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
