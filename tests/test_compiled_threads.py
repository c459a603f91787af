"""One run on several threads: the same state, whatever their number, and the same failures."""

from typing import Any

import numpy as np
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.sim import Run, pattern
from multicube.sim.engines.compiled import CompiledEngine, State
from multicube.sim.engines.compiled.compiled_errors import AssertionViolated
from multicube.sim.engines.compiled.threads import ThreadChoice
from test_compiled_fabrics import Watched


def run_bench(threads: int, name: str, parameters: dict[str, Any], cycles: int) -> State:
    network = build(name, **parameters)
    run = Run(pattern("uniform", network.sources), 0.6, source_depth=4)
    bench = bench_for(network, run.sources(network), bins=8)
    with CompiledEngine(bench, threads=threads) as engine:
        for port in ("send", "measure"):
            engine.set(port, 1)
        # Rounds of odd and even length: wires are exchanged every cycle.
        for part in (1, 2, cycles - 3):
            engine.step(part)
        return engine.save()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        long("cube", {"ports": 64, "switch": "unbuffered"}),
        long("combining", {"ports": 32}),
        ("torus", {"k": 8}),
        long("omega", {"ports": 64, "radix": 4, "switch": "input-queued"}),
        long("crossbar", {"ports": 16}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_threads_do_not_change_the_state(name: str, parameters: dict[str, Any]) -> None:
    wanted = run_bench(1, name, parameters, 150)
    for threads in (2, 3, 7):
        state = run_bench(threads, name, parameters, 150)
        assert state.cycles == wanted.cycles
        for ours, theirs in zip(state.arrays, wanted.arrays, strict=True):
            assert all(map(np.array_equal, ours, theirs))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("failing", [[3], [90, 7], [99, 70, 40, 12]])
def test_the_first_cell_that_fails_is_named(threads: int, failing: list[int]) -> None:
    fabric = Fabric({})
    for x in range(100):
        limit = 103 if x in failing else 250
        fabric.place(Cell(f"w_{x}", CellType(Watched), {"limit": limit}))
    with (
        CompiledEngine(fabric, threads=threads) as engine,
        pytest.raises(AssertionViolated, match=rf"\bw_{min(failing)}\b.*cycle 103"),
    ):
        engine.step(200)


@pytest.mark.parametrize(("gain", "expected"), [(1.8, 4), (0.6, 1)])
def test_threads_that_pay_are_chosen(gain: float, expected: int) -> None:
    """And another number is tried again, rarely: it may have come to pay."""
    choice = ThreadChoice(4)
    taken = []
    for round_ in range(400):
        if round_ == 200:
            gain = 1 / gain
        count, trial = choice.next()
        taken.append((count, trial))
        choice.timed(count, 1000.0 * (gain if count > 1 else 1))
    assert taken[:2] == [(1, False), (4, True)]
    other = {1: 4, 4: 1}[expected]
    assert {count for count, trial in taken[2:200] if not trial} == {expected}
    assert sum(trial for _, trial in taken[2:200]) == 3
    assert {count for count, trial in taken[300:] if not trial} == {other}


def test_single_core_has_one_thread() -> None:
    choice = ThreadChoice(1)
    for _ in range(120):
        assert choice.next() == (1, False)
        choice.timed(1, 1000.0)
