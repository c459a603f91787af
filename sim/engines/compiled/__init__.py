"""The compiled engine."""

from .engine import CompiledEngine

__all__ = ["CompiledEngine"]
