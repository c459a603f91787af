"""The compiled engine."""

from .engine import CompiledEngine
from .state import State

__all__ = ["CompiledEngine", "State"]
