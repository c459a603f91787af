"""The programs of `examples/computer`, each compared with a plain result."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.sim import ComputerRun, run_computer

EXAMPLES = Path(__file__).parent.parent / "examples" / "computer"


def run(name: str, network: str = "combining ports=4", **macros: int) -> ComputerRun:
    defines = [f"{macro}={value}" for macro, value in macros.items()]
    return run_computer(EXAMPLES / f"{name}.c", build(network), defines=defines)


@pytest.mark.long
def test_barrier() -> None:
    done = run("barrier")
    assert done.shared["mistakes"] == [0]
    assert done.shared["tickets"] == [5 * 4]
    assert done.shared["marks"] == [4] * 4 + [0] * 1020
    assert [line.text for line in done.console] == ["mistakes: 0"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("combine", ["all", "none"])
def test_histogram(combine: str) -> None:
    done = run("histogram", f"combining ports=4 combine={combine}", EACH=16)
    expected: Counter[int] = Counter()
    for core in range(4):
        state = 2 * core + 1
        for _ in range(16):
            state = (state * 1664525 + 1013904223) % 2**32
            drawn = state >> 24
            expected[0 if drawn < 224 else drawn & 7] += 1
    assert done.shared["bins"] == [expected[number] for number in range(8)]
    assert done.requests == 4 * 16
    assert done.requests - done.combined == sum(done.memory_requests)
    assert (done.combined > 0) == (combine == "all")


def check_queue(shared: dict[str, Any]) -> None:
    """Each item is deleted once, and the queue is empty at the end."""
    assert shared["seen"] == [1] * 16 + [0] * 1008
    assert shared["inserts"] == shared["deletes"] == [16]
    assert shared["most"] == shared["least"] == [0]


def check_readers_writers(shared: dict[str, Any]) -> None:
    assert shared["mistakes"] == [0]
    writes = sum((core + turn) % 4 == 0 for core in range(4) for turn in range(4))
    assert shared["words"] == [writes] * 4
    assert shared["writes"] == shared["tickets"] == shared["finished"] == [writes]


def check_sort(shared: dict[str, Any]) -> None:
    words = np.arange(64, dtype=np.uint64) * 2654435761
    assert shared["words"] == sorted(words.astype(np.uint32).view(np.int32).tolist())


def check_matrix(shared: dict[str, Any]) -> None:
    number = np.arange(64).reshape(8, 8)
    product = (number % 7 - 3) @ (number % 5 - 2)
    assert shared["c"] == product.flatten().tolist()


def check_search(shared: dict[str, Any]) -> None:
    graph = nx.DiGraph(
        (node, (node * factor + offset) % 64)
        for node in range(64)
        for factor, offset in ((5, 1), (3, 7), (9, 30))
    )
    found = nx.single_source_shortest_path_length(graph, 0)
    assert shared["distance"] == [found.get(node, 0) for node in range(64)]
    assert shared["reached"] == [int(node in found) for node in range(64)]


def check_fft(shared: dict[str, Any]) -> None:
    """Within the rounding of six stages."""
    expected = np.fft.fft(np.arange(64) ** 2 % 61 - 30) * 2**8
    assert np.allclose(shared["real"], expected.real, atol=32)
    assert np.allclose(shared["imaginary"], expected.imag, atol=32)


CHECKS = {
    "queue": check_queue,
    "readers_writers": check_readers_writers,
    "sort": check_sort,
    "matrix": check_matrix,
    "search": check_search,
    "fft": check_fft,
}


@pytest.mark.parametrize("network", ["connection-machine n=2", long("hypercube n=3")])
def test_scan(network: str) -> None:
    """Sums of all numbers up to a core's own, by messages alone."""
    done = run("scan", network)
    sums = np.cumsum([core * core + 1 for core in range(len(done.results))])
    said = {line.core: int(line.text) for line in done.console}
    assert [said[core] for core in sorted(said)] == sums.tolist()
    assert done.requests == 0
    assert done.memory_requests == []


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "network", ["combining ports=4", long("processor-memory ports=4"), long("hypercube n=2")]
)
@pytest.mark.parametrize(("name", "check"), CHECKS.items(), ids=CHECKS)
def test_program(name: str, check: Callable[[dict[str, Any]], None], network: str) -> None:
    check(run(name, network).shared)


@pytest.mark.long
def test_script_of_speed() -> None:
    script = EXAMPLES.parent / "computer_speed.py"
    words = ("--cores", "2", "--cycles", "50", "--engine", "compiled")
    done = subprocess.run(
        [sys.executable, script, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "2 cores, 50 cycles: counts are equal"
