"""Runs tests of cocotb on any Amaranth design: in the place of cocotb's connection to a simulator.

cocotb reaches simulators through its module `cocotb.simulator`, which is written in C. Here it is a
module of Python that reaches ours. Whoever waits for an edge sees registers as they were before it,
and what is written takes effect after all that waits for the same moment, as elsewhere.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ...hdl.fabric.checks import shown
from ...hdl.fabric.errors import InvalidType, InvalidValue, MulticubeError
from .cocotb_host import MODULE_NAME, CocotbHost

__all__ = ["CocotbResult", "run_cocotb"]


class CocotbResult(NamedTuple):
    """The outcome of tests of cocotb.

    Attributes
    ----------
    tests : int
        How many were run.
    failed : int
        How many of them failed.
    """

    tests: int
    failed: int


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module in the place of cocotb's own."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name == MODULE_NAME else None

    def create_module(self, spec: object) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_cocotb(
    design: Any, modules: str | Sequence[str], *, top: str = "top", results: str = "results.xml"
) -> CocotbResult:
    """Run tests of cocotb 2.1 on any Amaranth design, without Verilog.

    A process can do it once, before it imports cocotb. cocotb's environment variables hold, such as
    COCOTB_TEST_FILTER. Signals can't be forced, nor written if logic makes them; X and Z are 0.

    Parameters
    ----------
    design : Elaboratable
        The design. Its ports are named as in Verilog, and its submodules and their signals as in
        Amaranth's simulator.
    modules : str or Sequence[str]
        Python modules that have the tests.
    top : str
        The design's name.
    results : str
        The file in which cocotb writes its results.

    Returns
    -------
    CocotbResult
        How many tests were run, and how many failed.

    Raises
    ------
    TypeError
        If the modules are no names.
    ValueError
        If cocotb is loaded already.
    MulticubeError
        If cocotb is not installed, or the design can't be simulated; as for `Simulator`.

    Examples
    --------
    >>> import os
    >>> from pathlib import Path
    >>> from amaranth.hdl import Module, Signal
    >>> from multicube.sim import run_cocotb
    >>> os.environ["COCOTB_LOG_LEVEL"] = "WARNING"
    >>> _ = Path("test_counter.py").write_text('''
    ... import cocotb
    ... from cocotb.clock import Clock
    ... from cocotb.triggers import ClockCycles
    ... @cocotb.test()
    ... async def counts(dut):
    ...     Clock(dut.clk, 10, "ns").start()
    ...     await ClockCycles(dut.clk, 100)
    ...     assert dut.count.value == 99
    ... ''')
    >>> m, count = Module(), Signal(8, name="count")
    >>> m.d.sync += count.eq(count + 1)
    >>> run_cocotb(m, "test_counter")
    CocotbResult(tests=1, failed=0)
    """
    names = [modules] if isinstance(modules, str) else modules
    known = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
    if not known or not names:
        raise InvalidType(f"Modules must be names of Python modules, not {shown(modules)}")
    if "cocotb" in sys.modules:
        raise InvalidValue("cocotb must not be loaded before its tests are run; once in a process")
    if importlib.util.find_spec("pygpi") is None:
        raise MulticubeError("cocotb 2.1 is not installed: pip install cocotb")
    host = CocotbHost(design, top)
    sys.meta_path.insert(0, _Finder(host.module))
    with _environment(
        COCOTB_TEST_MODULES=",".join(names), COCOTB_TOPLEVEL=top, COCOTB_RESULTS_FILE=results
    ):
        from cocotb_tools.check_results import get_results
        from pygpi.entry import load_entry

        load_entry()
        host.run()
    return CocotbResult(*get_results(Path(results)))
