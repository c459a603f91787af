"""Memories: what lies behind a network between processors and memory."""

from .multidimensional import MultidimensionalMemory

__all__ = ["MultidimensionalMemory"]
