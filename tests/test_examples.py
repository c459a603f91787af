"""The examples do what they say."""

import csv
import itertools
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pytest
from command_line import exit_status
from long_runs import long
from modules import load_example, refusal
from multicube.hdl import build
from multicube.hdl.graphs.routing.survey import survey
from multicube.sim import Trace, simulate

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "fft.py"


@pytest.fixture(scope="module")
def fft() -> ModuleType:
    return load_example("fft")


def _points(count: int) -> np.ndarray:
    random = np.random.default_rng(7)
    return random.standard_normal(count) + 1j * random.standard_normal(count)


@pytest.mark.parametrize("order", ["memory", "rotated", "shifted"])
@pytest.mark.parametrize(
    ("points", "processors"), [(2, 2), (4, 2), (8, 8), (64, 16), (256, 4), (4096, 64)]
)
def test_parallel_fft_is_numpys(fft: ModuleType, points: int, processors: int, order: str) -> None:
    signal = _points(points)
    spectrum, _ = fft.parallel_fft(signal, processors, order)
    np.testing.assert_allclose(spectrum, np.fft.fft(signal), atol=1e-10)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("order", ["memory", "rotated", "shifted"])
def test_trace_holds_the_values_of_each_phase(fft: ModuleType, order: str) -> None:
    """Counted by hand from the algorithm, not by its code."""
    _, machine = fft.parallel_fft(_points(4096), 64, order)
    sent: dict[int, Counter] = {}
    for packet in machine.packets:
        sent.setdefault(packet.cycle // 64, Counter())[packet.source, packet.destination] += 1
    for stage in range(6):
        partners = {(a, a ^ (32 >> stage)): 64 for a in range(64)}
        assert sent.pop(stage) == partners
    # 192 cycles of computation later, everyone sends one value to everyone else.
    assert sent.pop(9) == dict.fromkeys(itertools.permutations(range(64), 2), 1)
    assert not sent
    turns = Counter((packet.cycle, packet.source) for packet in machine.packets)
    assert set(turns.values()) == {1}


def _last_phase(machine: object) -> dict[int, list[tuple[int, int]]]:
    cycles: dict[int, list[tuple[int, int]]] = {}
    for packet in machine.packets:
        if packet.cycle >= machine.phases[-1].start:
            cycles.setdefault(packet.cycle, []).append((packet.source, packet.destination))
    return cycles


@pytest.mark.long
def test_orders_of_the_last_phase(fft: ModuleType) -> None:
    machines = {order: fft.parallel_fft(_points(4096), 64, order)[1] for order in fft.ORDERS}
    for pairs in _last_phase(machines["memory"]).values():
        assert len({destination for _, destination in pairs}) == 1
    for order in ("rotated", "shifted"):
        for pairs in _last_phase(machines[order]).values():
            assert len({destination for _, destination in pairs}) == len(pairs)
    for pairs in _last_phase(machines["shifted"]).values():
        assert len({(destination - source) % 64 for source, destination in pairs}) == 1
    first = _last_phase(machines["rotated"])[machines["rotated"].phases[-1].start]
    assert all(f"{source:06b}" == f"{destination:06b}"[::-1] for source, destination in first)


@pytest.mark.long
@pytest.mark.parametrize("radix", [2, 4])
def test_exchanges_and_shifts_pass_a_cube_without_waiting(fft: ModuleType, radix: int) -> None:
    _, machine = fft.parallel_fft(_points(256), 16, "shifted")
    network = build("cube", ports=16, radix=radix)
    result = simulate(network, traffic=Trace("fft", tuple(machine.packets)))
    assert result.delivered == len(machine.packets)
    assert result.latency.mean == result.latency.max == network.stages


def _demo(*arguments: str, timeout: float) -> subprocess.CompletedProcess:
    command = [sys.executable, str(EXAMPLE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


@pytest.mark.long
def test_demo_of_a_small_fft(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = ["--points", "8", "--processors", "2", "--output", str(folder)]
    done = _demo(*words, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "8 points on 2 processors" in done.stdout
    assert str(folder / "latency.png") in done.stdout.replace("\n", "")
    assert (folder / "latency.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader((folder / "fft.csv").read_text().splitlines()))
    assert rows[0] == ["cycle", "source", "destination"]
    assert len(rows) == 1 + 8 + 8 - 4
    assert exit_status("sim", "cube", "ports=2", "--trace", str(folder / "fft.csv"), "--json") == 0


@pytest.mark.long
def test_demo(tmp_path: Path) -> None:
    done = _demo("--output", str(tmp_path), timeout=240)
    assert done.returncode == 0, done.stderr
    assert "4096 points on 64 processors" in done.stdout
    assert (tmp_path / "latency.png").stat().st_size > 10_000
    assert len((tmp_path / "fft.csv").read_text().splitlines()) == 1 + 6 * 4096 + 4032


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--points", "100"], "Points must be a power of two"),
        (["--points", "many"], "'many' is not a valid integer"),
        (["--processors", "0"], "Processors must be a power of two"),
        (["--points", "8", "--processors", "16"], "Points must be at least as many"),
        (["--engine", "steam"], "Engine must be"),
        (["--output", "/dev/null"], "/dev/null"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_demo_rejects(
    fft: ModuleType, arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert message in refusal(fft, *arguments, capsys=capsys)


def _wiring(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "examples" / "wiring.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)


@pytest.mark.long
@pytest.mark.parametrize("network", ["cube", *(long(network) for network in ("fly", "flip"))])
def test_wiring_draws(network: str, tmp_path: Path) -> None:
    done = _wiring(tmp_path, network, "27", "--radix", "3", "--path", "5:26", "-o", "plan.svg")
    assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "plan.svg").read_text()


@pytest.mark.long
def test_wiring_rejects(tmp_path: Path) -> None:
    done = _wiring(tmp_path, "cube", "8", "--path", "6:8", "-o", "plan.svg")
    assert done.returncode == 2
    assert done.stderr == "wiring.py: Address must be from 0 to 7, not 8\n"
    assert not list(tmp_path.iterdir())


BOOKSIM = """#!/bin/sh
case $(cat $1) in *injection_rate=0.9*) echo 'Simulation unstable, ending ...';; esac
printf 'Packet latency average = 31.5\\nTime taken is 12100 cycles\\n'
printf 'Packet latency average = 32.5 (1 samples)\\nTotal run time 0.5\\n'
"""


@pytest.mark.long
def test_booksim(tmp_path: Path) -> None:
    """What it says is read, from a program that says what BookSim2 says; its checkout is needed."""
    path = ROOT / "examples" / "booksim.py"
    example = load_example("booksim")
    (tmp_path / "src").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "src" / "Makefile").write_text("all:\n\tchmod +x booksim\n")
    (tmp_path / "src" / "booksim").write_text(BOOKSIM)
    program = example.compiled(tmp_path, tmp_path / "build")
    case = example.CASES[0]
    assert example.run_booksim(program, case, 0.1, 12_000) == example.Outcome(12_100, 0.5, 32.5)
    assert example.run_booksim(program, case, 0.9, 12_000) == example.Outcome(0, 0.0, math.inf)
    done = subprocess.run([sys.executable, path, tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"Checkout must be a clone of BookSim2, not {tmp_path}\n")


OWN = ROOT / "examples" / "own_network.py"
OWN_PAGE = ROOT / "docs" / "how-to" / "own-network.md"


@pytest.fixture(scope="module")
def own() -> ModuleType:
    return load_example("own_network")


@pytest.mark.long
def test_own_network(own: ModuleType, tmp_path: Path) -> None:
    """Cube-connected cycles in under 80 lines, which the page shows."""
    lines = OWN.read_text().splitlines()
    assert len(lines) < 80
    shown = re.findall(
        r"^    ( *(?:@|class|def|for|if|elif|yield|number|corner|n:).*)", OWN_PAGE.read_text(), re.M
    )
    known = {line.strip() for line in lines}
    assert len(shown) > 15
    assert not [line for line in shown if line.strip() not in known]
    for n in (3, 4):
        plan = own.CubeConnectedCycles(n)
        graph = nx.DiGraph((link.node, link.peer) for link in plan.links())
        assert (
            set(dict(graph.in_degree()).values()) == set(dict(graph.out_degree()).values()) == {2}
        )
        # Without the direction of the rings: three neighbours, and a known diameter.
        assert nx.diameter(graph.to_undirected()) == {3: 6, 4: 8}[n]
        assert survey(plan).cycle is None
    done = subprocess.run(
        [sys.executable, str(OWN), "3", "--load", "0.1", "--verilog", "ccc3.v"],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "24 terminals, at most 7 links" in done.stdout
    assert "module network" in (tmp_path / "ccc3.v").read_text()


@pytest.mark.parametrize("processors", [4, long(16)])
def test_a_system_of_amaranth_soc_sums_what_all_have(processors: int) -> None:
    pytest.importorskip("luna_soc.gateware.vendor.amaranth_soc")
    soc = load_example("soc")
    numbers = np.random.default_rng(5).integers(0, 1 << 32, (processors, soc.NUMBERS)).tolist()
    totals, cycles = soc.run(numbers)
    assert totals == [sum(map(sum, numbers)) % (1 << 32)] * processors
    assert cycles > 2 * soc.NUMBERS
