"""Processors that coordinate through shared memory, with and without combining.

Four programs run on the hardware of a combining network, and again on the same network with boxes
that do not combine. They coordinate only by fetch-and-add, and by loads while they wait.

- `queue`: processors take jobs from one counter; each fetch-and-add returns the number of a job
  that no other processor gets.
- `barrier`: no processor continues before all have arrived. Each arrival adds 1 to a counter. The
  last one to arrive adds 1 to the epoch, which the others load repeatedly while they wait.
- `pair`: readers and writers of a pair of words. A reader adds 1 to the lock, a writer adds 2^16. A
  processor that finds a writer there subtracts its number again, and waits; a writer that finds
  none waits until the readers have left. (For such algorithms see A. Gottlieb, B. D. Lubachevsky
  and L. Rudolph, "Basic techniques for the efficient coordination of very large numbers of
  cooperating sequential processors", ACM TOPLAS 5, 1983.)
- `histogram`: processors count the bytes of a text, in 256 shared counters.

    python examples/synchronisation.py [--help]
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
import numpy as np
from multicube.hdl import CombiningNetwork
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim import Pause, ProgramRun, Request, run_programs
from multicube.sim.run.program_requests import Program
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

README = Path(__file__).resolve().parent.parent / "README.md"

JOB = 0
ARRIVED, EPOCH = 0, 1
LOCK, FIRST, SECOND = 0, 1, 2

WRITER = 1 << 16
"""What a writer adds to the lock: more than there can be readers."""


def take_jobs(jobs: int, seed: int) -> Program:
    """Do jobs until there are none left; return those done by this processor."""
    time = random.Random(seed)
    done = []
    while (job := (yield Request("fetch-and-add", JOB, 1))) < jobs:
        yield Pause(time.randint(1, 20))
        done.append(job)
    return done


class Passage(NamedTuple):
    """The cycles in which a processor arrived at a barrier and left it."""

    arrived: int
    passed: int


def meet(processors: int, rounds: int, seed: int) -> Program:
    """Work, then wait for all others, several times; return the passages."""
    time = random.Random(seed)
    passages = []
    for epoch in range(rounds):
        arrived = yield Pause(time.randint(0, 20))
        before = yield Request("fetch-and-add", ARRIVED, 1)
        if before == processors * (epoch + 1) - 1:
            yield Request("fetch-and-add", EPOCH, 1)
        else:
            while (yield Request("load", EPOCH)) == epoch:
                pass
        passages.append(Passage(arrived, (yield Pause(0))))
    return passages


class Visit(NamedTuple):
    """A use of the pair: its first and last cycle, and the words at its end."""

    writes: bool
    entered: int
    left: int
    first: int
    second: int


def read_pair(visits: int, seed: int) -> Program:
    """Read both words several times."""
    time = random.Random(seed)
    seen = []
    for _ in range(visits):
        yield Pause(time.randint(0, 50))
        while (yield Request("fetch-and-add", LOCK, 1)) >= WRITER:
            yield Request("fetch-and-add", LOCK, -1)
            while (yield Request("load", LOCK)) >= WRITER:
                pass
        entered = yield Pause(0)
        first = yield Request("load", FIRST)
        second = yield Request("load", SECOND)
        left = yield Pause(0)
        seen.append(Visit(False, entered, left, first, second))
        yield Request("fetch-and-add", LOCK, -1)
    return seen


def write_pair(visits: int, seed: int) -> Program:
    """Add 1 to both words several times, with loads and stores."""
    time = random.Random(seed)
    made = []
    for _ in range(visits):
        yield Pause(time.randint(0, 50))
        while (yield Request("fetch-and-add", LOCK, WRITER)) >= WRITER:
            yield Request("fetch-and-add", LOCK, -WRITER)
            while (yield Request("load", LOCK)) >= WRITER:
                pass
        while (yield Request("load", LOCK)) % WRITER:
            pass
        entered = yield Pause(0)
        first = yield Request("load", FIRST)
        yield Request("store", FIRST, first + 1)
        second = yield Request("load", SECOND)
        yield Request("store", SECOND, second + 1)
        left = yield Pause(0)
        made.append(Visit(True, entered, left, first + 1, second + 1))
        yield Request("fetch-and-add", LOCK, -WRITER)
    return made


def count_bytes(text: bytes, batch: int) -> Generator[list[Request], list[int], None]:
    """Count each byte in the word with its number, several at a time."""
    for begin in range(0, len(text), batch):
        yield [Request("fetch-and-add", byte, 1) for byte in text[begin : begin + batch]]


def make_network(processors: int, *, combine: str) -> CombiningNetwork:
    """A network with memory for 256 counters."""
    rows = max(1, 256 // processors)
    return CombiningNetwork(processors, combine=combine, rows=rows, outstanding=8)


def run_queue(network: CombiningNetwork, *, jobs: int, seed: int = 1, **options: Any) -> ProgramRun:
    """Run `take_jobs` on all processors."""
    programs = [take_jobs(jobs, seed + number) for number in range(network.ports)]
    return run_programs(network, programs, **options)


def run_barrier(
    network: CombiningNetwork, *, rounds: int, seed: int = 1, **options: Any
) -> ProgramRun:
    """Run `meet` on all processors."""
    ports = network.ports
    return run_programs(
        network, [meet(ports, rounds, seed + number) for number in range(ports)], **options
    )


def run_pair(
    network: CombiningNetwork, *, visits: int, seed: int = 1, **options: Any
) -> ProgramRun:
    """Run `write_pair` on every eighth processor, at least two, and `read_pair` on the others."""
    ports = network.ports
    writers = range(0, ports, max(1, min(8, ports // 2)))
    return run_programs(
        network,
        [
            (write_pair if number in writers else read_pair)(visits, seed + number)
            for number in range(ports)
        ],
        **options,
    )


def run_histogram(network: CombiningNetwork, text: bytes, **options: Any) -> ProgramRun:
    """Run `count_bytes` on all processors, each with every N-th byte."""
    ports, batch = network.ports, network.parameters["outstanding"]
    return run_programs(
        network, [count_bytes(text[number::ports], batch) for number in range(ports)], **options
    )


def barrier_time(passages: Sequence[Sequence[Passage]]) -> float:
    """Mean time from the last arrival until all have passed, in cycles."""
    rounds = list(zip(*passages))
    waits = [max(p.passed for p in met) - max(p.arrived for p in met) for met in rounds]
    return sum(waits) / len(waits)


def queue_finding(run: ProgramRun, jobs: int) -> str:
    """Check that each job was done once; return a summary."""
    times = Counter(job for done in run.results for job in done)
    if times != dict.fromkeys(range(jobs), 1):
        raise MulticubeError("Jobs were lost, or done twice")
    return f"each of {jobs} jobs done once"


def barrier_finding(run: ProgramRun) -> str:
    """Check that the barriers held; return a summary."""
    for met in zip(*run.results):
        if min(p.passed for p in met) <= max(p.arrived for p in met):
            raise MulticubeError("A processor passed a barrier before all had arrived")
    return f"{len(run.results[0])} barriers of {barrier_time(run.results):.1f} cycles"


def pair_finding(run: ProgramRun) -> str:
    """Check that readers saw whole pairs and writers were alone; return a summary."""
    visits = sorted((v for seen in run.results for v in seen), key=lambda visit: visit.entered)
    writes = [visit for visit in visits if visit.writes]
    if any(visit.first != visit.second for visit in visits):
        raise MulticubeError("A reader saw half of a change")
    for write in writes:
        for visit in visits:
            if visit is not write and visit.entered <= write.left and write.entered <= visit.left:
                raise MulticubeError("A writer was not alone")
    if run.memory[FIRST] != len(writes):
        raise MulticubeError("A change was lost")
    return f"{len(visits) - len(writes)} whole reads, {len(writes)} writes"


def histogram_finding(run: ProgramRun, text: bytes) -> str:
    """Check the counts; return a summary."""
    if run.memory[:256] != np.bincount(np.frombuffer(text, np.uint8), minlength=256).tolist():
        raise MulticubeError("The histogram differs from numpy's")
    return "equal to numpy.bincount"


def compare(processors: int, text: bytes, seed: int, engine: str) -> Table:
    """Run all programs with and without combining, and check their results."""
    table = Table(
        title=f"{processors} processors, {processors} memory modules, boxes 2x2",
        box=SIMPLE,
        padding=(0, 1, 0, 0),
    )
    for column in ("program", "combining"):
        table.add_column(column)
    for column in ("cycles", "requests", "reached memory", "combined"):
        table.add_column(column, justify="right")
    table.add_column("result")
    jobs = 16 * processors
    options: dict[str, Any] = {"engine": engine, "seed": seed}
    programs: dict[str, tuple[Callable[..., ProgramRun], Callable[[ProgramRun], str]]] = {
        "queue": (
            lambda network: run_queue(network, jobs=jobs, **options),
            lambda run: queue_finding(run, jobs),
        ),
        "barrier": (lambda network: run_barrier(network, rounds=10, **options), barrier_finding),
        "pair": (lambda network: run_pair(network, visits=4, **options), pair_finding),
        "histogram": (
            lambda network: run_histogram(network, text, engine=engine),
            lambda run: histogram_finding(run, text),
        ),
    }
    for name, (run_on, finding_of) in programs.items():
        for combining, policy in (("yes", "all"), ("no", "none")):
            run = run_on(make_network(processors, combine=policy))
            if not run.serializable:
                raise MulticubeError(f"The memory was not consistent under the program {name}")
            table.add_row(
                name,
                combining,
                str(run.cycles),
                str(run.requests),
                str(run.memory_requests),
                f"{run.share_combined:.1%}",
                finding_of(run),
            )
    return table


@click.command(context_settings={"show_default": True})
@click.option("--processors", default=16, help="A power of two.")
@click.option("--text", default=str(README), help="File whose bytes are counted.")
@click.option("--seed", default=1, help="Seed of the processors' working times.")
@click.option(
    "--engine", default="auto", help="Engine of the simulations: auto, compiled or amaranth."
)
def synchronisation(processors: int, text: str, seed: int, engine: str) -> None:
    """Coordinate processors through shared memory, with and without combining."""
    table = compare(processors, Path(text).read_bytes(), seed, engine)
    Console(highlight=False).print(table)


def main() -> None:
    """Run the programs and exit: errors are one line on standard error."""
    try:
        synchronisation.main(standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except (MulticubeError, OSError) as error:
        _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", 130)


def _fail(message: str, status: int = 2) -> NoReturn:
    click.echo(f"synchronisation.py: {' '.join(message.split())}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
