"""Synchronisation at work, on the hardware of combining networks."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from long_runs import long
from modules import load_example, refusal
from multicube.hdl import CombiningNetwork
from multicube.hdl.operations.memory import find_operation
from multicube.sim import MulticubeError, Pause, ProgramRun, ProgramsStuck, Request, run_programs
from multicube.sim.run.program_requests import Program

EXAMPLE = Path(__file__).parent.parent / "examples" / "synchronisation.py"
TEXT = EXAMPLE.read_bytes()[:1500]
FEW = tuple(map(find_operation, ("load", "store", "fetch-and-store", "fetch-and-add")))

MACHINES = [
    long(2, "all", id="2"),
    pytest.param(4, "none", id="4-without"),
    long(16, "all", id="16"),
    long(16, "none", id="16-without"),
    long(64, "all", id="64"),
    long(64, "none", id="64-without"),
]
machines = pytest.mark.parametrize(("ports", "combine"), MACHINES)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("synchronisation")


def network(ports: int, combine: str = "all") -> CombiningNetwork:
    return CombiningNetwork(
        ports, combine=combine, rows=256 // ports, outstanding=8, operations=FEW
    )


def check_books(run: ProgramRun, combine: str) -> None:
    assert run.serializable
    assert run.memory_requests == run.requests - sum(run.combined)
    assert (sum(run.combined) > 0) == (combine == "all")


@pytest.mark.long
@machines
def test_each_job_is_done_once(example: ModuleType, ports: int, combine: str) -> None:
    jobs = 10 * ports + 1
    run = example.run_queue(network(ports, combine), jobs=jobs)
    check_books(run, combine)
    assert sorted(job for done in run.results for job in done) == list(range(jobs))
    # Everyone was told once that there are no more.
    assert sorted(access.reply for access in run.history[0]) == list(range(jobs + ports))
    assert run.memory == [jobs + ports, *[0] * 255]


@machines
def test_nobody_passes_a_barrier_before_all_have_come(
    example: ModuleType, ports: int, combine: str
) -> None:
    rounds = 5
    run = example.run_barrier(network(ports, combine), rounds=rounds)
    check_books(run, combine)
    assert run.memory == [rounds * ports, rounds, *[0] * 254]
    arrivals: list[list[int]] = [[] for _ in range(ports)]
    for access in run.history[0]:
        assert access.operation.name == "fetch-and-add"
        arrivals[access.processor].append(access.sent)
    assert {len(times) for times in arrivals} == {rounds}
    for epoch in range(rounds):
        last = max(times[epoch] for times in arrivals)
        for passages in run.results:
            assert passages[epoch].passed > last
    # Not by chance: they came at different times.
    spreads = [max(times) - min(times) for times in zip(*arrivals)]
    assert max(spreads) > 5


@machines
def test_writers_are_alone_and_readers_see_whole_pairs(
    example: ModuleType, ports: int, combine: str
) -> None:
    visits = 4 if ports < 64 else 2
    run = example.run_pair(network(ports, combine), visits=visits)
    check_books(run, combine)
    writers = [seen for seen in run.results if any(visit.writes for visit in seen)]
    assert len(writers) == max(2, ports // 8)
    writes = visits * len(writers)
    assert run.memory == [0, writes, writes, *[0] * 253]

    reading, writing = np.zeros(run.cycles, int), np.zeros(run.cycles, int)
    for seen in run.results:
        assert len(seen) == visits
        for visit in seen:
            (writing if visit.writes else reading)[visit.entered : visit.left + 1] += 1
    assert writing.max() == 1
    assert not np.any((writing > 0) & (reading > 0))
    if ports > 4:
        assert reading.max() > 1

    ends = sorted(visit.left for seen in writers for visit in seen)
    for seen in run.results:
        for visit in seen:
            before = sum(end < visit.entered for end in ends)
            assert visit.first == visit.second == before + visit.writes


@machines
def test_histogram_is_numpys(example: ModuleType, ports: int, combine: str) -> None:
    run = example.run_histogram(network(ports, combine), TEXT)
    check_books(run, combine)
    assert run.requests == len(TEXT)
    counts = np.bincount(np.frombuffer(TEXT, np.uint8), minlength=256)
    assert run.memory == counts.tolist()


@pytest.mark.long
def test_combining_saves_cycles(example: ModuleType) -> None:
    """Where all ask for one word at once; measured in docs/families/synchronisation.md."""
    runs = {combine: example.run_queue(network(16, combine), jobs=0) for combine in ("all", "none")}
    # A trip of 9 cycles and one more; without combining, the memory serves one in a cycle.
    assert runs["all"].cycles == 10
    assert runs["none"].cycles == 10 + 15
    assert (runs["all"].memory_requests, runs["none"].memory_requests) == (1, 16)


@pytest.mark.long
def test_engines_agree(example: ModuleType) -> None:
    runs = [
        example.run_pair(network(2), visits=2, engine=engine) for engine in ("compiled", "amaranth")
    ]
    assert runs[0] == replace(runs[1], engine="compiled")


def test_a_barrier_that_one_never_reaches_is_reported(example: ModuleType) -> None:
    with pytest.raises(
        ProgramsStuck,
        match=r"^Programs have not ended in 500 cycles: processor \d has waited for load of word ",
    ):
        run_programs(
            network(4, "none"), [example.meet(4, 1, seed) for seed in range(3)], cycles=500
        )


def test_without_a_lock_changes_are_lost() -> None:
    """The memory is serializable still: it is the program that is wrong."""

    def careless() -> Program:
        yield Pause(1)
        value = yield Request("load", 1)
        yield Request("store", 1, value + 1)

    run = run_programs(network(4, "none"), [careless() for _ in range(4)])
    assert run.memory[1] < 4
    assert run.serializable


def test_findings_find(example: ModuleType) -> None:
    """The example's own checks, on runs that went wrong."""
    base = run_programs(network(4, "none"), [iter_nothing() for _ in range(2)])
    with pytest.raises(MulticubeError, match=r"^Jobs were lost, or done twice$"):
        example.queue_finding(replace(base, results=[[0, 1], [1]]), 2)
    passages = [[example.Passage(0, 20)], [example.Passage(20, 40)]]
    with pytest.raises(
        MulticubeError, match=r"^A processor passed a barrier before all had arrived$"
    ):
        example.barrier_finding(replace(base, results=passages))
    read, write = example.Visit(False, 0, 9, 0, 0), example.Visit(True, 10, 20, 1, 1)
    memory = [0, 1, 1]
    good = replace(base, results=[[read], [write]], memory=memory)
    assert example.pair_finding(good) == "1 whole reads, 1 writes"
    for visits, words, message in (
        ([read._replace(second=1), write], memory, "A reader saw half of a change"),
        ([read._replace(left=10), write], memory, "A writer was not alone"),
        ([read, write], [0, 0, 0], "A change was lost"),
    ):
        with pytest.raises(MulticubeError, match=f"^{message}$"):
            example.pair_finding(replace(base, results=[visits], memory=words))
    with pytest.raises(MulticubeError, match=r"^The histogram differs from numpy's$"):
        example.histogram_finding(base, b"a")


def iter_nothing() -> Program:
    yield Pause(1)


@pytest.mark.long
def test_example(
    example: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"hello, world" * 5)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(example, "make_network", network)
    monkeypatch.setattr(
        sys, "argv", ["synchronisation.py", "--processors", "2", "--text", str(text)]
    )
    example.main()
    shown = capsys.readouterr().out
    for found in ("each of 32 jobs done once", "10 barriers of", "8 writes", "numpy.bincount"):
        assert shown.count(found) == 2
    assert len(re.findall(r"^ *(queue|barrier|pair|histogram) +no +.* 0\.0%", shown, re.M)) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--processors", "6"], "Ports must be a power of the radix 2, not 6"),
        (["--processors", "many"], "Invalid value for '--processors'"),
        (["--text", "/nowhere"], "[Errno 2] No such file or directory: '/nowhere'"),
        (
            ["--engine", "steam"],
            "Engine must be one of auto, compiled, amaranth, verilator, not 'steam'",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_example_rejects(
    example: ModuleType, arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert refusal(example, *arguments, capsys=capsys).startswith(message)
