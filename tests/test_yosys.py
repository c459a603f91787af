"""Yosys in this process: what it says, interrupts, and users without a home folder."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import wasmtime
from amaranth.back.verilog import YosysError
from multicube.hdl.export import yosys


def test_what_it_says_of_an_error() -> None:
    with pytest.raises(YosysError, match=r"^ERROR: No such command: turn_left"):
        yosys.run_yosys("module \\m\nend\n", ["turn_left"])


def test_runs_do_not_know_of_each_other() -> None:
    first, second = (
        yosys.run_yosys(f"module \\{name}\nend\n", ["write_verilog"]) for name in ("one", "two")
    )
    assert "module one" in first
    assert first.replace("one", "two") == second


def test_a_run_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of WebAssembly that runs, Python interrupts nothing."""
    end = threading.Event()

    def run(folder: Path) -> int:
        assert threading.current_thread() is not threading.main_thread()
        signal.raise_signal(signal.SIGINT)
        end.wait(60)
        return 0

    monkeypatch.setattr(yosys, "_run", run)
    with pytest.raises(KeyboardInterrupt):
        yosys.run_yosys("", [])
    assert not end.is_set()
    end.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_runs_it_too() -> None:
    """As the pools of `multiprocessing` are before Python 3.14: exports in them came to no end."""
    script = """
import os, signal
from multicube.hdl.export.yosys import run_yosys
run = lambda: print(run_yosys("module \\\\m\\nend\\n", ["write_verilog"]), flush=True)
run()
if child := os.fork():
    raise SystemExit(os.waitpid(child, 0)[1])
signal.alarm(60)
run()
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("module m") == 2


def test_without_a_cache_folder_it_is_translated_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/none")
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Config().cache = True
    monkeypatch.setattr(wasmtime, "Module", lambda engine, code: len(code))
    *_, size = yosys._loaded.__wrapped__()
    assert size > 1 << 24
