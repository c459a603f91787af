"""The command `multicube`."""

from .main import main

__all__ = ["main"]
