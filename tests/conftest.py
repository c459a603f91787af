"""What hardware tests share: a simulation that can't hang, and a driver of many streams."""

import gc
import itertools
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Elaboratable, Value
from amaranth.lib import stream
from amaranth.sim import Simulator
from command_line import exit_status
from multicube.sim.engines.compiled.netlist import lowered
from verilog_tools import check_with_yosys, lint_with_verilator, run_yosys

# Most runs of tests are so short that a quick compilation is worth more than quick code.
os.environ.setdefault("CFLAGS", "-O0")

# A run of tests in the background ignores Ctrl-C, and so would all programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Many tests start Python: each would translate the library anew, which takes half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Elaborated hardware stays for long and has no cycles to speak of: with Python's usual thresholds
# the search for garbage takes a third of the tests' time, and frees next to nothing.
gc.set_threshold(50_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of tests with many cases that are alike, the short runs take some (`one_in`)."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and item.get_closest_marker("long") is None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % mark.args[0]:
                item.add_marker(pytest.mark.long)
            seen[test] += 1


def pytest_collection_finish() -> None:
    """The tests and all that they have imported stay to the end: no search for garbage there."""
    gc.collect()
    gc.freeze()


Testbench = Callable[[Any], Coroutine[Any, Any, None]]


def _simulate(design: Elaboratable, *testbenches: Testbench, limit: int = 20_000) -> None:
    """Run testbenches to their end, and raise if they take more than `limit` cycles."""

    async def watchdog(ctx: Any) -> None:
        for _ in range(limit):
            await ctx.tick()
        raise TimeoutError(f"The test did not end within {limit} cycles")

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.add_testbench(watchdog, background=True)
    simulator.run()


@dataclass
class Cycle:
    """What all streams showed in one cycle. Payloads are integers, None where nothing is valid."""

    offered: list[int | None]
    accepted: list[bool]
    shown: list[int | None]
    ready: list[bool]
    watched: int

    def moved(self) -> list[tuple[int, int]]:
        """(output, payload) of everything that was taken from an output."""
        return [
            (j, payload)
            for j, (payload, ready) in enumerate(zip(self.shown, self.ready))
            if payload is not None and ready
        ]

    def entered(self) -> list[tuple[int, int]]:
        """(input, payload) of everything that an input took."""
        return [
            (i, payload)
            for i, (payload, accepted) in enumerate(zip(self.offered, self.accepted))
            if payload is not None and accepted
        ]


def _streams(given: Any) -> Sequence[stream.Interface]:
    return given if isinstance(given, Sequence) else [given]


def _transport(
    design: Any,
    inputs: Sequence[stream.Interface] | None = None,
    outputs: Sequence[stream.Interface] | None = None,
    *,
    cycles: int,
    offer: Callable[[int, int], int | None],
    ready: Callable[[int, int], bool] = lambda port, cycle: True,
    watch: Callable[[], Value] = lambda: Const(0, 1),
) -> list[Cycle]:
    """Carry packets through a design and check the stream rule at its outputs.

    Without `inputs` and `outputs` they are the streams `i` and `o` of the design, one or several.
    `offer(port, cycle)` names the payload that an idle input begins to offer; it stays until it is
    taken. `ready(port, cycle)` says whether an output is ready. `watch` is called once the design
    is elaborated and gives something to record with every cycle.
    """
    trace: list[Cycle] = []
    inputs = _streams(design.i) if inputs is None else inputs
    outputs = _streams(design.o) if outputs is None else outputs

    async def testbench(ctx: Any) -> None:
        width = len(Value.cast(inputs[0].payload))
        stimulus = Cat(
            *(Cat(port.valid, port.payload) for port in inputs), *(port.ready for port in outputs)
        )
        watched = watch()
        response = Cat(
            *(port.ready for port in inputs),
            *(Cat(port.valid, port.payload) for port in outputs),
            watched,
        )
        offered: list[int | None] = [None] * len(inputs)
        for cycle in range(cycles):
            for i, payload in enumerate(offered):
                if payload is None:
                    offered[i] = offer(i, cycle)
            readies = [bool(ready(j, cycle)) for j in range(len(outputs))]
            word = 0
            for i, payload in enumerate(offered):
                if payload is not None:
                    word |= (payload << 1 | 1) << i * (width + 1)
            for j, flag in enumerate(readies):
                word |= flag << len(inputs) * (width + 1) + j
            ctx.set(stimulus, word)
            seen = ctx.get(response)
            accepted = [bool(seen >> i & 1) for i in range(len(inputs))]
            seen >>= len(inputs)
            shown: list[int | None] = []
            for _ in outputs:
                shown.append(seen >> 1 & (1 << width) - 1 if seen & 1 else None)
                seen >>= width + 1
            trace.append(Cycle(list(offered), accepted, shown, readies, seen))
            offered = [None if taken else payload for payload, taken in zip(offered, accepted)]
            await ctx.tick()

    _simulate(design, testbench, limit=cycles + 1)
    for number, (before, after) in enumerate(itertools.pairwise(trace)):
        for j, payload in enumerate(before.shown):
            if payload is not None and not before.ready[j]:
                assert after.shown[j] == payload, f"output {j} let go of a packet, cycle {number}"
    return trace


class _Patches(pytest.MonkeyPatch):
    """Patches of code: cells that were lowered from other code are forgotten."""

    changed = False

    def setattr(self, *arguments: Any, **options: Any) -> None:
        super().setattr(*arguments, **options)
        self.changed = True
        lowered.cache_clear()

    def undo(self) -> None:
        super().undo()
        if self.changed:
            lowered.cache_clear()


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    patches = _Patches()
    yield patches
    patches.undo()


@pytest.fixture
def simulate() -> Callable[..., None]:
    return _simulate


@pytest.fixture
def transport() -> Callable[..., list[Cycle]]:
    return _transport


@pytest.fixture
def verilators_linter() -> Callable[[Path], str]:
    """Verilator's linter has nothing to say of a file whose top module is `network`."""

    def lint(path: Path) -> str:
        said = lint_with_verilator(path)
        assert "%" not in said, (path.name, said)
        return said

    return lint


@pytest.fixture
def yosys_check() -> Callable[[Sequence[Path]], str]:
    return check_with_yosys


@pytest.fixture
def netlist_storage(tmp_path: Path) -> Callable[[dict[str, Elaboratable]], dict[str, tuple]]:
    """Registers and memory bits of components after Yosys's first passes, by name: what is not
    needed is gone."""
    from multicube.sim.synthesis.measurement import STORAGE_PASSES, storage_of

    def count(components: dict[str, Elaboratable]) -> dict[str, tuple]:
        script = []
        for number, component in enumerate(components.values()):
            text = rtlil.convert(component, name="top", emit_src=False)
            (tmp_path / f"{number}.il").write_text(text)
            script += [
                f"read_rtlil {number}.il",
                f"proc; {STORAGE_PASSES}",
                f"tee -o {number}.json stat -json",
                "design -reset",
            ]
        run_yosys(script, tmp_path, "-q")
        found = {}
        for number, name in enumerate(components):
            stat = json.loads((tmp_path / f"{number}.json").read_text())["modules"]["\\top"]
            found[name] = tuple(storage_of(stat))
        return found

    return count


class Outcome(NamedTuple):
    """What a command left: its exit status, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run the command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        return Outcome(exit_status(*arguments), *capsys.readouterr())

    return run
