"""Errors of the compiled engine; each has a message of one line."""

from ....hdl.fabric.errors import MulticubeError

__all__ = [
    "AssertionViolated",
    "CombinationalLoop",
    "CompilerFailed",
    "EngineError",
    "NoCompiler",
    "NotEnoughMemory",
    "UnsupportedConstruct",
    "ValueTooWide",
]


class EngineError(MulticubeError):
    """The compiled engine can't run a fabric, or had to stop.

    Examples
    --------
    >>> from amaranth.hdl import Module, Signal
    >>> from multicube.sim import Simulator
    >>> from multicube.sim.engines.compiled.compiled_errors import EngineError
    >>> m, a = Module(), Signal()
    >>> m.d.comb += a.eq(~a)
    >>> try:
    ...     Simulator(m)
    ... except EngineError as error:
    ...     print(type(error).__name__)
    CombinationalLoop
    """


class UnsupportedConstruct(EngineError):
    """A component uses a construct that can't be compiled; names it and its source line.

    Examples
    --------
    >>> from amaranth.hdl import Instance, Module
    >>> from multicube.sim import Simulator
    >>> m = Module()
    >>> m.submodules.foreign = Instance("foreign")
    >>> Simulator(m)
    Traceback (most recent call last):
    ...
    multicube.sim.engines.compiled.compiled_errors.UnsupportedConstruct: Instance 'foreign' at ...
    """


class ValueTooWide(UnsupportedConstruct, OverflowError):
    """A component shifts to the left by so many places that nothing could hold the result.

    Examples
    --------
    >>> from amaranth.hdl import Module, Signal
    >>> from multicube.sim import Simulator
    >>> m, places, result = Module(), Signal(20), Signal(8)
    >>> m.d.comb += result.eq((1 << places) >> 3)
    >>> Simulator(m)
    Traceback (most recent call last):
    ...
    multicube.sim.engines.compiled.compiled_errors.ValueTooWide: Value defined at ...
    """


class CombinationalLoop(EngineError):
    """Signals depend on themselves within a cycle; names the cells on the loop.

    Examples
    --------
    >>> from amaranth.hdl import Module, Signal
    >>> from multicube.sim import Simulator
    >>> m, a = Module(), Signal()
    >>> m.d.comb += a.eq(~a)
    >>> Simulator(m)
    Traceback (most recent call last):
    ...
    multicube.sim.engines.compiled.compiled_errors.CombinationalLoop: Combinational cycle ...
    """


class NoCompiler(EngineError):
    """No C compiler was found; says how to get one.

    Examples
    --------
    >>> import os
    >>> from multicube import build, simulate
    >>> os.environ["CC"] = "none"
    >>> simulate(build("cube"), engine="compiled")
    Traceback (most recent call last):
    ...
    multicube.sim.engines.compiled.compiled_errors.NoCompiler: The C compiler named by CC, ...
    """


class CompilerFailed(EngineError):
    """The C compiler did not accept the generated code; quotes its first error."""


class NotEnoughMemory(EngineError, MemoryError):
    """The machine has less memory than the run needs; states both."""


class AssertionViolated(EngineError, AssertionError):
    """An `Assert` or `Assume` of a component failed; names the cell, cycle and source line."""
