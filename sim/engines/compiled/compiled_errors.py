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
    """The compiled engine can't run a fabric, or had to stop."""


class UnsupportedConstruct(EngineError):
    """A component uses a construct that can't be compiled; names it and its source line."""


class ValueTooWide(UnsupportedConstruct, OverflowError):
    """A component shifts to the left by so many places that nothing could hold the result."""


class CombinationalLoop(EngineError):
    """Signals depend on themselves within a cycle; names the cells on the loop."""


class NoCompiler(EngineError):
    """No C compiler was found; says how to get one."""


class CompilerFailed(EngineError):
    """The C compiler did not accept the generated code; quotes its first error."""


class NotEnoughMemory(EngineError, MemoryError):
    """The machine has less memory than the run needs; states both."""


class AssertionViolated(EngineError, AssertionError):
    """An `Assert` or `Assume` of a component failed; names the cell, cycle and source line."""
