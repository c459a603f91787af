"""What can go wrong on the way from a fabric to a running machine, each said in one line."""

from ....hdl.core.errors import MulticubeError

__all__ = [
    "AssertionViolated",
    "CombinationalLoop",
    "CompilerFailed",
    "EngineError",
    "NoCompiler",
    "NotEnoughMemory",
    "UnsupportedConstruct",
]


class EngineError(MulticubeError):
    """The compiled engine can't run a fabric, or had to stop."""


class UnsupportedConstruct(EngineError):
    """A component uses something that this engine cannot lower; names it and its source line."""


class CombinationalLoop(EngineError):
    """Signals depend on themselves within one cycle; names the cells on the loop."""


class NoCompiler(EngineError):
    """No C compiler was found; says how to get one."""


class CompilerFailed(EngineError):
    """The C compiler did not accept the generated code; holds its first complaint."""


class NotEnoughMemory(EngineError, MemoryError):
    """The machine has less memory than the run needs; says how much of each."""


class AssertionViolated(EngineError, AssertionError):
    """An `Assert` or `Assume` of a component failed; names the cell, the cycle and the place."""
