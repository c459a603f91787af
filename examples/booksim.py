"""The compiled engine beside BookSim2, a simulator of networks in C++.

git clone https://github.com/booksim/booksim2
python examples/booksim.py booksim2                          # cycles per second of both
python examples/booksim.py booksim2 -o booksim.svg           # and the latency curves of both

The checkout is compiled in a folder of its own; this needs g++, make, flex and bison. Network,
load, buffers and length of packets (one flit) are the same, and the traffic is uniform. The routers
are not the same: docs/explanation/engine.md has the differences.
"""

import re
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

import click
from matplotlib.figure import Figure
from multicube.hdl import build
from multicube.hdl.support.children import run_program, scratch_folder
from multicube.sim import sweep
from multicube.sim.run.engine_timings import time_engine
from rich.console import Console
from rich.table import Table

PAIRS = 3
"""Measurements of each speed, both simulators in turn; the median of their ratios counts."""


@dataclass(frozen=True)
class Case:
    """A network in the words of both simulators.

    Attributes
    ----------
    title, network, booksim : str
    loads : tuple[float, float]
        One at which BookSim2 has little to do, and one near its saturation; in packets per terminal
        per cycle.
    """

    title: str
    network: str
    booksim: str
    loads: tuple[float, float]


CASES = (
    Case(
        "8 x 8 torus, 2 virtual channels of 4 flits",
        "torus k=8 n=2 depth=4",
        "topology=torus; k=8; n=2; routing_function=dim_order; num_vcs=2; vc_buf_size=4;",
        (0.1, 0.2),
    ),
    Case(
        "2-ary 6-fly, queues of 4 flits",
        "butterfly ports=64 switch=input-queued depth=4",
        "topology=fly; k=2; n=6; routing_function=dest_tag; num_vcs=1; vc_buf_size=4;",
        (0.15, 0.2),
    ),
    Case(
        "hypercube of 256 nodes, queues of 4 flits",
        "hypercube n=8 depth=4",
        "topology=mesh; k=2; n=8; routing_function=dim_order; num_vcs=1; vc_buf_size=4;",
        (0.1, 0.3),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What BookSim2 says of a run; latency is infinite if it says that the run is unstable."""

    cycles: int
    seconds: float
    latency: float


def compiled(checkout: Path, folder: Path) -> Path:
    """The program of a checkout, compiled in a folder."""
    shutil.copytree(checkout / "src", folder / "src")
    done = run_program(["make", "-j2"], folder=folder / "src")
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-3:])
        raise click.ClickException(f"BookSim2 can't be compiled (it needs flex and bison): {last}")
    return folder / "src" / "booksim"


def run_booksim(program: Path, case: Case, load: float, cycles: int) -> Outcome:
    """Simulate this number of cycles, and those until all measured packets have arrived."""
    words = f"{case.booksim} packet_size=1; traffic=uniform; injection_rate={load}; seed=1; "
    words += f"sim_type=latency; sample_period={cycles // 4}; warmup_periods=1; max_samples=3;"
    config = program.parent / "config"
    config.write_text(words)
    said = run_program([program.as_posix(), config.as_posix()]).stdout
    spent = re.search(r"Total run time (\S+)", said)
    cycles_ = re.search(r"Time taken is (\d+) cycles", said)
    latency = re.search(r"^Packet latency average = (\S+) \(", said, re.M)
    if "unstable" in said or not (spent and cycles_ and latency):
        return Outcome(0, 0.0, float("inf"))
    return Outcome(int(cycles_[1]), float(spent[1]), float(latency[1]))


def speeds(program: Path, case: Case, load: float) -> tuple[float, float, float]:
    """Cycles per second of BookSim2 and of the compiled engine; the median of the ratios."""
    pairs = []
    network = build(case.network)
    for _ in range(PAIRS):
        theirs = run_booksim(program, case, load, 12_000)
        ours = time_engine(network, load=load, seconds=3.0)
        if not theirs.cycles:
            raise click.ClickException(f"BookSim2 is saturated: {case.title} at a load of {load}")
        pairs.append((theirs.cycles / theirs.seconds, ours.cycles_per_second))
    first, second = map(statistics.median, zip(*pairs, strict=True))
    return first, second, statistics.median(ours / theirs for theirs, ours in pairs)


def curves(program: Path) -> Figure:
    """Latency against load of each network, of both simulators."""
    figure = Figure(figsize=(12, 4), layout="constrained")
    loads = [0.05 * step for step in range(1, 19)]
    for axes, case in zip(figure.subplots(1, len(CASES)), CASES, strict=True):
        theirs = []
        for load in loads:
            theirs.append(run_booksim(program, case, load, 12_000).latency)
            if theirs[-1] > 200:
                break
        curve = sweep(build(case.network), loads, refine=False)
        points = [point for point in curve.points if not point.saturated]
        axes.plot(loads[: len(theirs)], theirs, "s--", markersize=4, label="BookSim2")
        offered = [point.offered_load for point in points]
        ours = [point.latency.mean for point in points]
        axes.plot(offered, ours, "o-", markersize=4, label="multicube")
        axes.set(title=case.title, xlabel="offered load, packets per terminal per cycle")
        axes.set(ylabel="mean latency, cycles", xlim=(0, 1), ylim=(0, 120))
        axes.title.set_size("medium")
        axes.legend()
    return figure


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "output", type=click.Path(dir_okay=False), help="Picture of latency curves.")
def main(checkout: Path, output: str | None) -> None:
    """Compare the compiled engine with BookSim2, of which CHECKOUT is a clone."""
    if not (checkout / "src" / "booksim_config.cpp").exists():
        raise click.UsageError(f"Checkout must be a clone of BookSim2, not {checkout}")
    table = Table("network", "load", "BookSim2", "multicube", "ratio", title="cycles per second")
    with scratch_folder() as folder:
        program = compiled(checkout, folder)
        for case in CASES:
            for load in case.loads:
                theirs, ours, ratio = speeds(program, case, load)
                figures = (f"{each:,.0f}" for each in (theirs, ours, ratio))
                table.add_row(case.title, f"{load}", *figures)
        Console().print(table)
        if output:
            curves(program).savefig(output)


if __name__ == "__main__":
    main()
