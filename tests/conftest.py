"""What all tests share: their settings, which cases are short, and their fixtures."""

import gc
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable
from browser import browser
from command_line import Outcome, exit_status
from multicube.sim.engines.compiled.netlist import lowered
from verilog_tools import run_yosys

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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser of `tests/kit/browser.py`, for all tests of a file."""
    with browser() as opened:
        yield opened


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
