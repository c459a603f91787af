"""The command `multicube`."""

from .entry import main

__all__ = ["main"]
